//! The units and queries of threads.

use crate::contract::entry::{Names, Shown};
use crate::contract::ids::{MAX_ID_BYTES, check_id, damaged};
use crate::contract::thread;
use crate::error::{Code, Error, Result};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{ActivityOrder, Ancestors, Of, Pick, Query, Recent};
use crate::record::{ContractId, Draft, Header, Part, Payload, Seq, SortKey, Tuple, Write};
use bytes::Bytes;
use serde::Deserialize;

pub const CONTRACT_ID: ContractId = ContractId(4);

/// Identifies a checkpoint: `thread_id`, `checkpoint_ns`, `checkpoint_id`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CheckpointRef {
    #[serde(rename = "threadId")]
    pub thread: String,
    /// The namespace in the thread. The empty namespace belongs to the graph itself.
    pub namespace: String,
    /// The id of the checkpoint, unique in the namespace.
    pub id: String,
}

impl CheckpointRef {
    /// Returns the group of a thread. Each thread has its own group. The name of a group is never the beginning of
    /// another group's name.
    fn group(thread: &str) -> String {
        thread::prefix(thread)
    }

    /// Returns the lineage of a namespace of a thread.
    fn lineage(thread: &str, namespace: &str) -> String {
        thread::lineage(thread, namespace)
    }

    /// Returns the store's id for the checkpoint `id` of the same namespace.
    fn key(&self, id: &str) -> String {
        thread::key(&self.thread, &self.namespace, id)
    }

    /// Reads the reference from a checkpoint's header.
    fn read(header: &Header) -> Option<Self> {
        let thread = header.group.split_once(':')?.1.to_owned();
        let namespace = header.lineage.strip_prefix(&header.group)?.to_owned();
        let id = String::from_utf8(header.sort_key.0.clone()).ok()?;
        Some(Self { thread, namespace, id })
    }
}

#[derive(Clone, Debug)]
pub struct Put {
    /// The checkpoint's thread, namespace and id.
    pub checkpoint_ref: CheckpointRef,
    /// The id of the parent. The parent is in the same namespace.
    pub parent: Option<String>,
    /// The parts of the channels that changed, and the part with the rest of the checkpoint.
    pub parts: Vec<Part>,
    /// The names of the parts of the channels that did not change.
    pub inherit: Vec<String>,
    /// The expected content of inherited parts, if the caller knows it. See [`Draft::like`].
    ///
    /// `updateState(config, null, "__copy__")` needs this field. The copy has the same parent as the copied checkpoint.
    /// That parent may have other values than the copied checkpoint.
    pub like: Vec<Part>,
    /// The metadata: the serializer's tag and bytes.
    pub metadata: (String, Vec<u8>),
    /// Says who made the checkpoint. Has no NUL.
    pub mark: Option<String>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
    /// True if the value of some channel is computed from the writes of the checkpoint's ancestors.
    pub depends_on_parent: bool,
    /// True if the checkpoint must be the only child of its parent: `expectedParent`.
    pub only: bool,
    /// True if the checkpoint claims the pending writes of its parent. A branch that the inspector makes leaves them pending.
    pub claims: bool,
}

/// `put`: stores a checkpoint and claims the pending writes of its parent. The checkpoint replaces a checkpoint with
/// the same id.
///
/// A checkpoint that must be its parent's only child (D7) is refused with `CONFLICT` if the parent is no longer the
/// latest checkpoint, because another writer has then continued the thread. The checkpoint's id must sort after the
/// parent's id, so that the checkpoint becomes the latest and the next writer sees it.
pub fn put(put: Put) -> Result<Unit> {
    let Put { checkpoint_ref, parent, parts, inherit, like, metadata, mark, saved_at, depends_on_parent, only, claims } =
        put;
    let key = check(&checkpoint_ref)?;
    if let Some(parent) = parent.as_ref().filter(|parent| only && **parent >= checkpoint_ref.id) {
        let message = format!(
            "checkpoint {:?} of thread {:?} is not after its parent {parent:?}. Ids sort by time, so the clock here is behind the \
             clock that made the parent: set the clocks and try again",
            checkpoint_ref.id, checkpoint_ref.thread
        );
        return Err(Error::new(Code::Conflict, message));
    }
    let parent = parent.map(|id| checkpoint_ref.key(&id));
    let lineage = CheckpointRef::lineage(&checkpoint_ref.thread, &checkpoint_ref.namespace);
    let expect = only.then(|| Expect::Newest {
        contract: CONTRACT_ID,
        lineage: lineage.clone(),
        newest: parent.clone(),
        or: key.clone(),
    });
    // A part has the name and the version of its channel. Without the parent, another branch, or a history that a restore has
    // brought back, may have another value under the same name.
    let heir = parent.clone().filter(|_| !inherit.is_empty()).map(|id| Expect::Checkpoint {
        contract: CONTRACT_ID,
        id,
        must: Must::BeSavedSince(i64::MIN),
        otherwise: Error::new(Code::NotFound, "the parent of the checkpoint is not stored any more: save all channels"),
    });
    let claim =
        parent.clone().filter(|_| claims).map(|id| Op::Claim { contract: CONTRACT_ID, id, claimed_by: key.clone() });
    let header = Header {
        parent,
        group: CheckpointRef::group(&checkpoint_ref.thread),
        sort_key: SortKey(checkpoint_ref.id.into_bytes()),
        saved_at,
        depends_on_parent,
        meta: meta_of(mark.as_deref(), &metadata)?,
        ..Header::new(CONTRACT_ID, lineage, key)
    };
    let draft = Draft { header, payload: Payload { parts }, inherit, like, logs: Vec::new(), encoded: None };
    Ok(Unit {
        expect: expect.into_iter().chain(heir).collect(),
        ops: [Op::Put(Box::new(draft))].into_iter().chain(claim).collect(),
    })
}

