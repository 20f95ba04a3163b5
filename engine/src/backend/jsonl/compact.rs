//! Writes files anew without the lines that say what is no longer so, and deletes files that do not belong to the store
//! any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::any_line::Line;
use super::backend::Jsonl;
use super::delta::Kind;
use super::folder::OLD_ORDER;
use super::index::{Index, SourceFile};
use super::line::{self, At};
use super::lock;
use super::names::{self, Names};
use super::plan::Draft;
use super::records::{
    Begin, Branched, Head, Lineage, PendingWrites, push_checkpoint, push_line, push_record, push_writes,
};
use crate::backend::disk::failed;
use crate::backend::logs::{LogRows, Mark};
use crate::backend::tables::Contents;
use crate::error::Result;
use crate::options::Durability;
use crate::record::ContractId;

/// A shorter file is not worth the work, in bytes.
const WORTH: u64 = 64 << 10;

impl Jsonl {
    /// Writes those of these files anew in which most lines have become needless.
    pub(super) fn compact_some(&mut self, grown: &[u64]) -> Result<bool> {
        let Some(index) = &mut self.index else { return Ok(false) };
        let files: Vec<u64> = grown.iter().copied().filter(|file| index.is_worth_it(*file)).collect();
        if files.is_empty() && !index.known.is_long() {
            return Ok(false);
        }
        let _held = self.lock.wait(lock::Kind::Exclusive)?;
        self.refresh_to_write()?;
        let Some(mut index) = self.index.take() else { return Ok(false) };
        for file in files {
            index.compact(file, self.names, self.durability)?;
        }
        if index.known.is_long() {
            index.rewrite_order(self.durability)?;
        }
        self.index = Some(index);
        Ok(false)
    }

    /// Writes all files anew that have a needless line.
    pub(super) fn compact_all(&mut self) -> Result<()> {
        let _held = self.lock.wait(lock::Kind::Exclusive)?;
        self.refresh_to_write()?;
        let Some(mut index) = self.index.take() else { return Ok(()) };
        let files: Vec<u64> = index.sources.keys().copied().collect();
        for file in files {
            let lines = index.known.files.get(&file).map_or(0, |entry| entry.lines);
            if index.live_lines(file) < lines {
                index.compact(file, self.names, self.durability)?;
            }
        }
        index.rewrite_order(self.durability)?;
        // The old log names files that were removed.
        index.delete(&[OLD_ORDER.to_owned()]);
        index.tidy()?;
        self.index = Some(index);
        Ok(())
    }
}

impl Index {
    /// Returns true if more than half of the lines of a file are needless. A file is counted only after it has grown by
    /// half, because counting takes as long as the file is.
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

    /// The number of lines that a file has after [`Index::compact`].
    fn live_lines(&self, file: u64) -> u64 {
        let Some(SourceFile { source, branches, .. }) = self.sources.get(&file) else { return 0 };
        let lines = match &source.kind {
            Kind::Writes => self.of_contract(source.contract).map(|(_, rows)| rows.len()).sum::<usize>() + 1,
            Kind::Lineage(position, _) => {
                let of = branches.iter().filter_map(|id| self.tables.logs.branches.get(id));
                let records: usize = of.map(|stored| 1 + stored.records.len()).sum();
                let own = match self.tables.lineages.get(position).filter(|_| self.is_of(*position, file)) {
                    Some(row) => {
                        let heads = self.tables.heads(*position).map_or(0, |heads| heads.len());
                        row.order.len() + heads + usize::from(!row.order.is_empty())
                    }
                    // The line that says that the lineage has ended.
                    None => 1,
                };
                1 + records + own
            }
        };
        lines as u64
    }

    /// Returns true if a lineage lives, and this is its file.
    fn is_of(&self, position: i64, file: u64) -> bool {
        self.lineages.get(&position) == Some(&file)
    }

    fn of_contract(
        &self,
        contract: ContractId,
    ) -> impl Iterator<Item = (&String, &Vec<crate::backend::tables::TaskRow>)> {
        let from = self.tables.writes.range((contract, String::new())..);
        from.take_while(move |((of, _), _)| *of == contract).map(|((_, id), rows)| (id, rows))
    }

