//! Copies between any two backends: everything is copied, a copy that was killed goes on, and whatever is wrong is told.
//! `tests/model.rs` copies stores with random content.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::copy::{Copy, CopyOptions, Progress};
use forkpoint_engine::store::Options;

const OTHER: ContractId = ContractId(4);
/// A contract that copies leave out.
const LIVING: ContractId = ContractId(8);
const LEFT_OUT: &[ContractId] = &[LIVING];

fn open(target: &Target) -> Arc<Store> {
    let options = Options { durability: Durability::Off, max_payload_bytes: 128 << 20, ..Options::default() };
    Arc::new(Store::open(target, options).unwrap())
}

fn memory() -> Arc<Store> {
    open(&Target::Memory)
}

fn apply_to(store: &Store, unit: impl Into<Unit>) -> Result<()> {
    call(|reply| store.apply(unit.into(), reply)).map(drop)
}

fn ask(store: &Store, query: Query) -> Answer {
    call(|reply| store.ask(query, reply)).unwrap()
}

fn options(page_bytes: usize) -> CopyOptions {
    CopyOptions { left_out: LEFT_OUT, effects: &[], lineages: None, page_bytes }
}

fn begin(from: &Arc<Store>, to: &Arc<Store>, page_bytes: usize) -> Copy {
    Copy::new(Arc::clone(from), Arc::clone(to), options(page_bytes)).unwrap()
}

/// Steps until the copy has ended or `stop` says so.
fn run(copy: &mut Copy, mut stop: impl FnMut(&Progress) -> bool) -> Result<Progress> {
    loop {
        let progress = copy.step()?;
        if progress.done || stop(&progress) {
            return Ok(progress);
        }
    }
}

fn copy(from: &Arc<Store>, to: &Arc<Store>, page_bytes: usize) -> Result<Progress> {
    let done = run(&mut begin(from, to, page_bytes), |_| false)?;
    Ok(Progress { changed: false, ..done })
}

fn writes(contract: ContractId, id: &str, writes: Vec<Write>) -> Op {
    Op::Write { contract, id: id.to_owned(), writes, replace: true, encoded: None }
}

/// Units that leave a store with something of every kind.
fn everything() -> Vec<Vec<Op>> {
    let mut units: Vec<Vec<Op>> = Vec::new();
    // Growing runs that take turns, of which retention has removed the first checkpoints: the order of the runs is not
    // the order of their first checkpoints any more.
    for n in 0..30_u64 {
        let lineage = ["grows", "grows too", "short"][usize::try_from(n % 3).unwrap()];
        let state = [noise(1, 2000), noise(2, 40 * usize::try_from(n).unwrap())].concat();
        let id = format!("run {n}");
        let parts = vec![part("state", "v8", state), part("empty", "", ""), part("state", "json", "again")];
        let step = draft(lineage, &id).sort_key(1000.0 - f64::from(u32::try_from(n).unwrap())).parts(parts);
        let step = step.group(if n < 3 { "first group" } else { "later" }).label("node").saved_at(1_000_000 - 7);
        units.push(vec![if n > 5 {
            step.parent(&format!("run {}", n - 3)).depends_on_parent().put()
        } else {
            step.put()
        }]);
    }
    units.push((0..20).step_by(3).map(|n| remove(&format!("run {n}"))).collect());
    // A session: messages, checkpoints that name them, a rewind, another branch, a fork.
    let message = |n: u64| keyed(&format!("key {n}"), noise(n, 100));
    units.push(vec![append("session", "messages", (0..5).map(message).collect()), texts("session", "b", &["x"])]);
    units.push(vec![draft("session", "s1").pin("messages", 5).pin("b", 1).pin("none", 0).group("s").put()]);
    units.push(vec![append("session", "messages", (5..9).map(message).collect())]);
    units.push(vec![draft("session", "s2").parent("s1").pin("messages", 8).group("s").put()]);
    units.push(vec![truncate("session", "messages", 3), append("session", "messages", vec![message(1), message(20)])]);
    units.push(vec![draft("session", "s3").parent("s1").pin("messages", 4).group("s").put()]);
    units.push(vec![fork("s2", "f1", "branch"), append("branch", "messages", vec![record("mine")])]);
    units.push(vec![draft("branch", "f2").parent("f1").pin("messages", 9).group("s").put()]);
    units.push(vec![rewind("session", "messages", "s2"), append("session", "messages", vec![message(30)])]);
    units.push(vec![fork("s3", "g1", "other branch"), remove("s3")]);
    units.push(vec![
        draft("child", "h").parent("s2").group("s").put(),
        draft("child", "i").parent("h").put(),
        remove("h"),
    ]);
    units.push(vec![append("only a log", "log", vec![record("alone"), keyed("", "empty key")])]);
    units.push(vec![texts("gone log", "log", &["1"]), draft("gone log", "kept").pin("log", 1).put()]);
    units.push(vec![truncate("gone log", "log", 0)]);
    // Pending writes of every kind.
    units.push(vec![writes(CONTRACT_ID, "s1", vec![write("b", 0, b"1"), write("a", -1, b"2"), write("b", 3, b"3")])]);
    units.push(vec![claim("s1", "s2"), writes(CONTRACT_ID, "s1", vec![write("b", 0, b"4"), write("c", 0, b"")])]);
    units.push(vec![claim("s1", "s3"), writes(CONTRACT_ID, "s1", vec![write("a", 0, b"5")])]);
    units.push(vec![
        writes(CONTRACT_ID, "not there", vec![write("t", 0, b"6")]),
        writes(OTHER, "s1", vec![write("t", 0, b"7")]),
    ]);
    // Other contracts, hostile names, special fields.
    for (n, name) in HOSTILE.iter().enumerate() {
        let step = draft(name, name).group(name).label(name).meta(name.as_bytes()).contract(if n % 2 == 0 {
            OTHER
        } else {
            CONTRACT_ID
        });
        units.push(vec![step.put()]);
    }
    let mut exempt = draft("aged", "exempt").age_offset(8).saved_at(-5);
    exempt.0.header.exempt = true;
    units.push(vec![exempt.put()]);
    let lease = draft("lease", "lease").contract(LIVING).put();
    units.push(vec![lease, writes(LIVING, "lease", vec![write("t", 0, b"8")])]);
    units
}

