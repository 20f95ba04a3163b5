//! Tests logs: the outcome of an append, the records that a checkpoint keeps, and the records that are freed.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::error::Code;
use forkpoint_engine::op::{Appended, LogMust, Op, Unit};
use forkpoint_engine::query::{LogRange, LogSide, Query};
use forkpoint_engine::record::{ContractId, LogMark, Record, SortKey};
use forkpoint_engine::retention::{Cursor, Prune, Rule};

use super::Place;
use crate::common::{
    CONTRACT_ID, HOSTILE, append, appended, apply, draft, expect, fork, get, ids, keyed, lineage, lineages, log,
    log_at, log_range, logs, names, noise, page, record, remove, rewind, save, texts, texts_at, truncate,
};

fn said(length: u64, left_out: &[usize]) -> Appended {
    Appended { length, left_out: left_out.to_vec() }
}

fn error(backend: &mut dyn Backend, unit: impl Into<Unit>) -> (Code, String) {
    let error = apply(backend, unit).unwrap_err();
    (error.code(), error.message().to_owned())
}

/// The number of stored records. A shared record counts once.
fn records(backend: &mut dyn Backend, contract: Option<ContractId>) -> u64 {
    let stats =
        backend.answer(&Query::Stats { contract: None, largest: 0, by_status: true }).unwrap().into_stats().unwrap();
    stats.sum(|of| contract.is_none_or(|contract| contract == of)).records
}

fn remove_logs(lineage: &str) -> Op {
    Op::RemoveLogs { contract: CONTRACT_ID, lineage: lineage.to_owned() }
}

pub(crate) fn records_come_back_in_their_order(backend: &mut dyn Backend) {
    let all = vec![
        record(""),
        keyed("", "an empty key"),
        Record { tag: String::new(), ..record("no tag") },
        Record { tag: "json".to_owned(), ..keyed("k", (0..=255).collect::<Vec<u8>>()) },
        record(noise(1, 100_000)),
        record("text ".repeat(10_000)),
        keyed("last", "equal"),
        record("equal"),
    ];
    assert_eq!(appended(backend, vec![append("run", "log", all[..3].to_vec())]), [said(3, &[])]);
    let unit = vec![append("run", "log", all[3..6].to_vec()), append("run", "log", all[6..].to_vec())];
    assert_eq!(appended(backend, unit), [said(6, &[]), said(8, &[])], "one answer for each append");
    let found = page(backend, log_range("run", "log", None)).unwrap();
    assert_eq!((found.length, found.start), (8, 0));
    assert_eq!(found.records, all);
    assert_eq!(logs(backend, "run"), [("log".to_owned(), 8)]);
    assert!(names(backend, "").is_empty(), "a lineage without a checkpoint is not listed");
    assert!(ids(backend, lineage("run")).is_empty());
}

pub(crate) fn a_log_that_is_not_there_is_empty(backend: &mut dyn Backend) {
    save(backend, [draft("run", "a")]);
    for name in HOSTILE.into_iter().chain(["", "run"]) {
        assert_eq!(log(backend, name, "log"), [""; 0]);
        assert_eq!(log(backend, "run", name), [""; 0]);
        assert!(logs(backend, name).is_empty());
        assert_eq!(log_at(backend, "run", "log", name), None, "no such checkpoint");
    }
    assert_eq!(log_at(backend, "run", "log", "a"), None, "the checkpoint does not name the log");
    let unit = vec![truncate("run", "none", 0), truncate("none", "log", 7), remove_logs("none"), remove_logs("run")];
    assert_eq!(appended(backend, unit), []);
    // Only a record begins a log or a lineage. An empty append does not begin a log or a lineage.
    let unit = vec![append("run", "log", Vec::new()), texts_at("new", "log", 0, &[])];
    assert_eq!(appended(backend, unit), [said(0, &[]), said(0, &[])]);
    assert!(logs(backend, "run").is_empty() && logs(backend, "new").is_empty());
    save(backend, [draft("other", "b"), draft("new", "c")]);
    assert_eq!(names(backend, ""), ["new", "other", "run"]);
}

pub(crate) fn an_append_may_expect_a_length(backend: &mut dyn Backend) {
    assert_eq!(appended(backend, vec![texts_at("run", "log", 0, &["a", "b"])]), [said(2, &[])]);
    for wrong in [0, 1, 3, u64::MAX] {
        let (code, message) = error(backend, vec![texts_at("run", "log", wrong, &["c"])]);
        assert_eq!(code, Code::Conflict);
        let expected = format!("log \"log\" of \"run\" has 2 records, not {wrong} as expected");
        assert!(message.contains(&expected), "{message}");
    }
    assert_eq!(error(backend, vec![texts_at("run", "none", 1, &["c"])]).0, Code::Conflict);
    assert_eq!(error(backend, vec![texts_at("none", "log", 1, &[])]).0, Code::Conflict);
    // Two writers that have read the same length append to the log. Only one append succeeds, even if both are in one
    // batch.
    let units = ["c", "d"].map(|text| Unit::from(vec![texts_at("run", "log", 2, &[text])]));
    let done = backend.apply(&units).into_iter().map(|done| done.map_err(|error| error.code())).collect::<Vec<_>>();
    assert_eq!(done[0].as_ref().map(|done| done.appended.clone()), Ok(vec![said(3, &[])]));
    assert_eq!(done[1].as_ref().err(), Some(&Code::Conflict));
    assert_eq!(log(backend, "run", "log"), ["a", "b", "c"]);
    let unit = vec![texts_at("run", "log", 3, &["d"]), texts_at("run", "log", 4, &["e"])];
    assert_eq!(appended(backend, unit), [said(4, &[]), said(5, &[])]);
}

