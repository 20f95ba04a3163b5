//! The tasks of one superstep.

use super::definition::{Definition, NodeId};
use super::protocol::{Arg, Planned, Stored, Target, TaskId};

/// The activity of a task, which determines the events that it expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Nothing,
    /// The task is running the attempt with this number.
    Running(u32),
    /// The task is waiting before the attempt with this number.
    Waiting(u32),
}

/// The progress of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    /// The task must run.
    #[default]
    Ready,
    /// The task has ended, and chose these nodes.
    Done(Vec<Target>),
    /// The task has asked a question that has no answer.
    Asking,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) node: NodeId,
    pub(super) id: String,
    pub(super) arg: Option<Arg>,
    /// The index of the same task in the loaded checkpoint.
    pub(super) from: Option<usize>,
    pub(super) doing: Doing,
    pub(super) progress: Progress,
    /// True if the task has asked a question, now or earlier.
    pub(super) gate: bool,
    /// True if the task has results that are not recorded.
    pub(super) dirty: bool,
}

impl Task {
    /// Makes a task that has not run. Its id contains its checkpoint's id, and is therefore unique.
    pub(super) fn new(Target { node, arg }: Target, definition: &Definition, checkpoint: &str, index: TaskId) -> Self {
        Self {
            node,
            id: format!("{}:{checkpoint}:{index}", definition.nodes[node].name),
            arg,
            from: None,
            doing: Doing::Nothing,
            progress: Progress::Ready,
            gate: false,
            dirty: false,
        }
    }

    /// Makes a task of a loaded checkpoint. A recorded result counts only if the node does not run again on resume.
    pub(super) fn of(stored: &Stored, node: NodeId, definition: &Definition, index: usize) -> Self {
        let progress = match &stored.done {
            Some(goto) if !definition.nodes[node].repeats() => Progress::Done(goto.clone()),
            _ if stored.interrupts > stored.answers => Progress::Asking,
            _ => Progress::Ready,
        };
        Self {
            node,
            id: stored.task.clone(),
            arg: stored.arg,
            from: Some(index),
            doing: Doing::Nothing,
            progress,
            gate: stored.interrupts > 0,
            dirty: false,
        }
    }

    /// Returns true if a new checkpoint must carry the task's results.
    pub(super) fn known(&self) -> bool {
        self.gate || matches!(self.progress, Progress::Done(_))
    }

    pub(super) fn planned(&self) -> Planned {
        Planned {
            node: self.node,
            task: self.id.clone(),
            arg: self.arg,
            from: self.from,
            done: matches!(self.progress, Progress::Done(_)),
        }
    }
}
