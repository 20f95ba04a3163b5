//! Stores branches of log records as vectors, and counts the ends at each position of a branch.

use std::collections::{HashMap, HashSet};

use super::contents::{Contents, Held};
use super::maps::{Tables, Undo};
use super::row::{BranchRow, LineageRow};
use crate::backend::logs::{Branch, BranchId, Branches, End, LogRows, with_ancestors};
use crate::error::Result;
use crate::record::{Record, Seq, Stats};

impl<C: Contents> Branches for Tables<C> {
    fn branch(&self, id: BranchId) -> Result<Option<Branch>> {
        Ok(self.branches.get(&id).map(|row| row.branch))
    }

    fn read(&self, id: BranchId, from: u64, to: u64, _: usize) -> Result<Vec<Record>> {
        let Some(row) = self.branches.get(&id) else { return Ok(Vec::new()) };
        let at = |position: u64| usize::try_from(position.saturating_sub(row.branch.start())).unwrap_or(usize::MAX);
        let to = at(to).min(row.records.len());
        self.contents.load_records(row.records.get(at(from)..to).unwrap_or_default())
    }
}

impl<C: Contents> LogRows for Tables<C> {
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>> {
        Ok(self.heads.get(&(lin, log.to_owned())).copied())
    }

    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>> {
        let heads = self.heads.range((lin, String::new())..).take_while(|((of, _), _)| *of == lin);
        Ok(heads.map(|((_, log), end)| (log.clone(), *end)).collect())
    }

    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()> {
        self.replace_head(lin, log.to_owned(), Some(end));
        Ok(())
    }

    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()> {
        self.replace_head(lin, log.to_owned(), None);
        Ok(())
    }

    fn create_branch(&mut self, branch: Branch) -> Result<BranchId> {
        self.last_branch += 1;
        self.insert_branch(self.last_branch, branch);
        Ok(self.last_branch)
    }

    fn remove_branch(&mut self, id: BranchId) -> Result<()> {
        self.delete_branch(id);
        Ok(())
    }

    fn needed(&self, id: BranchId) -> Result<Option<u64>> {
        let last = self.ends.range((id, 0)..=(id, u64::MAX)).next_back();
        Ok(last.map(|((_, length), _)| *length))
    }

    fn tip(&self, id: BranchId) -> Result<Option<u64>> {
        let row = self.branches.get(&id).filter(|row| !row.records.is_empty());
        Ok(row.map(|row| row.branch.start() + row.records.len() as u64))
    }

    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()> {
        self.push_records(id, at, records.iter().map(|record| (*record).clone().into()));
        Ok(())
    }

    fn cut(&mut self, id: BranchId, from: u64) -> Result<()> {
        self.cut_records(id, from);
        Ok(())
    }

    fn with_keys<'k>(&self, id: BranchId, below: u64, keys: &[&'k str]) -> Result<HashSet<&'k str>> {
        let Some(row) = self.branches.get(&id) else { return Ok(HashSet::new()) };
        let has = |key: &&str| row.keys.get(*key).is_some_and(|position| *position < below);
        Ok(keys.iter().copied().filter(has).collect())
    }

    fn hold(&mut self, _: Seq, end: End) -> Result<()> {
        self.count(end);
        self.remember(|| Undo::Hold(end));
        Ok(())
    }

    fn let_go(&mut self, _: Seq, end: End) -> Result<()> {
        self.uncount(end);
        self.remember(|| Undo::LetGo(end));
        Ok(())
    }
}

impl<C: Contents> Tables<C> {
    /// Returns true if a lineage has logs.
    pub(super) fn has_logs(&self, lin: i64) -> bool {
        self.heads.range((lin, String::new())..).next().is_some_and(|((of, _), _)| *of == lin)
    }

    /// Adds the number of records and their total size in bytes to the statistics.
    pub(super) fn count_records(&self, stats: &mut Stats) {
        for row in self.branches.values() {
            let sizes = stats.contract(row.branch.contract);
            sizes.records += row.records.len() as u64;
            sizes.record_bytes += row.records.iter().map(Held::size).sum::<u64>();
        }
    }

    /// The total size of the records of a lineage's logs, in bytes.
    pub(super) fn record_bytes(&self, lin: i64, lineage: &LineageRow) -> u64 {
        let heads = self.heads.range((lin, String::new())..).take_while(|((of, _), _)| *of == lin).map(|(_, end)| *end);
        let rows = lineage.order.iter().filter_map(|(_, seq)| self.rows.get(seq));
        let ends = heads.chain(rows.flat_map(|row| row.marks.iter().filter_map(|mark| mark.end)));
        let mut bytes = 0;
        let parent_of = |id| {
            let Some(row) = self.branches.get(&id) else { return Ok(None) };
            bytes += row.records.iter().map(Held::size).sum::<u64>();
            Ok(row.branch.parent.map(|parent| parent.branch))
        };
        // Data in memory is never damaged, so ignore errors.
        let _ = with_ancestors(ends.map(|end| end.branch), parent_of);
        bytes
    }

    /// The number of stored records.
    pub(super) fn record_count(&self) -> u64 {
        self.branches.values().map(|row| row.records.len() as u64).sum()
    }

    /// Sets or removes the end of a log.
    pub(crate) fn replace_head(&mut self, lin: i64, log: String, end: Option<End>) {
        let key = (lin, log);
        let before = match end {
            Some(end) => self.heads.insert(key.clone(), end),
            None => self.heads.remove(&key),
        };
        if let Some(end) = end {
            self.count(end);
        }
        if let Some(before) = before {
            self.uncount(before);
        }
        self.remember(|| Undo::Head(lin, key.1, before));
    }

    /// Adds a branch without records.
    pub(crate) fn insert_branch(&mut self, id: BranchId, branch: Branch) {
        self.branches.insert(id, BranchRow { branch, records: Vec::new(), keys: HashMap::new() });
        if let Some(parent) = branch.parent {
            self.count(parent);
        }
        self.remember(|| Undo::CreateBranch(id));
    }

    pub(crate) fn delete_branch(&mut self, id: BranchId) {
        let Some(BranchRow { branch, .. }) = self.branches.remove(&id) else { return };
        if let Some(parent) = branch.parent {
            self.uncount(parent);
        }
        self.remember(|| Undo::RemoveBranch(id, branch));
    }

    pub(crate) fn push_records(&mut self, id: BranchId, at: u64, records: impl IntoIterator<Item = C::Record>) {
        let Some(row) = self.branches.get_mut(&id) else { return };
        for (position, record) in (at..).zip(records) {
            if let Some(key) = record.key() {
                row.keys.insert(key.to_owned(), position);
            }
            row.records.push(record);
        }
        self.remember(|| Undo::Push(id, at));
    }

    pub(crate) fn cut_records(&mut self, id: BranchId, from: u64) {
        let Some(row) = self.branches.get_mut(&id) else { return };
        let kept = from.saturating_sub(row.branch.start());
        let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(row.records.len());
        let cut = row.records.split_off(kept);
        for key in cut.iter().filter_map(Held::key) {
            row.keys.remove(key);
        }
        if !cut.is_empty() {
            self.remember(|| Undo::Cut(id, from, cut));
        }
    }

    /// Counts an end. Its branch may be added later.
    pub(crate) fn count(&mut self, end: End) {
        *self.ends.entry((end.branch, end.length)).or_default() += 1;
    }

    pub(crate) fn uncount(&mut self, end: End) {
        let key = (end.branch, end.length);
        if let Some(count) = self.ends.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.ends.remove(&key);
            }
        }
    }
}