pub(crate) fn an_append_may_expect_that_its_keys_are_new(backend: &mut dyn Backend) {
    let new = |records: Vec<Record>| {
        let Op::Append { contract, lineage, log, records, .. } = append("run", "log", records) else { unreachable!() };
        Op::Append { contract, lineage, log, records, must: LogMust::LackTheKeys }
    };
    assert_eq!(appended(backend, vec![new(vec![keyed("1", "a"), record("b"), record("b")])]), [said(3, &[])]);
    for repeated in [vec![keyed("2", "c"), keyed("1", "d")], vec![keyed("2", "c"), keyed("2", "d")]] {
        // Nothing else of the unit is applied.
        let unit = vec![append("run", "other", vec![record("x")]), new(repeated)];
        let (code, message) = error(backend, unit);
        assert_eq!(code, Code::Conflict);
        assert!(message.contains("log \"log\" of \"run\" already has some of the keys"), "{message}");
    }
    assert!(logs(backend, "run").iter().all(|(log, _)| log == "log"));
    // Of two units with the same key, the first one is applied.
    let units = ["c", "d"].map(|text| Unit::from(vec![new(vec![keyed("2", text), record(text)])]));
    let done = backend.apply(&units).into_iter().map(|done| done.map_err(|error| error.code())).collect::<Vec<_>>();
    assert_eq!(done[0].as_ref().map(|done| done.appended.clone()), Ok(vec![said(5, &[])]));
    assert_eq!(done[1].as_ref().err(), Some(&Code::Conflict));
    assert_eq!(log(backend, "run", "log"), ["a", "b", "b", "c", "c"]);
    assert_eq!(appended(backend, vec![truncate("run", "log", 0), new(vec![keyed("1", "e")])]), [said(1, &[])]);
}

pub(crate) fn a_key_is_in_a_log_once(backend: &mut dyn Backend) {
    let first = vec![keyed("1", "a"), record("b"), keyed("2", "c")];
    assert_eq!(appended(backend, vec![append("run", "log", first.clone())]), [said(3, &[])]);
    assert_eq!(appended(backend, vec![append("run", "log", first)]), [said(4, &[0, 2])], "sent again");
    let again = vec![keyed("3", "d"), keyed("1", "other"), keyed("3", "e"), keyed("4", "f")];
    assert_eq!(appended(backend, vec![append("run", "log", again)]), [said(6, &[1, 2])]);
    assert_eq!(log(backend, "run", "log"), ["a", "b", "c", "b", "d", "f"], "the first one of a key stays");
    // A key is unique only within one log. Other logs, lineages and contracts may use the same key.
    assert_eq!(appended(backend, vec![append("run", "other", vec![keyed("1", "x")])]), [said(1, &[])]);
    assert_eq!(appended(backend, vec![append("other", "log", vec![keyed("1", "x")])]), [said(1, &[])]);
    let elsewhere = Op::Append {
        contract: ContractId(2),
        lineage: "run".to_owned(),
        log: "log".to_owned(),
        records: vec![keyed("1", "x")],
        must: LogMust::BeAny,
    };
    assert_eq!(appended(backend, vec![elsewhere]), [said(1, &[])]);
    // A key can be used again after its record is cut off.
    let again = append("run", "log", vec![keyed("4", "g"), keyed("3", "h"), keyed("2", "no")]);
    assert_eq!(appended(backend, vec![truncate("run", "log", 4), again]), [said(6, &[2])]);
    assert_eq!(log(backend, "run", "log"), ["a", "b", "c", "b", "g", "h"]);
}

pub(crate) fn keys_are_those_of_the_branch(backend: &mut dyn Backend) {
    let one = |key: &str| append("run", "log", vec![keyed(key, key)]);
    apply(backend, vec![one("a"), one("b"), draft("run", "2").pin_live("log").put()]).unwrap();
    apply(backend, vec![one("c"), draft("run", "3").pin_live("log").put(), truncate("run", "log", 1)]).unwrap();
    let unit = vec![one("b"), one("a"), one("c"), one("d")];
    let expected = [said(2, &[]), said(2, &[0]), said(3, &[]), said(4, &[])];
    assert_eq!(appended(backend, unit), expected, "b and c are those of a sibling");
    assert_eq!(log(backend, "run", "log"), ["a", "b", "c", "d"]);
    let unit = vec![rewind("run", "log", "3"), one("d"), one("b"), fork("3", "f", "fork")];
    assert_eq!(appended(backend, unit), [said(4, &[]), said(4, &[0])]);
    let forked = append("fork", "log", vec![keyed("c", "no"), keyed("d", "yes")]);
    assert_eq!(appended(backend, vec![forked]), [said(4, &[0])]);
}

