//! Stores branches of log records as vectors. Each branch stores the number of ends at each of its positions.

use super::contents::Contents;
use super::maps::{Tables, Undo};
use crate::backend::logs::{Branch, BranchId, End, LogRows};
use crate::error::Result;
use crate::record::{Record, Seq};

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