/// Units that make origins that only a lineage created in advance can have.
fn odd_origins() -> Vec<Vec<Op>> {
    vec![
        // The lineage has a log before the lineage of its origin exists.
        vec![texts("early", "log", &["1"])],
        vec![draft("late", "o").put(), draft("early", "p").parent("o").pin("log", 1).put()],
        // The origin moves to another lineage, and a second lineage begins from it there.
        vec![draft("first home", "moves").put(), draft("from the first", "q").parent("moves").put()],
        vec![draft("second home", "moves").put(), draft("from the second", "r").parent("moves").put()],
        // A checkpoint replaces its own origin.
        vec![draft("itself", "moves").parent("moves").put()],
        vec![draft("late", "keeps").put(), remove("o")],
    ]
}

/// A log with its records.
type Log = (LogMark, Vec<Record>);

/// The content of a store, without what differs between stores.
#[derive(Debug, PartialEq)]
struct Content {
    /// Each lineage with its logs and their records.
    lineages: Vec<(Start, Vec<Log>)>,
    /// Each checkpoint with the records of the logs that it names.
    checkpoints: Vec<(Checkpoint, Vec<Vec<Record>>)>,
    writes: Vec<Written>,
    recent: Vec<Lineage>,
    forks: Vec<Vec<Lineage>>,
}

fn content(store: &Store) -> Content {
    let records = |contract, lineage: &str, log: &str, at: Option<&str>| {
        let range = LogRange { contract, ..log_range(lineage, log, at) };
        ask(store, Query::Log(range)).into_log().unwrap().unwrap_or_default().records
    };
    let starts = ask(store, Query::Starts { after: None, limit: usize::MAX }).into_starts().unwrap();
    let lineages = starts.iter().filter(|start| start.contract != LIVING).map(|start| {
        let query = Query::Logs { contract: start.contract, lineage: start.name.clone() };
        let logs = ask(store, query).into_logs().unwrap().into_iter();
        let logs = logs.map(|mark| (mark.clone(), records(start.contract, &start.name, &mark.log, None))).collect();
        let mut start = Start { position: 0, ..start.clone() };
        let origin = start.first.as_mut().and_then(|first| first.origin.as_mut());
        if let Some(origin) = origin {
            origin.position = 0;
        }
        (start, logs)
    });
    let saves = ask(store, Query::Saves { after: None, bytes: usize::MAX }).into_saves().unwrap();
    let saves = saves.into_iter().filter(|saved| saved.checkpoint.header.contract != LIVING);
    let checkpoints = saves.map(|Saved { checkpoint, .. }| {
        let header = &checkpoint.header;
        let named = checkpoint.logs.iter();
        let named = named.map(|mark| records(header.contract, &header.lineage, &mark.log, Some(&header.id))).collect();
        (checkpoint, named)
    });
    let writes = ask(store, Query::Writes { after: None, bytes: usize::MAX }).into_writes().unwrap();
    let at_0 = |lineage| Lineage { position: 0, seq: 0, ..lineage };
    let recent = [CONTRACT_ID, OTHER].into_iter().flat_map(|contract| {
        let recent = Recent { contracts: vec![contract], ..recent() };
        ask(store, Query::Recent(recent)).into_recent().unwrap()
    });
    let forks = starts.iter().map(|start| {
        let query = Query::Forks { contract: start.contract, lineage: start.name.clone() };
        ask(store, query).into_lineages().unwrap().into_iter().map(at_0).collect()
    });
    Content {
        lineages: lineages.collect(),
        checkpoints: checkpoints.collect(),
        writes: writes.into_iter().filter(|written| written.contract != LIVING).collect(),
        recent: recent.map(at_0).collect(),
        forks: forks.filter(|forks: &Vec<_>| !forks.is_empty()).collect(),
    }
}

fn fill(store: &Store, units: Vec<Vec<Op>>) {
    for unit in units {
        apply_to(store, unit).unwrap();
    }
}

fn kinds(folder: &Path, name: &str) -> [Target; 3] {
    [Target::Memory, Target::Sqlite(folder.join(format!("{name}.db"))), Target::Jsonl(folder.join(name))]
}

