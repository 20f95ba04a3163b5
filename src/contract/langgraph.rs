//! `LangGraph`'s `BaseCheckpointSaver` (`@langchain/langgraph-checkpoint`).
//!
//! A lineage is a namespace of a thread, a group is a thread, and a checkpoint's place is its id, which sorts by time. The
//! payload has a part for each channel, named by the channel and its version, and one without a name for the rest of the
//! checkpoint. A channel whose version is its parent's is not serialised again: it is inherited by its name. The metadata
//! is in the header, so that listings and filters read no payload.

mod call;
pub mod import;

use serde::Deserialize;

use super::{Contract, MAX_ID_BYTES, Names, check_id, damaged};
use crate::error::{Code, Error, Result};
use crate::op::{Expect, Op, Unit};
use crate::query::{Ancestors, Of, Pick, Query};
use crate::record::{ContractId, Draft, Header, Part, Payload, SortKey, Write};

/// The contract.
pub const CONTRACT: Contract =
    Contract { name: "langgraph", id: CONTRACT_ID, request: call::request, tool: Some(import::tool), name_of };
/// Whose ids these are.
pub const CONTRACT_ID: ContractId = ContractId(4);

/// Where a checkpoint is: `thread_id`, `checkpoint_ns`, `checkpoint_id`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CheckpointRef {
    /// The thread.
    #[serde(rename = "threadId")]
    pub thread: String,
    /// The namespace in it; empty: the graph itself.
    pub namespace: String,
    /// The id, unique in the namespace.
    pub id: String,
}

impl CheckpointRef {
    /// No two threads have the same, and none is the beginning of another.
    fn group(thread: &str) -> String {
        format!("{}:{thread}", thread.len())
    }

    fn lineage(thread: &str, namespace: &str) -> String {
        Self::group(thread) + namespace
    }

    fn key(&self, id: &str) -> String {
        format!("{}{}:{}{id}", Self::group(&self.thread), self.namespace.len(), self.namespace)
    }

    /// Where a header says that its checkpoint is.
    fn read(header: &Header) -> Option<Self> {
        let thread = header.group.split_once(':')?.1.to_owned();
        let namespace = header.lineage.strip_prefix(&header.group)?.to_owned();
        let id = String::from_utf8(header.sort_key.0.clone()).ok()?;
        Some(Self { thread, namespace, id })
    }
}

/// A checkpoint to put.
#[derive(Clone, Debug)]
pub struct Put {
    /// Where.
    pub checkpoint_ref: CheckpointRef,
    /// The id of the checkpoint that it was made from, in the same namespace.
    pub parent: Option<String>,
    /// The channels that changed, and the rest.
    pub parts: Vec<Part>,
    /// The names of the parts of the other channels.
    pub inherit: Vec<String>,
    /// What some of those look like, for who knows it: `updateState(config, null, "__copy__")` names as its parent the one
    /// before the checkpoint that it copies, which has other values.
    pub like: Vec<Part>,
    /// The metadata: the serializer's tag and bytes.
    pub metadata: (String, Vec<u8>),
    /// When the store was given it, in ms since the epoch.
    pub saved_at: i64,
    /// Whether it has a channel whose value is made of its ancestors' writes.
    pub depends_on_parent: bool,
    /// Whether it must be the only child of its parent: `expectedParent`.
    pub only: bool,
}

/// `put`: stores the checkpoint, replacing the one with its id, and gives it what was written to its parent.
///
/// One that must be its parent's only child (D7) is refused with `CONFLICT` if that is not the latest any more: whoever
/// made the latest goes on with this thread. It has to become the latest itself, so that the next one sees it.
pub fn put(put: Put) -> Result<Unit> {
    let Put { checkpoint_ref, parent, parts, inherit, like, metadata, saved_at, depends_on_parent, only } = put;
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
    let expect = only.then(|| Expect {
        contract: CONTRACT_ID,
        lineage: lineage.clone(),
        newest: parent.clone(),
        or: key.clone(),
    });
    let claim = parent.clone().map(|id| Op::Claim { contract: CONTRACT_ID, id, claimed_by: key.clone() });
    let header = Header {
        contract: CONTRACT_ID,
        lineage,
        id: key,
        parent,
        group: CheckpointRef::group(&checkpoint_ref.thread),
        label: String::new(),
        sort_key: SortKey(checkpoint_ref.id.into_bytes()),
        saved_at,
        age_offset: 0,
        depends_on_parent,
        meta: [metadata.0.as_bytes(), &[0], &metadata.1].concat(),
    };
    let draft = Draft { header, payload: Payload { parts }, inherit, like, logs: Vec::new(), encoded: None };
    Ok(Unit { expect, ops: [Op::Put(Box::new(draft))].into_iter().chain(claim).collect() })
}

