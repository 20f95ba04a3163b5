//! Tests the labels of lineages: how they change, when they go, and how lineages are found by them.

use std::collections::BTreeMap;

use forkpoint_engine::backend::Backend;
use forkpoint_engine::error::Code;
use forkpoint_engine::op::{LogEnd, LogMust, Op, Unit};
use forkpoint_engine::query::{ActivityOrder, Query, Recent, RowOrder, Rows, RowsFrom};
use forkpoint_engine::record::{Labels, Record, Seq, Status};

use crate::common::{CONTRACT_ID, Draft, apply, draft, fork, lineages, remove, save};

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

/// The labels of a lineage, which every query must tell.
fn of(backend: &mut dyn Backend, lineage: &str) -> Labels {
    let lineage = lineage.to_owned();
    let rows = |from, limit, sums| {
        let order = RowOrder::NewestFirst;
        Query::Rows(Rows { contract: CONTRACT_ID, lineage: lineage.clone(), from, order, limit, sums })
    };
    let pages = [rows(RowsFrom::End, 1, false), rows(RowsFrom::Step(0), 9, true)];
    let [one, other] = pages.map(|query| backend.answer(&query).unwrap().into_rows().unwrap().labels);
    let start = backend.answer(&Query::Start { contract: CONTRACT_ID, lineage }).unwrap().into_starts().unwrap().pop();
    assert_eq!((&one, &one), (&other, &start.map_or_else(Labels::default, |start| start.labels)));
    one
}

fn recent(wanted: &[(&str, &str)]) -> Recent {
    Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: false,
        matching: String::new(),
        statuses: Vec::new(),
        labels: labels(wanted),
        order: ActivityOrder::LatestFirst,
        after: None,
        limit: 1_000,
    }
}

fn found(backend: &mut dyn Backend, recent: Recent) -> Vec<(Seq, String)> {
    let found = backend.answer(&Query::Recent(recent)).unwrap().into_recent().unwrap();
    found.into_iter().map(|active| (active.seq, active.newest.lineage)).collect()
}

/// The lineages that have all of these labels, the one that was active last first.
fn with(backend: &mut dyn Backend, wanted: &[(&str, &str)]) -> Vec<String> {
    found(backend, recent(wanted)).into_iter().map(|(_, name)| name).collect()
}

fn append(lineage: &str) -> Op {
    let record = Record { key: None, tag: String::new(), bytes: bytes::Bytes::from_static(b"a") };
    let (lineage, log) = (lineage.to_owned(), "log".to_owned());
    Op::Append { contract: CONTRACT_ID, lineage, log, records: vec![record], must: LogMust::BeAny }
}

pub(crate) fn labels_are_merged_and_removed(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a").sort_key(1.0), draft("other", "b")]);
    assert_eq!(of(backend, "run"), Labels::default());
    apply(backend, vec![set("run", &[("customer", Some("acme")), ("plan", Some("free"))])]).unwrap();
    apply(backend, vec![set("run", &[("plan", None), ("é\n", Some("\0 \"'{}")), ("none", None)])]).unwrap();
    let expected = labels(&[("customer", "acme"), ("é\n", "\0 \"'{}")]);
    assert_eq!(of(backend, "run"), expected);
    assert_eq!(with(backend, &[("é\n", "\0 \"'{}")]), ["run"]);
    assert_eq!(of(backend, "other"), Labels::default());
    // A save keeps them, also one that replaces the only checkpoint of the run, and so does a change to nothing.
    save(backend, [draft("run", "a").sort_key(2.0)]);
    apply(backend, vec![set("run", &[("customer", Some("acme"))])]).unwrap();
    save(backend, [draft("run", "c").sort_key(3.0)]);
    apply(backend, vec![remove("a")]).unwrap();
    assert_eq!(of(backend, "run"), expected);
    apply(backend, vec![set("run", &[("customer", None), ("é\n", None)])]).unwrap();
    assert_eq!(of(backend, "run"), Labels::default());
    // In the unit that begins the run, and in one batch.
    apply(backend, vec![draft("new", "n").put(), set("new", &[("a", Some(""))])]).unwrap();
    let units: [Unit; 3] = [
        vec![draft("newer", "m").put()].into(),
        vec![set("newer", &[("a", Some("1"))])].into(),
        vec![set("newer", &[("a", Some("2")), ("b", Some("3"))])].into(),
    ];
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    assert_eq!([of(backend, "new"), of(backend, "newer")], [labels(&[("a", "")]), labels(&[("a", "2"), ("b", "3")])]);
}

