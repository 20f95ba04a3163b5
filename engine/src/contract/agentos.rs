//! `AgentOS`' `ICheckpointStore` (`@framers/agentos/orchestration/checkpoint`).
//!
//! A lineage is a run, a group is a graph, and a label is a node. The sort key of a checkpoint is its timestamp.
//! Checkpoints with equal timestamps are in save order.
//!
//! The payload has two parts: [`STATE`] and [`REST`]. `REST` contains the checkpoint without its ids and its state. So
//! a fork has the same payload as its source, although their ids differ.

mod call;
mod meta;
mod ops;

pub use self::meta::Status;
use self::ops::show;
pub use self::ops::{
    CONTRACT_ID, Metadata, REST, ResumePlan, STATE, Save, clear, delete, fork, forks, get, list, load, mark, metadata,
    resume_plan, runs, save, status,
};
use super::entry::{Contract, Names};

pub const CONTRACT: Contract = Contract {
    name: "agentos",
    id: CONTRACT_ID,
    request: call::request,
    tool: Some(call::tool),
    name_of: Names::same,
    lineage_of: Names::same_lineage,
    id_of: Names::same_id,
    show,
};