/// The first byte of the meta of a checkpoint with a mark. No serializer's tag begins with it.
const MARKED: u8 = 1;

/// Makes the meta of a checkpoint.
fn meta_of(mark: Option<&str>, (tag, bytes): &(String, Vec<u8>)) -> Result<Vec<u8>> {
    let metadata = [tag.as_bytes(), &[0], bytes].concat();
    match mark {
        Some(mark) if mark.contains('\0') => Err(Error::invalid("the mark of a checkpoint contains NUL")),
        Some(mark) => Ok([&[MARKED], mark.as_bytes(), &[0], &metadata].concat()),
        None => Ok(metadata),
    }
}

/// Takes the text before the first NUL off the meta of a checkpoint.
fn text_of<'a>(meta: &mut &'a [u8]) -> Option<&'a str> {
    let end = meta.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&meta[..end]).ok()?;
    *meta = &meta[end + 1..];
    Some(text)
}

/// `putWrites`: stores writes of a task to a checkpoint. Each write has a slot within its task, and a part with the
/// value.
///
/// With `replace`, a write replaces an earlier write in the same slot. A copied write may be claimed already. The claim
/// then contains the id of a checkpoint in the same namespace.
///
/// `path` is the path of the task in the graph. It is empty if the framework gave none. The path is stored as one more
/// write, in a slot of its own, so that it stays with the task's other writes. [`take_paths`] takes it out again.
pub fn put_writes(checkpoint_ref: &CheckpointRef, mut writes: Vec<Write>, path: String, replace: bool) -> Result<Unit> {
    if let Some(write) = writes.first().filter(|_| !path.is_empty()) {
        let part = Part { name: String::new(), tag: String::new(), bytes: path.into_bytes().into() };
        writes.push(Write { task: write.task.clone(), index: PATH, claimed_by: write.claimed_by.clone(), part });
    }
    for write in &mut writes {
        write.claimed_by = write.claimed_by.take().map(|id| checkpoint_ref.key(&id));
    }
    Ok(vec![Op::Write { contract: CONTRACT_ID, id: check(checkpoint_ref)?, writes, replace, encoded: None }].into())
}

/// The slot of the write that holds the path of a task. The name of its part is empty, which no channel's name is.
const PATH: i64 = i64::MIN;

/// Takes the paths of tasks out of the writes to a checkpoint. Returns each of the other writes with the path of its
/// task.
pub fn take_paths(writes: Vec<Write>) -> Vec<(Write, Option<String>)> {
    let (paths, writes): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|write| write.index == PATH);
    let of = |write: &Write| {
        let same = |path: &&Write| (&path.task, &path.claimed_by) == (&write.task, &write.claimed_by);
        paths.iter().find(same).map(|path| String::from_utf8_lossy(&path.part.bytes).into_owned())
    };
    writes.into_iter().map(|write| (of(&write), write)).map(|(path, write)| (write, path)).collect()
}

/// Returns the store's id of a checkpoint. Refuses ids that are empty or too long.
fn check(checkpoint_ref: &CheckpointRef) -> Result<String> {
    check_id("thread_id", &checkpoint_ref.thread)?;
    check_id("checkpoint_id", &checkpoint_ref.id)?;
    let key = checkpoint_ref.key(&checkpoint_ref.id);
    if key.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "thread_id, checkpoint_ns and checkpoint_id have {} bytes together, and may have at most {MAX_ID_BYTES}: give \
             shorter ones",
            key.len()
        )));
    }
    Ok(key)
}

