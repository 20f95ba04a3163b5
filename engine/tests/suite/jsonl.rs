//! The backend that stores a folder of text files: crashes at every byte, damage, names, several users, and what a
//! person reads in the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::jsonl::Options;

fn options(folder: &Path) -> Options {
    Options { names: &[(CONTRACT_ID, "agents")], ..Options::new(folder) }
}

fn open(folder: &Path) -> Jsonl {
    Jsonl::open(&options(folder)).unwrap()
}

fn open_with(folder: &Path, durability: Durability) -> Jsonl {
    Jsonl::open(&Options { durability, ..options(folder) }).unwrap()
}

fn json_part(name: &str, json: &str) -> Part {
    part(name, "json", json)
}

fn restore(folder: &Path, files: &Files) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir(folder).unwrap();
    for (path, bytes) in files {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), bytes).unwrap();
    }
}

/// Everything that can be asked of a store.
fn dump(backend: &mut dyn Backend) -> String {
    let mut all = Vec::new();
    let contract = CONTRACT_ID;
    let mut ask = |query: Query| {
        let answer = backend.answer(&query).unwrap();
        all.push(format!("{answer:#?}"));
        answer
    };
    ask(Query::Whole { contract, of: Of::Contract, prefix: Vec::new() });
    ask(Query::Lineages { contract, group_prefix: String::new(), before: None, limit: 99 });
    for id in ["a1", "a2", "a3", "b1", "f1", "later"] {
        ask(Query::Tuple { contract, pick: Pick::Id(id.to_owned()) });
    }
    for run in ["a", "b", "f"] {
        let logs = ask(Query::Logs { contract, lineage: run.to_owned() }).into_logs().unwrap();
        for mark in logs {
            ask(Query::Log(common::log_range(run, &mark.log, None)));
        }
    }
    all.join("\n")
}

fn write(id: &str, task: &str, text: &str) -> Op {
    write_to(id, false, vec![common::write(task, 0, text)])
}

/// Batches that use every kind of line.
fn history() -> Vec<Vec<Unit>> {
    let touch = Op::Touch { contract: CONTRACT_ID, id: "a1".to_owned(), saved_at: 9 };
    let logs_of_a = Op::RemoveLogs { contract: CONTRACT_ID, lineage: "a".to_owned() };
    let writes = Op::RemoveWrites { contract: CONTRACT_ID, prefix: "a".to_owned() };
    let state = |id: &str| draft(&id[..1], id).parts(vec![json_part("state", "{\"n\":1}"), part("raw", "v8", id)]);
    let records = |texts: &[&str]| texts.iter().map(|text| keyed(text, *text)).collect::<Vec<_>>();
    let units: Vec<Vec<Vec<Op>>> = vec![
        vec![vec![append("a", "log", records(&["1", "2"])), state("a1").pin_live("log").put()]],
        vec![vec![write("a1", "t", "1"), write("b1", "u", "[2]")], vec![state("b1").group("g").put()]],
        vec![vec![state("a2").parent("a1").inherit(&["state"]).put(), claim("a1", "a2"), touch]],
        vec![vec![truncate("a", "log", 1), append("a", "log", records(&["3"]))], vec![fork("a1", "f1", "f")]],
        vec![vec![remove("a2")], vec![rewind("a", "log", "a1"), append("a", "log", records(&["4"]))]],
        vec![vec![remove("b1"), state("a3").put()]],
        vec![vec![logs_of_a, remove_lineages("a"), writes]],
        vec![vec![state("a1").put()], vec![remove_lineages("f")], vec![state("b1").put()]],
    ];
    units.into_iter().map(|batch| batch.into_iter().map(Unit::from).collect()).collect()
}

fn run(backend: &mut dyn Backend, batch: &[Unit]) {
    backend.apply(batch).into_iter().for_each(|outcome| drop(outcome.unwrap()));
}

