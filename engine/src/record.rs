//! The types of stored data. A checkpoint belongs to a lineage, has searchable fields, and has a payload of named
//! parts.

mod content;
mod export;
mod rows;
mod stats;

use bytes::Bytes;
use serde::Serialize;

pub use self::content::Content;
pub use self::export::{FirstCheckpoint, LogRun, Origin, Saved, Start, Written};
pub use self::rows::{FeedPage, Listed, RowPage, RowSums};
pub use self::stats::{LineageStats, Stats};
use crate::error::Error;

/// A message for the user about the opened storage. JavaScript emits it as a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The warning's code, which is public API.
    pub code: &'static str,
    /// The problem and the remedy. Never contains the content of a state.
    pub message: String,
}

/// The save number of a checkpoint. It is the checkpoint's position in the save order of the whole store. A checkpoint
/// with a greater number was saved later, regardless of any clock (D6).
pub type Seq = i64;

/// The number of a contract. Each contract has its own ids, which are independent of other contracts in the same
/// database. The number is stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContractId(pub u8);

/// The position of a checkpoint within its lineage. Comparing the bytes of two sort keys gives the order of their
/// checkpoints. Checkpoints with equal sort keys are ordered by [`Seq`].
///
/// The contract defines the meaning of the bytes: a timestamp, a step index, or an id that sorts by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(pub Vec<u8>);

impl SortKey {
    /// Returns a sort key for a number. Sort keys are ordered as their numbers are. -0 and 0 give equal sort keys.
    pub fn from_f64(value: f64) -> Self {
        let bits = (value + 0.0).to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Self(ordered.to_be_bytes().to_vec())
    }

    /// Splits a sort key into the number at its beginning and the bytes after the number. Returns `None` if the sort
    /// key does not begin with a number.
    pub fn split_f64(&self) -> Option<(f64, Self)> {
        let (ordered, rest) = self.0.split_first_chunk()?;
        let ordered = u64::from_be_bytes(*ordered);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        Some((f64::from_bits(bits), Self(rest.to_vec())))
    }

    /// Appends a second sort key, which determines the order of checkpoints whose first sort keys are equal.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        self.0.extend_from_slice(&next.0);
        self
    }

    /// Returns the part of the sort key that determines the age of a checkpoint: see [`Header::age_offset`].
    pub fn age(&self, offset: u8) -> &[u8] {
        self.0.get(usize::from(offset)..).unwrap_or_default()
    }
}

/// Everything about a checkpoint except its payload: the fields that listings show and lookups search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The contract that the checkpoint belongs to.
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
    /// of checkpoints never depends on it (D6).
    pub saved_at: i64,
    /// The index of the byte in the sort key at which the age begins. If 0, the whole sort key is the age. All
    /// checkpoints of a lineage have the same offset.
    ///
    /// Retention by number removes the oldest checkpoints first. Checkpoints are ordered by age, then by sort key, then
    /// by save order.
    pub age_offset: u8,
    /// True if this checkpoint cannot be read without its parent. If true, retention never removes the parent without
    /// this checkpoint (D9).
    pub depends_on_parent: bool,
    /// True if retention by age and by size never removes this checkpoint. Its contract removes the checkpoint itself.
    pub exempt: bool,
    /// Extra data for listings, in a form that only the contract reads. Keep these data small, because every listing
    /// includes them.
    pub meta: Vec<u8>,
}

impl Header {
    /// The error for a checkpoint whose age offset differs from the age offset of its lineage. The caller adds the id
    /// of the checkpoint.
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
    /// The serialized bytes.
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
    /// The parts; names need not be unique.
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
    /// The searchable fields.
    pub header: Header,
    /// The content.
    pub payload: Payload,
    /// The logs that the checkpoint names. For each log, the mark gives the number of named records.
    pub logs: Vec<LogMark>,
}

/// A checkpoint to put. The engine adds the inherited parts to the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The searchable fields.
    pub header: Header,
    /// The parts that the caller gives.
    pub payload: Payload,
    /// The names of the parts to inherit. Each part is copied from the parent or, if the parent lacks the part, from
    /// the newest checkpoint of the lineage that has a part of this name. If no checkpoint has the part, the part is
    /// left out.
    pub inherit: Vec<String>,
    /// The content that the caller expects inherited parts to have, if the caller knows it. If the parent lacks a part,
    /// the engine searches the lineage's checkpoints for the part. A part with the expected content is preferred to a
    /// newer part with other content.
    pub like: Vec<Part>,
    /// The logs that the checkpoint names. The logs belong to the checkpoint's lineage.
    pub logs: Vec<LogPin>,
    /// The payload as it will probably be stored, encoded ahead of time. Only the engine sets this field.
    pub encoded: Option<Encoded>,
}

