//! Stores the checkpoints of threads and their writes, and reads their headers.

use std::collections::HashMap;

use crate::contract::call::{Buffers, PartName};
use crate::contract::entry::{Maker, Shown};
use crate::contract::ids::{MAX_ID_BYTES, damaged};
use crate::contract::incarnation::is_incarnation;
use crate::contract::thread::{self, CheckpointRef, Needs, NewStatus};
use crate::error::{Code, Error, Result};
use crate::op::{Expect, Must, Op, Unit};
use crate::record::{
    ContractId, Draft, Header, Labels, Order, Part, Payload, SortKey, Status, TaskState, Tuple, Write,
};
use bytes::Bytes;
use serde::Deserialize;
use ts_rs::TS;

pub const CONTRACT_ID: ContractId = ContractId(4);

/// The buffers are: one for each of `parts`, one for each of `like`, one for the metadata, those of `writes`.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of a call")]
pub struct Put {
    pub thread_id: String,
    pub namespace: String,
    pub id: String,
    /// The id of an earlier checkpoint of the graph. A subgraph's checkpoint must not sort before it.
    #[serde(default)]
    pub root: Option<String>,
    /// The id of the parent. The parent is in the same namespace.
    pub parent: Option<String>,
    /// The parts of the channels that changed, and the part with the rest of the checkpoint.
    pub parts: Vec<PartName>,
    /// The names of the parts of the channels that did not change.
    pub inherit: Option<Vec<String>>,
    /// The expected content of inherited parts, if the caller knows it. See [`Draft::like`].
    ///
    /// Needed by `updateState(config, null, "__copy__")`: the copy has the same parent as the copied checkpoint, whose
    /// values may differ from the parent's.
    pub like: Option<Vec<PartName>>,
    pub metadata_tag: String,
    /// Identifies the program that made the checkpoint. Contains no NUL.
    pub mark: Option<String>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
    /// True if a channel's value is computed from the writes of the checkpoint's ancestors.
    pub depends_on_parent: bool,
    /// True if the checkpoint must be the only child of its parent: `expectedParent`.
    pub only_child: bool,
    /// True if the caller has seen the parent. Then the parent or another checkpoint of the thread must be stored.
    /// Otherwise the thread was deleted, and a run that branches must not restore it.
    #[serde(default)]
    pub known: bool,
    /// If given, the thread must have this incarnation.
    #[serde(default)]
    #[ts(type = "Exact | undefined")]
    pub incarnation: Option<i64>,
    /// If given, the effects of the thread must have this incarnation. A run that has stored no checkpoint yet knows only
    /// its effects.
    #[serde(default)]
    #[ts(type = "Exact | undefined")]
    pub effects: Option<i64>,
    /// The status of the thread at this checkpoint, unless a task has stopped.
    #[ts(as = "NewStatus")]
    pub status: Status,
    /// True if the checkpoint claims the pending writes of its parent. A branch of the inspector leaves them pending.
    pub claims: bool,
    /// Writes to the parent. They are stored before the checkpoint, and only together with it.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub writes: Option<Vec<PutWrites>>,
}

/// `put`: stores a checkpoint, replaces one with the same id, and claims the pending writes of its parent.
///
/// If the checkpoint must be its parent's only child and the parent is no longer the latest checkpoint, another writer
/// has continued the thread, and the put fails with `CONFLICT`. The latest checkpoint is the one that was saved last.
/// Ids do not count: a clock that steps back makes ids that sort before earlier ones.
pub fn put(put: Put, buffers: &mut Buffers) -> Result<Unit> {
    let of = CheckpointRef { thread: put.thread_id, namespace: put.namespace, id: put.id };
    let key = check(&of)?;
    let (contract, inherit) = (CONTRACT_ID, put.inherit.unwrap_or_default());
    let parts = buffers.parts(put.parts)?;
    let like = buffers.parts(put.like.unwrap_or_default())?;
    let meta = meta_of(put.mark.as_deref(), &buffers.part("", put.metadata_tag)?)?;
    let parent = put.parent.as_ref().map(|id| thread::key(&of.thread, &of.namespace, id));
    let lineage = thread::lineage(&of.thread, &of.namespace);
    let expect = put.only_child.then(|| Expect::Newest {
        contract,
        lineage: lineage.clone(),
        newest: parent.clone(),
        or: key.clone(),
    });
    // Inherited parts are found by the name and version of their channel. Without the parent, another branch or a
    // restored history may have another value under the same name.
    let heir = parent.clone().filter(|_| !inherit.is_empty()).map(|id| Expect::Checkpoint {
        contract,
        id,
        must: Must::BeSavedSince(i64::MIN),
        otherwise: Error::new(Code::NotFound, "the parent of the checkpoint is not stored any more: save all channels"),
    });
    let known = put.parent.as_ref().filter(|_| put.known).map(|id| {
        let (thread, namespace, id) = (of.thread.clone(), of.namespace.clone(), id.clone());
        Needs::Thread.expect(contract, &CheckpointRef { thread, namespace, id })
    });
    let of_thread =
        |contract, position| is_incarnation(contract, thread::lineage(&of.thread, ""), position, "thread", &of.thread);
    let incarnation = put.incarnation.map(|position| of_thread(contract, position));
    let effects = put.effects.map(|position| of_thread(contract.effects(), position));
    let claim = parent.clone().filter(|_| put.claims).map(|id| Op::Claim { contract, id, claimed_by: key.clone() });
    let mut unit = Unit::default();
    for given in put.writes.into_iter().flatten() {
        unit.join(put_writes(given, buffers)?);
    }
    let header = Header {
        parent,
        group: thread::prefix(&of.thread),
        sort_key: SortKey(put.root.filter(|root| *root > of.id).unwrap_or(of.id).into_bytes()),
        saved_at: put.saved_at,
        depends_on_parent: put.depends_on_parent,
        status: put.status,
        meta,
        ..Header::new(contract, lineage, key)
    };
    let draft = Draft {
        header,
        payload: Payload { parts },
        inherit,
        like,
        logs: Vec::new(),
        labels: Labels::default(),
        order: Order::Save,
        encoded: None,
    };
    unit.expect.extend(expect.into_iter().chain(known).chain(incarnation).chain(effects).chain(heir));
    unit.ops.extend([Op::Put(Box::new(draft))].into_iter().chain(claim));
    Ok(unit)
}

