//! Decides when pages of the write-ahead log (WAL) are copied to the database file.
//!
//! By default, the commit that makes the WAL longer than 4 MiB copies the pages. This is best for small batches,
//! because the WAL then restarts from its beginning each time. With large batches, many callers would wait for this. A
//! separate thread then copies the pages while later batches commit, and the WAL may grow to 64 MiB before a commit
//! copies the pages.

use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, Row};

use super::connection::connect;
use super::options::Journal;
use super::statement::one;
use super::watch::{Files, Watch, files_at};
use super::{locks, vfs};
use crate::error::Result;

/// A commit with at least this many units counts as a large batch.
const MANY: usize = 16;
/// The length of the WAL, in pages, at which a commit of a small batch copies the pages itself. The default of
/// `SQLite`.
const FEW_PAGES: i64 = 1_000;
/// The length of the WAL, in pages, at which a commit of a large batch copies the pages itself: 64 MiB.
const MOST_PAGES: i64 = 16_384;
/// The number of uncopied WAL pages at which the separate thread copies them: 8 MiB.
const WORTH_COPYING: i64 = 2_048;

/// Decides after each commit whether to copy the WAL now. Owns the thread that copies it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    path: PathBuf,
    files: Files,
    synchronous: &'static str,
    busy_timeout: Duration,
    many: bool,
    /// The thread of the last copy.
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn new(watch: &Watch, synchronous: &'static str, busy_timeout: Duration) -> Self {
        let (path, files) = (watch.path().to_owned(), watch.files());
        Self { path, files, synchronous, busy_timeout, many: false, thread: None }
    }

    /// Must be called after each commit, with its number of units. Ignores errors: no data are lost, no caller waits
    /// for the copying, and a later commit tries again.
    pub(super) fn after_commit(&mut self, connection: &Connection, units: usize) {
        let many = units >= MANY;
        if many != self.many {
            let pages = if many { MOST_PAGES } else { FEW_PAGES };
            if connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(())).is_ok() {
                self.many = many;
            }
        }
        self.copy_when_due(connection);
    }

    /// Starts a thread that copies the pages, if there are enough and no thread is copying.
    pub(super) fn copy_when_due(&mut self, connection: &Connection) {
        let is_busy = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if self.many && !is_busy && waiting(connection).is_some_and(|pages| pages >= WORTH_COPYING) {
            let (path, files) = (self.path.clone(), self.files);
            let (synchronous, busy_timeout) = (self.synchronous, self.busy_timeout);
            let copy = move || drop(vfs::within(busy_timeout, || copy(&path, files, synchronous, busy_timeout)));
            self.thread = Builder::new().name("forkpoint-checkpoint".to_owned()).spawn(copy).ok();
        }
    }

    /// Waits until the thread has ended. Called by `VACUUM`, which needs exclusive use of the database.
    pub(super) fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Ignore the result: the thread returns nothing, and its panic is harmless.
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn copy(path: &Path, files: Files, synchronous: &str, busy_timeout: Duration) -> Result<()> {
    // The connection reads no payloads.
    let connection = connect(path, busy_timeout, 0)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Open the log. If a file was replaced, the next commit of the store reports it.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    if files_at(path, Journal::Wal) != files {
        return Ok(());
    }
    // A passive checkpoint neither waits for other connections nor blocks them. The next checkpoint copies the
    // remaining pages.
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    locks::release(&connection, Journal::Wal);
    Ok(copied?)
}

/// Returns the number of WAL pages that are not in the database file yet. Returns `None` if the pragma fails.
fn waiting(connection: &Connection) -> Option<i64> {
    let read = |row: &Row<'_>| Ok(row.get::<_, i64>("log")? - row.get::<_, i64>("checkpointed")?);
    one(connection, "PRAGMA wal_checkpoint(NOOP)", [], read).ok().flatten()
}
