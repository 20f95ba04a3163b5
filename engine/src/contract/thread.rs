//! Threads, their namespaces and their checkpoints, for the contracts that have them. The empty namespace of a thread
//! belongs to the graph itself.

use serde::Deserialize;
use ts_rs::TS;

use super::entry::Names;
use super::ids::check_id;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Op, Unit};
use crate::record::{ContractId, Part};

/// Identifies a checkpoint in a namespace of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
pub struct CheckpointRef {
    #[serde(rename = "threadId")]
    pub thread: String,
    pub namespace: String,
    pub id: String,
}

impl CheckpointRef {
    /// Returns the engine's id of the checkpoint, unique in its contract.
    pub(crate) fn key(&self) -> String {
        key(&self.thread, &self.namespace, &self.id)
    }

    /// Returns the engine's id of the checkpoint. Rejects empty ids, and an engine's id with more than `most` bytes.
    /// `names` are the framework's names of the thread, the namespace and the id.
    pub(super) fn checked_key(&self, names: [&str; 3], most: usize) -> Result<String> {
        let [thread, namespace, id] = names;
        check_id(thread, &self.thread)?;
        check_id(id, &self.id)?;
        let key = self.key();
        if key.len() > most {
            return Err(Error::invalid(format!(
                "{thread}, {namespace} and {id} have {} bytes together, but may have at most {most}: use shorter ones",
                key.len()
            )));
        }
        Ok(key)
    }
}

/// The status of a thread at a checkpoint without stopped tasks: whether a node runs next.
#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: the engine also has the statuses of stopped tasks")]
pub(super) enum NewStatus {
    Unknown,
    Unfinished,
    Finished,
}

/// Returns the prefix of all lineages and keys of a thread. It is never a prefix of another thread's.
pub(crate) fn prefix(thread: &str) -> String {
    format!("{}:{thread}", thread.len())
}

/// Returns the lineage of a namespace of a thread.
pub(crate) fn lineage(thread: &str, namespace: &str) -> String {
    prefix(thread) + namespace
}

/// Returns the engine's id of a checkpoint in a namespace of a thread.
pub(crate) fn key(thread: &str, namespace: &str, id: &str) -> String {
    format!("{}{}:{namespace}{id}", prefix(thread), namespace.len())
}

/// Splits a lineage into the thread and the namespace. Also splits any text that begins with the length of a name, a
/// colon and the name.
pub(crate) fn split(lineage: &str) -> Option<(&str, &str)> {
    let (length, rest) = lineage.split_once(':')?;
    rest.split_at_checked(length.parse().ok()?)
}

pub(crate) fn split_key(key: &str) -> Option<CheckpointRef> {
    let (thread, rest) = split(key)?;
    let (namespace, id) = split(rest)?;
    Some(CheckpointRef { thread: thread.to_owned(), namespace: namespace.to_owned(), id: id.to_owned() })
}

/// Converts the engine's lineage and id into the thread, the namespace and the checkpoint id.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
pub(super) fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    if let Some(CheckpointRef { thread, namespace, id }) = id.as_deref().and_then(split_key) {
        return Names { run: Some(thread), ns: Some(namespace), id: Some(id) };
    }
    let (run, ns) = lineage.as_deref().and_then(split).unzip();
    Names { run: run.map(str::to_owned), ns: ns.map(str::to_owned), id }
}

/// Removes a thread with all its namespaces, and its writes to checkpoints that were never put.
pub(super) fn remove(contract: ContractId, thread: &str) -> Unit {
    let prefix = prefix(thread);
    vec![Op::RemoveLineages { contract, prefix: prefix.clone() }, Op::RemoveWrites { contract, prefix }].into()
}

/// The data that must be stored before new writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) enum Needs {
    /// The checkpoint of the writes, which was stored before.
    Checkpoint,
    /// The checkpoint of the writes or any checkpoint of its namespace, because the writes may come first.
    Namespace,
    /// The checkpoint of the writes or any checkpoint of the graph: a subgraph may write before its first checkpoint.
    Thread,
}

impl Needs {
    /// The condition on writes to a checkpoint.
    pub(super) fn expect(self, contract: ContractId, of: &CheckpointRef) -> Expect {
        let lineage = match self {
            Self::Checkpoint => None,
            Self::Namespace => Some(lineage(&of.thread, &of.namespace)),
            Self::Thread => Some(lineage(&of.thread, "")),
        };
        let or_never = if lineage.is_some() { ", or the thread never had a checkpoint" } else { "" };
        let message = format!(
            "thread {}: checkpoint {} was deleted while its node worked{or_never}, so nothing was stored: stop this run",
            quote(&of.thread),
            quote(&of.id)
        );
        Expect::Stored { contract, id: Some(of.key()), lineage, otherwise: Error::new(Code::Conflict, message) }
    }
}

/// Makes the meta of a checkpoint with a framework's metadata: the serializer's tag, a NUL, and the serialized bytes.
pub(super) fn meta(metadata: &Part) -> Vec<u8> {
    [metadata.tag.as_bytes(), &[0], &metadata.bytes].concat()
}

/// Reads the output of [`meta`].
pub(super) fn read_meta(mut meta: &[u8]) -> Option<Part> {
    let tag = take_text(&mut meta)?.to_owned();
    Some(Part { name: String::new(), tag, bytes: meta.to_vec().into() })
}

/// Splits the text before the first NUL from the bytes.
pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    *bytes = &bytes[end + 1..];
    Some(text)
}
