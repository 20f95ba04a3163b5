//! `TinyAgents`' threads: checkpoints in namespaces, and pending writes. [`graph`] runs graphs on them.
//!
//! A lineage is a namespace of a thread. All sort keys are empty, so checkpoints are in save order. The label of a
//! checkpoint is its `checkpointId`.
//!
//! A checkpoint is never replaced. The first checkpoint of an id has the engine's id `thread::key`. Each later one has
//! a separate engine's id and the group `thread::key`. Pending writes belong to the key, even without a checkpoint.

mod call;
pub mod graph;
mod ops;

pub use self::ops::CONTRACT_ID;
use super::entry::Contract;
use super::thread;

pub const CONTRACT: Contract = Contract {
    noun: "thread",
    tool: Some(graph::TOOL),
    name_of: ops::name_of,
    lineage_of: thread::lineage,
    id_of: thread::key,
    subgraphs: true,
    // If an id is put again, each later checkpoint has its own id in the engine.
    shown_id: Some(|header| thread::split_key(&header.id).map(|of| of.id)),
    call_types: call::CALL_TYPES,
    ..Contract::new("tinyagents", CONTRACT_ID, call::request, ops::show)
};
