//! What is removed to make room: rules as data, and the planning of what they remove, bounded batch by bounded batch. A
//! backend says what it holds (a [`Catalog`]) and removes what was planned; nothing here writes.
//!
//! What a checkpoint that stays is made of stays with it: the payloads by being stored anew, other checkpoints by staying.
//!
//! Order is the sort key, then the save order, and never a clock of the store's; only what a rule calls old goes by the time of saving.

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

/// How many checkpoints a batch removes where nobody says otherwise.
pub const BATCH: usize = 500;
/// A batch looks at so many checkpoints for each that it may remove.
const LOOK: usize = 4;

/// What a store keeps by itself. Each limit holds by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// A lineage keeps so many checkpoints: every save removes the others in its own transaction.
    pub keep_last: Option<u64>,
    /// A checkpoint is kept so long after it was saved, in ms: what is older is removed in the background.
    pub ttl: Option<i64>,
    /// All payloads together take so many stored bytes: the oldest are removed in the background.
    pub max_bytes: Option<u64>,
}

/// One reason to remove checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Removes what was saved before that time, in ms since the epoch: the newest of a lineage too.
    SavedBefore(i64),
    /// Keeps so many of each lineage: the oldest go, by age (see [`Header::age_offset`](crate::record::Header::age_offset)), then by sort key, then by save order.
    KeepLast(u64),
    /// Removes in save order until the payloads take no more than so many stored bytes; never the newest of a lineage.
    MaxBytes(u64),
}

/// Where the next batch goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cursor {
    /// What has been dealt with: save numbers, or positions of lineages.
    pub after: i64,
    /// The stored bytes that are left, once that was counted.
    pub total: Option<u64>,
}

/// One batch of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Only checkpoints of this contract.
    pub contract: Option<ContractId>,
    /// Which of them.
    pub rule: Rule,
    /// Where the batch before ended.
    pub cursor: Cursor,
    /// It removes at most so many.
    pub most: usize,
}

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Checkpoints.
    pub checkpoints: u64,
    /// By how much the stored bytes of all payloads shrink. Negative where payloads that stay must be stored whole now.
    pub bytes: i64,
    /// Lineages that have no checkpoint any more. They may have logs.
    pub lineages: u64,
    /// Where the next batch goes on; `None`: the rule holds.
    pub next: Option<Cursor>,
}

/// A checkpoint as planning sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its save number.
    pub seq: Seq,
    /// The position of its lineage.
    pub lineage: i64,
    /// When it was saved.
    pub saved_at: i64,
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The payload that it is a delta against.
    pub base: Option<Seq>,
    /// What it takes.
    pub bytes: u64,
}

/// What a backend holds, as planning asks for it. All answers are of one snapshot.
pub trait Catalog {
    /// In save order, from behind that number.
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, most: usize) -> Result<Vec<Entry>>;
    /// Positions of lineages, ascending, from behind that one.
    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>>;
    /// How many checkpoints a lineage has.
    fn count(&self, lineage: i64) -> Result<usize>;
    /// A lineage's checkpoints by age, then by sort key, then by save order: see
    /// [`Header::age_offset`](crate::record::Header::age_offset).
    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// A lineage's checkpoints by sort key, then by save order, the last first.
    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>>;
    /// Whether any checkpoint of a lineage depends on its parent.
    fn has_dependent(&self, lineage: i64) -> Result<bool>;
    /// The checkpoints that cannot be read without one of those, which is their parent: pairs of parent and child. See
    /// [`Header::depends_on_parent`](crate::record::Header::depends_on_parent).
    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>>;
    /// How those payloads are stored. One that is left out is gone, which only damage does.
    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>>;
    /// The payloads that are deltas against one of those: base, payload, stored bytes.
    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>>;
    /// [`Catalog::count`] of each of those lineages. A server answers all of them at once.
    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        lineages.iter().map(|lineage| self.count(*lineage)).collect()
    }
    /// [`Catalog::oldest`] of each of those lineages, of each at most so many. A server answers all of them at once.
    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.oldest(*lineage, *most)).collect()
    }
    /// [`Catalog::newest`] of each of those lineages, of each at most so many. A server answers all of them at once.
    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        lineages.iter().map(|(lineage, most)| self.newest(*lineage, *most)).collect()
    }
    /// [`Catalog::has_dependent`] of each of those lineages. A server answers all of them at once.
    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        lineages.iter().map(|lineage| self.has_dependent(*lineage)).collect()
    }
    /// The stored bytes of all payloads. `None`: certainly not more than `limit`, and not counted.
    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>>;
}
