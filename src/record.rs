//! What is stored: a checkpoint belongs to a lineage, has searchable fields, and carries a payload of named parts.

use std::cmp::Reverse;

use bytes::Bytes;

/// A position in the store's one save order: greater was saved later, whatever any clock says (D6).
pub type Seq = i64;

/// The ids of one contract, kept apart from those of the others in the same database. The number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContractId(pub u8);

/// The place of a checkpoint among those of its lineage, as bytes that compare in that order. Equal sort keys are ordered by
/// [`Seq`]. What a sort key means is its contract's business: a timestamp, a step index, an id that sorts by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(pub Vec<u8>);

impl SortKey {
    /// A sort key that orders as the number does; -0 and 0 are equal.
    pub fn from_f64(value: f64) -> Self {
        let bits = (value + 0.0).to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Self(ordered.to_be_bytes().to_vec())
    }

    /// The number at the front of a sort key, and what follows it.
    pub fn split_f64(&self) -> Option<(f64, Self)> {
        let (ordered, rest) = self.0.split_first_chunk()?;
        let ordered = u64::from_be_bytes(*ordered);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        Some((f64::from_bits(bits), Self(rest.to_vec())))
    }

    /// This sort key, and where it is equal the next.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        self.0.extend_from_slice(&next.0);
        self
    }

    /// The bytes that say how old a checkpoint is: see [`Header::age_offset`].
    pub fn age(&self, offset: u8) -> &[u8] {
        self.0.get(usize::from(offset)..).unwrap_or_default()
    }
}

/// Everything about a checkpoint but its payload: what a listing shows and what a lookup finds it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whose ids these are.
    pub contract: ContractId,
    /// The run, thread or session it belongs to.
    pub lineage: String,
    /// Its id, unique in its contract.
    pub id: String,
    /// The id of the checkpoint that it was made from, where the contract knows it.
    pub parent: Option<String>,
    /// What several lineages have in common (the graph, say). Empty: nothing.
    pub group: String,
    /// What several checkpoints of a lineage have in common (the node, say). Empty: nothing.
    pub label: String,
    /// Its place among the checkpoints of its lineage and group.
    pub sort_key: SortKey,
    /// When the store was given it, in ms since the epoch. Retention goes by it, order never does (D6).
    pub saved_at: i64,
    /// The byte of the sort key at which the age begins. 0: the whole sort key is the age. Retention that keeps a number of checkpoints
    /// removes the oldest by age, then by sort key, then by save order. All checkpoints of a lineage have the same.
    pub age_offset: u8,
    /// Whether this checkpoint cannot be read without its parent. Retention then never removes the parent alone (D9).
    pub depends_on_parent: bool,
    /// What a listing shows beside the ids, in a form that only the contract reads. Small: listings carry it.
    pub meta: Vec<u8>,
}

/// A named piece of a payload, in the bytes that a serializer made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name within the payload.
    pub name: String,
    /// The serializer that wrote it.
    pub tag: String,
    /// What the serializer wrote.
    pub bytes: Bytes,
}

impl Part {
    /// What stands before the last NUL of its name: what it is a version of, if it is one.
    pub fn stem(&self) -> Option<&str> {
        self.name.rsplit_once('\0').map(|(stem, _)| stem)
    }
}

/// A checkpoint's content: parts in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The parts; names need not be unique.
    pub parts: Vec<Part>,
}

impl Payload {
    /// The bytes of all parts together.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first part of that name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }
}

/// A checkpoint as it is stored and read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its searchable side.
    pub header: Header,
    /// Its content.
    pub payload: Payload,
    /// The logs that it names, each with the length that it keeps.
    pub logs: Vec<LogMark>,
}

/// A checkpoint to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its searchable side.
    pub header: Header,
    /// The parts that are given.
    pub payload: Payload,
    /// The names of parts that are not given, because they are the parent's. Each is copied from the parent, or else from the
    /// newest checkpoint of the lineage that has a part of that name, or else left out.
    pub inherit: Vec<String>,
    /// The expected content of inherited parts, where the caller knows it. Of a name that the parent lacks, the newest part
    /// that is equal wins over one that is only newer.
    pub like: Vec<Part>,
    /// The logs that the checkpoint names. They are logs of its lineage.
    pub logs: Vec<LogPin>,
    /// The payload as it is likely to be stored, encoded before the turn of this put came. Only the engine fills it in.
    pub encoded: Option<Encoded>,
}

