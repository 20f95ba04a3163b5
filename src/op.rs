//! Writes as values. A unit is what must happen together; a batch is the units that share a transaction.

use bytes::Bytes;

use crate::error::{Code, Error, Result, quote};
use crate::record::{ContractId, Draft, Record, SortKey, Write};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Stores a checkpoint as the last saved. One with the same contract and id is replaced, in whatever lineage it was.
    Put(Box<Draft>),
    /// Stores a copy of a checkpoint as the first of a lineage of its own, in one transaction.
    ///
    /// The copy has the payload, the group, the label and the meta of its source, which becomes its parent. The logs that the
    /// source names become logs of the new lineage, at the lengths that it names. A fork that is sent again changes nothing. Fails
    /// with [`Code::NotFound`] if there is no source, and with [`Code::Conflict`] if the lineage or the id is taken.
    Fork(Box<Fork>),
    /// Removes the checkpoint with that id; there need not be one.
    Remove {
        /// Whose id it is.
        contract: ContractId,
        /// The id.
        id: String,
    },
    /// Removes the checkpoints of a lineage from that sort key on.
    RemoveFrom {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage; there need not be one.
        lineage: String,
        /// Those of this sort key go too. The empty sort key is before all others: the whole lineage goes.
        sort_key: SortKey,
    },
    /// Removes every lineage whose name begins so, literally, byte by byte: its checkpoints and its logs. An empty prefix is none.
    RemoveLineages {
        /// Whose lineages they are.
        contract: ContractId,
        /// The beginning of their names.
        prefix: String,
    },
    /// Adds writes to a checkpoint, which need not be there yet. They are read by task, in the order in which those began,
    /// and of a task in the order in which each slot was first written.
    Write {
        /// Whose checkpoint it is.
        contract: ContractId,
        /// Its id.
        id: String,
        /// The writes. One that a checkpoint has claimed already, as in a copy, is added whatever is there.
        writes: Vec<Write>,
        /// Whether a write to a slot that is taken replaces the one there. If not, the first one stays.
        replace: bool,
        /// The envelope of the writes, encoded before the turn of this op came. Only the engine fills it in.
        encoded: Option<Bytes>,
    },
    /// Marks the writes of a checkpoint that no checkpoint has claimed yet as claimed by another, which was made of them.
    Claim {
        /// Whose checkpoints they are.
        contract: ContractId,
        /// The id of the one that was written to.
        id: String,
        /// The id of the one that was made.
        claimed_by: String,
    },
    /// Makes the writes of a checkpoint claimable again, because the checkpoints that claimed them are gone. Of each slot one write
    /// stays: the unclaimed one, or else the one that was claimed last.
    Reopen {
        /// Whose checkpoint it is.
        contract: ContractId,
        /// Its id.
        id: String,
    },
    /// Removes the writes to checkpoints whose id begins so, literally, byte by byte: also to those that are not there.
    RemoveWrites {
        /// Whose checkpoints they are.
        contract: ContractId,
        /// The beginning of their ids.
        prefix: String,
    },
    /// Appends records to a log, which need not be there yet. All of them are appended, or none.
    Append {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage; it need not have checkpoints.
        lineage: String,
        /// The log's name, unique in the lineage.
        log: String,
        /// The records. One whose key the log has already is left out.
        records: Vec<Record>,
        /// The length that the log must have, else [`Code::Conflict`].
        expect: Option<u64>,
    },
    /// Cuts a log. What checkpoints name of it stays theirs.
    Truncate {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage.
        lineage: String,
        /// The log's name; there need not be one.
        log: String,
        /// Where it then ends.
        to: LogEnd,
    },
    /// Removes all logs of a lineage. What checkpoints name of them stays theirs.
    RemoveLogs {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage; there need not be one.
        lineage: String,
    },
    /// Removes what a lineage has beyond so many checkpoints: by age (see [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save order.
    KeepLast {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage; there need not be one.
        lineage: String,
        /// So many stay.
        keep: u64,
        /// The id of one that stays whatever its sort key, and counts among those that do.
        pinned: String,
    },
}

