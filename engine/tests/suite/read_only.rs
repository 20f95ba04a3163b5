//! Looks at databases and folders without changing them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::store;

fn look(path: &Path) -> ReadOnly {
    ReadOnly::open(path, Duration::from_secs(5), 1 << 20).unwrap()
}

fn fill(path: &Path, journal: Journal) -> Sqlite {
    let mut writer = sqlite(path, journal, Durability::Off).unwrap();
    for number in 0..10 {
        let saved = draft("run", &format!("c{number}")).sort_key(f64::from(number)).group("g");
        save(&mut writer, [saved]);
    }
    apply(&mut writer, vec![fork("c3", "f", "forked")]).unwrap();
    apply(&mut writer, vec![append("run", "log", vec![keyed("k", "record")])]).unwrap();
    writer
}

/// Asks the queries that would build an index in a database that may be changed.
fn ask(backend: &mut dyn Backend) {
    assert_eq!(ids(backend, lineage("run")).len(), 10);
    assert_eq!(ids(backend, group("g")).len(), 11);
    assert_eq!(names(backend, "g"), ["forked", "run"]);
    let forks = Query::Forks { contract: common::CONTRACT_ID, lineage: "run".to_owned() };
    let forks = backend.answer(&forks).unwrap().into_lineages().unwrap();
    assert_eq!(forks.iter().map(|fork| fork.newest.lineage.as_str()).collect::<Vec<_>>(), ["forked"]);
    assert_eq!(common::log(backend, "run", "log"), ["record"]);
    assert_eq!(common::get(backend, "c7").unwrap().header.id, "c7");
}

#[test]
fn a_closed_database_is_read_and_no_file_changes() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let (folder, path) = temporary("a.db");
        drop(fill(&path, journal));
        let before = files(folder.path());
        let mut reader = look(&path);
        ask(&mut reader);
        assert!(files(folder.path()) == before, "{journal:?}");
        drop(reader);
        assert!(files(folder.path()) == before, "{journal:?}");
    }
}

#[test]
fn a_group_is_listed_without_its_index() {
    let (_folder, path) = temporary("a.db");
    let mut writer = sqlite(&path, Journal::Wal, Durability::Off).unwrap();
    let begin = |name: String, group: &str| draft(&name, &name).group(group).put();
    let rare = ["a", "b"].map(|name| begin(name.to_owned(), "rare"));
    let often = (0..10_500).map(|n| begin(n.to_string(), "often"));
    let all: Vec<_> = rare.into_iter().chain(often).collect();
    apply(&mut writer, all).unwrap();
    drop(writer);
    let has_index = || {
        let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'lineage_group'";
        rusqlite::Connection::open(&path).unwrap().prepare(sql).unwrap().exists([]).unwrap()
    };
    assert_eq!(names(&mut look(&path), "rare"), ["b", "a"]);
    assert!(!has_index());
    assert_eq!(names(&mut sqlite(&path, Journal::Wal, Durability::Off).unwrap(), "rare"), ["b", "a"]);
    assert!(has_index());
    assert_eq!(names(&mut look(&path), "rare"), ["b", "a"]);
}

#[test]
fn what_others_save_meanwhile_is_seen() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let (_folder, path) = temporary("a.db");
        drop(fill(&path, journal));
        let mut reader = look(&path);
        ask(&mut reader);
        let mut feed = Feed { after: 0, order: RowOrder::OldestFirst, limit: 99, version: None, wait: None };
        let mut told = |reader: &mut ReadOnly| {
            let page = reader.answer(&Query::Feed(feed.clone())).unwrap().into_feed().unwrap();
            (feed.after, feed.version) = (page.next, page.version);
            (page.rows.iter().map(|row| row.header.id.clone()).collect::<Vec<_>>(), page.checkpoints)
        };
        assert_eq!(told(&mut reader).0.len(), 11);
        assert_eq!(told(&mut reader), (vec![], None), "nothing has changed");
        let mut writer = sqlite(&path, journal, Durability::Off).unwrap();
        save(&mut writer, [draft("run", "new").sort_key(99.0)]);
        assert_eq!(told(&mut reader), (vec!["new".to_owned()], Some(12)));
        apply(&mut writer, vec![remove("c1")]).unwrap();
        assert_eq!(told(&mut reader), (vec![], Some(11)));
        drop(writer);
        assert_eq!(ids(&mut reader, lineage("run"))[0], "new", "also after the writer has gone");
        let mut writer = sqlite(&path, journal, Durability::Off).unwrap();
        save(&mut writer, [draft("run", "newer").sort_key(100.0)]);
        assert_eq!(ids(&mut reader, lineage("run"))[0], "newer");
        drop((reader, writer));
        assert!(common::findings(&mut sqlite(&path, journal, Durability::Off).unwrap()).is_empty());
    }
}

