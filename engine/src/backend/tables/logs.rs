//! Stores branches of log records as vectors. Each branch stores the number of ends at each of its positions.

use std::collections::{BTreeMap, HashMap};

use super::{Contents, Held, Tables, Undo};
use crate::backend::logs::{Branch, BranchId, End, LogRows};
use crate::error::Result;
use crate::record::{ContractId, Record, Seq};

/// All logs and their branches.
#[derive(Debug)]
pub(crate) struct Logs<R> {
    pub(crate) heads: BTreeMap<(i64, String), End>,
    pub(crate) branches: BTreeMap<BranchId, Stored<R>>,
    pub(crate) last_branch: BranchId,
}

impl<R> Default for Logs<R> {
    fn default() -> Self {
        Self { heads: BTreeMap::new(), branches: BTreeMap::new(), last_branch: 0 }
    }
}

/// A branch and its records.
#[derive(Debug)]
pub(crate) struct Stored<R> {
    pub(crate) branch: Branch,
    /// The records of the branch. The first record has the position [`Branch::start`].
    pub(crate) records: Vec<R>,
    /// The position of each record that has a key, by key.
    keys: HashMap<String, u64>,
    /// The lengths of the ends in this branch. The value is the number of ends with this length.
    ends: BTreeMap<u64, usize>,
}

impl<R: Held> Logs<R> {
    /// Returns true if a lineage has logs.
    pub(crate) fn any(&self, lin: i64) -> bool {
        self.heads.range((lin, String::new())..).next().is_some_and(|((of, _), _)| *of == lin)
    }

    /// Returns the number of records and their total size in bytes.
    pub(crate) fn count(&self, contract: Option<ContractId>) -> (u64, u64) {
        let of = |stored: &&Stored<R>| contract.is_none_or(|contract| stored.branch.contract == contract);
        let records = self.branches.values().filter(of).flat_map(|stored| &stored.records);
        records.fold((0, 0), |(records, bytes), record| (records + 1, bytes + record.size()))
    }

    pub(crate) fn replace_head(&mut self, lin: i64, log: &str, end: Option<End>) -> Option<End> {
        let key = (lin, log.to_owned());
        let before = match end {
            Some(end) => self.heads.insert(key, end),
            None => self.heads.remove(&key),
        };
        if let Some(end) = end {
            self.hold(end);
        }
        if let Some(before) = before {
            self.let_go(before);
        }
        before
    }

    pub(crate) fn insert_branch(&mut self, id: BranchId, branch: Branch) {
        self.insert_branches(&[(id, branch)]);
    }

    /// Adds branches without records, in any order.
    pub(crate) fn insert_branches(&mut self, branches: &[(BranchId, Branch)]) {
        for (id, branch) in branches {
            let stored = Stored { branch: *branch, records: Vec::new(), keys: HashMap::new(), ends: BTreeMap::new() };
            self.branches.insert(*id, stored);
        }
        for parent in branches.iter().filter_map(|(_, branch)| branch.parent) {
            self.hold(parent);
        }
    }

    pub(crate) fn remove_branch(&mut self, id: BranchId) -> Option<Branch> {
        let branch = self.branches.remove(&id)?.branch;
        if let Some(parent) = branch.parent {
            self.let_go(parent);
        }
        Some(branch)
    }

    pub(crate) fn push(&mut self, id: BranchId, at: u64, records: Vec<R>) {
        let Some(stored) = self.branches.get_mut(&id) else { return };
        for (position, record) in (at..).zip(records) {
            if let Some(key) = record.key() {
                stored.keys.insert(key.to_owned(), position);
            }
            stored.records.push(record);
        }
    }

    pub(crate) fn cut(&mut self, id: BranchId, from: u64) -> Vec<R> {
        let Some(stored) = self.branches.get_mut(&id) else { return Vec::new() };
        let kept = from.saturating_sub(stored.branch.start());
        let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(stored.records.len());
        let cut = stored.records.split_off(kept);
        for key in cut.iter().filter_map(Held::key) {
            stored.keys.remove(key);
        }
        cut
    }

    pub(crate) fn hold(&mut self, end: End) {
        if let Some(stored) = self.branches.get_mut(&end.branch) {
            *stored.ends.entry(end.length).or_default() += 1;
        }
    }

    pub(crate) fn let_go(&mut self, end: End) {
        let Some(stored) = self.branches.get_mut(&end.branch) else { return };
        if let Some(count) = stored.ends.get_mut(&end.length) {
            *count -= 1;
            if *count == 0 {
                stored.ends.remove(&end.length);
            }
        }
    }
}

