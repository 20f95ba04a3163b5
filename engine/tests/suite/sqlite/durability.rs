//! Tests the `SQLite` settings of each durability and the version of `SQLite`.

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;

#[test]
fn each_durability_sets_its_level_of_the_pragma_synchronous() {
    // https://www.sqlite.org/pragma.html#pragma_synchronous: OFF 0, NORMAL 1, FULL 2, EXTRA 3.
    let levels = [
        (Journal::Wal, Durability::Full, "wal", "2"),
        (Journal::Wal, Durability::Normal, "wal", "1"),
        (Journal::Wal, Durability::Off, "wal", "0"),
        (Journal::Rollback, Durability::Full, "delete", "3"),
        (Journal::Rollback, Durability::Normal, "delete", "1"),
        (Journal::Rollback, Durability::Off, "delete", "0"),
    ];
    for (journal, durability, mode, synchronous) in levels {
        let (_folder, path) = temporary("levels.db");
        // The first round creates the file. The second round opens the existing file.
        for _ in 0..2 {
            let mut backend = sqlite(&path, journal, durability).unwrap();
            assert_eq!(backend.journal(), journal);
            assert_eq!(backend.pragma("journal_mode").unwrap(), mode);
            assert_eq!(backend.pragma("synchronous").unwrap(), synchronous, "{journal:?} {durability:?}");
            // If a page is mapped into memory, it can change during a read when another process truncates the file.
            assert_eq!(backend.pragma("mmap_size").unwrap(), "0");
            save(&mut backend, [draft("run", "a")]);
        }
    }
}

#[test]
fn the_defaults_are_full_and_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(folder.path().join("defaults.db"));
    assert_eq!((options.durability, options.journal), (Durability::Full, None));
    assert_eq!(options.busy_timeout.as_secs(), 30);
    let backend = Sqlite::open(&options).unwrap();
    assert_eq!(backend.pragma("synchronous").unwrap(), "2");
    assert_eq!(backend.pragma("journal_mode").unwrap(), "wal");
    assert_eq!(backend.pragma("busy_timeout").unwrap(), "30000");
}

#[test]
fn a_file_changes_its_journal_when_it_is_asked_to() {
    let (_folder, path) = temporary("changing.db");
    for (n, journal) in [Journal::Wal, Journal::Rollback, Journal::Rollback, Journal::Wal].into_iter().enumerate() {
        let mut backend = sqlite(&path, journal, Durability::Full).unwrap();
        assert_eq!(backend.pragma("journal_mode").unwrap(), if journal == Journal::Wal { "wal" } else { "delete" });
        save(&mut backend, [draft("run", &n.to_string())]);
        for earlier in 0..=n {
            assert!(get(&mut backend, &earlier.to_string()).is_some(), "{earlier} after {n}");
        }
    }
    assert_eq!(common::integrity(&path), "ok");
}

#[test]
fn this_sqlite_has_no_wal_reset_bug() {
    // SQLite 3.7.0 to 3.51.2 can lose commits if two connections checkpoint the write-ahead log at the same time.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}
