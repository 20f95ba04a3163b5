//! The rows of the tables.

use std::collections::{BTreeSet, HashMap};

use crate::backend::logs::{Branch, Mark};
use crate::record::{ContractId, Header, Labels, Part, Seq, SortKey, TaskState};
use crate::retention::Entry;

/// Checkpoints ordered by sort key and then by save number. Reverse iteration yields the newest checkpoint first.
pub(crate) type Ordered = BTreeSet<(SortKey, Seq)>;

/// A contract, and an id or a name within it.
pub(crate) type Key = (ContractId, String);

/// A stored checkpoint, with its payload or the payload's location.
#[derive(Clone, Debug)]
pub(crate) struct Row<P> {
    pub(crate) header: Header,
    pub(crate) payload: P,
    pub(crate) marks: Vec<Mark>,
    /// The position of the lineage.
    pub(crate) lineage: i64,
    /// The size of the framed payload, in bytes.
    pub(crate) bytes: u64,
}

impl<P> Row<P> {
    pub(crate) fn entry(&self, seq: Seq) -> Entry {
        Entry { seq, lineage: self.lineage, saved_at: self.header.saved_at }
    }
}

/// A lineage, with checkpoints, logs, or both.
#[derive(Debug)]
pub(crate) struct LineageRow {
    pub(crate) contract: ContractId,
    pub(crate) name: String,
    pub(crate) first: First,
    pub(crate) order: Ordered,
    /// The checkpoints by their labels.
    pub(crate) by_label: HashMap<String, Ordered>,
    /// The checkpoints that cannot be read without their parent, by the parent's id.
    pub(crate) dependents: HashMap<String, Ordered>,
    /// The labels of the lineage. Meaningless while it has no checkpoint.
    pub(crate) labels: Labels,
}

/// The properties that a lineage takes from its first checkpoint. Meaningless while it has no checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct First {
    pub(crate) group: String,
    /// The checkpoint of another lineage from which the first checkpoint was made: its id, and the position of its
    /// lineage.
    pub(crate) origin: Option<(String, i64)>,
    pub(crate) age_offset: u8,
}

/// A branch of log records.
#[derive(Debug)]
pub(crate) struct BranchRow<R> {
    pub(crate) branch: Branch,
    /// The records of the branch. The first record has the position [`Branch::start`].
    pub(crate) records: Vec<R>,
    /// The position of each record that has a key, by key.
    pub(super) keys: HashMap<String, u64>,
}

/// A row of pending writes of one task to one checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    pub(crate) task: String,
    pub(crate) claimed_by: Option<String>,
    pub(crate) state: TaskState,
    pub(crate) parts: Vec<(i64, Part)>,
}
