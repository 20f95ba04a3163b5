//! Plans the lines of a batch: from the changes that the tables list to the bytes that files get.

use std::collections::{BTreeMap, BTreeSet};

use super::delta::{Kind, Source};
use super::files::{KeptPayload, KeptRecord, Place};
use super::index::{Index, SourceFile};
use super::line::{self, At, Sum};
use super::names::{self, Names};
use super::order::Entry;
use super::records::{
    Begin, Branched, Claimed, Cut, Head, Lineage, PendingWrites, Removed, Touched, Unwritten, push_checkpoint,
    push_line, push_record, push_writes,
};
use super::touch::Touch;
use crate::backend::logs::{BranchId, LogRows};
use crate::backend::tables::{Row, Undo};
use crate::record::{ContractId, Seq};

/// New lines for a file.
#[derive(Debug)]
pub(super) struct Draft {
    /// The file as it was committed before. A new file has no bytes.
    pub(super) before: Entry,
    /// What the file holds, if it is new.
    pub(super) new: Option<Source>,
    pub(super) text: String,
    lines: u64,
    /// The sum of the last line.
    sum: Sum,
}

impl Draft {
    /// The file with its new lines.
    pub(super) fn after(&self) -> Entry {
        let Entry { file, path, length, lines, .. } = self.before.clone();
        Entry { file, path, length: length + self.text.len() as u64, lines: lines + self.lines, sum: self.sum }
    }

    /// Adds a line.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut String)) -> Place {
        let begin = self.text.len();
        self.lines += 1;
        let at = At { file: self.before.file, line: self.before.lines + self.lines, before: self.sum };
        write(&mut self.text);
        self.sum = line::seal(&mut self.text, begin, at);
        Place { at, from: self.before.length + begin as u64, length: (self.text.len() - begin - 1) as u64 }
    }
}

/// What a batch writes, and where its contents will be.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) drafts: BTreeMap<u64, Draft>,
    /// The files that the batch removes.
    pub(super) removed: BTreeSet<u64>,
    rows: Vec<(Seq, Place)>,
    records: Vec<(BranchId, u64, Place)>,
    homes: Vec<(BranchId, u64, String)>,
    gone_branches: Vec<BranchId>,
    lineages: BTreeMap<i64, u64>,
    ended: BTreeSet<i64>,
}

/// Plans the lines of a batch that the index already contains.
pub(super) fn plan(index: &Index, names: Names, changes: Vec<Undo<KeptPayload, KeptRecord>>) -> Plan {
    let touch = Touch::of(index, changes);
    let mut planner = Planner { index, names, plan: Plan::default(), next_file: index.known.last.file };
    planner.lineages(&touch);
    planner.branches(&touch);
    planner.rows(&touch);
    planner.heads(&touch);
    planner.writes(&touch);
    planner.plan
}

struct Planner<'a> {
    index: &'a Index,
    names: Names,
    plan: Plan,
    next_file: u64,
}