pub(crate) fn names_of_logs_and_keys_are_data(backend: &mut dyn Backend) {
    for name in HOSTILE {
        let unit = vec![append("run", name, vec![keyed(name, name)]), append(name, "log", vec![keyed(name, name)])];
        apply(backend, unit).unwrap();
    }
    let all = HOSTILE.map(|name| keyed(name, name)).to_vec();
    assert_eq!(appended(backend, vec![append("run", "all", all)]), [said(30, &[])], "no two are the same");
    let mut sorted = HOSTILE.to_vec();
    sorted.push("all");
    sorted.sort_unstable();
    assert_eq!(logs(backend, "run").into_iter().map(|(name, _)| name).collect::<Vec<_>>(), sorted, "by name");
    for name in HOSTILE {
        let again = vec![append("run", name, vec![keyed(name, "no")]), append("run", "all", vec![keyed(name, "no")])];
        assert_eq!(appended(backend, again), [said(1, &[0]), said(30, &[0])], "{name:?}");
        assert_eq!(log(backend, "run", name), [name]);
        assert_eq!(log(backend, name, "log"), [name]);
        let pinned = draft(name, name).pin("log", 1);
        save(backend, [pinned.clone()]);
        assert_eq!(get(backend, name), Some(pinned.0));
        assert_eq!(log_at(backend, name, "log", name), Some(vec![name.to_owned()]));
        apply(backend, vec![truncate("run", name, 0)]).unwrap();
    }
    assert_eq!(logs(backend, "run"), [("all".to_owned(), 30)]);
    let long = |last: char| "x".repeat(4095) + &last.to_string();
    let unit = vec![append("run", &long('a'), vec![keyed(&long('a'), "a"), keyed(&long('b'), "b")])];
    assert_eq!(appended(backend, unit), [said(2, &[])]);
    assert_eq!(log(backend, "run", &long('b')), [""; 0]);
}

pub(crate) fn a_truncation_keeps_the_first(backend: &mut dyn Backend) {
    let all = ["a", "b", "c", "d"];
    apply(backend, vec![texts("run", "log", &all), texts("run", "other", &["x"])]).unwrap();
    for (to, left) in [(9, 4), (4, 4), (3, 3), (3, 3), (u64::MAX, 3), (1, 1)] {
        apply(backend, vec![truncate("run", "log", to)]).unwrap();
        assert_eq!(log(backend, "run", "log"), all[..left], "to {to}");
        assert_eq!(records(backend, None), left as u64 + 1, "what nothing names is freed");
    }
    assert_eq!(appended(backend, vec![texts("run", "log", &["e"])]), [said(2, &[])]);
    apply(backend, vec![truncate("run", "log", 0)]).unwrap();
    assert_eq!(logs(backend, "run"), [("other".to_owned(), 1)], "a log without records is none");
    assert_eq!(appended(backend, vec![texts_at("run", "log", 0, &["f"])]), [said(1, &[])]);
    apply(backend, vec![remove_logs("run")]).unwrap();
    assert!(logs(backend, "run").is_empty());
    assert_eq!(records(backend, None), 0);
}

pub(crate) fn a_range_counts_from_either_end(backend: &mut dyn Backend) {
    // Makes three branches of the log. The branches contain 3, 3 and 4 records.
    let step = |at: u64, id: &str| vec![truncate("run", "log", at), draft("run", id).pin_live("log").put()];
    apply(backend, vec![texts("run", "log", &["0", "1", "2", "x"]), draft("run", "a").pin_live("log").put()]).unwrap();
    apply(backend, step(3, "b")).unwrap();
    apply(backend, vec![texts("run", "log", &["3", "4", "5", "y"]), draft("run", "c").pin_live("log").put()]).unwrap();
    apply(backend, step(6, "d")).unwrap();
    apply(backend, vec![texts("run", "log", &["6", "7", "8", "9"]), draft("run", "e").pin_live("log").put()]).unwrap();
    apply(backend, vec![texts("run", "log", &["10"])]).unwrap();
    let all: Vec<String> = (0..=10).map(|n| n.to_string()).collect();
    assert_eq!(log(backend, "run", "log"), all);
    for (at, length) in [(None, 11_usize), (Some("e"), 10), (Some("d"), 6), (Some("b"), 3)] {
        for skip in (0..=12).chain([usize::MAX]) {
            for limit in (0..=12).chain([usize::MAX]) {
                let asked = |from| LogRange { from, skip: skip as u64, limit, ..log_range("run", "log", at) };
                let first = skip.min(length);
                let last = length - first;
                let expected = [
                    (LogSide::First, first, first.saturating_add(limit).min(length)),
                    (LogSide::Last, last.saturating_sub(limit), last),
                ];
                for (from, start, end) in expected {
                    let found = page(backend, asked(from)).unwrap();
                    let shown: Vec<_> = found.records.iter().map(|record| record.bytes.clone()).collect();
                    assert_eq!((found.length, found.start), (length as u64, start as u64), "{:?}", asked(from));
                    assert_eq!(shown, all[start..end], "{:?}", asked(from));
                }
            }
        }
    }
}

