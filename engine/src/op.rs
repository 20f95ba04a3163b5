//! Writes as values. A unit holds changes that are applied together or not at all. A batch holds units that are
//! committed in one transaction.

mod expect;

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Deserialize;
use ts_rs::TS;

pub(crate) use self::expect::Subject;
pub use self::expect::{Expect, Must};
use crate::error::{Code, Error, Result, quote};
use crate::record::{
    Checkpoint, ContractId, Draft, Header, LabelChanges, Labels, Order, Part, Payload, Record, SortKey, Write,
};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Stores a checkpoint. It becomes the last saved checkpoint. If a checkpoint with the same contract and id exists
    /// in any lineage, the new checkpoint replaces it.
    Put(Box<Draft>),
    /// Stores a copy of a checkpoint as the first checkpoint of a new lineage.
    ///
    /// The copy has the payload, group, label and meta of the source checkpoint. The source becomes the parent of the
    /// copy. The new lineage begins with copies of the logs that the source checkpoint names. Each copy ends at the
    /// length that the source checkpoint names for the log. Repeating the same fork changes nothing.
    ///
    /// Fails with [`Code::NotFound`] if the source does not exist, and with [`Code::Conflict`] if the new lineage or
    /// the new id already exists.
    Fork(Box<Fork>),
    /// Removes the checkpoint with this id. Does nothing if the checkpoint does not exist. If its run then has no
    /// checkpoint, the effects of the run are removed too: see [`ContractId::effects`].
    Remove { contract: ContractId, id: String },
    /// Sets the save time of a checkpoint, from which its age counts. A save time never goes back. The save order
    /// stays. Does nothing if the checkpoint does not exist.
    Touch {
        contract: ContractId,
        id: String,
        /// The new save time, in ms since the epoch.
        saved_at: i64,
    },
    /// Removes the checkpoints of a lineage whose sort keys are equal to or greater than `sort_key`.
    RemoveFrom {
        contract: ContractId,
        /// The lineage. It need not exist.
        lineage: String,
        /// The least sort key to remove. The empty sort key is the least of all, so it removes the entire lineage.
        sort_key: SortKey,
    },
    /// Removes every lineage whose name begins with the prefix, with its checkpoints and logs. Names are compared
    /// literally, byte by byte. An empty prefix removes nothing.
    RemoveLineages { contract: ContractId, prefix: String },
    /// Adds writes to a checkpoint. The checkpoint need not exist yet.
    ///
    /// A read returns the writes grouped by task. Tasks are ordered by their first write. Within a task, slots are
    /// ordered by the first write to each slot.
    Write {
        contract: ContractId,
        id: String,
        /// The writes. A claimed write, as a copied checkpoint may have, is always added, even if its slot already has
        /// a write.
        writes: Vec<Write>,
        /// If true, a write replaces an earlier write in its slot. If false, the earlier write stays.
        replace: bool,
        /// The envelope of the writes, if it was encoded ahead of time. Only the engine sets this field.
        encoded: Option<Bytes>,
    },
    /// Marks the unclaimed writes of a checkpoint as claimed by the checkpoint that was made from them.
    Claim {
        contract: ContractId,
        /// The id of the checkpoint that has the writes.
        id: String,
        /// The id of the checkpoint that was made from the writes.
        claimed_by: String,
    },
    /// Makes the writes of a checkpoint unclaimed again, after the checkpoints that claimed them were removed. Each
    /// slot keeps one write: its unclaimed write, or else the last claimed write.
    Reopen { contract: ContractId, id: String },
    /// Removes the writes to every checkpoint whose id begins with the prefix. Ids are compared literally, byte by
    /// byte. Writes to checkpoints that do not exist are removed too.
    RemoveWrites { contract: ContractId, prefix: String },
    /// Appends records to a log, and creates the log if it does not exist. Appends all of the records or none.
    Append {
        contract: ContractId,
        /// The lineage. It need not have checkpoints.
        lineage: String,
        /// The log's name, unique in the lineage.
        log: String,
        /// The records. A record whose key is already in the log is left out.
        records: Vec<Record>,
        /// The state that the log must have before the append. Otherwise, the append fails with [`Code::Conflict`].
        must: LogMust,
    },
    /// Shortens a log. Records that a checkpoint names stay readable through the checkpoint.
    Truncate {
        contract: ContractId,
        lineage: String,
        /// The log's name. The log need not exist.
        log: String,
        /// The new end of the log.
        to: LogEnd,
    },
    /// Removes all logs of a lineage. Records that a checkpoint names stay readable through the checkpoint.
    RemoveLogs {
        contract: ContractId,
        /// The lineage. It need not exist.
        lineage: String,
    },
    /// Changes the labels of a lineage. The other labels stay.
    ///
    /// Fails with [`Code::NotFound`] if the lineage has no checkpoint. Fails with [`Code::InvalidArgument`] if the
    /// lineage would get more than [`Labels::MOST`] labels.
    SetLabels { contract: ContractId, lineage: String, changes: LabelChanges },
    /// Keeps the newest checkpoints of a lineage and removes the others, the oldest first. Checkpoints are ordered by
    /// age (see [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save order.
    KeepLast {
        contract: ContractId,
        /// The lineage. It need not exist.
        lineage: String,
        /// The number of checkpoints to keep.
        keep: u64,
        /// The id of a checkpoint that is never removed. This checkpoint counts toward `keep`.
        pinned: String,
    },
}

