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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::Memory;
    use crate::op::Op;
    use crate::query::Query;
    use crate::record::{Checkpoint, Header, Part, Payload, Rank, Space};

    const TTL: i64 = 1000;

    fn save(backend: &mut Memory, id: usize, saved_at: i64) {
        let header = Header {
            space: Space(1),
            lineage: "run".to_owned(),
            id: id.to_string(),
            parent: None,
            group: String::new(),
            label: String::new(),
            rank: Rank::default(),
            saved_at,
            age_offset: 0,
            depends_on_parent: false,
            meta: Vec::new(),
        };
        let part = Part { name: String::new(), tag: String::new(), bytes: vec![0; 100].into() };
        let whole = Checkpoint { header, payload: Payload { parts: vec![part] }, logs: Vec::new() };
        backend.apply(&[vec![Op::Put(Box::new(whole.into()))].into()]).remove(0).unwrap();
    }

    fn left(backend: &mut Memory) -> u64 {
        backend.answer(&Query::Stats { space: None, largest: 0 }).unwrap().into_stats().unwrap().checkpoints
    }

    #[test]
    fn what_has_expired_goes_batch_by_batch() {
        let (mut backend, begun) = (Memory::new(), Instant::now());
        (0..2 * BATCH + 10).for_each(|id| save(&mut backend, id, 0));
        (0..5).for_each(|id| save(&mut backend, 10_000 + id, 1));
        let mut sweeper = Sweeper::new(Policy { ttl: Some(TTL), ..Policy::default() });
        let mut seen = Vec::new();
        for _ in 0..5 {
            assert!(sweeper.step(&mut backend, TTL + 1, begun));
            seen.push(left(&mut backend));
            if sweeper.left.is_empty() {
                break;
            }
        }
        assert_eq!(seen[..3], [BATCH as u64 + 15, 15, 5], "older than the ttl, not as old");
        assert!(sweeper.left.is_empty(), "it ends where nothing has expired");
    }

    #[test]
    fn a_sweep_waits_for_its_time() {
        let (mut backend, begun) = (Memory::new(), Instant::now());
        save(&mut backend, 1, 0);
        let mut sweeper = Sweeper::new(Policy { ttl: Some(TTL), ..Policy::default() });
        sweeper.due = Some(begun + PAUSE);
        assert!(!sweeper.step(&mut backend, TTL + 1, begun));
        assert_eq!(left(&mut backend), 1);
        assert!(sweeper.step(&mut backend, TTL + 1, begun + PAUSE));
        assert_eq!(left(&mut backend), 0);
    }

    #[test]
    fn bytes_beyond_the_limit_go_until_it_holds() {
        let (mut backend, begun) = (Memory::new(), Instant::now());
        (0..BATCH + 100).for_each(|id| save(&mut backend, id, 0));
        let mut sweeper = Sweeper::new(Policy { max_bytes: Some(1030), ..Policy::default() });
        while sweeper.step(&mut backend, 0, begun) && !sweeper.left.is_empty() {}
        assert_eq!(left(&mut backend), 9, "104 bytes each");
    }

    #[test]
    fn without_a_limit_nothing_is_asked() {
        let mut sweeper = Sweeper::new(Policy { keep_last: Some(1), ..Policy::default() });
        assert!(!sweeper.step(&mut Memory::new(), 0, Instant::now()));
    }
}
