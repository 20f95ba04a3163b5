//! Tests how lineages are found by their labels. How labels change and go is in the model.

use crate::common::prelude::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    Labels(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

fn set(lineage: &str, changes: &[(&str, Option<&str>)]) -> Op {
    let changes = changes.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
    Op::SetLabels { contract: CONTRACT_ID, lineage: lineage.to_owned(), changes }
}

/// A put whose lineage gets labels if it begins.
fn labelled(made: Draft, pairs: &[(&str, &str)]) -> Op {
    let Op::Put(mut draft) = made.put() else { unreachable!("a put") };
    draft.labels = labels(pairs);
    Op::Put(draft)
}

fn recent(wanted: &[(&str, &str)]) -> Recent {
    Recent { labels: labels(wanted), limit: 1_000, ..common::recent() }
}

fn found(backend: &mut dyn Backend, recent: Recent) -> Vec<(Seq, String)> {
    let found = backend.answer(&Query::Recent(recent)).unwrap().into_recent().unwrap();
    found.into_iter().map(|active| (active.seq, active.newest.lineage)).collect()
}

/// The lineages that have all of these labels, the one that was active last first.
fn with(backend: &mut dyn Backend, wanted: &[(&str, &str)]) -> Vec<String> {
    found(backend, recent(wanted)).into_iter().map(|(_, name)| name).collect()
}

pub(crate) fn a_run_has_at_most_32_labels(backend: &mut dyn Backend) {
    let long = "x".repeat(500);
    let many = Labels((0..32).map(|n| (format!("key {n}"), long.clone())).collect());
    save(backend, [draft("run", "a")]);
    let op = Op::SetLabels { contract: CONTRACT_ID, lineage: "run".to_owned(), changes: many.changes() };
    apply(backend, vec![op]).unwrap();
    let refused = apply(backend, vec![set("run", &[("key 1", Some("")), ("one more", Some(""))])]).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert_eq!(with(backend, &[("key 1", &long)]), ["run"], "nothing of the change");
    apply(backend, vec![set("run", &[("key 1", None), ("é\n", Some("\0 \"'{}"))])]).unwrap();
    assert_eq!(with(backend, &[("é\n", "\0 \"'{}"), ("key 2", &long)]), ["run"]);
}

pub(crate) fn lineages_are_found_by_their_labels(backend: &mut dyn Backend) {
    // More lineages than a walk visits, the labelled ones first.
    let at = |name: &str, status| {
        let mut made = draft(name, name).sort_key(1.0);
        made.0.header.status = status;
        made
    };
    let (waiting, finished) = (Status::Waiting, Status::Finished);
    let acme = [("customer", "acme"), ("service", "support")];
    let units: [Unit; 3] = [
        vec![labelled(at("acme 1", waiting), &acme)].into(),
        vec![labelled(at("acme 2", finished), &acme)].into(),
        vec![labelled(at("other", waiting), &[("customer", "other"), ("service", "support")])].into(),
    ];
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    let many = (0..1_100).map(|n| labelled(at(&format!("done {n}"), finished), &[("service", "batch")]));
    let units: Vec<Unit> = many.map(|put| vec![put].into()).collect();
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    // Before and after a backend builds an index.
    for _ in 0..2 {
        assert_eq!(with(backend, &acme[..1]), ["acme 2", "acme 1"]);
        assert_eq!(with(backend, &[("service", "support")]), ["other", "acme 2", "acme 1"]);
        assert_eq!(with(backend, &acme), ["acme 2", "acme 1"]);
        for none in [&[("customer", "acm")][..], &[("acme", "customer")], &[("customer", "acme"), ("service", "batch")]]
        {
            assert_eq!(with(backend, none), [""; 0]);
        }
        assert_eq!(with(backend, &[("service", "batch")]).len(), 1_000);
        // Together with the other conditions, and page by page.
        let wait = Recent { statuses: vec![waiting], ..recent(&[("service", "support")]) };
        assert_eq!(found(backend, wait).into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["other", "acme 1"]);
        let named = Recent { matching: "me 1".to_owned(), ..recent(&acme) };
        assert_eq!(found(backend, named).len(), 1);
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = found(backend, Recent { after, limit: 1, ..recent(&[("service", "support")]) });
            let Some((seq, name)) = page.into_iter().next() else { break };
            after = Some(seq);
            pages.push(name);
        }
        assert_eq!(pages, ["other", "acme 2", "acme 1"]);
        let earliest = Recent { order: ActivityOrder::EarliestFirst, limit: 2, ..recent(&[("service", "support")]) };
        let earliest: Vec<String> = found(backend, earliest).into_iter().map(|(_, name)| name).collect();
        assert_eq!(earliest, ["acme 1", "acme 2"]);
        while backend.sweep().unwrap() {}
    }
    // The index follows later changes.
    apply(backend, vec![set("done 3", &[("customer", Some("acme"))]), set("acme 1", &[("customer", Some("else"))])])
        .unwrap();
    assert_eq!(
        with(backend, &acme[..1]),
        ["acme 2", "done 3"].map(str::to_owned).into_iter().rev().collect::<Vec<_>>()
    );
    assert_eq!(with(backend, &[("customer", "else")]), ["acme 1"]);
    apply(backend, vec![remove("acme 2"), labelled(draft("late", "late"), &acme)]).unwrap();
    assert_eq!(with(backend, &acme[..1]), ["late", "done 3"]);
    apply(backend, vec![set("late", &[("customer", None)]), remove("done 3")]).unwrap();
    assert_eq!(with(backend, &acme[..1]), [""; 0]);
}