pub(crate) fn a_checkpoint_keeps_the_records_it_names(backend: &mut dyn Backend) {
    let at = |n: u8, log: u64| draft("run", &n.to_string()).sort_key(f64::from(n)).pin("log", log);
    apply(backend, vec![texts("run", "log", &["a", "b", "c"]), at(1, 3).put(), at(2, 2).put()]).unwrap();
    assert_eq!(get(backend, "2"), Some(at(2, 2).0));
    apply(backend, vec![truncate("run", "log", 1), texts("run", "log", &["d", "e", "f"]), at(3, 4).put()]).unwrap();
    apply(backend, vec![truncate("run", "log", 0), texts("run", "log", &["g"]), at(4, 0).put()]).unwrap();
    let expected = [(1, "abc"), (2, "ab"), (3, "adef"), (4, "")];
    let check = |backend: &mut dyn Backend, expected: &[(u8, &str)]| {
        for (n, kept) in expected {
            let found = log_at(backend, "run", "log", &n.to_string()).map(|found| found.concat());
            assert_eq!(found.as_deref(), Some(*kept), "{n}");
        }
    };
    check(backend, &expected);
    assert_eq!(log(backend, "run", "log"), ["g"]);
    assert_eq!(records(backend, None), 7, "a, b, c once, d, e, f once, and g");
    assert_eq!(log_at(backend, "other", "log", "1"), None, "a checkpoint is asked by its own lineage");
    // The checkpoints keep their records after the logs are removed.
    apply(backend, vec![remove_logs("run")]).unwrap();
    check(backend, &expected);
    assert_eq!(records(backend, None), 6);
    // The test removes the checkpoints in an order that differs from the save order.
    for (n, left, expected) in
        [("1", 5, &expected[1..]), ("3", 2, &[(2, "ab"), (4, "")][..]), ("2", 0, &[(4, "")][..]), ("4", 0, &[][..])]
    {
        apply(backend, vec![remove(n)]).unwrap();
        check(backend, expected);
        assert_eq!(records(backend, None), left, "without {n}");
    }
    assert!(names(backend, "").is_empty());
}

pub(crate) fn a_pin_without_a_length_takes_what_is_there(backend: &mut dyn Backend) {
    let live = |id: &str| draft("run", id).pin_live("log").pin_live("none").put();
    let unit = vec![texts("run", "log", &["a"]), live("1"), texts("run", "log", &["b"]), live("2")];
    apply(backend, unit).unwrap();
    let marks = |length| {
        let mark = |(log, length): (&str, u64)| LogMark { log: log.to_owned(), length };
        [("log", length), ("none", 0)].map(mark).to_vec()
    };
    assert_eq!([get(backend, "1"), get(backend, "2")].map(|found| found.unwrap().logs), [marks(1), marks(2)]);
    assert_eq!(log_at(backend, "run", "none", "1"), Some(Vec::new()), "a log that was not there, kept as empty");
    // The checkpoint begins a new lineage. The log of that lineage is empty.
    save(backend, [draft("new", "3").pin_live("log")]);
    assert_eq!(get(backend, "3").unwrap().logs, [LogMark { log: "log".to_owned(), length: 0 }]);
}

pub(crate) fn a_pin_beyond_the_end_is_refused(backend: &mut dyn Backend) {
    apply(backend, vec![texts("run", "log", &["a", "b"]), draft("run", "old").put()]).unwrap();
    let unit = vec![draft("run", "first").put(), draft("run", "id").pin("log", 3).put()];
    let (code, message) = error(backend, unit);
    assert_eq!(code, Code::InvalidArgument);
    for named in ["\"id\"", "\"log\"", "\"run\"", "3", "2"] {
        assert!(message.contains(named), "{named} in {message}");
    }
    assert_eq!(ids(backend, lineage("run")), ["old"], "nothing of the unit happened");
    assert_eq!(error(backend, vec![draft("run", "id").pin("none", 1).put()]).0, Code::InvalidArgument);
    assert_eq!(error(backend, vec![draft("new", "id").pin("log", 1).put()]).0, Code::InvalidArgument);
    let twice = error(backend, vec![draft("run", "id").pin("log", 1).pin("log", 1).put()]);
    assert!(twice.0 == Code::InvalidArgument && twice.1.contains("twice"), "{}", twice.1);
    apply(backend, vec![draft("new", "id").pin("log", 0).put()]).unwrap();
}

