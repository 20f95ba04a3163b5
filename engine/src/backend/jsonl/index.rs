//! The index: what a process knows of the folder. It holds everything but the contents of checkpoints and records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::delta::{Delta, Grown, Kind, NewBranch, Source, Written};
use super::files::{Files, Place};
use super::line::{At, Sum};
use super::order::{Commit, Entry, Known, News, OrderEnd};
use crate::backend::logs::{BranchId, LogRows};
use crate::backend::tables::Tables;
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq};

#[derive(Debug)]
pub(super) struct Index {
    pub(super) tables: Tables<Files>,
    pub(super) known: Known,
    pub(super) sources: BTreeMap<u64, SourceFile>,
    /// The files of the lineages that there are, by position.
    pub(super) lineages: HashMap<i64, u64>,
    /// The files with pending writes.
    pub(super) writes: BTreeMap<ContractId, u64>,
    /// The file of each branch, and the log that it was created for.
    pub(super) homes: BTreeMap<BranchId, (u64, String)>,
}

/// A file with data.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) source: Source,
    /// The branches whose records are in the file.
    pub(super) branches: BTreeSet<BranchId>,
    /// The file is looked at again for compaction when it has this number of lines.
    pub(super) look_at: u64,
}

impl Index {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            tables: Tables::new(Files::new(folder.to_owned())),
            known: Known::default(),
            sources: BTreeMap::new(),
            lineages: HashMap::new(),
            writes: BTreeMap::new(),
            homes: BTreeMap::new(),
        }
    }

    /// Reads what was committed since. The caller has the lock.
    pub(super) fn refresh(&mut self, folder: &Path) -> Result<()> {
        match self.known.news(folder)? {
            News::Commits(commits) => self.advance(commits),
            News::Anew { known, follows } => {
                if !follows {
                    *self = Self::new(folder);
                }
                let gone = self.known.files.keys().filter(|file| !known.files.contains_key(file));
                let changed = known.files.values().filter(|entry| self.known.files.get(&entry.file) != Some(entry));
                let changed = changed.map(|entry| (entry.file, Some(entry.clone())));
                let changed = gone.map(|file| (*file, None)).chain(changed).collect();
                self.change(&changed)?;
                self.known = known;
                self.count_on();
                Ok(())
            }
        }
    }

    /// Goes on to the state after these commits.
    pub(super) fn advance(&mut self, commits: Vec<(Commit, OrderEnd)>) -> Result<()> {
        if commits.is_empty() {
            return Ok(());
        }
        let mut changed = BTreeMap::new();
        for (commit, _) in &commits {
            changed.extend(commit.files.iter().map(|entry| (entry.file, Some(entry.clone()))));
            changed.extend(commit.removed.iter().map(|file| (*file, None)));
        }
        self.change(&changed)?;
        for (commit, end) in commits {
            self.known.accept(commit, end);
        }
        self.count_on();
        Ok(())
    }

    /// New numbers follow the greatest that were used.
    fn count_on(&mut self) {
        let last = self.known.last;
        (self.tables.last_seq, self.tables.last_position) = (last.seq, last.lineage);
        self.tables.logs.last_branch = last.branch;
    }

    /// Reads the new lines of files. `None` is a file that was removed.
    fn change(&mut self, changed: &BTreeMap<u64, Option<Entry>>) -> Result<()> {
        let gone = changed.iter().filter(|(_, entry)| entry.is_none()).map(|(file, _)| *file);
        let gone: Vec<u64> = gone.filter(|file| self.known.files.contains_key(file)).collect();
        for file in &gone {
            self.tables.contents.forget(*file);
        }
        let (mut delta, mut opened) = (Delta::default(), Vec::new());
        for entry in changed.values().flatten() {
            let before = self.known.files.get(&entry.file).cloned();
            if before.as_ref().is_some_and(|before| before.length > entry.length) {
                let message = format!("{}: the commit log says that it became shorter", entry.path);
                return Err(Error::new(Code::Corrupt, format!("{message}; restore the folder from a backup")));
            }
            self.read(&mut delta, &mut opened, before.as_ref(), entry)?;
        }
        self.apply(delta, &gone);
        for (file, source) in opened {
            if source.kind == Kind::Writes {
                self.writes.insert(source.contract, file);
            }
        }
        Ok(())
    }

    /// Reads the new lines of a file.
    fn read(
        &mut self,
        delta: &mut Delta,
        opened: &mut Vec<(u64, Source)>,
        before: Option<&Entry>,
        entry: &Entry,
    ) -> Result<()> {
        let file = entry.file;
        let (mut from, line, sum) =
            before.map_or((0, 0, Sum::default()), |before| (before.length, before.lines, before.sum));
        self.tables.contents.add(file, &entry.path);
        let bytes = self.tables.contents.read_new(file, from, entry.length - from)?;
        let mut at = At { file, line, before: sum };
        let mut source = self.sources.get(&file).map(|known| known.source.clone());
        for text in bytes.split_inclusive(|byte| *byte == b'\n') {
            at.line += 1;
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            let length = text.len() as u64;
            let place = Place { at, from, length };
            let read = match &source {
                Some(source) => delta.add(source, text, place),
                None => delta.open(text, at).map(|(found, sum)| {
                    opened.push((file, found.clone()));
                    let known = SourceFile { source: found.clone(), branches: BTreeSet::new(), look_at: 0 };
                    self.sources.insert(file, known);
                    source = Some(found);
                    sum
                }),
            };
            at.before = read.map_err(|error| self.tables.contents.at(at, &error))?;
            from += length + 1;
        }
        if (at.line, at.before, from) != (entry.lines, entry.sum, entry.length) {
            let message = format!("{}: it does not have the {} lines that were committed", entry.path, entry.lines);
            return Err(Error::new(Code::Corrupt, format!("{message}; restore the folder from a backup")));
        }
        Ok(())
    }

    fn apply(&mut self, delta: Delta, gone: &[u64]) {
        let Delta { begun, mut ended, firsts, rows, mut removed, touched, branches, grown, .. } = delta;
        let mut removed_branches = delta.removed_branches;
        for file in gone {
            let Some(SourceFile { source, branches: homed, .. }) = self.sources.remove(file) else { continue };
            match source.kind {
                Kind::Lineage(position, _) => {
                    if self.lineages.get(&position) == Some(file) {
                        ended.insert(position);
                    }
                }
                Kind::Writes => {
                    self.writes.remove(&source.contract);
                    self.tables.writes.retain(|(contract, _), _| *contract != source.contract);
                }
            }
            // A file that is written anew has its branches again.
            removed_branches.extend(homed.into_iter().filter(|id| !branches.contains_key(id)));
        }
        self.add_branches(branches);
        for (branch, grown) in grown {
            match grown {
                Grown::Cut(from) => drop(self.tables.logs.cut(branch, from)),
                Grown::Push(at, record) => self.tables.logs.push(branch, at, vec![record]),
            }
        }
        for position in &ended {
            if let Some(row) = self.tables.lineages.get(position) {
                removed.extend(row.order.iter().map(|(_, seq)| *seq));
            }
        }
        for seq in removed {
            self.remove_row(seq);
        }
        for position in ended {
            let heads: Vec<String> = self.tables.heads(position).into_iter().flatten().map(|(log, _)| log).collect();
            for log in heads {
                self.tables.logs.replace_head(position, &log, None);
            }
            self.tables.remove_line(position);
            self.lineages.remove(&position);
        }
        for (position, (contract, name, file)) in begun {
            self.tables.begin_line(position, contract, name);
            self.lineages.insert(position, file);
        }
        for (position, first) in firsts {
            self.tables.set_first(position, first);
        }
        for ((position, log), end) in delta.heads {
            self.tables.logs.replace_head(position, &log, end);
        }
        for (seq, row) in rows {
            row.marks.iter().filter_map(|mark| mark.end).for_each(|end| self.tables.logs.hold(end));
            self.tables.insert_row(seq, row);
        }
        for (seq, saved_at) in touched {
            if let Some(row) = self.tables.rows.get_mut(&seq) {
                Arc::make_mut(&mut row.checkpoint).header.saved_at = saved_at;
            }
        }
        for id in removed_branches {
            self.tables.logs.remove_branch(id);
            self.forget_branch(id);
        }
        for (contract, id, written) in delta.writes {
            self.tables.change_writes((contract, id), |rows| match written {
                Written::Row(at, row) if at < rows.len() => rows[at] = row,
                Written::Row(_, row) => rows.push(row),
                Written::Claimed(at, by) => {
                    if let Some(row) = rows.get_mut(at) {
                        row.claimed_by = Some(by);
                    }
                }
                Written::Cleared => rows.clear(),
            });
        }
    }

    fn remove_row(&mut self, seq: Seq) {
        let Some(row) = self.tables.remove_row(seq) else { return };
        row.marks.iter().filter_map(|mark| mark.end).for_each(|end| self.tables.logs.let_go(end));
    }

    /// Adds branches. A branch that is there gets its records again, at their new places.
    fn add_branches(&mut self, branches: BTreeMap<BranchId, NewBranch>) {
        let new = branches.iter().filter(|(id, _)| !self.tables.logs.branches.contains_key(id));
        let new: Vec<_> = new.map(|(id, new)| (*id, new.branch)).collect();
        self.tables.logs.insert_branches(&new);
        for (id, NewBranch { branch, file, log, records }) in branches {
            self.tables.logs.cut(id, branch.start());
            self.tables.logs.push(id, branch.start(), records);
            self.home(id, file, log);
        }
    }

    /// Notes in which file a branch is.
    pub(super) fn home(&mut self, id: BranchId, file: u64, log: String) {
        self.forget_branch(id);
        self.homes.insert(id, (file, log));
        if let Some(source) = self.sources.get_mut(&file) {
            source.branches.insert(id);
        }
    }

    /// Forgets in which file a branch is.
    pub(super) fn forget_branch(&mut self, id: BranchId) {
        if let Some((file, _)) = self.homes.remove(&id)
            && let Some(source) = self.sources.get_mut(&file)
        {
            source.branches.remove(&id);
        }
    }
}
