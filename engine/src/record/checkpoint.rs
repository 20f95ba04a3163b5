//! Checkpoints: their searchable fields, their payloads, and their pending writes.

use std::borrow::Cow;

use bytes::Bytes;

use super::content::Content;
use super::key::{Bound, ContractId, Order, PayloadKey, Position, SortKey};
use super::labels::Labels;
use super::log::{LogMark, LogPin, Record};
use super::status::{Status, TaskState};
use crate::error::Error;

/// Everything about a checkpoint except its payload: the fields that listings show and lookups search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub contract: ContractId,
    /// The run, thread or session that the checkpoint belongs to.
    pub lineage: String,
    /// The id of the checkpoint, unique within its contract.
    pub id: String,
    /// The id of the parent checkpoint, if the contract knows it.
    pub parent: Option<String>,
    /// A name that several lineages share, for example the name of the graph. If empty, the checkpoint has no group.
    pub group: String,
    /// A name that several checkpoints of a lineage share, for example the name of the node. If empty, the checkpoint
    /// has no label.
    pub label: String,
    /// The position of the checkpoint within its lineage and its group.
    pub sort_key: SortKey,
    /// The time at which the store received the checkpoint, in ms since the epoch. Retention uses this time. The order
    /// of checkpoints never depends on it.
    pub saved_at: i64,
    /// If 0, retention by number goes by sort key. Otherwise it goes by save order, because the sort key is a number
    /// that a run may count again. All checkpoints of a lineage have the same value.
    pub age_offset: u8,
    /// True if this checkpoint cannot be read without its parent. Retention then never removes the parent alone.
    pub depends_on_parent: bool,
    /// True if retention by age and by size never removes this checkpoint. Only its contract removes it.
    pub exempt: bool,
    /// The status of the lineage while this checkpoint is the newest and no task has stopped: see [`Status::of`].
    pub status: Status,
    /// Extra data for listings, in a form that only the contract reads. Keep it small: every listing includes it.
    pub meta: Vec<u8>,
}

impl Header {
    /// A header with an empty sort key and no optional fields.
    pub fn new(contract: ContractId, lineage: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            contract,
            lineage: lineage.into(),
            id: id.into(),
            parent: None,
            group: String::new(),
            label: String::new(),
            sort_key: SortKey::default(),
            saved_at: 0,
            age_offset: 0,
            depends_on_parent: false,
            exempt: false,
            status: Status::Unknown,
            meta: Vec::new(),
        }
    }

    /// The header to store. Its sort key is not before the checkpoint `bound`: see [`Order::raised`].
    pub(crate) fn placed(&self, order: Order, bound: Option<Bound<'_>>) -> Cow<'_, Self> {
        match order.raised(&self.sort_key, bound) {
            Some(sort_key) => Cow::Owned(Self { sort_key, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// The error for a checkpoint whose age offset differs from the one of its lineage. The caller adds the
    /// checkpoint's id.
    pub(crate) fn other_age_offset(&self, lineage: u8) -> Error {
        Error::invalid(format!(
            "its age_offset is {}, and the other checkpoints of {:?} have the age_offset {lineage}: use the same one",
            self.age_offset, self.lineage
        ))
    }
}

/// A named piece of a payload, as serialized bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the part in the payload.
    pub name: String,
    /// The name of the serializer that wrote the bytes.
    pub tag: String,
    pub bytes: Content,
}

impl Part {
    /// Returns the stem: the part of the name before the last NUL. All versions of the same value have the same stem.
    /// Returns `None` if the name has no NUL.
    pub fn stem(&self) -> Option<&str> {
        self.name.rsplit_once('\0').map(|(stem, _)| stem)
    }
}

/// A checkpoint's content: parts, in the order in which the caller gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Names need not be unique.
    pub parts: Vec<Part>,
}

impl Payload {
    /// The total number of bytes of all parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }

    /// Returns true if the total size of all parts is 0 bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first part with this name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }
}

/// A checkpoint as it is stored and read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub header: Header,
    pub payload: Payload,
    /// The logs that the checkpoint names. For each log, the mark gives the number of named records.
    pub logs: Vec<LogMark>,
}

/// A checkpoint to put. The engine adds the inherited parts to the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub header: Header,
    /// The parts that the caller gives.
    pub payload: Payload,
    /// The names of the parts to inherit. Each part is copied from the parent. If the parent lacks the part, the newest
    /// checkpoint of the lineage that has the part is used. If no checkpoint has it, the part is left out.
    pub inherit: Vec<String>,
    /// The expected content of inherited parts, if the caller knows it. If the parent lacks a part, a part with the
    /// expected content in another checkpoint of the lineage is preferred to a newer part with other content.
    pub like: Vec<Part>,
    /// The logs that the checkpoint names. The logs belong to the checkpoint's lineage.
    pub logs: Vec<LogPin>,
    /// The labels that the lineage gets if this is its first checkpoint.
    pub labels: Labels,
    /// Determines the checkpoint's position in its lineage.
    pub order: Order,
    /// The payload as it will probably be stored, encoded ahead of time. Only the engine sets this field.
    pub encoded: Option<Encoded>,
}

