//! Writes as values. A unit is what must happen together; a batch is the units that share a transaction.

use bytes::Bytes;

use crate::error::{Code, Error, Result};
use crate::record::{Checkpoint, Rank, Space, Write};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Stores a checkpoint as the last saved. One with the same space and id is replaced, in whatever lineage it was.
    Put(Box<Checkpoint>),
    /// Fails with [`Code::Conflict`] unless a lineage is as its writer knows it. Stands first in its
    /// unit, of which nothing is done then.
    Expect {
        /// Whose lineage it is.
        space: Space,
        /// The lineage.
        lineage: String,
        /// The id of its newest checkpoint; none: there is no lineage.
        newest: Option<String>,
        /// The id of what the writer puts: that may be the newest too, for whoever tries again.
        or: String,
    },
    /// Removes the checkpoint with that id; there need not be one.
    Remove {
        /// Whose id it is.
        space: Space,
        /// The id.
        id: String,
    },
    /// Removes the checkpoints of a lineage from that rank on.
    RemoveFrom {
        /// Whose lineage it is.
        space: Space,
        /// The lineage; there need not be one.
        lineage: String,
        /// Those of this rank go too. The empty rank is before all others: the whole lineage goes.
        rank: Rank,
    },
    /// Removes the checkpoints of a group.
    RemoveGroup {
        /// Whose group it is.
        space: Space,
        /// The group, which is not empty; there need not be one.
        group: String,
    },
    /// Adds writes to a checkpoint, which need not be there yet. They are read by task, in the order in which those began,
    /// and of a task in the order in which each place was first written.
    Write {
        /// Whose checkpoint it is.
        space: Space,
        /// Its id.
        id: String,
        /// The writes. One that has an owner already, as in a copy, is added whatever is there.
        writes: Vec<Write>,
        /// Whether one in a place that is taken replaces the other; if not, the first one stays.
        replace: bool,
        /// What its backend has made of it before its turn came. See [`crate::backend::Prepare`].
        prepared: Option<Bytes>,
    },
    /// Gives the writes of a checkpoint that nobody owns yet to another, which was made of them.
    Claim {
        /// Whose checkpoints they are.
        space: Space,
        /// The id of the one that was written to.
        id: String,
        /// The id of the one that was made.
        owner: String,
    },
    /// Takes the writes of a checkpoint from their owners, which are gone: of each place what nobody owned stays, or else what was
    /// owned last.
    Release {
        /// Whose checkpoint it is.
        space: Space,
        /// Its id.
        id: String,
    },
    /// Removes the writes to checkpoints whose id begins so, literally, byte by byte: also to those that are not there.
    RemoveWrites {
        /// Whose checkpoints they are.
        space: Space,
        /// The beginning of their ids.
        prefix: String,
    },
    /// Removes what a lineage has beyond so many checkpoints: by age (see [`Space::age`]), then by rank, then by save order.
    KeepLast {
        /// Whose lineage it is.
        space: Space,
        /// The lineage; there need not be one.
        lineage: String,
        /// So many stay.
        keep: u64,
        /// The id of one that stays whatever its rank, and counts among those that do.
        pinned: String,
    },
}

impl Op {
    /// What it weighs in a queue, in bytes: the payload and a little for the rest.
    pub fn weight(&self) -> usize {
        match self {
            Op::Put(checkpoint) => {
                512 + checkpoint.payload.len()
                    + checkpoint.payload.like.iter().map(|part| part.bytes.len()).sum::<usize>()
            }
            Op::Write { writes, .. } => 128 + writes.iter().map(|write| 64 + write.part.bytes.len()).sum::<usize>(),
            _ => 128,
        }
    }
}

/// The changes of one call: all of them happen, or none.
pub type Unit = Vec<Op>;

/// What [`Op::Release`] leaves of the writes.
pub(crate) fn release(writes: Vec<Write>) -> Vec<Write> {
    let mut left: Vec<Write> = Vec::new();
    for write in writes {
        match left.iter_mut().find(|held| (&held.task, held.index) == (&write.task, write.index)) {
            Some(held) => *held = write,
            None => left.push(write),
        }
    }
    for write in &mut left {
        write.owner = None;
    }
    left
}

/// What [`Op::Expect`] comes to, given the newest of the lineage.
pub(crate) fn expect(found: Option<&str>, newest: Option<&str>, or: &str) -> Result<()> {
    if found == newest || found == Some(or) {
        return Ok(());
    }
    Err(Error::new(Code::Conflict, "another has gone on from there"))
}
