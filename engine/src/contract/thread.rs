//! The names of threads and their namespaces, for the contracts that have both.

use serde::{Deserialize, Serialize};

/// A namespace of a thread. The empty namespace belongs to the graph itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ThreadNamespace {
    #[serde(rename = "threadId")]
    pub thread: String,
    pub namespace: String,
}

impl ThreadNamespace {
    /// Returns the lineage of the namespace.
    pub(crate) fn lineage(&self) -> String {
        lineage(&self.thread, &self.namespace)
    }

    /// Returns the store's id of a checkpoint in the namespace. No two checkpoints of a contract have the same.
    pub(crate) fn key(&self, id: &str) -> String {
        key(&self.thread, &self.namespace, id)
    }
}

/// Returns the beginning of all lineages and all keys of a thread. It is never the beginning of another thread's.
pub(crate) fn prefix(thread: &str) -> String {
    format!("{}:{thread}", thread.len())
}

/// Returns the lineage of a namespace of a thread.
pub(crate) fn lineage(thread: &str, namespace: &str) -> String {
    prefix(thread) + namespace
}

/// Returns the store's id of a checkpoint in a namespace of a thread.
pub(crate) fn key(thread: &str, namespace: &str, id: &str) -> String {
    format!("{}{}:{namespace}{id}", prefix(thread), namespace.len())
}

/// Takes a lineage apart.
pub(crate) fn split(lineage: &str) -> Option<ThreadNamespace> {
    let (thread, namespace) = split_text(lineage)?;
    Some(ThreadNamespace { thread, namespace })
}

/// Takes a key apart: the namespace, and the id of the checkpoint.
pub(crate) fn split_key(key: &str) -> Option<(ThreadNamespace, String)> {
    let (thread, rest) = split_text(key)?;
    let (namespace, id) = split_text(&rest)?;
    Some((ThreadNamespace { thread, namespace }, id))
}

/// Splits a text that begins with the length of a name, a colon and the name.
fn split_text(text: &str) -> Option<(String, String)> {
    let (length, rest) = text.split_once(':')?;
    let length = length.parse().ok()?;
    Some((rest.get(..length)?.to_owned(), rest.get(length..)?.to_owned()))
}