#[test]
fn a_crash_at_any_byte_leaves_a_batch_whole_or_absent() {
    let (_parent, folder) = temporary("store");
    let (_other, crashed) = temporary("store");
    let mut store = open(&folder);
    let mut states = 0;
    for batch in history() {
        let (before, expected) = (files(&folder), dump(&mut store));
        run(&mut store, &batch);
        let (after, committed) = (files(&folder), dump(&mut store));
        let mut check = |files: &Files, expected: &str, what: &str| {
            restore(&crashed, files);
            let mut reopened = open(&crashed);
            assert!(dump(&mut reopened) == expected, "{what}");
            states += 1;
            if states % 40 == 0 {
                // The store goes on, and what was torn does not come back.
                apply(&mut reopened, vec![draft("later", "later").put()]).unwrap();
                let expected = dump(&mut reopened);
                assert!(dump(&mut open(&crashed)) == expected, "{what}, and a save later");
                assert_eq!(findings(&mut open(&crashed)), []);
            }
        };
        // First the lines are written to the files of the lineages, in the order of the files' numbers. Here any of them
        // may be written first.
        let mut now = before.clone();
        let data = after.iter().filter(|(path, bytes)| *path != "order.jsonl" && before.get(*path) != Some(bytes));
        for (path, bytes) in data {
            let kept = before.get(path).map_or(0, Vec::len);
            assert!(bytes.starts_with(before.get(path).map_or(&[][..], |bytes| bytes)), "files only grow");
            for length in kept..=bytes.len() {
                now.insert(path.clone(), bytes[..length].to_vec());
                check(&now, &expected, &format!("{path} has {length} bytes"));
            }
        }
        // Then the line in the journal.
        let journal = &after["order.jsonl"];
        for length in before["order.jsonl"].len()..journal.len() {
            now.insert("order.jsonl".to_owned(), journal[..length].to_vec());
            check(&now, &expected, &format!("the journal has {length} bytes"));
        }
        // Then the files that were removed are deleted.
        now.insert("order.jsonl".to_owned(), journal.clone());
        check(&now, &committed, "committed");
        restore(&crashed, &now);
        drop(open(&crashed));
        assert_eq!(files(&crashed), after, "what was removed is deleted");
    }
    assert!(states > 3000, "{states}");
}

#[test]
fn a_power_failure_takes_the_last_commits_that_were_not_synced() {
    let (_parent, folder) = temporary("store");
    let (_other, crashed) = temporary("store");
    let mut store = open_with(&folder, Durability::Normal);
    let mut dumps = vec![dump(&mut store)];
    let mut before = Files::new();
    for batch in &history()[..3] {
        before = files(&folder);
        run(&mut store, batch);
        dumps.push(dump(&mut store));
    }
    let after = files(&folder);
    for (path, bytes) in after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)) {
        let kept = before.get(path).map_or(0, Vec::len);
        if kept == bytes.len() {
            continue;
        }
        // The file system kept the length of the file and not its bytes, or neither.
        let zeroed = [&bytes[..kept], &vec![0; bytes.len() - kept]].concat();
        for (what, bytes) in [("zeros", zeroed), ("shorter", bytes[..bytes.len() - 1].to_vec())] {
            let mut files = after.clone();
            files.insert(path.clone(), bytes);
            restore(&crashed, &files);
            let mut reopened = open(&crashed);
            assert!(dump(&mut reopened) == dumps[2], "{path}: {what}");
            let notice = reopened.notice().cloned();
            assert!(path == "order.jsonl" || notice.unwrap().message.contains("the last 1 commit was lost"));
            apply(&mut reopened, vec![draft("later", "later").put()]).unwrap();
            assert_eq!(dump(&mut open(&crashed)), dump(&mut reopened));
            assert_eq!(findings(&mut open(&crashed)), []);
        }
    }
    // With full durability the same is damage.
    let mut store = open(&folder);
    run(&mut store, &history()[3]);
    let mut files = files(&folder);
    let bytes = files.get_mut("agents/a.jsonl").unwrap();
    let at = bytes.len() - 30;
    bytes[at..].fill(0);
    restore(&crashed, &files);
    assert_eq!(try_get(&mut open(&crashed), "a1").unwrap_err().code(), Code::Corrupt);
}

