//! A copy of the storage that another server keeps, and that may lag behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::events::Events;
use crate::query::{Answer, Query};

/// Reads from a copy of the storage. Each thread that reads has its own.
pub(crate) trait Replica: Send {
    /// Answers a query with what the store has saved and seen before, or with something later. Returns `None` if the storage
    /// itself must answer. A failure of the replica is never an error of the query.
    fn look(&mut self, query: &Query) -> Option<Answer>;

    /// Tries whether the replica can be used again. No query waits for this.
    fn try_again(&mut self);
}

/// Makes a replica that tells its warnings.
type Open = dyn Fn(&Arc<Events>) -> Box<dyn Replica>;

/// What the threads of a store need to use a replica.
pub(crate) struct ReplicaOpener {
    pub(crate) health: Arc<Health>,
    /// Makes the replica of one more thread. Nothing is opened yet.
    pub(crate) open: Box<Open>,
}

/// How long a replica that failed is left alone.
pub(crate) const PAUSE: Duration = Duration::from_secs(3);

/// Whether a replica is worth asking. All threads of a store share it.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Good,
    /// It failed, and is left alone until this time.
    Resting(Instant),
    /// A thread tries whether it can be used again.
    Trying,
}

/// What to do with a query that a replica may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Ask,
    Skip,
    /// Do not ask the replica, but let its thread try whether it can be used again.
    SkipAndTry,
}

impl Health {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer is [`Turn::SkipAndTry`] once after each pause.
    pub(crate) fn turn(&self) -> Turn {
        let mut state = self.state();
        match *state {
            State::Good => Turn::Ask,
            State::Resting(until) if Instant::now() >= until => {
                *state = State::Trying;
                Turn::SkipAndTry
            }
            State::Resting(_) | State::Trying => Turn::Skip,
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        matches!(*self.state(), State::Good)
    }

    pub(crate) fn works(&self) {
        *self.state() = State::Good;
    }

    pub(crate) fn fails(&self) {
        *self.state() = State::Resting(Instant::now() + PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_failed_is_tried_once_after_a_pause() {
        let health = Health::default();
        assert_eq!(health.turn(), Turn::Ask);
        health.fails();
        assert!(!health.is_good());
        assert_eq!(health.turn(), Turn::Skip);
        *health.state() = State::Resting(Instant::now());
        assert_eq!([health.turn(), health.turn()], [Turn::SkipAndTry, Turn::Skip]);
        health.works();
        assert_eq!(health.turn(), Turn::Ask);
    }
}
