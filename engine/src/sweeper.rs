//! The sweeper runs retention in the background, in batches, within a limited share of the time. Expired checkpoints
//! may be removed late.
//!
//! If a storage has one writer at a time, the writer thread sweeps between commits, and a save waits for at most one
//! batch. On a server, a separate thread sweeps over its own connection, and no save waits: see [`Sweeps`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::backend::{Backend, Lazy};
use crate::clock_watch::{self, ClockWatch, Times, Verdict};
use crate::error::{Code, Error, Result};
use crate::events::{Event, Events, Swept};
use crate::record::Seq;
use crate::retention::{BATCH, Cursor, Policy, Prune, Pruned, Rule};
use crate::worker::{Task, Worker};

/// The minimum time between the end of a sweep and the beginning of the next sweep.
const PAUSE: Duration = Duration::from_secs(1);
/// The next sweep begins after this time even if nothing was saved.
const LONG_PAUSE: Duration = Duration::from_secs(60);
/// The minimum pause after a sweep, as a multiple of the duration of its last batch, which found nothing to remove.
const REST: u32 = 20;
/// A sweep looks again at checkpoints that stay for their runs after this pause, as a multiple of the time that looking
/// takes. The sweeps in between begin behind them.
const LOOK_AGAIN: u32 = 50;
/// The time for which a sweeper pauses after it has found that another sweeper works on the same storage.
const AWAY: Duration = Duration::from_secs(15);
/// The size of batches. It is adjusted so that a batch takes about `time`.
struct Batches {
    time: Duration,
    least: usize,
    most: usize,
}

/// On the writer thread: every save waits for a batch.
const HERE: Batches = Batches { time: Duration::from_millis(20), least: 50, most: 8 * BATCH };
/// On a separate thread: only saves to the runs of a batch wait. Small batches are not faster, because of round trips.
const APART: Batches = Batches { time: Duration::from_millis(80), least: BATCH, most: 8 * BATCH };

/// The number of removed checkpoints after which the backend checks whether to reclaim their space.
const RECLAIMED: u64 = 10_000;

/// The number of consecutive failed sweeps after which the user is warned. A single failure may only mean that another
/// process held a lock.
const FAILURES: u32 = 3;

pub(crate) struct Sweeper {
    policy: Policy,
    /// The rules that the current sweep must still apply, and their cursors.
    left: VecDeque<(Rule, Cursor)>,
    /// The earliest time for the next batch. `None` if it may begin immediately.
    due: Option<Instant>,
    /// The time at which the next sweep begins even if nothing was saved.
    due_anyway: Option<Instant>,
    /// True if something was saved since the last sweep began.
    saved: Arc<AtomicBool>,
    /// The maximum number of checkpoints of the next batch.
    most: usize,
    batches: &'static Batches,
    /// Identifies this sweeper among the sweepers of the storage.
    worker: i64,
    /// The beginning of the store that sweeps by age skip.
    stays: Stays,
    /// The start of the current sweep, and its results so far.
    begun: Instant,
    done: Swept,
    /// The number of checkpoints that were removed since the last call of `reclaim`.
    removed: u64,
    /// The number of failed sweeps since the last successful one.
    failed: u32,
    /// Checks that the machine's clock is reliable.
    watch: ClockWatch,
    events: Arc<Events>,
}

/// The beginning of the store that a sweep by age has found full of checkpoints that stay: those of runs that wait for
/// a person, which may be many.
#[derive(Default)]
struct Stays {
    /// The last save number of the beginning.
    to: Seq,
    /// The time that it takes to look at them.
    took: Duration,
    /// The time at which a sweep looks at them again.
    again: Option<Instant>,
}

impl Stays {
    /// Returns where a sweep by age begins.
    fn begin(&mut self) -> Cursor {
        if self.again.is_none_or(|again| again <= Instant::now()) {
            *self = Self::default();
        }
        Cursor { after: self.to, total: None }
    }

    /// Adds a batch that began at `from`.
    fn add(&mut self, from: Cursor, batch: &Pruned, took: Duration) {
        if let (true, true, Some(next)) = (batch.all_stay, from.after == self.to, batch.next) {
            (self.to, self.took) = (next.after, self.took + took);
            self.again = Some(Instant::now() + self.took * LOOK_AGAIN);
        }
    }
}