fn file_of(folder: &Path, path: &str) -> Vec<String> {
    fs::read_to_string(folder.join(path)).unwrap().lines().map(str::to_owned).collect()
}

fn damaged(folder: &Path) -> Error {
    let error = Jsonl::open(&options(folder)).and_then(|mut store| try_get(&mut store, "a1")).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt, "{error}");
    error
}

#[test]
fn a_line_that_was_changed_by_hand_is_named() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    history()[..5].iter().for_each(|batch| run(&mut store, batch));
    let whole = files(&folder);
    for path in ["agents/a.jsonl", "agents/@writes.jsonl", "order.jsonl"] {
        let lines = file_of(&folder, path);
        for at in 0..lines.len() {
            let mut changed = lines.clone();
            let digit = changed[at].rfind(['1', '2', '3', '4']).unwrap();
            changed[at].replace_range(digit..=digit, "7");
            fs::write(folder.join(path), changed.join("\n") + "\n").unwrap();
            let error = damaged(&folder);
            assert!(error.message().contains(&format!("{path}, line {}:", at + 1)), "{error}");
            assert!(error.message().contains("backup"), "it says what to do: {error}");
            let found = findings(&mut open(&folder));
            assert!(
                found.iter().any(|found| found.message.contains(&format!("{path}, line {}:", at + 1))),
                "{found:?}"
            );
            assert!(found.iter().all(|found| path == "order.jsonl" || found.contract == Some(CONTRACT_ID) || at == 0));
            // A line that is missing, and one that is there twice.
            let mut fewer = lines.clone();
            fewer.remove(at);
            let mut more = lines.clone();
            more.insert(at, lines[at].clone());
            for other in [fewer, more] {
                let last = other.len() < lines.len() && at + 1 == lines.len();
                if path == "order.jsonl" && last {
                    // A journal without its last line is an older state of the store.
                    continue;
                }
                fs::write(folder.join(path), other.join("\n") + "\n").unwrap();
                if path != "order.jsonl" && other.len() > lines.len() && at + 1 == lines.len() {
                    // What follows the committed lines does not count.
                    assert_eq!(get(&mut open(&folder), "a1").unwrap().header.id, "a1");
                } else {
                    damaged(&folder);
                }
            }
            restore(&folder, &whole);
        }
    }
    assert_eq!(findings(&mut open(&folder)), []);
}

#[test]
fn a_line_is_whole_at_its_place_only() {
    let (_parent, folder) = temporary("store");
    common::save(&mut open(&folder), [draft("a", "a1"), draft("b", "b1")]);
    let [a, b] = ["agents/a.jsonl", "agents/b.jsonl"].map(|path| folder.join(path));
    let (of_a, of_b) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    for at in 0..of_a.len() {
        for flip in [1, 0x20, 0x80] {
            let mut changed = of_a.clone();
            changed[at] ^= flip;
            fs::write(&a, changed).unwrap();
            damaged(&folder);
        }
    }
    assert_eq!(of_a.len(), of_b.len());
    fs::write(&a, of_b).unwrap();
    fs::write(&b, of_a).unwrap();
    damaged(&folder);
}

#[test]
fn an_open_store_reports_damage_where_it_reads() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    common::save(&mut store, [draft("a", "a1"), draft("a", "a2")]);
    let path = folder.join("agents/a.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let begin = text.rfind("{\"checkpoint\"").unwrap();
    fs::write(&path, format!("{}{}", &text[..begin], text[begin..].replace("\"savedAt\":0", "\"savedAt\":1"))).unwrap();
    assert_eq!(get(&mut store, "a1").unwrap().header.id, "a1");
    let error = try_get(&mut store, "a2").unwrap_err();
    assert!(error.code() == Code::Corrupt && error.message().contains("agents/a.jsonl, line 4:"), "{error}");
    assert_eq!(findings(&mut store).len(), 1);
}