impl Op {
    /// Creates an op that stores a checkpoint with these parts. It inherits no parts and names no logs.
    pub fn put(header: Header, parts: Vec<Part>) -> Self {
        Self::Put(Box::new(Checkpoint { header, payload: Payload { parts }, logs: Vec::new() }.into()))
    }

    /// Creates an op like [`Op::put`], with a given order.
    pub fn put_in(order: Order, header: Header, parts: Vec<Part>) -> Self {
        let draft = Draft::from(Checkpoint { header, payload: Payload { parts }, logs: Vec::new() });
        Self::Put(Box::new(Draft { order, ..draft }))
    }

    /// Returns true if the op removes data. A put that replaces a checkpoint does not count.
    pub fn removes(&self) -> bool {
        !matches!(
            self,
            Self::Put(_)
                | Self::Fork(_)
                | Self::Append { .. }
                | Self::Write { .. }
                | Self::Claim { .. }
                | Self::Reopen { .. }
                | Self::Touch { .. }
                | Self::SetLabels { .. }
        )
    }

    /// Returns the weight of the op in a queue, in bytes: the payload's size plus a small constant.
    pub fn weight(&self) -> usize {
        match self {
            Op::Put(draft) => 512 + draft.len() + draft.like.iter().map(|part| part.bytes.len()).sum::<usize>(),
            Op::Write { writes, .. } => 128 + writes.iter().map(|write| 64 + write.part.bytes.len()).sum::<usize>(),
            Op::Append { records, .. } => 128 + records.iter().map(|record| 64 + record.bytes.len()).sum::<usize>(),
            Op::SetLabels { changes, .. } => {
                let size = |(key, value): (&String, &Option<String>)| key.len() + value.as_ref().map_or(0, String::len);
                128 + changes.iter().map(size).sum::<usize>()
            }
            _ => 128,
        }
    }

    /// The error of [`Op::SetLabels`] for a lineage without checkpoints.
    pub(crate) fn nothing_to_label(lineage: &str) -> Error {
        Error::new(Code::NotFound, format!("run {} not found: it has no checkpoint", quote(lineage)))
    }

    /// Returns the size of the bytes that were encoded ahead of time.
    pub(crate) fn encoded_bytes(&self) -> usize {
        match self {
            Op::Put(draft) => draft.encoded.as_ref().map_or(0, |encoded| encoded.raw.len() + encoded.body.len()),
            Op::Write { encoded, .. } => encoded.as_ref().map_or(0, Bytes::len),
            _ => 0,
        }
    }
}

/// The source and the target of the copy that [`Op::Fork`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub contract: ContractId,
    /// The id of the source checkpoint.
    pub source: String,
    /// The id of the copy.
    pub id: String,
    /// The new lineage that the copy begins. It must have no checkpoints and no logs.
    pub lineage: String,
    /// The sort key of the copy.
    pub sort_key: SortKey,
    /// The time at which the store received the call, in ms since the epoch.
    pub saved_at: i64,
    /// The labels of the new lineage. The labels of the source's lineage are not copied.
    pub labels: Labels,
}

