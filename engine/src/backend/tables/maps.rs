//! The maps, and the undo list that reverts the changes of a unit.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::contents::Contents;
use super::row::{BranchRow, First, Key, LineageRow, Ordered, Row, TaskRow};
use crate::backend::logs::{Branch, BranchId, End, Mark};
use crate::error::Result;
use crate::record::{Checkpoint, ContractId, Labels, Seq, SortKey};

/// All stored data.
#[derive(Debug)]
pub(crate) struct Tables<C: Contents> {
    pub(crate) contents: C,
    pub(crate) rows: BTreeMap<Seq, Arc<Row<C::Payload>>>,
    pub(crate) ids: HashMap<Key, Seq>,
    pub(crate) positions: HashMap<Key, i64>,
    /// The lineages by position. Positions follow the order in which the lineages were created.
    pub(crate) lineages: BTreeMap<i64, LineageRow>,
    pub(crate) groups: HashMap<Key, Ordered>,
    pub(crate) writes: BTreeMap<Key, Vec<TaskRow>>,
    /// The ends of the logs, by lineage and name.
    pub(super) heads: BTreeMap<(i64, String), End>,
    pub(crate) branches: BTreeMap<BranchId, BranchRow<C::Record>>,
    /// The number of ends at each position of a branch: ends of logs, marks of checkpoints and parents of branches.
    pub(super) ends: BTreeMap<(BranchId, u64), usize>,
    pub(crate) last_seq: Seq,
    pub(crate) last_position: i64,
    pub(crate) last_branch: BranchId,
    /// The undo list of the current unit, in the order of the changes. `None` if the unit cannot fail after its first
    /// change.
    pub(super) undo: Option<Changes<C>>,
    /// The changes of applied units, in order, if [`Contents::LISTS_CHANGES`].
    pub(crate) changes: Changes<C>,
}

/// Changes, in the order in which they were made.
pub(crate) type Changes<C> = Vec<Undo<<C as Contents>::Payload, <C as Contents>::Record>>;

/// The undo of a change.
#[derive(Debug)]
pub(crate) enum Undo<P, R> {
    Insert(Seq),
    Remove(Seq, Arc<Row<P>>),
    Begin(i64),
    End(i64, LineageRow),
    First(i64, First),
    Labels(i64, Labels),
    Writes(Key, Option<Vec<TaskRow>>),
    Head(i64, String, Option<End>),
    CreateBranch(BranchId),
    RemoveBranch(BranchId, Branch),
    Push(BranchId, u64),
    Cut(BranchId, u64, Vec<R>),
    Hold(End),
    LetGo(End),
}

impl<C: Contents + Default> Default for Tables<C> {
    fn default() -> Self {
        Self::new(C::default())
    }
}

impl<C: Contents> Tables<C> {
    /// Empty tables.
    pub(crate) fn new(contents: C) -> Self {
        Self {
            contents,
            rows: BTreeMap::new(),
            ids: HashMap::new(),
            positions: HashMap::new(),
            lineages: BTreeMap::new(),
            groups: HashMap::new(),
            writes: BTreeMap::new(),
            heads: BTreeMap::new(),
            branches: BTreeMap::new(),
            ends: BTreeMap::new(),
            last_seq: 0,
            last_position: 0,
            last_branch: 0,
            undo: None,
            changes: Vec::new(),
        }
    }

    /// Undoes the changes of a unit. Does not reuse the unit's numbers.
    pub(super) fn roll_back(&mut self, changes: Changes<C>) {
        for change in changes.into_iter().rev() {
            match change {
                Undo::Insert(seq) => drop(self.remove_row(seq)),
                Undo::Remove(seq, row) => self.insert_row(seq, row),
                Undo::Begin(position) => self.remove_line(position),
                Undo::End(position, lineage_row) => self.insert_line(position, lineage_row),
                Undo::First(position, first) => self.set_first(position, first),
                Undo::Labels(position, labels) => self.set_labels(position, labels),
                Undo::Writes(key, rows) => drop(match rows {
                    Some(rows) => self.writes.insert(key, rows),
                    None => self.writes.remove(&key),
                }),
                Undo::Head(lin, log, end) => self.replace_head(lin, log, end),
                Undo::CreateBranch(id) => self.delete_branch(id),
                Undo::RemoveBranch(id, branch) => self.insert_branch(id, branch),
                Undo::Push(id, at) => self.cut_records(id, at),
                Undo::Cut(id, at, records) => self.push_records(id, at, records),
                Undo::Hold(end) => self.uncount(end),
                Undo::LetGo(end) => self.count(end),
            }
        }
    }

    /// Records how to undo a change, if the unit needs an undo list.
    pub(super) fn remember(&mut self, change: impl FnOnce() -> Undo<C::Payload, C::Record>) {
        if let Some(undo) = &mut self.undo {
            undo.push(change());
        }
    }

