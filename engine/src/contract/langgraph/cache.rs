//! The contract of `LangGraph`'s `BaseCache`: the results of nodes.
//!
//! A lineage is a namespace, and a checkpoint is an entry. The sort key of an entry is its expiry time, or infinity.
//! The name of a lineage is the name of its namespace and one more dot, because a namespace may have no labels.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::namespace::{Address, labels, name, names};
use crate::contract::call::{PartName, RawCall, Request};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response};
use crate::contract::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, ContractId, Header, SortKey};

/// The entries. The id makes them records: see [`ContractId::has_records`].
pub const CONTRACT: Contract = Contract {
    name_of: |lineage, id| names(lineage, id.as_deref(), ".."),
    lineage_of: |run, _| if run.is_empty() { ".".to_owned() } else { format!("{run}..") },
    id_of: |run, _, key| if run.is_empty() { format!(".{key}") } else { format!("{run}..{key}") },
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("langgraph-cache", ContractId(82), request, show)
};

/// The calls. Times are in ms since the epoch.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads entries. The response has null for an entry that does not exist or has expired.
    Find { of: Vec<Address>, now: i64 },
    /// Saves all entries or none. The call has a buffer for each of them.
    Save { entries: Vec<NewEntry>, saved_at: i64 },
    /// Removes all entries of these namespaces.
    Clear { of: Vec<Vec<String>> },
    /// Lists namespaces, the last begun first. `before` is the cursor of the last namespace on the previous page.
    Namespaces { before: Option<i64>, limit: usize },
    /// Lists entries that have expired.
    Expired { limit: usize, now: i64 },
    /// Removes entries.
    Remove { of: Vec<Address> },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    find: Vec<Option<Vec<PackedPart>>>,
    save: (),
    clear: (),
    namespaces: Vec<Listed<FoundNamespace>>,
    expired: Vec<Address>,
    remove: (),
}

#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
struct NewEntry {
    #[serde(flatten)]
    address: Address,
    expires_at: Option<f64>,
    part: PartName,
}

fn lineage(namespace: &[String]) -> String {
    name(namespace) + "."
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT.id;
    Ok(match call {
        Call::Find { of, now } => {
            let get = |address: Address| Query::Get { contract, id: address.id() };
            Request::ask(Query::All(of.into_iter().map(get).collect()), move |answer| found(answer, now))
        }
        Call::Save { entries, saved_at } => {
            let put = |NewEntry { address, expires_at, part }| {
                let (lineage, id) = (lineage(&address.namespace), address.id());
                check_id("the namespace", &lineage)?;
                check_id("the namespace and the key together", &id)?;
                let sort_key = SortKey::from_f64(expires_at.unwrap_or(f64::INFINITY));
                let header = Header { sort_key, saved_at, ..Header::new(contract, lineage, id) };
                Ok(Op::put(header, buffers.parts(vec![part])?))
            };
            Request::Apply(entries.into_iter().map(put).collect::<Result<Vec<_>>>()?.into())
        }
        Call::Clear { of } => {
            let cleared = |namespace: &Vec<String>| Op::RemoveFrom {
                contract,
                lineage: lineage(namespace),
                sort_key: SortKey::default(),
            };
            Request::Apply(of.iter().map(cleared).collect::<Vec<_>>().into())
        }
        Call::Namespaces { before, limit } => {
            let query = Query::Lineages { contract, group_prefix: String::new(), before, limit };
            Request::ask(query, |answer| {
                Response::lineages(answer, |newest| {
                    let namespace = newest.lineage.strip_suffix('.').and_then(labels);
                    Ok(FoundNamespace { namespace: namespace.ok_or_else(|| damaged(&newest.id))? })
                })
            })
        }
        Call::Expired { limit, now } => {
            #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
            let before = Some(SortKey::from_f64(now as f64));
            let query = Query::List { contract, of: Of::Lineages(String::new()), before, limit: Some(limit) };
            Request::ask(query, |answer| {
                let address = |Header { id, .. }: Header| Address::read(&id).ok_or_else(|| damaged(&id));
                let all = answer.into_headers()?.into_iter().map(address).collect::<Result<Vec<_>>>()?;
                Response::json(&all).map(Some)
            })
        }
        Call::Remove { of } => {
            let removed = of.iter().map(|address| Op::Remove { contract, id: address.id() });
            Request::Apply(Unit::from(removed.collect::<Vec<_>>()))
        }
    })
}

/// A namespace in a listing.
#[derive(Serialize, TS)]
struct FoundNamespace {
    namespace: Vec<String>,
}

fn found(answer: Answer, now: i64) -> Result<Option<Response>> {
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
    Response::list(found, |found, response| {
        let Some(Checkpoint { header, payload, .. }) = found.map(|found| *found) else { return Ok(None) };
        #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
        let has_expired = expires_at(&header)? <= now as f64;
        Ok((!has_expired).then(|| -> Vec<PackedPart> { response.parts(payload) }))
    })
}

fn expires_at(header: &Header) -> Result<f64> {
    header.sort_key.split_f64().map(|(at, _)| at).ok_or_else(|| damaged(&header.id))
}

fn show(header: &Header) -> Result<Shown> {
    let key = Address::read(&header.id).ok_or_else(|| damaged(&header.id))?.key;
    let expires_at = Some(expires_at(header)?).filter(|at| at.is_finite());
    let meta = expires_at.map(|at| serde_json::json!({ "expiresAt": at }));
    Ok(Shown { label: Some(key), meta, ..Shown::default() })
}