    /// Writes a file anew. The new file replaces the old one in one commit.
    fn compact(&mut self, file: u64, names: Names, durability: Durability) -> Result<()> {
        let Some(SourceFile { source, branches, .. }) = self.sources.get(&file) else { return Ok(()) };
        let number = self.known.last.file + 1;
        let stem = match &source.kind {
            Kind::Lineage(_, name) => names::stem(name),
            Kind::Writes => names::WRITES.to_owned(),
        };
        let mut draft = self.new_file(number, names, source, &stem, &BTreeMap::new());
        let contract = source.contract;
        match &source.kind {
            Kind::Writes => {
                let first = PendingWrites { contract: contract.0, file: number };
                draft.push(|out| push_line(out, "pendingWrites", &first));
                for (id, rows) in self.of_contract(contract) {
                    for (at, row) in rows.iter().enumerate() {
                        draft.push(|out| push_writes(out, id, at, row));
                    }
                }
            }
            Kind::Lineage(position, name) => {
                let position = *position;
                let first = Lineage { contract: contract.0, name: name.clone(), position, file: number };
                draft.push(|out| push_line(out, "lineage", &first));
                if self.is_of(position, file) {
                    self.copy_lineage(&mut draft, position)?;
                } else {
                    draft.push(|out| push_line(out, "ended", &true));
                }
                self.copy_branches(&mut draft, branches)?;
            }
        }
        let empty = source.kind == Kind::Writes && self.of_contract(contract).next().is_none();
        let drafts = if empty { BTreeMap::new() } else { BTreeMap::from([(number, draft)]) };
        let path = self.tables.contents.path(file);
        let committed = self.write(durability, &drafts, &BTreeSet::from([file]))?;
        self.advance(vec![committed])?;
        self.delete(&[path]);
        Ok(())
    }

    fn copy_lineage(&self, draft: &mut Draft, position: i64) -> Result<()> {
        let Some(lineage) = self.tables.lineages.get(&position) else { return Ok(()) };
        if !lineage.order.is_empty() {
            draft.push(|out| push_line(out, "begin", &Begin::from(&lineage.first)));
        }
        let seqs: BTreeSet<_> = lineage.order.iter().map(|(_, seq)| *seq).collect();
        for seq in seqs {
            let Some(row) = self.tables.rows.get(&seq) else { continue };
            let payload = self.tables.contents.load(&row.checkpoint.payload)?;
            let marks: &[Mark] = &row.marks;
            draft.push(|out| push_checkpoint(out, seq, &row.checkpoint.header, marks, row.bytes, &payload));
        }
        for (log, end) in self.tables.heads(position)? {
            draft.push(|out| push_line(out, "head", &Head::new(&log, Some(end))));
        }
        Ok(())
    }

    fn copy_branches(&self, draft: &mut Draft, branches: &BTreeSet<i64>) -> Result<()> {
        for id in branches {
            let (Some(stored), Some((_, log))) = (self.tables.logs.branches.get(id), self.homes.get(id)) else {
                continue;
            };
            draft.push(|out| push_line(out, "branch", &Branched::new(*id, log, stored.branch)));
            let records = self.tables.contents.load_records(&stored.records)?;
            for (record, at) in records.iter().zip(stored.branch.start()..) {
                draft.push(|out| push_record(out, *id, log, at, record));
            }
        }
        Ok(())
    }

    /// Writes the commit log anew.
    fn rewrite_order(&mut self, durability: Durability) -> Result<()> {
        if durability != Durability::Off {
            self.write(Durability::Full, &BTreeMap::new(), &BTreeSet::new()).map(|(commit, end)| {
                self.known.accept(commit, end);
            })?;
        }
        self.known = self.known.rewrite(&self.tables.contents.folder, durability != Durability::Off)?;
        Ok(())
    }

    /// Cuts off what crashed processes have left at the ends of files, and deletes files of Forkpoint that are not part
    /// of the store any more. The caller has an exclusive lock.
    pub(super) fn tidy(&mut self) -> Result<()> {
        let folder = &self.tables.contents.folder;
        self.known.cut_off(folder)?;
        let cannot = |error| failed(error, "the folder cannot be tidied up");
        let mut folders = BTreeSet::new();
        for entry in self.known.files.values() {
            let path = folder.join(&entry.path);
            if fs::metadata(&path).is_ok_and(|found| found.len() > entry.length) {
                let file = fs::File::options().write(true).open(&path).map_err(cannot)?;
                file.set_len(entry.length).map_err(cannot)?;
            }
            folders.extend(entry.path.split_once('/').map(|(folder, _)| folder));
        }
        for name in folders {
            for found in fs::read_dir(folder.join(name)).map_err(cannot)? {
                let file = found.map_err(cannot)?.file_name();
                let Some(path) = file.to_str().map(|file| format!("{name}/{file}")) else { continue };
                if !self.tables.contents.has_path(&path) && self.is_left_over(&path) {
                    self.delete(&[path]);
                }
            }
        }
        Ok(())
    }

    /// Returns true if a file that is not part of the store is an old or an uncommitted file of it. A copy that a person
    /// made of a file is neither.
    fn is_left_over(&self, path: &str) -> bool {
        if path.strip_suffix(".jsonl").is_none() {
            return false;
        }
        let Ok(bytes) = fs::read(self.tables.contents.folder.join(path)) else { return false };
        let Some(first) = bytes.split(|byte| *byte == b'\n').next().filter(|first| !first.is_empty()) else {
            return bytes.is_empty();
        };
        let Ok(Line { lineage, pending_writes, .. }) = serde_json::from_slice::<Line<'_>>(first) else { return false };
        let file = lineage.map(|line| line.file).or(pending_writes.map(|line| line.file));
        file.is_some_and(|file| !self.known.files.contains_key(&file) && line::verify(first, At::first(file)).is_ok())
    }
}