pub(crate) fn a_log_goes_back_to_a_checkpoint(backend: &mut dyn Backend) {
    let put = |id: &str| draft("run", id).pin_live("log").put();
    apply(backend, vec![texts("run", "log", &["a", "b"]), put("ab"), truncate("run", "log", 1)]).unwrap();
    apply(backend, vec![texts("run", "log", &["c", "d"]), put("acd"), truncate("run", "log", 0)]).unwrap();
    apply(backend, vec![texts("run", "log", &["e"]), put("e"), draft("run", "bare").put()]).unwrap();
    save(backend, [draft("other", "elsewhere").pin_live("log")]);
    for (to, expected) in [("acd", "acd"), ("ab", "ab"), ("e", "e"), ("acd", "acd")] {
        apply(backend, vec![rewind("run", "log", to)]).unwrap();
        assert_eq!(log(backend, "run", "log").concat(), expected, "exactly the records of {to:?}");
    }
    // The log continues after the rewind. The checkpoints keep their own records.
    assert_eq!(appended(backend, vec![rewind("run", "log", "ab"), texts("run", "log", &["x"])]), [said(3, &[])]);
    apply(backend, vec![rewind("run", "log", "ab"), texts("run", "log", &["y"]), put("aby")]).unwrap();
    assert_eq!(log(backend, "run", "log").concat(), "aby");
    for id in ["ab", "acd", "e", "aby"] {
        assert_eq!(log_at(backend, "run", "log", id).unwrap().concat(), id);
    }
    assert_eq!(records(backend, None), 6, "a b, c d, e, y: x is gone");
    for (to, named) in [("none", "\"none\""), ("elsewhere", "\"elsewhere\""), ("bare", "\"bare\"")] {
        let (code, message) = error(backend, vec![rewind("run", "log", to)]);
        assert!(code == Code::NotFound && message.contains(named) && message.contains("\"log\""), "{message}");
    }
    assert_eq!(error(backend, vec![rewind("none", "log", "ab")]).0, Code::NotFound);
    // A rewind restores a removed log. A rewind to a checkpoint at which the log was empty makes the log empty again.
    apply(backend, vec![remove_logs("run"), rewind("run", "log", "e")]).unwrap();
    assert_eq!(log(backend, "run", "log"), ["e"]);
    apply(backend, vec![texts("other", "log", &["z"]), rewind("other", "log", "elsewhere")]).unwrap();
    assert!(logs(backend, "other").is_empty());
}

pub(crate) fn a_fork_has_the_logs_of_its_source(backend: &mut dyn Backend) {
    apply(backend, vec![texts("run", "log", &["a", "b", "c"]), texts("run", "unnamed", &["x"])]).unwrap();
    apply(backend, vec![draft("run", "1").pin("log", 2).pin_live("none").put(), fork("1", "2", "fork")]).unwrap();
    assert_eq!(logs(backend, "fork"), [("log".to_owned(), 2)]);
    assert_eq!(get(backend, "2").unwrap().logs, get(backend, "1").unwrap().logs);
    // A backend on a server copies the records, so that no lineage shares rows with another one.
    let copied = records(backend, None) - 4;
    assert!([0, 2].contains(&copied), "{copied}");
    // The source and the fork continue independently, so their logs end with different records.
    let unit = vec![texts("fork", "log", &["d"]), texts("run", "log", &["e"]), texts("fork", "log", &["f"])];
    assert_eq!(appended(backend, unit), [said(3, &[]), said(4, &[]), said(4, &[])]);
    assert_eq!(log(backend, "run", "log").concat(), "abce");
    assert_eq!(log(backend, "fork", "log").concat(), "abdf");
    // The logs of these two forks end at the same record.
    apply(backend, vec![draft("run", "3").pin_live("log").put(), fork("3", "4", "twin"), fork("3", "5", "third")])
        .unwrap();
    apply(backend, vec![texts("twin", "log", &["g"]), texts("run", "log", &["h"]), texts("third", "log", &["i"])])
        .unwrap();
    assert_eq!(["run", "twin", "third"].map(|run| log(backend, run, "log").concat()), ["abceh", "abceg", "abcei"]);
    // A repeated fork does not rewind the log.
    apply(backend, vec![fork("3", "4", "twin")]).unwrap();
    assert_eq!(log(backend, "twin", "log").concat(), "abceg");
    // The run is removed. The records that the run shares with its forks stay.
    apply(backend, vec![Op::RemoveLineages { contract: CONTRACT_ID, prefix: "run".to_owned() }]).unwrap();
    assert_eq!(["fork", "twin", "third"].map(|run| log(backend, run, "log").concat()), ["abdf", "abceg", "abcei"]);
    assert_eq!(log_at(backend, "twin", "log", "4").unwrap().concat(), "abce");
    assert_eq!(records(backend, None), if copied == 0 { 8 } else { 14 });
    apply(backend, vec![remove("5"), remove_logs("third"), remove("4"), remove_logs("twin")]).unwrap();
    assert_eq!(log(backend, "fork", "log").concat(), "abdf");
    assert_eq!(log_at(backend, "fork", "log", "2").unwrap().concat(), "ab");
    assert_eq!(records(backend, None), 4);
    apply(backend, vec![remove("2"), remove_logs("fork")]).unwrap();
    assert_eq!(records(backend, None), 0);
}

pub(crate) fn replaced_marks_are_freed(backend: &mut dyn Backend) {
    apply(backend, vec![texts("run", "log", &["a", "b", "c"]), draft("run", "id").pin_live("log").put()]).unwrap();
    apply(backend, vec![truncate("run", "log", 1)]).unwrap();
    assert_eq!(records(backend, None), 3);
    // After a checkpoint is put again, it keeps records only if the new put names the log.
    apply(backend, vec![draft("run", "id").pin_live("log").put()]).unwrap();
    assert_eq!(log_at(backend, "run", "log", "id").unwrap(), ["a"]);
    assert_eq!(records(backend, None), 1);
    apply(backend, vec![texts("run", "log", &["d"]), draft("other", "id").put()]).unwrap();
    assert_eq!(records(backend, None), 2, "moved to another lineage");
    assert_eq!(log(backend, "run", "log"), ["a", "d"]);
}