/// `putWrites`: each write is a task's place and a part. With `replace` one in a place that is taken replaces the other. A write
/// that is a copy may be claimed already: by the id of a checkpoint of the same namespace.
pub fn put_writes(checkpoint_ref: &CheckpointRef, mut writes: Vec<Write>, replace: bool) -> Result<Unit> {
    for write in &mut writes {
        write.claimed_by = write.claimed_by.take().map(|id| checkpoint_ref.key(&id));
    }
    Ok(vec![Op::Write { contract: CONTRACT_ID, id: check(checkpoint_ref)?, writes, replace, encoded: None }].into())
}

/// Its id in the store, if it can have one.
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

/// `getTuple`; without an id the latest of the namespace.
pub fn get_tuple(thread: String, namespace: String, id: Option<String>) -> Query {
    let pick = match id {
        Some(id) => Pick::Id(CheckpointRef { thread, namespace, id: String::new() }.key(&id)),
        None => Pick::Newest(CheckpointRef::lineage(&thread, &namespace)),
    };
    Query::Tuple { contract: CONTRACT_ID, pick }
}

/// A page of a checkpoint and its ancestors, itself first, until a value of each channel has been found: the channels' values
/// and writes.
pub fn ancestors(checkpoint_ref: &CheckpointRef, channels: Vec<String>, limit: usize) -> Query {
    let id = checkpoint_ref.key(&checkpoint_ref.id);
    Query::Ancestors(Ancestors { contract: CONTRACT_ID, id, stems: channels.clone(), writes: channels, limit })
}

/// A page of `list`, newest id first: of a namespace of a thread, of a thread, or of all.
pub fn list(thread: Option<String>, namespace: Option<String>, before: Option<String>, limit: usize) -> Query {
    let of = match (thread, namespace) {
        (Some(thread), Some(namespace)) => Of::Lineage(CheckpointRef::lineage(&thread, &namespace)),
        (Some(thread), None) => Of::Lineages(CheckpointRef::group(&thread)),
        (None, _) => Of::Contract,
    };
    let before = before.map(|id| SortKey(id.into_bytes()));
    Query::List { contract: CONTRACT_ID, of, before, limit: Some(limit) }
}

/// `listThreads`: a page of the namespaces of threads, the last to begin first.
pub fn threads(before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { contract: CONTRACT_ID, group_prefix: String::new(), before, limit }
}

/// `deleteThread`: with what was written to checkpoints that never came.
pub fn delete_thread(thread: &str) -> Unit {
    let group = CheckpointRef::group(thread);
    vec![
        Op::RemoveLineages { contract: CONTRACT_ID, prefix: group.clone() },
        Op::RemoveWrites { contract: CONTRACT_ID, prefix: group },
    ]
    .into()
}

/// Removes checkpoints, all of them or none. What was written to those that are `left` without a child is pending again.
pub fn delete(checkpoint_refs: Vec<CheckpointRef>, left: Vec<CheckpointRef>) -> Unit {
    let removed = checkpoint_refs
        .into_iter()
        .map(|checkpoint_ref| Op::Remove { contract: CONTRACT_ID, id: checkpoint_ref.key(&checkpoint_ref.id) });
    let released = left
        .into_iter()
        .map(|checkpoint_ref| Op::Reopen { contract: CONTRACT_ID, id: checkpoint_ref.key(&checkpoint_ref.id) });
    removed.chain(released).collect::<Vec<_>>().into()
}

/// What a header says of its checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Where it is.
    pub checkpoint_ref: CheckpointRef,
    /// The id of its parent.
    pub parent: Option<String>,
    /// The metadata: the serializer's tag and bytes.
    pub metadata: (String, Vec<u8>),
    /// Whether it has a channel whose value is made of its ancestors' writes.
    pub depends_on_parent: bool,
}

/// What users call a namespace of a thread and a checkpoint in it.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    // A length and a colon stand before a name.
    let split = |text: &str| {
        let (length, rest) = text.split_once(':')?;
        let length = length.parse().ok()?;
        Some((rest.get(..length)?.to_owned(), rest.get(length..)?.to_owned()))
    };
    let of_id = id.as_deref().and_then(split).and_then(|(run, rest)| Some((run, split(&rest)?)));
    let of_lineage = lineage.as_deref().and_then(split);
    let (run, ns) = of_id.clone().map(|(run, (ns, _))| (run, ns)).or(of_lineage).unzip();
    Names { run, ns, id: of_id.map(|(_, (_, id))| id).or(id) }
}

/// Reads a header.
pub fn describe(header: &Header) -> Result<Described> {
    let damaged = || damaged(&header.id);
    let checkpoint_ref = CheckpointRef::read(header).ok_or_else(damaged)?;
    let parent = match &header.parent {
        Some(key) => Some(claimed_id(&checkpoint_ref, key).ok_or_else(damaged)?),
        None => None,
    };
    let end = header.meta.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
    let tag = String::from_utf8(header.meta[..end].to_vec()).map_err(|_| damaged())?;
    let depends_on_parent = header.depends_on_parent;
    Ok(Described { checkpoint_ref, parent, metadata: (tag, header.meta[end + 1..].to_vec()), depends_on_parent })
}

/// The `checkpoint_id` of a checkpoint of the same namespace, by its id in the store.
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
