//! What a batch touched, from the changes that the tables list.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{KeptPayload, KeptRecord};
use super::index::Index;
use crate::backend::logs::BranchId;
use crate::backend::tables::{Key, TaskRow, Undo};
use crate::record::{ContractId, Seq};

/// What happened to the items of each kind. An item is listed by its number. The flag says whether the item was there
/// before the batch.
#[derive(Debug, Default)]
pub(super) struct Touch {
    pub(super) rows: BTreeMap<Seq, (bool, i64, String)>,
    /// Each with its contract and name.
    pub(super) lineages: BTreeMap<i64, (bool, ContractId, String)>,
    pub(super) firsts: BTreeSet<i64>,
    pub(super) branches: BTreeMap<BranchId, bool>,
    /// The lineage and the log that a new branch was created for.
    pub(super) homes: BTreeMap<BranchId, (i64, String)>,
    pub(super) pushed: BTreeMap<BranchId, u64>,
    pub(super) cut: BTreeMap<BranchId, u64>,
    pub(super) heads: BTreeSet<(i64, String)>,
    pub(super) writes: BTreeMap<Key, Vec<TaskRow>>,
}

impl Touch {
    /// Collects what these changes touch.
    pub(super) fn of(index: &Index, changes: Vec<Undo<KeptPayload, KeptRecord>>) -> Self {
        let mut touch = Self::default();
        let mut created = None;
        for change in changes {
            match change {
                Undo::Insert(seq) => {
                    let row = index.tables.rows.get(&seq).map(|row| (row.lineage, row.checkpoint.header.id.clone()));
                    let (lineage, id) = row.unwrap_or_default();
                    touch.rows.entry(seq).or_insert((false, lineage, id));
                }
                Undo::Remove(seq, row) => {
                    touch.rows.entry(seq).or_insert((true, row.lineage, row.checkpoint.header.id.clone()));
                }
                Undo::Begin(position) => {
                    let row = index.tables.lineages.get(&position);
                    let (contract, name) =
                        row.map_or((ContractId(0), String::new()), |row| (row.contract, row.name.clone()));
                    touch.lineages.entry(position).or_insert((false, contract, name));
                }
                Undo::End(position, row) => {
                    let lineage = touch.lineages.entry(position).or_insert((true, row.contract, String::new()));
                    (lineage.1, lineage.2) = (row.contract, row.name);
                }
                Undo::First(position, _) => drop(touch.firsts.insert(position)),
                Undo::Writes(key, before) => drop(touch.writes.entry(key).or_insert(before.unwrap_or_default())),
                Undo::Head(lineage, log, _) => {
                    // An append that creates a branch makes it the end of its log next.
                    if let Some(branch) = created.take() {
                        touch.homes.insert(branch, (lineage, log.clone()));
                    }
                    touch.heads.insert((lineage, log));
                }
                Undo::CreateBranch(id) => {
                    created = Some(id);
                    touch.branches.entry(id).or_insert(false);
                }
                Undo::RemoveBranch(id, _) => drop(touch.branches.entry(id).or_insert(true)),
                Undo::Push(id, at) => {
                    let least = touch.pushed.entry(id).or_insert(at);
                    *least = at.min(*least);
                }
                Undo::Cut(id, from, _) => {
                    for cut in [&mut touch.cut, &mut touch.pushed] {
                        let least = cut.entry(id).or_insert(from);
                        *least = from.min(*least);
                    }
                }
                Undo::Hold(_) | Undo::LetGo(_) => {}
            }
        }
        touch
    }
}