impl Fork {
    /// The header of the copy. `source` is the header of the source checkpoint.
    pub fn header(&self, source: &Header) -> Header {
        Header {
            lineage: self.lineage.clone(),
            id: self.id.clone(),
            parent: Some(self.source.clone()),
            sort_key: self.sort_key.clone(),
            saved_at: self.saved_at,
            ..source.clone()
        }
    }

    /// Checks an existing checkpoint that has the id of the copy. Succeeds if the checkpoint is this copy, because then
    /// the fork was sent twice.
    pub(crate) fn check_sent_again(&self, lineage: &str, parent: Option<&str>) -> Result<()> {
        if lineage == self.lineage && parent == Some(&self.source) {
            return Ok(());
        }
        let message = format!(
            "checkpoint {:?} cannot be forked as {:?}, because {lineage:?} already has a checkpoint with this id: use another id",
            self.source, self.id
        );
        Err(Error::new(Code::Conflict, message))
    }

    /// The error for a source that does not exist.
    pub(crate) fn no_source(&self) -> Error {
        let source = quote(&self.source);
        let message =
            format!("checkpoint {source} not found: nothing to fork from; list the checkpoints to find the right id");
        Error::new(Code::NotFound, message)
    }

    /// The error for a lineage that already has checkpoints or logs.
    pub(crate) fn lineage_taken(&self) -> Error {
        let message = format!(
            "checkpoint {:?} cannot be forked into {:?}, because it already exists: use another name",
            self.source, self.lineage
        );
        Error::new(Code::Conflict, message)
    }
}

/// The state of a log that an append requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogMust {
    /// Any state.
    BeAny,
    /// The log has this number of records.
    HaveLength(u64),
    /// No record is left out: the keys of the new records are new to the log, and distinct.
    LackTheKeys,
}

/// The end of a log after [`Op::Truncate`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum LogEnd {
    /// The log ends after this number of records. A shorter log stays unchanged.
    Length(u64),
    /// The log ends at the length that this checkpoint of the lineage names. The log then holds exactly the records
    /// that the checkpoint names. Fails with [`Code::NotFound`] if the checkpoint does not exist or does not name the
    /// log.
    Checkpoint(String),
}

/// The changes of one call. Either all of them are applied, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Conditions, checked before the changes are applied. If a condition is false, the unit fails with its error.
    pub expect: Vec<Expect>,
    /// The changes, in the order of their application.
    pub ops: Vec<Op>,
}

impl Unit {
    /// Adds the conditions and the changes of another unit.
    pub(crate) fn join(&mut self, other: Unit) {
        self.expect.extend(other.expect);
        self.ops.extend(other.ops);
    }
}

impl From<Vec<Op>> for Unit {
    fn from(ops: Vec<Op>) -> Self {
        Self { expect: Vec::new(), ops }
    }
}

/// The result of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The result of each [`Op::Append`], in the order of the ops.
    pub appended: Vec<Appended>,
    /// The stored size of the checkpoints that the unit has put or forked, in bytes: see
    /// [`Stats`](crate::record::Stats). `None`: there are none, or the size is unknown.
    pub stored_bytes: Option<u64>,
    /// The position of the lineage of the last checkpoint that the unit has put or forked: see
    /// [`Start::position`](crate::record::Start::position). `None`: there is none, or the position is unknown.
    pub lineage: Option<i64>,
    /// The batch in which the unit was applied. The store sets this field; backends do not.
    pub commit: Option<Commit>,
}

impl Applied {
    /// Adds the stored size of a checkpoint, in bytes.
    pub(crate) fn stored(&mut self, bytes: u64) {
        if bytes > 0 {
            *self.stored_bytes.get_or_insert(0) += bytes;
        }
    }
}

/// The batch in which a unit was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The time at which the backend began the batch.
    pub began: Instant,
    /// The time from `began` until the batch was durable.
    pub took: Duration,
    /// The number of units in the batch.
    pub units: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The log's length after the append.
    pub length: u64,
    /// The ascending indexes of the records that were left out, because the log already has records with their keys.
    pub left_out: Vec<usize>,
}
