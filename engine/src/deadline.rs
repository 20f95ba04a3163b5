//! The deadline by which the remaining work of a closing store must have its locks.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The deadline of a store that is being closed, or whose process is ending. An open store has none. All remaining work
/// shares the deadline, so that the calls do not each wait for the full timeout in turn.
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

    /// Returns how long a call may wait for a lock: `patience`, or less if the deadline is nearer.
    pub(crate) fn limit(&self, patience: Duration) -> Duration {
        self.get().map_or(patience, |at| patience.min(at.saturating_duration_since(Instant::now())))
    }
}
