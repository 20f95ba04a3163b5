//! Writes as values. A unit is what must happen together; a batch is the units that share a transaction.

use crate::record::{Checkpoint, Rank, Space};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Stores a checkpoint as the last saved. One with the same space and id is replaced, in whatever lineage it was.
    Put(Box<Checkpoint>),
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
            Op::Put(checkpoint) => 512 + checkpoint.payload.len(),
            Op::Remove { .. } | Op::RemoveFrom { .. } | Op::KeepLast { .. } => 128,
        }
    }
}

/// The changes of one call: all of them happen, or none.
pub type Unit = Vec<Op>;
