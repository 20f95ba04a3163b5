//! The time by which all remaining work of a store must have its locks.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The deadline of a store that is being closed, or whose process is ending. Until then there is no deadline. All work of
/// the store shares the deadline, so that several calls do not wait for the same lock one after the other.
#[derive(Debug, Default)]
pub(crate) struct Deadline(OnceLock<Instant>);

impl Deadline {
    /// Sets the deadline, if there is none yet.
    pub(crate) fn set(&self, at: Instant) {
        // The first deadline stays.
        let _ = self.0.set(at);
    }

    pub(crate) fn get(&self) -> Option<Instant> {
        self.0.get().copied()
    }

    /// How long a call may wait for a lock that has this patience without a deadline.
    pub(crate) fn limit(&self, patience: Duration) -> Duration {
        self.get().map_or(patience, |at| patience.min(at.saturating_duration_since(Instant::now())))
    }
}