impl<C: Contents> LogRows for Tables<C> {
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>> {
        Ok(self.logs.heads.get(&(lin, log.to_owned())).copied())
    }

    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>> {
        let heads = self.logs.heads.range((lin, String::new())..).take_while(|((of, _), _)| *of == lin);
        Ok(heads.map(|((_, log), end)| (log.clone(), *end)).collect())
    }

    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()> {
        let before = self.logs.replace_head(lin, log, Some(end));
        self.remember(|| Undo::Head(lin, log.to_owned(), before));
        Ok(())
    }

    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()> {
        let before = self.logs.replace_head(lin, log, None);
        self.remember(|| Undo::Head(lin, log.to_owned(), before));
        Ok(())
    }

    fn branch(&self, id: BranchId) -> Result<Option<Branch>> {
        Ok(self.logs.branches.get(&id).map(|stored| stored.branch))
    }

    fn create_branch(&mut self, branch: Branch) -> Result<BranchId> {
        self.logs.last_branch += 1;
        let id = self.logs.last_branch;
        self.logs.insert_branch(id, branch);
        self.remember(|| Undo::CreateBranch(id));
        Ok(id)
    }

    fn remove_branch(&mut self, id: BranchId) -> Result<()> {
        if let Some(branch) = self.logs.remove_branch(id) {
            self.remember(|| Undo::RemoveBranch(id, branch));
        }
        Ok(())
    }

    fn needed(&self, id: BranchId) -> Result<Option<u64>> {
        let last = self.logs.branches.get(&id).and_then(|stored| stored.ends.last_key_value());
        Ok(last.map(|(length, _)| *length))
    }

    fn tip(&self, id: BranchId) -> Result<Option<u64>> {
        let stored = self.logs.branches.get(&id).filter(|stored| !stored.records.is_empty());
        Ok(stored.map(|stored| stored.branch.start() + stored.records.len() as u64))
    }

    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()> {
        let kept = records.iter().map(|record| self.contents.keep_record(record)).collect();
        self.logs.push(id, at, kept);
        self.remember(|| Undo::Push(id, at));
        Ok(())
    }

    fn cut(&mut self, id: BranchId, from: u64) -> Result<()> {
        let records = self.logs.cut(id, from);
        if !records.is_empty() {
            self.remember(|| Undo::Cut(id, from, records));
        }
        Ok(())
    }

    fn read(&self, id: BranchId, from: u64, to: u64) -> Result<Vec<Record>> {
        let Some(stored) = self.logs.branches.get(&id) else { return Ok(Vec::new()) };
        let at = |position: u64| usize::try_from(position.saturating_sub(stored.branch.start())).unwrap_or(usize::MAX);
        let to = at(to).min(stored.records.len());
        self.contents.load_records(stored.records.get(at(from)..to).unwrap_or_default())
    }

    fn has_key(&self, id: BranchId, below: u64, key: &str) -> Result<bool> {
        let position = self.logs.branches.get(&id).and_then(|stored| stored.keys.get(key));
        Ok(position.is_some_and(|position| *position < below))
    }

    fn hold(&mut self, _: Seq, end: End) -> Result<()> {
        self.logs.hold(end);
        self.remember(|| Undo::Hold(end));
        Ok(())
    }

    fn let_go(&mut self, _: Seq, end: End) -> Result<()> {
        self.logs.let_go(end);
        self.remember(|| Undo::LetGo(end));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InMemory;
    use super::*;
    use crate::backend::logs::model::{Model, check, steps};

    fn count(tables: &Tables<InMemory>) -> (u64, u64) {
        (tables.logs.count(None).0, tables.logs.branches.len() as u64)
    }

    proptest! {
        #[test]
        fn logs_are_as_their_model(steps in steps()) {
            check(&mut Tables::<InMemory>::default(), steps, count)?;
        }

        #[test]
        fn a_unit_that_is_taken_back_leaves_the_logs_as_they_were(first in steps(), second in steps()) {
            let (mut tables, mut model) = (Tables::<InMemory>::default(), Model::default());
            let shown = |tables: &Tables<InMemory>| {
                let branches = tables.logs.branches.iter().map(|(id, stored)| {
                    let keys: BTreeMap<_, _> = stored.keys.iter().collect();
                    format!("{id}: {:?} {:?} {:?} {keys:?}", stored.branch, stored.records, stored.ends)
                });
                (tables.logs.heads.clone(), branches.collect::<Vec<_>>())
            };
            model.run(&mut tables, first, count)?;
            let before = shown(&tables);
            tables.begin(true);
            model.run(&mut tables, second, count)?;
            tables.roll_back();
            prop_assert_eq!(shown(&tables), before);
        }
    }
}
