//! Notices when the machine's clock is set, by comparing the clock with the monotonic clock.
//!
//! The age of a checkpoint comes from the machine's clock. If this clock is briefly wrong, every older checkpoint seems
//! to have expired.

use std::time::Duration;

use crate::backend::machine_clock;

/// After the clock was set, the two clocks must agree for this time before retention uses the machine's clock again:
/// one hour, in ms.
const PAUSE: i64 = 3_600_000;

/// The tolerated difference of the clocks, in ms. A smaller jump removes a checkpoint at most this much too early.
const TOLERANCE: i64 = 60_000;

/// The clocks may drift apart by 1 ms in this many ms. Time services slew a clock by at most half of that.
const DRIFT: i64 = 1_000;

/// The time since the machine was started, in ms. It includes sleep, so waking up does not look like a clock that was
/// set.
fn since_boot() -> i64 {
    i64::try_from(passed().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(unix)]
fn passed() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // On macOS, this clock includes sleep.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    Duration::try_from(rustix::time::clock_gettime(CLOCK)).unwrap_or_default()
}

/// Windows' counter includes sleep.
#[cfg(not(unix))]
fn passed() -> Duration {
    static BEGUN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGUN.elapsed()
}

/// The readings of both clocks, in ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The machine's clock: the time since the epoch.
    pub(crate) machine: i64,
    pub(crate) since_boot: i64,
}

impl Times {
    pub(crate) fn now() -> Self {
        Self { machine: machine_clock(), since_boot: since_boot() }
    }

    /// Returns by how many ms the machine's clock was set since an earlier reading. `None`: it was not set.
    fn set_since(self, earlier: Self) -> Option<i64> {
        let passed = self.since_boot.saturating_sub(earlier.since_boot);
        let by = self.machine.saturating_sub(earlier.machine).saturating_sub(passed);
        let is_set = by.saturating_abs() > TOLERANCE.saturating_add(passed / DRIFT);
        is_set.then_some(by)
    }
}

/// The state of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The clock is reliable.
    Steady,
    /// The clock has just been set by this number of ms. A negative number means back.
    Set(i64),
    /// The clock was set less than an hour ago.
    Doubtful,
}

/// Compares the clocks since a store was opened.
#[derive(Debug)]
pub struct ClockWatch {
    /// The last readings while the machine's clock was reliable.
    believed: Times,
    /// The first and the last readings since the clock was set.
    doubted: Option<(Times, Times)>,
}

/// The public name of the warning about a clock that was set: `StoreWarning.code` in JavaScript.
pub const WARNING: &str = "FORKPOINT_CLOCK_SET";

/// The warning about a clock that was set by this number of ms.
pub fn warning(by: i64) -> String {
    let direction = if by < 0 { "back" } else { "forward" };
    format!(
        "the clock of this machine was set {direction} by {} while the store was open, so ttlMs removes nothing for an hour. \
         If the clock is right now, there is nothing to do. If it is wrong, set it: ttlMs continues when the clock is back. \
         To remove old checkpoints now, call prune()",
        length(by)
    )
}

