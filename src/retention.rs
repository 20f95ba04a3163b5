//! Retention: which checkpoints are removed to make room. Rules are data. Planning works out the checkpoints that a
//! rule removes, in batches of bounded size. A backend describes what it stores (see [`Catalog`]) and removes what
//! was planned. This module writes nothing.
//!
//! A checkpoint that stays must stay readable. If it is a delta against a removed payload, it is stored anew as a
//! whole payload. If it depends on its parent, the parent stays too.
//!
//! Checkpoints are ordered by sort key and then by save order, never by a clock. Only a rule about age uses the time
//! of saving.

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
/// A batch looks at this many checkpoints for each one that it may remove.
const LOOK: usize = 4;

/// The limits that a store applies by itself. Each limit holds independently of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The number of checkpoints that a lineage keeps. Every save removes older checkpoints in the same transaction.
    pub keep_last: Option<u64>,
    /// How long a checkpoint is kept after its save, in ms. Older checkpoints are removed in the background.
    pub ttl: Option<i64>,
    /// The maximum stored size of all payloads together, in bytes. Above it, the oldest checkpoints are removed in
    /// the background.
    pub max_bytes: Option<u64>,
}

/// One reason to remove checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Removes checkpoints that were saved before this time, in ms since the epoch. May remove the newest of a
    /// lineage too.
    SavedBefore(i64),
    /// Keeps this number of checkpoints in each lineage. The oldest go first: by age (see
    /// [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save order.
    KeepLast(u64),
    /// Removes checkpoints in save order until the payloads take at most this number of stored bytes. Never removes
    /// the newest checkpoint of a lineage.
    MaxBytes(u64),
}

/// The position at which the next batch continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cursor {
    /// The last save number or lineage position that is done.
    pub after: i64,
    /// The stored bytes that are left, once they were counted.
    pub total: Option<u64>,
}

/// One batch of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Only checkpoints of this contract.
    pub contract: Option<ContractId>,
    /// The rule to apply.
    pub rule: Rule,
    /// The end of the batch before.
    pub cursor: Cursor,
    /// The maximum number of checkpoints to remove.
    pub most: usize,
}

/// The result of a prune or of its preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The number of removed checkpoints.
    pub checkpoints: u64,
    /// The number of stored bytes that were freed. Negative if storing remaining payloads whole takes more bytes than
    /// were freed.
    pub bytes: i64,
    /// The number of lineages that have no checkpoint any more. They may still have logs.
    pub lineages: u64,
    /// The position at which the next batch continues. `None`: the rule is satisfied.
    pub next: Option<Cursor>,
}

/// The fields of a checkpoint that planning uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The save number.
    pub seq: Seq,
    /// The position of its lineage.
    pub lineage: i64,
    /// The time of the save, in ms since the epoch.
    pub saved_at: i64,
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The save number of the payload that this payload is a delta against. `None`: stored whole.
    pub base: Option<Seq>,
    /// The stored size, in bytes.
    pub bytes: u64,
}

/// The questions about stored checkpoints that planning asks a backend. All answers come from one snapshot.
pub trait Catalog {
    /// Checkpoints with a save number greater than `after`, in save order.
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, most: usize) -> Result<Vec<Entry>>;
    /// Positions of lineages greater than `after`, ascending.
    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>>;
    /// The number of checkpoints in a lineage.
    fn count(&self, lineage: i64) -> Result<usize>;
    /// The oldest checkpoints of a lineage: by age, then by sort key, then by save order. See
    /// [`Header::age_offset`](crate::record::Header::age_offset).
    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// The newest checkpoints of a lineage, the newest first: by sort key, then by save order.
    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// Whether any checkpoint of a lineage depends on its parent.
    fn has_dependent(&self, lineage: i64) -> Result<bool>;
    /// The checkpoints that cannot be read without one of these parents, as pairs of parent and child. See
    /// [`Header::depends_on_parent`](crate::record::Header::depends_on_parent).
    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>>;
    /// How these payloads are stored. A payload that is missing from the answer is lost, which means that the store
    /// is damaged.
    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>>;
    /// The payloads that are deltas against one of these bases, as (base, payload, stored bytes).
    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>>;
    /// [`Catalog::count`] of each lineage. A server backend answers for all of them at once.
    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        lineages.iter().map(|lineage| self.count(*lineage)).collect()
    }
    /// [`Catalog::oldest`] of each pair of lineage and maximum number. A server backend answers for all of them at
    /// once.
    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.oldest(*lineage, *most)).collect()
    }
    /// [`Catalog::newest`] of each pair of lineage and maximum number. A server backend answers for all of them at
    /// once.
    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.newest(*lineage, *most)).collect()
    }
    /// [`Catalog::has_dependent`] of each lineage. A server backend answers for all of them at once.
    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        lineages.iter().map(|lineage| self.has_dependent(*lineage)).collect()
    }
    /// The stored size of all payloads, in bytes. `None`: the size is at most `limit`, so it was not counted exactly.
    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>>;
}