    /// Adds a checkpoint. Its lineage must exist, and its id must be free.
    pub(crate) fn insert_row(&mut self, seq: Seq, row: Arc<Row<C::Payload>>) {
        let header = &row.header;
        let entry = (header.sort_key.clone(), seq);
        // Lines of several files are read in any order, so a newer checkpoint may already have the id.
        let newest = self.ids.entry((header.contract, header.id.clone())).or_insert(seq);
        *newest = seq.max(*newest);
        if !header.group.is_empty() {
            self.groups.entry((header.contract, header.group.clone())).or_default().insert(entry.clone());
        }
        if let Some(lineage_row) = self.lineages.get_mut(&row.lineage) {
            if !header.label.is_empty() {
                lineage_row.by_label.entry(header.label.clone()).or_default().insert(entry.clone());
            }
            if let Some(parent) = header.parent.as_ref().filter(|_| header.depends_on_parent) {
                lineage_row.dependents.entry(parent.clone()).or_default().insert(entry.clone());
            }
            lineage_row.order.insert(entry);
        }
        self.rows.insert(seq, row);
        self.remember(|| Undo::Insert(seq));
    }

    pub(crate) fn whole_row(&self, row: &Row<C::Payload>) -> Result<Checkpoint> {
        let logs = row.marks.iter().map(Mark::shown).collect();
        Ok(Checkpoint { header: row.header.clone(), payload: self.contents.load(&row.payload)?, logs })
    }

    /// Removes a checkpoint. Its writes and its lineage stay.
    pub(crate) fn remove_row(&mut self, seq: Seq) -> Option<Arc<Row<C::Payload>>> {
        let row = self.rows.remove(&seq)?;
        let header = &row.header;
        let entry = (header.sort_key.clone(), seq);
        remove_if(&mut self.ids, &(header.contract, header.id.clone()), seq);
        forget(&mut self.groups, &(header.contract, header.group.clone()), &entry);
        if let Some(lineage_row) = self.lineages.get_mut(&row.lineage) {
            lineage_row.order.remove(&entry);
            forget(&mut lineage_row.by_label, &header.label, &entry);
            if let Some(parent) = &header.parent {
                forget(&mut lineage_row.dependents, parent, &entry);
            }
        }
        self.remember(|| Undo::Remove(seq, Arc::clone(&row)));
        Some(row)
    }

    /// Returns the position of a lineage. Creates the lineage if it does not exist.
    pub(crate) fn position(&mut self, contract: ContractId, name: &str) -> i64 {
        let key = (contract, name.to_owned());
        if let Some(position) = self.positions.get(&key) {
            return *position;
        }
        self.last_position += 1;
        self.begin_line(self.last_position, contract, key.1);
        self.last_position
    }

    /// Adds a lineage that has neither checkpoints nor logs yet.
    pub(crate) fn begin_line(&mut self, position: i64, contract: ContractId, name: String) {
        let (order, by_label, dependents) = (Ordered::new(), HashMap::new(), HashMap::new());
        let (first, labels) = (First::default(), Labels::default());
        self.insert_line(position, LineageRow { contract, name, first, order, by_label, dependents, labels });
    }

    /// Removes a lineage that has neither checkpoints nor logs.
    pub(crate) fn end_if_empty(&mut self, position: i64) {
        let empty = self.lineages.get(&position).is_some_and(|lineage_row| lineage_row.order.is_empty());
        if empty && !self.has_logs(position) {
            self.remove_line(position);
        }
    }

    fn insert_line(&mut self, position: i64, lineage_row: LineageRow) {
        // As with ids, a newer lineage may already have the name.
        let newest = self.positions.entry((lineage_row.contract, lineage_row.name.clone())).or_insert(position);
        *newest = position.max(*newest);
        self.lineages.insert(position, lineage_row);
        self.remember(|| Undo::Begin(position));
    }

    pub(crate) fn remove_line(&mut self, position: i64) {
        let Some(lineage_row) = self.lineages.remove(&position) else { return };
        remove_if(&mut self.positions, &(lineage_row.contract, lineage_row.name.clone()), position);
        self.remember(|| Undo::End(position, lineage_row));
    }

    /// Sets the properties that a lineage takes from its first checkpoint.
    pub(crate) fn set_first(&mut self, position: i64, first: First) {
        if let Some(lineage_row) = self.lineages.get_mut(&position) {
            let before = std::mem::replace(&mut lineage_row.first, first);
            self.remember(|| Undo::First(position, before));
        }
    }

    /// Sets the labels of a lineage.
    pub(crate) fn set_labels(&mut self, position: i64, labels: Labels) {
        if let Some(lineage_row) = self.lineages.get_mut(&position)
            && lineage_row.labels != labels
        {
            let before = std::mem::replace(&mut lineage_row.labels, labels);
            self.remember(|| Undo::Labels(position, before));
        }
    }

    /// Changes the writes to a checkpoint. Removes the map entry if the checkpoint has no rows of writes left.
    pub(crate) fn change_writes(&mut self, key: Key, change: impl FnOnce(&mut Vec<TaskRow>)) {
        let held = self.writes.remove(&key);
        let before = self.undo.is_some().then(|| held.clone());
        let mut rows = held.unwrap_or_default();
        change(&mut rows);
        if !rows.is_empty() {
            self.writes.insert(key.clone(), rows);
        }
        if let Some(before) = before {
            self.remember(|| Undo::Writes(key, before));
        }
    }
}

/// Removes a key that has this value.
fn remove_if(map: &mut HashMap<Key, i64>, key: &Key, value: i64) {
    if map.get(key) == Some(&value) {
        map.remove(key);
    }
}

/// Removes an entry from an index.
fn forget<K: Eq + Hash>(index: &mut HashMap<K, Ordered>, key: &K, entry: &(SortKey, Seq)) {
    if let Some(order) = index.get_mut(key) {
        order.remove(entry);
        if order.is_empty() {
            index.remove(key);
        }
    }
}
