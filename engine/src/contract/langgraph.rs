//! The contract of `LangGraph`'s `BaseCheckpointSaver` (`@langchain/langgraph-checkpoint`).
//!
//! A lineage is a namespace of a thread. A group is a thread. The sort key of a checkpoint is its id, because ids
//! increase with time.
//!
//! The payload has one part for each channel. The part's name is the channel's name and version. One more part, with an
//! empty name, contains the rest of the checkpoint. If a channel has the same version as in the parent, the channel is
//! not serialized again, and its part is inherited by name. The metadata is in the header, so that listings and filters
//! need not read a payload.
//!
//! [`Header::meta`](crate::record::Header::meta) is the serializer's tag of the metadata, a NUL, and the metadata. If the checkpoint has a mark, then
//! the byte 1, the mark and a NUL stand before them. A mark says who made the checkpoint. `ts/store/mark.ts` writes and reads it.

pub mod cache;
mod call;
pub mod import;
mod namespace;
mod ops;
pub mod store;

pub use self::ops::{CONTRACT_ID, Put, put, take_paths};
use super::entry::Contract;
use super::thread;

pub const CONTRACT: Contract = Contract {
    noun: "thread",
    tool: Some(import::TOOL),
    name_of: thread::name_of,
    lineage_of: thread::lineage,
    id_of: thread::key,
    subgraphs: true,
    take_paths: Some(ops::take_paths),
    call_types: call::CALL_TYPES,
    ..Contract::new("langgraph", CONTRACT_ID, call::request, ops::show)
};
