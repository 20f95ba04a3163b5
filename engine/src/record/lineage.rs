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
    /// The number of checkpoints, counted in an index without a look at the rows. A check verifies the index.
    pub checkpoints: u64,
    /// The header of the newest checkpoint. It contains the lineage's name.
    pub newest: Header,
    /// The save number of the newest checkpoint: the last activity of the lineage. The next page of a listing by activity
    /// continues from this number.
    pub seq: Seq,
    /// The id of the checkpoint in another lineage from which the first checkpoint was made. `Some` means that the
    /// lineage is a fork.
    pub origin: Option<String>,
    pub status: Status,
}

/// The lineages of a contract that are not finished, or some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenLineages {
    /// The number of all of them.
    pub count: u64,
    /// True if `count` is an estimate, because counting would read too many rows.
    pub is_estimate: bool,
    /// All of them, or some that are spread evenly over all. A lineage without checkpoints is left out.
    pub some: Vec<OpenLineage>,
}

impl OpenLineages {
    /// `some` are all of them, without those that have no checkpoint.
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
