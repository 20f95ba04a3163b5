//! The calls of `LangGraph`'s checkpoint saver, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ops::{CONTRACT_ID, Import, Put, PutWrites, import, outline, put, put_writes, read_meta, take_paths};
use crate::contract::call::{RawCall, Request};
use crate::contract::ids::damaged;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::thread::{self, CheckpointRef, NewStatus};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::op::Op;
use crate::query::{
    ActivityOrder, Ancestors, Answer, MetaFilter, MetaKey, Of, Page, Pick, Query, Recent, RowOrder, Rows, RowsFrom,
};
use crate::record::{self, Header, Labels, Position, Seq, SortKey, Status, Tuple, TuplePage};

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Put(Put),
    /// Stores a checkpoint that was read from a store. It may exceed the limit of a save, as it has the parts of
    /// several.
    Copy(Put),
    PutWrites(PutWrites),
    Import(Import),
    /// Gets a checkpoint. Without an id, gets the latest checkpoint of the namespace. With `begins`, the response also
    /// says whether the checkpoint is the latest one, and gives the thread's incarnation, because a run begins with it.
    Get {
        thread_id: String,
        namespace: String,
        id: Option<String>,
        #[serde(default)]
        #[ts(optional, as = "Option<bool>")]
        begins: bool,
    },
    /// Gets the parts and writes of the namespace's latest checkpoint that determine its status: see [`outline`].
    Outline {
        thread_id: String,
        namespace: String,
    },
    /// Reads a page of a checkpoint and its ancestors, from the checkpoint on. The page ends when each channel's value
    /// has been found. Its checkpoints contain only the values and the writes of these channels.
    Ancestors {
        checkpoint: CheckpointRef,
        channels: Vec<String>,
        limit: usize,
    },
    /// Finds the position of this checkpoint in the namespace or, if it is missing there, in the namespace `or`. A
    /// listing of the earlier checkpoints begins at this position.
    Place {
        thread_id: String,
        namespace: String,
        or: String,
        id: String,
    },
    /// Lists the checkpoints of a thread, or of all threads, the newest first. `before` is a sort key.
    List {
        thread_id: Option<String>,
        before: Option<String>,
        limit: usize,
    },
    /// Lists checkpoints of a namespace, a thread, or all threads, with payloads and writes. The page begins after the
    /// sort key `before_key` and the save number `before_seq`. The metadata's JSON must contain `texts`, or an escape.
    /// `index` is an indexed key of the metadata. The filter checks at most `looks` checkpoints.
    Page {
        thread_id: Option<String>,
        namespace: Option<String>,
        before_key: Option<String>,
        #[ts(type = "Exact | undefined")]
        before_seq: Option<i64>,
        texts: Option<Vec<String>>,
        index: Option<IndexedKey>,
        limit: usize,
        looks: usize,
    },
    /// Lists the threads with a checkpoint in their root namespace, by their last activity. `after` is the cursor of
    /// the last thread on the previous page.
    Threads {
        statuses: Option<Vec<Status>>,
        latest_first: bool,
        after: Option<i64>,
        limit: usize,
    },
    /// Removes a thread, including its writes to checkpoints that were never put.
    DeleteThread {
        thread_id: String,
    },
    /// Removes checkpoints. The writes to the checkpoints in `reopen` become pending again.
    Delete {
        remove: Vec<CheckpointRef>,
        reopen: Vec<CheckpointRef>,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    put: (),
    copy: (),
    put_writes: (),
    import: (),
    get: Option<Found>,
    outline: Option<Found>,
    ancestors: Vec<Found>,
    place: Option<NextPage>,
    list: Vec<FoundHeader>,
    page: FoundPage,
    threads: Vec<FoundThread>,
    delete_thread: (),
    delete: (),
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Put(given) => Request::Apply(put(given, &mut buffers)?),
        Call::Copy(given) => Request::Import(put(given, &mut buffers)?),
        Call::PutWrites(given) => Request::Apply(put_writes(given, &mut buffers)?),
        Call::Import(given) => Request::Import(import(given, &mut buffers)?),
        Call::Get { thread_id, namespace, id, begins: true } => begin(&thread_id, &namespace, id.as_deref()),
        Call::Get { thread_id, namespace, id, begins: false } => {
            let pick = match id {
                Some(id) => Pick::Id(thread::key(&thread_id, &namespace, &id)),
                None => Pick::Newest(thread::lineage(&thread_id, &namespace)),
            };
            Request::ask(Query::Tuple { contract, pick }, |answer| {
                Response::one(answer.into_tuple()?, |found, response| tuple(*found, response))
            })
        }
        Call::Outline { thread_id, namespace } => {
            let pick = Pick::Newest(thread::lineage(&thread_id, &namespace));
            Request::ask(Query::Tuple { contract, pick }, |answer| {
                Response::one(answer.into_tuple()?, |found, response| tuple(outline(*found), response))
            })
        }
        Call::Ancestors { checkpoint, channels, limit } => {
            // The writes with the paths of tasks have an empty name.
            let writes = channels.iter().cloned().chain([String::new()]).collect();
            let ancestors = Ancestors { contract, id: checkpoint.key(), stems: channels, writes, limit };
            Request::ask(Query::Ancestors(ancestors), |answer| Response::list(answer.into_tuples()?, tuple))
        }
        Call::Place { thread_id, namespace, or, id } => {
            let rows = |namespace: String| {
                let from = RowsFrom::Id(thread::key(&thread_id, &namespace, &id));
                let (lineage, order) = (thread::lineage(&thread_id, &namespace), RowOrder::NewestFirst);
                Query::Rows(Rows { contract, lineage, from, order, limit: 1, sums: false })
            };
            Request::ask(Query::All([namespace, or].map(rows).into()), |answer| {
                let [first, second] = answer.into_all()?;
                let found = first.into_rows()?.rows.into_iter().chain(second.into_rows()?.rows).next();
                let position = found.map(|row| page_after((row.header.sort_key, row.seq))).transpose()?;
                position.map(|position| Response::json(&position)).transpose()
            })
        }
        Call::List { thread_id, before, limit } => {
            let of = listed(thread_id, None);
            let before = before.map(|key| SortKey(key.into_bytes()));
            let query = Query::List { contract, of, before, limit: Some(limit) };
            Request::ask(query, |answer| {
                Response::list(answer.into_headers()?, |found, response| header(&found, response))
            })
        }
        Call::Page { thread_id, namespace, before_key, before_seq, texts, index, limit, looks } => {
            let of = listed(thread_id, namespace);
            let after = before_key.map(|key| (SortKey(key.into_bytes()), before_seq.unwrap_or(Seq::MIN)));
            let all = texts.map(|texts| texts.into_iter().map(String::into_bytes).collect());
            let key =
                index.map(|IndexedKey { key, value }| Box::new(MetaKey { begins: b"json\0{".to_vec(), key, value }));
            let filter = all.map(|all| MetaFilter { all, or: b"\\".to_vec(), end: b"}".to_vec(), key, test: None });
            let page = Page {
                contract,
                of,
                order: RowOrder::NewestFirst,
                after,
                skip: 0,
                filter,
                limit,
                bytes: PAGE_BYTES,
                looks,
                short_keys: false,
            };
            Request::ask(Query::Page(page), |answer| Response::one(Some(answer.into_page()?), tuple_page))
        }
        Call::Threads { statuses, latest_first, after, limit } => {
            let order = if latest_first { ActivityOrder::LatestFirst } else { ActivityOrder::EarliestFirst };
            let (contracts, matching, statuses) = (vec![contract], String::new(), statuses.unwrap_or_default());
            let labels = Labels::default();
            let recent = Recent { contracts, named_as_group: true, matching, statuses, labels, order, after, limit };
            Request::ask(Query::Recent(recent), thread_list)
        }
        Call::DeleteThread { thread_id } => Request::Apply(thread::remove(contract, &thread_id)),
        Call::Delete { remove, reopen } => {
            let removed = remove.iter().map(|of| Op::Remove { contract, id: of.key() });
            let reopened = reopen.iter().map(|of| Op::Reopen { contract, id: of.key() });
            Request::Apply(removed.chain(reopened).collect::<Vec<_>>().into())
        }
    })
}

