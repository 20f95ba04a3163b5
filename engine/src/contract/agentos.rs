//! `AgentOS`' `ICheckpointStore` (`@framers/agentos/orchestration/checkpoint`).
//!
//! A lineage is a run, a group is a graph, and a label is a node. The sort key of a checkpoint is its timestamp.
//! Checkpoints with equal timestamps are in save order.
//!
//! The payload has two parts: [`STATE`] and [`REST`]. `REST` is the checkpoint without its ids and its state. A fork
//! therefore has the same payload as its source.

mod call;
mod meta;
mod ops;
mod resume;

pub use self::ops::{CONTRACT_ID, Metadata, REST, STATE, Save, fork, metadata, save};
use super::entry::Contract;

pub const CONTRACT: Contract = Contract {
    tool: Some(resume::TOOL),
    call_types: call::CALL_TYPES,
    ..Contract::new("agentos", CONTRACT_ID, call::request, ops::show)
};
