//! Tests forks, the removal of lineages by a name prefix, and the properties that all checkpoints of a lineage share.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::error::Code;
use forkpoint_engine::op::{Op, Unit};
use forkpoint_engine::query::{Of, Query};
use forkpoint_engine::record::{ContractId, Lineage, SortKey, TaskState, Write};
use forkpoint_engine::retention::{Cursor, Prune, Rule};

use crate::common::{
    CONTRACT_ID, HOSTILE, apply, draft, expect, findings, fork, get, headers, ids, keyed, lineage, lineages, log, logs,
    names, noise, part, remove, save, texts,
};

pub(crate) fn remove_lineages(prefix: &str) -> Op {
    Op::RemoveLineages { contract: CONTRACT_ID, prefix: prefix.to_owned() }
}

fn forks(backend: &mut dyn Backend, lineage: &str) -> Vec<Lineage> {
    let query = Query::Forks { contract: CONTRACT_ID, lineage: lineage.to_owned() };
    backend.answer(&query).unwrap().into_lineages().unwrap()
}

/// Returns the forks of a lineage as pairs: the name of the fork's lineage, and the id of the checkpoint that the fork
/// copied.
fn origins(backend: &mut dyn Backend, lineage: &str) -> Vec<(String, String)> {
    forks(backend, lineage).into_iter().map(|fork| (fork.newest.lineage, fork.origin.unwrap())).collect()
}

fn owned<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn error(backend: &mut dyn Backend, unit: Vec<Op>) -> (Code, String) {
    let error = apply(backend, unit).unwrap_err();
    (error.code(), error.message().to_owned())
}

pub(crate) fn a_fork_is_a_copy_with_a_name_of_its_own(backend: &mut dyn Backend) {
    let parts = vec![part("state", "t", noise(1, 5000)), part("rest", "u", "x")];
    let source = draft("run", "a").group("g").label("l").parent("p").sort_key(7.0).saved_at(3).parts(parts);
    save(backend, [source.clone()]);
    apply(backend, vec![fork("a", "b", "copy")]).unwrap();
    let mut copy = source.clone().sort_key(0.0).saved_at(0).parent("a").0;
    (copy.header.lineage, copy.header.id) = ("copy".to_owned(), "b".to_owned());
    assert_eq!(get(backend, "b"), Some(copy.clone()));
    assert_eq!(get(backend, "a"), Some(source.0));
    assert_eq!(names(backend, "g"), ["copy", "run"]);
    assert_eq!(lineages(backend, "", None, 1)[0].origin.as_deref(), Some("a"));
    // The copy can still be read after its source is removed.
    apply(backend, vec![remove("a")]).unwrap();
    assert_eq!(get(backend, "b"), Some(copy));
}

pub(crate) fn a_fork_needs_a_source_and_names_that_are_free(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b"), draft("other", "c")]);
    apply(backend, vec![texts("logged", "log", &["x"])]).unwrap();
    let (code, message) = error(backend, vec![fork("none", "d", "new")]);
    assert!(code == Code::NotFound && message.contains("\"none\""), "{message}");
    for (id, into, said) in [("d", "other", "\"other\""), ("d", "logged", "\"logged\""), ("c", "new", "\"c\"")] {
        let (code, message) = error(backend, vec![fork("a", id, into)]);
        assert!(code == Code::Conflict && message.contains(said), "{message}");
    }
    assert_eq!(names(backend, ""), ["other", "run"], "nothing is left of a fork that failed");
    // One unit puts the source of a fork, removes the checkpoint that has the fork's id, forks, and saves the step
    // after the fork.
    let step = draft("e", "f").sort_key(1.0).parent("e").put();
    apply(backend, vec![remove("c"), draft("run", "d").put(), fork("d", "e", "e"), step]).unwrap();
    assert_eq!(ids(backend, lineage("e")), ["f", "e"]);
    // A repeated fork changes nothing, even if the fork's lineage has newer checkpoints.
    apply(backend, vec![fork("d", "e", "e")]).unwrap();
    assert_eq!(ids(backend, lineage("e")), ["f", "e"]);
    assert_eq!(error(backend, vec![fork("a", "e", "e")]).0, Code::Conflict, "another source");
}