/// The outcome of a second copy: it has found everything there, and otherwise is as the first one.
fn assert_again(again: Progress, first: Progress) {
    assert_eq!(again, Progress { there: again.counts, ..first });
}

#[test]
fn everything_is_copied_between_any_two_backends() {
    for (from, to) in (0..9).map(|n| (n % 3, n / 3)) {
        for (odd, page_bytes) in [(false, 1), (true, 1), (false, 3000), (true, 4 << 20), (false, 4 << 20)] {
            let folder = tempfile::tempdir().unwrap();
            let from = open(&kinds(folder.path(), "from")[from]);
            let to = open(&kinds(folder.path(), "to")[to]);
            fill(&from, if odd { [odd_origins(), everything()].concat() } else { everything() });
            let expected = content(&from);
            let done = copy(&from, &to, page_bytes).unwrap();
            assert_eq!(content(&to), expected);
            assert_eq!(content(&from), expected, "the source stays as it is");
            assert_eq!(done.counts.checkpoints, expected.checkpoints.len() as u64);
            assert_eq!(done.of_checkpoints, done.counts.checkpoints);
            assert_eq!(done.counts.lineages, expected.lineages.len() as u64);
            assert_eq!(
                done.counts.writes,
                expected.writes.iter().map(|written| written.writes.len() as u64).sum::<u64>()
            );
            assert!(done.counts.bytes > 10_000 && done.counts.records >= done.of_records, "{done:?}");
            // A copy of the copy, and the copy again.
            let third = memory();
            copy(&to, &third, page_bytes).unwrap();
            assert_eq!(content(&third), expected);
            assert_again(copy(&from, &to, page_bytes).unwrap(), done);
            assert_eq!(content(&to), expected);
        }
    }
}

#[test]
fn an_empty_store_is_copied() {
    let (from, to) = (memory(), memory());
    let done = copy(&from, &to, 1).unwrap();
    assert_eq!(done, Progress { verifying: true, done: true, ..Progress::default() });
    assert_eq!(content(&to), content(&from));
}

#[test]
fn a_fork_shares_its_records_and_its_payload_in_the_copy_too() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (open(&kinds(folder.path(), "from")[1]), open(&kinds(folder.path(), "to")[1]));
    let parts = || vec![part("state", "t", noise(9, 100_000))];
    let message = |n: u64| keyed(&n.to_string(), noise(n, 200));
    apply_to(&from, vec![append("session", "messages", (0..500).map(message).collect())]).unwrap();
    apply_to(&from, vec![draft("session", "base").parts(parts()).pin("messages", 500).put()]).unwrap();
    apply_to(&from, vec![append("session", "messages", (500..600).map(message).collect())]).unwrap();
    for n in 0..20_u64 {
        let lineage = format!("branch {n}");
        apply_to(
            &from,
            vec![fork("base", &format!("fork {n}"), &lineage), append(&lineage, "messages", vec![message(1000 + n)])],
        )
        .unwrap();
        let next = draft(&lineage, &format!("next {n}")).parent(&format!("fork {n}")).parts(parts());
        apply_to(&from, vec![next.pin("messages", 501).put()]).unwrap();
        if n % 2 == 0 {
            // The first checkpoint of the branch is gone. The branch still shares the records.
            apply_to(&from, vec![remove(&format!("fork {n}"))]).unwrap();
        }
    }
    copy(&from, &to, 4 << 20).unwrap();
    assert_eq!(content(&to), content(&from));
    let stats = |store: &Store| ask(store, stats_query(0)).into_stats().unwrap().total();
    let (theirs, ours) = (stats(&from), stats(&to));
    assert_eq!((theirs.records, ours.records), (620, 620));
    // The payloads of branches that lost their first checkpoint are stored whole in the source, too.
    assert!(ours.stored_bytes <= theirs.stored_bytes * 11 / 10, "{} of {}", ours.stored_bytes, theirs.stored_bytes);
}

#[test]
fn a_large_checkpoint_and_a_long_log_are_copied_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (open(&kinds(folder.path(), "from")[1]), open(&kinds(folder.path(), "to")[1]));
    apply_to(&from, vec![draft("run", "large").parts(vec![part("state", "t", noise(1, 64 << 20))]).put()]).unwrap();
    for n in 0..20 {
        let records = (0..100).map(|m| record(noise(n * 100 + m, 10_000))).collect();
        apply_to(&from, vec![append("log", "log", records)]).unwrap();
    }
    apply_to(&from, vec![draft("log", "names all").pin("log", 2000).put()]).unwrap();
    // Each step begins anew, so the log is not copied from its beginning each time.
    let (mut steps, mut done) = (0, Progress::default());
    while !done.done {
        let mut copy = begin(&from, &to, 1 << 20);
        done = run(&mut copy, |progress| {
            steps += 1;
            !progress.verifying && steps % 20 == 0
        })
        .unwrap();
        assert!(steps < 1000, "{done:?}");
    }
    assert_eq!((done.counts.checkpoints, done.counts.records), (2, 2000));
    let found = ask(&to, common::get_query("large")).into_checkpoint().unwrap().unwrap();
    assert_eq!(found.payload.parts[0].bytes, noise(1, 64 << 20));
}

fn refused(outcome: Result<Progress>, code: Code, words: &[&str]) -> Error {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} in {error}");
    }
    error
}