impl Sweeper {
    pub(crate) fn new(policy: Policy) -> Self {
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        Self {
            policy,
            left: VecDeque::new(),
            due: None,
            due_anyway: Some(Instant::now() + LONG_PAUSE),
            saved: Arc::default(),
            most: BATCH,
            batches: &HERE,
            worker: random.cast_signed(),
            stays: Stays::default(),
            begun: Instant::now(),
            done: Swept::default(),
            removed: 0,
            failed: 0,
            watch: ClockWatch::start(),
            events: Arc::default(),
        }
    }

    /// The receiver of the sweeper's events.
    pub(crate) fn events(&self) -> Arc<Events> {
        Arc::clone(&self.events)
    }

    /// Returns true if there is a limit to apply in the background.
    pub(crate) fn is_limited(&self) -> bool {
        self.policy.ttl.is_some() || self.policy.max_bytes.is_some()
    }

    /// Called after each commit, on the writer thread. Removes one batch if it is time.
    pub(crate) fn after_commit(&mut self, backend: &mut dyn Backend) {
        let limited = self.is_limited();
        match backend.sweep() {
            Err(error) => self.fail(error),
            Ok(_) if !limited => self.failed = 0,
            Ok(_) => {}
        }
        if limited {
            self.saved.store(true, Ordering::Relaxed);
            self.turn(backend);
        }
    }

    /// Removes one batch if it is time. Returns the time until the next turn, or `None` if there is no limit to apply.
    pub(crate) fn turn(&mut self, backend: &mut dyn Backend) -> Option<Duration> {
        if !self.is_limited() {
            return None;
        }
        let now = Instant::now();
        if let Some(wait) = self.waits(now) {
            return Some(wait);
        }
        match backend.may_sweep(self.worker) {
            Ok(true) => self.step(backend, Times::now()),
            Ok(false) => {
                self.left.clear();
                self.due = Some(now + AWAY);
            }
            Err(error) => {
                self.left.clear();
                self.fail(error);
                self.due = Some(now + PAUSE);
            }
        }
        Some(self.waits(Instant::now()).unwrap_or_default())
    }

    /// Returns the time until the next batch may begin. `None`: it may begin now.
    fn waits(&self, now: Instant) -> Option<Duration> {
        let until =
            |due: Option<Instant>| due.map(|due| due.saturating_duration_since(now)).filter(|wait| !wait.is_zero());
        let idle = self.left.is_empty() && !self.saved.load(Ordering::Relaxed);
        until(self.due).or_else(|| if idle { until(self.due_anyway) } else { None })
    }

    /// Removes one batch. Begins a sweep if none is running.
    fn step(&mut self, backend: &mut dyn Backend, now: Times) {
        let begun = Instant::now();
        if self.left.is_empty() {
            self.saved.store(false, Ordering::Relaxed);
            (self.begun, self.done) = (begun, Swept::default());
            let before = |ttl| now.machine.saturating_sub(ttl);
            if let Some(ttl) = self.policy.ttl.filter(|_| self.believes(now)) {
                self.left.push_back((Rule::SavedBefore(before(ttl)), self.stays.begin()));
                let waiting = self.policy.waiting_ttl.map(|ttl| Rule::AllSavedBefore(before(ttl)));
                self.left.extend(waiting.map(|rule| (rule, Cursor::default())));
            }
            self.left.extend(self.policy.max_bytes.map(|most| (Rule::MaxBytes(most), Cursor::default())));
        }
        let pruned = self.batch(backend);
        let took = begun.elapsed();
        self.done.worked += took;
        let pause = if self.left.is_empty() { self.end(pruned.is_ok(), took) } else { self.policy.pause_after(took) };
        match pruned {
            Ok(removed) if removed == self.most && took < self.batches.time / 2 => {
                self.most = (2 * self.most).min(self.batches.most);
            }
            Ok(_) if took > 2 * self.batches.time => self.most = (self.most / 2).max(self.batches.least),
            Ok(_) => {}
            // No caller waits for the outcome, so the error is not returned. If the storage fails, the next save
            // reports it. The next sweep applies all rules again.
            Err(error) => self.fail(error),
        }
        // The server does this work on its own, so it is not counted as sweeping time.
        if self.removed >= RECLAIMED {
            self.removed = 0;
            backend.reclaim().unwrap_or_else(|error| self.fail(error));
        }
        self.due = Some(Instant::now() + pause);
    }