pub(crate) fn forks_are_listed_by_the_lineage_they_began_from(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a"), draft("run", "b").sort_key(1.0).parent("a")]);
    assert!(forks(backend, "run").is_empty(), "a parent of the same lineage makes no fork");
    apply(backend, vec![fork("a", "c", "one")]).unwrap();
    save(
        backend,
        [draft("two", "d").parent("b"), draft("two", "e").parent("c").sort_key(1.0), draft("lost", "f").parent("none")],
    );
    apply(backend, vec![fork("c", "g", "three")]).unwrap();
    assert_eq!(origins(backend, "run"), owned([("two", "b"), ("one", "a")]), "the last to begin first");
    assert_eq!(origins(backend, "one"), owned([("three", "c")]));
    assert_eq!(
        forks(backend, "run"),
        [lineages(backend, "", None, 9)[2].clone(), lineages(backend, "", None, 9)[3].clone()]
    );
    assert!(forks(backend, "none").is_empty() && forks(backend, "lost").is_empty());
    // A lineage keeps the name of its origin after the origin is removed. A lineage that ends and begins again is a new
    // lineage.
    apply(backend, vec![remove("a")]).unwrap();
    assert_eq!(origins(backend, "run"), owned([("two", "b"), ("one", "a")]));
    apply(backend, vec![remove("b")]).unwrap();
    save(backend, [draft("run", "a")]);
    assert!(forks(backend, "run").is_empty());
    let found = lineages(backend, "", None, 9).into_iter().find(|found| found.newest.lineage == "two").unwrap();
    assert_eq!(found.origin.as_deref(), Some("b"));
    apply(backend, vec![remove("c")]).unwrap();
    save(backend, [draft("one", "c").parent("a")]);
    assert_eq!(origins(backend, "run"), owned([("one", "a")]));
}

pub(crate) fn lineages_go_by_the_beginning_of_their_names(backend: &mut dyn Backend) {
    let all = ["a", "ab", "b", "%", "a\0", "a%", "é"];
    for name in all {
        save(backend, [draft(name, &format!("1 of {name}")), draft(name, &format!("2 of {name}"))]);
        apply(backend, vec![texts(name, "log", &["x", "y"])]).unwrap();
    }
    save(backend, [draft("a", "1").contract(ContractId(2))]);
    apply(backend, vec![texts("a only logs", "log", &["x"]), remove_lineages("")]).unwrap();
    assert_eq!(names(backend, "").len(), all.len(), "an empty prefix is none");
    let listed = |backend: &mut dyn Backend, prefix: &str| ids(backend, Of::Lineages(prefix.to_owned()));
    assert_eq!(
        listed(backend, "a"),
        ["2 of a%", "1 of a%", "2 of a\0", "1 of a\0", "2 of ab", "1 of ab", "2 of a", "1 of a"]
    );
    assert_eq!(listed(backend, "").len(), 2 * all.len());
    assert_eq!(headers(backend, Of::Lineages("a".to_owned()), Some(1))[0].id, "2 of a%");
    apply(backend, vec![remove_lineages("a%"), remove_lineages("é"), remove_lineages("none")]).unwrap();
    assert_eq!(names(backend, ""), ["a\0", "%", "b", "ab", "a"]);
    apply(backend, vec![remove_lineages("a")]).unwrap();
    assert_eq!(names(backend, ""), ["%", "b"]);
    for name in ["a", "ab", "a\0", "a%", "é", "a only logs"] {
        assert!(logs(backend, name).is_empty(), "{name:?}");
    }
    assert_eq!(log(backend, "b", "log"), ["x", "y"]);
    let other = Query::Get { contract: ContractId(2), id: "1".to_owned() };
    assert!(backend.answer(&other).unwrap().into_checkpoint().unwrap().is_some());
    for name in HOSTILE {
        save(backend, [draft(name, name)]);
    }
    for (at, name) in HOSTILE.into_iter().enumerate() {
        // This removes all lineages whose names begin with `name`.
        apply(backend, vec![remove_lineages(name)]).unwrap();
        let left = HOSTILE.iter().filter(|other| !HOSTILE[..=at].iter().any(|gone| other.starts_with(gone))).count();
        assert_eq!(names(backend, "").iter().filter(|name| *name != "b").count(), left, "{name:?}");
    }
}

