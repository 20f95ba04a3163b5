//! Plans the lines of a batch: turns the changes of the tables into lines for files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use super::files::{KeptPayload, KeptRecord, Location};
use super::index::{Index, Source};
use super::journal::{self, Known};
use super::line::{self, At, Sum};
use super::names::{self, Names};
use super::records::{Checkpointed, Line, LogEnd, Recorded, TaskWrites};
use super::touch::Touch;
use crate::backend::logs::{BranchId, LogRows};
use crate::backend::tables::{BranchRow, Undo};
use crate::record::ContractId;

/// New lines for a file.
#[derive(Debug)]
pub(super) struct Draft {
    /// The file as committed before. A new file has no lines.
    pub(super) before: journal::Entry,
    pub(super) text: Vec<u8>,
    lines: u64,
    /// The checksum of the last line.
    sum: Sum,
}

impl Draft {
    pub(super) fn new(before: journal::Entry) -> Self {
        Self { sum: before.sum, before, text: Vec::new(), lines: 0 }
    }

    pub(super) fn is_new(&self) -> bool {
        self.before.lines == 0
    }

    /// The entry of the file with its new lines.
    pub(super) fn after(&self) -> journal::Entry {
        let journal::Entry { file, path, length, lines, .. } = self.before.clone();
        journal::Entry { file, path, length: length + self.text.len() as u64, lines: lines + self.lines, sum: self.sum }
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &Line<'_>) -> Location {
        let begin = self.text.len();
        self.lines += 1;
        let at = At { file: self.before.file, line: self.before.lines + self.lines, before: self.sum };
        self.sum = line::push(&mut self.text, line, at);
        Location { at, from: self.before.length + begin as u64, length: (self.text.len() - begin - 1) as u64 }
    }
}

/// The lines and removals of a batch.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) drafts: BTreeMap<u64, Draft>,
    /// The files that the batch removes.
    pub(super) removed: BTreeSet<u64>,
}

impl Plan {
    /// Adds a line to a file. Returns `None` if the file is removed.
    fn push(&mut self, known: &Known, file: u64, line: &Line<'_>) -> Option<Location> {
        if self.removed.contains(&file) {
            return None;
        }
        let draft = match self.drafts.entry(file) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(free) => free.insert(Draft::new(known.files.get(&file)?.clone())),
        };
        Some(draft.push(line))
    }

    /// Adds the records of a branch from position `from` on. Only new records need lines.
    fn records(
        &mut self,
        known: &Known,
        (id, from): (BranchId, u64),
        (file, log): (u64, &str),
        row: &mut BranchRow<KeptRecord>,
    ) {
        let start = row.branch.start();
        let skip = usize::try_from(from.saturating_sub(start)).unwrap_or(usize::MAX);
        for (kept, at) in row.records.iter_mut().zip(start..).skip(skip) {
            let KeptRecord::Fresh(record) = kept else { continue };
            if let Some(location) = self.push(known, file, &Line::Record(Recorded::new(id, log, at, record))) {
                let (key, size) = (record.key.as_deref().map(Into::into), record.bytes.len() as u64);
                *kept = KeptRecord::At { location, key, size };
            }
        }
    }
}

/// Plans the lines of a batch that the tables already contain. The index then refers to these lines, so it is valid
/// only after they are committed.
pub(super) fn plan(index: &mut Index, names: Names, changes: Vec<Undo<KeptPayload, KeptRecord>>) -> Plan {
    let touch = Touch::of(index, changes);
    let next_file = index.known.last.file;
    let mut planner = Planner { index, names, plan: Plan::default(), ended: BTreeSet::new(), next_file };
    planner.lineages(&touch);
    planner.branches(&touch);
    planner.rows(&touch);
    planner.heads(&touch);
    planner.writes(&touch);
    for position in planner.ended {
        planner.index.lineages.remove(&position);
    }
    planner.plan
}

struct Planner<'a> {
    index: &'a mut Index,
    names: Names,
    plan: Plan,
    ended: BTreeSet<i64>,
    next_file: u64,
}