/// `getTuple`: reads a checkpoint. Without an id, reads the latest checkpoint of the namespace.
pub fn get_tuple(thread: String, namespace: String, id: Option<String>) -> Query {
    let pick = match id {
        Some(id) => Pick::Id(CheckpointRef { thread, namespace, id: String::new() }.key(&id)),
        None => Pick::Newest(CheckpointRef::lineage(&thread, &namespace)),
    };
    Query::Tuple { contract: CONTRACT_ID, pick }
}

/// The beginnings of the channels that decide which nodes run next: `__start__`, `__pregel_tasks` (sends), and the
/// channels that lead to a node.
const STEERING: [&str; 4] = ["__start__", "__pregel_tasks", "branch:to:", "join:"];

/// The channels of writes whose values tell whether a task failed, asked or was answered.
const TELLING: [&str; 3] = ["__error__", "__interrupt__", "__resume__"];

/// Reduces a checkpoint to what its status is read from: the part with the rest of the checkpoint, the channels that
/// decide which nodes run next, and the writes. Writes to other channels lose their values, because their existence is
/// enough.
pub fn outline(mut tuple: Tuple) -> Tuple {
    let steers = |stem: &str| STEERING.iter().any(|channel| stem.starts_with(channel));
    tuple.checkpoint.payload.parts.retain(|part| part.stem().is_none_or(steers));
    for write in &mut tuple.writes {
        if !TELLING.contains(&&*write.part.name) && write.index != PATH {
            write.part.bytes = Bytes::new().into();
        }
    }
    tuple
}

/// Reads a page of a checkpoint and its ancestors. The checkpoint comes first. The page ends when the value of each
/// channel has been found. Each checkpoint of the page contains only the values and the writes of these channels.
pub fn ancestors(checkpoint_ref: &CheckpointRef, channels: Vec<String>, limit: usize) -> Query {
    let id = checkpoint_ref.key(&checkpoint_ref.id);
    // The paths of the tasks have an empty name.
    let writes = channels.iter().cloned().chain([String::new()]).collect();
    Query::Ancestors(Ancestors { contract: CONTRACT_ID, id, stems: channels, writes, limit })
}

/// `list`: reads a page of the checkpoints of a namespace, of a thread, or of all threads. The newest id comes first.
pub fn list(thread: Option<String>, namespace: Option<String>, before: Option<String>, limit: usize) -> Query {
    let of = match (thread, namespace) {
        (Some(thread), Some(namespace)) => Of::Lineage(CheckpointRef::lineage(&thread, &namespace)),
        (Some(thread), None) => Of::Lineages(CheckpointRef::group(&thread)),
        (None, _) => Of::Contract,
    };
    let before = before.map(|id| SortKey(id.into_bytes()));
    Query::List { contract: CONTRACT_ID, of, before, limit: Some(limit) }
}

/// `listThreads`: reads a page of the threads that have a checkpoint in their root namespace, by their last activity.
pub fn threads(order: ActivityOrder, after: Option<Seq>, limit: usize) -> Query {
    Query::Recent(Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: true,
        matching: String::new(),
        order,
        after,
        limit,
    })
}

/// `deleteThread`: removes a thread. It also removes the thread's writes to checkpoints that were never put.
pub fn delete_thread(thread: &str) -> Unit {
    let group = CheckpointRef::group(thread);
    vec![
        Op::RemoveLineages { contract: CONTRACT_ID, prefix: group.clone() },
        Op::RemoveWrites { contract: CONTRACT_ID, prefix: group },
    ]
    .into()
}

/// Removes all of these checkpoints, or none of them. The checkpoints in `reopen` lose their child, so the writes to
/// these checkpoints become pending again.
pub fn delete(checkpoint_refs: Vec<CheckpointRef>, reopen: Vec<CheckpointRef>) -> Unit {
    let removed = checkpoint_refs
        .into_iter()
        .map(|checkpoint_ref| Op::Remove { contract: CONTRACT_ID, id: checkpoint_ref.key(&checkpoint_ref.id) });
    let reopened = reopen
        .into_iter()
        .map(|checkpoint_ref| Op::Reopen { contract: CONTRACT_ID, id: checkpoint_ref.key(&checkpoint_ref.id) });
    removed.chain(reopened).collect::<Vec<_>>().into()
}

/// The fields of a checkpoint that are in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The checkpoint's thread, namespace and id.
    pub checkpoint_ref: CheckpointRef,
    pub parent: Option<String>,
    /// The metadata: the serializer's tag and bytes.
    pub metadata: (String, Vec<u8>),
    /// Says who made the checkpoint.
    pub mark: Option<String>,
    /// True if the value of some channel is computed from the writes of the checkpoint's ancestors.
    pub depends_on_parent: bool,
}