    /// Removes one batch of the first rule. Returns the number of removed checkpoints.
    fn batch(&mut self, backend: &mut dyn Backend) -> Result<usize> {
        let Some((rule, cursor)) = self.left.pop_front() else { return Ok(0) };
        let begun = Instant::now();
        let pruned = backend.prune(&Prune { contract: None, rule, cursor, most: self.most });
        let pruned = pruned.inspect_err(|_| self.left.clear())?;
        self.done.checkpoints += pruned.checkpoints;
        self.done.bytes += pruned.bytes;
        self.done.lineages += pruned.lineages;
        if let Rule::SavedBefore(_) = rule {
            self.stays.add(cursor, &pruned, begun.elapsed());
        }
        match rule {
            // Checkpoints that were saved later also expire later, unless a clock was changed. The sweep ends at the
            // first batch without expired checkpoints. A batch that met only expired checkpoints that stay, because their
            // runs are leased or wait, does not end it.
            Rule::SavedBefore(_) | Rule::AllSavedBefore(_) if !pruned.met => {}
            _ => self.left.extend(pruned.next.map(|next| (rule, next))),
        }
        self.removed += pruned.checkpoints;
        Ok(usize::try_from(pruned.checkpoints).unwrap_or(usize::MAX))
    }

    /// Ends a sweep. `took` is the duration of its last batch. Returns the pause after the sweep.
    fn end(&mut self, succeeded: bool, took: Duration) -> Duration {
        if succeeded {
            self.failed = 0;
        }
        if self.done.checkpoints > 0 {
            self.events.tell(Event::Swept(Swept { took: self.begun.elapsed(), ..self.done }));
        }
        self.due_anyway = Some(Instant::now() + LONG_PAUSE);
        PAUSE.max(took * REST)
    }

    /// Returns true if the machine's clock is reliable. Warns if the clock was set.
    fn believes(&mut self, now: Times) -> bool {
        let by = match self.watch.look(now) {
            Verdict::Steady => return true,
            Verdict::Doubtful => return false,
            Verdict::Set(by) => by,
        };
        self.events.warn(clock_watch::WARNING, Error::new(Code::Unavailable, clock_watch::warning(by)));
        false
    }

    /// Counts a failed sweep. After several consecutive failures, warns the user once, because no caller waits for a
    /// sweep. Warns again only after a sweep has succeeded.
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
        self.events.warn("FORKPOINT_SWEEP_FAILS", error.context(&what));
    }
}

/// The thread on which retention runs.
pub(crate) enum Sweeps {
    /// The writer thread.
    Here(Box<Sweeper>),
    /// A separate thread. A message to it says that something was saved since the last sweep began.
    Apart { worker: Worker<()>, saved: Arc<AtomicBool> },
}

impl Sweeps {
    /// Starts a thread that sweeps with `backend`.
    pub(crate) fn apart(sweeper: Sweeper, backend: Lazy) -> Result<Self> {
        let saved = Arc::clone(&sweeper.saved);
        let sweeper = Sweeper { batches: &APART, ..sweeper };
        Ok(Self::Apart { worker: Worker::start("forkpoint-sweeper", Apart { sweeper, backend })?, saved })
    }

    /// Called after each commit, on the writer thread.
    pub(crate) fn after_commit(&mut self, backend: &mut dyn Backend) {
        match self {
            Self::Here(sweeper) => sweeper.after_commit(backend),
            Self::Apart { worker, saved } => {
                if !saved.swap(true, Ordering::Relaxed) {
                    // The worker has not ended: only the writer thread ends it.
                    let _ = worker.push(());
                }
            }
        }
    }

