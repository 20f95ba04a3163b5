//! The messages between a run and its host. The host sends events to the run, and the run returns commands.
//!
//! In JSON, each message has a field with the message's name.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::definition::{Consistency, NodeId, Source};

/// Identifies a task of the current superstep: its index in the order of activation.
pub type TaskId = usize;

/// Identifies the argument of a task, which the host keeps.
pub type Arg = usize;

/// Identifies a write to the checkpointer.
pub type WriteId = u64;

/// A node to run, with the argument that was sent to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub node: NodeId,
    /// The argument of a send. `None`: the node was activated by an edge.
    pub arg: Option<Arg>,
}

/// The time at which checkpoints are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Durability {
    /// Before the next superstep begins.
    #[default]
    Sync,
    /// In order, while the next supersteps run.
    Async,
    /// When the run ends.
    Exit,
}

/// The interrupted tasks that get the command's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Answers {
    /// The command has no answer.
    #[default]
    None,
    /// All interrupted tasks.
    All,
    /// The interrupted tasks with these ids.
    Tasks(Vec<String>),
}

/// The action of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Mode {
    /// Begins at the start of the graph with an input.
    Input,
    /// Continues from a checkpoint.
    Continue {
        /// The checkpoint's id. `None`: the latest checkpoint.
        from: Option<String>,
        /// True if the command updates the state.
        update: bool,
        /// The nodes that the command activates.
        goto: Vec<Target>,
        /// The interrupted tasks that get the command's answer.
        answers: Answers,
    },
    /// Updates the state of the latest checkpoint. Runs no node.
    Update {
        /// The node that the update is attributed to.
        as_node: Option<NodeId>,
    },
}

impl Mode {
    /// The nodes in the mode.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let (goto, as_node) = match self {
            Self::Input => (&[][..], None),
            Self::Continue { goto, .. } => (&goto[..], None),
            Self::Update { as_node } => (&[][..], *as_node),
        };
        goto.iter().map(|target| target.node).chain(as_node)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    pub mode: Mode,
    /// The time at which checkpoints are stored.
    pub durability: Durability,
    /// True if there is a checkpointer.
    pub persist: bool,
    /// The prefix of the ids of new checkpoints, unique to this run.
    pub prefix: String,
}

/// An activation in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stored {
    pub node: String,
    pub task: String,
    /// The argument of a send.
    pub arg: Option<Arg>,
    /// The nodes that the task chose, if its result is recorded.
    pub done: Option<Vec<Target>>,
    /// The number of the task's questions.
    pub interrupts: usize,
    /// The number of answers to these questions.
    pub answers: usize,
}

/// A node after a barrier, and the nodes that have run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The name of the node after the barrier.
    pub node: String,
    /// The names of the nodes that have run.
    pub arrived: Vec<String>,
}

/// The checkpoint from which a run continues.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Base {
    pub id: String,
    /// The number of supersteps before the checkpoint.
    pub step: i64,
    /// True if this is the latest checkpoint.
    pub latest: bool,
    /// The activations of the next superstep.
    pub tasks: Vec<Stored>,
    pub arrivals: Vec<Arrival>,
}

/// An event that the host reports to a run. `attempt` counts the attempts from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Event {
    /// The host is ready.
    Started,
    /// The host has looked for a checkpoint.
    Loaded { base: Option<Base> },
    /// The state of the next boundary is ready. `routes` has the targets of each source in the command.
    Made { routes: Vec<Vec<Target>> },
    /// A task has ended and chose the nodes `goto`. The host keeps its update.
    Ran { task: TaskId, attempt: u32, goto: Vec<Target> },
    /// A task has asked a question. The host keeps the question.
    Interrupted { task: TaskId, attempt: u32 },
    /// A task was stopped by a drain. It runs again when the run is resumed.
    Stopped { task: TaskId, attempt: u32 },
    /// An attempt failed. The host keeps the error.
    Threw { task: TaskId, attempt: u32 },
    /// A wait is over.
    Waited { task: TaskId, attempt: u32 },
    /// A write is stored.
    Written { write: WriteId },
    /// A write failed. The host keeps the error.
    WriteFailed { write: WriteId },
    /// The host could not load a checkpoint or make a state. The host keeps the error.
    Broke,
    /// The process will end soon. The run must stop at the next boundary.
    DrainRequested,
    /// The user has cancelled the run.
    Aborted,
}

