//! The sweeper runs retention in the background. After a commit, the sweeper removes one batch of checkpoints on the
//! writer thread. A save waits for at most one batch. Expired checkpoints may be removed late.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::clock_watch::{self, ClockWatch, Times, Verdict};
use crate::error::{Code, Error};
use crate::retention::{BATCH, Cursor, Policy, Prune, Rule};
use crate::warnings::Warnings;

/// The minimum time between the end of a sweep and the beginning of the next sweep.
const PAUSE: Duration = Duration::from_secs(1);
/// The minimum pause after a sweep, as a multiple of the duration of the sweep.
const REST: u32 = 20;
/// The number of consecutive failed sweeps after which the user is warned. Fewer failures may only mean that another
/// process held a lock.
const FAILURES: u32 = 3;

pub(crate) struct Sweeper {
    policy: Policy,
    /// The rules that the current sweep must still apply, and their cursors.
    left: VecDeque<(Rule, Cursor)>,
    /// The earliest time for the next sweep. `None` if the next sweep may begin immediately.
    due: Option<Instant>,
    /// The time that the current sweep has taken so far.
    spent: Duration,
    /// The number of failed sweeps since the last successful one.
    failed: u32,
    /// Says whether the clock of the machine may tell how old a checkpoint is.
    watch: ClockWatch,
    warnings: Arc<Warnings>,
}

