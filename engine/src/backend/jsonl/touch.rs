//! Collects what a batch changed, from the changes that the tables list.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{KeptPayload, KeptRecord};
use super::index::Index;
use crate::backend::logs::BranchId;
use crate::backend::tables::{Key, TaskRow, Undo};
use crate::record::{ContractId, Seq};

/// The numbers of everything that a batch added, changed or removed. Numbers up to
/// [`Known::last`](super::journal::Known) existed before the batch.
#[derive(Debug, Default)]
pub(super) struct Touch {
    /// The checkpoints. A removed checkpoint comes with its lineage and its id.
    pub(super) rows: BTreeMap<Seq, (i64, String)>,
    /// The lineages, with their contracts and names.
    pub(super) lineages: BTreeMap<i64, (ContractId, String)>,
    pub(super) firsts: BTreeSet<i64>,
    /// The lineages whose labels were changed.
    pub(super) labels: BTreeSet<i64>,
    pub(super) branches: BTreeSet<BranchId>,
    /// The lineage and the log that a new branch was created for.
    pub(super) homes: BTreeMap<BranchId, (i64, String)>,
    /// For each branch, the position of its first new record.
    pub(super) pushed: BTreeMap<BranchId, u64>,
    /// The branches that have lost records.
    pub(super) cut: BTreeSet<BranchId>,
    pub(super) heads: BTreeSet<(i64, String)>,
    /// The rows of pending writes before the batch.
    pub(super) writes: BTreeMap<Key, Vec<TaskRow>>,
}

impl Touch {
    /// Collects what these changes affect.
    pub(super) fn of(index: &Index, changes: Vec<Undo<KeptPayload, KeptRecord>>) -> Self {
        let mut touch = Self::default();
        let mut created = None;
        for change in changes {
            match change {
                Undo::Insert(seq) => drop(touch.rows.entry(seq).or_default()),
                Undo::Remove(seq, row) => drop(touch.rows.insert(seq, (row.lineage, row.header.id.clone()))),
                Undo::Begin(position) => {
                    if let Some(row) = index.tables.lineages.get(&position) {
                        touch.lineages.insert(position, (row.contract, row.name.clone()));
                    }
                }
                Undo::End(position, row) => drop(touch.lineages.insert(position, (row.contract, row.name))),
                Undo::First(position, _) => drop(touch.firsts.insert(position)),
                Undo::Labels(position, _) => drop(touch.labels.insert(position)),
                Undo::Writes(key, before) => drop(touch.writes.entry(key).or_insert(before.unwrap_or_default())),
                Undo::Head(lineage, log, _) => {
                    // An append that creates a branch then makes it the end of its log.
                    if let Some(branch) = created.take() {
                        touch.homes.insert(branch, (lineage, log.clone()));
                    }
                    touch.heads.insert((lineage, log));
                }
                Undo::CreateBranch(id) => {
                    created = Some(id);
                    touch.branches.insert(id);
                }
                Undo::RemoveBranch(id, _) => drop(touch.branches.insert(id)),
                Undo::Push(id, at) | Undo::Cut(id, at, _) => {
                    if matches!(change, Undo::Cut(..)) {
                        touch.cut.insert(id);
                    }
                    let least = touch.pushed.entry(id).or_insert(at);
                    *least = at.min(*least);
                }
                Undo::Hold(_) | Undo::LetGo(_) => {}
            }
        }
        touch
    }
}