#[test]
fn a_destination_with_anything_else_is_refused() {
    let from = memory();
    fill(&from, everything());
    for unit in [
        vec![draft("mine", "mine").put()],
        vec![texts("mine", "log", &["1"])],
        vec![writes(CONTRACT_ID, "mine", vec![write("t", 0, b"1")])],
    ] {
        let to = memory();
        apply_to(&to, unit).unwrap();
        let before = content(&to);
        refused(copy(&from, &to, 1000), Code::Conflict, &["not empty", "empty destination"]);
        assert_eq!(content(&to), before);
    }
    // Leases belong to processes, which may use the destination already.
    let to = memory();
    apply_to(&to, vec![draft("lease", "mine").contract(LIVING).put()]).unwrap();
    copy(&from, &to, 1000).unwrap();
}

/// A store that grows: what is in it after each of these units.
fn growth() -> Vec<Vec<Op>> {
    let run = |n: u64| {
        let state = [noise(1, 2000), noise(2, 40 * usize::try_from(n).unwrap())].concat();
        let step = draft("run", &format!("r{n}")).saved_at(10).parts(vec![part("state", "t", state)]);
        if n > 0 { step.parent(&format!("r{}", n - 1)).put() } else { step.put() }
    };
    let row =
        |version: &str, saved_at| draft("row", "row").contract(OTHER).meta(version.as_bytes()).saved_at(saved_at).put();
    let state = |value: &[u8]| writes(OTHER, "row", vec![write("state", 0, value), write("more", 0, b"same")]);
    let asked =
        |id: &str, value: &[u8]| writes(CONTRACT_ID, id, vec![write("t", 0, value), write("t", i64::MIN, b"path")]);
    let touch = |saved_at| Op::Touch { contract: OTHER, id: "row".to_owned(), saved_at };
    vec![
        vec![run(0), run(1), row("1", 10), state(b"1"), asked("r1", b"1")],
        vec![texts("session", "messages", &["1", "2"]), draft("session", "s1").pin("messages", 2).put()],
        vec![fork("s1", "f1", "branch"), texts("branch", "messages", &["of the branch"])],
        vec![writes(CONTRACT_ID, "not there", vec![write("t", 0, b"1")])],
        // More of the same.
        vec![run(2), claim("r1", "r2"), asked("r2", b"2")],
        vec![touch(20)],
        vec![texts("session", "messages", &["3"]), draft("session", "s2").parent("s1").pin("messages", 3).put()],
        // The same session and the same checkpoint again, and the same slots.
        vec![row("2", 30), state(b"2"), writes(CONTRACT_ID, "r2", vec![write("t", 0, b"3"), write("u", -1, b"4")])],
        vec![draft("session", "s1").saved_at(40).pin("messages", 1).put()],
        // Writes that are claimed again and again.
        vec![asked("r1", b"again"), run(3), claim("r1", "r3"), asked("r1", b"and again")],
        vec![run(4), claim("r1", "r4"), claim("r2", "r4")],
        // New lineages, also a fork of what was there, and one that began with a log.
        vec![
            fork("s2", "g1", "other branch"),
            draft("new", "n").parent("r1").put(),
            texts("only a log", "log", &["1"]),
        ],
        vec![texts("late", "log", &["1"]), draft("later", "l1").put(), draft("late", "l2").parent("l1").put()],
        vec![row("3", 50), touch(60), state(b"3"), texts("branch", "messages", &["more"])],
    ]
}

#[test]
fn a_second_copy_carries_over_what_is_new() {
    let units = growth();
    let mut copies = 0;
    for (from, to) in (0..9).map(|n| (n % 3, n / 3)) {
        for (page_bytes, every) in [(1, 1), (3000, 1), (4 << 20, 3), (1, 5), (4 << 20, 7)] {
            let folder = tempfile::tempdir().unwrap();
            let from = open(&kinds(folder.path(), "from")[from]);
            let to = open(&kinds(folder.path(), "to")[to]);
            for part in units.chunks(every) {
                fill(&from, part.to_vec());
                let expected = content(&from);
                let done = copy(&from, &to, page_bytes).unwrap();
                assert_eq!(content(&to), expected, "after {part:?}");
                assert_eq!(done.counts.checkpoints, expected.checkpoints.len() as u64);
                assert_eq!(done.counts.lineages, expected.lineages.len() as u64);
                // A copy of what is equal changes nothing.
                assert_again(copy(&from, &to, page_bytes).unwrap(), done);
                copies += 1;
            }
        }
    }
    assert_eq!(copies, 9 * (14 + 14 + 5 + 3 + 2));
}

#[test]
fn a_second_copy_is_continued_too_and_counts_what_was_there() {
    let units = growth();
    let mut stopped = 0;
    for steps in 1..30 {
        let (from, to) = (memory(), memory());
        fill(&from, units[..4].to_vec());
        let first = copy(&from, &to, 1).unwrap();
        fill(&from, units[4..].to_vec());
        let mut second = begin(&from, &to, 1);
        let mut before = None;
        for _ in 0..steps {
            let progress = second.step().unwrap();
            if !progress.verifying {
                before.get_or_insert(progress.counts.checkpoints);
            }
        }
        stopped += u64::from(before.is_some());
        // The source has saved two checkpoints again.
        assert!(
            before.is_none_or(|before| before == first.counts.checkpoints - 2),
            "the first report has what was there"
        );
        drop(second);
        run(&mut begin(&from, &to, 1), |_| false).unwrap();
        assert_eq!(content(&to), content(&from), "after {steps} steps");
    }
    assert!(stopped > 10, "{stopped}");
}