#[test]
fn a_missing_journal_is_an_error() {
    let (_parent, folder) = temporary("store");
    run(&mut open(&folder), &history()[0]);
    let mut store = open(&folder);
    fs::remove_file(folder.join("order.jsonl")).unwrap();
    let before = files(&folder);
    for error in [Jsonl::open(&options(&folder)).unwrap_err(), try_get(&mut store, "a1").unwrap_err()] {
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.message().contains("order.jsonl is missing"), "{error}");
    }
    assert_eq!(files(&folder), before);
    fs::remove_dir_all(folder.join("agents")).unwrap();
    assert_eq!(get(&mut open(&folder), "a1"), None, "an empty folder is a new store");
}

#[test]
fn a_missing_file_is_named() {
    let (_parent, folder) = temporary("store");
    run(&mut open(&folder), &history()[0]);
    fs::remove_file(folder.join("agents/a.jsonl")).unwrap();
    let error = damaged(&folder);
    assert!(error.message().contains("agents/a.jsonl: the file is missing"), "{error}");
    assert!(findings(&mut open(&folder))[0].message.contains("agents/a.jsonl"));
}

#[test]
fn a_folder_of_others_is_refused_untouched() {
    for (name, what) in [("notes.txt", "hello"), ("order.jsonl", "{\"id\":1}\n"), ("agents", "")] {
        let (_parent, folder) = temporary("store");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), what).unwrap();
        let before = files(&folder);
        let error = Jsonl::open(&options(&folder)).unwrap_err();
        assert_eq!(error.code(), Code::Unsupported, "{name}: {error}");
        assert_eq!(files(&folder), before);
    }
    let (_parent, folder) = temporary("store");
    drop(open(&folder));
    let journal = fs::read_to_string(folder.join("order.jsonl")).unwrap();
    fs::write(folder.join("order.jsonl"), journal.replace("\"version\":1", "\"version\":2")).unwrap();
    let error = Jsonl::open(&options(&folder)).unwrap_err();
    assert!(error.code() == Code::Unsupported && error.message().contains("update Forkpoint"), "{error}");

    let (parent, file) = temporary("store");
    fs::write(&file, "").unwrap();
    assert_eq!(Jsonl::open(&options(&file)).unwrap_err().code(), Code::InvalidArgument);
    let missing = parent.path().join("missing/store");
    assert_eq!(Jsonl::open(&options(&missing)).unwrap_err().code(), Code::Unavailable);
}

#[cfg(unix)]
#[test]
fn files_are_private_and_links_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (parent, folder) = temporary("store");
    run(&mut open(&folder), &history()[1]);
    let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["", "agents"].map(mode), [0o700; 2]);
    let files = ["order.jsonl", "forkpoint.lock", "agents/b.jsonl", "agents/@writes.jsonl"];
    assert_eq!(files.map(mode), [0o600; 4]);
    let link = parent.path().join("link");
    symlink(&folder, &link).unwrap();
    let error = Jsonl::open(&options(&link)).unwrap_err();
    assert!(error.code() == Code::InvalidArgument && error.message().contains("symbolic link"), "{error}");
}

#[test]
fn a_write_that_fails_changes_nothing_and_the_store_goes_on() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    // A file is where the folder of the contract must be.
    fs::write(folder.join("agents"), "").unwrap();
    let error = apply(&mut store, vec![draft("a", "a1").put()]).unwrap_err();
    assert!(error.code() == Code::Unavailable && !error.outcome_unknown(), "{error}");
    assert_eq!(get(&mut store, "a1"), None);
    fs::remove_file(folder.join("agents")).unwrap();
    common::save(&mut store, [draft("a", "a1")]);
    assert_eq!(get(&mut open(&folder), "a1").unwrap().header.id, "a1");
}

