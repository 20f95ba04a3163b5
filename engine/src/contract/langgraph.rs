//! The contract of `LangGraph`'s `BaseCheckpointSaver` (`@langchain/langgraph-checkpoint`).
//!
//! A lineage is a namespace of a thread. A group is a thread. The sort key of a checkpoint is its id, because ids
//! increase with time.
//!
//! The payload has one part for each channel, named by the channel's name and version. One more part, with an empty
//! name, contains the rest of the checkpoint. A channel with the same version as in the parent is not serialized again:
//! its part is inherited by name. The metadata is in the header, so that listings and filters read no payload.
//!
//! [`Header::meta`](crate::record::Header::meta) is the tag of the metadata's serializer, a NUL, and the metadata. If
//! the checkpoint has a mark, the byte 1, the mark and a NUL precede them. A mark identifies the program that made the
//! checkpoint: see `ts/store/mark.ts`.

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
