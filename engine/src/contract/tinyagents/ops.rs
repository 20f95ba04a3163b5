//! The units and queries of threads.

use crate::contract::entry::{Names, Shown};
use crate::contract::ids::{MAX_ID_BYTES, check_id, damaged};
use crate::contract::thread::{self, ThreadNamespace};
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Of, Pick, Query};
use crate::record::{ContractId, Header, Part, Write};

pub const CONTRACT_ID: ContractId = ContractId(7);

/// Identifies a checkpoint: `threadId`, `namespace`, `checkpointId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The thread, and the namespace as a JSON text. The namespace of the graph itself is an empty text.
    pub of: ThreadNamespace,
    pub id: String,
}

impl Place {
    /// Returns the store's id of the first checkpoint with this id.
    pub fn key(&self) -> String {
        self.of.key(&self.id)
    }

    /// Refuses ids that are empty or too long.
    fn check(&self) -> Result<String> {
        check_id("threadId", &self.of.thread)?;
        check_id("checkpointId", &self.id)?;
        let key = self.key();
        // The suffix of a later checkpoint of the same id needs room too.
        if key.len() > MAX_ID_BYTES - SUFFIX_BYTES {
            return Err(Error::invalid(format!(
                "threadId, namespace and checkpointId have {} bytes together, and may have at most {}: give shorter ones",
                key.len(),
                MAX_ID_BYTES - SUFFIX_BYTES
            )));
        }
        Ok(key)
    }
}

/// The number of bytes that are reserved for the suffix of a later checkpoint of the same id.
const SUFFIX_BYTES: usize = 64;

#[derive(Clone, Debug)]
pub struct Put {
    /// The checkpoint's thread, namespace and id.
    pub place: Place,
    /// `None` if the checkpoint must be the first one of its id. Otherwise a text that no other checkpoint of this id
    /// has.
    pub again: Option<String>,
    /// The id of the parent, which is in the same namespace.
    pub parent: Option<String>,
    /// The store's id of the parent if the parent was put again. Only `expects_parent` uses it.
    pub parent_key: Option<String>,
    /// The state, and the rest of the checkpoint.
    pub parts: Vec<Part>,
    /// The fields that listings show: the serializer's tag and bytes.
    pub metadata: (String, Vec<u8>),
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
    /// True if the checkpoint cannot be read without its parent.
    pub depends_on_parent: bool,
    /// True if the parent must be the latest checkpoint of the namespace (D7).
    pub expects_parent: bool,
}

/// `put`: appends a checkpoint. The first attempt of an id that was put before fails with [`Code::Conflict`].
pub fn put(put: Put) -> Result<Unit> {
    let Put { place, again, parent, parent_key, parts, metadata, saved_at, depends_on_parent, expects_parent } = put;
    let key = place.check()?;
    let (id, group) = match again {
        Some(suffix) => (format!("{key}\0{suffix}"), key.clone()),
        None => (key.clone(), String::new()),
    };
    let parent = parent.map(|parent| place.of.key(&parent));
    let lineage = place.of.lineage();
    let mut conditions = Vec::new();
    if group.is_empty() {
        let otherwise = Error::new(Code::Conflict, format!("checkpoint {} exists already", quote(&place.id)));
        let must = Must::NotBeSavedSince(i64::MIN);
        conditions.push(Expect::Checkpoint { contract: CONTRACT_ID, id: id.clone(), must, otherwise });
    }
    if expects_parent {
        let (lineage, newest, or) = (lineage.clone(), parent.clone(), parent_key.unwrap_or_else(|| id.clone()));
        conditions.push(Expect::Newest { contract: CONTRACT_ID, lineage, newest, or });
    }
    let header = Header {
        parent,
        group,
        label: place.id,
        saved_at,
        depends_on_parent,
        meta: [metadata.0.as_bytes(), &[0], &metadata.1].concat(),
        ..Header::new(CONTRACT_ID, lineage, id)
    };
    Ok(Unit { expect: conditions, ops: vec![Op::put(header, parts)] })
}

