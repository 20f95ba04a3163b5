//! The queries that read everything that a store holds.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::op::Op;
use forkpoint_engine::query::Query;
use forkpoint_engine::record::{ContractId, FirstCheckpoint, LogRun, Origin, Saved, Start, TaskState, Write, Written};

use crate::common::{
    CONTRACT_ID, HOSTILE, append, apply, draft, fork, keyed, noise, part, record, remove, rewind, save, texts, truncate,
};

const OTHER: ContractId = ContractId(4);

/// Reads all pages. Every page has at least one checkpoint and ends with the one that fills it.
fn saves(backend: &mut dyn Backend, bytes: usize) -> Vec<Saved> {
    let mut all: Vec<Saved> = Vec::new();
    loop {
        let after = all.last().map(|saved| saved.seq);
        let page = backend.answer(&Query::Saves { after, bytes }).unwrap().into_saves().unwrap();
        let Some((last, rest)) = page.split_last() else { return all };
        let size = rest.iter().map(Saved::weight).sum::<usize>();
        assert!(rest.is_empty() || size < bytes, "{size} of {bytes} without {}", last.weight());
        all.extend(page);
    }
}

fn starts(backend: &mut dyn Backend, limit: usize) -> Vec<Start> {
    let mut all: Vec<Start> = Vec::new();
    loop {
        let after = all.last().map(|start| start.position);
        let page = backend.answer(&Query::Starts { after, limit }).unwrap().into_starts().unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        for start in &page {
            let query = Query::Start { contract: start.contract, lineage: start.name.clone() };
            assert_eq!(backend.answer(&query).unwrap().into_starts().unwrap(), std::slice::from_ref(start));
        }
        all.extend(page);
    }
}

