//! The calls of `TinyAgents`' checkpointer, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ops::{CONTRACT_ID, Put, metadata, put, put_writes, state_of};
use crate::contract::call::{Buffers, RawCall, Request};
use crate::contract::ids::damaged;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::thread::{self, CheckpointRef, Needs, NewStatus};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::op::Op;
use crate::query::{Answer, Of, Page, Pick, Query, RowOrder};
use crate::record::{self, Header, Status, Tuple};

/// The calls. A namespace is a JSON text.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Put(Put),
    /// The call has one buffer for each of `writes`.
    PutWrites {
        thread_id: String,
        namespace: String,
        id: String,
        writes: Vec<GivenWrite>,
        /// The data that must be stored. Missing: none.
        #[serde(default)]
        needs: Option<Needs>,
        #[serde(default)]
        #[ts(type = "Exact | undefined")]
        incarnation: Option<i64>,
    },
    /// Reads a checkpoint. Without an id, reads the last one.
    Get {
        thread_id: String,
        namespace: String,
        id: Option<String>,
    },
    /// Reads the last checkpoint in any namespace of the thread. With an id, the last checkpoint with this id.
    Last {
        thread_id: String,
        id: Option<String>,
    },
    /// `key` is the engine's id of the checkpoint.
    Load {
        key: String,
    },
    /// Lists a namespace, or all namespaces of the thread.
    List {
        thread_id: String,
        namespace: Option<String>,
    },
    /// `before` is the cursor of the last namespace on the previous page.
    Namespaces {
        before: Option<i64>,
        limit: usize,
    },
    DeleteThread {
        thread_id: String,
    },
    /// `keys` are the engine's ids of checkpoints.
    Delete {
        keys: Vec<String>,
    },
}

/// A write. A buffer of the call contains the value of the write.
#[derive(Deserialize, TS)]
struct GivenWrite {
    task: String,
    index: i64,
    /// The node and the channel, as a JSON text.
    name: String,
    tag: String,
}

impl GivenWrite {
    fn with(self, buffers: &mut Buffers) -> Result<record::Write> {
        let (state, part) = (state_of(self.index), buffers.part(self.name, self.tag)?);
        Ok(record::Write { task: self.task, index: self.index, claimed_by: None, state, part })
    }
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    put: (),
    put_writes: (),
    get: Option<FoundId>,
    last: Option<FoundId>,
    load: Option<FoundId>,
    list: Vec<FoundHeader>,
    namespaces: Vec<FoundNamespace>,
    delete_thread: (),
    delete: (),
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Put(given) => Request::Apply(put(given, &mut buffers)?),
        Call::PutWrites { thread_id: thread, namespace, id, writes, needs, incarnation } => {
            let writes = writes.into_iter().map(|write| write.with(&mut buffers)).collect::<Result<Vec<_>>>()?;
            let (once, replacing) = writes.into_iter().partition(|write| write.index >= 0);
            let of = CheckpointRef { thread, namespace, id };
            Request::Apply(put_writes(&of, once, replacing, needs, incarnation)?)
        }
        Call::Get { thread_id, namespace, id: Some(id) } => {
            let key = thread::key(&thread_id, &namespace, &id);
            let first = Query::Tuple { contract, pick: Pick::Id(key.clone()) };
            let later = Query::List { contract, of: Of::Group(key), before: None, limit: Some(1) };
            let start = Query::Start { contract, lineage: thread::lineage(&thread_id, &namespace) };
            Request::ask(Query::All(vec![first, later, start]), with_later)
        }
        Call::Get { thread_id, namespace, id: None } => {
            let lineage = thread::lineage(&thread_id, &namespace);
            let start = Query::Start { contract, lineage: lineage.clone() };
            let newest = Query::Tuple { contract, pick: Pick::Newest(lineage) };
            Request::ask(Query::All(vec![newest, start]), |answer| {
                let [newest, start] = answer.into_all()?;
                let incarnation = start.into_position()?;
                first_found(newest.into_tuple()?.map(|found| *found), incarnation)
            })
        }
        Call::Last { thread_id, id } => {
            let prefix = thread::prefix(&thread_id);
            let of = match id {
                Some(label) => Of::Labelled { prefix, label },
                None => Of::Lineages(prefix),
            };
            let page = Page {
                contract,
                of,
                order: RowOrder::NewestFirst,
                after: None,
                skip: 0,
                filter: None,
                limit: 1,
                bytes: usize::MAX,
                looks: 1,
                short_keys: false,
            };
            Request::ask(Query::Page(page), |answer| first_found(answer.into_page()?.tuples.pop(), None))
        }
        Call::Load { key } => Request::ask(Query::Tuple { contract, pick: Pick::Id(key) }, found),
        Call::List { thread_id, namespace } => {
            let of = match namespace {
                Some(namespace) => Of::Lineage(thread::lineage(&thread_id, &namespace)),
                None => Of::Lineages(thread::prefix(&thread_id)),
            };
            let query = Query::List { contract, of, before: None, limit: None };
            Request::ask(query, |answer| Response::list(answer.into_headers()?, shown))
        }
        Call::Namespaces { before, limit } => {
            Request::ask(Query::Lineages { contract, group_prefix: String::new(), before, limit }, namespace_list)
        }
        Call::DeleteThread { thread_id } => Request::Apply(thread::remove(contract, &thread_id)),
        Call::Delete { keys } => {
            Request::Apply(keys.into_iter().map(|id| Op::Remove { contract, id }).collect::<Vec<_>>().into())
        }
    })
}

