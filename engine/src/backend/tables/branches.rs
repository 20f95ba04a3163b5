//! Logs and their branches as maps. Each branch stores the number of ends at each of its positions.

use std::collections::{BTreeMap, HashMap};

use super::contents::Held;
use crate::backend::logs::{Branch, BranchId, End};
use crate::record::ContractId;

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
    pub(super) keys: HashMap<String, u64>,
    /// The lengths of the ends in this branch. The value is the number of ends with this length.
    pub(super) ends: BTreeMap<u64, usize>,
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
