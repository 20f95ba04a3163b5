//! Agentium's `StorageDriver`: values by namespace and key.
//!
//! Each key is a lineage of its own, with one checkpoint. So retention that keeps a number of checkpoints in each
//! lineage never removes a value. The names of all lineages of a namespace begin with the same prefix. Keys are listed
//! in the order of their bytes.

use serde::{Deserialize, Serialize};

use crate::contract::call::{RawCall, Request};
use crate::contract::entry::{Contract, Names, Shown};
use crate::contract::ids::check_id;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::{Code, Error, Result};
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, ContractId, Header, Part, SortKey};

pub const CONTRACT: Contract = Contract {
    name: "storage",
    id: CONTRACT_ID,
    request,
    tool: None,
    name_of,
    lineage_of: |key, namespace| id(namespace, key),
    id_of: |key, namespace, _| id(namespace, key),
    show: |_| Ok(Shown::default()),
};
pub const CONTRACT_ID: ContractId = ContractId(3);
/// The part that holds the value.
pub const VALUE: &str = "value";

/// The calls, as `ts/contracts/agentium/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The only buffer is the value.
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
    List {
        namespace: String,
        prefix: String,
    },
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Set { namespace, key, saved_at, tag } => {
            let value = Part { name: VALUE.to_owned(), tag, bytes: buffers.take()? };
            Request::Apply(set(&namespace, key, value, saved_at)?)
        }
        Call::Delete { namespace, key } => Request::Apply(delete(&namespace, &key)),
        Call::Get { namespace, key } => Request::ask(get(&namespace, &key), found),
        Call::List { namespace, prefix } => Request::ask(list(&namespace, &prefix), all),
    })
}

#[derive(Serialize)]
struct Found {
    key: String,
    parts: Vec<PackedPart>,
}

fn entry(found: Checkpoint, response: &mut ResponseBuilder) -> Result<Found> {
    Ok(Found { key: key(found.header)?, parts: response.parts(found.payload) })
}

fn found(answer: Answer) -> Result<Option<Response>> {
    let Some(found) = answer.into_checkpoint()? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let found = entry(*found, &mut response)?;
    response.finish(&found).map(Some)
}

fn all(answer: Answer) -> Result<Option<Response>> {
    let mut response = ResponseBuilder::default();
    let found = answer.into_checkpoints()?.into_iter().map(|found| entry(found, &mut response));
    let found = found.collect::<Result<Vec<_>>>()?;
    response.finish(&found).map(Some)
}

/// Returns the store's id of a value. Each pair of namespace and key has its own id.
fn id(namespace: &str, key: &str) -> String {
    format!("{}:{namespace}{key}", namespace.len())
}

/// Converts the store's id into the namespace and the key. The id that users know is the key.
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

/// `set`: stores a value. It replaces an earlier value with the same key.
pub fn set(namespace: &str, key: String, value: Part, saved_at: i64) -> Result<Unit> {
    let id = id(namespace, &key);
    check_id("the namespace and the key together", &id)?;
    let header = Header { sort_key: SortKey(key.into_bytes()), saved_at, ..Header::new(CONTRACT_ID, id.clone(), id) };
    Ok(vec![Op::put(header, vec![value])].into())
}

/// `get`: reads a value.
pub fn get(namespace: &str, key: &str) -> Query {
    Query::Get { contract: CONTRACT_ID, id: id(namespace, key) }
}

/// `delete`: removes a value.
pub fn delete(namespace: &str, key: &str) -> Unit {
    vec![Op::Remove { contract: CONTRACT_ID, id: id(namespace, key) }].into()
}

/// `list`: reads the values of all keys with this prefix, in the order of the keys' bytes.
pub fn list(namespace: &str, prefix: &str) -> Query {
    // The name of a lineage is the id of its only checkpoint. So the index of lineage names finds the values.
    Query::Whole { contract: CONTRACT_ID, of: Of::Lineages(id(namespace, prefix)), prefix: Vec::new() }
}

/// Reads the key of a value from its header.
pub fn key(header: Header) -> Result<String> {
    String::from_utf8(header.sort_key.0).map_err(|_| {
        let message = format!("the stored key of value {:?} is damaged; restore the file from a backup", header.id);
        Error::new(Code::Corrupt, message)
    })
}