fn writes(backend: &mut dyn Backend, bytes: usize) -> Vec<Written> {
    let mut all: Vec<Written> = Vec::new();
    loop {
        let after = all.last().map(|written| (written.contract, written.id.clone()));
        let page = backend.answer(&Query::Writes { after, bytes }).unwrap().into_writes().unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn runs(backend: &mut dyn Backend, lineage: &str, log: &str, at: Option<&str>) -> Vec<LogRun> {
    let (lineage, log, at) = (lineage.to_owned(), log.to_owned(), at.map(str::to_owned));
    let query = Query::LogRuns { contract: CONTRACT_ID, lineage, log, at };
    backend.answer(&query).unwrap().into_log_runs().unwrap()
}

pub(crate) fn all_checkpoints_come_in_pages_in_save_order(backend: &mut dyn Backend) {
    assert_eq!(saves(backend, 1), []);
    for n in 0..20_u64 {
        let parts = vec![part("state", "t", [noise(1, 3000), noise(n, 100)].concat()), part("", "é\0", "")];
        let lineage = ["a", "b", "c"][usize::try_from(n % 3).unwrap()];
        // The sort keys fall, so that the save order is not the order of any listing.
        let sort_key = 100.0 - f64::from(u32::try_from(n).unwrap());
        let draft = draft(lineage, &n.to_string()).sort_key(sort_key).parts(parts);
        save(backend, [if n % 4 == 0 { draft.contract(OTHER) } else { draft }]);
    }
    apply(backend, vec![texts("a", "log", &["1", "2"])]).unwrap();
    save(backend, [draft("a", "named").pin("log", 1).pin("none", 0).group("g").label("l").age_offset(0)]);
    apply(backend, vec![remove("7"), fork("named", "copy", "new")]).unwrap();
    // What is saved again comes last.
    save(backend, [draft("b", "1")]);

    let found = saves(backend, usize::MAX);
    let ids: Vec<&str> = found.iter().map(|saved| &*saved.checkpoint.header.id).collect();
    let left = ["0", "2", "3", "4", "5", "6", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"];
    assert_eq!(ids, [&left[..], &["named", "copy", "1"]].concat());
    assert!(found.is_sorted_by(|a, b| a.seq < b.seq));
    for saved in &found {
        let (contract, id) = (saved.checkpoint.header.contract, saved.checkpoint.header.id.clone());
        let got = backend.answer(&Query::Get { contract, id }).unwrap().into_checkpoint().unwrap();
        assert_eq!(got.as_deref(), Some(&saved.checkpoint));
        let start = starts(backend, 100).into_iter().find(|start| start.position == saved.lineage).unwrap();
        assert_eq!((start.contract, &start.name), (contract, &saved.checkpoint.header.lineage));
    }
    for bytes in [0, 1, 4000, 8000, 1 << 20] {
        assert_eq!(saves(backend, bytes), found, "{bytes}");
    }
}

pub(crate) fn all_lineages_come_in_pages_as_they_began(backend: &mut dyn Backend) {
    assert_eq!(starts(backend, 3), []);
    apply(backend, vec![texts("only a log", "log", &["1"])]).unwrap();
    apply(backend, vec![texts("first a log", "log", &["1"])]).unwrap();
    save(
        backend,
        [
            draft("run", "a").group("begins").age_offset(3),
            draft("run", "b").group("goes on").age_offset(3),
            draft("run", "c").contract(OTHER),
            draft("child", "d").parent("a"),
            draft("first a log", "e").parent("d").group("late"),
            draft("lost", "f").parent("x"),
        ],
    );
    apply(backend, vec![fork("b", "g", "fork"), fork("d", "h", "orphan")]).unwrap();
    // The group and the origin of a lineage outlast the checkpoints that they come from.
    apply(backend, vec![remove("a"), remove("d")]).unwrap();
    save(backend, HOSTILE.map(|name| draft(name, name).group(name)));
    apply(backend, vec![texts("both", "log", &["1"]), draft("both", "i").put(), remove("i")]).unwrap();

    let found = starts(backend, usize::MAX);
    let position =
        |name: &str| found.iter().find(|start| (start.contract, &*start.name) == (CONTRACT_ID, name)).unwrap().position;
    let first = |group: &str, age_offset, origin: Option<(&str, Option<&str>)>| {
        let origin = origin.map(|(id, lineage)| {
            // "child" was the third lineage with a checkpoint. It has none any more.
            let position = lineage.map_or(position("run") + 2, &position);
            Origin { id: id.to_owned(), position, lineage: lineage.map(str::to_owned) }
        });
        Some(FirstCheckpoint { group: group.to_owned(), age_offset, origin })
    };
    let of = |contract, name: &str, first| (contract, name.to_owned(), first);
    let shown = |start: &Start| (start.contract, start.name.clone(), start.first.clone());
    let mut expected = vec![
        of(CONTRACT_ID, "only a log", None),
        of(CONTRACT_ID, "first a log", first("late", 0, Some(("d", None)))),
        of(CONTRACT_ID, "run", first("begins", 3, None)),
        of(OTHER, "run", first("", 0, None)),
        of(CONTRACT_ID, "lost", first("", 0, None)),
        of(CONTRACT_ID, "fork", first("goes on", 3, Some(("b", Some("run"))))),
        of(CONTRACT_ID, "orphan", first("", 0, Some(("d", None)))),
    ];
    expected.extend(HOSTILE.map(|name| of(CONTRACT_ID, name, first(name, 0, None))));
    expected.push(of(CONTRACT_ID, "both", None));
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(found.is_sorted_by(|a, b| a.position < b.position));
    for limit in [1, 2, 7] {
        assert_eq!(starts(backend, limit), found);
    }
    // A lineage that begins anew is another one, for its forks too.
    save(backend, [draft("child", "d")]);
    let orphan = starts(backend, 100).into_iter().find(|start| start.name == "orphan").unwrap();
    assert_eq!(orphan.first.unwrap().origin.unwrap().lineage, None);
}

pub(crate) fn all_pending_writes_come_in_pages(backend: &mut dyn Backend) {
    assert_eq!(writes(backend, 1), []);
    save(backend, [draft("run", "a"), draft("run", "z")]);
    let mut expected = Vec::new();
    let ids = [&HOSTILE[..], &["a", "z", "not there", "B"]].concat();
    for (contract, id) in
        [OTHER, CONTRACT_ID].into_iter().flat_map(|contract| ids.iter().map(move |id| (contract, *id)))
    {
        let write = |task: &str, index, bytes: &[u8]| Write {
            task: task.to_owned(),
            index,
            claimed_by: None,
            state: TaskState::default(),
            part: part("channel", "t", bytes),
        };
        let op = |writes| Op::Write { contract, id: id.to_owned(), writes, replace: true, encoded: None };
        let claim = Op::Claim { contract, id: id.to_owned(), claimed_by: "child".to_owned() };
        let first = vec![write("2", 0, b"a"), write("1", -1, id.as_bytes()), write("2", 7, b"")];
        apply(backend, vec![op(first), claim, op(vec![write("2", 0, b"b")])]).unwrap();
        let claimed = |write: Write| Write { claimed_by: Some("child".to_owned()), ..write };
        let all = vec![
            claimed(write("2", 0, b"a")),
            claimed(write("2", 7, b"")),
            claimed(write("1", -1, id.as_bytes())),
            write("2", 0, b"b"),
        ];
        expected.push(Written { contract, id: id.to_owned(), writes: all });
    }
    expected.sort_by(|a, b| (a.contract, &a.id).cmp(&(b.contract, &b.id)));
    for bytes in [0, 1, 1000, 5000, usize::MAX] {
        assert_eq!(writes(backend, bytes), expected);
    }
}

pub(crate) fn the_runs_of_a_log_say_what_it_shares(backend: &mut dyn Backend) {
    assert_eq!(runs(backend, "run", "log", None), []);
    apply(backend, vec![append("run", "log", vec![keyed("k", "1"), record("2"), record("3")])]).unwrap();
    save(backend, [draft("run", "a").pin("log", 3), draft("run", "none").pin("log", 0)]);
    apply(backend, vec![truncate("run", "log", 1), texts("run", "log", &["other"])]).unwrap();
    save(backend, [draft("run", "b").pin("log", 2)]);
    apply(backend, vec![rewind("run", "log", "a"), texts("run", "log", &["4"])]).unwrap();
    apply(backend, vec![fork("a", "c", "fork"), texts("fork", "log", &["mine"])]).unwrap();

    let [trunk] = runs(backend, "run", "log", None)[..] else { panic!("one branch") };
    assert_eq!(trunk.to, 4);
    assert_eq!(runs(backend, "run", "log", Some("a")), [LogRun { to: 3, ..trunk }]);
    let [first, second] = runs(backend, "run", "log", Some("b"))[..] else { panic!("two branches") };
    assert_eq!((first, second.to), (LogRun { to: 1, ..trunk }, 2));
    let third = match runs(backend, "fork", "log", None)[..] {
        // A backend on a server copies the records of a fork, so that no lineage shares rows with another one.
        [copy] => copy,
        [first, third] => {
            assert_eq!(first, LogRun { to: 3, ..trunk });
            third
        }
        _ => panic!("one branch or two"),
    };
    assert_eq!(third.to, 4);
    assert_eq!([trunk.branch, second.branch, third.branch].iter().collect::<std::collections::HashSet<_>>().len(), 3);
    for (lineage, log, at) in [
        ("run", "log", Some("none")),
        ("run", "log", Some("c")),
        ("run", "other", None),
        ("run", "other", Some("a")),
        ("x", "log", None),
        ("run", "log", Some("x")),
    ] {
        assert_eq!(runs(backend, lineage, log, at), []);
    }
}
