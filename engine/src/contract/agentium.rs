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

pub use self::ops::{CONTRACT_ID, REST, STATE, Save, save};
use super::entry::Contract;

pub const CONTRACT: Contract = Contract {
    tool: Some(workflow::TOOL),
    call_types: call::CALL_TYPES,
    ..Contract::new("agentium", CONTRACT_ID, call::request, ops::show)
};
