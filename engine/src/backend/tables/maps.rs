//! The maps, and the undo list that reverts the changes of a unit.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::branches::Logs;
use super::contents::Contents;
use super::row::{First, Key, LineageRow, Ordered, Row, Stored, TaskRow};
use crate::backend::logs::{Branch, BranchId, End};
use crate::error::Result;
use crate::record::{Checkpoint, ContractId, Seq, SortKey};

/// All stored data.
#[derive(Debug)]
pub(crate) struct Tables<C: Contents> {
    pub(crate) contents: C,
    pub(crate) rows: BTreeMap<Seq, Row<C::Payload>>,
    pub(crate) ids: HashMap<Key, Seq>,
    pub(crate) positions: HashMap<Key, i64>,
    /// The lineages by position. Positions follow the order in which the lineages were created.
    pub(crate) lineages: BTreeMap<i64, LineageRow>,
    pub(crate) groups: HashMap<Key, Ordered>,
    pub(crate) writes: BTreeMap<Key, Vec<TaskRow>>,
    pub(crate) logs: Logs<C::Record>,
    pub(crate) last_seq: Seq,
    pub(crate) last_position: i64,
    /// The undo list of the current unit, in the order of the changes. `None` if the unit cannot fail after its first
    /// change.
    undo: Option<Changes<C>>,
    /// The changes of the units that were applied, in their order, if [`Contents::LISTS_CHANGES`].
    pub(crate) changes: Changes<C>,
}

/// Changes, in the order in which they were made.
pub(crate) type Changes<C> = Vec<Undo<<C as Contents>::Payload, <C as Contents>::Record>>;

/// How to undo one change.
#[derive(Debug)]
pub(crate) enum Undo<P, R> {
    Insert(Seq),
    Remove(Seq, Row<P>),
    Begin(i64),
    End(i64, LineageRow),
    First(i64, First),
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
            logs: Logs::default(),
            last_seq: 0,
            last_position: 0,
            undo: None,
            changes: Vec::new(),
        }
    }

    /// Begins a unit. If `undo` is true, the changes are recorded so that [`Tables::roll_back`] can undo them.
    pub(crate) fn begin(&mut self, undo: bool) {
        self.undo = (undo || C::LISTS_CHANGES).then(Vec::new);
    }

    /// Ends a unit and keeps its changes.
    pub(crate) fn commit(&mut self) {
        let changes = self.undo.take();
        if C::LISTS_CHANGES {
            self.changes.extend(changes.into_iter().flatten());
        }
    }

    /// Undoes the changes of the unit. Numbers that the unit used are not used again.
    pub(crate) fn roll_back(&mut self) {
        for change in self.undo.take().into_iter().flatten().rev() {
            match change {
                Undo::Insert(seq) => drop(self.remove_row(seq)),
                Undo::Remove(seq, row) => self.insert_row(seq, row),
                Undo::Begin(position) => self.remove_line(position),
                Undo::End(position, lineage_row) => self.insert_line(position, lineage_row),
                Undo::First(position, first) => self.set_first(position, first),
                Undo::Writes(key, rows) => drop(self.replace_writes(key, rows)),
                Undo::Head(lin, log, end) => drop(self.logs.replace_head(lin, &log, end)),
                Undo::CreateBranch(id) => drop(self.logs.remove_branch(id)),
                Undo::RemoveBranch(id, branch) => self.logs.insert_branch(id, branch),
                Undo::Push(id, at) => drop(self.logs.cut(id, at)),
                Undo::Cut(id, at, records) => self.logs.push(id, at, records),
                Undo::Hold(end) => self.logs.let_go(end),
                Undo::LetGo(end) => self.logs.hold(end),
            }
        }
    }

    /// Records how to undo a change, if the unit needs an undo list.
    pub(crate) fn remember(&mut self, change: impl FnOnce() -> Undo<C::Payload, C::Record>) {
        if let Some(undo) = &mut self.undo {
            undo.push(change());
        }
    }

    /// Adds a checkpoint. Its lineage must exist, and its id must be free.
    pub(crate) fn insert_row(&mut self, seq: Seq, row: Row<C::Payload>) {
        let header = &row.checkpoint.header;
        let entry = (header.sort_key.clone(), seq);
        self.ids.insert((header.contract, header.id.clone()), seq);
        if !header.group.is_empty() {
            self.groups.entry((header.contract, header.group.clone())).or_default().insert(entry.clone());
        }
        if let Some(lineage_row) = self.lineages.get_mut(&row.lineage) {
            if !header.label.is_empty() {
                lineage_row.labels.entry(header.label.clone()).or_default().insert(entry.clone());
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
        let Stored { header, payload, logs } = &*row.checkpoint;
        Ok(Checkpoint { header: header.clone(), payload: self.contents.load(payload)?, logs: logs.clone() })
    }

    /// Removes a checkpoint. Its writes and its lineage stay.
    pub(crate) fn remove_row(&mut self, seq: Seq) -> Option<Row<C::Payload>> {
        let row = self.rows.remove(&seq)?;
        let header = &row.checkpoint.header;
        let entry = (header.sort_key.clone(), seq);
        self.ids.remove(&(header.contract, header.id.clone()));
        forget(&mut self.groups, &(header.contract, header.group.clone()), &entry);
        if let Some(lineage_row) = self.lineages.get_mut(&row.lineage) {
            lineage_row.order.remove(&entry);
            forget(&mut lineage_row.labels, &header.label, &entry);
            if let Some(parent) = &header.parent {
                forget(&mut lineage_row.dependents, parent, &entry);
            }
        }
        self.remember(|| Undo::Remove(seq, row.clone()));
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
        let (order, labels, dependents) = (Ordered::new(), HashMap::new(), HashMap::new());
        self.insert_line(position, LineageRow { contract, name, first: First::default(), order, labels, dependents });
    }

    /// Removes a lineage that has neither checkpoints nor logs.
    pub(crate) fn end_if_empty(&mut self, position: i64) {
        let empty = self.lineages.get(&position).is_some_and(|lineage_row| lineage_row.order.is_empty());
        if empty && !self.logs.any(position) {
            self.remove_line(position);
        }
    }

    fn insert_line(&mut self, position: i64, lineage_row: LineageRow) {
        self.positions.insert((lineage_row.contract, lineage_row.name.clone()), position);
        self.lineages.insert(position, lineage_row);
        self.remember(|| Undo::Begin(position));
    }

    pub(crate) fn remove_line(&mut self, position: i64) {
        let Some(lineage_row) = self.lineages.remove(&position) else { return };
        self.positions.remove(&(lineage_row.contract, lineage_row.name.clone()));
        self.remember(|| Undo::End(position, lineage_row));
    }

    /// Sets the fields that a lineage takes from its first checkpoint.
    pub(crate) fn set_first(&mut self, position: i64, first: First) {
        if let Some(lineage_row) = self.lineages.get_mut(&position) {
            let before = std::mem::replace(&mut lineage_row.first, first);
            self.remember(|| Undo::First(position, before));
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

    fn replace_writes(&mut self, key: Key, rows: Option<Vec<TaskRow>>) -> Option<Vec<TaskRow>> {
        match rows {
            Some(rows) => self.writes.insert(key, rows),
            None => self.writes.remove(&key),
        }
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
