//! When what is in the write-ahead log goes to the database file.
//!
//! By itself `SQLite` does it in the commit that makes the log longer than 4 MiB. That is the best for a few savers: the log
//! starts again from its beginning each time. Where many wait for one commit they would all wait for the copying, so then a
//! thread of its own copies while the next ones commit, and the log may grow to 64 MiB before a commit has to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

/// So many units in one commit are many savers.
const MANY: usize = 16;
/// Pages in the log at which a commit copies them itself: `SQLite`'s own default, and 64 MiB.
const FEW_PAGES: i64 = 1_000;
const MOST_PAGES: i64 = 16_384;
/// Pages that are not in the file yet at which the thread copies: 8 MiB.
const WORTH_COPYING: i64 = 2_048;

/// Decides after every commit, and owns the thread.
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

    /// To be called when a commit of so many units is done. Whatever fails here is tried again after a later one: it is
    /// nothing that a caller waits for, and nothing is lost.
    pub(super) fn after_commit(&mut self, connection: &Connection, units: usize) {
        let many = units >= MANY;
        if many != self.many {
            let pages = if many { MOST_PAGES } else { FEW_PAGES };
            if connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(())).is_ok() {
                self.many = many;
            }
        }
        if !self.many || self.thread.as_ref().is_some_and(|copier| copier.busy.load(Ordering::Acquire)) {
            return;
        }
        if waiting(connection).is_some_and(|pages| pages >= WORTH_COPYING) {
            self.copy();
        }
    }

    /// Waits until the thread is gone: what has the log to itself must not find it at work.
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
                // It could not open the file, or panicked: the next try gets a new one.
                self.thread = None;
            }
        }
    }
}

/// Pages in the log that are not in the file yet.
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
            // The receiver goes first: whoever could still send to it is followed by the word that nobody is at work.
            let idle = Idle(done);
            let woken = woken;
            let Ok(connection) = super::connection::connect(&path, busy_timeout) else { return };
            if connection.pragma_update(None, "synchronous", synchronous).is_err() {
                return;
            }
            while woken.recv().is_ok() {
                // Passive: it waits for nobody and nobody waits for it. What it leaves, the next one takes.
                let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                idle.0.store(false, Ordering::Release);
            }
        };
        let thread = Builder::new().name("forkpoint-checkpoint".to_owned()).spawn(run)?;
        Ok(Self { wake: Some(wake), busy, thread: Some(thread) })
    }
}

/// However the thread ends, it is not at work any more.
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
            // It has nothing to say.
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
        // The first wake-up may be sent while the thread is still trying; a later one finds it gone.
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