#[test]
fn a_destination_that_was_used_is_not_changed_by_a_second_copy() {
    let units = growth();
    let touch = |saved_at| Op::Touch { contract: OTHER, id: "row".to_owned(), saved_at };
    let newer = draft("row", "row").contract(OTHER).meta(b"mine").saved_at(99).put();
    for (unit, word) in [
        (vec![draft("run", "mine").put()], "\"mine\""),
        (vec![draft("mine", "mine").put()], "\"mine\""),
        (vec![newer], "\"row\""),
        (vec![touch(99)], "\"row\""),
        (vec![texts("session", "messages", &["mine"])], "\"session\""),
        (vec![truncate("session", "messages", 1), texts("session", "messages", &["mine"])], "\"session\""),
        (vec![writes(CONTRACT_ID, "r1", vec![write("mine", 0, b"")])], "\"r1\""),
        (vec![writes(CONTRACT_ID, "mine", vec![write("t", 0, b"")])], "\"mine\""),
    ] {
        let (from, to) = (memory(), memory());
        fill(&from, units[..4].to_vec());
        copy(&from, &to, 1000).unwrap();
        apply_to(&to, unit).unwrap();
        fill(&from, units[4..].to_vec());
        let before = content(&to);
        refused(copy(&from, &to, 1000), Code::Conflict, &["not an earlier copy", "Nothing was copied", word]);
        assert_eq!(content(&to), before);
    }
    // What the source has removed is not removed from the copy. Neither are records that no checkpoint names.
    let undone = vec![truncate("branch", "messages", 2)];
    for (unit, word) in [(vec![remove("r0")], "\"r0\""), (undone, "\"branch\"")] {
        let (from, to) = (memory(), memory());
        fill(&from, units[..4].to_vec());
        copy(&from, &to, 1000).unwrap();
        apply_to(&from, unit).unwrap();
        let before = content(&to);
        refused(copy(&from, &to, 1000), Code::Conflict, &["not an earlier copy", "Nothing was copied", word]);
        assert_eq!(content(&to), before);
    }
}