impl Op {
    /// What it weighs in a queue, in bytes: the payload and a little for the rest.
    pub fn weight(&self) -> usize {
        match self {
            Op::Put(draft) => 512 + draft.len() + draft.like.iter().map(|part| part.bytes.len()).sum::<usize>(),
            Op::Write { writes, .. } => 128 + writes.iter().map(|write| 64 + write.part.bytes.len()).sum::<usize>(),
            Op::Append { records, .. } => 128 + records.iter().map(|record| 64 + record.bytes.len()).sum::<usize>(),
            _ => 128,
        }
    }
}

/// The copy that [`Op::Fork`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Whose checkpoints they are.
    pub contract: ContractId,
    /// The id of the source.
    pub source: String,
    /// The id of the copy.
    pub id: String,
    /// The lineage of the copy, which has neither checkpoints nor logs yet.
    pub lineage: String,
    /// The sort key of the copy.
    pub sort_key: SortKey,
    /// When the store was given the call, in ms since the epoch.
    pub saved_at: i64,
}

impl Fork {
    /// Fails unless the checkpoint that has the copy's id is the copy, as it is when the fork is sent again.
    pub(crate) fn check_sent_again(&self, lineage: &str, parent: Option<&str>) -> Result<()> {
        if lineage == self.lineage && parent == Some(&self.source) {
            return Ok(());
        }
        let message = format!(
            "checkpoint {:?} cannot be forked as {:?}, because {lineage:?} has a checkpoint of that id: use another id",
            self.source, self.id
        );
        Err(Error::new(Code::Conflict, message))
    }

    /// The source is not there.
    pub(crate) fn no_source(&self) -> Error {
        let source = quote(&self.source);
        let message =
            format!("checkpoint {source} not found: nothing to fork from; list the checkpoints that there are");
        Error::new(Code::NotFound, message)
    }

    /// The lineage has checkpoints or logs already.
    pub(crate) fn lineage_taken(&self) -> Error {
        let message = format!(
            "checkpoint {:?} cannot be forked into {:?}, because that is not new: use another name",
            self.source, self.lineage
        );
        Error::new(Code::Conflict, message)
    }
}

/// Where a log ends after [`Op::Truncate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// Behind its first so many records. A log that is shorter stays as it is.
    Length(u64),
    /// Where that checkpoint of the lineage names it: the log then holds exactly the records that the checkpoint keeps. Fails with
    /// [`Code::NotFound`] if there is no such checkpoint, or if it does not name the log.
    Checkpoint(String),
}

/// The changes of one call: all of them happen, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// What must hold, or the unit fails with [`Code::Conflict`].
    pub expect: Option<Expect>,
    /// The changes, in their order.
    pub ops: Vec<Op>,
}

impl From<Vec<Op>> for Unit {
    fn from(ops: Vec<Op>) -> Self {
        Self { expect: None, ops }
    }
}

/// A lineage is as its writer knows it (D7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Whose lineage it is.
    pub contract: ContractId,
    /// The lineage.
    pub lineage: String,
    /// The id of its newest checkpoint; none: there is no lineage.
    pub newest: Option<String>,
    /// The id of what the writer puts. Also accepted as the newest, so that a put that is sent again succeeds.
    pub or: String,
}

impl Expect {
    /// Compares with the newest checkpoint that was found.
    pub(crate) fn check(&self, found: Option<&str>) -> Result<()> {
        if found == self.newest.as_deref() || found == Some(&self.or) {
            return Ok(());
        }
        let say = |id: Option<&str>| id.map_or_else(|| "none".to_owned(), |id| format!("{id:?}"));
        let message = format!(
            "checkpoint {:?}: the newest checkpoint of {:?} is {}, not {} as expected, because another writer has gone on: \
             read the newest and decide again",
            self.or,
            self.lineage,
            say(found),
            say(self.newest.as_deref())
        );
        Err(Error::new(Code::Conflict, message))
    }
}

/// What came of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// One for each [`Op::Append`], in their order.
    pub appended: Vec<Appended>,
}

/// What came of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The log's length now.
    pub length: u64,
    /// Which of the records were left out, because the log has their keys already: their indexes, ascending.
    pub left_out: Vec<usize>,
}
