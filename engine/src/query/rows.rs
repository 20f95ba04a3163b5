//! The queries that show checkpoints without their payloads: those of one lineage, and those that were saved last.

use crate::record::{ContractId, FeedWait, Seq, SortKey};

/// Lists the checkpoints of a lineage, each with its place in the lineage and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    pub contract: ContractId,
    pub lineage: String,
    /// The first checkpoint of the list.
    pub from: RowsFrom,
    pub order: RowOrder,
    /// The maximum number of checkpoints.
    pub limit: usize,
    /// True if the answer contains [`RowSums`](crate::record::RowSums), which takes time in proportion to the number of
    /// checkpoints of the lineage.
    pub sums: bool,
}

/// The first checkpoint of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsFrom {
    /// The oldest or the newest checkpoint, depending on the order.
    End,
    /// The checkpoint that follows this place in the order of the list. There need not be a checkpoint at the place.
    After(SortKey, Seq),
    /// The checkpoint at this place in the lineage, counted from 0. A negative number counts from the end: -1 is the
    /// newest.
    Step(i64),
    Id(String),
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// The oldest checkpoint comes first.
    OldestFirst,
    /// The newest checkpoint comes first.
    NewestFirst,
}

/// Lists checkpoints of all contracts in save order, to follow the saves of all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Only checkpoints with a greater save number are listed.
    pub after: Seq,
    /// `NewestFirst` lists the checkpoints that were saved last, and gives no position to continue from.
    pub order: RowOrder,
    /// The maximum number of checkpoints.
    pub limit: usize,
    /// The [`FeedPage::version`](crate::record::FeedPage::version) of the page before. If nothing has changed since, the
    /// answer costs almost nothing.
    pub version: Option<i64>,
    /// The [`FeedPage::wait`](crate::record::FeedPage::wait) of the page before.
    pub wait: Option<FeedWait>,
}
