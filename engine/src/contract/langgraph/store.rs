//! The contract of `LangGraph`'s `BaseStore`: items by namespace and key.
//!
//! A lineage is a namespace, and a checkpoint is an item, so a namespace without items does not exist. The sort key of
//! an item is its position: the time of its first save, and a number that orders items of the same time. An update
//! keeps the position, so a search lists items of all namespaces by their first save.
//!
//! [`Header::meta`](crate::record::Header::meta) of an item is the JSON of its value, so that a search reads no
//! payloads. If the value is large, or JSON does not store it exactly, it is the payload's only part, and the meta is a
//! NUL. If the item expires, the meta begins with the time of its last update and its time to live in ms, each followed
//! by a space. The time to live counts from the save time, which a read may update.

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