/// The first byte of a meta with a mark. No serializer's tag begins with this byte.
const MARKED: u8 = 1;

fn meta_of(mark: Option<&str>, metadata: &Part) -> Result<Vec<u8>> {
    let metadata = thread::meta(metadata);
    match mark {
        Some(mark) if mark.contains('\0') => Err(Error::invalid("the mark of a checkpoint contains NUL")),
        Some(mark) => Ok([&[MARKED], mark.as_bytes(), &[0], &metadata].concat()),
        None => Ok(metadata),
    }
}

pub(super) fn read_meta(header: &Header) -> Result<(Part, Option<String>)> {
    let read = || {
        let (mark, meta) = match header.meta.strip_prefix(&[MARKED]) {
            Some(mut meta) => (Some(thread::take_text(&mut meta)?.to_owned()), meta),
            None => (None, &*header.meta),
        };
        Some((thread::read_meta(meta)?, mark))
    };
    read().ok_or_else(|| damaged(&header.id))
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let (metadata, mark) = read_meta(header)?;
    let maker = mark.as_deref().map(Maker::in_mark).unwrap_or_default();
    Ok(Shown { serialized: Some(metadata), maker, mark, ..Shown::default() })
}

/// Writes of a task to a checkpoint. Each of `writes` has a buffer. Fails with `CONFLICT` if the slot `free` is taken.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutWrites {
    thread_id: String,
    namespace: String,
    id: String,
    task: String,
    /// The path of the task in the graph. Missing if the framework gave none.
    path: Option<String>,
    writes: Vec<NewWrite>,
    /// True if a write replaces an earlier write in the same slot.
    replace: bool,
    /// The data that must be stored. Missing: none.
    #[serde(default)]
    #[ts(optional = nullable)]
    needs: Option<Needs>,
    /// The task's slot that must have no unclaimed write.
    #[serde(default)]
    #[ts(optional = nullable)]
    free: Option<i64>,
}

/// A write. Its index is its slot within the task.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewWrite {
    index: i64,
    channel: String,
    tag: String,
    /// The id of the checkpoint in the same namespace that was made from the write. Only copied writes have one.
    claimed_by: Option<String>,
}

/// `putWrites`: stores writes of a task to a checkpoint. Fails with `CONFLICT` if the slot `free` is taken.
///
/// The path of the task is stored as one more write, in its own slot, so that it stays with the task's other writes.
/// [`take_paths`] removes it again.
pub(super) fn put_writes(given: PutWrites, buffers: &mut Buffers) -> Result<Unit> {
    let PutWrites { thread_id: thread, namespace, id, task, path, writes, replace, needs, free } = given;
    let of = CheckpointRef { thread, namespace, id };
    let write = |NewWrite { index, channel, tag, claimed_by }: NewWrite| {
        let claimed_by = claimed_by.map(|id| thread::key(&of.thread, &of.namespace, &id));
        let state = state_of(&task, &channel);
        Ok(Write { task: task.clone(), index, claimed_by, state, part: buffers.part(channel, tag)? })
    };
    let mut writes = writes.into_iter().map(write).collect::<Result<Vec<_>>>()?;
    if let Some((write, path)) = writes.first().zip(path.filter(|path| !path.is_empty())) {
        let part = Part { name: String::new(), tag: String::new(), bytes: path.into_bytes().into() };
        let (task, claimed_by) = (write.task.clone(), write.claimed_by.clone());
        writes.push(Write { task, index: PATH, claimed_by, state: TaskState::default(), part });
    }
    let (contract, id) = (CONTRACT_ID, check(&of)?);
    let needs = needs.map(|needs| needs.expect(contract, &of));
    let free = free.map(|index| Expect::FreeSlot { contract, id: id.clone(), task, index });
    let ops = vec![Op::Write { contract, id, writes, replace, encoded: None }];
    Ok(Unit { expect: needs.into_iter().chain(free).collect(), ops })
}