/// The read at the beginning of a run.
fn begin(thread_id: &str, namespace: &str, id: Option<&str>) -> Request {
    let (contract, lineage) = (CONTRACT_ID, thread::lineage(thread_id, namespace));
    let by_id = id.is_some();
    let pick = id.map_or_else(|| Pick::Newest(lineage.clone()), |id| Pick::Id(thread::key(thread_id, namespace, id)));
    let (of, limit) = (Of::Lineage(lineage.clone()), Some(usize::from(by_id)));
    let newest = Query::List { contract, of, before: None, limit };
    let all = vec![Query::Tuple { contract, pick }, newest, Query::Start { contract, lineage }];
    Request::ask(Query::All(all), move |answer| {
        let [found, newest, start] = answer.into_all()?;
        let newest = newest.into_headers()?.into_iter().next();
        let incarnation = start.into_position()?;
        Response::one(found.into_tuple()?, |found, response| {
            let is_latest = !by_id || newest.is_some_and(|newest| newest.id == found.checkpoint.header.id);
            Ok(Found { is_latest: Some(is_latest), incarnation, ..tuple(*found, response)? })
        })
    })
}

/// The checkpoints of a namespace, of a thread, or of all threads.
fn listed(thread_id: Option<String>, namespace: Option<String>) -> Of {
    match (thread_id, namespace) {
        (Some(thread), Some(namespace)) => Of::Lineage(thread::lineage(&thread, &namespace)),
        (Some(thread), None) => Of::Lineages(thread::prefix(&thread)),
        (None, _) => Of::Contract,
    }
}