impl From<Checkpoint> for Draft {
    /// A draft that gives every part, and keeps the logs at the lengths that the checkpoint names.
    fn from(Checkpoint { header, payload, logs }: Checkpoint) -> Self {
        let pin = |mark: LogMark| LogPin { log: mark.log, length: Some(mark.length) };
        let logs = logs.into_iter().map(pin).collect();
        Self { header, payload, inherit: Vec::new(), like: Vec::new(), logs, encoded: None }
    }
}

impl Draft {
    /// The bytes of all given parts together.
    pub fn len(&self) -> usize {
        self.payload.len()
    }

    /// Whether no bytes are given.
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }
}

/// A payload as it is likely to be stored, encoded while other units were being committed. The backend checks that what
/// it was made from is still so, and encodes it again otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The parts as one byte string, the inherited ones among them.
    pub raw: Bytes,
    /// The checkpoint that the inherited parts are from.
    pub parent: Option<Seq>,
    /// The payload that the delta was made against.
    pub base: Option<Seq>,
    /// Whether `body` is a delta. If not, it is a keyframe.
    pub is_delta: bool,
    /// The envelope that the row will hold.
    pub body: Bytes,
    /// How many payloads of the lineage in a row, up to this one, had no delta that was worth it.
    pub misses: u32,
}

/// A record of a log: small, and never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// A key that is unique in its log, if the record has one.
    pub key: Option<String>,
    /// The serializer that wrote it.
    pub tag: String,
    /// What the serializer wrote.
    pub bytes: Bytes,
}

/// A log that a put names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPin {
    /// The log's name in the checkpoint's lineage.
    pub log: String,
    /// How many of its first records the checkpoint keeps. `None`: all that are there when the put is applied.
    pub length: Option<u64>,
}

/// A log that a stored checkpoint names: it keeps exactly the records that stood below this length when it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMark {
    /// The log's name.
    pub log: String,
    /// How many records it keeps.
    pub length: u64,
}

/// Records of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// How many records the log has in all.
    pub length: u64,
    /// The position of the first record here. Positions begin at 0.
    pub start: u64,
    /// The records, in their order.
    pub records: Vec<Record>,
}

/// A small record that belongs to a checkpoint, which need not be there yet. It goes when its checkpoint goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Whose it is among those of the checkpoint: a task's.
    pub task: String,
    /// Its slot among the writes of the task. No two unclaimed writes of a task have the same slot.
    pub index: i64,
    /// The checkpoint that was made of it: see [`crate::op::Op::Claim`]. `None`: it is unclaimed.
    pub claimed_by: Option<String>,
    /// Its name and content; the name need not be unique.
    pub part: Part,
}

/// A checkpoint with what was written to it, in the order in which each slot was first written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What was written to it.
    pub writes: Vec<Write>,
}

/// A lineage as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Its place among the lineages, by when the store first heard of them: greater is later. A listing goes on from here.
    pub position: i64,
    /// How many checkpoints it has.
    pub checkpoints: u64,
    /// Its newest checkpoint; the lineage's name is in it.
    pub newest: Header,
    /// The checkpoint of another lineage that its first checkpoint was made from: it is a fork of that one's run.
    pub origin: Option<String>,
}

/// What a store, or one contract of it, holds and takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// How many lineages there are, those that have logs alone among them.
    pub lineages: u64,
    /// What their payloads are, framed, in bytes.
    pub logical_bytes: u64,
    /// What their payloads take, compressed and as deltas, in bytes.
    pub stored_bytes: u64,
    /// How many records all logs hold. One that several checkpoints and logs name counts once.
    pub records: u64,
    /// What these records take, in bytes.
    pub record_bytes: u64,
    /// What the database takes in all, in bytes, where there is one.
    pub file_bytes: Option<u64>,
    /// The lineages that take most, the largest first; equal ones by name.
    pub largest: Vec<LineageStats>,
}

/// What a lineage holds and takes: see [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageStats {
    /// Whose lineage it is.
    pub contract: ContractId,
    /// Its name.
    pub lineage: String,
    /// How many checkpoints it has.
    pub checkpoints: u64,
    /// What their payloads are.
    pub logical_bytes: u64,
    /// What their payloads take.
    pub stored_bytes: u64,
}

impl Stats {
    /// Counts a lineage in; of the largest, at most so many are kept.
    pub fn count(&mut self, lineage: LineageStats, largest: usize) {
        self.checkpoints += lineage.checkpoints;
        self.lineages += 1;
        self.logical_bytes += lineage.logical_bytes;
        self.stored_bytes += lineage.stored_bytes;
        self.rank_among_largest(lineage, largest);
    }

    /// Keeps a lineage if it is one of the largest; of those, at most so many are kept.
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
