//! The messages between a run and its host. The host sends events to the run, and the run returns commands.
//!
//! In JSON, each message has a field with the message's name.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::definition::NodeId;

/// The number of a state that the host keeps. Slot 0 contains the first state of the run. Slot `n + 1` contains the
/// state after the step with the [`NodeId`] `n`.
pub type Slot = usize;

/// The slot of the run's first state.
pub const ENTRY: Slot = 0;

/// The start of a run: its first state, and the fate of the checkpoints that are already stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Mode {
    /// Begins with the initial state. Stores no checkpoints.
    Plain,
    /// Begins with the initial state. Removes the run's checkpoints from earlier executions.
    Fresh,
    /// Begins after the latest checkpoint of the run. If the run has no checkpoint, this mode is the same as
    /// [`Mode::Fresh`].
    Resume,
    /// Begins after a checkpoint, in the same run. Storing the first step removes the run's later checkpoints.
    Replay {
        /// The id of the checkpoint.
        from: String,
    },
    /// Begins after a checkpoint, as a new run.
    Branch {
        /// The id of the checkpoint.
        from: String,
        /// True if the user changes the state of the checkpoint before the run continues.
        mutate: bool,
    },
}

/// The reaction to a step that failed after its last retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum OnError {
    /// The run fails.
    Fail,
    /// The run continues with the state before the failed step.
    Continue,
    /// The user decides whether the run continues.
    Ask,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// The run's id. A replay uses the run id of its checkpoint instead.
    pub run_id: String,
    pub mode: Mode,
    /// True if the checkpoint is accepted even though the step at its index now has another name.
    pub force: bool,
    /// The reaction to a step that failed after its last retry.
    pub on_error: OnError,
}

/// The checkpoint from which a run continues.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Base {
    pub id: String,
    pub run_id: String,
    /// The index of the step after which the checkpoint was stored. -1: before the first step.
    pub step_index: i64,
    /// The name of the step after which the checkpoint was stored.
    pub step_name: String,
}

/// An event that the host reports to a run, about `step` if given. `attempt` counts the attempts from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Event {
    /// The host is ready.
    Started,
    /// The host has looked for a checkpoint. If it exists, the slot [`ENTRY`] contains its state.
    Loaded { base: Option<Base> },
    /// The user has changed the state in the slot [`ENTRY`].
    Mutated,
    /// The checkpoint is stored.
    Stored,
    /// A task has returned. The slot of the task contains the state after the task.
    Ran { step: NodeId, attempt: u32 },
    /// A condition was evaluated. `holds` is true if the condition is true.
    Evaluated { step: NodeId, attempt: u32, holds: bool },
    /// An attempt failed. The host keeps the error.
    Threw { step: NodeId, attempt: u32 },
    /// A wait is over.
    Waited { step: NodeId },
    /// The user has decided whether the run continues after a failed step.
    Decided { step: NodeId, go_on: bool },
    /// The results of parallel steps were merged into the slot of their parent.
    Merged { step: NodeId },
    /// The results of parallel steps could not be merged. The host keeps the error.
    Conflicted { step: NodeId },
    /// The host could not load, change or store a state. The host keeps the error.
    Broke,
    /// The process will end soon. The run must stop at the next safe point.
    DrainRequested,
    /// The user has cancelled the run.
    Aborted,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// The step ran.
    Done,
    /// The step was skipped, because its condition was false.
    Skipped,
    /// The step failed after its last retry, and the run continued without the step.
    #[serde(rename = "error")]
    Failed,
}

/// The reason for a run without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum Reason {
    /// The checkpoint does not exist.
    NotFound { id: String },
    /// The checkpoint does not match the workflow's definition. The message describes the mismatch and the remedy.
    Mismatch { message: String },
    /// A step failed after its last retry, with its last error.
    Step { step: NodeId },
    /// The host failed: see [`Event::Broke`]. The host has the error.
    Host,
    /// The run was drained. It can be resumed from its stored checkpoints.
    Drained,
    /// The run was aborted.
    Aborted,
}

/// A command to the host, which executes commands in order. The host answers some commands with an event: each command
/// lists its possible answers.
///
/// `step` is the step of the command. `attempt` counts the attempts from 0. `slot` is the slot of the state.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
#[serde(tag = "command", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command {
    /// Load a checkpoint. Without an id, load the latest checkpoint of the run. Answer: [`Event::Loaded`].
    Load { id: Option<String> },
    /// Let the user change the state in the slot [`ENTRY`]. Answer: [`Event::Mutated`].
    Mutate,
    /// Store a checkpoint of the state in `slot`. Afterwards the slot contains the stored form of the state, and the
    /// other slots are no longer needed. With `rewind`, also remove the run's other checkpoints with this step index or
    /// a greater one. Answer: [`Event::Stored`].
    Store { id: String, step_index: i64, step_name: String, slot: Slot, rewind: bool },
    /// Keep this slot. The other slots are no longer needed.
    Keep { slot: Slot },
    /// Report to the user that a step begins.
    Began { step: NodeId },
    /// Call a task with a copy of the state that the task may change. Answer: [`Event::Ran`] or [`Event::Threw`].
    Run { step: NodeId, attempt: u32, slot: Slot },
    /// Evaluate a condition on a copy of the state. Answer: [`Event::Evaluated`] or [`Event::Threw`].
    Evaluate { step: NodeId, attempt: u32, slot: Slot },
    /// Wait `ms` milliseconds before the next attempt. Answer: [`Event::Waited`].
    Wait { step: NodeId, attempt: u32, ms: f64 },
    /// Ask the user whether the run continues after a failed step. Answer: [`Event::Decided`].
    Ask { step: NodeId },
    /// Merge the changes of the branches to the state in `base`. Answer: [`Event::Merged`] or [`Event::Conflicted`].
    Merge { step: NodeId, base: Slot, branches: Vec<Slot> },
    /// Report to the user that a step has ended.
    Ended { step: NodeId, how: How },
    /// Signal running functions to stop, and cancel all waits.
    Cancel,
    /// The run is complete. `slot` contains the final state of the run. No command follows.
    Finish { slot: Slot },
    /// The run ended without a result. No command follows.
    Fail { why: Reason },
}
