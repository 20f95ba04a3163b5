//! The queries that list checkpoints without their payloads: in a lineage, and in save order.

use crate::record::{ContractId, FeedWait, Seq, SortKey};

/// Lists the checkpoints of a lineage, each with its position in the lineage and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    pub contract: ContractId,
    pub lineage: String,
    /// The first checkpoint of the list.
    pub from: RowsFrom,
    pub order: RowOrder,
    /// The maximum number of checkpoints.
    pub limit: usize,
    /// If true, the answer contains [`RowSums`](crate::record::RowSums). They take time in proportion to the number of
    /// checkpoints of the lineage.
    pub sums: bool,
}

/// The first checkpoint of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsFrom {
    /// The oldest or the newest checkpoint, depending on the order.
    End,
    /// The checkpoint after this position in the order of the list. No checkpoint needs to exist at the position.
    After(SortKey, Seq),
    /// The checkpoint with this index in the lineage, from 0. Negative indexes count from the end: -1 is the newest.
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

/// Lists checkpoints of all contracts in save order. A reader follows the saves of all processes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Only checkpoints with a greater save number are listed.
    pub after: Seq,
    /// `NewestFirst` begins with the last save and gives no position to continue from.
    pub order: RowOrder,
    /// The maximum number of checkpoints.
    pub limit: usize,
    /// The [`FeedPage::version`](crate::record::FeedPage::version) of the previous page. If nothing has changed since
    /// then, the answer costs almost nothing.
    pub version: Option<i64>,
    /// The [`FeedPage::wait`](crate::record::FeedPage::wait) of the previous page.
    pub wait: Option<FeedWait>,
}