#[test]
fn any_name_has_a_safe_file() {
    let (parent, folder) = temporary("store");
    let long = ["x".repeat(300), "x".repeat(301), "ü".repeat(2048), "Y".repeat(4096), "y".repeat(4096)];
    #[rustfmt::skip]
    let given = [
        "CON", "con", "aux.txt", "AUX.TXT", "a\0b", "trailing. ", "trailing.", "trailing", "..", ".", "/", "Run", "run", "RUN",
        "%72un", "run@2", "@writes", "~", "a/b", "a\\b", "C:\\x", ".hidden", "-rf", "com1", "nul.", "console",
    ];
    let all: Vec<&str> = given.into_iter().chain(long.iter().map(String::as_str)).chain(common::HOSTILE).collect();
    let mut store = open(&folder);
    for name in &all {
        common::save(&mut store, [draft(name, name)]);
    }
    let mut expected: Vec<&str> = all.clone();
    expected.sort_unstable();
    expected.dedup();
    let mut found = names(&mut open(&folder), "");
    found.sort_unstable();
    assert_eq!(found, expected);
    for name in &all {
        assert_eq!(get(&mut store, name).unwrap(), draft(name, name).0);
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is outside of the folder");
    let files = files(&folder);
    assert_eq!(files.len(), expected.len() + 2);
    let without_case: BTreeSet<String> = files.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(without_case.len(), files.len(), "names differ where case is ignored");
    for stem in files.keys().filter_map(|path| path.strip_prefix("agents/")?.strip_suffix(".jsonl")) {
        assert!(!stem.starts_with(['.', '-', '@']) && stem.len() < 130, "{stem}");
        assert!(!["con", "prn", "aux", "nul", "com1"].contains(&stem.split('.').next().unwrap()), "{stem}");
        assert!(stem.bytes().all(|byte| b"abcdefghijklmnopqrstuvwxyz0123456789._-%~".contains(&byte)), "{stem}");
    }
    for path in ["agents/run.jsonl", "agents/%2e.%2f..%2fx.jsonl", "agents/console.jsonl"] {
        assert!(files.contains_key(path), "{path}");
    }
}

#[test]
fn every_line_is_json_that_a_person_can_read() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    let state = r#"{"messages":[{"role":"user","content":"Grüße \"🜁\""}],"n":1.50}"#;
    let saved =
        draft("run-1", "a1").meta(br#"{"step":1}"#).parts(vec![json_part("state", state), part("b", "v8", [1, 2])]);
    let said = common::record("hi");
    let unit = vec![append(
        "run-1",
        "chat",
        vec![forkpoint_engine::record::Record { tag: "json".into(), bytes: "\"hi\"".into(), ..said }],
    )];
    apply(&mut store, unit).unwrap();
    apply(&mut store, vec![saved.clone().put(), write("a1", "task", "[1]")]).unwrap();
    let (mut checkpoints, mut records, mut written) = (0, 0, 0);
    for (path, bytes) in files(&folder).into_iter().filter(|(path, _)| path.strip_suffix(".jsonl").is_some()) {
        for line in std::str::from_utf8(&bytes).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(line["sum"].is_string(), "{path}");
            if let Some(checkpoint) = line.get("checkpoint") {
                checkpoints += 1;
                assert_eq!(checkpoint["id"], "a1");
                assert_eq!(checkpoint["meta"]["step"], 1);
                assert_eq!(checkpoint["parts"][0]["value"]["messages"][0]["content"], "Grüße \"🜁\"");
                assert_eq!(checkpoint["parts"][1]["base64"], "AQI=");
            }
            if let Some(record) = line.get("record") {
                records += 1;
                assert_eq!((&record["log"], &record["value"]), (&"chat".into(), &"hi".into()));
            }
            if let Some(writes) = line.get("writes") {
                written += 1;
                assert_eq!(writes["writes"][0]["value"][0], 1);
            }
        }
    }
    assert_eq!((checkpoints, records, written), (1, 1, 1));
    assert!(fs::read_to_string(folder.join("agents/run-1.jsonl")).unwrap().contains(state), "byte for byte");
    assert_eq!(get(&mut open(&folder), "a1").unwrap(), saved.0);
}

