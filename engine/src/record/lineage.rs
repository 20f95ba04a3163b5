//! Lineages, as listings show them.

use super::checkpoint::Header;
use super::key::Seq;
use super::status::Status;

/// A lineage as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The position of the lineage in the order in which the store created its lineages. A later lineage has a
    /// greater position. The next page of a listing continues from this position.
    pub position: i64,
    /// The number of checkpoints, counted in an index without reading the rows. A check verifies the index.
    pub checkpoints: u64,
    /// The header of the newest checkpoint. It contains the lineage's name.
    pub newest: Header,
    /// The save number of the newest checkpoint: the last activity of the lineage. The next page of a listing by
    /// activity continues from this number.
    pub seq: Seq,
    /// The id of the checkpoint from which the lineage was forked. `None` if the lineage is no fork.
    pub origin: Option<String>,
    pub status: Status,
}

/// The unfinished lineages of a contract, or a sample of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenLineages {
    /// The number of unfinished lineages.
    pub count: u64,
    /// True if `count` is an estimate, because counting would read too many rows.
    pub is_estimate: bool,
    /// All unfinished lineages, or an even sample. Lineages without checkpoints are left out.
    pub some: Vec<OpenLineage>,
}

impl OpenLineages {
    /// The result without sampling: `some` has every lineage that has a checkpoint.
    pub(crate) fn all(some: Vec<OpenLineage>) -> Self {
        Self { count: some.len() as u64, is_estimate: false, some }
    }
}

/// A lineage that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLineage {
    /// The header of the newest checkpoint. It contains the lineage's name.
    pub newest: Header,
    pub status: Status,
}
