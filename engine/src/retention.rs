//! Retention removes old checkpoints to free space. Rules are values that say which checkpoints to remove. Planning
//! selects the checkpoints that a rule removes, in batches of limited size. A backend describes what it stores (see
//! [`Catalog`]) and removes the planned checkpoints. This module writes nothing.
//!
//! A checkpoint that is not removed must stay readable. If it is a delta against a removed payload, its payload is
//! stored again as a whole. If the checkpoint depends on its parent, the parent is not removed either.
//!
//! Checkpoints are ordered by sort key and then by save order, never by a clock. Only a rule about age uses the time
//! of the save.

mod excess;
mod known;
mod ledger;
mod plan;
#[cfg(test)]
mod tests;
mod together;

use serde::{Deserialize, Serialize};

pub use self::ledger::Ledger;
pub use self::plan::{Plan, plan, preview};
use crate::error::Result;
use crate::record::{ContractId, Seq};

/// The default number of checkpoints that one batch removes.
pub const BATCH: usize = 500;
/// The maximum number of checkpoints that a batch examines for each checkpoint that the batch may remove.
const LOOK: usize = 4;

/// The limits that a store enforces by itself. Each limit applies independently of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The number of checkpoints to keep in each lineage. Every save removes older checkpoints in the same
    /// transaction.
    pub keep_last: Option<u64>,
    /// The time for which a checkpoint is kept after its save, in ms. Older checkpoints are removed in the background.
    pub ttl: Option<i64>,
    /// The maximum stored size of all payloads together, in bytes. If the stored size is greater, the oldest
    /// checkpoints are removed in the background.
    pub max_bytes: Option<u64>,
}

/// A rule that selects checkpoints to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Removes checkpoints that were saved before this time, in ms since the epoch. This rule may also remove the
    /// newest checkpoint of a lineage.
    SavedBefore(i64),
    /// Keeps this number of checkpoints in each lineage. The oldest checkpoints are removed first. Checkpoints are
    /// ordered by age (see [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save
    /// order.
    KeepLast(u64),
    /// Removes checkpoints in save order until the stored size of the payloads is at most this number of bytes. This
    /// rule never removes the newest checkpoint of a lineage.
    MaxBytes(u64),
}

/// The position at which the next batch continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
    /// The rule to apply.
    pub rule: Rule,
    /// The position at which the previous batch ended.
    pub cursor: Cursor,
    /// The maximum number of checkpoints to remove.
    pub most: usize,
}

/// The result of a prune or of its preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The number of removed checkpoints.
    pub checkpoints: u64,
    /// The number of stored bytes that were freed. The number is negative if storing remaining payloads as a whole
    /// takes more bytes than the removal freed. Of a preview: the stored size of the checkpoints that would be removed.
    pub bytes: i64,
    /// The number of lineages that now have no checkpoints. These lineages may still have logs.
    pub lineages: u64,
    /// The position at which the next batch continues. `None` if the rule has no more checkpoints to remove.
    pub next: Option<Cursor>,
}

/// The fields of a checkpoint that planning uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The save number.
    pub seq: Seq,
    /// The position of the checkpoint's lineage.
    pub lineage: i64,
    /// The time of the save, in ms since the epoch.
    pub saved_at: i64,
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The save number of the base. This payload is stored as a delta against the base. `None` if the payload is stored
    /// as a whole.
    pub base: Option<Seq>,
    /// The stored size, in bytes.
    pub bytes: u64,
}

/// The questions about stored checkpoints that planning asks a backend. All answers come from one snapshot.
pub trait Catalog {
    /// Returns checkpoints with a save number greater than `after`, in save order. Returns at most `most` checkpoints.
    /// Leaves out the checkpoints that are exempt: see [`Header::exempt`](crate::record::Header::exempt).
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, most: usize) -> Result<Vec<Entry>>;
    /// Returns the positions of lineages that are greater than `after`, in ascending order. Returns at most `most`
    /// positions.
    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>>;
    /// The number of checkpoints in a lineage.
    fn count(&self, lineage: i64) -> Result<usize>;
    /// Returns the oldest checkpoints of a lineage, at most `most`. Checkpoints are ordered by age (see
    /// [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save order.
    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// Returns the newest checkpoints of a lineage, at most `most`. They are ordered by sort key and then by save
    /// order, the newest first.
    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// Returns true if any checkpoint of a lineage depends on its parent.
    fn has_dependent(&self, lineage: i64) -> Result<bool>;
    /// Returns the checkpoints that cannot be read without one of these parents. Each pair holds the save number of
    /// the parent and the entry of the child. See
    /// [`Header::depends_on_parent`](crate::record::Header::depends_on_parent).
    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>>;
    /// Returns how these payloads are stored. If a payload is not in the answer, the payload is lost because the store
    /// is damaged.
    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>>;
    /// Returns the payloads that are deltas against one of these bases. Each item holds the number of the base, the
    /// number of the payload, and the stored size of the payload in bytes.
    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>>;
    /// Returns the result of [`Catalog::count`] for each lineage. A server backend uses one request for all lineages.
    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        lineages.iter().map(|lineage| self.count(*lineage)).collect()
    }
    /// Returns the result of [`Catalog::oldest`] for each pair of a lineage and a maximum number of checkpoints. A
    /// server backend uses one request for all pairs.
    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.oldest(*lineage, *most)).collect()
    }
    /// Returns the result of [`Catalog::newest`] for each pair of a lineage and a maximum number of checkpoints. A
    /// server backend uses one request for all pairs.
    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.newest(*lineage, *most)).collect()
    }
    /// Returns the result of [`Catalog::has_dependent`] for each lineage. A server backend uses one request for all
    /// lineages.
    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        lineages.iter().map(|lineage| self.has_dependent(*lineage)).collect()
    }
    /// Returns the stored size of all payloads, in bytes. Returns `None` if the size is at most `limit`; the exact
    /// size is then not computed.
    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>>;
}