pub(crate) fn the_checkpoints_of_a_lineage_have_one_age(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a").age_offset(8), draft("other", "b")]);
    let unit = vec![draft("other", "c").put(), draft("run", "d").put()];
    let (code, message) = error(backend, unit);
    assert!(code == Code::InvalidArgument && message.contains("\"d\"") && message.contains("\"run\""), "{message}");
    assert_eq!(ids(backend, lineage("other")), ["b"], "nothing of the unit happened");
    save(backend, [draft("run", "e").age_offset(8)]);
    assert_eq!(get(backend, "e").unwrap().header.age_offset, 8);
    apply(backend, vec![remove("a"), remove("e"), draft("run", "d").put()]).unwrap();
}

pub(crate) fn a_parent_stays_while_another_depends_on_it(backend: &mut dyn Backend) {
    let step = |n: u8| draft("run", &n.to_string()).sort_key(f64::from(n)).parent(&(n.wrapping_sub(1)).to_string());
    save(backend, [step(0), step(1), step(2).depends_on_parent(), step(3).depends_on_parent(), step(4), step(5)]);
    assert!(get(backend, "2").unwrap().header.depends_on_parent);
    let keep = |keep| Op::KeepLast { contract: CONTRACT_ID, lineage: "run".to_owned(), keep, pinned: String::new() };
    apply(backend, vec![keep(4)]).unwrap();
    assert_eq!(ids(backend, lineage("run")), ["5", "4", "3", "2", "1"], "3 needs 2, and 2 needs 1");
    let prune = Prune { contract: None, rule: Rule::KeepLast(2), cursor: Cursor::default(), most: 10 };
    assert_eq!(backend.prune(&prune).unwrap().checkpoints, 3);
    assert_eq!(ids(backend, lineage("run")), ["5", "4"]);
}

pub(crate) fn a_unit_that_fails_leaves_nothing_behind(backend: &mut dyn Backend) {
    let write = |id: &str| Op::Write {
        contract: CONTRACT_ID,
        id: id.to_owned(),
        writes: vec![Write {
            task: "t".to_owned(),
            index: 0,
            claimed_by: None,
            state: TaskState::default(),
            part: part("w", "t", id),
        }],
        replace: true,
        encoded: None,
    };
    save(backend, [draft("run", "a").group("g").label("l"), draft("run", "b").sort_key(1.0), draft("single", "c")]);
    apply(backend, vec![write("a"), texts("run", "log", &["1", "2", "3"]), texts("short", "log", &["x"])]).unwrap();
    save(backend, [draft("run", "d").sort_key(2.0).pin("log", 2)]);
    let tuple = Query::Tuple { contract: CONTRACT_ID, pick: forkpoint_engine::query::Pick::Id("a".to_owned()) };
    let everything = |backend: &mut dyn Backend| {
        let listed: Vec<_> =
            lineages(backend, "", None, 9).into_iter().map(|line| (line.checkpoints, line.newest)).collect();
        let logs = ["run", "short", "new", "fork"].map(|name| log(backend, name, "log"));
        let stats = backend
            .answer(&Query::Stats { contract: None, largest: 9, by_status: true })
            .unwrap()
            .into_stats()
            .unwrap()
            .total();
        let stats = (stats.checkpoints, stats.lineages, stats.records);
        let found = ["a", "b", "c", "d", "e", "f"].map(|id| get(backend, id));
        (listed, logs, stats, found, backend.answer(&tuple).unwrap(), ids(backend, Of::Group("g".to_owned())))
    };
    let before = everything(backend);
    let conflict = crate::common::texts_at("run", "log", 7, &["no"]);
    let all = vec![
        draft("run", "a").sort_key(9.0).put(),
        draft("run", "c").put(),
        draft("new", "e").put(),
        texts("run", "log", &["4"]),
        texts("new", "log", &["x"]),
        crate::common::append("run", "log", vec![keyed("k", "5")]),
        crate::common::truncate("run", "log", 1),
        texts("run", "log", &["6"]),
        fork("d", "f", "fork"),
        write("a"),
        Op::Claim { contract: CONTRACT_ID, id: "a".to_owned(), claimed_by: "b".to_owned() },
        Op::Reopen { contract: CONTRACT_ID, id: "a".to_owned() },
        Op::RemoveWrites { contract: CONTRACT_ID, prefix: String::new() },
        Op::KeepLast { contract: CONTRACT_ID, lineage: "run".to_owned(), keep: 1, pinned: String::new() },
        Op::RemoveFrom { contract: CONTRACT_ID, lineage: "run".to_owned(), sort_key: SortKey::default() },
        Op::RemoveLogs { contract: CONTRACT_ID, lineage: "short".to_owned() },
        remove_lineages("r"),
        remove("c"),
    ];
    // The first units contain the first change of the list, the first two changes, and so on. Then each change is in a
    // unit alone.
    let units = (1..=all.len()).map(|end| all[..end].to_vec()).chain(all.iter().map(|op| vec![op.clone()]));
    for unit in units {
        let said = format!("{:?}", unit.last());
        let unit = unit.into_iter().chain([conflict.clone()]).collect();
        assert_eq!(error(backend, unit).0, Code::Conflict);
        assert_eq!(everything(backend), before, "{said}");
    }
    let unit = Unit { expect: vec![expect("run", Some("b"), "x")], ops: all.clone() };
    assert_eq!(apply(backend, unit).unwrap_err().code(), Code::Conflict);
    assert_eq!(everything(backend), before);
    apply(backend, all).unwrap();
    assert_eq!(names(backend, ""), ["fork", "new"]);
}

