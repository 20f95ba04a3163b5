//! A line of any kind.

use serde::Deserialize;

use super::records::{
    Begin, Branched, Checkpointed, Claimed, Cut, Head, Lineage, PendingWrites, Recorded, Removed, TaskWrites, Touched,
    Unwritten,
};

/// A line of a file with data. Exactly one field is present beside the sum.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Line<'a> {
    /// The first line of a lineage's file.
    pub(super) lineage: Option<Lineage>,
    /// The first line of the file with the pending writes of a contract.
    pub(super) pending_writes: Option<PendingWrites>,
    /// The fields that the lineage takes from its first checkpoint.
    pub(super) begin: Option<Begin>,
    /// The lineage has ended. The file stays, because other lineages share its records.
    pub(super) ended: Option<bool>,
    #[serde(borrow)]
    pub(super) checkpoint: Option<Checkpointed<'a>>,
    pub(super) removed: Option<Removed>,
    pub(super) touched: Option<Touched>,
    pub(super) branch: Option<Branched>,
    pub(super) branch_removed: Option<i64>,
    #[serde(borrow)]
    pub(super) record: Option<Recorded<'a>>,
    pub(super) cut: Option<Cut>,
    pub(super) head: Option<Head>,
    #[serde(borrow)]
    pub(super) writes: Option<TaskWrites<'a>>,
    pub(super) claimed: Option<Claimed>,
    pub(super) unwritten: Option<Unwritten>,
    #[serde(rename = "sum")]
    _sum: &'a str,
}
