//! The status of a run, derived from its newest checkpoint and the tasks that have written to it.

use std::ops::{BitOr, BitOrAssign};

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The status of a run. A store cannot know whether a process is working on the run.
///
/// Every lineage stores its status. The unit that changes the newest checkpoint or its writes also updates the status:
/// see [`Status::of`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// The checkpoint does not say.
    #[default]
    Unknown = 0,
    /// A human has to answer first.
    Waiting = 1,
    Failed = 2,
    /// Some nodes or steps are left to run.
    Unfinished = 3,
    Finished = 4,
}

impl Status {
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Waiting, Self::Failed, Self::Unfinished, Self::Finished];

    /// The status with this number. Databases store the number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The status of a run. `newest` is the status of its newest checkpoint without writes. `tasks` are the states of
    /// the tasks that have unclaimed writes to this checkpoint.
    #[must_use]
    pub fn of(newest: Self, tasks: impl IntoIterator<Item = TaskState>) -> Self {
        let stopped = tasks.into_iter().filter(|task| !task.has(TaskState::ENDED) && !task.has(TaskState::HANDLED));
        let (mut failed, mut asks) = (newest == Self::Failed, false);
        for task in stopped {
            failed |= task.has(TaskState::FAILED);
            asks |= task.has(TaskState::ASKS);
        }
        match (failed, asks) {
            (true, _) => Self::Failed,
            (false, true) => Self::Waiting,
            (false, false) => newest,
        }
    }
}

/// The state of a task, as its writes report it: a set of flags. The contract gives each write its meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TaskState(u8);

impl TaskState {
    /// The task has a result.
    pub const ENDED: Self = Self(1);
    /// The task has failed.
    pub const FAILED: Self = Self(2);
    /// The task asks a human. An answer clears the flag of all tasks of the checkpoint. A task that asks again sets it
    /// again.
    pub const ASKS: Self = Self(4);
    /// The reason why the task stopped was dealt with: this task got an answer, or an error handler ran.
    pub const HANDLED: Self = Self(8);
    /// The write answers every task that asks. Rows do not store this flag: see [`TaskState::kept`].
    pub const ANSWERS: Self = Self(16);

    /// Returns true if the state has all of these flags.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The flags that a row stores.
    #[must_use]
    pub const fn kept(self) -> Self {
        Self(self.0 & !Self::ANSWERS.0)
    }

    /// The state after an answer to all tasks.
    #[must_use]
    pub const fn answered(self) -> Self {
        Self(self.0 & !Self::ASKS.0)
    }

    /// The flags as a number, as databases store them.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The state with these flags. Flags that do not exist are left out.
    pub const fn numbered(number: u8) -> Self {
        Self(number & 15)
    }
}

impl BitOr for TaskState {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for TaskState {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl FromIterator<TaskState> for TaskState {
    fn from_iter<I: IntoIterator<Item = TaskState>>(states: I) -> Self {
        states.into_iter().fold(Self::default(), BitOr::bitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_stopped_decides_before_the_newest_checkpoint() {
        let [ended, failed, asks, handled] = [TaskState::ENDED, TaskState::FAILED, TaskState::ASKS, TaskState::HANDLED];
        let of = |tasks: &[TaskState]| Status::of(Status::Unfinished, tasks.iter().copied());
        assert_eq!(of(&[]), Status::Unfinished);
        assert_eq!(of(&[ended, TaskState::default()]), Status::Unfinished);
        assert_eq!(of(&[ended, asks]), Status::Waiting);
        assert_eq!(of(&[failed, asks]), Status::Failed);
        assert_eq!(of(&[failed | ended, asks | handled, asks.answered()]), Status::Unfinished);
        assert_eq!(Status::of(Status::Finished, [asks]), Status::Waiting);
        assert_eq!(Status::of(Status::Failed, [asks]), Status::Failed);
    }

    #[test]
    fn every_status_and_state_has_a_number() {
        for status in Status::ALL {
            assert_eq!(Status::numbered(status as u8), Some(status));
        }
        assert_eq!(Status::numbered(5), None);
        let state = TaskState::ASKS | TaskState::ANSWERS;
        assert_eq!(TaskState::numbered(state.kept().number()), TaskState::ASKS);
    }
}