#[test]
fn a_log_that_went_back_to_what_a_checkpoint_names_goes_back_in_the_copy() {
    let (from, to) = (memory(), memory());
    fill(&from, growth()[..4].to_vec());
    copy(&from, &to, 1000).unwrap();
    apply_to(&from, vec![truncate("session", "messages", 1), texts("session", "messages", &["other"])]).unwrap();
    copy(&from, &to, 1000).unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn a_begun_copy_is_given_to_no_other_source_and_is_no_source() {
    let (from, to, other) = (memory(), memory(), memory());
    fill(&from, everything());
    fill(&other, growth());
    run(&mut begin(&from, &to, 1), |progress| progress.counts.checkpoints > 5).unwrap();
    let before = content(&to);
    refused(copy(&other, &to, 1), Code::Conflict, &["not an earlier copy", "empty destination"]);
    assert_eq!(content(&to), before);
    refused(copy(&to, &memory(), 1), Code::Conflict, &["the source", "finish that copy"]);
    copy(&from, &to, 1).unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn of_two_copies_to_one_destination_one_goes_on() {
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    let (mut one, mut two) = (begin(&from, &to, 1), begin(&from, &to, 1));
    run(&mut one, |progress| progress.counts.checkpoints > 5).unwrap();
    run(&mut two, |progress| progress.counts.checkpoints > 9).unwrap();
    refused(one.step(), Code::Conflict, &["another copy"]);
    // After the error, the first one reads the progress again, so the second one fails.
    run(&mut one, |progress| progress.counts.checkpoints > 12).unwrap();
    refused(two.step(), Code::Conflict, &["another copy"]);
    run(&mut one, |_| false).unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn what_is_saved_during_the_copy_is_copied() {
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    let mut copy = begin(&from, &to, 1);
    run(&mut copy, |progress| progress.counts.checkpoints > 10).unwrap();
    let late = vec![
        texts("session", "messages", &["late"]),
        draft("session", "late").pin("messages", 1).put(),
        draft("new", "newer").put(),
    ];
    apply_to(&from, late).unwrap();
    run(&mut copy, |_| false).unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn a_change_behind_the_copy_is_told() {
    for (unit, word) in [
        (vec![remove("run 1")], "\"run 1\""),
        (vec![draft("grows", "run 22").parts(vec![part("state", "t", "changed")]).put()], "\"run 22\""),
        (vec![Op::Touch { contract: CONTRACT_ID, id: "run 23".to_owned(), saved_at: i64::MAX }], "\"run 23\""),
        (vec![texts("only a log", "log", &["more"])], "\"only a log\""),
        (vec![writes(CONTRACT_ID, "s1", vec![write("new", 0, b"x")])], "\"s1\""),
        (vec![draft("after the end", "saved late").put()], "\"after the end\""),
    ] {
        let (from, to) = (memory(), memory());
        fill(&from, everything());
        let mut first = begin(&from, &to, 1);
        run(&mut first, |progress| progress.verifying).unwrap();
        apply_to(&from, unit.clone()).unwrap();
        let error = refused(run(&mut first, |_| false), Code::Conflict, &["copy again"]);
        assert!(error.message().contains(word), "{word} in {error}");
        // The next call tells it again, or copies what is new.
        match copy(&from, &to, 1) {
            Ok(_) => assert_eq!(content(&to), content(&from)),
            outcome => drop(refused(outcome, Code::Conflict, &[word, "not an earlier copy"])),
        }

        // The same change in the destination.
        let (from, to) = (memory(), memory());
        fill(&from, everything());
        let mut first = begin(&from, &to, 1);
        run(&mut first, |progress| progress.verifying).unwrap();
        apply_to(&to, unit).unwrap();
        refused(run(&mut first, |_| false), Code::Conflict, &["copy again", word]);
    }
}

#[test]
fn a_record_that_differs_is_found() {
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    let mut copy = begin(&from, &to, 1);
    run(&mut copy, |progress| progress.verifying).unwrap();
    let other = Op::Append {
        contract: CONTRACT_ID,
        lineage: "only a log".to_owned(),
        log: "log".to_owned(),
        records: vec![keyed("other key", "empty key")],
        must: LogMust::HaveLength(1),
    };
    apply_to(&to, vec![truncate("only a log", "log", 1), other]).unwrap();
    refused(run(&mut copy, |_| false), Code::Conflict, &["\"only a log\"", "records"]);
}

#[test]
fn the_last_checkpoint_must_still_be_there_when_a_copy_goes_on() {
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    run(&mut begin(&from, &to, 1), |progress| progress.counts.checkpoints == 3).unwrap();
    let done = ask(&to, Query::Saves { after: None, bytes: usize::MAX }).into_saves().unwrap();
    let mut ids = done.iter().map(|saved| &saved.checkpoint.header.id).filter(|id| id.starts_with("run "));
    let last = ids.next_back().unwrap();
    apply_to(&from, vec![remove(last)]).unwrap();
    refused(copy(&from, &to, 1), Code::Conflict, &[last, "empty destination"]);
}

#[test]
fn a_closed_store_and_a_store_with_limits_are_refused() {
    for which in [0, 1] {
        let stores = [memory(), memory()];
        fill(&stores[0], everything());
        let mut copy = begin(&stores[0], &stores[1], 1);
        copy.step().unwrap();
        stores[which].shutdown();
        refused(run(&mut copy, |_| false), Code::Closed, &["of the copy"]);
    }
    for policy in [
        Policy { keep_last: Some(1), ..Policy::default() },
        Policy { ttl: Some(1), ..Policy::default() },
        Policy { max_bytes: Some(1), ..Policy::default() },
    ] {
        let to = Store::open(&Target::Memory, Options { retention: policy, ..Options::default() }).unwrap();
        let error = Copy::new(memory(), Arc::new(to), options(1)).err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}

#[test]
fn damage_of_the_source_is_told_and_nothing_wrong_is_copied() {
    for (sql, word) in [
        ("UPDATE checkpoint SET body = x'0102' WHERE id = 'run 23'", "run 23"),
        ("UPDATE checkpoint SET label = 'other' WHERE id = 'run 23'", "run 23"),
        ("UPDATE write SET body = x'0102' WHERE id = 's1'", "s1"),
        ("UPDATE write SET claimed = 'other' WHERE id = 's1'", "s1"),
        ("UPDATE record SET body = x'0102' WHERE num = (SELECT max(num) FROM record)", "log"),
        ("UPDATE lineage SET grp = 'other' WHERE name = 'short'", "short"),
        ("UPDATE log SET length = length - 1", "log"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let target = &kinds(folder.path(), "from")[1];
        let Target::Sqlite(path) = target else { unreachable!() };
        let from = open(target);
        fill(&from, everything());
        let whole = content(&from);
        from.shutdown();
        drop(from);
        rusqlite::Connection::open(path).unwrap().execute(sql, []).unwrap();
        let (from, to) = (open(target), memory());
        for _ in 0..2 {
            let error = refused(copy(&from, &to, 1), Code::Corrupt, &[word, "the source of the copy"]);
            assert!(!error.outcome_unknown());
        }
        let copied = content(&to).checkpoints;
        for (checkpoint, records) in
            copied.iter().filter(|(checkpoint, _)| !checkpoint.header.id.starts_with("forkpoint:copy:"))
        {
            let original = whole.checkpoints.iter().find(|(other, _)| other.header == checkpoint.header).unwrap();
            assert_eq!((&original.0, &original.1), (checkpoint, records), "{sql}");
        }
    }
}

const KILLS: u64 = 20;

/// Copies until the parent kills the process.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let role = role().into_string().unwrap();
    let [page_bytes, from, to] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let target = |path: &str| {
        let path = PathBuf::from(path);
        if path.extension().is_some() { Target::Sqlite(path) } else { Target::Jsonl(path) }
    };
    let open = |path| Arc::new(Store::open(&target(path), Options::default()).unwrap());
    let mut copy = begin(&open(from), &open(to), page_bytes.parse().unwrap());
    say("begins");
    let done = run(&mut copy, |_| {
        say("a step");
        false
    });
    say(&format!("done {}", done.unwrap().counts.checkpoints));
}

fn killed_again_and_again(from: usize, to: usize, page_bytes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (&kinds(folder.path(), "from")[from], &kinds(folder.path(), "to")[to]);
    let source = open(from);
    fill(&source, [odd_origins(), everything()].concat());
    for n in 0..200_u64 {
        let lineage = format!("run of {}", n % 7);
        let unit = vec![
            texts(&lineage, "log", &["a record"]),
            draft(&lineage, &format!("step {n}"))
                .parts(vec![part("state", "t", noise(n, 900))])
                .pin("log", n / 7 + 1)
                .put(),
        ];
        apply_to(&source, unit).unwrap();
    }
    let expected = content(&source);
    source.shutdown();
    drop(source);
    let path = |target: &Target| {
        let (Target::Sqlite(path) | Target::Jsonl(path)) = target else { unreachable!() };
        path.display().to_string()
    };
    let start = || Process::start(module_path!(), "child", format!("{page_bytes}|{}|{}", path(from), path(to)));
    let (mut kills, mut ended) = (0, false);
    while kills < KILLS {
        let mut process = start();
        // The moment of the kill is random: after some lines, and some time after the last of them.
        let lines = usize::try_from(kills * 5 % 13).unwrap();
        let heard: Vec<String> = std::iter::from_fn(|| process.line()).take(lines).collect();
        std::thread::sleep(Duration::from_micros(kills * 397 % 4001));
        process.kill();
        kills += 1;
        let rest: Vec<String> = std::iter::from_fn(|| process.line()).collect();
        ended |= heard.iter().chain(&rest).any(|line| line.starts_with("done "));
    }
    assert!(!ended, "the copy is too small for {KILLS} kills");
    let mut process = start();
    let last = std::iter::from_fn(|| process.line()).last();
    assert_eq!(last, Some(format!("done {}", expected.checkpoints.len())));
    process.finish();
    let copy = open(to);
    assert_eq!(content(&copy), expected);
    copy.shutdown();
    let mut backend: Box<dyn Backend> = if let Target::Sqlite(path) = to {
        Box::new(common::sqlite(path, Journal::Wal, Durability::Full).unwrap())
    } else if let Target::Jsonl(path) = to {
        Box::new(Jsonl::open(&jsonl::Options::new(path)).unwrap())
    } else {
        unreachable!()
    };
    // The source has a checkpoint whose parent was removed, too.
    assert!(common::findings(&mut *backend).iter().all(|found| found.code == FindingCode::Orphan));
    apply(&mut *backend, vec![draft("goes on", "after the copy").put()]).unwrap();
}

#[test]
fn a_copy_from_sqlite_to_sqlite_survives_kills() {
    killed_again_and_again(1, 1, 1);
}

#[test]
fn a_copy_from_sqlite_to_text_files_survives_kills() {
    killed_again_and_again(1, 2, 2000);
}

#[test]
fn a_copy_from_text_files_to_sqlite_survives_kills() {
    killed_again_and_again(2, 1, 2000);
}

/// Copies some lineages of a contract.
fn copy_only(from: &Arc<Store>, to: &Arc<Store>, page_bytes: usize, names: &[&str]) -> Result<Progress> {
    let lineages = Some(names.iter().map(|name| (CONTRACT_ID, (*name).to_owned())).collect());
    let options = CopyOptions { lineages, ..options(page_bytes) };
    run(&mut Copy::new(Arc::clone(from), Arc::clone(to), options).unwrap(), |_| false)
}

/// The content of one lineage, without its origin.
#[derive(Debug, PartialEq)]
struct Only {
    start: Start,
    logs: Vec<Log>,
    checkpoints: Vec<(Checkpoint, Vec<Vec<Record>>)>,
    writes: Vec<Written>,
}

/// The content of lineages.
fn only(store: &Store, names: &[&str]) -> Vec<Only> {
    let Content { lineages, checkpoints, writes, .. } = content(store);
    let of = |name: &&str| {
        let (mut start, logs) = lineages.iter().find(|(start, _)| start.name == *name).unwrap().clone();
        if let Some(first) = &mut start.first {
            first.origin = None;
        }
        let mine = checkpoints.iter().filter(|(checkpoint, _)| checkpoint.header.lineage == *name);
        let mine: Vec<_> = mine.cloned().collect();
        let has = |written: &&Written| {
            written.contract == CONTRACT_ID && mine.iter().any(|(checkpoint, _)| checkpoint.header.id == written.id)
        };
        let writes = writes.iter().filter(has).cloned().collect();
        Only { start, logs, checkpoints: mine, writes }
    };
    names.iter().map(of).collect()
}

const NAMES: [&str; 8] = ["branch", "grows", "session", "other branch", "child", "only a log", "gone log", "grows too"];

#[test]
fn lineages_are_copied_into_a_store_that_holds_others() {
    for (from, to) in (0..9).map(|n| (n % 3, n / 3)) {
        for page_bytes in [1, 3000, 4 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let from = open(&kinds(folder.path(), "from")[from]);
            let to = open(&kinds(folder.path(), "to")[to]);
            fill(&from, everything());
            apply_to(&to, vec![texts("mine", "log", &["1"]), draft("mine", "mine").pin("log", 1).put()]).unwrap();
            apply_to(&to, vec![writes(CONTRACT_ID, "mine", vec![write("t", 0, b"1")])]).unwrap();
            let mine = only(&to, &["mine"]);
            // Forks come before their origins, and after them.
            for names in [&NAMES[..1], &NAMES[1..3], &NAMES[..]] {
                let done = copy_only(&from, &to, page_bytes, names).unwrap();
                assert_eq!(done.counts.lineages, names.len() as u64);
                assert_eq!(done.of_checkpoints, done.counts.checkpoints);
                assert_eq!(only(&to, names), only(&from, names));
                let again = copy_only(&from, &to, page_bytes, names).unwrap();
                assert_again(again, Progress { changed: false, ..done });
            }
            assert_eq!(only(&to, &["mine"]), mine);
            let names: Vec<String> = content(&to).lineages.into_iter().map(|(start, _)| start.name).collect();
            assert_eq!(names.len(), NAMES.len() + 1, "{names:?}");
        }
    }
}

#[test]
fn a_lineage_that_was_forked_shares_its_records_with_an_origin_that_was_copied_before() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (open(&kinds(folder.path(), "from")[1]), open(&kinds(folder.path(), "to")[1]));
    let message = |n: u64| keyed(&n.to_string(), noise(n, 200));
    apply_to(&from, vec![append("session", "messages", (0..500).map(message).collect())]).unwrap();
    apply_to(&from, vec![draft("session", "base").pin("messages", 500).put()]).unwrap();
    apply_to(&from, vec![fork("base", "fork", "branch"), append("branch", "messages", vec![message(1000)])]).unwrap();
    copy_only(&from, &to, 4 << 20, &["session", "branch"]).unwrap();
    assert_eq!(content(&to), content(&from));
    assert_eq!(ask(&to, stats_query(0)).into_stats().unwrap().total().records, 501);
    // An origin with the same id and another content is not shared.
    let other = memory();
    apply_to(&other, vec![append("session", "messages", vec![message(7)])]).unwrap();
    apply_to(&other, vec![draft("session", "base").pin("messages", 1).put()]).unwrap();
    copy_only(&from, &other, 4 << 20, &["branch"]).unwrap();
    assert_eq!(only(&other, &["branch"]), only(&from, &["branch"]));
}

#[test]
fn a_lineage_is_continued_after_each_step() {
    let mut stopped = 0;
    for steps in 1..60 {
        let (from, to) = (memory(), memory());
        fill(&from, everything());
        apply_to(&to, vec![draft("mine", "mine").put()]).unwrap();
        let lineages = Some(NAMES.iter().map(|name| (CONTRACT_ID, (*name).to_owned())).collect());
        let options = CopyOptions { lineages, ..options(1) };
        let mut first = Copy::new(Arc::clone(&from), Arc::clone(&to), options).unwrap();
        for _ in 0..steps {
            stopped += u64::from(!first.step().unwrap().done);
        }
        drop(first);
        copy_only(&from, &to, 1, &NAMES).unwrap();
        assert_eq!(only(&to, &NAMES), only(&from, &NAMES), "after {steps} steps");
    }
    assert!(stopped > 1000, "{stopped}");
}

#[test]
fn a_lineage_with_another_content_is_refused_before_anything_is_changed() {
    let mine = draft("grows", "mine").put();
    let changed = draft("session", "s1").saved_at(i64::MAX).pin("messages", 0).put();
    let cut = vec![truncate("session", "messages", 1), texts("session", "messages", &["mine"])];
    let written = writes(CONTRACT_ID, "s1", vec![write("mine", 0, b"")]);
    for (unit, word) in [
        (vec![mine], "\"mine\""),
        (vec![changed], "\"s1\""),
        (cut, "\"session\""),
        (vec![written], "\"s1\""),
        (vec![draft("session", "first").put()], "\"first\""),
    ] {
        let (from, to) = (memory(), memory());
        fill(&from, everything());
        copy_only(&from, &to, 1000, &["grows", "session"]).unwrap();
        apply_to(&to, unit).unwrap();
        let before = content(&to);
        refused(copy_only(&from, &to, 1000, &NAMES), Code::Conflict, &["another content", "Nothing of it", word]);
        assert_eq!(content(&to), before);
    }
    // A checkpoint that another lineage of the destination has is not taken away from it.
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    apply_to(&to, vec![draft("another", "s2").put()]).unwrap();
    refused(copy_only(&from, &to, 1000, &["session"]), Code::Conflict, &["\"s2\"", "another run"]);
    assert_eq!(only(&to, &["another"])[0].checkpoints.len(), 1);
}

#[test]
fn a_lineage_that_does_not_exist_is_no_lineage() {
    let (from, to) = (memory(), memory());
    fill(&from, everything());
    let done = copy_only(&from, &to, 1, &["no such lineage"]).unwrap();
    assert_eq!(done, Progress { verifying: true, done: true, ..Progress::default() });
    assert_eq!(copy_only(&from, &to, 1, &[]).unwrap(), done);
    assert_eq!(content(&to).lineages.len(), 0);
}
