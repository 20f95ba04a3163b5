//! Agentium's workflow checkpoints and its storage driver.
//!
//! A lineage is a run. The checkpoints of a run are ordered by step index, then by `createdAt`, then by save order. The
//! engine never derives the run from a checkpoint's id: the run of a checkpoint is its `runId`.
//!
//! The payload has two parts: [`STATE`] and [`REST`]. The rest is the checkpoint without its ids and its state.

mod call;
mod meta;
mod ops;
pub mod storage;
pub mod workflow;

use self::ops::show;
pub use self::ops::{
    CONTRACT_ID, REST, STATE, Save, Status, Step, clear, delete, latest, list, load, runs, save, step, timeline,
};
use super::entry::{Contract, Names};

pub const CONTRACT: Contract = Contract {
    name: "agentium",
    id: CONTRACT_ID,
    request: call::request,
    tool: Some(workflow::call::tool),
    name_of: Names::same,
    lineage_of: Names::same_lineage,
    id_of: Names::same_id,
    show,
};