/// The connections of a store answer one after the other. What one of them has counted says nothing of what another one reads.
#[test]
fn the_version_of_a_feed_belongs_to_a_connection() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let (_folder, path) = temporary("a.db");
        let mut writer = fill(&path, journal);
        let mut sqlites = [0; 2].map(|_| sqlite(&path, journal, Durability::Off).unwrap());
        let mut readers = [0; 2].map(|_| look(&path));
        let [first, second] = &mut sqlites;
        let [third, fourth] = &mut readers;
        let all: [&mut dyn Backend; 4] = [first, second, third, fourth];
        let mut seen = std::collections::HashSet::new();
        for backend in all {
            for _ in 0..3 {
                let n = u32::try_from(seen.len()).unwrap();
                save(&mut writer, [draft("run", &format!("new {n}")).sort_key(99.0 + f64::from(n))]);
                let feed = Feed { after: 0, order: RowOrder::NewestFirst, limit: 99, version: None, wait: None };
                let page = backend.answer(&Query::Feed(feed)).unwrap().into_feed().unwrap();
                assert!(seen.insert(page.version.unwrap()), "{journal:?} {:?} {seen:?}", page.version);
            }
        }
    }
}

#[test]
fn what_a_killed_process_left_is_read() {
    let (_folder, path) = temporary("a.db");
    let writer = fill(&path, Journal::Wal);
    for suffixes in [&["", "-wal"][..], &["", "-wal", "-shm"][..]] {
        let other = tempfile::tempdir().unwrap();
        let copy = other.path().join("b.db");
        left_behind(&path, &copy, suffixes);
        let before = files(other.path());
        ask(&mut look(&copy));
        let after = files(other.path());
        for name in ["b.db", "b.db-wal"] {
            assert!(after[name] == before[name], "{name} with {suffixes:?}");
        }
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    }
    drop(writer);
}

/// Makes a database whose tables are still in its log, and copies it without the log.
fn copied_without_its_log(folder: &Path) -> PathBuf {
    let (path, copy) = (folder.join("a.db"), folder.join("copy.db"));
    let writer = fill(&path, Journal::Wal);
    left_behind(&path, &copy, &[""]);
    drop(writer);
    copy
}

#[test]
fn a_file_without_its_log_never_looks_empty_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let copy = copied_without_its_log(folder.path());
    let error = ReadOnly::open(&copy, Duration::ZERO, 0).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("copy.db-wal") && error.message().contains("missing"), "{error}");
    // A store that writes goes on with the file, and tells the user.
    let opened = Sqlite::open(&Options::new(&copy)).unwrap();
    let notice = opened.notice().unwrap();
    assert_eq!(notice.code, "FORKPOINT_LOG_MISSING");
    assert!(notice.message.contains("copy.db-wal"), "{}", notice.message);
    drop(opened);
    for _ in 0..2 {
        // The tables are there from now on, and a new file lacks nothing.
        assert_eq!(Sqlite::open(&Options::new(&copy)).unwrap().notice(), None);
        assert_eq!(Sqlite::open(&Options::new(folder.path().join("new.db"))).unwrap().notice(), None);
    }
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with("-new")).count(), 0, "nothing is left of the creation");
}

#[test]
fn a_file_whose_creator_was_killed_is_no_copy_without_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let copy = copied_without_its_log(folder.path());
    // The marker that a process makes before it makes the tables.
    fs::write(folder.path().join("copy.db-new"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(Sqlite::open(&Options::new(&copy)).unwrap().notice(), None);
        assert!(!folder.path().join("copy.db-new").exists());
    }
}

