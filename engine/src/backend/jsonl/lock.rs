//! The lock of a folder, shared by all processes that use the folder.

use std::cell::RefCell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::disk::{FileId, create, failed};
use crate::error::{Code, Error, Result};

/// The maximum pause between two attempts to take the lock.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// True if the file must not be created.
    read_only: bool,
    file: RefCell<Arc<File>>,
    timeout: Duration,
    /// No call waits longer than this. Set when the store is being closed.
    deadline: Option<Instant>,
}

/// A held lock. Dropping this value releases the lock.
#[derive(Debug)]
pub(super) struct Held(Arc<File>);

impl Drop for Held {
    fn drop(&mut self) {
        // If this fails, the lock is released when the file is closed.
        let _ = self.0.unlock();
    }
}

/// The kind of a lock: who else may hold the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Other readers.
    Shared,
    /// Nobody.
    Exclusive,
}

impl Lock {
    /// Opens the lock file. Creates it if it does not exist, unless `read_only`.
    pub(super) fn open(path: PathBuf, read_only: bool, timeout: Duration) -> Result<Self> {
        let file = RefCell::new(Arc::new(open(&path, read_only)?));
        Ok(Self { path, read_only, file, timeout, deadline: None })
    }

    pub(super) fn closing(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Waits for the lock, at most for the busy timeout.
    pub(super) fn wait(&self, kind: Kind) -> Result<Held> {
        let begun = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(held) = self.attempt(kind)? {
                return Ok(held);
            }
            if begun.elapsed() >= self.timeout || self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let message = "another process held the store for longer than the busy timeout: try again";
                return Err(Error::new(Code::Busy, message));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// Takes the lock, if it is free.
    pub(super) fn attempt(&self, kind: Kind) -> Result<Option<Held>> {
        loop {
            let file = Arc::clone(&self.file.borrow());
            let tried = match kind {
                Kind::Shared => file.try_lock_shared(),
                Kind::Exclusive => file.try_lock(),
            };
            let held = match tried {
                Ok(()) => Held(file),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error, "the store cannot be locked")),
            };
            // If the folder was replaced, other processes lock the new file.
            if FileId::at(&self.path) == FileId::of(&held.0) {
                return Ok(Some(held));
            }
            self.file.replace(Arc::new(open(&self.path, self.read_only)?));
        }
    }
}

fn open(path: &Path, read_only: bool) -> Result<File> {
    let open = || OpenOptions::new().read(true).write(!read_only).open(path);
    let opened = match open() {
        Err(error) if error.kind() == ErrorKind::NotFound && !read_only => match create(path) {
            // Another process has created the file in the meantime.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => open(),
            created => created,
        },
        opened => opened,
    };
    opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(Code::NotFound, "there is no Forkpoint folder at this path: check the path"),
        _ => failed(error, "the lock file cannot be opened"),
    })
}
