//! Tests that a connection keeps its locks when another connection of the same process closes. POSIX drops all locks of
//! a process on a file when any descriptor of the file is closed (<https://www.sqlite.org/howtocorrupt.html>, section
//! 2.2).

use std::path::Path;
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;

/// Another process that tries to save.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let path = role();
    let options = Options {
        journal: Some(Journal::Rollback),
        busy_timeout: Duration::from_millis(20),
        ..Options::new(Path::new(&path))
    };
    let mut backend = Sqlite::open(&options).unwrap();
    match apply(&mut backend, vec![draft("run", "intruder").put()]) {
        Ok(_) => say("saved"),
        Err(error) if error.code() == Code::Busy => say("busy"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_transaction_keeps_its_lock_while_the_same_process_opens_the_file_again() {
    let (_folder, path) = temporary("locked.db");
    save(&mut sqlite(&path, Journal::Rollback, Durability::Full).unwrap(), [draft("run", "first")]);
    // Uses the engine's own SQLite library and holds a lock, like an engine connection in the middle of a batch.
    let writing = rusqlite::Connection::open(&path).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE; INSERT INTO write VALUES (1, 1, 'test', '', 0, NULL, 0, x'01')").unwrap();
    let another_try = || {
        let mut process = Process::start(module_path!(), "child", &path);
        let line = process.line();
        process.finish();
        line
    };
    assert_eq!(another_try().as_deref(), Some("busy"));
    let opened = sqlite(&path, Journal::Rollback, Durability::Full).unwrap();
    assert_eq!(another_try().as_deref(), Some("busy"), "the lock was lost when the file was opened again");
    drop(opened);
    assert_eq!(another_try().as_deref(), Some("busy"), "the lock was lost when the other connection was closed");
    writing.execute_batch("COMMIT").unwrap();
    assert_eq!(another_try().as_deref(), Some("saved"));
    drop(writing);
    assert_eq!(common::integrity(&path), "ok");
}
