//! Rewrites files without obsolete lines, and deletes files that no longer belong to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;

use super::backend::Jsonl;
use super::folder::{OLD_JOURNAL, open, require_plain};
use super::index::{Index, Source};
use super::line::{self, At};
use super::names::{self, Names};
use super::plan::Draft;
use super::records::{self, Checkpointed, Line, LogEnd, Named, Recorded, TaskWrites};
use crate::backend::disk::failed;
use crate::backend::logs::LogRows;
use crate::backend::tables::{Contents, TaskRow};
use crate::error::Result;
use crate::options::Durability;
use crate::record::ContractId;

/// The minimum size of a file to rewrite, in bytes.
const WORTH: u64 = 64 << 10;

impl Jsonl {
    /// Rewrites the given files in which most lines are obsolete.
    pub(super) fn compact_some(&mut self, grown: &[u64]) -> Result<()> {
        let Some(index) = &mut self.index else { return Ok(()) };
        let files: Vec<u64> = grown.iter().copied().filter(|file| index.is_worth_it(*file)).collect();
        if files.is_empty() && !index.known.is_long() {
            return Ok(());
        }
        let (names, durability) = (self.names, self.durability);
        self.change(|index| {
            files.into_iter().try_for_each(|file| index.compact(file, names, durability))?;
            if index.known.is_long() { index.rewrite_order(durability) } else { Ok(()) }
        })
    }

    /// Rewrites all files that have an obsolete line.
    pub(super) fn compact_all(&mut self) -> Result<()> {
        let (names, durability) = (self.names, self.durability);
        self.change(|index| {
            let files: Vec<u64> = index.sources.keys().copied().collect();
            for file in files {
                let lines = index.known.files.get(&file).map_or(0, |entry| entry.lines);
                if index.live_lines(file) < lines {
                    index.compact(file, names, durability)?;
                }
            }
            index.rewrite_order(durability)?;
            // The old log names files that were removed.
            index.delete(OLD_JOURNAL);
            index.tidy()
        })
    }
}

impl Index {
    /// Returns true if more than half of the lines of a file are obsolete. Counting takes time in proportion to the
    /// file, so a file is counted again only after it has grown by half.
    fn is_worth_it(&mut self, file: u64) -> bool {
        let Some(entry) = self.known.files.get(&file) else { return false };
        let (lines, length) = (entry.lines, entry.length);
        if length < WORTH || self.sources.get(&file).is_none_or(|source| lines < source.look_at) {
            return false;
        }
        let live = self.live_lines(file);
        if let Some(source) = self.sources.get_mut(&file) {
            source.look_at = lines + lines / 2;
        }
        2 * live < lines
    }

    /// The number of lines that [`Index::compact`] would keep in a file.
    fn live_lines(&self, file: u64) -> u64 {
        let Some(Source { contract, lineage, branches, .. }) = self.sources.get(&file) else { return 0 };
        let lines = match lineage {
            None => self.of_contract(*contract).map(|(_, rows)| rows.len()).sum::<usize>() + 1,
            Some((position, _)) => {
                let of = branches.iter().filter_map(|id| self.tables.branches.get(id));
                let records: usize = of.map(|stored| 1 + stored.records.len()).sum();
                let own = match self.tables.lineages.get(position).filter(|_| self.is_of(*position, file)) {
                    Some(row) => {
                        let heads = self.tables.heads(*position).map_or(0, |heads| heads.len());
                        row.order.len()
                            + heads
                            + usize::from(!row.order.is_empty())
                            + usize::from(!row.labels.is_empty())
                    }
                    // The line that marks the lineage as ended.
                    None => 1,
                };
                1 + records + own
            }
        };
        lines as u64
    }

    /// Returns true if a lineage exists and this is its file.
    fn is_of(&self, position: i64, file: u64) -> bool {
        self.lineages.get(&position) == Some(&file)
    }

    fn of_contract(&self, contract: ContractId) -> impl Iterator<Item = (&String, &Vec<TaskRow>)> {
        let from = self.tables.writes.range((contract, String::new())..);
        from.take_while(move |((of, _), _)| *of == contract).map(|((_, id), rows)| (id, rows))
    }