/// `putWrites`: stores pending writes. `once` are stored only if their slots are free. `replacing` replace what their
/// slots hold.
pub fn put_writes(place: &Place, once: Vec<Write>, replacing: Vec<Write>) -> Result<Unit> {
    let id = place.check()?;
    let ops = [(once, false), (replacing, true)].into_iter().filter(|(writes, _)| !writes.is_empty());
    let op = |(writes, replace)| Op::Write { contract: CONTRACT_ID, id: id.clone(), writes, replace, encoded: None };
    Ok(ops.map(op).collect::<Vec<_>>().into())
}

/// Reads the first checkpoint of an id with the writes to this id, and finds the later checkpoints of this id. The
/// answer is [`Answer::All`](crate::query::Answer::All) of a checkpoint and of headers.
pub fn get(place: &Place) -> Query {
    let key = place.key();
    let later = Query::List { contract: CONTRACT_ID, of: Of::Group(key.clone()), before: None, limit: Some(1) };
    Query::All(vec![Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id(key) }, later])
}

/// Reads the checkpoint with this store's id, with its writes.
pub fn load(id: String) -> Query {
    Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id(id) }
}

/// Reads the checkpoint that was put last in a namespace, with its writes.
pub fn latest(of: &ThreadNamespace) -> Query {
    Query::Tuple { contract: CONTRACT_ID, pick: Pick::Newest(of.lineage()) }
}

/// Lists the checkpoints of a thread, or of one of its namespaces. The one that was put last comes first.
pub fn list(thread: &str, namespace: Option<String>, limit: Option<usize>) -> Query {
    let of = match namespace {
        Some(namespace) => Of::Lineage(ThreadNamespace { thread: thread.to_owned(), namespace }.lineage()),
        None => Of::Lineages(thread::prefix(thread)),
    };
    Query::List { contract: CONTRACT_ID, of, before: None, limit }
}

/// Lists the namespaces of all threads. The namespace that began last comes first.
pub fn namespaces(before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { contract: CONTRACT_ID, group_prefix: String::new(), before, limit }
}

/// `deleteThread`: removes a thread with all of its namespaces. It also removes the writes to checkpoints that were
/// never put.
pub fn delete_thread(thread: &str) -> Unit {
    let prefix = thread::prefix(thread);
    vec![
        Op::RemoveLineages { contract: CONTRACT_ID, prefix: prefix.clone() },
        Op::RemoveWrites { contract: CONTRACT_ID, prefix },
    ]
    .into()
}

/// Removes the checkpoints with these store's ids, and the writes to these ids.
pub fn delete(ids: Vec<String>) -> Unit {
    ids.into_iter().map(|id| Op::Remove { contract: CONTRACT_ID, id }).collect::<Vec<_>>().into()
}

/// Converts the store's lineage and id into the thread, the namespace and the checkpoint id.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
pub(super) fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let of_id = id.as_deref().and_then(thread::split_key);
    let of_lineage = lineage.as_deref().and_then(thread::split);
    let (run, ns) = of_id.as_ref().map(|(of, _)| of.clone()).or(of_lineage).map(|of| (of.thread, of.namespace)).unzip();
    let id = match of_id {
        // Leave out the suffix of a later checkpoint of the same id.
        Some((_, id)) => Some(id.split('\0').next().unwrap_or_default().to_owned()),
        None => id,
    };
    Names { run, ns, id }
}

/// Returns the fields that listings show: the serializer's tag and bytes.
pub(super) fn metadata(header: &Header) -> Result<Part> {
    let damaged = || damaged(&header.id);
    let end = header.meta.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
    let tag = String::from_utf8(header.meta[..end].to_vec()).map_err(|_| damaged())?;
    Ok(Part { name: String::new(), tag, bytes: header.meta[end + 1..].to_vec().into() })
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    Ok(Shown { serialized: Some(metadata(header)?), ..Shown::default() })
}
