//! The stored types. A checkpoint belongs to a lineage, has searchable fields, and carries a payload of named parts.

use std::cmp::Reverse;

use bytes::Bytes;

/// The save number of a checkpoint: its position in the store's single save order. A greater number was saved later,
/// regardless of any clock (D6).
pub type Seq = i64;

/// The number of a contract. Each contract has its own ids, apart from other contracts in the same database. The
/// number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContractId(pub u8);

/// The position of a checkpoint within its lineage. The bytes compare in the order of the checkpoints. Checkpoints
/// with equal sort keys are ordered by [`Seq`].
///
/// The contract defines the meaning of the bytes: a timestamp, a step index, or an id that sorts by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(pub Vec<u8>);

impl SortKey {
    /// A sort key with the order of the numbers. -0 and 0 are equal.
    pub fn from_f64(value: f64) -> Self {
        let bits = (value + 0.0).to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Self(ordered.to_be_bytes().to_vec())
    }

    /// Splits a sort key into the number at its front and the bytes after the number. `None` if there is no number.
    pub fn split_f64(&self) -> Option<(f64, Self)> {
        let (ordered, rest) = self.0.split_first_chunk()?;
        let ordered = u64::from_be_bytes(*ordered);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        Some((f64::from_bits(bits), Self(rest.to_vec())))
    }

    /// Appends a second sort key, which decides between equal first ones.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        self.0.extend_from_slice(&next.0);
        self
    }

    /// The bytes that order checkpoints by age: see [`Header::age_offset`].
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
    /// A name that several lineages share, for example the graph. Empty: no group.
    pub group: String,
    /// A name that several checkpoints of a lineage share, for example the node. Empty: no label.
    pub label: String,
    /// The position of the checkpoint within its lineage and its group.
    pub sort_key: SortKey,
    /// The time at which the store received the checkpoint, in ms since the epoch. Retention uses it; order never
    /// does (D6).
    pub saved_at: i64,
    /// The index of the sort key's byte at which the age begins. 0: the whole sort key is the age. All checkpoints of
    /// a lineage have the same offset.
    ///
    /// Retention by number removes the oldest checkpoints first: by age, then by sort key, then by save order.
    pub age_offset: u8,
    /// Whether this checkpoint needs its parent to be read. If so, retention never removes the parent alone (D9).
    pub depends_on_parent: bool,
    /// Extra data for listings, in a form that only the contract reads. Keep it small, because every listing carries
    /// it.
    pub meta: Vec<u8>,
}

/// A named piece of a payload, as serialized bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name within the payload.
    pub name: String,
    /// The name of the serializer that wrote the bytes.
    pub tag: String,
    /// The serialized bytes.
    pub bytes: Bytes,
}

impl Part {
    /// The part of the name before the last NUL. All versions of the same value share this stem. `None` if the name
    /// has no NUL.
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

    /// Whether the parts have no bytes.
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
    /// The logs that the checkpoint names, each with the length that the checkpoint keeps.
    pub logs: Vec<LogMark>,
}

/// A checkpoint to put. The engine may still have to add inherited parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The searchable fields.
    pub header: Header,
    /// The parts that the caller gives.
    pub payload: Payload,
    /// The names of parts to copy instead of being given. Each part comes from the parent, or else from the newest
    /// checkpoint of the lineage that has a part of that name. A part that neither has is left out.
    pub inherit: Vec<String>,
    /// The expected content of inherited parts, if the caller knows it. For a part that the parent lacks, an older
    /// part with equal content wins over a newer one.
    pub like: Vec<Part>,
    /// The logs that the checkpoint names. They belong to its lineage.
    pub logs: Vec<LogPin>,
    /// The payload as it will probably be stored, encoded ahead of time. Only the engine sets this field.
    pub encoded: Option<Encoded>,
}

impl From<Checkpoint> for Draft {
    /// A draft that gives every part, and names the logs at the same lengths as the checkpoint.
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

    /// Whether the given parts have no bytes.
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }
}

/// A payload as it will probably be stored. It is encoded while other units are being committed. The backend checks
/// that the base and the parent are still the same, and encodes the payload again if not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The parts as one byte string, with the inherited parts.
    pub raw: Bytes,
    /// The save number of the checkpoint that gave the inherited parts.
    pub parent: Option<Seq>,
    /// The save number of the payload that the delta was made against.
    pub base: Option<Seq>,
    /// Whether `body` is a delta. Otherwise it is a keyframe.
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
    /// The number of records to keep, counted from the first. `None` keeps all records that the log has when the put
    /// is applied.
    pub length: Option<u64>,
}

/// A log that a stored checkpoint names. The checkpoint keeps exactly the first `length` records, as they were at the
/// put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMark {
    /// The log's name.
    pub log: String,
    /// The number of records that the checkpoint keeps.
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

/// A pending write: a small record that belongs to a checkpoint. The checkpoint may be saved later. Removing the
/// checkpoint removes its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The task that made the write.
    pub task: String,
    /// The slot of the write within its task. No two unclaimed writes of a task have the same slot.
    pub index: i64,
    /// The id of the checkpoint that was made from this write: see [`crate::op::Op::Claim`]. `None`: unclaimed.
    pub claimed_by: Option<String>,
    /// The name and the content. The name need not be unique.
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

/// The number and the size of what a store, or one contract of it, holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The number of lineages, including lineages that have only logs.
    pub lineages: u64,
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, compressed and as deltas, in bytes.
    pub stored_bytes: u64,
    /// The number of records in all logs. A record that several checkpoints and logs share counts once.
    pub records: u64,
    /// The total size of these records, in bytes.
    pub record_bytes: u64,
    /// The total size of the database, in bytes. `None` if there is no database.
    pub file_bytes: Option<u64>,
    /// The lineages with the greatest stored size, the largest first. Equal ones are sorted by name.
    pub largest: Vec<LineageStats>,
}

/// The number and the size of what a lineage holds: see [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageStats {
    /// The contract that the lineage belongs to.
    pub contract: ContractId,
    /// The name of the lineage.
    pub lineage: String,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, in bytes.
    pub stored_bytes: u64,
}

impl Stats {
    /// Adds a lineage to the totals, and lists it if it is one of the `largest` largest.
    pub fn count(&mut self, lineage: LineageStats, largest: usize) {
        self.checkpoints += lineage.checkpoints;
        self.lineages += 1;
        self.logical_bytes += lineage.logical_bytes;
        self.stored_bytes += lineage.stored_bytes;
        self.rank_among_largest(lineage, largest);
    }

    /// Inserts a lineage into the list of the largest lineages, and keeps at most `largest` of them.
    pub fn rank_among_largest(&mut self, lineage: LineageStats, largest: usize) {
        let before = |other: &LineageStats| {
            (Reverse(other.stored_bytes), other.contract, &other.lineage)
                < (Reverse(lineage.stored_bytes), lineage.contract, &lineage.lineage)
        };
        let at = self.largest.partition_point(before);
        if at < largest {
            self.largest.insert(at, lineage);
            self.largest.truncate(largest);
        }
    }
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