pub(crate) fn retention_frees_what_nothing_names(backend: &mut dyn Backend) {
    let step = |n: u32| {
        let texts = texts("run", "log", &[&n.to_string(), "more"]);
        let put = draft("run", &n.to_string()).sort_key(f64::from(n)).saved_at(i64::from(n)).pin_live("log").put();
        // After every third checkpoint, the last record of its step is cut off from the log.
        let back = n.is_multiple_of(3).then(|| truncate("run", "log", u64::from(n)));
        [texts, put].into_iter().chain(back).collect::<Vec<_>>()
    };
    for n in 1..=30 {
        apply(backend, step(n)).unwrap();
    }
    let kept = |backend: &mut dyn Backend| -> Vec<Vec<String>> {
        (1..=30).filter_map(|n| log_at(backend, "run", "log", &n.to_string())).collect()
    };
    let (before, live) = (kept(backend), log(backend, "run", "log"));
    assert_eq!(before.len(), 30);
    let mut last = records(backend, None);
    for (rule, left) in [(Rule::SavedBefore(11), 20), (Rule::KeepLast(12), 12), (Rule::MaxBytes(0), 1)] {
        let mut next = Some(Cursor::default());
        while let Some(cursor) = next {
            next = backend.prune(&Prune { contract: Some(CONTRACT_ID), rule, cursor, most: 3 }).unwrap().next;
            assert!(kept(backend).iter().all(|kept| before.contains(kept)));
        }
        assert_eq!(kept(backend), before[30 - left..], "{rule:?}");
        let now = records(backend, None);
        assert!(now <= last, "{rule:?}");
        last = now;
    }
    assert_eq!(log(backend, "run", "log"), live);
    let mut named = before[29].clone();
    named.extend(live.iter().cloned());
    let shared = before[29].iter().zip(&live).take_while(|(a, b)| a == b).count();
    assert_eq!(last, (named.len() - shared) as u64, "what the last checkpoint and the log name");
    let keep = |keep| Op::KeepLast { contract: CONTRACT_ID, lineage: "run".to_owned(), keep, pinned: String::new() };
    apply(backend, vec![keep(0)]).unwrap();
    assert_eq!(records(backend, None), live.len() as u64);
}

pub(crate) fn a_live_log_outlasts_its_checkpoints(backend: &mut dyn Backend) {
    save(backend, [draft("first", "0")]);
    apply(backend, vec![texts("run", "log", &["a"])]).unwrap();
    save(backend, [draft("between", "1"), draft("run", "2").group("g")]);
    assert_eq!(names(backend, ""), ["between", "run", "first"], "a lineage begins with its first record");
    let position = lineages(backend, "g", None, 9)[0].position;
    // These are all operations that can remove the last checkpoint of a lineage.
    let rule = Prune { contract: None, rule: Rule::KeepLast(0), cursor: Cursor::default(), most: 10 };
    let all = Op::RemoveFrom { contract: CONTRACT_ID, lineage: "run".to_owned(), sort_key: SortKey::default() };
    apply(backend, vec![all]).unwrap();
    assert_eq!(names(backend, ""), ["between", "first"]);
    save(backend, [draft("run", "2").group("h")]);
    assert_eq!(lineages(backend, "h", None, 9)[0].position, position, "it is the same lineage still");
    assert!(names(backend, "g").is_empty(), "but its first checkpoint is another one");
    assert_eq!(backend.prune(&rule).unwrap().lineages, 3);
    assert_eq!(log(backend, "run", "log"), ["a"]);
    save(backend, [draft("elsewhere", "3"), draft("run", "3"), draft("elsewhere", "3")]);
    assert_eq!(names(backend, ""), ["elsewhere"]);
    assert_eq!(log(backend, "run", "log"), ["a"]);
    // A lineage ends when it has neither records nor checkpoints.
    apply(backend, vec![truncate("run", "log", 0), draft("run", "4").put()]).unwrap();
    assert!(lineages(backend, "", None, 1)[0].position > position, "it has begun anew");
    let stats = backend
        .answer(&Query::Stats { contract: None, largest: 9, by_status: true })
        .unwrap()
        .into_stats()
        .unwrap()
        .total();
    assert_eq!((stats.lineages, stats.records), (2, 0));
    // A lineage that has only a log has no newest checkpoint, because a log is not a checkpoint.
    apply(backend, vec![texts("logged", "log", &["a"])]).unwrap();
    let unit = Unit { expect: vec![expect("logged", None, "x")], ops: vec![draft("logged", "x").put()] };
    apply(backend, unit).unwrap();
}

