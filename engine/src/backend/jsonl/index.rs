//! The index of the folder in the memory of a process: everything but the contents of checkpoints and records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::files::{Files, KeptPayload, KeptRecord, Location};
use super::journal::{Commit, Entry, Known, News};
use super::line::{At, Sum, unreadable};
use super::records::{self, Line};
use crate::backend::logs::{Branch, BranchId, End, LogRows, Mark};
use crate::backend::tables::{First, Tables};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq};

#[derive(Debug)]
pub(super) struct Index {
    pub(super) tables: Tables<Files>,
    pub(super) known: Known,
    pub(super) sources: BTreeMap<u64, Source>,
    /// The files of the existing lineages, by position.
    pub(super) lineages: HashMap<i64, u64>,
    pub(super) writes: BTreeMap<ContractId, u64>,
    /// The file of each branch, and the log that it was created for.
    pub(super) homes: BTreeMap<BranchId, (u64, String)>,
}

/// A file with data.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) contract: ContractId,
    /// The position and the name of the file's lineage. `None`: the file holds the pending writes of the contract.
    pub(super) lineage: Option<(i64, String)>,
    /// The branches whose records are in the file.
    pub(super) branches: BTreeSet<BranchId>,
    /// The number of lines at which the file is next examined for compaction.
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

    /// Reads new commits. The caller has the lock.
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

    /// Applies these commits.
    pub(super) fn advance(&mut self, commits: Vec<Commit>) -> Result<()> {
        if commits.is_empty() {
            return Ok(());
        }
        let mut changed = BTreeMap::new();
        for commit in &commits {
            changed.extend(commit.files.iter().map(|entry| (entry.file, Some(entry.clone()))));
            changed.extend(commit.removed.iter().map(|file| (*file, None)));
        }
        self.change(&changed)?;
        for commit in commits {
            self.known.accept(commit);
        }
        self.count_on();
        Ok(())
    }

    /// Continues numbering after the greatest numbers that were used.
    fn count_on(&mut self) {
        let last = self.known.last;
        (self.tables.last_seq, self.tables.last_position) = (last.seq, last.lineage);
        self.tables.last_branch = last.branch;
    }

    /// Reads the new lines of changed files. `None` means a removed file.
    ///
    /// Files have no order, but removed files come first: another file may now have their data.
    fn change(&mut self, changed: &BTreeMap<u64, Option<Entry>>) -> Result<()> {
        let gone = changed.iter().filter(|(_, entry)| entry.is_none());
        gone.for_each(|(file, _)| self.forget(*file));
        changed.values().flatten().try_for_each(|entry| self.read(entry))
    }

    /// Reads the new lines of a file.
    fn read(&mut self, entry: &Entry) -> Result<()> {
        let file = entry.file;
        let (mut from, line, before) = self
            .known
            .files
            .get(&file)
            .map_or((0, 0, Sum::default()), |before| (before.length, before.lines, before.sum));
        let damaged =
            |why: String| Error::new(Code::Corrupt, format!("{}: {why}; restore the folder from a backup", entry.path));
        let Some(length) = entry.length.checked_sub(from) else {
            return Err(damaged("the journal records that it became shorter".to_owned()));
        };
        self.tables.contents.add(file, &entry.path);
        let bytes = self.tables.contents.read_new(file, from, length)?;
        let mut at = At { file, line, before };
        for text in bytes.split_inclusive(|byte| *byte == b'\n') {
            at.line += 1;
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            let length = text.len() as u64;
            let read = records::read(text, at)
                .and_then(|(line, sum)| self.apply(line, Location { at, from, length }).map(|()| sum));
            at.before = read.map_err(|error| self.tables.contents.at(at, &error))?;
            from += length + 1;
        }
        if (at.line, at.before, from) != (entry.lines, entry.sum, entry.length) {
            return Err(damaged(format!("it does not have the {} lines that were committed", entry.lines)));
        }
        Ok(())
    }

    /// Applies a line to the index.
    fn apply(&mut self, line: Line<'_, &RawValue>, location: Location) -> Result<()> {
        let file = location.at.file;
        let Some(Source { contract, lineage, .. }) = self.sources.get(&file) else {
            return match line {
                Line::Lineage { contract, name, position, file: of } if of == file => {
                    let contract = ContractId(contract);
                    self.tables.begin_line(position, contract, name.clone().into_owned());
                    self.begin(file, contract, Some((position, name.into_owned())));
                    Ok(())
                }
                Line::PendingWrites { contract, file: of } if of == file => {
                    self.begin(file, ContractId(contract), None);
                    Ok(())
                }
                _ => Err(unreadable()),
            };
        };
        let contract = *contract;
        let Some((position, name)) = lineage else { return self.apply_writes(contract, line) };
        let position = *position;
        match line {
            Line::Begin { group, forked_from, age_offset } => {
                self.tables.set_first(position, First { group: group.into_owned(), origin: forked_from, age_offset });
            }
            Line::Labels(labels) => self.tables.set_labels(position, labels),
            Line::Checkpoint(checkpoint) => {
                let seq = checkpoint.seq;
                let row = checkpoint.row(contract, (position, name), KeptPayload::At(location))?;
                row.marks.iter().filter_map(|mark| mark.end).for_each(|end| self.tables.count(end));
                self.tables.insert_row(seq, row);
            }
            Line::Removed { seq, .. } => self.remove_row(seq),
            Line::Touched { seq, saved_at, .. } => {
                if let Some(row) = self.tables.rows.get_mut(&seq) {
                    Arc::make_mut(row).header.saved_at = saved_at;
                }
            }
            Line::Head(head) => {
                let Mark { log, end } = head.into();
                self.tables.replace_head(position, log, end);
            }
            Line::Branch { id, log, parent } => {
                let parent = parent.map(|(branch, length)| End { branch, length });
                self.tables.insert_branch(id, Branch { contract, parent });
                self.home(id, file, log.into_owned());
            }
            Line::Record(record) => {
                let row = self.tables.branches.get(&record.branch).ok_or_else(unreadable)?;
                if row.branch.start() + row.records.len() as u64 != record.at {
                    return Err(unreadable());
                }
                let kept = KeptRecord::At { location, key: record.key.as_deref().map(Into::into), size: record.size };
                self.tables.push_records(record.branch, record.at, [kept]);
            }
            Line::Cut { branch, from } => self.tables.cut_records(branch, from),
            Line::BranchRemoved(id) => {
                self.tables.delete_branch(id);
                self.forget_branch(id);
            }
            Line::Ended(_) => self.end(position),
            _ => return Err(unreadable()),
        }
        Ok(())
    }

    fn apply_writes(&mut self, contract: ContractId, line: Line<'_, &RawValue>) -> Result<()> {
        match line {
            Line::Writes(writes) => {
                let (id, at, row) = (writes.checkpoint.clone().into_owned(), writes.row, writes.into_row()?);
                self.tables.change_writes((contract, id), |rows| match rows.get_mut(at) {
                    Some(held) => *held = row,
                    None => rows.push(row),
                });
            }
            Line::Claimed { checkpoint, row, by } => {
                self.tables.change_writes((contract, checkpoint.into_owned()), |rows| {
                    if let Some(row) = rows.get_mut(row) {
                        row.claimed_by = Some(by.into_owned());
                    }
                });
            }
            Line::Unwritten { checkpoint } => {
                self.tables.change_writes((contract, checkpoint.into_owned()), Vec::clear);
            }
            _ => return Err(unreadable()),
        }
        Ok(())
    }

    /// Adds a data file. The tables already have its lineage.
    pub(super) fn begin(&mut self, file: u64, contract: ContractId, lineage: Option<(i64, String)>) {
        match &lineage {
            Some((position, _)) => self.lineages.insert(*position, file),
            None => self.writes.insert(contract, file),
        };
        self.sources.insert(file, Source { contract, lineage, branches: BTreeSet::new(), look_at: 0 });
    }

    /// Ends a lineage. Keeps only records that other lineages share.
    fn end(&mut self, position: i64) {
        let rows = self.tables.lineages.get(&position).into_iter().flat_map(|row| &row.order);
        let seqs: Vec<Seq> = rows.map(|(_, seq)| *seq).collect();
        for seq in seqs {
            self.remove_row(seq);
        }
        for (log, _) in self.tables.heads(position).into_iter().flatten() {
            self.tables.replace_head(position, log, None);
        }
        self.tables.remove_line(position);
        self.lineages.remove(&position);
    }

    fn remove_row(&mut self, seq: Seq) {
        let Some(row) = self.tables.remove_row(seq) else { return };
        row.marks.iter().filter_map(|mark| mark.end).for_each(|end| self.tables.uncount(end));
    }

    /// Forgets a removed file and its contents.
    pub(super) fn forget(&mut self, file: u64) {
        self.tables.contents.forget(file);
        let Some(Source { contract, lineage, branches, .. }) = self.sources.remove(&file) else { return };
        match lineage {
            Some((position, _)) if self.lineages.get(&position) == Some(&file) => self.end(position),
            Some(_) => {}
            None => {
                self.writes.remove(&contract);
                self.tables.writes.retain(|(of, _), _| *of != contract);
            }
        }
        for id in branches {
            self.tables.delete_branch(id);
            self.homes.remove(&id);
        }
    }

    /// Records the file of a branch.
    pub(super) fn home(&mut self, id: BranchId, file: u64, log: String) {
        self.homes.insert(id, (file, log));
        if let Some(source) = self.sources.get_mut(&file) {
            source.branches.insert(id);
        }
    }

    /// Forgets the file of a branch.
    pub(super) fn forget_branch(&mut self, id: BranchId) {
        if let Some((file, _)) = self.homes.remove(&id)
            && let Some(source) = self.sources.get_mut(&file)
        {
            source.branches.remove(&id);
        }
    }
}
