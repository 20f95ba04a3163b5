//! The calls of `LangGraph`'s checkpoint saver, and their responses.

use serde::{Deserialize, Serialize};

use super::ops::{
    CheckpointRef, Described, Put, ancestors, claimed_id, delete, delete_thread, describe, get_tuple, list, outline,
    put, put_writes, take_paths, threads,
};
use crate::contract::call::{Buffers, RawCall, Request};
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::Result;
use crate::query::{ActivityOrder, Answer};
use crate::record::{self, Active, Header, Part, Tuple};

/// The calls, as `ts/contracts/langgraph/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The buffers are: one for each of `parts`, one for each of `like`, one for the metadata.
    Put {
        thread_id: String,
        namespace: String,
        id: String,
        parent: Option<String>,
        parts: Vec<Name>,
        inherit: Option<Vec<String>>,
        like: Option<Vec<Name>>,
        metadata_tag: String,
        mark: Option<String>,
        saved_at: i64,
        depends_on_parent: bool,
        only_child: bool,
        claims: bool,
    },
    /// The call has one buffer for each of `writes`.
    PutWrites {
        thread_id: String,
        namespace: String,
        id: String,
        task: String,
        path: Option<String>,
        writes: Vec<Write>,
        replace: bool,
    },
    /// Without an id, gets the latest checkpoint of the namespace.
    Get {
        thread_id: String,
        namespace: String,
        id: Option<String>,
    },
    /// Gets the parts and the writes of the latest checkpoint of the namespace that its status is read from: see
    /// [`outline`].
    Outline {
        thread_id: String,
        namespace: String,
    },
    /// Reads a page of a checkpoint and its ancestors, with the values and the writes of the given channels.
    Ancestors {
        checkpoint: CheckpointRef,
        channels: Vec<String>,
        limit: usize,
    },
    List {
        thread_id: Option<String>,
        namespace: Option<String>,
        before: Option<String>,
        limit: usize,
    },
    /// `after` is the cursor of the last thread on the previous page.
    Threads {
        latest_first: bool,
        after: Option<i64>,
        limit: usize,
    },
    DeleteThread {
        thread_id: String,
    },
    /// Removes checkpoints. The writes to the checkpoints in `reopen` become pending again.
    Delete {
        remove: Vec<CheckpointRef>,
        reopen: Vec<CheckpointRef>,
    },
}

/// The name and the tag of a part. A buffer of the call contains the bytes of the part.
#[derive(Deserialize)]
struct Name {
    name: String,
    tag: String,
}

impl Name {
    fn with(self, buffers: &mut Buffers) -> Result<Part> {
        Ok(Part { name: self.name, tag: self.tag, bytes: buffers.take()? })
    }
}

/// A write. A buffer of the call contains the value of the write. `claimed_by` is set only if a claimed write is
/// copied.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Write {
    index: i64,
    channel: String,
    tag: String,
    claimed_by: Option<String>,
}

impl Write {
    fn with(self, task: &str, buffers: &mut Buffers) -> Result<record::Write> {
        let part = Part { name: self.channel, tag: self.tag, bytes: buffers.take()? };
        Ok(record::Write { task: task.to_owned(), index: self.index, claimed_by: self.claimed_by, part })
    }
}

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Put {
            thread_id: thread,
            namespace,
            id,
            parent,
            parts,
            inherit,
            like,
            metadata_tag,
            mark,
            saved_at,
            depends_on_parent,
            only_child,
            claims,
        } => {
            let mut with =
                |names: Vec<Name>| names.into_iter().map(|name| name.with(&mut buffers)).collect::<Result<_>>();
            let (parts, like) = (with(parts)?, with(like.unwrap_or_default())?);
            Request::Apply(put(Put {
                checkpoint_ref: CheckpointRef { thread, namespace, id },
                parent,
                parts,
                inherit: inherit.unwrap_or_default(),
                like,
                metadata: (metadata_tag, buffers.take()?.to_vec()),
                mark,
                saved_at,
                depends_on_parent,
                only: only_child,
                claims,
            })?)
        }
        Call::PutWrites { thread_id: thread, namespace, id, task, path, writes, replace } => {
            let writes = writes.into_iter().map(|write| write.with(&task, &mut buffers)).collect::<Result<_>>()?;
            let checkpoint_ref = CheckpointRef { thread, namespace, id };
            Request::Apply(put_writes(&checkpoint_ref, writes, path.unwrap_or_default(), replace)?)
        }
        Call::Get { thread_id, namespace, id } => Request::ask(get_tuple(thread_id, namespace, id), found),
        Call::Outline { thread_id, namespace } => Request::ask(get_tuple(thread_id, namespace, None), outlined),
        Call::Ancestors { checkpoint, channels, limit } => Request::ask(ancestors(&checkpoint, channels, limit), all),
        Call::List { thread_id, namespace, before, limit } => {
            Request::ask(list(thread_id, namespace, before, limit), listed)
        }
        Call::Threads { latest_first, after, limit } => {
            let order = if latest_first { ActivityOrder::LatestFirst } else { ActivityOrder::EarliestFirst };
            Request::ask(threads(order, after, limit), thread_list)
        }
        Call::DeleteThread { thread_id } => Request::Apply(delete_thread(&thread_id)),
        Call::Delete { remove, reopen } => Request::Apply(delete(remove, reopen)),
    })
}

