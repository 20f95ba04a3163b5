//! Stores the checkpoints of threads and their writes, and reads their headers.

use crate::contract::call::{Buffers, PartName};
use crate::contract::entry::{Names, Shown};
use crate::contract::ids::{MAX_ID_BYTES, damaged};
use crate::contract::incarnation::is_incarnation;
use crate::contract::thread::{self, CheckpointRef, Needs, NewStatus};
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::record::{ContractId, Header, Part, Status, TaskState, Write};
use serde::Deserialize;
use ts_rs::TS;

pub const CONTRACT_ID: ContractId = ContractId(7);

/// The number of bytes reserved for the suffix of a later checkpoint with the same id.
const SUFFIX_BYTES: usize = 64;

fn check(of: &CheckpointRef) -> Result<String> {
    // Leave room for the suffix of a later checkpoint with the same id.
    of.checked_key(["threadId", "namespace", "checkpointId"], MAX_ID_BYTES - SUFFIX_BYTES)
}

/// The buffers are: one for each of `parts`, and the metadata, which has the fields of listings.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Put {
    thread_id: String,
    /// A JSON text. Empty for the graph itself.
    namespace: String,
    id: String,
    /// `None`: the checkpoint must be the first one of its id. Otherwise a text that is unique among the checkpoints of
    /// this id.
    again: Option<String>,
    /// The id of the parent, which is in the same namespace.
    parent: Option<String>,
    /// The engine's id of the parent, if the parent's id was put again. Only `expects_parent` uses it.
    parent_key: Option<String>,
    /// The state, and the rest of the checkpoint.
    parts: Vec<PartName>,
    metadata_tag: String,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    saved_at: i64,
    /// True if the checkpoint cannot be read without its parent.
    depends_on_parent: bool,
    /// True if the parent must be the latest checkpoint of the namespace.
    expects_parent: bool,
    /// If given, the namespace must have this incarnation.
    #[serde(default)]
    #[ts(type = "Exact | undefined")]
    incarnation: Option<i64>,
    /// The status of the thread at this checkpoint, unless a task has stopped.
    #[ts(as = "NewStatus")]
    status: Status,
}

/// `put`: appends a checkpoint. The first attempt fails with [`Code::Conflict`] if its id was put before.
pub(super) fn put(put: Put, buffers: &mut Buffers) -> Result<Unit> {
    let of = CheckpointRef { thread: put.thread_id, namespace: put.namespace, id: put.id };
    let key = check(&of)?;
    let parts = buffers.parts(put.parts)?;
    let meta = thread::meta(&buffers.part("", put.metadata_tag)?);
    let (id, group) = match put.again {
        Some(suffix) => (format!("{key}\0{suffix}"), key),
        None => (key, String::new()),
    };
    let parent = put.parent.map(|parent| thread::key(&of.thread, &of.namespace, &parent));
    let (contract, lineage) = (CONTRACT_ID, thread::lineage(&of.thread, &of.namespace));
    let mut conditions = Vec::new();
    if group.is_empty() {
        let otherwise = Error::new(Code::Conflict, format!("checkpoint {} already exists", quote(&of.id)));
        let must = Must::NotBeSavedSince(i64::MIN);
        conditions.push(Expect::Checkpoint { contract, id: id.clone(), must, otherwise });
    }
    if put.expects_parent {
        let (lineage, newest, or) = (lineage.clone(), parent.clone(), put.parent_key.unwrap_or_else(|| id.clone()));
        conditions.push(Expect::Newest { contract, lineage, newest, or });
    }
    conditions.extend(put.incarnation.map(|position| has_incarnation(&of, position)));
    let header = Header {
        parent,
        group,
        label: of.id,
        saved_at: put.saved_at,
        depends_on_parent: put.depends_on_parent,
        status: put.status,
        meta,
        ..Header::new(contract, lineage, id)
    };
    Ok(Unit { expect: conditions, ops: vec![Op::put(header, parts)] })
}

fn has_incarnation(of: &CheckpointRef, position: i64) -> Expect {
    is_incarnation(CONTRACT_ID, thread::lineage(&of.thread, &of.namespace), position, "thread", &of.thread)
}

/// The state of a task after a write, by `TinyAgents`' index of the write.
pub(super) fn state_of(index: i64) -> TaskState {
    match index {
        0.. => TaskState::ENDED,
        -1 => TaskState::HANDLED, // RESUME
        -2 => TaskState::FAILED,  // ERROR
        -3 => TaskState::ASKS,    // INTERRUPT
        _ => TaskState::default(),
    }
}

/// The suffix of the names of answer records. A name is the node and the channel, as JSON.
const ANSWERS: &str = ",\"__forkpoint_answers__\"]";

/// `putWrites`: stores pending writes. `once` are stored only if their slots are free. `replacing` replace the content
/// of their slots, except records of answers: if there is another answer, the call stores nothing and fails with
/// [`Code::Conflict`]. `incarnation` is the expected incarnation of the namespace.
pub(super) fn put_writes(
    of: &CheckpointRef,
    once: Vec<Write>,
    replacing: Vec<Write>,
    needs: Option<Needs>,
    incarnation: Option<i64>,
) -> Result<Unit> {
    let (contract, id) = (CONTRACT_ID, check(of)?);
    let free = |Write { task, index, .. }: &Write| Expect::FreeSlot {
        contract,
        id: id.clone(),
        task: task.clone(),
        index: *index,
    };
    let needs = match (incarnation, needs) {
        (Some(position), _) => Some(has_incarnation(of, position)),
        (None, needs) => needs.map(|needs| needs.expect(contract, of)),
    };
    let records = replacing.iter().filter(|write| write.part.name.ends_with(ANSWERS)).map(free);
    let expect = needs.into_iter().chain(records).collect();
    let ops = [(once, false), (replacing, true)].into_iter().filter(|(writes, _)| !writes.is_empty());
    let op = |(writes, replace)| Op::Write { contract, id: id.clone(), writes, replace, encoded: None };
    Ok(Unit { expect, ops: ops.map(op).collect() })
}

/// Converts the engine's lineage and id into the thread, the namespace and the checkpoint id.
pub(super) fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let mut names = thread::name_of(lineage, id);
    if let Some(id) = &mut names.id {
        // Remove the suffix of a later checkpoint with the same id.
        id.truncate(id.find('\0').unwrap_or(id.len()));
    }
    names
}

/// Returns the fields that listings show.
pub(super) fn metadata(header: &Header) -> Result<Part> {
    thread::read_meta(&header.meta).ok_or_else(|| damaged(&header.id))
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    Ok(Shown { serialized: Some(metadata(header)?), ..Shown::default() })
}
