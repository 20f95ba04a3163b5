//! Tests which files of newer formats a release uses, and that nothing upgrades a file by itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::file::{contents, refused_and_unchanged, set_tables};
use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::backend::sqlite::restore::restore;
use forkpoint_engine::store::Migrate;
use rusqlite::Connection;

/// A file as a release of a made-up next format leaves it: with a column, a table and an index that this release does not know.
fn of_next_format(path: &Path, oldest_reader: i64, oldest_writer: i64) {
    save(&mut Sqlite::open(&Options::new(path)).unwrap(), [draft("run", "a")]);
    upgrade(path, oldest_reader, oldest_writer);
}

fn upgrade(path: &Path, oldest_reader: i64, oldest_writer: i64) {
    let newer = Connection::open(path).unwrap();
    newer
        .execute_batch(
            "BEGIN;
             ALTER TABLE lineage ADD COLUMN owner TEXT;
             ALTER TABLE checkpoint ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
             CREATE TABLE owner (name TEXT, lin INTEGER, PRIMARY KEY (name, lin)) STRICT, WITHOUT ROWID;
             CREATE INDEX lineage_owner ON lineage (owner, lin);
             CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;",
        )
        .unwrap();
    for (name, number) in [("oldest_reader", oldest_reader), ("oldest_writer", oldest_writer)] {
        let value = number.to_le_bytes().to_vec();
        // Text and bytes, as docs/internals/format.md describes the input of a checksum.
        let mut input = vec![2, u8::try_from(name.len()).unwrap()];
        input.extend(name.bytes().chain([3, 8]).chain(value.clone()));
        let sum = xxhash_rust::xxh3::xxh3_64(&input).to_le_bytes();
        let value = [value, sum.to_vec()].concat();
        newer.execute("INSERT INTO setting VALUES (?, ?)", rusqlite::params![name, value]).unwrap();
    }
    set_tables(&newer, 2);
    newer.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_newer_format_says_which_releases_may_use_it() {
    let read = |path: &Path| {
        let mut reader = ReadOnly::open(path, Duration::ZERO, 0)?;
        Ok::<_, Error>(common::try_get(&mut reader, "a").unwrap().unwrap().header.lineage)
    };
    for (oldest_reader, oldest_writer) in [(2, 2), (2, 1), (1, 2), (1, 1)] {
        let (_folder, path) = temporary("newer.db");
        of_next_format(&path, oldest_reader, oldest_writer);
        if oldest_reader == 2 {
            assert_eq!(read(&path).unwrap_err().code(), Code::Unsupported);
        } else {
            assert_eq!(read(&path).unwrap(), "run");
        }
        if oldest_reader == 2 || oldest_writer == 2 {
            refused_and_unchanged(&path, &path, Code::Unsupported);
            continue;
        }
        let mut writer = Sqlite::open(&Options { migrate: Migrate::Auto, ..Options::new(&path) }).unwrap();
        save(&mut writer, [draft("run", "b"), draft("other", "c")]);
        assert_eq!(common::findings(&mut writer), []);
        drop(writer);
        let file = Connection::open(&path).unwrap();
        let stored: i32 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(stored & 0xff, 2, "it keeps its format");
        let owned = "SELECT count(*) FROM lineage WHERE owner IS NULL";
        assert_eq!(file.query_row(owned, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    }
}

#[test]
fn a_store_that_was_open_during_an_upgrade_reads_on_but_does_not_write_against_it() {
    for oldest_writer in [1, 2] {
        let (_folder, path) = temporary("upgraded.db");
        let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
        save(&mut backend, [draft("run", "a")]);
        upgrade(&path, 1, oldest_writer);
        let saved = common::apply(&mut backend, vec![draft("run", "b").put()]);
        assert!(common::try_get(&mut backend, "a").unwrap().is_some());
        if oldest_writer == 1 {
            saved.unwrap();
            continue;
        }
        let error = saved.unwrap_err();
        assert_eq!((error.code(), error.retryable()), (Code::Unsupported, false), "{error}");
        assert!(error.message().contains("format 2"), "{error}");
        assert_eq!(backend.prune(&common::batch(Rule::SavedBefore(1), 10)).unwrap_err().code(), Code::Unsupported);
    }
}

#[test]
fn a_backup_of_a_format_that_this_release_may_not_write_is_not_restored() {
    let folder = tempfile::tempdir().unwrap();
    let [backup, path] = ["backup.db", "agent.db"].map(|name| folder.path().join(name));
    of_next_format(&backup, 1, 2);
    save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "kept")]);
    let error = restore(&backup, &Options::new(&path), &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), Code::Unsupported, "{error}");
    assert!(common::try_get(&mut Sqlite::open(&Options::new(&path)).unwrap(), "kept").unwrap().is_some());
}

#[test]
fn a_newer_format_must_not_run_anything() {
    for statement in [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON checkpoint BEGIN SELECT 1; END",
        "ALTER TABLE lineage ADD COLUMN more TEXT AS (hex(zeroblob(100)))",
        "CREATE INDEX more ON lineage (hex(name))",
    ] {
        let (_folder, path) = temporary("newer.db");
        of_next_format(&path, 1, 1);
        Connection::open(&path).unwrap().execute_batch(statement).unwrap();
        refused_and_unchanged(&path, &path, Code::Unsupported);
        assert_eq!(ReadOnly::open(&path, Duration::ZERO, 0).unwrap_err().code(), Code::Unsupported, "{statement}");
    }
}

#[test]
fn a_database_that_must_not_be_made_is_not_found() {
    let (folder, path) = temporary("agent.db");
    let never = Options { migrate: Migrate::Never, ..Options::new(&path) };
    assert_eq!(Sqlite::open(&never).unwrap_err().code(), Code::NotFound);
    assert_eq!(contents(folder.path()).len(), 0);
    fs::write(&path, "").unwrap();
    assert_eq!(Sqlite::open(&never).unwrap_err().code(), Code::NotFound);
    assert_eq!(contents(folder.path()), BTreeMap::from([("agent.db".to_owned(), Vec::new())]));
    save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "a")]);
    save(&mut Sqlite::open(&never).unwrap(), [draft("run", "b")]);
}
