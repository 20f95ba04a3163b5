//! The contract of `LangGraph`'s `BaseStore`: items by namespace and key.
//!
//! A lineage is a namespace, and a checkpoint is an item. So a namespace without items is gone. The sort key of an item is its
//! place: the time of its first save, and a number that orders items of the same time. An update keeps the place, so a
//! search finds items by their first save, over all namespaces.
//!
//! [`Header::meta`](crate::record::Header::meta) of an item is the JSON of its value, so that a search reads no payloads. A value that JSON does not store
//! exactly, or that is large, is the only part of the payload, and the meta is a NUL. If the item expires, the time of
//! its last update and its time to live, in ms, stand before that, each with a space behind it. The time to live counts
//! from the save time, which a read may move.

mod call;
mod filter;
mod item;

use super::namespace::names;
use crate::contract::entry::Contract;

pub const CONTRACT: Contract = Contract {
    name_of: |lineage, id| names(lineage, id.as_deref(), "."),
    lineage_of: |run, _| format!("{run}."),
    id_of: |run, _, key| format!("{run}..{key}"),
    call_types: call::CALL_TYPES,
    ..Contract::new("langgraph-store", item::CONTRACT_ID, call::request, item::show)
};