/// An indexed key of the metadata, and the JSON text of the wanted value.
#[derive(Debug, Deserialize, TS)]
pub(super) struct IndexedKey {
    key: String,
    value: String,
}

/// The approximate maximum size of a page of checkpoints, in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A sort key as text. The sort key is an id.
fn key_text(SortKey(key): SortKey) -> Result<String> {
    String::from_utf8(key).map_err(|error| damaged(&error.to_string()))
}

/// The fields of a checkpoint that can be read without its payload.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundHeader {
    thread_id: String,
    namespace: String,
    id: String,
    /// The sort key of the checkpoint in its thread. Missing if it is the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    key: Option<String>,
    parent: Option<String>,
    metadata: PackedPart,
    /// The mark of the program that made the checkpoint: see `ts/store/mark.ts`. Missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    mark: Option<String>,
    saved_at: i64,
    /// True if the checkpoint cannot be read without its ancestors.
    depends_on_parent: bool,
    /// The status at this checkpoint, unless a task has stopped.
    #[ts(as = "NewStatus")]
    status: Status,
}

fn header(header: &Header, response: &mut ResponseBuilder) -> Result<FoundHeader> {
    let (metadata, mark) = read_meta(header)?;
    let of = thread::split_key(&header.id).ok_or_else(|| damaged(&header.id))?;
    let parent = match &header.parent {
        Some(key) => Some(thread::split_key(key).ok_or_else(|| damaged(&header.id))?.id),
        None => None,
    };
    let key = (header.sort_key.0 != of.id.as_bytes()).then(|| key_text(header.sort_key.clone())).transpose()?;
    Ok(FoundHeader {
        thread_id: of.thread,
        namespace: of.namespace,
        id: of.id,
        key,
        parent,
        metadata: response.part(metadata),
        mark,
        saved_at: header.saved_at,
        depends_on_parent: header.depends_on_parent,
        status: header.status,
    })
}

/// A write in a response. The channel is the name of the write's part.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundWrite {
    task: String,
    index: i64,
    /// The id of the checkpoint that was made from the write. `None`: the write is pending.
    claimed_by: Option<String>,
    /// The path of the task in the graph. Missing if `LangGraph` gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    path: Option<String>,
    part: PackedPart,
}

/// A checkpoint with its payload and its writes.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Found {
    header: FoundHeader,
    parts: Vec<PackedPart>,
    writes: Vec<FoundWrite>,
    /// True if it is the latest checkpoint of its namespace. Only for a call with `begins`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    is_latest: Option<bool>,
    /// The incarnation of the namespace: see `docs/internals/meeting.md`. Only for a call with `begins`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
}

fn tuple(Tuple { checkpoint, writes }: Tuple, response: &mut ResponseBuilder) -> Result<Found> {
    let header = header(&checkpoint.header, response)?;
    let parts = response.parts(checkpoint.payload);
    let write = |(write, path): (record::Write, Option<String>)| FoundWrite {
        task: write.task,
        index: write.index,
        claimed_by: write.claimed_by.and_then(|key| Some(thread::split_key(&key)?.id)),
        path,
        part: response.part(write.part),
    };
    let writes = take_paths(writes).into_iter().map(write).collect();
    Ok(Found { header, parts, writes, is_latest: None, incarnation: None })
}

/// A page of checkpoints. The next page begins after `next`.
#[derive(Serialize, TS)]
struct FoundPage {
    found: Vec<Found>,
    next: Option<NextPage>,
}

/// The position of a checkpoint in a listing.
#[derive(Serialize, TS)]
struct NextPage {
    key: String,
    #[ts(type = "Exact")]
    seq: Seq,
}

fn page_after((key, seq): Position) -> Result<NextPage> {
    Ok(NextPage { key: key_text(key)?, seq })
}

fn tuple_page(TuplePage { tuples, next }: TuplePage, response: &mut ResponseBuilder) -> Result<FoundPage> {
    let found = tuples.into_iter().map(|found| tuple(found, response)).collect::<Result<_>>()?;
    Ok(FoundPage { found, next: next.map(page_after).transpose()? })
}

/// A thread in a listing: its root namespace. The next page of the listing continues after `cursor`.
#[derive(Serialize, TS)]
struct FoundThread {
    cursor: String,
    checkpoints: u64,
    latest: FoundHeader,
    status: Status,
}

fn thread_list(answer: Answer) -> Result<Option<Response>> {
    Response::list(answer.into_recent()?, |lineage, response| {
        let latest = header(&lineage.newest, response)?;
        let (cursor, checkpoints, status) = (lineage.seq.to_string(), lineage.checkpoints, lineage.status);
        Ok(FoundThread { cursor, checkpoints, latest, status })
    })
}
