//! Agentium's `StorageDriver`: values by namespace and key.
//!
//! Each key is its own lineage, with one checkpoint. Retention that keeps a number of checkpoints in each lineage never
//! removes a value. All lineages of a namespace share a name prefix. Keys are listed in byte order.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{RawCall, Request};
use crate::contract::entry::{Contract, Names, Shown};
use crate::contract::ids::check_id;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result};
use crate::op::Op;
use crate::query::{Of, Query};
use crate::record::{Checkpoint, ContractId, Header, SortKey};

pub const CONTRACT: Contract = Contract {
    name_of,
    lineage_of: |key, namespace| id(namespace, key),
    id_of: |key, namespace, _| id(namespace, key),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("storage", CONTRACT_ID, request, |_| Ok(Shown::default()))
};
pub const CONTRACT_ID: ContractId = ContractId(3);
/// The part that holds the value.
const VALUE: &str = "value";

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Stores a value, which is the only buffer. It replaces an earlier value with the same key.
    Set {
        namespace: String,
        key: String,
        saved_at: i64,
        tag: String,
    },
    Delete {
        namespace: String,
        key: String,
    },
    Get {
        namespace: String,
        key: String,
    },
    /// Reads the values of all keys with this prefix, in the order of the keys' bytes.
    List {
        namespace: String,
        prefix: String,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    set: (),
    delete: (),
    get: Option<FoundValue>,
    list: Vec<FoundValue>,
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Set { namespace, key, saved_at, tag } => {
            let id = id(&namespace, &key);
            check_id("the namespace and the key together", &id)?;
            let sort_key = SortKey(key.into_bytes());
            let header = Header { sort_key, saved_at, ..Header::new(contract, id.clone(), id) };
            Request::Apply(vec![Op::put(header, vec![buffers.part(VALUE, tag)?])].into())
        }
        Call::Delete { namespace, key } => {
            Request::Apply(vec![Op::Remove { contract, id: id(&namespace, &key) }].into())
        }
        Call::Get { namespace, key } => Request::ask(Query::Get { contract, id: id(&namespace, &key) }, |answer| {
            Response::one(answer.into_checkpoint()?, |found, response| entry(*found, response))
        }),
        Call::List { namespace, prefix } => {
            // A lineage has the name of its only checkpoint's id. The index of lineage names finds the values.
            let of = Of::Lineages(id(&namespace, &prefix));
            let query = Query::Whole { contract, of, prefix: Vec::new() };
            Request::ask(query, |answer| Response::list(answer.into_checkpoints()?, entry))
        }
    })
}

/// A value with its key.
#[derive(Serialize, TS)]
struct FoundValue {
    key: String,
    parts: Vec<PackedPart>,
}

fn entry(found: Checkpoint, response: &mut ResponseBuilder) -> Result<FoundValue> {
    let Header { id, sort_key, .. } = found.header;
    let key = String::from_utf8(sort_key.0).map_err(|_| {
        let message = format!("the stored key of value {id:?} is damaged; restore the file from a backup");
        Error::new(Code::Corrupt, message)
    })?;
    Ok(FoundValue { key, parts: response.parts(found.payload) })
}

/// Returns the engine's id of a value, which is unique for each pair of namespace and key.
fn id(namespace: &str, key: &str) -> String {
    format!("{}:{namespace}{key}", namespace.len())
}

/// Converts the engine's id into the namespace and the key. The key is the id that users know.
fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let split = |name: &str| {
        let (length, rest) = name.split_once(':')?;
        let length = length.parse().ok()?;
        Some((rest.get(..length)?.to_owned(), rest.get(length..)?.to_owned()))
    };
    let of = lineage.as_deref().or(id.as_deref()).and_then(split);
    match of {
        Some((namespace, key)) => Names { id: id.map(|_| key.clone()), run: Some(key), ns: Some(namespace) },
        None => Names { run: lineage, ns: None, id },
    }
}
