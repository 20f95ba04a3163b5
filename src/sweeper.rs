//! What a store removes by itself, in the background: after a commit, on the thread that has made it, one batch at a time.
//! A save waits for one batch at most, so what has expired may be removed late.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::backend::Backend;
use crate::retention::{BATCH, Cursor, Policy, Prune, Rule};

/// A sweep begins this long after the end of the last one, or later.
const PAUSE: Duration = Duration::from_secs(1);
/// For each second that sweeping takes, so many pass without.
const REST: u32 = 20;

/// The sweep of a store.
#[derive(Debug)]
pub(crate) struct Sweeper {
    policy: Policy,
    /// What the sweep under way has left to do.
    left: VecDeque<(Rule, Cursor)>,
    /// When the next one may begin.
    due: Option<Instant>,
    /// What the sweep under way has taken.
    spent: Duration,
}

impl Sweeper {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { policy, left: VecDeque::new(), due: None, spent: Duration::ZERO }
    }

    /// After a commit: does one batch if there is something to do.
    pub(crate) fn after_commit(&mut self, backend: &mut dyn Backend) {
        if self.policy.ttl.is_none() && self.policy.max_bytes.is_none() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let begun = Instant::now();
        if self.step(backend, i64::try_from(now).unwrap_or(i64::MAX), begun) {
            self.spent += begun.elapsed();
            if self.left.is_empty() {
                self.due = Some(Instant::now() + PAUSE.max(self.spent * REST));
                self.spent = Duration::ZERO;
            }
        }
    }

    /// Whether there was something to do. `now`: in ms since the epoch.
    fn step(&mut self, backend: &mut dyn Backend, now: i64, at: Instant) -> bool {
        if self.left.is_empty() {
            if self.due.is_some_and(|due| at < due) {
                return false;
            }
            let old = self.policy.ttl.map(|ttl| Rule::SavedBefore(now.saturating_sub(ttl)));
            let large = self.policy.max_bytes.map(Rule::MaxBytes);
            self.left.extend(old.into_iter().chain(large).map(|rule| (rule, Cursor::default())));
        }
        let Some((rule, cursor)) = self.left.pop_front() else { return false };
        // Nobody waits for the outcome; what is wrong with the place is told to the next save, and sweeping begins anew.
        match backend.prune(&Prune { space: None, rule, cursor, most: BATCH }) {
            // What is saved later expires later, but for clocks that were set: the first that have not expired end it.
            Ok(pruned) if matches!(rule, Rule::SavedBefore(_)) && pruned.checkpoints == 0 => {}
            Ok(pruned) => self.left.extend(pruned.next.map(|next| (rule, next))),
            Err(_) => self.left.clear(),
        }
        true
    }
}
