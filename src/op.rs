//! Writes as values. A unit is what must happen together; a batch is the units that share a transaction.

use crate::record::{Checkpoint, Space};

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
}

impl Op {
    /// What it weighs in a queue, in bytes: the payload and a little for the rest.
    pub fn weight(&self) -> usize {
        match self {
            Op::Put(checkpoint) => 512 + checkpoint.payload.len(),
            Op::Remove { .. } => 128,
        }
    }
}

/// The changes of one call: all of them happen, or none.
pub type Unit = Vec<Op>;
