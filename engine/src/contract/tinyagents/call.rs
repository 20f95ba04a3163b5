//! The calls of `TinyAgents`' checkpointer, and their responses.

use serde::{Deserialize, Serialize};

use super::ops::{Place, Put, delete, delete_thread, get, latest, list, load, metadata, namespaces, put, put_writes};
use crate::contract::call::{Buffers, RawCall, Request};
use crate::contract::ids::damaged;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::thread::{self, ThreadNamespace};
use crate::error::Result;
use crate::query::Answer;
use crate::record::{self, Header, Part, Tuple};

/// The calls, as `ts/contracts/tinyagents/wire.ts` declares them. A namespace is a JSON text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The call has one buffer for each of `parts`, and one for the metadata.
    Put {
        thread_id: String,
        namespace: String,
        id: String,
        again: Option<String>,
        parent: Option<String>,
        parent_key: Option<String>,
        parts: Vec<Name>,
        metadata_tag: String,
        saved_at: i64,
        depends_on_parent: bool,
        expects_parent: bool,
    },
    /// The call has one buffer for each of `writes`.
    PutWrites {
        thread_id: String,
        namespace: String,
        id: String,
        writes: Vec<GivenWrite>,
    },
    /// Without an id, reads the checkpoint that was put last.
    Get {
        thread_id: String,
        namespace: String,
        id: Option<String>,
    },
    /// Finds the checkpoint of a thread that was put last, in whichever namespace. With an id, the last one of this id.
    Locate {
        thread_id: String,
        id: Option<String>,
    },
    /// `key` is the store's id of the checkpoint.
    Load {
        key: String,
    },
    /// Without a namespace, lists all namespaces of the thread.
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
    /// `keys` are the store's ids of checkpoints.
    Delete {
        keys: Vec<String>,
    },
}

/// The name and the tag of a part. A buffer of the call contains the bytes of the part.
#[derive(Deserialize)]
struct Name {
    name: String,
    tag: String,
}

/// A write. A buffer of the call contains the value of the write.
#[derive(Deserialize)]
struct GivenWrite {
    task: String,
    index: i64,
    /// The node and the channel, as a JSON text.
    name: String,
    tag: String,
}

impl GivenWrite {
    fn with(self, buffers: &mut Buffers) -> Result<record::Write> {
        let part = Part { name: self.name, tag: self.tag, bytes: buffers.take()? };
        Ok(record::Write { task: self.task, index: self.index, claimed_by: None, part })
    }
}

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Put {
            thread_id: thread,
            namespace,
            id,
            again,
            parent,
            parent_key,
            parts,
            metadata_tag,
            saved_at,
            depends_on_parent,
            expects_parent,
        } => {
            let part = |Name { name, tag }| Ok(Part { name, tag, bytes: buffers.take()? });
            let parts = parts.into_iter().map(part).collect::<Result<_>>()?;
            Request::Apply(put(Put {
                place: Place { of: ThreadNamespace { thread, namespace }, id },
                again,
                parent,
                parent_key,
                parts,
                metadata: (metadata_tag, buffers.take()?.to_vec()),
                saved_at,
                depends_on_parent,
                expects_parent,
            })?)
        }
        Call::PutWrites { thread_id: thread, namespace, id, writes } => {
            let writes = writes.into_iter().map(|write| write.with(&mut buffers)).collect::<Result<Vec<_>>>()?;
            let (once, replacing) = writes.into_iter().partition(|write| write.index >= 0);
            Request::Apply(put_writes(&Place { of: ThreadNamespace { thread, namespace }, id }, once, replacing)?)
        }
        Call::Get { thread_id: thread, namespace, id } => {
            let of = ThreadNamespace { thread, namespace };
            match id {
                Some(id) => Request::ask(get(&Place { of, id }), with_later),
                None => Request::ask(latest(&of), found),
            }
        }
        Call::Locate { thread_id, id } => {
            // Ids have no index across namespaces, so the headers of the thread are read.
            let limit = id.is_none().then_some(1);
            Request::ask(list(&thread_id, None, limit), move |answer| located(answer, id.as_deref()))
        }
        Call::Load { key } => Request::ask(load(key), found),
        Call::List { thread_id, namespace } => Request::ask(list(&thread_id, namespace, None), listed),
        Call::Namespaces { before, limit } => Request::ask(namespaces(before, limit), namespace_list),
        Call::DeleteThread { thread_id } => Request::Apply(delete_thread(&thread_id)),
        Call::Delete { keys } => Request::Apply(delete(keys)),
    })
}

