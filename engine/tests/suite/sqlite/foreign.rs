//! Tests files that somebody has made: their schema has what Forkpoint does not make, or their pages are no tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use rusqlite::Connection;

/// Makes a file with all tables, and changes it by hand.
fn changed(folder: &Path, change: &str) -> PathBuf {
    let path = folder.join("agent.db");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, [draft("run", "a"), draft("run", "b")]);
    apply(&mut backend, vec![append("run", "log", vec![keyed("k", "record")])]).unwrap();
    drop(backend);
    let hand = Connection::open(&path).unwrap();
    hand.execute_batch(change).unwrap_or_else(|error| panic!("{change}: {error}"));
    path
}

/// Opens the file in both ways. Both refuse it with the same error.
fn refusal(path: &Path) -> Error {
    let for_writing = Sqlite::open(&Options::new(path)).expect_err("it should have been refused");
    let for_reading = ReadOnly::open(path, Duration::from_secs(5), 1 << 20).expect_err("it should have been refused");
    assert_eq!(for_writing.message(), for_reading.message());
    assert_eq!(for_writing.code(), for_reading.code());
    for_writing
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names.into_iter().map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn what_forkpoint_does_not_make_is_refused_and_named() {
    for (change, named) in [
        ("CREATE VIEW extra AS SELECT 1", "the view \"extra\""),
        ("CREATE TABLE extra (a)", "the table \"extra\""),
        ("CREATE VIRTUAL TABLE extra USING dbstat", "the table \"extra\""),
        ("CREATE INDEX extra ON write (task)", "the index \"extra\""),
        ("CREATE TRIGGER extra AFTER INSERT ON write BEGIN SELECT 1; END", "the trigger \"extra\""),
        (
            "DROP TABLE checkpoint; CREATE VIEW checkpoint AS WITH RECURSIVE n(seq) AS
             (SELECT 1 UNION ALL SELECT seq + 1 FROM n) SELECT * FROM n",
            "the view \"checkpoint\"",
        ),
        ("DROP TABLE write; CREATE VIRTUAL TABLE write USING dbstat", "the table \"write\""),
        (
            "DROP TABLE write; CREATE TABLE write (num, contract, id, task, body AS (zeroblob(1000000000)))",
            "the table \"write\"",
        ),
        ("DROP INDEX write_id; CREATE INDEX write_id ON write (length(body))", "the index \"write_id\""),
        ("CREATE INDEX checkpoint_order ON checkpoint (id)", "the index \"checkpoint_order\""),
        ("CREATE INDEX checkpoint_meta_00_61 ON write (task)", "\"checkpoint_meta_00_61\""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = changed(folder.path(), change);
        let before = fs::read(&path).unwrap();
        let error = refusal(&path);
        assert_eq!(error.code(), Code::Unsupported, "{change}: {error}");
        assert!(error.message().contains(named) && error.message().contains("backup"), "{change}: {error}");
        assert!(fs::read(&path).unwrap() == before, "{change}: the file changed");
        assert_eq!(names(folder.path()), ["agent.db"], "{change}");
    }
}

#[test]
fn a_schema_is_compared_without_its_comments_and_with_what_sqlite_makes() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(
        folder.path(),
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, '-- of all these', '-- the sum of it''s columns');
         PRAGMA writable_schema = RESET; ANALYZE; DROP INDEX write_id; CREATE INDEX write_id ON write (contract,  id ,task)",
    );
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    assert_eq!(ids(&mut backend, lineage("run")), ["b", "a"]);
    assert_eq!(get(&mut backend, "a"), Some(draft("run", "a").0));
    drop(backend);
    let mut reader = ReadOnly::open(&path, Duration::from_secs(5), 1 << 20).unwrap();
    let reader: &mut dyn Backend = &mut reader;
    assert_eq!(ids(reader, lineage("run")), ["b", "a"]);
}

/// A page of a table whose 200 children are all the same page.
fn interior(size: usize, child: u32) -> Vec<u8> {
    let mut page = vec![0; size];
    page[0] = 5;
    page[3..5].copy_from_slice(&200_u16.to_be_bytes());
    page[5..7].copy_from_slice(&u16::try_from(size - 1_000).unwrap().to_be_bytes());
    page[8..12].copy_from_slice(&child.to_be_bytes());
    for cell in 0..200_u8 {
        let (at, pointer) = (size - 5 * (usize::from(cell) + 1), 12 + 2 * usize::from(cell));
        page[pointer..pointer + 2].copy_from_slice(&u16::try_from(at).unwrap().to_be_bytes());
        page[at..at + 4].copy_from_slice(&child.to_be_bytes());
        page[at + 4] = 1 + cell % 100;
    }
    page
}

#[test]
fn a_scan_of_pages_that_are_no_tree_ends_and_so_do_the_next_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), "");
    let hand = Connection::open(&path).unwrap();
    let number = |sql: &str| hand.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    let root = number("SELECT rootpage FROM sqlite_schema WHERE name = 'checkpoint'");
    let (size, pages) = (number("PRAGMA page_size"), number("PRAGMA page_count"));
    drop(hand);
    let size = usize::try_from(size).unwrap();
    let mut file = fs::read(&path).unwrap();
    let begin = (usize::try_from(root).unwrap() - 1) * size;
    let leaf = file[begin..begin + size].to_vec();
    // A scan of 18 levels takes 200 to the power of 18 steps.
    file[begin..begin + size].copy_from_slice(&interior(size, pages + 1));
    for level in 1..18 {
        file.extend(interior(size, pages + level + 1));
    }
    file.extend(leaf);
    file[28..32].copy_from_slice(&(pages + 18).to_be_bytes());
    fs::write(&path, file).unwrap();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    let stats = stats_query(10);
    for _ in 0..2 {
        let error = backend.answer(&stats).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{error}");
        assert!(error.message().contains("more steps"), "{error}");
    }
    // What needs no scan can be read.
    assert_eq!(try_get(&mut backend, "no such id"), Ok(None));
}

#[test]
fn an_error_about_a_long_text_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), "UPDATE checkpoint SET id = printf('%.*c', 1000000, 'a') WHERE id = 'a'");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    let longest = findings(&mut backend).iter().map(|finding| finding.message.len()).max().unwrap();
    assert!(longest < 40_000, "{longest}");
}