/// A process loses its locks on a file when it closes any descriptor of the file.
#[cfg(target_os = "linux")]
#[test]
fn a_look_at_a_database_takes_no_lock_from_this_process() {
    use std::os::unix::fs::MetadataExt;

    for journal in [Journal::Wal, Journal::Rollback] {
        let (_folder, path) = temporary("a.db");
        let _writer = fill(&path, journal);
        // A writer with a rollback journal has no locks between its calls, so another connection has one.
        let holder = rusqlite::Connection::open(&path).unwrap();
        holder.execute_batch("BEGIN; SELECT count(*) FROM checkpoint").unwrap();
        let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
        let locks = || {
            let all = fs::read_to_string("/proc/locks").unwrap();
            // A line begins with a number that changes.
            let lock = |line: &str| line.split_once(':').map(|(_, lock)| lock.trim_start().to_owned());
            let mut lines: Vec<_> = all.lines().filter(|line| line.contains(&inode)).filter_map(lock).collect();
            lines.sort();
            lines
        };
        let before = locks();
        assert!(!before.is_empty());
        for _ in 0..2 {
            ask(&mut look(&path));
            assert_eq!(locks(), before, "{journal:?}");
        }
    }
}

#[test]
fn what_is_no_database_is_refused_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("empty.db"), "").unwrap();
    fs::write(path("text.db"), "a text of more than five hundred bytes ".repeat(40)).unwrap();
    rusqlite::Connection::open(path("other.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    fs::create_dir(path("folder")).unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    for (name, code) in [
        ("missing.db", Code::NotFound),
        ("empty.db", Code::NotFound),
        ("text.db", Code::Corrupt),
        ("other.db", Code::Unsupported),
        ("folder", Code::InvalidArgument),
    ] {
        let error = ReadOnly::open(&path(name), Duration::ZERO, 0).unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(error.message().contains(name), "{error}");
    }
    let jsonl = jsonl::Options { read_only: true, ..jsonl::Options::new(path("no folder")) };
    assert_eq!(Jsonl::open(&jsonl).unwrap_err().code(), Code::NotFound);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}

#[test]
fn every_change_is_refused() {
    let (folder, path) = temporary("a.db");
    drop(fill(&path, Journal::Wal));
    let options = store::Options { read_only: true, ..store::Options::default() };
    let store = Store::open(&Target::Sqlite(path.clone()), options).unwrap();
    let before = files(folder.path());
    let unit = || vec![draft("run", "x").put()].into();
    let prune = common::batch(Rule::KeepLast(1), 9);
    assert_eq!(call(|reply| store.apply(unit(), reply)).unwrap_err().code(), Code::Unsupported);
    assert_eq!(call(|reply| store.prune(prune, reply)).unwrap_err().code(), Code::Unsupported);
    assert_eq!(call(|reply| store.vacuum(reply)).unwrap_err().code(), Code::Unsupported);
    assert_eq!(common::store_ids(&store, lineage("run")).unwrap().len(), 10);
    store.shutdown();
    assert!(files(folder.path()) == before);
    let mut reader = look(&path);
    assert_eq!(apply(&mut reader, vec![remove("c1")]).unwrap_err().code(), Code::Unsupported);
    assert_eq!(reader.prune(&prune).unwrap_err().code(), Code::Unsupported);
    assert_eq!(reader.vacuum().unwrap_err().code(), Code::Unsupported);
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_can_be_read() {
    const READ: &str = "FORKPOINT_TEST_READ";
    if let Some(path) = std::env::var_os(READ) {
        let path = std::path::PathBuf::from(path);
        fs::write(path.with_file_name("new"), "").expect_err("this user must not be able to write here");
        if path.is_dir() {
            let mut reader = Jsonl::open(&jsonl::Options { read_only: true, ..jsonl::Options::new(&path) }).unwrap();
            assert_eq!(ids(&mut reader, lineage("run")), ["a"]);
        } else {
            ask(&mut look(&path));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (closed, killed, text) =
        (folder.path().join("closed"), folder.path().join("killed"), folder.path().join("text"));
    for each in [&closed, &killed, &text] {
        fs::create_dir(each).unwrap();
    }
    let writer = fill(&closed.join("a.db"), Journal::Wal);
    left_behind(&closed.join("a.db"), &killed.join("a.db"), &["", "-wal"]);
    drop(writer);
    let mut jsonl = Jsonl::open(&jsonl::Options::new(text.join("a"))).unwrap();
    save(&mut jsonl, [draft("run", "a")]);
    drop(jsonl);
    let other = common::OtherUser::new();
    for path in [closed.join("a.db"), killed.join("a.db"), text.join("a")] {
        let variables = [(READ, path.as_os_str())];
        other.run("read_only::a_read_only_folder_can_be_read", path.parent().unwrap(), &variables);
    }
}