impl Sweeper {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            left: VecDeque::new(),
            due: None,
            spent: Duration::ZERO,
            failed: 0,
            watch: ClockWatch::start(),
            warnings: Arc::default(),
        }
    }

    /// The receiver of the sweeper's warnings.
    pub(crate) fn warnings(&self) -> Arc<Warnings> {
        Arc::clone(&self.warnings)
    }

    /// Called after each commit. Removes one batch if there is something to do.
    pub(crate) fn after_commit(&mut self, backend: &mut dyn Backend) {
        let limited = self.policy.ttl.is_some() || self.policy.max_bytes.is_some();
        match backend.sweep() {
            Err(error) => self.fail(error),
            Ok(_) if !limited => self.failed = 0,
            Ok(_) => {}
        }
        if !limited {
            return;
        }
        let begun = Instant::now();
        if self.step(backend, Times::now(), begun) {
            self.spent += begun.elapsed();
            if self.left.is_empty() {
                self.due = Some(Instant::now() + PAUSE.max(self.spent * REST));
                self.spent = Duration::ZERO;
            }
        }
    }

    /// Removes one batch. Returns true if there was a batch to remove.
    fn step(&mut self, backend: &mut dyn Backend, now: Times, at: Instant) -> bool {
        if self.left.is_empty() {
            if self.due.is_some_and(|due| at < due) {
                return false;
            }
            let old = self.policy.ttl.filter(|_| self.believes(now));
            let old = old.map(|ttl| Rule::SavedBefore(now.machine.saturating_sub(ttl)));
            let large = self.policy.max_bytes.map(Rule::MaxBytes);
            self.left.extend(old.into_iter().chain(large).map(|rule| (rule, Cursor::default())));
        }
        let Some((rule, cursor)) = self.left.pop_front() else { return false };
        // No caller waits for the outcome, so the error is not returned. If the storage fails, the next save reports
        // the failure. The next sweep begins again with all rules.
        let pruned = match backend.prune(&Prune { contract: None, rule, cursor, most: BATCH }) {
            Ok(pruned) => pruned,
            Err(error) => {
                self.left.clear();
                self.fail(error);
                return true;
            }
        };
        match rule {
            // Checkpoints that were saved later also expire later, unless a clock was changed. The sweep ends at
            // the first batch without expired checkpoints.
            Rule::SavedBefore(_) if pruned.checkpoints == 0 => {}
            _ => self.left.extend(pruned.next.map(|next| (rule, next))),
        }
        if self.left.is_empty() {
            self.failed = 0;
        }
        true
    }

    /// Returns true if the clock of the machine may tell how old a checkpoint is. Warns if the clock was set.
    fn believes(&mut self, now: Times) -> bool {
        let by = match self.watch.look(now) {
            Verdict::Steady => return true,
            Verdict::Doubtful => return false,
            Verdict::Set(by) => by,
        };
        self.warnings.warn(clock_watch::WARNING, Error::new(Code::Unavailable, clock_watch::warning(by)));
        false
    }

    /// Records that a sweep failed. After several consecutive failures, warns the user once. A further warning is
    /// possible only after a sweep has succeeded. The warning is needed because no caller waits for a sweep.
    fn fail(&mut self, error: Error) {
        self.failed = self.failed.saturating_add(1);
        if self.failed != FAILURES {
            return;
        }
        let what = format!(
            "the last {FAILURES} background sweeps failed, so checkpoints that ttlMs or maxBytes should remove may still be \
             stored. The store tries again after later saves. To try now, call prune(). The last sweep failed with {}",
            error.code().name()
        );
        self.warnings.warn("FORKPOINT_SWEEP_FAILS", error.context(&what));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::error::Result;
    use crate::op::{Applied, Op, Unit};
    use crate::query::{Answer, Query};
    use crate::record::{ContractId, Header, Part};
    use crate::retention::Pruned;

    const TTL: i64 = 1000;

    fn save(backend: &mut Memory, id: usize, saved_at: i64) {
        let header = Header { saved_at, ..Header::new(ContractId(1), "run", id.to_string()) };
        let part = Part { name: String::new(), tag: String::new(), bytes: vec![0; 100].into() };
        backend.apply(&[vec![Op::put(header, vec![part])].into()]).remove(0).unwrap();
    }

    /// The time on both clocks.
    fn times(ms: i64) -> Times {
        Times { machine: ms, since_boot: ms }
    }

    fn sweeper(policy: Policy) -> Sweeper {
        Sweeper { watch: ClockWatch::new(times(0)), ..Sweeper::new(policy) }
    }

    fn left(backend: &mut Memory) -> u64 {
        backend.answer(&Query::Stats { contract: None, largest: 0 }).unwrap().into_stats().unwrap().checkpoints
    }

    #[test]
    fn what_has_expired_goes_batch_by_batch() {
        let (mut backend, begun) = (Memory::new(), Instant::now());
        (0..2 * BATCH + 10).for_each(|id| save(&mut backend, id, 0));
        (0..5).for_each(|id| save(&mut backend, 10_000 + id, 1));
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        let mut seen = Vec::new();
        for _ in 0..5 {
            assert!(sweeper.step(&mut backend, times(TTL + 1), begun));
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
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        sweeper.due = Some(begun + PAUSE);
        assert!(!sweeper.step(&mut backend, times(TTL + 1), begun));
        assert_eq!(left(&mut backend), 1);
        assert!(sweeper.step(&mut backend, times(TTL + 1), begun + PAUSE));
        assert_eq!(left(&mut backend), 0);
    }

    #[test]
    fn bytes_beyond_the_limit_go_until_it_holds() {
        let (mut backend, begun) = (Memory::new(), Instant::now());
        (0..BATCH + 100).for_each(|id| save(&mut backend, id, 0));
        let mut sweeper = sweeper(Policy { max_bytes: Some(1030), ..Policy::default() });
        while sweeper.step(&mut backend, times(0), begun) && !sweeper.left.is_empty() {}
        assert_eq!(left(&mut backend), 9, "104 bytes each");
    }

    /// A backend whose prunes fail if the field is true.
    struct Failing(bool);

    impl Backend for Failing {
        fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
            batch.iter().map(|_| Ok(Applied::default())).collect()
        }

        fn answer(&mut self, _: &Query) -> Result<Answer> {
            Err(Error::closed())
        }

        fn prune(&mut self, _: &Prune) -> Result<Pruned> {
            let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
            if self.0 { Err(Error::new(Code::Full, "no room").with_cause(cause)) } else { Ok(Pruned::default()) }
        }

        fn vacuum(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sweeps_that_keep_failing_warn_once_until_one_succeeds() {
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), max_bytes: Some(1), ..Policy::default() });
        let (sender, warnings) = channel();
        sweeper.warnings().listen(move |warning| sender.send(warning).unwrap());
        // A successful sweep takes one batch of each of the two rules.
        let mut sweeps = |failing: bool, many: usize| {
            for _ in 0..many {
                assert!(sweeper.step(&mut Failing(failing), times(TTL + 1), Instant::now()));
                while !sweeper.left.is_empty() {
                    assert!(sweeper.step(&mut Failing(failing), times(TTL + 1), Instant::now()));
                }
            }
            warnings.try_iter().collect::<Vec<_>>()
        };
        assert_eq!(sweeps(true, 2), []);
        assert_eq!(sweeps(false, 1), [], "what has passed is no trouble");
        assert_eq!(sweeps(true, 2), []);
        let warning = sweeps(true, 1).pop().unwrap();
        assert_eq!(warning.code, "FORKPOINT_SWEEP_FAILS");
        let warning = warning.error;
        assert_eq!((warning.code(), warning.cause().unwrap().code()), (Code::Full, Some("ENOSPC")));
        assert!(warning.message().ends_with("FULL: no room"), "it names the cause: {warning}");
        assert!(warning.message().contains("prune()"), "it says what to do: {warning}");
        assert_eq!(sweeps(true, 10), [], "once");
        assert_eq!(sweeps(false, 1), []);
        assert_eq!(sweeps(true, 3).len(), 1, "a success arms it again");
    }

    #[test]
    fn without_a_limit_nothing_is_asked() {
        let mut sweeper = sweeper(Policy { keep_last: Some(1), ..Policy::default() });
        assert!(!sweeper.step(&mut Memory::new(), times(0), Instant::now()));
    }

    #[test]
    fn a_clock_that_is_set_removes_nothing_for_an_hour() {
        const HOUR: i64 = 3_600_000;
        let mut backend = Memory::new();
        (0..10).for_each(|id| save(&mut backend, id, HOUR));
        let mut sweeper = sweeper(Policy { ttl: Some(24 * HOUR), max_bytes: Some(10 * 104 - 1), ..Policy::default() });
        let (sender, warnings) = channel();
        sweeper.warnings().listen(move |warning| sender.send(warning).unwrap());
        let mut sweep = |machine: i64, since_boot: i64| {
            let now = Times { machine, since_boot };
            while sweeper.step(&mut backend, now, Instant::now()) && !sweeper.left.is_empty() {}
            (
                left(&mut backend),
                warnings.try_iter().map(|warning| warning.error.message().to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(sweep(2 * HOUR, 2 * HOUR), (9, Vec::new()), "one is beyond maxBytes");
        let year = 365 * 24 * HOUR;
        let (kept, told) = sweep(2 * HOUR + year, 2 * HOUR + 1_000);
        assert_eq!((kept, told.len()), (9, 1));
        assert!(told[0].contains("set forward by 365 days") && told[0].contains("prune()"), "{told:?}");
        assert_eq!(sweep(2 * HOUR + year, 2 * HOUR + 2_000), (9, Vec::new()), "it warns once");
        assert_eq!(sweep(2 * HOUR + 3_000, 2 * HOUR + 3_000), (9, Vec::new()), "the clock is back");
        assert_eq!(sweep(2 * HOUR + year, 2 * HOUR + 4_000).1.len(), 1, "another jump");
        assert_eq!(sweep(3 * HOUR + year, 3 * HOUR + 4_000), (0, Vec::new()), "the clock was right");
    }
}