#[test]
fn a_value_is_embedded_where_that_is_exact() {
    let (_parent, folder) = temporary("store");
    let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
    let json = ["null", "{\"a\": 1e400,  \"a\":[\"\\ud800 \u{2028}\\\"[\"]}", "\"\"", "-0", "1.0", &deep(100)];
    let deeper = deep(101);
    let others = [&b""[..], b" 1", b"1 ", b"[1,\n2]", b"{", b"\xff", b"1 2", deeper.as_bytes()];
    let values = json.iter().map(|text| text.as_bytes()).chain(others);
    let parts = values.enumerate().map(|(at, bytes)| part(&format!("{at:02}"), "t", bytes.to_vec())).collect();
    let saved = draft("run-1", "a1").parts(parts);
    common::save(&mut open(&folder), [saved.clone()]);
    let text = fs::read_to_string(folder.join("agents/run-1.jsonl")).unwrap();
    for text_of_value in json {
        assert!(text.contains(&format!("\"value\":{text_of_value}}}")), "{text_of_value}");
    }
    assert_eq!(text.matches("\"base64\":").count(), others.len());
    assert_eq!(get(&mut open(&folder), "a1").unwrap(), saved.0);
}

#[test]
fn the_format_does_not_change() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    let saved = draft("run-1", "a1").sort_key(1.0).meta(b"{}").parts(vec![json_part("state", "{\"n\":1}")]);
    apply(&mut store, vec![append("run-1", "chat", vec![keyed("k", "hi")]), saved.pin_live("chat").put()]).unwrap();
    assert_eq!(file_of(&folder, "agents/run-1.jsonl"), EXPECTED_RUN);
    assert_eq!(file_of(&folder, "order.jsonl"), EXPECTED_JOURNAL);
}

#[rustfmt::skip]
const EXPECTED_RUN: [&str; 6] = [
    r#"{"lineage":{"contract":1,"name":"run-1","position":1,"file":1},"sum":"68ac202296a580e1"}"#,
    r#"{"begin":{"group":"","ageOffset":0},"sum":"a27d284aa57f7155"}"#,
    r#"{"branch":{"id":1,"log":"chat"},"sum":"3c24d9457ac214d5"}"#,
    r#"{"record":{"branch":1,"log":"chat","at":0,"key":"k","size":2,"tag":"t","base64":"aGk="},"sum":"c88c7fd296fec764"}"#,
    r#"{"checkpoint":{"seq":1,"id":"a1","sortKey":"bff0000000000000","savedAt":0,"meta":{},"logs":[{"log":"chat","branch":1,"length":1}],"bytes":20,"parts":[{"name":"state","tag":"json","value":{"n":1}}]},"sum":"426af7a40d7e466f"}"#,
    r#"{"head":{"log":"chat","branch":1,"length":1},"sum":"5ae3ed8661ded7b3"}"#,
];
#[rustfmt::skip]
const EXPECTED_JOURNAL: [&str; 2] = [
    r#"{"forkpoint":"jsonl","version":1,"epoch":1,"commit":0,"last":{"seq":0,"lineage":0,"branch":0,"file":0},"files":[],"sum":"62a1da4392b44ab6"}"#,
    r#"{"commit":1,"synced":true,"last":{"seq":1,"lineage":1,"branch":1,"file":1},"files":[{"file":1,"path":"agents/run-1.jsonl","length":618,"lines":6,"sum":"5ae3ed8661ded7b3"}],"sum":"52a9e5d26d09ce04"}"#,
];

