//! Decides when the pages of the write-ahead log (WAL) are copied to the database file.
//!
//! By default, the commit that makes the WAL longer than 4 MiB copies the pages. This is best for small batches,
//! because the WAL then restarts from its beginning each time. With large batches, many callers would wait for the
//! copying. So a separate thread copies the pages while later batches commit. The WAL may then grow to 64 MiB before a
//! commit copies the pages.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::options::Journal;
use super::{locks, vfs};

/// A commit with at least this many units counts as a large batch.
const MANY: usize = 16;
/// The length of the WAL, in pages, at which a commit of a small batch copies the pages itself. This is the default of
/// `SQLite`.
const FEW_PAGES: i64 = 1_000;
/// The length of the WAL, in pages, at which a commit of a large batch copies the pages itself: 64 MiB.
const MOST_PAGES: i64 = 16_384;
/// The number of uncopied WAL pages at which the separate thread copies them: 8 MiB.
const WORTH_COPYING: i64 = 2_048;

/// Decides after each commit whether the WAL is copied now. Owns the thread that copies the WAL.
#[derive(Debug)]
pub(super) struct Checkpointer {
    path: PathBuf,
    synchronous: &'static str,
    busy_timeout: Duration,
    many: bool,
    thread: Option<Copier>,
}

#[derive(Debug)]
struct Copier {
    wake: Option<Sender<()>>,
    busy: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn new(path: PathBuf, synchronous: &'static str, busy_timeout: Duration) -> Self {
        Self { path, synchronous, busy_timeout, many: false, thread: None }
    }

    /// Must be called after each commit, with the number of units in the commit. Errors are ignored: no data are lost,
    /// no caller waits for the copying, and a later commit tries again.
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

    /// Lets the thread copy the pages if there are enough of them.
    pub(super) fn copy_when_due(&mut self, connection: &Connection) {
        if !self.many || self.thread.as_ref().is_some_and(|copier| copier.busy.load(Ordering::Acquire)) {
            return;
        }
        if waiting(connection).is_some_and(|pages| pages >= WORTH_COPYING) {
            self.copy();
        }
    }

    /// Stops the thread and waits until it has ended. `VACUUM` calls this because it needs the database for itself.
    pub(super) fn stop(&mut self) {
        self.thread = None;
    }

    fn copy(&mut self) {
        if self.thread.is_none() {
            self.thread = Copier::start(self.path.clone(), self.synchronous, self.busy_timeout).ok();
        }
        if let Some(Copier { wake: Some(wake), busy, .. }) = &self.thread {
            busy.store(true, Ordering::Release);
            if wake.send(()).is_err() {
                // The thread has ended, because it could not open the file or because it panicked. The next call
                // starts a new thread.
                self.thread = None;
            }
        }
    }
}

/// Returns the number of WAL pages that are not in the database file yet. Returns `None` if the pragma fails.
fn waiting(connection: &Connection) -> Option<i64> {
    connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
        .and_then(|mut statement| {
            statement.query_row([], |row| Ok(row.get::<_, i64>("log")? - row.get::<_, i64>("checkpointed")?))
        })
        .ok()
}

impl Copier {
    fn start(path: PathBuf, synchronous: &'static str, busy_timeout: Duration) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::channel::<()>();
        let busy = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&busy);
        let run = move || {
            // `woken` is declared after `idle`, so the receiver `woken` is dropped first. So no wake-up can be sent
            // after `idle` has cleared the busy flag for the last time.
            let idle = Idle(done);
            let woken = woken;
            let connect = || super::connection::connect(&path, busy_timeout);
            let Ok(connection) = vfs::within(busy_timeout, connect) else { return };
            if connection.pragma_update(None, "synchronous", synchronous).is_err() {
                return;
            }
            while woken.recv().is_ok() {
                // A passive checkpoint neither waits for other connections nor blocks them. Pages that this checkpoint
                // cannot copy are copied by the next checkpoint.
                let checkpoint = || connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                let _ = vfs::within(busy_timeout, checkpoint);
                locks::release(&connection, Journal::Wal);
                idle.0.store(false, Ordering::Release);
            }
        };
        let thread = Builder::new().name("forkpoint-checkpoint".to_owned()).spawn(run)?;
        Ok(Self { wake: Some(wake), busy, thread: Some(thread) })
    }
}

/// Clears the busy flag when the thread ends, also if the thread ends with an error or a panic.
struct Idle(Arc<AtomicBool>);

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing, and a panic of the thread is ignored.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_open_the_file_is_replaced() {
        let missing = PathBuf::from("no such folder/no such file.db");
        let mut checkpointer = Checkpointer::new(missing, "FULL", Duration::ZERO);
        // The first wake-up may be sent before the thread has failed to open the file. A later wake-up fails, because
        // the thread has then ended.
        for _ in 0..10_000 {
            checkpointer.copy();
            let Some(copier) = &checkpointer.thread else { return };
            while copier.busy.load(Ordering::Acquire)
                && copier.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            {
                std::thread::yield_now();
            }
            assert!(!copier.busy.load(Ordering::Acquire), "nobody is at work, and nobody would ever be again");
        }
        unreachable!("the thread is never found gone");
    }
}