pub(crate) fn labels_need_a_run_and_are_at_most_32(backend: &mut dyn Backend) {
    apply(backend, vec![append("logs")]).unwrap();
    for lineage in ["none", "logs"] {
        let refused = apply(backend, vec![draft("run", "a").put(), set(lineage, &[("a", Some("b"))])]).unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{refused}");
        assert!(lineages(backend, "", None, 9).is_empty(), "nothing of the unit was stored");
    }
    let many: BTreeMap<String, String> = (0..32).map(|n| (format!("key {n}"), "x".repeat(500))).collect();
    let many = Labels(many);
    save(backend, [draft("run", "a")]);
    let op = Op::SetLabels { contract: CONTRACT_ID, lineage: "run".to_owned(), changes: many.changes() };
    apply(backend, vec![op]).unwrap();
    let refused = apply(backend, vec![set("run", &[("key 1", Some("")), ("one more", Some(""))])]).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert_eq!(of(backend, "run"), many);
    apply(backend, vec![set("run", &[("key 1", None), ("one more", Some(""))])]).unwrap();
    assert_eq!(with(backend, &[("one more", ""), ("key 2", &"x".repeat(500))]), ["run"]);
}

pub(crate) fn a_run_begins_with_the_labels_of_its_first_put(backend: &mut dyn Backend) {
    apply(backend, vec![labelled(draft("run", "a").sort_key(1.0), &[("service", "support"), ("a", "b")])]).unwrap();
    apply(backend, vec![labelled(draft("run", "b").sort_key(2.0), &[("service", "other"), ("c", "d")])]).unwrap();
    apply(backend, vec![labelled(draft("run", "b").sort_key(2.0), &[("service", "other")])]).unwrap();
    assert_eq!(of(backend, "run"), labels(&[("service", "support"), ("a", "b")]));
    // Several runs of one batch.
    let unit = |name: &str, pairs: &[(&str, &str)]| Unit::from(vec![labelled(draft(name, name), pairs)]);
    let units = [unit("one", &[("n", "1"), ("m", "1")]), unit("none", &[]), unit("two", &[("n", "2")])];
    assert!(backend.apply(&units).iter().all(Result::is_ok));
    let of_all = ["one", "none", "two"].map(|name| of(backend, name));
    assert_eq!(of_all, [labels(&[("n", "1"), ("m", "1")]), Labels::default(), labels(&[("n", "2")])]);
    // A run that had only logs before its first checkpoint.
    apply(backend, vec![append("logs")]).unwrap();
    assert_eq!(of(backend, "logs"), Labels::default());
    apply(backend, vec![labelled(draft("logs", "c"), &[("service", "support")])]).unwrap();
    assert_eq!(of(backend, "logs"), labels(&[("service", "support")]));
    // A fork gets its own, and none of its source.
    apply(backend, vec![fork("a", "f", "fork")]).unwrap();
    let Op::Fork(mut other) = fork("a", "g", "other fork") else { unreachable!("a fork") };
    other.labels = labels(&[("service", "forks")]);
    apply(backend, vec![Op::Fork(other)]).unwrap();
    assert_eq!([of(backend, "fork"), of(backend, "other fork")], [Labels::default(), labels(&[("service", "forks")])]);
}

pub(crate) fn labels_go_with_their_run(backend: &mut dyn Backend) {
    let begin = || labelled(draft("run", "a").sort_key(1.0), &[("service", "support")]);
    apply(backend, vec![begin(), append("run")]).unwrap();
    apply(backend, vec![remove("a")]).unwrap();
    // The log is left.
    assert_eq!((of(backend, "run"), with(backend, &[("service", "support")])), (Labels::default(), vec![]));
    save(backend, [draft("run", "a")]);
    assert_eq!(of(backend, "run"), Labels::default());
    apply(backend, vec![set("run", &[("service", Some("support"))])]).unwrap();
    let to = LogEnd::Length(0);
    let cut = Op::Truncate { contract: CONTRACT_ID, lineage: "run".to_owned(), log: "log".to_owned(), to };
    apply(backend, vec![cut, remove("a"), draft("run", "b").put()]).unwrap();
    assert_eq!((of(backend, "run"), with(backend, &[("service", "support")])), (Labels::default(), vec![]));
    // The checkpoint moves to another run.
    apply(backend, vec![set("run", &[("service", Some("support"))])]).unwrap();
    save(backend, [draft("other", "b")]);
    assert_eq!(of(backend, "other"), Labels::default());
    assert_eq!(with(backend, &[("service", "support")]), [""; 0]);
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
