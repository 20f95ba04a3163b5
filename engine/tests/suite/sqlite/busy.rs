//! Tests locks that another connection holds. The engine waits for the lock. If the wait takes too long, the call fails
//! with BUSY and writes nothing.

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::store::Options;
use rusqlite::Connection;

const SHORT: Duration = Duration::from_millis(30);

fn store(path: &Path, busy_timeout: Duration) -> Store {
    let store = Store::open(&Target::Sqlite(path.to_owned()), Options { busy_timeout, ..Options::default() }).unwrap();
    call(|reply| store.apply(vec![draft("run", "before").put()].into(), reply)).unwrap();
    store
}

fn lock(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

fn assert_busy(error: &Error) {
    assert_eq!((error.code(), error.retryable(), error.outcome_unknown()), (Code::Busy, true, false), "{error}");
    let cause = error.cause().unwrap();
    assert_eq!((cause.code(), cause.number()), (Some("SQLITE_BUSY"), Some(5)));
}

#[test]
fn a_lock_held_too_long_is_busy_and_nothing_is_written() {
    let (_folder, path) = temporary("busy.db");
    let store = store(&path, SHORT);
    let lock = lock(&path);
    for _ in 0..2 {
        let unit = vec![draft("run", "refused").put(), draft("run", "too").put()];
        assert_busy(&call(|reply| store.apply(unit.into(), reply)).unwrap_err());
        // In WAL mode readers do not wait for writers.
        assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["before"]);
        assert_eq!(store_get(&store, "refused").unwrap(), None);
    }
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["before"], "a rejected save does not come later");
    call(|reply| store.apply(vec![draft("run", "refused").put()].into(), reply)).unwrap();
    assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["refused", "before"]);
    store.shutdown();
}

#[test]
fn everyone_in_a_batch_hears_of_the_lock() {
    let (_folder, path) = temporary("busy.db");
    let mut backend = Sqlite::open(&sqlite::Options { busy_timeout: SHORT, ..sqlite::Options::new(&path) }).unwrap();
    let lock = lock(&path);
    let batch = [vec![draft("run", "a").put()], Vec::new(), vec![draft("run", "b").put()]].map(Unit::from);
    let outcomes = forkpoint_engine::backend::Backend::apply(&mut backend, &batch);
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        assert_busy(&outcome.unwrap_err());
    }
    drop(lock);
    assert!(ids(&mut backend, lineage("run")).is_empty());
    save(&mut backend, [draft("run", "a")]);
}

#[test]
fn a_lock_held_for_less_than_the_timeout_is_waited_for() {
    let (_folder, path) = temporary("busy.db");
    let store = store(&path, Duration::from_secs(30));
    let lock = lock(&path);
    let saved = pending(|reply| store.apply(vec![draft("run", "patient").put()].into(), reply));
    // The save cannot finish while the lock is held.
    assert_eq!(saved.recv_timeout(SHORT).unwrap_err(), RecvTimeoutError::Timeout);
    lock.execute_batch("COMMIT").unwrap();
    saved.recv().unwrap().unwrap();
    assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["patient", "before"]);
    store.shutdown();
}

#[test]
fn a_locked_file_is_opened_once_the_lock_is_gone() {
    let (_folder, path) = temporary("busy.db");
    // The file has no tables yet, so opening the store has to write to the file.
    std::fs::write(&path, b"").unwrap();
    let locked = Connection::open(&path).unwrap();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = Sqlite::open(&sqlite::Options { busy_timeout: SHORT, ..sqlite::Options::new(&path) }).unwrap_err();
    assert_busy(&error);
    let open = move || Ok(Box::new(Sqlite::open(&sqlite::Options::new(&path))?) as Box<dyn Backend>);
    let store = Store::with_backend(open, None, Options::default()).unwrap();
    let saved = pending(|reply| store.apply(vec![draft("run", "a").put()].into(), reply));
    assert_eq!(saved.recv_timeout(SHORT).unwrap_err(), RecvTimeoutError::Timeout);
    locked.execute_batch("ROLLBACK").unwrap();
    saved.recv().unwrap().unwrap();
    store.shutdown();
}

#[test]
fn with_a_rollback_journal_a_reader_makes_the_commit_wait() {
    let (_folder, path) = temporary("busy.db");
    let options =
        sqlite::Options { journal: Some(Journal::Rollback), busy_timeout: SHORT, ..sqlite::Options::new(&path) };
    let mut backend = Sqlite::open(&options).unwrap();
    save(&mut backend, [draft("run", "before")]);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = "SELECT count(*) FROM checkpoint";
    assert_eq!(reader.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    assert_busy(&apply(&mut backend, vec![draft("run", "refused").put()]).unwrap_err());
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(get(&mut backend, "refused"), None);
    save(&mut backend, [draft("run", "after")]);
    assert_eq!(
        ids(&mut sqlite(&path, Journal::Rollback, Durability::Full).unwrap(), lineage("run")),
        ["after", "before"]
    );
}