pub(crate) fn appends_and_saves_happen_together(backend: &mut dyn Backend) {
    let put = |id: &str, newest: Option<&str>, text: &str| Unit {
        expect: vec![expect("run", newest, id)],
        ops: vec![append("run", "log", vec![keyed(id, text)]), draft("run", id).pin_live("log").put()],
    };
    assert_eq!(appended(backend, put("1", None, "a")), [said(1, &[])]);
    assert_eq!(error(backend, put("2", None, "b")).0, Code::Conflict);
    assert_eq!(log(backend, "run", "log"), ["a"]);
    assert_eq!(appended(backend, put("1", None, "a")), [said(1, &[0])], "sent again");
    assert_eq!(log_at(backend, "run", "log", "1").unwrap(), ["a"]);
    // A failed unit does not affect the other units of its batch.
    let bad = vec![texts("run", "log", &["lost"]), texts_at("run", "log", 0, &["lost"])];
    let batch = [put("2", Some("1"), "b"), bad.into(), put("3", Some("2"), "c")];
    let done: Vec<_> = backend.apply(&batch).into_iter().map(|done| done.map_err(|error| error.code())).collect();
    assert_eq!(done.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(log(backend, "run", "log"), ["a", "b", "c"]);
}

pub(crate) fn logs_of_other_contracts_are_others(backend: &mut dyn Backend) {
    let contracts = [ContractId(0), ContractId(1), ContractId(255)];
    for (n, contract) in contracts.into_iter().enumerate() {
        let records = vec![keyed("k", n.to_string()); n + 1];
        let op = Op::Append {
            contract,
            lineage: "run".to_owned(),
            log: "log".to_owned(),
            records,
            must: LogMust::HaveLength(0),
        };
        assert_eq!(appended(backend, vec![op])[0].length, 1);
    }
    let gone = Op::RemoveLogs { contract: ContractId(0), lineage: "run".to_owned() };
    let cut = |contract| Op::Truncate {
        contract,
        lineage: "run".to_owned(),
        log: "log".to_owned(),
        to: forkpoint_engine::op::LogEnd::Length(0),
    };
    apply(backend, vec![gone, cut(ContractId(7))]).unwrap();
    let found = contracts.map(|contract| {
        let found = page(backend, LogRange { contract, ..log_range("run", "log", None) }).unwrap();
        let logs = backend.answer(&Query::Logs { contract, lineage: "run".to_owned() }).unwrap().into_logs().unwrap();
        assert_eq!(logs.len(), found.records.len());
        found.records.iter().map(|record| String::from_utf8(record.bytes.to_vec()).unwrap()).collect::<String>()
    });
    assert_eq!(found, ["", "1", "2"]);
    assert_eq!(
        [None, Some(ContractId(0)), Some(ContractId(1)), Some(ContractId(9))]
            .map(|contract| records(backend, contract)),
        [2, 0, 1, 0]
    );
}

/// The number of stored records, each of which is read. Statistics of many records may be estimates.
fn checked_records(backend: &mut dyn Backend) -> u64 {
    let (mut records, mut next) = (0, Some(CheckCursor::default()));
    while let Some(cursor) = next {
        let page = backend.answer(&Query::Check { cursor, limit: 10_000 }).unwrap().into_checked().unwrap();
        assert_eq!(page.findings, []);
        records += page.counted.records;
        next = page.next;
    }
    records
}

pub(crate) fn a_log_of_100_000_records(backend: &mut dyn Backend) {
    let text = |n: u64| format!("record {n} of many");
    for batch in 0..100 {
        let records = (batch * 1000..(batch + 1) * 1000).map(|n| match n % 2 {
            0 => keyed(&n.to_string(), text(n)),
            _ => record(text(n)),
        });
        assert_eq!(appended(backend, vec![append("run", "log", records.collect())]), [said((batch + 1) * 1000, &[])]);
        if batch % 10 == 9 {
            save(backend, [draft("run", &batch.to_string()).pin("log", batch * 1000)]);
        }
    }
    // The loop appends one record at a time, as most callers do.
    for n in 100_000..100_200 {
        apply(backend, vec![append("run", "log", vec![keyed(&n.to_string(), text(n))])]).unwrap();
    }
    assert_eq!(
        appended(backend, vec![append("run", "log", vec![keyed("0", "no"), keyed("99998", "no")])])[0].left_out,
        [0, 1]
    );
    let asked = |from, skip, limit| LogRange { from, skip, limit, ..log_range("run", "log", None) };
    for (range, start) in [
        (asked(LogSide::First, 0, 10), 0),
        (asked(LogSide::First, 50_000, 10), 50_000),
        (asked(LogSide::Last, 0, 10), 100_190),
        (asked(LogSide::Last, 99_000, 1000), 200),
    ] {
        let limit = range.limit as u64;
        let found = page(backend, range).unwrap();
        assert_eq!((found.length, found.start), (100_200, start));
        let expected: Vec<String> = (start..start + limit).map(text).collect();
        assert_eq!(found.records.iter().map(|record| record.bytes.clone()).collect::<Vec<_>>(), expected);
    }
    let all = page(backend, log_range("run", "log", None)).unwrap().records;
    assert_eq!(all.len(), 100_200);
    assert_eq!(logs(backend, "run"), [("log".to_owned(), 100_200)]);
    let stats =
        backend.answer(&Query::Stats { contract: None, largest: 0, by_status: true }).unwrap().into_stats().unwrap();
    let found = stats.total().records;
    assert!(if stats.is_estimate { (80_000..120_000).contains(&found) } else { found == 100_200 }, "{found}");
    assert_eq!(checked_records(backend), 100_200);
    // The log is cut at record 100 and continues on another branch. Afterwards the log is cut again, and only its
    // beginning stays.
    apply(backend, vec![truncate("run", "log", 100), texts("run", "log", &["anew"])]).unwrap();
    let kept = page(backend, log_range("run", "log", Some("99"))).unwrap().records;
    assert!(kept[..] == all[..99_000]);
    assert_eq!(checked_records(backend), 99_001);
    let everything = Op::RemoveFrom { contract: CONTRACT_ID, lineage: "run".to_owned(), sort_key: SortKey::default() };
    apply(backend, vec![everything]).unwrap();
    assert_eq!(checked_records(backend), 101);
    assert_eq!(log(backend, "run", "log").last().map(String::as_str), Some("anew"));
}

pub(crate) fn a_log_of_many_branches(backend: &mut dyn Backend) {
    // Each step appends a draft, keeps the draft in a checkpoint, cuts the draft off, and appends another record.
    let mut expected = Vec::new();
    for n in 0..300_u32 {
        let (id, kept) = (n.to_string(), format!("kept {n}"));
        let draft = draft("run", &id).sort_key(f64::from(n)).pin_live("log").put();
        let unit = vec![
            texts("run", "log", &["draft"]),
            draft,
            truncate("run", "log", n.into()),
            texts("run", "log", &[&kept]),
        ];
        apply(backend, unit).unwrap();
        expected.push(kept);
    }
    assert_eq!(log(backend, "run", "log"), expected);
    for n in [0, 1, 150, 299] {
        let kept = log_at(backend, "run", "log", &n.to_string()).unwrap();
        assert_eq!(kept[..n], expected[..n]);
        assert_eq!(kept[n..], ["draft"]);
    }
    assert_eq!(records(backend, None), 600);
    apply(
        backend,
        vec![Op::KeepLast { contract: CONTRACT_ID, lineage: "run".to_owned(), keep: 1, pinned: String::new() }],
    )
    .unwrap();
    assert_eq!(records(backend, None), 301);
    assert_eq!(log(backend, "run", "log"), expected);
}

pub(crate) fn logs_are_there_after_opening_again(place: &Place) {
    let mut backend = (place.open)();
    let unit =
        vec![texts("run", "log", &["a", "b"]), draft("run", "1").pin_live("log").put(), truncate("run", "log", 1)];
    apply(&mut *backend, unit).unwrap();
    apply(&mut *backend, vec![append("run", "log", vec![keyed("k", "c")]), texts("gone", "log", &["x"])]).unwrap();
    apply(&mut *backend, vec![remove_logs("gone"), fork("1", "2", "fork")]).unwrap();
    drop(backend);
    let mut backend = (place.open)();
    assert_eq!(log(&mut *backend, "run", "log"), ["a", "c"]);
    assert_eq!(log_at(&mut *backend, "run", "log", "1").unwrap(), ["a", "b"]);
    // A backend on a server copies the records of a fork.
    assert!([3, 5].contains(&records(&mut *backend, None)));
    // The next appends make a new branch. They do not use the removed branch again.
    let unit =
        vec![append("run", "log", vec![keyed("k", "no")]), texts("fork", "log", &["d"]), texts("gone", "log", &["y"])];
    assert_eq!(appended(&mut *backend, unit), [said(2, &[0]), said(3, &[]), said(1, &[])]);
    drop(backend);
    let mut backend = (place.open)();
    assert_eq!(log(&mut *backend, "fork", "log"), ["a", "b", "d"]);
    assert_eq!(log(&mut *backend, "gone", "log"), ["y"]);
    assert_eq!(log(&mut *backend, "run", "log"), ["a", "c"]);
}

pub(crate) fn one_log_across_backends(place: &Place) {
    let (mut one, mut two) = ((place.open)(), (place.open)());
    for n in 0..20_u64 {
        let text = n.to_string();
        assert_eq!(appended(&mut *one, vec![texts_at("run", "log", n, &[&text])]), [said(n + 1, &[])]);
        assert_eq!(error(&mut *two, vec![texts_at("run", "log", n, &["late"])]).0, Code::Conflict);
        assert_eq!(log(&mut *two, "run", "log").len() as u64, n + 1);
        std::mem::swap(&mut one, &mut two);
    }
    // One backend keeps records. The other backend cuts the same log, continues it, and frees records.
    apply(&mut *one, vec![draft("run", "1").pin_live("log").put()]).unwrap();
    apply(&mut *two, vec![truncate("run", "log", 10), texts("run", "log", &["anew"])]).unwrap();
    assert_eq!(log(&mut *one, "run", "log").last().map(String::as_str), Some("anew"));
    assert_eq!(log_at(&mut *two, "run", "log", "1").unwrap().len(), 20);
    apply(&mut *two, vec![remove("1")]).unwrap();
    assert_eq!(records(&mut *one, None), 11);
    assert_eq!(appended(&mut *one, vec![texts("run", "log", &["last"])]), [said(12, &[])]);
}