/// The task id of writes without a task, such as the answer of `new Command({ resume })`.
const NO_TASK: &str = "00000000-0000-0000-0000-000000000000";

/// The state of a task after a write, by the write's channel.
fn state_of(task: &str, channel: &str) -> TaskState {
    match (task, channel) {
        (NO_TASK, "__resume__") => TaskState::ANSWERS,
        (NO_TASK, _) | (_, "__resume__" | "__scheduled__") => TaskState::default(),
        (_, "__error__") => TaskState::FAILED,
        // LangGraph runs an error handler as a separate task.
        (_, "__error_source_node__") => TaskState::HANDLED,
        (_, "__interrupt__") => TaskState::ASKS,
        _ => TaskState::ENDED,
    }
}

/// A part of an imported thread. The buffers are those of `writes`, then those of `puts`. Fails with `CONFLICT` unless
/// each namespace of `expect` has this newest checkpoint.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Import {
    thread_id: String,
    /// The newest checkpoints when the importer read them.
    expect: Vec<NewestOf>,
    /// True if the stored thread is removed first.
    replace: bool,
    /// The writes are stored first, so that the checkpoints can claim them.
    writes: Vec<PutWrites>,
    puts: Vec<Put>,
}

/// The newest checkpoint of a namespace of the thread. `None`: the namespace has no checkpoint.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewestOf {
    namespace: String,
    newest: Option<String>,
}

/// `import`: stores checkpoints and writes of a thread, all or nothing.
///
/// Fails with `CONFLICT` if a namespace has another newest checkpoint than the importer read, because a program has
/// continued the thread.
pub(super) fn import(given: Import, buffers: &mut Buffers) -> Result<Unit> {
    let Import { thread_id, expect, replace, writes, puts } = given;
    let mut unit = if replace { thread::remove(CONTRACT_ID, &thread_id) } else { Unit::default() };
    for NewestOf { namespace, newest } in expect {
        let newest = newest.map(|id| thread::key(&thread_id, &namespace, &id));
        let lineage = thread::lineage(&thread_id, &namespace);
        let or = newest.clone().unwrap_or_default();
        unit.expect.push(Expect::Newest { contract: CONTRACT_ID, lineage, newest, or });
    }
    for given in writes {
        unit.join(put_writes(given, buffers)?);
    }
    for given in puts {
        let mut put = put(given, buffers)?;
        // Imported checkpoints go to their position in the history, which may be before stored ones.
        for op in &mut put.ops {
            if let Op::Put(draft) = op {
                draft.order = Order::SortKey;
            }
        }
        unit.join(put);
    }
    Ok(unit)
}

/// The slot of the write with the path of a task. The name of its part is empty, unlike any channel's name.
const PATH: i64 = i64::MIN;

/// Separates the paths of tasks from the other writes to a checkpoint. Returns each other write with its task's path.
pub fn take_paths(writes: Vec<Write>) -> Vec<(Write, Option<String>)> {
    let (paths, writes): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|write| write.index == PATH);
    let paths: HashMap<(&str, Option<&str>), &Write> =
        paths.iter().rev().map(|path| ((&*path.task, path.claimed_by.as_deref()), path)).collect();
    let of = |write: &Write| {
        let path = paths.get(&(&*write.task, write.claimed_by.as_deref()))?;
        Some(String::from_utf8_lossy(&path.part.bytes).into_owned())
    };
    writes.into_iter().map(|write| (of(&write), write)).map(|(path, write)| (write, path)).collect()
}

fn check(of: &CheckpointRef) -> Result<String> {
    of.checked_key(["thread_id", "checkpoint_ns", "checkpoint_id"], MAX_ID_BYTES)
}

/// The prefixes of the channels that determine the next nodes: `__start__`, `__pregel_tasks` (sends), and the channels
/// that lead to a node.
const STEERING: [&str; 4] = ["__start__", "__pregel_tasks", "branch:to:", "join:"];

/// The channels of writes whose values show whether a task failed, asked or was answered. The last one records answers.
const TELLING: [&str; 4] = ["__error__", "__interrupt__", "__resume__", "__forkpoint_answers__"];

/// Reduces a checkpoint to the data for its status: the part with the rest of the checkpoint, the channels that
/// determine the next nodes, and the writes. Other writes lose their values: their existence suffices.
pub(super) fn outline(mut tuple: Tuple) -> Tuple {
    let steers = |stem: &str| STEERING.iter().any(|channel| stem.starts_with(channel));
    tuple.checkpoint.payload.parts.retain(|part| part.stem().is_none_or(steers));
    for write in &mut tuple.writes {
        if !TELLING.contains(&&*write.part.name) && write.index != PATH {
            write.part.bytes = Bytes::new().into();
        }
    }
    tuple
}
