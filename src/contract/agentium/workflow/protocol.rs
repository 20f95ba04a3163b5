//! The messages between a run and its host: the host sends events, the run returns commands.
//!
//! In JSON, a field of each message has the message's name. `ts/agentium/wire.ts` declares the same unions.

use serde::{Deserialize, Serialize};

use super::definition::NodeId;

/// The number of a state that the host keeps. Slot 0 has the state that the run begins with. Slot `n + 1` has the state after
/// the step with the [`NodeId`] `n`.
pub type Slot = usize;

/// The state that the run begins with.
pub const ENTRY: Slot = 0;

/// The state that a run begins with, and what happens to stored checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Mode {
    /// Begins with the initial state. Stores nothing.
    Plain,
    /// Begins with the initial state. Removes the checkpoints that the run has stored before.
    Fresh,
    /// Begins after the latest checkpoint of the run. Without a checkpoint, the same as [`Mode::Fresh`].
    Resume,
    /// Begins after a checkpoint, in the same run. Later checkpoints of the run are removed when the first step is stored.
    Replay {
        /// The id of the checkpoint.
        from: String,
    },
    /// Begins after a checkpoint, as a new run.
    Branch {
        /// The id of the checkpoint.
        from: String,
        /// Whether the user changes the checkpoint's state first.
        mutate: bool,
    },
}

/// The reaction to a step that has failed after its last retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnError {
    /// The run fails.
    Fail,
    /// The run continues with the state from before the step.
    Continue,
    /// The user decides.
    Ask,
}

/// The options of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// The run's id. A replay uses the run id of its checkpoint instead.
    pub run_id: String,
    /// The state that the run begins with.
    pub mode: Mode,
    /// Whether to accept a checkpoint by its step index alone, even if the step at that index now has another name.
    pub force: bool,
    /// The reaction to a step that has failed after its last retry.
    pub on_error: OnError,
}

/// The checkpoint from which a run continues.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Base {
    /// The checkpoint's id.
    pub id: String,
    /// The id of the checkpoint's run.
    pub run_id: String,
    /// The index of the step after which the checkpoint was stored. -1: before the first step.
    pub step_index: i64,
    /// The name of that step.
    pub step_name: String,
}

/// An event that the host reports to a run. `step` is the step that the event belongs to. `attempt` counts from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are explained above, once")]
pub enum Event {
    /// The host is ready.
    Started,
    /// The host has looked for a checkpoint. If it exists, the slot [`ENTRY`] has its state.
    Loaded { base: Option<Base> },
    /// The user has changed the state in the slot [`ENTRY`].
    Mutated,
    /// The checkpoint is stored.
    Stored,
    /// A task has returned. The task's slot has the state after it.
    Ran { step: NodeId, attempt: u32 },
    /// A condition was evaluated. `holds` is the result.
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
    /// The host could not load, mutate or store. The host keeps the error.
    Broke,
    /// The process will end soon. The run must stop at the next safe point.
    DrainRequested,
    /// The user has cancelled the run.
    Aborted,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// The step ran.
    Done,
    /// The step was skipped because its condition did not hold.
    Skipped,
    /// The step failed after its last retry, and the run continues without it.
    #[serde(rename = "error")]
    Failed,
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields say what the variants do")]
pub enum Reason {
    /// The checkpoint does not exist.
    NotFound { id: String },
    /// The checkpoint does not match the workflow's definition. The message describes the mismatch and the remedy.
    Mismatch { message: String },
    /// A step failed after its last retry. The step's last error is the reason.
    Step { step: NodeId },
    /// The host failed: see [`Event::Broke`]. The host has the error.
    Host,
    /// The run was drained. It can be resumed from its stored checkpoints.
    Drained,
    /// The run was aborted.
    Aborted,
}

/// A command to the host. The host executes commands in their order. It answers a command with one of the events named at
/// the command, if any.
///
/// `step` is the step that the command belongs to. `attempt` counts from 0. `slot` is the slot of the state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "command", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are explained above, once")]
pub enum Command {
    /// Load a checkpoint. Without an id, load the latest of the run. Answer: [`Event::Loaded`].
    Load { id: Option<String> },
    /// Let the user change the state in the slot [`ENTRY`]. Answer: [`Event::Mutated`].
    Mutate,
    /// Store a checkpoint of the state in `slot`. Afterwards the slot has the state as it was stored, and the other slots are
    /// no longer needed. With `rewind`, remove the run's other checkpoints from this step on. Answer: [`Event::Stored`].
    Store { id: String, step_index: i64, step_name: String, slot: Slot, rewind: bool },
    /// Keep this slot. The other slots are no longer needed.
    Keep { slot: Slot },
    /// Report to the user that a step begins.
    Began { step: NodeId },
    /// Call a task with a draft of the state. Answer: [`Event::Ran`] or [`Event::Threw`].
    Run { step: NodeId, attempt: u32, slot: Slot },
    /// Evaluate a condition on a draft of the state. Answer: [`Event::Evaluated`] or [`Event::Threw`].
    Evaluate { step: NodeId, attempt: u32, slot: Slot },
    /// Wait `ms` milliseconds before the next attempt. Answer: [`Event::Waited`].
    Wait { step: NodeId, attempt: u32, ms: f64 },
    /// Ask the user whether the run continues after a failed step. Answer: [`Event::Decided`].
    Ask { step: NodeId },
    /// Merge the changes that the branches made to the state in `base`. Answer: [`Event::Merged`] or
    /// [`Event::Conflicted`].
    Merge { step: NodeId, base: Slot, branches: Vec<Slot> },
    /// Report to the user that a step has ended.
    Ended { step: NodeId, how: How },
    /// Signal running functions to stop, and cancel all waits.
    Cancel,
    /// The run is complete. `slot` has its final state. No command follows.
    Finish { slot: Slot },
    /// The run ended without a result. No command follows.
    Fail { why: Reason },
}
