//! The lock of a folder. All processes that use the folder agree through this lock.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::disk::failed;
use crate::error::{Code, Error, Result};

/// The longest pause between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock file.
#[derive(Debug)]
pub(super) struct Lock {
    file: Arc<File>,
    timeout: Duration,
    /// When the store is being closed, no call waits longer than this.
    deadline: Option<Instant>,
}

/// The lock is held until this value is dropped.
#[derive(Debug)]
pub(super) struct Held(Arc<File>);

impl Drop for Held {
    fn drop(&mut self) {
        // If this fails, the lock is released when the file is closed.
        let _ = self.0.unlock();
    }
}

/// Who else may have the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Other processes that read.
    Shared,
    /// No one.
    Exclusive,
}

impl Lock {
    pub(super) fn new(file: File, timeout: Duration) -> Self {
        Self { file: Arc::new(file), timeout, deadline: None }
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

    /// Takes the lock, if no one else has it.
    pub(super) fn attempt(&self, kind: Kind) -> Result<Option<Held>> {
        let tried = match kind {
            Kind::Shared => self.file.try_lock_shared(),
            Kind::Exclusive => self.file.try_lock(),
        };
        match tried {
            Ok(()) => Ok(Some(Held(Arc::clone(&self.file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error, "the store cannot be locked")),
        }
    }
}