    /// Rewrites a file. The new file replaces the old one in one commit.
    fn compact(&mut self, file: u64, names: Names, durability: Durability) -> Result<()> {
        let Some(Source { contract, lineage, branches, .. }) = self.sources.get(&file) else { return Ok(()) };
        let number = self.known.last.file + 1;
        let (id, mut drafts) = (contract.0, BTreeMap::new());
        if let Some((position, name)) = lineage {
            let position = *position;
            let mut draft = self.new_file(number, names, *contract, &names::stem(name));
            draft.push(&Line::Lineage { contract: id, name: name.into(), position, file: number });
            if self.is_of(position, file) {
                self.copy_lineage(&mut draft, position)?;
            } else {
                draft.push(&Line::Ended(true));
            }
            self.copy_branches(&mut draft, branches)?;
            drafts.insert(number, draft);
        } else if self.of_contract(*contract).next().is_some() {
            let mut draft = self.new_file(number, names, *contract, names::WRITES);
            draft.push(&Line::PendingWrites { contract: id, file: number });
            for (id, rows) in self.of_contract(*contract) {
                for (at, row) in rows.iter().enumerate() {
                    draft.push(&Line::Writes(TaskWrites::new(id, at, row)));
                }
            }
            drafts.insert(number, draft);
        }
        let path = self.tables.contents.path(file);
        let committed = self.write(durability, &drafts, &BTreeSet::from([file]))?;
        self.advance(vec![committed])?;
        self.delete(&path);
        Ok(())
    }

    fn copy_lineage(&self, draft: &mut Draft, position: i64) -> Result<()> {
        let Some(lineage) = self.tables.lineages.get(&position) else { return Ok(()) };
        if !lineage.order.is_empty() {
            draft.push(&Line::begin(&lineage.first));
        }
        if !lineage.labels.is_empty() {
            draft.push(&Line::Labels(lineage.labels.clone()));
        }
        let seqs: BTreeSet<_> = lineage.order.iter().map(|(_, seq)| *seq).collect();
        for seq in seqs {
            let Some(row) = self.tables.rows.get(&seq) else { continue };
            let payload = self.tables.contents.load(&row.payload)?;
            draft.push(&Line::Checkpoint(Checkpointed::new(seq, row, &payload)));
        }
        for (log, end) in self.tables.heads(position)? {
            draft.push(&Line::Head(LogEnd::new(&log, Some(end))));
        }
        Ok(())
    }

    fn copy_branches(&self, draft: &mut Draft, branches: &BTreeSet<i64>) -> Result<()> {
        for id in branches {
            let (Some(row), Some((_, log))) = (self.tables.branches.get(id), self.homes.get(id)) else { continue };
            draft.push(&Line::branch(*id, log, row.branch.parent));
            let records = self.tables.contents.load_records(&row.records)?;
            for (record, at) in records.iter().zip(row.branch.start()..) {
                draft.push(&Line::Record(Recorded::new(*id, log, at, record)));
            }
        }
        Ok(())
    }

    /// Rewrites the journal.
    fn rewrite_order(&mut self, durability: Durability) -> Result<()> {
        if durability != Durability::Off {
            let commit = self.write(Durability::Full, &BTreeMap::new(), &BTreeSet::new())?;
            self.known.accept(commit);
        }
        self.known = self.known.rewrite(&self.tables.contents.folder, durability != Durability::Off)?;
        Ok(())
    }

    /// Truncates files to their committed lengths, and deletes files of Forkpoint that are no longer part of the store.
    /// The caller has an exclusive lock.
    pub(super) fn tidy(&mut self) -> Result<()> {
        let folder = &self.tables.contents.folder;
        self.known.cut_off(folder)?;
        let cannot = |error| failed(error, "the folder cannot be tidied up");
        let mut folders = BTreeSet::new();
        for entry in self.known.files.values() {
            if fs::metadata(folder.join(&entry.path)).is_ok_and(|found| found.len() > entry.length) {
                let file = open(fs::File::options().write(true), folder, &entry.path).map_err(cannot)?;
                file.set_len(entry.length).map_err(cannot)?;
            }
            folders.extend(entry.path.split_once('/').map(|(folder, _)| folder));
        }
        for name in folders {
            let inside = folder.join(name);
            require_plain(&inside).map_err(cannot)?;
            for found in fs::read_dir(inside).map_err(cannot)? {
                let file = found.map_err(cannot)?.file_name();
                let Some(path) = file.to_str().map(|file| format!("{name}/{file}")) else { continue };
                if !self.tables.contents.has_path(&path) && self.is_left_over(&path) {
                    self.delete(&path);
                }
            }
        }
        Ok(())
    }

    /// Returns true if a file outside the store is an old or uncommitted file of the store. A user's copy of a file
    /// does not count.
    fn is_left_over(&self, path: &str) -> bool {
        if path.strip_suffix(".jsonl").is_none() {
            return false;
        }
        let mut bytes = Vec::new();
        let opened = open(fs::File::options().read(true), &self.tables.contents.folder, path);
        if opened.and_then(|mut file| file.read_to_end(&mut bytes)).is_err() {
            return false;
        }
        let Some(first) = bytes.split(|byte| *byte == b'\n').next().filter(|first| !first.is_empty()) else {
            return bytes.is_empty();
        };
        let line = str::from_utf8(first).ok().and_then(|text| records::parse::<Vec<Named<'_>>>(text).ok());
        let Some(Line::Lineage { file, .. } | Line::PendingWrites { file, .. }) = line else { return false };
        !self.known.files.contains_key(&file) && line::verify(first, At::first(file)).is_ok()
    }
}
