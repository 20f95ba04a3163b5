//! The results of the queries that read the entire content of a store.

use super::checkpoint::{Checkpoint, Write};
use super::key::{ContractId, Seq};
use super::labels::Labels;

/// A checkpoint of any contract, in a page in save order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The save number. The next page continues from this number.
    pub seq: Seq,
    /// The position of the lineage: see [`Start::position`].
    pub lineage: i64,
    pub checkpoint: Checkpoint,
}

impl Saved {
    /// The size that counts toward the size of a page, in bytes.
    pub fn weight(&self) -> usize {
        512 + self.checkpoint.payload.len() + self.checkpoint.header.meta.len()
    }
}

/// A lineage of any contract, with the properties from its creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The position in the order in which the store created its lineages. The next page continues from this position.
    pub position: i64,
    pub contract: ContractId,
    pub name: String,
    /// The properties from the first checkpoint. `None` if the lineage has only logs.
    pub first: Option<FirstCheckpoint>,
    /// The labels of the lineage. Empty if the lineage has only logs.
    pub labels: Labels,
}

impl Start {
    /// The checkpoint from which the lineage was forked.
    pub fn origin(&self) -> Option<&Origin> {
        self.first.as_ref()?.origin.as_ref()
    }
}

/// The properties that a lineage takes from its first checkpoint. They stay after this checkpoint is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstCheckpoint {
    pub group: String,
    /// The age offset of all checkpoints of the lineage: see [`Header::age_offset`](super::Header::age_offset).
    pub age_offset: u8,
    /// The checkpoint from which the lineage was forked. `None` if the lineage is no fork.
    pub origin: Option<Origin>,
}

/// The origin of a fork: a checkpoint, which may no longer exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub id: String,
    /// The position of the lineage to which the checkpoint belonged.
    pub position: i64,
    /// The name of this lineage. `None` if the lineage no longer exists.
    pub lineage: Option<String>,
}

/// The pending writes to a checkpoint of any contract. The checkpoint need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub contract: ContractId,
    /// The id of the checkpoint. The next page continues from the contract and this id.
    pub id: String,
    /// The writes, in the order in which a read of the checkpoint returns them.
    pub writes: Vec<Write>,
}

impl Written {
    /// The size that counts toward the size of a page, in bytes.
    pub fn weight(&self) -> usize {
        128 + self.writes.iter().map(|write| 64 + write.part.bytes.len()).sum::<usize>()
    }
}

/// A run of records that are stored together.
///
/// The runs of a log cover its records from the first to the last. If two logs have runs with the same branch, they
/// share the records of this branch up to the smaller of the two ends. A copy can compare two logs without reading
/// records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRun {
    /// The number of the branch that holds the records. The records of a branch never change, and no two branches ever
    /// get the same number.
    pub branch: i64,
    /// The position after the last record of the run. Positions count from the first record of the log.
    pub to: u64,
}