impl From<Checkpoint> for Draft {
    /// Converts a checkpoint to a draft. The draft contains every part of the checkpoint, inherits no parts, and names
    /// the same logs at the same lengths.
    fn from(Checkpoint { header, payload, logs }: Checkpoint) -> Self {
        let pin = |mark: LogMark| LogPin { log: mark.log, length: Some(mark.length) };
        let logs = logs.into_iter().map(pin).collect();
        Self { header, payload, inherit: Vec::new(), like: Vec::new(), logs, encoded: None }
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

/// Identifies a payload, also if the database goes back in time. A restored or rewound database gives the save numbers of
/// lost payloads to other payloads. It never gives both the number and the checksum to other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadKey {
    /// The save number.
    pub seq: Seq,
    /// The checksum of the raw bytes. Every row stores it, at the beginning of its envelope.
    pub sum: u64,
}

/// A payload as it will probably be stored. The payload is encoded while other units are being committed. If the base
/// or the parent has changed in the meantime, the backend encodes the payload again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The parts as one byte string, with the inherited parts.
    pub raw: Bytes,
    /// The payload of the checkpoint that gave the inherited parts.
    pub parent: Option<PayloadKey>,
    /// The payload that the delta was made against.
    pub base: Option<PayloadKey>,
    /// True if `body` is a delta, and false if it is a keyframe.
    pub is_delta: bool,
    /// The envelope to store in the row.
    pub body: Bytes,
    /// The number of consecutive payloads of the lineage, up to this one, for which no delta was worthwhile.
    pub misses: u32,
}

/// A record of a log. Records are small and never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// An optional key, unique within the log.
    pub key: Option<String>,
    /// The name of the serializer that wrote the bytes.
    pub tag: String,
    /// The serialized bytes.
    pub bytes: Bytes,
}

/// A log that a put names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPin {
    /// The log's name in the checkpoint's lineage.
    pub log: String,
    /// The number of records that the checkpoint names, counted from the first record. `None` names all records that
    /// the log has when the put is applied.
    pub length: Option<u64>,
}

/// A log that a stored checkpoint names. The checkpoint names exactly the first `length` records that the log had at
/// the time of the put. These records stay readable through the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMark {
    /// The log's name.
    pub log: String,
    /// The number of records that the checkpoint names.
    pub length: u64,
}

/// Records of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The total number of records in the log.
    pub length: u64,
    /// The position of the first returned record. Positions begin at 0.
    pub start: u64,
    /// The records, in log order.
    pub records: Vec<Record>,
}

/// A pending write: a small record that belongs to a checkpoint. The checkpoint need not exist yet. Removing the
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
    /// The name and the content of the write. The name need not be unique.
    pub part: Part,
}

/// A checkpoint with its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The writes, in the order in which each slot was first written.
    pub writes: Vec<Write>,
}

/// A checkpoint with the records of a log that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The records, in log order.
    pub records: Vec<Record>,
}

/// A lineage as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The position of the lineage in the order in which the store created its lineages. A later lineage has a
    /// greater position. The next page of a listing continues from this position.
    pub position: i64,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The header of the newest checkpoint. It contains the lineage's name.
    pub newest: Header,
    /// The id of the checkpoint in another lineage from which the first checkpoint was made. `Some` means that the
    /// lineage is a fork.
    pub origin: Option<String>,
}

/// A lineage in a listing by activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// The save number of the newest checkpoint. The next page of a listing continues from this number.
    pub seq: Seq,
    /// The lineage.
    pub lineage: Lineage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_order_as_numbers_do() {
        let numbers = [f64::MIN, -1e21, -1.5, -1.0, -5e-324, 0.0, 5e-324, 0.5, 1.0, 1_700_000_000_000.25, f64::MAX];
        for pair in numbers.windows(2) {
            assert!(SortKey::from_f64(pair[0]) < SortKey::from_f64(pair[1]), "{pair:?}");
        }
        assert_eq!(SortKey::from_f64(-0.0), SortKey::from_f64(0.0));
        for number in numbers {
            let sort_key = SortKey::from_f64(number).then(&SortKey(vec![7]));
            assert_eq!(sort_key.split_f64(), Some((number, SortKey(vec![7]))));
        }
        assert_eq!(SortKey(vec![1; 7]).split_f64(), None);
    }
}