    /// Called while the writer thread is idle. Returns the time until the next call, or `None` if none is needed.
    pub(crate) fn rest(&mut self, backend: &mut dyn Backend) -> Option<Duration> {
        match self {
            Self::Here(sweeper) => sweeper.turn(backend),
            Self::Apart { .. } => None,
        }
    }

    /// Ends the thread. Waits for at most one batch.
    pub(crate) fn close(&self) {
        if let Self::Apart { worker, .. } = self {
            worker.join();
        }
    }
}

struct Apart {
    sweeper: Sweeper,
    backend: Lazy,
}

impl Drop for Apart {
    fn drop(&mut self) {
        // After an error, other sweepers wait for half a minute.
        if let Some(backend) = self.backend.opened() {
            let _ = backend.end_sweeps(self.sweeper.worker);
        }
    }
}

impl Task<()> for Apart {
    fn work(&mut self, _: Vec<()>) {}

    fn rest(&mut self, _: &dyn Fn() -> bool) -> Option<Duration> {
        match self.backend.get() {
            Ok(backend) => self.sweeper.turn(&mut **backend),
            Err(error) => {
                self.sweeper.fail(error);
                Some(PAUSE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::events::Warning;
    use crate::op::{Applied, Op, Unit};
    use crate::query::{Answer, Query};
    use crate::record::{ContractId, Header, Part, Status};
    use crate::retention::{LEASES, Owned};

    const TTL: i64 = 1000;

    fn warning(event: Event) -> Warning {
        match event {
            Event::Warning(warning) => warning,
            other => panic!("{other:?}"),
        }
    }

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
        backend
            .answer(&Query::Stats { contract: None, largest: 0, by_status: false })
            .unwrap()
            .into_stats()
            .unwrap()
            .total()
            .checkpoints
    }

    #[test]
    fn what_has_expired_goes_batch_by_batch() {
        let mut backend = Memory::new();
        (0..3 * BATCH + 10).for_each(|id| save(&mut backend, id, 0));
        (0..5).for_each(|id| save(&mut backend, 10_000 + id, 1));
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        let mut seen = Vec::new();
        for _ in 0..5 {
            sweeper.step(&mut backend, times(TTL + 1));
            seen.push(left(&mut backend));
            if sweeper.left.is_empty() {
                break;
            }
        }
        assert_eq!(seen[0], 2 * BATCH as u64 + 15, "the first batch");
        assert_eq!(seen.last(), Some(&5), "older than the ttl, not as old");
        assert!(sweeper.due.is_some_and(|due| due > Instant::now() + PAUSE / 2), "the sweep is followed by a pause");
        assert!(sweeper.left.is_empty(), "it ends where nothing has expired");
    }

    #[test]
    fn a_sweep_goes_on_behind_what_a_leased_run_keeps() {
        let mut backend = Memory::new();
        let now = crate::clock_watch::Times::now().machine;
        let owned = Owned { contract: 1, name: "held".to_owned(), all: false };
        let meta = serde_json::json!({ "until": now + 60_000, "owned": [owned] }).to_string().into_bytes();
        let lease = Header { saved_at: now, exempt: true, meta, ..Header::new(LEASES, "lease", "lease") };
        let effect = |id: usize| Header::new(ContractId(1).effects(), "held", format!("effect {id}"));
        let mut ops: Vec<Op> = vec![Op::put(lease, Vec::new())];
        ops.extend((0..5 * BATCH).map(|id| Op::put(effect(id), Vec::new())));
        backend.apply(&[ops.into()]).remove(0).unwrap();
        (0..10).for_each(|id| save(&mut backend, id, 0));
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        for _ in 0..20 {
            sweeper.step(&mut backend, times(TTL + 1));
            if sweeper.left.is_empty() {
                break;
            }
        }
        assert_eq!(left(&mut backend), 5 * BATCH as u64 + 1);
        assert!(sweeper.left.is_empty(), "it ends");
    }

    fn waits(backend: &mut Memory, run: usize, saved_at: i64) {
        let header = Header { saved_at, status: Status::Waiting, ..Header::new(ContractId(1), run.to_string(), "") };
        let header = Header { id: format!("{run} waits"), ..header };
        backend.apply(&[vec![Op::put(header, Vec::new())].into()]).remove(0).unwrap();
    }

    #[test]
    fn a_run_that_waits_stays_until_its_own_time() {
        let mut backend = Memory::new();
        waits(&mut backend, 1, 0);
        waits(&mut backend, 2, TTL);
        save(&mut backend, 3, 0);
        let mut limited = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        sweep(&mut limited, &mut backend, times(10 * TTL));
        assert_eq!(left(&mut backend), 2, "they wait");
        let mut limited = sweeper(Policy { ttl: Some(TTL), waiting_ttl: Some(9 * TTL), ..Policy::default() });
        sweep(&mut limited, &mut backend, times(9 * TTL + 1));
        assert_eq!(left(&mut backend), 1, "the first has waited too long");
    }

    #[test]
    fn sweeps_begin_behind_many_runs_that_wait() {
        let mut backend = Memory::new();
        let many = 20 * BATCH;
        (0..many).for_each(|run| waits(&mut backend, run, 0));
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), ..Policy::default() });
        sweep(&mut sweeper, &mut backend, times(TTL + 1));
        assert_eq!(left(&mut backend), many as u64);
        let to = sweeper.stays.to;
        assert!(to > 10 * i64::try_from(BATCH).unwrap(), "{to}");
        // The next sweep removes what has expired behind them.
        sweeper.stays.again = Some(Instant::now() + Duration::from_secs(3600));
        (0..10).for_each(|id| save(&mut backend, id, 0));
        sweeper.step(&mut backend, times(TTL + 1));
        assert_eq!(left(&mut backend), many as u64, "in its first batch");
        sweep(&mut sweeper, &mut backend, times(TTL + 1));
        // A run that has gone on is found when they are looked at again.
        let header = Header { saved_at: 2 * TTL, ..Header::new(ContractId(1), "0", "0 goes on") };
        backend.apply(&[vec![Op::put(header, Vec::new())].into()]).remove(0).unwrap();
        sweep(&mut sweeper, &mut backend, times(TTL + 1));
        assert_eq!(left(&mut backend), many as u64 + 1);
        sweeper.stays.again = Some(Instant::now());
        sweep(&mut sweeper, &mut backend, times(TTL + 1));
        assert_eq!(left(&mut backend), many as u64);
    }