impl Event {
    /// The nodes in the event.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let stored = match self {
            Self::Loaded { base: Some(base) } => &base.tasks[..],
            _ => &[],
        };
        let targets = match self {
            Self::Made { routes } => &routes[..],
            Self::Ran { goto, .. } => std::slice::from_ref(goto),
            _ => &[],
        };
        let done = stored.iter().filter_map(|task| task.done.as_ref());
        done.chain(targets).flatten().map(|target| target.node)
    }
}

/// The reason for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// An input.
    Input,
    /// A superstep.
    Loop,
    /// An update of the state.
    Update,
    /// The run continued from an older checkpoint.
    Fork,
}

/// A task of the next superstep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Planned {
    pub node: NodeId,
    pub task: String,
    pub arg: Option<Arg>,
    /// The index of the same task in the loaded checkpoint. Its result, questions and answers also belong to this task.
    pub from: Option<usize>,
    /// True if the recorded result of the task is used.
    pub done: bool,
}

/// A boundary between two supersteps: the content of a checkpoint without the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Boundary {
    pub id: String,
    /// The number of supersteps before the boundary.
    pub step: i64,
    /// The reason for the boundary. `None`: it is the loaded checkpoint itself.
    pub origin: Option<Origin>,
    /// The tasks of the next superstep.
    pub tasks: Vec<Planned>,
    /// The ids of the tasks that ended at this boundary.
    pub completed: Vec<String>,
    pub arrivals: Vec<Arrival>,
    /// The part of the memory that is saved with the boundary.
    pub memory: Consistency,
}

/// The reason for a run without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum Reason {
    /// There is no such checkpoint.
    NotFound,
    /// The checkpoint or the command does not match the graph. The message describes the mismatch and the remedy.
    Mismatch { message: String },
    /// A task failed after its last retry, with its last error.
    Task { task: TaskId },
    /// The run had too many supersteps.
    Limit { supersteps: u64 },
    /// The host failed: see [`Event::Broke`] and [`Event::WriteFailed`]. The host has the error.
    Host,
    /// The run was drained. It can be resumed.
    Drained,
    /// The run was aborted.
    Aborted,
}

/// A command to the host, which executes commands in order. The host answers some commands with an event: each command
/// lists its possible answers.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
#[serde(tag = "command", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command {
    /// Load a checkpoint. Without an id, load the latest. Answer: [`Event::Loaded`] or [`Event::Broke`].
    Load { id: Option<String> },
    /// Make the first state of the run: from the input, or from the loaded state and the command's update. Then
    /// evaluate the conditional edges of `routes`. Answer: [`Event::Made`] or [`Event::Broke`].
    Enter { routes: Vec<Source> },
    /// A boundary is reached, and the latest state belongs to it. Later commands refer to its tasks.
    Boundary { boundary: Boundary },
    /// Give the command's answer to these tasks.
    Answer { tasks: Vec<TaskId> },
    /// A superstep begins.
    Begin { step: i64 },
    /// Run a task with a copy of the boundary's state. Answer: [`Event::Ran`], [`Event::Interrupted`],
    /// [`Event::Stopped`] or [`Event::Threw`].
    Run { task: TaskId, attempt: u32 },
    /// Wait `ms` milliseconds before the next attempt. Answer: [`Event::Waited`] with the number of the next attempt.
    Wait { task: TaskId, attempt: u32, ms: f64 },
    /// All tasks have ended. Fold their updates into the state, in order. Then evaluate the conditional edges of
    /// `routes`. Answer: [`Event::Made`] or [`Event::Broke`].
    Commit { routes: Vec<Source> },
    /// Store the checkpoint of a boundary, with all known results of its tasks. Answer: [`Event::Written`] or
    /// [`Event::WriteFailed`].
    Put { write: WriteId, id: String, parent: Option<String> },
    /// Record the known results of these tasks as pending writes of a boundary. Answer: [`Event::Written`] or
    /// [`Event::WriteFailed`].
    Record { write: WriteId, id: String, tasks: Vec<TaskId> },
    /// No later command refers to this boundary.
    Drop { id: String },
    /// Signal running functions to stop, and cancel all waits.
    Cancel,
    /// The run is complete. The latest state is its result. No command follows.
    Finish,
    /// The run waits for answers to the questions of these tasks. No command follows.
    Suspend { tasks: Vec<TaskId> },
    /// The run ended without a result. No command follows.
    Fail { why: Reason },
}