/// A checkpoint in a listing, without its payload. `key` is the store's id of the checkpoint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    key: String,
    thread_id: String,
    namespace: String,
    id: String,
    parent: Option<String>,
    metadata: PackedPart,
    saved_at: i64,
    depends_on_parent: bool,
    /// True if the id was put before.
    again: bool,
}

fn shown(header: Header, response: &mut ResponseBuilder) -> Result<Listed> {
    let damaged = || damaged(&header.id);
    let of = thread::split(&header.lineage).ok_or_else(damaged)?;
    let parent = match &header.parent {
        Some(key) => Some(thread::split_key(key).ok_or_else(damaged)?.1),
        None => None,
    };
    Ok(Listed {
        metadata: response.part(metadata(&header)?),
        key: header.id,
        thread_id: of.thread,
        namespace: of.namespace,
        id: header.label,
        parent,
        saved_at: header.saved_at,
        depends_on_parent: header.depends_on_parent,
        again: !header.group.is_empty(),
    })
}

/// A write in a response. `part.name` is the node and the channel, as a JSON text.
#[derive(Serialize)]
struct FoundWrite {
    task: String,
    index: i64,
    part: PackedPart,
}

/// A checkpoint with its payload and its writes. `later` is the store's id of a later checkpoint of the same id.
#[derive(Serialize)]
struct Found {
    header: Listed,
    parts: Vec<PackedPart>,
    writes: Vec<FoundWrite>,
}

/// What is stored for an id: its first checkpoint, and the store's id of its last one, if there is more than one.
#[derive(Serialize)]
struct FoundId {
    first: Option<Found>,
    later: Option<String>,
}

fn tuple(Tuple { checkpoint, writes }: Tuple, response: &mut ResponseBuilder) -> Result<Found> {
    let header = shown(checkpoint.header, response)?;
    let parts = response.parts(checkpoint.payload);
    let write = |record::Write { task, index, part, .. }| FoundWrite { task, index, part: response.part(part) };
    Ok(Found { header, parts, writes: writes.into_iter().map(write).collect() })
}

fn found(answer: Answer) -> Result<Option<Response>> {
    let Some(found) = answer.into_tuple()? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let first = Some(tuple(*found, &mut response)?);
    response.finish(&FoundId { first, later: None }).map(Some)
}

fn with_later(answer: Answer) -> Result<Option<Response>> {
    let [found, later] = answer.into_all()?;
    let mut response = ResponseBuilder::default();
    let first = found.into_tuple()?.map(|found| tuple(*found, &mut response)).transpose()?;
    let later = later.into_headers()?.pop();
    // A later checkpoint outlives the first one if retention removes the first. The id may then be free again.
    let later = later.filter(|later| first.as_ref().is_none_or(|first| first.header.saved_at <= later.saved_at));
    let later = later.map(|header| header.id);
    if first.is_none() && later.is_none() {
        return Ok(None);
    }
    response.finish(&FoundId { first, later }).map(Some)
}

fn listed(answer: Answer) -> Result<Option<Response>> {
    let mut response = ResponseBuilder::default();
    let found = answer.into_headers()?.into_iter().map(|header| shown(header, &mut response));
    let found = found.collect::<Result<Vec<_>>>()?;
    response.finish(&found).map(Some)
}

/// Finds the checkpoint that was put last among headers, the newest first.
fn located(answer: Answer, id: Option<&str>) -> Result<Option<Response>> {
    #[derive(Serialize)]
    struct Located {
        namespace: String,
        id: String,
    }
    let mut headers = answer.into_headers()?.into_iter();
    let Some(header) = headers.find(|header| id.is_none_or(|id| id == header.label)) else { return Ok(None) };
    let of = thread::split(&header.lineage).ok_or_else(|| damaged(&header.id))?;
    Response::json(&Located { namespace: of.namespace, id: header.label }).map(Some)
}

fn namespace_list(answer: Answer) -> Result<Option<Response>> {
    /// A namespace of a thread. `cursor` is the position from which the next page of the listing continues.
    #[derive(Serialize)]
    struct Listed {
        cursor: String,
        #[serde(flatten)]
        of: ThreadNamespace,
    }
    let found = answer.into_lineages()?.into_iter().map(|found| {
        let of = thread::split(&found.newest.lineage).ok_or_else(|| damaged(&found.newest.id))?;
        Ok(Listed { cursor: found.position.to_string(), of })
    });
    Response::json(&found.collect::<Result<Vec<_>>>()?).map(Some)
}