    #[test]
    fn a_sweep_waits_for_its_time() {
        let hour = Duration::from_secs(3600);
        let mut backend = Memory::new();
        save(&mut backend, 1, 0);
        let mut sweeper = Sweeper::new(Policy { ttl: Some(TTL), ..Policy::default() });
        assert!(sweeper.turn(&mut backend).unwrap() > PAUSE, "nothing was saved");
        sweeper.due = Some(Instant::now() + hour);
        sweeper.after_commit(&mut backend);
        assert!(sweeper.turn(&mut backend).unwrap() > hour / 2);
        assert_eq!(left(&mut backend), 1);
        sweeper.due = None;
        assert!(sweeper.turn(&mut backend).unwrap() > PAUSE / 2);
        assert_eq!(left(&mut backend), 0);
        // Later, it sweeps although nothing was saved through this store.
        save(&mut backend, 2, 0);
        (sweeper.due, sweeper.due_anyway) = (None, None);
        sweeper.turn(&mut backend);
        assert_eq!(left(&mut backend), 0);
    }

    #[test]
    fn a_sweep_takes_its_part_of_the_time_and_is_told() {
        let mut backend = Memory::new();
        (0..BATCH + 10).for_each(|id| save(&mut backend, id, 0));
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), percent: 1, ..Policy::default() });
        let (sender, events) = channel();
        sweeper.events().listen(move |event| sender.send(event).unwrap());
        sweeper.step(&mut backend, times(TTL + 1));
        let worked = sweeper.done.worked;
        assert!(sweeper.due.unwrap() >= sweeper.begun + worked * 100, "one percent");
        assert!(events.try_recv().is_err(), "it has not ended");
        while !sweeper.left.is_empty() {
            sweeper.step(&mut backend, times(TTL + 1));
        }
        let Event::Swept(swept) = events.try_recv().unwrap() else { panic!("a warning") };
        assert_eq!((swept.checkpoints, swept.lineages), (BATCH as u64 + 10, 1));
        assert!(swept.bytes > 0 && swept.took >= swept.worked && swept.worked > worked);
        sweeper.step(&mut backend, times(TTL + 1));
        assert!(events.try_recv().is_err(), "a sweep that finds nothing is no event");
    }

    #[test]
    fn one_of_several_sweepers_works() {
        let mut backend = Fake::Taken;
        let mut sweeper = Sweeper::new(Policy { ttl: Some(TTL), ..Policy::default() });
        sweeper.after_commit(&mut backend);
        assert!(sweeper.turn(&mut backend).unwrap() > AWAY / 2);
        assert!(sweeper.left.is_empty());
    }

    #[test]
    fn bytes_beyond_the_limit_go_until_it_holds() {
        let mut backend = Memory::new();
        (0..BATCH + 100).for_each(|id| save(&mut backend, id, 0));
        let mut sweeper = sweeper(Policy { max_bytes: Some(1030), ..Policy::default() });
        sweep(&mut sweeper, &mut backend, times(0));
        assert_eq!(left(&mut backend), 9, "104 bytes each");
    }

    /// Runs all batches of one sweep.
    fn sweep(sweeper: &mut Sweeper, backend: &mut dyn Backend, now: Times) {
        sweeper.step(backend, now);
        while !sweeper.left.is_empty() {
            sweeper.step(backend, now);
        }
    }

    /// The outcome of a sweep over a fake backend.
    enum Fake {
        /// Another sweeper works on the storage.
        Taken,
        Fails,
        Succeeds,
    }

    impl Backend for Fake {
        fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
            batch.iter().map(|_| Ok(Applied::default())).collect()
        }

        fn answer(&mut self, _: &Query) -> Result<Answer> {
            Err(Error::closed())
        }

        fn may_sweep(&mut self, _: i64) -> Result<bool> {
            Ok(!matches!(self, Self::Taken))
        }

        fn prune(&mut self, _: &Prune) -> Result<Pruned> {
            let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
            match self {
                Self::Taken => panic!("another sweeper works"),
                Self::Fails => Err(Error::new(Code::Full, "no room").with_cause(cause)),
                Self::Succeeds => Ok(Pruned::default()),
            }
        }

        fn vacuum(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sweeps_that_keep_failing_warn_once_until_one_succeeds() {
        let mut sweeper = sweeper(Policy { ttl: Some(TTL), max_bytes: Some(1), ..Policy::default() });
        let (sender, warnings) = channel();
        sweeper.events().listen(move |event| sender.send(event).unwrap());
        // A successful sweep takes one batch of each of the two rules.
        let mut sweeps = |failing: bool, many: usize| {
            for _ in 0..many {
                let mut backend = if failing { Fake::Fails } else { Fake::Succeeds };
                sweep(&mut sweeper, &mut backend, times(TTL + 1));
            }
            warnings.try_iter().map(warning).collect::<Vec<_>>()
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
        assert_eq!(sweeper.turn(&mut Memory::new()), None);
    }

    #[test]
    fn a_clock_that_is_set_removes_nothing_for_an_hour() {
        const HOUR: i64 = 3_600_000;
        let mut backend = Memory::new();
        (0..10).for_each(|id| save(&mut backend, id, HOUR));
        let mut sweeper = sweeper(Policy { ttl: Some(24 * HOUR), max_bytes: Some(10 * 104 - 1), ..Policy::default() });
        let (sender, warnings) = channel();
        sweeper.events().listen(move |event| {
            if let Event::Warning(warning) = event {
                sender.send(warning).unwrap();
            }
        });
        let mut sweep = |machine: i64, since_boot: i64| {
            sweep(&mut sweeper, &mut backend, Times { machine, since_boot });
            (
                left(&mut backend),
                warnings.try_iter().map(|warning: Warning| warning.error.message().to_owned()).collect::<Vec<_>>(),
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