pub(crate) fn lineages_of_a_group_are_found_among_many(backend: &mut dyn Backend) {
    const OTHER: ContractId = ContractId(CONTRACT_ID.0 + 1);
    let begin = |lineage: &str, group: &str| draft(lineage, lineage).group(group).put();
    let mut other = draft("run", "run").group("rare");
    other.0.header.contract = OTHER;
    let first = [("a", "rare"), ("b", "rar"), ("c", "rare/1"), ("d", "rarf"), ("e", "rare\u{10ffff}"), ("f", "rare")];
    let first = first.into_iter().map(|(lineage, group)| begin(lineage, group));
    let many = (0..10_500).map(|n| begin(&n.to_string(), "often"));
    let all: Vec<_> = first.chain([other.put()]).chain(many).chain([begin("z", "rare")]).collect();
    apply(backend, all).unwrap();

    let of_group = |backend: &mut dyn Backend, group: &str, page: usize| {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let listed = lineages(backend, group, before, page);
            before = listed.last().map(|last| last.position);
            let ended = listed.len() < page;
            found.extend(listed.into_iter().map(|lineage| lineage.newest.lineage));
            if ended {
                return found;
            }
        }
    };
    for page in [1, 2, 5, 6, 20_000] {
        assert_eq!(of_group(backend, "rare", page), ["z", "f", "e", "c", "a"], "pages of {page}");
        assert_eq!(of_group(backend, "rare/", page), ["c"]);
        assert_eq!(of_group(backend, "none", page), [""; 0]);
    }
    for page in [1_000, 20_000] {
        assert_eq!(of_group(backend, "often", page).len(), 10_500);
        assert_eq!(of_group(backend, "", page).len(), 10_507);
    }
    let of_other = Query::Lineages { contract: OTHER, group_prefix: String::new(), before: None, limit: 5 };
    let found = backend.answer(&of_other).unwrap().into_lineages().unwrap();
    assert_eq!(found.len(), 1, "of another contract, before many");
    // The index follows what changes.
    apply(backend, vec![remove("c"), remove("z"), begin("g", "rare/2")]).unwrap();
    assert_eq!(of_group(backend, "rare", 3), ["g", "f", "e", "a"]);
    assert_eq!(findings(backend), []);
}

pub(crate) fn a_check_counts_what_is_there_and_finds_nothing(backend: &mut dyn Backend) {
    for n in 0..20_u64 {
        let state = [noise(1, 4000), noise(n + 2, 50)].concat();
        save(backend, [draft("run", &n.to_string()).parts(vec![part("state", "t", state)])]);
        apply(backend, vec![texts("run", "log", &["x", "y"])]).unwrap();
    }
    apply(backend, vec![fork("7", "fork", "fork"), remove("3")]).unwrap();
    for limit in [1, 7, usize::MAX] {
        let (mut cursor, mut counted, mut done) = (Some(CheckCursor::default()), [0; 4], 0);
        while let Some(at) = cursor {
            let page = backend.answer(&Query::Check { cursor: at, limit }).unwrap().into_checked().unwrap();
            assert_eq!(page.findings, []);
            assert!(page.done >= done && page.of >= page.done, "{page:?}");
            let part = page.counted;
            for (sum, part) in counted.iter_mut().zip([part.checkpoints, part.payloads, part.writes, part.records]) {
                *sum += part;
            }
            (cursor, done) = (page.next, page.done);
        }
        assert_eq!(counted, [20, 20, 0, 40]);
    }
}