impl Planner<'_> {
    fn lineages(&mut self, touch: &Touch) {
        let last = self.index.known.last;
        let created = touch.homes.iter().filter(|(id, _)| self.index.lives(**id));
        let homed: BTreeSet<i64> = created.map(|(_, (lineage, _))| *lineage).collect();
        // The file of an ended lineage is removed with its last branch.
        let emptied = touch.branches.iter().filter(|id| **id <= last.branch && !self.index.lives(**id));
        for (file, _) in emptied.filter_map(|id| self.index.homes.get(id)) {
            let Some(source) = self.index.sources.get(file) else { continue };
            let Some((position, _)) = &source.lineage else { continue };
            if !self.index.lineages.contains_key(position) && !self.index.has_branches(source) {
                self.plan.removed.insert(*file);
            }
        }
        for (position, (contract, name)) in &touch.lineages {
            let (position, contract) = (*position, *contract);
            let ended = !self.index.tables.lineages.contains_key(&position);
            let keeps = homed.contains(&position);
            if position <= last.lineage {
                let Some(file) = self.index.lineages.get(&position).filter(|_| ended) else { continue };
                self.ended.insert(position);
                let left = self.index.sources.get(file).is_some_and(|source| self.index.has_branches(source));
                if left || keeps {
                    self.plan.push(&self.index.known, *file, &Line::Ended(true));
                } else {
                    self.plan.removed.insert(*file);
                }
            } else if !ended || keeps {
                let file = self.create(contract, &names::stem(name), Some((position, name.clone())));
                let first = Line::Lineage { contract: contract.0, name: name.into(), position, file };
                self.plan.push(&self.index.known, file, &first);
                if ended {
                    self.plan.push(&self.index.known, file, &Line::Ended(true));
                    self.ended.insert(position);
                }
            }
        }
        for position in &touch.firsts {
            let row = self.index.tables.lineages.get(position);
            if let (Some(row), Some(file)) = (row, self.index.lineages.get(position)) {
                self.plan.push(&self.index.known, *file, &Line::begin(&row.first));
            }
        }
        for position in &touch.labels {
            let row = self.index.tables.lineages.get(position);
            if let (Some(row), Some(file)) = (row, self.index.lineages.get(position)) {
                self.plan.push(&self.index.known, *file, &Line::Labels(row.labels.clone()));
            }
        }
    }

    fn branches(&mut self, touch: &Touch) {
        let last = self.index.known.last.branch;
        for id in &touch.branches {
            match (*id <= last, self.index.tables.branches.get_mut(id)) {
                (false, Some(row)) => {
                    let Some((lineage, log)) = touch.homes.get(id) else { continue };
                    let Some(file) = self.index.lineages.get(lineage).copied() else { continue };
                    self.plan.push(&self.index.known, file, &Line::branch(*id, log, row.branch.parent));
                    self.plan.records(&self.index.known, (*id, row.branch.start()), (file, log), row);
                    self.index.home(*id, file, log.clone());
                }
                (true, None) => {
                    if let Some((file, _)) = self.index.homes.get(id) {
                        self.plan.push(&self.index.known, *file, &Line::BranchRemoved(*id));
                    }
                    self.index.forget_branch(*id);
                }
                _ => {}
            }
        }
        for (id, from) in touch.pushed.iter().filter(|(id, _)| **id <= last) {
            let Some(row) = self.index.tables.branches.get_mut(id) else { continue };
            let Some((file, log)) = self.index.homes.get(id) else { continue };
            if touch.cut.contains(id) {
                self.plan.push(&self.index.known, *file, &Line::Cut { branch: *id, from: *from });
            }
            self.plan.records(&self.index.known, (*id, *from), (*file, log), row);
        }
    }

    fn rows(&mut self, touch: &Touch) {
        for (seq, (lineage, id)) in &touch.rows {
            let (seq, was) = (*seq, *seq <= self.index.known.last.seq);
            let row = self.index.tables.rows.get_mut(&seq);
            let lineage = row.as_ref().map_or(*lineage, |row| row.lineage);
            let Some(file) = self.index.lineages.get(&lineage).copied() else { continue };
            match row {
                Some(row) if was => {
                    let (id, saved_at) = ((&row.header.id).into(), row.header.saved_at);
                    self.plan.push(&self.index.known, file, &Line::Touched { seq, id, saved_at });
                }
                Some(row) => {
                    let KeptPayload::Fresh(payload) = &row.payload else { continue };
                    let line = Line::Checkpoint(Checkpointed::new(seq, row, payload));
                    if let Some(location) = self.plan.push(&self.index.known, file, &line) {
                        Arc::make_mut(row).payload = KeptPayload::At(location);
                    }
                }
                None if was && !self.ended.contains(&lineage) => {
                    self.plan.push(&self.index.known, file, &Line::Removed { seq, id: id.into() });
                }
                None => {}
            }
        }
    }

    fn heads(&mut self, touch: &Touch) {
        for (lineage, log) in &touch.heads {
            if self.ended.contains(lineage) {
                continue;
            }
            let Some(file) = self.index.lineages.get(lineage) else { continue };
            let end = self.index.tables.head(*lineage, log).ok().flatten();
            self.plan.push(&self.index.known, *file, &Line::Head(LogEnd::new(log, end)));
        }
    }

    fn writes(&mut self, touch: &Touch) {
        for (key, before) in &touch.writes {
            let (contract, id) = key;
            let checkpoint = || Cow::from(id);
            if before.is_empty() && !self.index.tables.writes.contains_key(key) {
                continue;
            }
            let file = self.of_writes(*contract);
            let after = self.index.tables.writes.get(key).map(Vec::as_slice).unwrap_or_default();
            let mut push = |line: Line<'_>| {
                self.plan.push(&self.index.known, file, &line);
            };
            let mut before = before.as_slice();
            if after.len() < before.len() || after.is_empty() {
                push(Line::Unwritten { checkpoint: checkpoint() });
                before = &[];
            }
            for (row, held) in after.iter().enumerate() {
                let was = before
                    .get(row)
                    .filter(|was| (&was.task, was.state, &was.parts) == (&held.task, held.state, &held.parts));
                match (was, &held.claimed_by) {
                    (Some(was), by) if was.claimed_by == *by => {}
                    (Some(_), Some(by)) => push(Line::Claimed { checkpoint: checkpoint(), row, by: by.into() }),
                    _ => push(Line::Writes(TaskWrites::new(id, row, held))),
                }
            }
        }
    }

    /// The file of a contract's pending writes.
    fn of_writes(&mut self, contract: ContractId) -> u64 {
        if let Some(file) = self.index.writes.get(&contract) {
            return *file;
        }
        let file = self.create(contract, names::WRITES, None);
        self.plan.push(&self.index.known, file, &Line::PendingWrites { contract: contract.0, file });
        file
    }

    fn create(&mut self, contract: ContractId, stem: &str, lineage: Option<(i64, String)>) -> u64 {
        self.next_file += 1;
        let draft = self.index.new_file(self.next_file, self.names, contract, stem);
        self.plan.drafts.insert(self.next_file, draft);
        self.index.begin(self.next_file, contract, lineage);
        self.next_file
    }
}

impl Index {
    fn lives(&self, branch: BranchId) -> bool {
        self.tables.branches.contains_key(&branch)
    }

    /// Returns true if the tables still have a branch of this file.
    fn has_branches(&self, source: &Source) -> bool {
        source.branches.iter().any(|id| self.lives(*id))
    }

    /// Creates a new file, with an unused path.
    pub(super) fn new_file(&self, file: u64, names: Names, contract: ContractId, stem: &str) -> Draft {
        let folder = names::folder(names, contract);
        let mut paths = (1..).map(|generation| names::path(&folder, stem, generation));
        let path = paths.find(|path| !self.tables.contents.has_path(path)).unwrap_or_default();
        self.tables.contents.add(file, &path);
        Draft::new(journal::Entry { file, path, length: 0, lines: 0, sum: Sum::default() })
    }
}