/// Converts the store's lineage and id into the thread, the namespace and the checkpoint id.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
pub(super) fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let of_id = id.as_deref().and_then(thread::split_key);
    let of_lineage = lineage.as_deref().and_then(thread::split);
    let of = of_id.as_ref().map(|(of, _)| of.clone()).or(of_lineage);
    let (run, ns) = of.map(|of| (of.thread, of.namespace)).unzip();
    Names { run, ns, id: of_id.map(|(_, id)| id).or(id) }
}

/// Reads the fields of a checkpoint from its header.
pub fn describe(header: &Header) -> Result<Described> {
    let damaged = || damaged(&header.id);
    let checkpoint_ref = CheckpointRef::read(header).ok_or_else(damaged)?;
    let parent = match &header.parent {
        Some(key) => Some(claimed_id(&checkpoint_ref, key).ok_or_else(damaged)?),
        None => None,
    };
    let (mut meta, mark) = match header.meta.strip_prefix(&[MARKED]) {
        Some(mut meta) => {
            let mark = text_of(&mut meta).ok_or_else(damaged)?.to_owned();
            (meta, Some(mark))
        }
        None => (&*header.meta, None),
    };
    let tag = text_of(&mut meta).ok_or_else(damaged)?.to_owned();
    let depends_on_parent = header.depends_on_parent;
    Ok(Described { checkpoint_ref, parent, metadata: (tag, meta.to_vec()), mark, depends_on_parent })
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let (tag, bytes) = describe(header)?.metadata;
    Ok(Shown { serialized: Some(Part { name: String::new(), tag, bytes: bytes.into() }), ..Shown::default() })
}

/// Converts a store's id (`key`) into a `checkpoint_id`. `None`: the checkpoint is in another namespace.
pub fn claimed_id(checkpoint_ref: &CheckpointRef, key: &str) -> Option<String> {
    key.strip_prefix(&checkpoint_ref.key("")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_hear_their_own_names() {
        let checkpoint_ref = CheckpointRef { thread: "a:b".into(), namespace: "n|1".into(), id: "é".into() };
        let lineage = CheckpointRef::lineage(&checkpoint_ref.thread, &checkpoint_ref.namespace);
        let named = |run, ns, id| Names { run, ns, id };
        let (run, ns, id) = (Some("a:b".to_owned()), Some("n|1".to_owned()), Some("é".to_owned()));
        let key = checkpoint_ref.key(&checkpoint_ref.id);
        assert_eq!(name_of(Some(lineage.clone()), Some(key.clone())), named(run.clone(), ns.clone(), id.clone()));
        assert_eq!(name_of(None, Some(key)), named(run.clone(), ns.clone(), id));
        assert_eq!(name_of(Some(lineage), None), named(run, ns, None));
        assert_eq!(name_of(None, Some("9:x".to_owned())), named(None, None, Some("9:x".to_owned())));
    }

    #[test]
    fn a_checkpoint_with_a_mark_and_one_without_are_read_back() {
        let metadata = ("json".to_owned(), b"{\"a\":\"\0\x01\"}".to_vec());
        for mark in [None, Some(String::new()), Some("{\"program\":\"\u{e9}\"}".to_owned())] {
            let checkpoint_ref = CheckpointRef { thread: "t".into(), namespace: String::new(), id: "1".into() };
            let unit = put(Put {
                checkpoint_ref,
                parent: None,
                parts: Vec::new(),
                inherit: Vec::new(),
                like: Vec::new(),
                metadata: metadata.clone(),
                mark: mark.clone(),
                saved_at: 0,
                depends_on_parent: false,
                only: false,
                claims: true,
            });
            let Some(Op::Put(draft)) = unit.unwrap().ops.into_iter().next() else { panic!("a put is one op") };
            let described = describe(&draft.header).unwrap();
            assert_eq!((described.mark, described.metadata), (mark, metadata.clone()));
        }
    }

    #[test]
    fn no_two_places_are_one() {
        let parts = ["", "a", "1:a", "a:1", "1:", "|", "é"];
        let mut seen = std::collections::HashSet::new();
        for thread in parts {
            for namespace in parts {
                for id in parts {
                    let checkpoint_ref =
                        CheckpointRef { thread: thread.into(), namespace: namespace.into(), id: id.into() };
                    assert!(seen.insert(checkpoint_ref.key(id)), "{checkpoint_ref:?}");
                    assert_eq!(claimed_id(&checkpoint_ref, &checkpoint_ref.key(id)).as_deref(), Some(id));
                    assert!(checkpoint_ref.key(id).starts_with(&CheckpointRef::group(thread)));
                }
            }
        }
    }
}