#[test]
fn vacuum_leaves_only_what_is_stored() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    history()[..6].iter().for_each(|batch| run(&mut store, batch));
    let mut reader = open(&folder);
    let before = dump(&mut reader);
    let copy = folder.join("agents/my copy.jsonl");
    fs::copy(folder.join("agents/f.jsonl"), &copy).unwrap();
    fs::write(folder.join("agents/notes.txt"), "mine").unwrap();
    store.vacuum().unwrap();
    assert_eq!(dump(&mut store), before);
    assert_eq!(dump(&mut reader), before, "others go on");
    assert_eq!(dump(&mut open(&folder)), before);
    let left = files(&folder);
    assert!(copy.exists() && left.contains_key("agents/notes.txt"), "what a person put there stays");
    assert_eq!(file_of(&folder, "order.jsonl").len(), 1);
    let text: String = left.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    for needless in ["\"removed\"", "\"touched\"", "\"cut\"", "\"claimed\"", "\"id\":\"a2\""] {
        assert!(!text.contains(needless), "{needless}");
    }
    let again = files(&folder);
    store.vacuum().unwrap();
    let data = |files: &Files| files.iter().filter(|(path, _)| *path != "order.jsonl").count();
    assert_eq!(data(&files(&folder)), data(&again));
    for path in again.keys().filter(|path| *path != "order.jsonl") {
        assert_eq!(files(&folder)[path], again[path], "there was nothing to do");
    }
}

#[test]
fn a_run_that_keeps_its_newest_does_not_grow_for_ever() {
    let (_parent, folder) = temporary("store");
    let mut store = open_with(&folder, Durability::Off);
    let mut reader = open(&folder);
    let mut largest = 0;
    for n in 0..3000_usize {
        let state = format!("\"{}\"", "x".repeat(1000));
        let put = draft("run", &n.to_string()).parts(vec![json_part("state", &state)]).put();
        apply(&mut store, vec![put, keep_last("run", 10)]).unwrap();
        store.sweep().unwrap();
        if n % 100 == 0 {
            let bytes = stats(&mut reader, 0).file_bytes.unwrap();
            largest = largest.max(bytes);
            assert_eq!(ids(&mut reader, lineage("run")).len(), 10.min(n + 1));
        }
    }
    assert!(largest < 1_500_000, "{largest}");
    assert_eq!(newest(&mut reader, "run", None).as_deref(), Some("2999"));
    let files = files(&folder);
    assert_eq!(files.keys().filter(|path| *path != "order.jsonl.old").count(), 3, "old files are deleted");
    store.prune(&batch(Rule::KeepLast(1), 99)).unwrap();
    assert_eq!(ids(&mut reader, lineage("run")), ["2999"]);
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_busy() {
    let (_parent, folder) = temporary("store");
    let mut store = Jsonl::open(&Options { busy_timeout: Duration::from_millis(50), ..options(&folder) }).unwrap();
    let lock = fs::File::open(folder.join("forkpoint.lock")).unwrap();
    lock.lock().unwrap();
    let error = apply(&mut store, vec![draft("a", "a1").put()]).unwrap_err();
    assert_eq!((error.code(), error.outcome_unknown()), (Code::Busy, false));
    assert_eq!(get(&mut store, "a1"), None, "a read of what is known needs no lock");
    lock.unlock().unwrap();
    common::save(&mut store, [draft("a", "a1")]);
}

/// A second process: takes turns with the first, or saves until it is killed.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let role = role().into_string().unwrap();
    let (what, folder) = role.split_once('|').unwrap();
    let mut store = open(Path::new(folder));
    if what == "turns" {
        for n in 0..20 {
            told();
            turn(&mut store, 2 * n + 1);
            say("done");
        }
        return;
    }
    for n in 0.. {
        run(&mut store, &[Unit::from(step(what, n))]);
        say(&format!("{what}.{n}"));
        store.sweep().unwrap();
    }
}