/// A checkpoint without its state.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundHeader {
    /// The engine's id of the checkpoint.
    key: String,
    thread_id: String,
    /// A JSON text.
    namespace: String,
    id: String,
    parent: Option<String>,
    metadata: PackedPart,
    saved_at: i64,
    depends_on_parent: bool,
    /// The status at this checkpoint, unless a task has stopped.
    #[ts(as = "NewStatus")]
    status: Status,
    /// True if the id was put before. The writes then belong to the first checkpoint of this id.
    again: bool,
}

fn shown(header: Header, response: &mut ResponseBuilder) -> Result<FoundHeader> {
    let damaged = || damaged(&header.id);
    let (thread, namespace) = thread::split(&header.lineage).ok_or_else(damaged)?;
    let parent = match &header.parent {
        Some(key) => Some(thread::split_key(key).ok_or_else(damaged)?.id),
        None => None,
    };
    Ok(FoundHeader {
        metadata: response.part(metadata(&header)?),
        key: header.id,
        thread_id: thread.to_owned(),
        namespace: namespace.to_owned(),
        id: header.label,
        parent,
        saved_at: header.saved_at,
        depends_on_parent: header.depends_on_parent,
        status: header.status,
        again: !header.group.is_empty(),
    })
}

/// A write in a response. The name of its part is the node and the channel, as a JSON text.
#[derive(Serialize, TS)]
struct FoundWrite {
    task: String,
    index: i64,
    part: PackedPart,
}

/// A checkpoint with its payload and its writes.
#[derive(Serialize, TS)]
struct Found {
    header: FoundHeader,
    parts: Vec<PackedPart>,
    writes: Vec<FoundWrite>,
}

/// The checkpoints of an id: the first one, and the engine's id of the last one if there are several.
#[derive(Serialize, TS)]
struct FoundId {
    first: Option<Found>,
    later: Option<String>,
    /// The incarnation of the namespace. Missing if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
}

fn tuple(Tuple { checkpoint, writes }: Tuple, response: &mut ResponseBuilder) -> Result<Found> {
    let header = shown(checkpoint.header, response)?;
    let parts = response.parts(checkpoint.payload);
    let write = |record::Write { task, index, part, .. }| FoundWrite { task, index, part: response.part(part) };
    Ok(Found { header, parts, writes: writes.into_iter().map(write).collect() })
}

fn found(answer: Answer) -> Result<Option<Response>> {
    first_found(answer.into_tuple()?.map(|found| *found), None)
}

fn first_found(found: Option<Tuple>, incarnation: Option<i64>) -> Result<Option<Response>> {
    Response::one(found, |found, response| {
        Ok(FoundId { first: Some(tuple(found, response)?), later: None, incarnation })
    })
}

fn with_later(answer: Answer) -> Result<Option<Response>> {
    let [found, later, start] = answer.into_all()?;
    let incarnation = start.into_position()?;
    let mut response = ResponseBuilder::default();
    let first = found.into_tuple()?.map(|found| tuple(*found, &mut response)).transpose()?;
    let later = later.into_headers()?.pop();
    // Retention may remove the first checkpoint before a later one. Its id may then be used again.
    let later = later.filter(|later| first.as_ref().is_none_or(|first| first.header.saved_at <= later.saved_at));
    let later = later.map(|header| header.id);
    if first.is_none() && later.is_none() {
        return Ok(None);
    }
    response.finish(&FoundId { first, later, incarnation }).map(Some)
}

/// A namespace of a thread. `cursor` is the position from which the next page of the listing continues.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundNamespace {
    cursor: String,
    thread_id: String,
    namespace: String,
}

fn namespace_list(answer: Answer) -> Result<Option<Response>> {
    Response::list(answer.into_lineages()?, |found, _| {
        let (thread, namespace) = thread::split(&found.newest.lineage).ok_or_else(|| damaged(&found.newest.id))?;
        let (thread_id, namespace) = (thread.to_owned(), namespace.to_owned());
        Ok(FoundNamespace { cursor: found.position.to_string(), thread_id, namespace })
    })
}