impl From<Checkpoint> for Draft {
    /// Converts a checkpoint to a draft. The draft contains every part of the checkpoint, inherits no parts, and names
    /// the same logs at the same lengths.
    fn from(Checkpoint { header, payload, logs }: Checkpoint) -> Self {
        let pin = |mark: LogMark| LogPin { log: mark.log, length: Some(mark.length) };
        let logs = logs.into_iter().map(pin).collect();
        let (inherit, like, labels, order) = (Vec::new(), Vec::new(), Labels::default(), Order::SortKey);
        Self { header, payload, inherit, like, logs, labels, order, encoded: None }
    }
}

impl Draft {
    /// The total number of bytes of all given parts.
    pub fn len(&self) -> usize {
        self.payload.len()
    }

    /// Returns true if the total size of the given parts is 0 bytes.
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }
}

/// A payload as it will probably be stored. It is encoded while other units are committed. If the base or the parent
/// changes before the put, the backend encodes the payload again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The parts as one byte string, with the inherited parts.
    pub raw: Bytes,
    /// The payload that the inherited parts came from.
    pub parent: Option<PayloadKey>,
    /// The base of the delta.
    pub base: Option<PayloadKey>,
    /// True if `body` is a delta, and false if it is a keyframe.
    pub is_delta: bool,
    /// The envelope to store in the row.
    pub body: Bytes,
    /// The number of consecutive payloads of the lineage, up to this one, that were not worth a delta.
    pub misses: u32,
}

/// A pending write: a small record that belongs to a checkpoint. The checkpoint may not exist yet. Removing the
/// checkpoint removes its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The task that made the write.
    pub task: String,
    /// The slot of the write within its task. No two unclaimed writes of a task have the same slot.
    pub index: i64,
    /// The id of the checkpoint that was made from this write: see [`crate::op::Op::Claim`]. `None` if the write is
    /// unclaimed.
    pub claimed_by: Option<String>,
    /// The state of the task after the write. A read combines the states of all writes in the same row.
    pub state: TaskState,
    /// The name and the content of the write. The name need not be unique.
    pub part: Part,
}

/// A checkpoint with its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    pub checkpoint: Checkpoint,
    /// The writes, in the order in which each slot was first written.
    pub writes: Vec<Write>,
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuplePage {
    /// In the order of the query.
    pub tuples: Vec<Tuple>,
    /// The next page begins after this position. `None` on the last page.
    pub next: Option<Position>,
}

/// A checkpoint with the records of a log that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub checkpoint: Checkpoint,
    /// The records, in log order.
    pub records: Vec<Record>,
}
