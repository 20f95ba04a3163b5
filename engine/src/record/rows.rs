//! The results of the queries that list checkpoints without their payloads.

use super::checkpoint::Header;
use super::key::Seq;
use super::labels::Labels;
use super::status::Status;

/// A checkpoint in a list, without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub seq: Seq,
    /// The place in the lineage, counted from 0.
    pub step: u64,
    pub header: Header,
    /// The size of the payload after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The stored size of the payload, in bytes.
    pub stored_bytes: u64,
    /// The number of deltas that a read applies. 0: the payload is stored in full.
    pub chain: u64,
}

/// A page of the checkpoints of a lineage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPage {
    /// The number of checkpoints of the lineage. 0 if it does not exist.
    pub checkpoints: u64,
    /// The checkpoint of another lineage from which the first checkpoint was made: its id and the name of its lineage.
    /// The name is `None` if this lineage does not exist any more.
    pub origin: Option<(String, Option<String>)>,
    /// The status of the lineage.
    pub status: Status,
    /// The labels of the lineage. Damaged labels are left out: a check reports them.
    pub labels: Labels,
    pub rows: Vec<Listed>,
    /// The sums over all checkpoints of the lineage, if the query asked for them.
    pub sums: Option<RowSums>,
}

/// Sums over all checkpoints of a lineage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSums {
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, in bytes.
    pub stored_bytes: u64,
    /// The total size of the records of the lineage's logs, in bytes: see [`LineageStats`](super::LineageStats).
    pub record_bytes: u64,
    /// The time of the first save, in ms since the epoch.
    pub began: i64,
}

/// A page of the checkpoints of all contracts in save order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedPage {
    pub rows: Vec<Listed>,
    /// The next page follows this save number.
    pub next: Seq,
    /// If not `None`, checkpoints exist that the feed shows later.
    pub wait: Option<FeedWait>,
    /// The number of all checkpoints. `None` if nothing has changed since the version in the query, or if counting takes
    /// long.
    pub checkpoints: Option<u64>,
    /// A number that changes a while after a checkpoint was removed. `None` if the store has no such number.
    pub removals: Option<i64>,
    /// Changes with each commit. `None` if the store has no such number.
    pub version: Option<i64>,
}

/// A place up to which a feed may continue later. On a server, a checkpoint with a lower number may be committed after
/// one with a higher number. A feed does not go past a gap before all transactions have ended that could fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedWait {
    /// The transactions with lower numbers must have ended.
    pub transaction: i64,
    /// The last save number that was visible when the gap was seen.
    pub up_to: Seq,
}
