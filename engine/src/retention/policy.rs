//! The limits and rules of retention, and one batch of a prune.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::record::ContractId;

/// The default maximum number of checkpoints that one batch removes.
pub const BATCH: usize = 500;

/// The maximum number of checkpoints that a batch examines, for each checkpoint that it may remove.
pub(super) const LOOK: usize = 4;

/// The limits that a store enforces automatically. Each limit applies independently of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The number of checkpoints to keep in each lineage. Every save removes older checkpoints in the same
    /// transaction.
    pub keep_last: Option<u64>,
    /// The time for which a checkpoint is kept after its save, in ms. Older checkpoints are removed in the background.
    pub ttl: Option<i64>,
    /// The time after which `ttl` also applies to runs that wait for a person, in ms. Not less than `ttl`. `None`: they
    /// stay.
    pub waiting_ttl: Option<i64>,
    /// The maximum stored size of all payloads together, in bytes. If the stored size is greater, the oldest
    /// checkpoints are removed in the background.
    pub max_bytes: Option<u64>,
    /// The maximum share of the time that background removals take, in percent: 1 to 100.
    pub percent: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self { keep_last: None, ttl: None, waiting_ttl: None, max_bytes: None, percent: Self::PERCENT }
    }
}

impl Policy {
    /// The default of `percent`.
    pub const PERCENT: u8 = 25;

    /// The pause after a background batch that took this long.
    pub(crate) fn pause_after(&self, took: Duration) -> Duration {
        let percent = u32::from(self.percent.clamp(1, 100));
        took * (100 - percent) / percent
    }
}

/// A rule that selects checkpoints to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Removes checkpoints that were saved before this time, in ms since the epoch. This rule may also remove the
    /// newest checkpoint of a lineage, unless the run is leased or waits for a person when the batch is planned.
    SavedBefore(i64),
    /// As [`Rule::SavedBefore`], but does not spare runs that wait.
    AllSavedBefore(i64),
    /// Keeps this number of checkpoints in each lineage. The oldest checkpoints are removed first, by sort key and then by save order, or
    /// by save order alone: see [`Header::age_offset`](crate::record::Header::age_offset).
    KeepLast(u64),
    /// Removes checkpoints in save order until the stored size of the payloads is at most this number of bytes. This
    /// rule never removes the newest checkpoint of a lineage.
    MaxBytes(u64),
}

impl Rule {
    /// Returns the time before which a checkpoint must have been saved, for a rule about time.
    pub(crate) fn before(self) -> Option<i64> {
        match self {
            Self::SavedBefore(time) | Self::AllSavedBefore(time) => Some(time),
            Self::KeepLast(_) | Self::MaxBytes(_) => None,
        }
    }
}

/// The position at which the next batch continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, TS)]
pub struct Cursor {
    /// The last save number or lineage position that earlier batches have processed.
    pub after: i64,
    /// The number of stored bytes that remain after the previous batches. `None` until a batch has counted the bytes.
    pub total: Option<u64>,
}

/// A request to remove one batch of the checkpoints that a rule selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prune {
    /// If given, the rule applies only to checkpoints of this contract.
    pub contract: Option<ContractId>,
    pub rule: Rule,
    /// The position at which the previous batch ended.
    pub cursor: Cursor,
    /// The maximum number of checkpoints to remove.
    pub most: usize,
}

/// The result of a prune or of its preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, TS)]
pub struct Pruned {
    /// The number of removed checkpoints.
    pub checkpoints: u64,
    /// The number of freed bytes. Negative if storing remaining payloads in full takes more than the removal freed. In
    /// a preview: the stored size of the checkpoints that would be removed.
    pub bytes: i64,
    /// The number of lineages that now have no checkpoints. These lineages may still have logs.
    pub lineages: u64,
    /// The position at which the next batch continues. `None` if the rule has no more checkpoints to remove.
    pub next: Option<Cursor>,
    /// True if the batch has met checkpoints that the rule selects, even if they stay.
    #[serde(skip)]
    pub met: bool,
    /// True if the batch was full of checkpoints that the rule selects, and all of them stay.
    #[serde(skip)]
    pub all_stay: bool,
}
