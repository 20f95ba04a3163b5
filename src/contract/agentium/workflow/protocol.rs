//! What a run and its host say to each other. In JSON, both have their name in a field: `ts/agentium/wire.ts` declares the same
//! unions.

use serde::{Deserialize, Serialize};

use super::definition::NodeId;

/// A state that the host keeps: 0 is the one that the run begins with, any other the result of the step before that number.
pub type Slot = usize;

/// The state that the run begins with.
pub const ENTRY: Slot = 0;

/// Where a run begins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Mode {
    /// With the initial state, and nothing is stored.
    Plain,
    /// With the initial state; what the run has stored before goes.
    Fresh,
    /// After the latest checkpoint of the run; without one, as [`Mode::Fresh`].
    Resume,
    /// After that checkpoint, as the same run: what comes after it goes when the first step is stored.
    Replay {
        /// The checkpoint.
        from: String,
    },
    /// After that checkpoint, as a new run.
    Branch {
        /// The checkpoint.
        from: String,
        /// Whether its state is changed first.
        mutate: bool,
    },
}

/// What happens when a step has failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnError {
    /// The run fails.
    Fail,
    /// The run goes on with the state from before the step.
    Continue,
    /// The user says.
    Ask,
}

/// How a run is to be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// Its id. A replay takes that of its checkpoint.
    pub run_id: String,
    /// Where it begins.
    pub mode: Mode,
    /// Whether a checkpoint is taken by its index alone, whatever the step there is called.
    pub force: bool,
    /// What happens when a step has failed for good.
    pub on_error: OnError,
}

/// The checkpoint that a run goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Base {
    /// Its id.
    pub id: String,
    /// Its run.
    pub run_id: String,
    /// The step that it was stored after; -1: before the first.
    pub step_index: i64,
    /// The name of that step.
    pub step_name: String,
}

/// What happened. `step` is the step that it is about, `attempt` counts from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are explained above, once")]
pub enum Event {
    /// The host is ready.
    Started,
    /// A checkpoint was looked for, and [`ENTRY`] holds its state if there is one.
    Loaded { base: Option<Base> },
    /// [`ENTRY`] is as the user changed it.
    Mutated,
    /// The checkpoint is stored.
    Stored,
    /// A task has returned, and its slot holds the state after it.
    Ran { step: NodeId, attempt: u32 },
    /// A condition was evaluated.
    Evaluated { step: NodeId, attempt: u32, holds: bool },
    /// An attempt failed. The host keeps the error.
    Threw { step: NodeId, attempt: u32 },
    /// A wait is over.
    Waited { step: NodeId },
    /// The user was asked about a failed step: whether the run goes on.
    Decided { step: NodeId, go_on: bool },
    /// The results of parallel steps were merged into the slot of their parent.
    Merged { step: NodeId },
    /// They could not be. The host keeps the error.
    Conflicted { step: NodeId },
    /// The host could not load, mutate or store. It keeps the error.
    Broke,
    /// The process is to end soon.
    DrainRequested,
    /// The user wants no more of this.
    Aborted,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// It ran.
    Done,
    /// Its condition did not hold.
    Skipped,
    /// It failed for good, and the run goes on without it.
    #[serde(rename = "error")]
    Failed,
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields say what the variants do")]
pub enum Reason {
    /// There is no such checkpoint.
    NotFound { id: String },
    /// The checkpoint does not fit the definition: what does not, and what to do.
    Mismatch { message: String },
    /// A step failed for good: the last error of that step is the reason.
    Step { step: NodeId },
    /// The host has the reason.
    Host,
    /// It was drained. What is stored can be resumed.
    Drained,
    /// It was aborted.
    Aborted,
}

/// What to do. In their order; each is answered by an event where one is named. `step` is the step that it is about, `attempt`
/// counts from 0, `slot` is the state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "command", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are explained above, once")]
pub enum Command {
    /// Look for a checkpoint, the latest of the run if none is named. [`Event::Loaded`].
    Load { id: Option<String> },
    /// Have the user change the state in [`ENTRY`]. [`Event::Mutated`].
    Mutate,
    /// Store a checkpoint of that state. The slot then holds what was stored, and no other is needed any more.
    /// With `rewind`, what the run has from this step on goes. [`Event::Stored`].
    Store { id: String, step_index: i64, step_name: String, slot: Slot, rewind: bool },
    /// No other slot is needed any more.
    Keep { slot: Slot },
    /// A step begins.
    Began { step: NodeId },
    /// Call a task with a draft of that state. [`Event::Ran`] or [`Event::Threw`].
    Run { step: NodeId, attempt: u32, slot: Slot },
    /// Ask a condition about a draft of that state. [`Event::Evaluated`] or [`Event::Threw`].
    Evaluate { step: NodeId, attempt: u32, slot: Slot },
    /// Wait so many ms before the next attempt. [`Event::Waited`].
    Wait { step: NodeId, attempt: u32, ms: f64 },
    /// Ask the user about a failed step. [`Event::Decided`].
    Ask { step: NodeId },
    /// Put the branches' changes to that state together. [`Event::Merged`] or [`Event::Conflicted`].
    Merge { step: NodeId, base: Slot, branches: Vec<Slot> },
    /// A step has ended.
    Ended { step: NodeId, how: How },
    /// Tell what still runs that nobody needs it, and forget what waits.
    Cancel,
    /// The run is complete, with the state in that slot. Nothing follows.
    Finish { slot: Slot },
    /// The run ended without a result. Nothing follows.
    Fail { why: Reason },
}