/// One turn of two processes that share a run and a log.
fn turn(store: &mut Jsonl, n: usize) {
    assert_eq!(log(store, "run", "log"), (0..n).map(|n| n.to_string()).collect::<Vec<_>>());
    let before = n.checked_sub(1).map(|n| n.to_string());
    assert_eq!(newest(store, "run", None), before);
    let put = draft("run", &n.to_string()).inherit(&["first"]).parts(Vec::new());
    let put = if n == 0 { put.parts(vec![json_part("first", "\"of all\"")]) } else { put };
    let unit = Unit {
        expect: vec![common::expect("run", before.as_deref(), &n.to_string())],
        ops: vec![append("run", "log", vec![record(n.to_string())]), put.put()],
    };
    apply(store, unit).unwrap();
}

#[test]
fn two_processes_take_turns() {
    let (_parent, folder) = temporary("store");
    let mut store = open(&folder);
    let mut other = Process::start(module_path!(), "child", format!("turns|{}", folder.display()));
    for n in 0..20 {
        turn(&mut store, 2 * n);
        other.tell();
        assert_eq!(other.line().as_deref(), Some("done"));
        if n == 10 {
            store.vacuum().unwrap();
        }
    }
    other.finish();
    assert_eq!(log(&mut store, "run", "log").len(), 40);
    assert_eq!(&*get(&mut store, "39").unwrap().payload.part("first").unwrap().bytes, b"\"of all\"");
}

/// Number `n` of the units that a process saves until it is killed.
fn step(name: &str, n: usize) -> Vec<Op> {
    let id = format!("{name}.{n}");
    let noise = |id: &str| {
        let seed = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
        vec![part("noise", "t", common::noise(seed, usize::try_from(seed % 20_000).unwrap()))]
    };
    let put = |id: String, run: &str| draft(run, &id).parts(noise(&id)).pin_live("log");
    vec![
        append("run", "log", vec![record(id.clone())]),
        put(format!("{id}.a"), "run").put(),
        draft("kept", &format!("{id}.b")).parts(noise(&id)).put(),
        keep_last("kept", 3),
    ]
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let (_parent, folder) = temporary("store");
    let mut acknowledged: Vec<String> = Vec::new();
    for cycle in 0..8_usize {
        let name = format!("cycle {cycle}");
        let mut process = Process::start(module_path!(), "child", format!("{name}|{}", folder.display()));
        let lines = cycle * cycle;
        let mut heard: Vec<String> = std::iter::from_fn(|| process.line()).take(lines).collect();
        assert_eq!(heard.len(), lines, "the child saves until it is killed: {heard:?}");
        process.kill();
        heard.extend(std::iter::from_fn(|| process.line()));
        acknowledged.extend(heard);
        let mut store = open(&folder);
        let records = log(&mut store, "run", "log");
        for id in &acknowledged {
            assert!(records.contains(id), "{id} was acknowledged and is gone");
        }
        let mut runs = ids(&mut store, lineage("run"));
        runs.reverse();
        assert_eq!(runs, records.iter().map(|id| format!("{id}.a")).collect::<Vec<_>>(), "units are whole");
        let kept: Vec<String> = records.iter().rev().take(3).map(|id| format!("{id}.b")).collect();
        assert_eq!(ids(&mut store, lineage("kept")), kept);
        for (at, id) in records.iter().enumerate() {
            let (name, n) = id.rsplit_once('.').unwrap();
            let Op::Put(draft) = &step(name, n.parse().unwrap())[1] else { unreachable!() };
            assert!(get(&mut store, &format!("{id}.a")).unwrap().payload == draft.payload, "{id}");
            assert_eq!(log_at(&mut store, "run", "log", &format!("{id}.a")).unwrap(), records[..=at]);
        }
        assert_eq!(findings(&mut store), []);
    }
    assert!(acknowledged.len() >= 140, "{}", acknowledged.len());
}

#[test]
fn contracts_without_a_name_have_a_folder_with_their_number() {
    let (_parent, folder) = temporary("store");
    common::save(&mut open(&folder), [draft("run", "a").contract(ContractId(9))]);
    assert!(folder.join("contract-9/run.jsonl").exists());
}
