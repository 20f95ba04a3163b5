//! The results of the queries that list checkpoints without their payloads.

use super::checkpoint::Header;
use super::key::Seq;
use super::labels::Labels;
use super::status::Status;

/// A checkpoint in a list, without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub seq: Seq,
    /// The position in the lineage, counted from 0.
    pub step: u64,
    pub header: Header,
    /// The size of the payload after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The stored size of the payload, in bytes.
    pub stored_bytes: u64,
    /// The number of deltas that a read applies. 0 for a keyframe.
    pub chain: u64,
}

/// A page of the checkpoints of a lineage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPage {
    /// The number of checkpoints of the lineage. 0 if it does not exist.
    pub checkpoints: u64,
    /// The checkpoint from which the lineage was forked: its id and the name of its lineage. The name is `None` if that
    /// lineage no longer exists.
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
    /// Set if the feed waits at a gap, so that some stored checkpoints appear only later.
    pub wait: Option<FeedWait>,
    /// The number of all checkpoints. `None` if nothing has changed since the version in the query, or if counting
    /// would take long.
    pub checkpoints: Option<u64>,
    /// A number that changes some time after a removal. `None` if the store has no such number.
    pub removals: Option<i64>,
    /// A number that changes with each commit. `None` if the store has no such number.
    pub version: Option<i64>,
}

/// A gap that a feed waits for. On a server, a checkpoint with a lower number may be committed after one with a higher
/// number. A feed passes a gap only after all transactions that could fill it have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedWait {
    /// All transactions with lower numbers must have ended.
    pub transaction: i64,
    /// The last save number that was visible when the gap was seen.
    pub up_to: Seq,
}
