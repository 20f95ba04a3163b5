//! Tests logs: contents of any size, names of any kind, and many records and branches. What logs do is in the model.

use crate::common::prelude::*;

fn said(length: u64, left_out: &[usize]) -> Appended {
    Appended { length, left_out: left_out.to_vec() }
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

/// The number of stored records, each of which is read. Statistics of many records may be estimates.
fn checked_records(backend: &mut dyn Backend) -> u64 {
    let (counted, findings, _) = check(backend, 10_000);
    assert_eq!(findings, []);
    counted.records
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
    let stats = stats(backend, 0);
    let found = stats.total().records;
    assert!(if stats.is_estimate { (80_000..120_000).contains(&found) } else { found == 100_200 }, "{found}");
    assert_eq!(checked_records(backend), 100_200);
    // The log is cut at record 100 and continues on another branch. Afterwards the log is cut again, and only its
    // beginning stays.
    apply(backend, vec![truncate("run", "log", 100), texts("run", "log", &["anew"])]).unwrap();
    let kept = page(backend, log_range("run", "log", Some("99"))).unwrap().records;
    assert!(kept[..] == all[..99_000]);
    assert_eq!(checked_records(backend), 99_001);
    apply(backend, vec![remove_all_of("run")]).unwrap();
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
    assert_eq!(stats(backend, 0).total().records, 600);
    apply(backend, vec![keep_last("run", 1)]).unwrap();
    assert_eq!(stats(backend, 0).total().records, 301);
    assert_eq!(log(backend, "run", "log"), expected);
}

fn runs(backend: &mut dyn Backend, lineage: &str, log: &str, at: Option<&str>) -> Vec<LogRun> {
    let (lineage, log, at) = (lineage.to_owned(), log.to_owned(), at.map(str::to_owned));
    let query = Query::LogRuns { contract: CONTRACT_ID, lineage, log, at };
    backend.answer(&query).unwrap().into_log_runs().unwrap()
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