impl Planner<'_> {
    fn lineages(&mut self, touch: &Touch) {
        let lives = |id: &BranchId| self.index.tables.logs.branches.contains_key(id);
        let homed: BTreeSet<i64> =
            touch.homes.iter().filter(|(id, _)| lives(id)).map(|(_, (lineage, _))| *lineage).collect();
        // A file whose lineage has ended goes when its last branch goes.
        let emptied = touch.branches.iter().filter(|(id, was)| **was && !lives(id));
        let emptied: BTreeSet<u64> =
            emptied.filter_map(|(id, _)| self.index.homes.get(id)).map(|(file, _)| *file).collect();
        for file in emptied {
            let Some(SourceFile { source, branches, .. }) = self.index.sources.get(&file) else { continue };
            let Kind::Lineage(position, _) = &source.kind else { continue };
            if !self.index.lineages.contains_key(position) && !branches.iter().any(lives) {
                self.plan.removed.insert(file);
            }
        }
        for (position, (was, contract, name)) in &touch.lineages {
            let ended = !self.index.tables.lineages.contains_key(position);
            let keeps = homed.contains(position);
            if *was {
                let Some(file) = self.index.lineages.get(position).filter(|_| ended) else { continue };
                self.plan.ended.insert(*position);
                let left = self.index.sources.get(file).is_some_and(|source| source.branches.iter().any(lives));
                if left || keeps {
                    self.push(*file, |out| push_line(out, "ended", &true));
                } else {
                    self.plan.removed.insert(*file);
                }
            } else if !ended || keeps {
                let file = self.create(*contract, &names::stem(name), Kind::Lineage(*position, name.clone()));
                let (contract, name, position) = (contract.0, name.clone(), *position);
                self.push(file, |out| push_line(out, "lineage", &Lineage { contract, name, position, file }));
                self.plan.lineages.insert(position, file);
                if ended {
                    self.push(file, |out| push_line(out, "ended", &true));
                    self.plan.ended.insert(position);
                }
            }
        }
        for position in &touch.firsts {
            if let (Some(row), Some(file)) = (self.index.tables.lineages.get(position), self.of_lineage(*position)) {
                self.push(file, |out| push_line(out, "begin", &Begin::from(&row.first)));
            }
        }
    }

    fn branches(&mut self, touch: &Touch) {
        for (id, was) in &touch.branches {
            match (was, self.index.tables.logs.branches.get(id)) {
                (false, Some(stored)) => {
                    let Some((lineage, log)) = touch.homes.get(id) else { continue };
                    let Some(file) = self.of_lineage(*lineage) else { continue };
                    self.push(file, |out| push_line(out, "branch", &Branched::new(*id, log, stored.branch)));
                    self.plan.homes.push((*id, file, log.clone()));
                    self.records(*id, stored.branch.start(), file, log);
                }
                (true, None) => {
                    self.plan.gone_branches.push(*id);
                    if let Some((file, _)) = self.index.homes.get(id) {
                        self.push(*file, |out| push_line(out, "branchRemoved", id));
                    }
                }
                _ => {}
            }
        }
        for (id, from) in touch.pushed.iter().filter(|(id, _)| touch.branches.get(id) != Some(&false)) {
            let Some((file, log)) = self.index.homes.get(id) else { continue };
            if !self.index.tables.logs.branches.contains_key(id) {
                continue;
            }
            if touch.cut.contains_key(id) {
                let (branch, from) = (*id, *from);
                self.push(*file, |out| push_line(out, "cut", &Cut { branch, from }));
            }
            self.records(*id, *from, *file, log);
        }
    }

    /// Writes the records of a branch at position `from` and after it.
    fn records(&mut self, id: BranchId, from: u64, file: u64, log: &str) {
        let Some(stored) = self.index.tables.logs.branches.get(&id) else { return };
        let skip = usize::try_from(from.saturating_sub(stored.branch.start())).unwrap_or(usize::MAX);
        for (record, at) in stored.records.iter().zip(stored.branch.start()..).skip(skip) {
            // Records that are not new are in the file already.
            let KeptRecord::Fresh(record) = record else { continue };
            if let Some(place) = self.push(file, |out| push_record(out, id, log, at, record)) {
                self.plan.records.push((id, at, place));
            }
        }
    }

    fn rows(&mut self, touch: &Touch) {
        for (seq, (was, lineage, id)) in &touch.rows {
            let (seq, id) = (*seq, id.clone());
            let row = self.index.tables.rows.get(&seq);
            let Some(file) = self.of_lineage(row.map_or(*lineage, |row| row.lineage)) else { continue };
            match (was, row) {
                (false, Some(row)) => {
                    let Row { checkpoint, marks, bytes, .. } = row;
                    let KeptPayload::Fresh(payload) = &checkpoint.payload else { continue };
                    let push = |out: &mut String| {
                        push_checkpoint(out, seq, &checkpoint.header, marks, *bytes, payload);
                    };
                    if let Some(place) = self.push(file, push) {
                        self.plan.rows.push((seq, place));
                    }
                }
                (true, Some(row)) => {
                    let saved_at = row.checkpoint.header.saved_at;
                    self.push(file, |out| push_line(out, "touched", &Touched { seq, id, saved_at }));
                }
                (true, None) if !self.plan.ended.contains(lineage) => {
                    self.push(file, |out| push_line(out, "removed", &Removed { seq, id }));
                }
                (_, None) => {}
            }
        }
    }

    fn heads(&mut self, touch: &Touch) {
        for (lineage, log) in &touch.heads {
            if self.plan.ended.contains(lineage) {
                continue;
            }
            let Some(file) = self.of_lineage(*lineage) else { continue };
            let end = self.index.tables.head(*lineage, log).ok().flatten();
            self.push(file, |out| push_line(out, "head", &Head::new(log, end)));
        }
    }

    fn writes(&mut self, touch: &Touch) {
        for ((contract, id), before) in &touch.writes {
            let key = (*contract, id.clone());
            let after = self.index.tables.writes.get(&key).map(Vec::as_slice).unwrap_or_default();
            if before.is_empty() && after.is_empty() {
                continue;
            }
            let file = self.of_writes(*contract);
            let mut before = before.as_slice();
            if after.len() < before.len() || after.is_empty() {
                self.push(file, |out| push_line(out, "unwritten", &Unwritten { checkpoint: id.clone() }));
                before = &[];
            }
            for (at, row) in after.iter().enumerate() {
                match before.get(at) {
                    Some(held) if (&held.task, &held.parts) == (&row.task, &row.parts) => {
                        if let Some(by) = row.claimed_by.as_ref().filter(|_| held.claimed_by != row.claimed_by) {
                            let claimed = Claimed { checkpoint: id.clone(), row: at, by: by.clone() };
                            self.push(file, |out| push_line(out, "claimed", &claimed));
                        } else if held.claimed_by != row.claimed_by {
                            self.push(file, |out| push_writes(out, id, at, row));
                        }
                    }
                    _ => drop(self.push(file, |out| push_writes(out, id, at, row))),
                }
            }
        }
    }

    /// The file of a lineage: the new one if the lineage began in this batch.
    fn of_lineage(&self, position: i64) -> Option<u64> {
        self.plan.lineages.get(&position).or_else(|| self.index.lineages.get(&position)).copied()
    }

    /// The file of a contract's pending writes.
    fn of_writes(&mut self, contract: ContractId) -> u64 {
        if let Some(file) = self.index.writes.get(&contract) {
            return *file;
        }
        let new = |draft: &&Draft| {
            draft.new.as_ref().is_some_and(|source| source.contract == contract && source.kind == Kind::Writes)
        };
        if let Some(draft) = self.plan.drafts.values().find(new) {
            return draft.before.file;
        }
        let file = self.create(contract, names::WRITES, Kind::Writes);
        self.push(file, |out| push_line(out, "pendingWrites", &PendingWrites { contract: contract.0, file }));
        file
    }

    fn create(&mut self, contract: ContractId, stem: &str, kind: Kind) -> u64 {
        self.next_file += 1;
        let draft =
            self.index.new_file(self.next_file, self.names, &Source { contract, kind }, stem, &self.plan.drafts);
        self.plan.drafts.insert(self.next_file, draft);
        self.next_file
    }

    /// Adds a line to a file. Returns `None` if the file is removed.
    fn push(&mut self, file: u64, write: impl FnOnce(&mut String)) -> Option<Place> {
        if self.plan.removed.contains(&file) {
            return None;
        }
        if !self.plan.drafts.contains_key(&file) {
            let before = self.index.known.files.get(&file)?.clone();
            self.plan.drafts.insert(file, Draft::new(before, None));
        }
        Some(self.plan.drafts.get_mut(&file)?.push(write))
    }
}