/// Formats a duration for a message, in the largest unit of which there are at least two.
fn length(ms: i64) -> String {
    let units = [("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1_000)];
    let of = |(unit, length): (&'static str, u64)| (unit, (ms.unsigned_abs() + length / 2) / length);
    let (unit, count) = units.into_iter().map(of).find(|(_, count)| *count >= 2).unwrap_or(("seconds", 0));
    format!("{count} {unit}")
}

impl ClockWatch {
    /// Begins to compare the clocks of this machine.
    pub fn start() -> Self {
        Self::new(Times::now())
    }

    /// Compares the clocks. After a jump, the machine's clock is reliable again when it is back at the expected time,
    /// or has agreed with the other clock for an hour.
    pub fn compare(&mut self) -> Verdict {
        self.look(Times::now())
    }

    /// The machine's clock is assumed to be right at first. A store that was not used for a year cannot be told from a
    /// clock that is a year ahead.
    pub(crate) fn new(now: Times) -> Self {
        Self { believed: now, doubted: None }
    }

    /// Like [`ClockWatch::compare`], with given readings.
    pub(crate) fn look(&mut self, now: Times) -> Verdict {
        let Some(by) = now.set_since(self.believed) else {
            *self = Self::new(now);
            return Verdict::Steady;
        };
        match self.doubted {
            Some((first, last)) if now.set_since(last).is_none() => {
                if now.since_boot.saturating_sub(first.since_boot) >= PAUSE {
                    *self = Self::new(now);
                    return Verdict::Steady;
                }
                self.doubted = Some((first, now));
                Verdict::Doubtful
            }
            _ => {
                self.doubted = Some((now, now));
                Verdict::Set(by)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const YEAR: i64 = 365 * 24 * HOUR;

    /// A watch and its two clocks. Each step lets time pass, sets the machine's clock, and compares.
    struct Steps(ClockWatch, Times);

    impl Steps {
        fn new() -> Self {
            let now = Times { machine: 1_000 * HOUR, since_boot: 5_000 };
            Self(ClockWatch::new(now), now)
        }

        fn step(&mut self, passed: i64, set: i64) -> Verdict {
            self.1.since_boot += passed;
            self.1.machine += passed + set;
            self.0.look(self.1)
        }
    }

    #[test]
    fn a_clock_that_only_runs_is_steady() {
        let mut steps = Steps::new();
        for passed in [0, 1, HOUR, 8 * HOUR, YEAR] {
            assert_eq!(steps.step(passed, 0), Verdict::Steady, "also after a night asleep");
        }
        for _ in 0..100_000 {
            assert_eq!(steps.step(1_000, 0), Verdict::Steady);
        }
        // Time services slew by 0.5 ms a second.
        assert_eq!(steps.step(30 * 24 * HOUR, 30 * 24 * HOUR / 2_000), Verdict::Steady);
        assert_eq!(steps.step(1_000, MINUTE), Verdict::Steady);
    }

    #[test]
    fn a_jump_is_told_once_and_ends_when_it_is_undone() {
        for by in [YEAR, -YEAR, 2 * MINUTE, -2 * MINUTE] {
            let mut steps = Steps::new();
            assert_eq!(steps.step(1_000, by), Verdict::Set(by));
            assert_eq!(steps.step(1_000, 0), Verdict::Doubtful);
            assert_eq!(steps.step(1_000, -by), Verdict::Steady);
            assert_eq!(steps.step(2 * HOUR, 0), Verdict::Steady);
            assert_eq!(steps.step(1_000, by), Verdict::Set(by), "a second jump");
        }
    }

    #[test]
    fn a_clock_is_believed_when_it_has_been_steady_for_an_hour() {
        let mut steps = Steps::new();
        assert_eq!(steps.step(1_000, YEAR), Verdict::Set(YEAR));
        assert_eq!(steps.step(HOUR - 1, 0), Verdict::Doubtful);
        assert_eq!(steps.step(1, 0), Verdict::Steady);
        assert_eq!(steps.step(1_000, -YEAR), Verdict::Set(-YEAR), "now this is the jump");
    }

    #[test]
    fn the_hour_begins_again_with_each_jump() {
        let mut steps = Steps::new();
        assert_eq!(steps.step(1_000, YEAR), Verdict::Set(YEAR));
        assert_eq!(steps.step(50 * MINUTE, YEAR), Verdict::Set(2 * YEAR));
        assert_eq!(steps.step(50 * MINUTE, 0), Verdict::Doubtful);
        assert_eq!(steps.step(10 * MINUTE, 0), Verdict::Steady);
    }

    #[test]
    fn the_time_since_boot_passes() {
        let before = since_boot();
        std::thread::sleep(Duration::from_millis(30));
        assert!((20..10_000).contains(&(since_boot() - before)));
    }
}
