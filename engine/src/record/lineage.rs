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
    /// The id of the checkpoint in another lineage from which the first checkpoint was made. `Some` means that the
    /// lineage is a fork.
    pub origin: Option<String>,
    pub status: Status,
}

/// A lineage in a listing by activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// The save number of the newest checkpoint. The next page of a listing continues from this number.
    pub seq: Seq,
    pub lineage: Lineage,
}