impl Draft {
    pub(super) fn new(before: Entry, new: Option<Source>) -> Self {
        Self { sum: before.sum, before, new, text: String::new(), lines: 0 }
    }
}

impl Index {
    /// A new file, with a path that no other file has.
    pub(super) fn new_file(
        &self,
        file: u64,
        names: Names,
        source: &Source,
        stem: &str,
        others: &BTreeMap<u64, Draft>,
    ) -> Draft {
        let folder = names::folder(names, source.contract);
        let paths = (1..).map(|generation| names::path(&folder, stem, generation));
        let taken = |path: &String| {
            self.tables.contents.has_path(path) || others.values().any(|draft| draft.before.path == *path)
        };
        let path = paths.filter(|path| !taken(path)).take(1).collect();
        Draft::new(Entry { file, path, length: 0, lines: 0, sum: Sum::default() }, Some(source.clone()))
    }

    /// Goes on from the contents in memory to those in the files, after a batch was committed.
    pub(super) fn settle(&mut self, plan: Plan) {
        for draft in plan.drafts.into_values() {
            let file = draft.before.file;
            if let Some(source) = draft.new {
                self.tables.contents.add(file, &draft.before.path);
                if source.kind == Kind::Writes {
                    self.writes.insert(source.contract, file);
                }
                self.sources.insert(file, SourceFile { source, branches: BTreeSet::new(), look_at: 0 });
            }
        }
        self.lineages.extend(plan.lineages);
        for position in plan.ended {
            self.lineages.remove(&position);
        }
        for (seq, place) in plan.rows {
            if let Some(row) = self.tables.rows.get_mut(&seq) {
                std::sync::Arc::make_mut(&mut row.checkpoint).payload = KeptPayload::At(place);
            }
        }
        for (branch, at, place) in plan.records {
            if let Some(stored) = self.tables.logs.branches.get_mut(&branch)
                && let Some(record) =
                    usize::try_from(at - stored.branch.start()).ok().and_then(|at| stored.records.get_mut(at))
                && let KeptRecord::Fresh(fresh) = record
            {
                let (key, size) = (fresh.key.as_deref().map(Into::into), fresh.bytes.len() as u64);
                *record = KeptRecord::At { place, key, size };
            }
        }
        for id in plan.gone_branches {
            self.forget_branch(id);
        }
        for (id, file, log) in plan.homes {
            self.home(id, file, log);
        }
        for file in plan.removed {
            self.sources.remove(&file);
            self.tables.contents.forget(file);
        }
    }
}