/// A checkpoint in a listing, without its payload.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    thread_id: String,
    namespace: String,
    id: String,
    parent: Option<String>,
    metadata: PackedPart,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    saved_at: i64,
    depends_on_parent: bool,
}

fn header(header: &Header, response: &mut ResponseBuilder) -> Result<Listed> {
    let Described { checkpoint_ref, parent, metadata: (tag, bytes), mark, depends_on_parent } = describe(header)?;
    Ok(Listed {
        thread_id: checkpoint_ref.thread,
        namespace: checkpoint_ref.namespace,
        id: checkpoint_ref.id,
        parent,
        metadata: response.part(Part { name: String::new(), tag, bytes: bytes.into() }),
        mark,
        saved_at: header.saved_at,
        depends_on_parent,
    })
}

/// A write in a response. The channel is the name of the write's part.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundWrite {
    task: String,
    index: i64,
    claimed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    part: PackedPart,
}

/// A checkpoint with its payload and its writes.
#[derive(Serialize)]
struct Found {
    header: Listed,
    parts: Vec<PackedPart>,
    writes: Vec<FoundWrite>,
}

fn tuple(Tuple { checkpoint, writes }: Tuple, response: &mut ResponseBuilder) -> Result<Found> {
    let checkpoint_ref = describe(&checkpoint.header)?.checkpoint_ref;
    let header = header(&checkpoint.header, response)?;
    let parts = response.parts(checkpoint.payload);
    let write = |(write, path): (record::Write, Option<String>)| FoundWrite {
        task: write.task,
        index: write.index,
        claimed_by: write.claimed_by.and_then(|key| claimed_id(&checkpoint_ref, &key)),
        path,
        part: response.part(write.part),
    };
    Ok(Found { header, parts, writes: take_paths(writes).into_iter().map(write).collect() })
}

fn found(answer: Answer) -> Result<Option<Response>> {
    answer.into_tuple()?.map(|found| one(*found)).transpose()
}

fn outlined(answer: Answer) -> Result<Option<Response>> {
    answer.into_tuple()?.map(|found| one(outline(*found))).transpose()
}

fn one(found: Tuple) -> Result<Response> {
    let mut response = ResponseBuilder::default();
    let found = tuple(found, &mut response)?;
    response.finish(&found)
}

fn all(answer: Answer) -> Result<Option<Response>> {
    let mut response = ResponseBuilder::default();
    let found = answer.into_tuples()?.into_iter().map(|found| tuple(found, &mut response));
    let found = found.collect::<Result<Vec<_>>>()?;
    response.finish(&found).map(Some)
}

fn listed(answer: Answer) -> Result<Option<Response>> {
    let mut response = ResponseBuilder::default();
    let found = answer.into_headers()?.into_iter().map(|found| header(&found, &mut response));
    let found = found.collect::<Result<Vec<_>>>()?;
    response.finish(&found).map(Some)
}

fn thread_list(answer: Answer) -> Result<Option<Response>> {
    /// The root namespace of a thread. The next page of the listing continues after `cursor`.
    #[derive(Serialize)]
    struct FoundThread {
        cursor: String,
        checkpoints: u64,
        latest: Listed,
    }
    let mut response = ResponseBuilder::default();
    let threads = answer.into_recent()?.into_iter().map(|Active { seq, lineage }| {
        let latest = header(&lineage.newest, &mut response)?;
        Ok(FoundThread { cursor: seq.to_string(), checkpoints: lineage.checkpoints, latest })
    });
    let threads = threads.collect::<Result<Vec<_>>>()?;
    response.finish(&threads).map(Some)
}
