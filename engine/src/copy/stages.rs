//! Goes through the source page by page, and fills the destination. Begins after the destination's existing content.

use std::collections::{HashSet, VecDeque};

use super::begin::{Beginnings, Entry, begins_before_origin, is_placeholder};
use super::compare::{Pair, There};
use super::items::{Item, Items, logs_of};
use super::logs::{Logs, Wanted};
use super::page::Page;
use super::records::length;
use super::shared::{Counts, Shared, changed, changed_lineage};
use super::side::{Name, log_runs};
use crate::error::{Code, Error, Result};
use crate::op::{LogEnd, Op};
use crate::query::{Answer, Query};
use crate::record::{ContractId, Draft, Labels, LogMark, LogRun, Saved, Seq, Start, TaskState, Write, Written};

/// A running copy.
pub(super) struct Copying {
    stage: Stage,
    page: Page,
    beginnings: Beginnings,
    logs: Logs,
    /// The checkpoints of the source that are missing in the destination.
    saves: Items<Saved, Seq>,
    /// The checkpoints that were read and not copied yet, with the stretches of their logs.
    queue: VecDeque<(Saved, Vec<Vec<LogRun>>)>,
    /// The checkpoints of the destination that the source has saved again.
    again: HashSet<Name>,
    /// True if the destination was not empty.
    existing: bool,
}

/// The stage of a copy.
enum Stage {
    /// Checks the origins of the lineages. If an origin requires it, all lineages are created before the first
    /// checkpoint is copied: see [`begin`](super::begin).
    Scan(Items<Start, i64>),
    /// Creates all lineages, then sets the origins of lineages that were created before their origins.
    Begin,
    /// Copies the checkpoints, in save order.
    Saves,
    /// Gives each log the current records of the source.
    Settle(Items<Start, i64>),
    /// Copies the pending writes.
    Writes(Pair<Written, (ContractId, String)>),
    Ended,
}

impl Copying {
    /// Continues after the content of the destination.
    pub(super) fn after(there: There) -> Self {
        let mut page = Page::default();
        page.counts = there.counts;
        for op in there.touched {
            page.push(op);
        }
        Self {
            stage: Stage::Scan(Items::after(there.created)),
            page,
            beginnings: Beginnings::after(there.created, there.placed, there.undescribed),
            logs: Logs::new(there.any),
            saves: Items::after(there.after),
            queue: VecDeque::new(),
            again: there.again,
            existing: there.any,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.page.counts
    }

    /// Copies about one page. Returns true if everything is copied.
    pub(super) fn step(&mut self, shared: &Shared) -> Result<bool> {
        let next = match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Scan(_) if !self.beginnings.is_described() => Stage::Begin,
            Stage::Scan(starts) => Self::scan(shared, starts)?,
            Stage::Begin if self.create(shared)? => Stage::Saves,
            Stage::Saves if self.saves(shared)? => Stage::Settle(Items::after(None)),
            Stage::Settle(mut starts) => {
                if self.settle(shared, &mut starts)? {
                    Stage::Writes(Pair::new())
                } else {
                    Stage::Settle(starts)
                }
            }
            Stage::Writes(mut pair) => {
                if self.writes(shared, &mut pair)? {
                    Stage::Ended
                } else {
                    Stage::Writes(pair)
                }
            }
            stage => stage,
        };
        self.stage = next;
        self.page.flush(shared)?;
        Ok(matches!(self.stage, Stage::Ended))
    }

    /// Checks the origins of a page of lineages.
    fn scan(shared: &Shared, mut starts: Items<Start, i64>) -> Result<Stage> {
        if starts.is_at_end(shared, &shared.from)? {
            return Ok(Stage::Saves);
        }
        for start in starts.read.drain(..) {
            if needs_care(shared, &start)? {
                return Ok(Stage::Begin);
            }
        }
        Ok(Stage::Scan(starts))
    }

    /// Creates all missing lineages.
    fn create(&mut self, shared: &Shared) -> Result<bool> {
        self.beginnings.create_all(shared, (&mut self.page, &mut self.logs))
    }

    /// Copies checkpoints until the page is full.
    fn saves(&mut self, shared: &Shared) -> Result<bool> {
        if self.queue.is_empty() {
            if self.saves.is_at_end(shared, &shared.from)? {
                return self.create(shared);
            }
            let found: Vec<Saved> = self.saves.read.drain(..).collect();
            let runs = runs_of(shared, &found)?;
            self.queue.extend(found.into_iter().zip(runs));
        }
        while !self.page.is_full(shared)
            && let Some((saved, runs)) = self.queue.pop_front()
        {
            if let Some(saved) = self.save(shared, saved, &runs)? {
                self.queue.push_front((saved, runs));
                break;
            }
        }
        Ok(false)
    }

    /// Copies a checkpoint. `runs` are the stretches of the logs that it names. Returns the checkpoint if the page is
    /// full.
    fn save(&mut self, shared: &Shared, saved: Saved, runs: &[Vec<LogRun>]) -> Result<Option<Saved>> {
        let header = &saved.checkpoint.header;
        if is_placeholder(&header.id) {
            let message = "the source is the destination of a copy that has not ended: finish that copy first";
            return Err(Error::new(Code::Conflict, message));
        }
        let lengths = saved.checkpoint.logs.iter().map(|mark| mark.length);
        if !lengths.eq(runs.iter().map(|runs| length(runs))) {
            return Err(changed(&saved.named()));
        }
        let Self { beginnings, page, logs, again, .. } = self;
        let entry = beginnings.enter(shared, (page, logs), &saved, runs)?;
        if entry == Entry::Later {
            return Ok(Some(saved));
        }
        let lineage = (header.contract, header.lineage.clone());
        let wanted = saved.checkpoint.logs.iter().zip(runs).map(|(LogMark { log, .. }, runs)| {
            let (lineage, at) = (&lineage, Some(&*header.id));
            Wanted { lineage, log, at, runs }
        });
        let wanted: Vec<Wanted<'_>> = wanted.filter(|wanted| !wanted.runs.is_empty()).collect();
        for wanted in wanted.iter().filter(|_| entry == Entry::Put) {
            if !logs.bring(shared, page, wanted)? {
                return Ok(Some(saved));
            }
        }
        for wanted in &wanted {
            logs.named(wanted);
        }
        page.counts.count(header.contract, saved.checkpoint.payload.len());
        page.puts(shared, header, !again.remove(&(header.contract, header.id.clone())));
        if entry == Entry::Put {
            page.push(Op::Put(Box::new(Draft::from(saved.checkpoint))));
        }
        beginnings.displace(page, &lineage);
        Ok(None)
    }

    /// Gives the logs of lineages their current records, until the page is full. Returns true if all logs are done.
    fn settle(&mut self, shared: &Shared, starts: &mut Items<Start, i64>) -> Result<bool> {
        if starts.is_at_end(shared, &shared.from)? {
            return Ok(true);
        }
        let queries: Vec<Query> = starts.read.iter().map(logs_of).collect();
        let (theirs, ours) = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
        let labels = self.labels_of(shared, starts)?;
        let Self { beginnings, page, logs, .. } = self;
        for ((theirs, ours), labels) in theirs.into_iter().zip(ours).zip(labels) {
            let Some(start) = starts.read.front() else { break };
            let lineage = (start.contract, start.name.clone());
            let theirs = theirs.into_logs()?;
            for LogMark { log, .. } in &theirs {
                let runs = shared.from.log_runs(&lineage, log, None)?;
                let wanted = Wanted { lineage: &lineage, log, at: None, runs: &runs };
                if !logs.bring(shared, page, &wanted)? {
                    return Ok(false);
                }
            }
            for LogMark { log, .. } in ours.into_logs()? {
                if theirs.iter().all(|other| other.log != log) {
                    let ((contract, lineage), to) = (lineage.clone(), LogEnd::Length(0));
                    page.push(Op::Truncate { contract, lineage, log, to });
                }
            }
            page.label(start, &labels);
            if start.first.is_none() && theirs.is_empty() {
                return Err(changed_lineage(&start.name));
            }
            beginnings.displace(page, &lineage);
            starts.read.pop_front();
            if page.is_full(shared) {
                break;
            }
        }
        Ok(false)
    }

    /// The labels that the lineages have in the destination.
    fn labels_of(&self, shared: &Shared, starts: &Items<Start, i64>) -> Result<Vec<Labels>> {
        if !self.existing {
            return Ok(vec![Labels::default(); starts.read.len()]);
        }
        let query = |start: &Start| Query::Start { contract: start.contract, lineage: start.name.clone() };
        let answers = shared.to.ask_all(starts.read.iter().map(query).collect())?;
        let labels =
            |answer: Answer| Ok(answer.into_starts()?.pop().map_or_else(Labels::default, |start| start.labels));
        answers.into_iter().map(labels).collect()
    }

    /// Copies a page of pending writes. Returns true if all writes are done.
    fn writes(&mut self, shared: &Shared, pair: &mut Pair<Written, (ContractId, String)>) -> Result<bool> {
        if pair.from.is_at_end(shared, &shared.from)? {
            return Ok(true);
        }
        while let Some(from) = pair.from.read.pop_front() {
            let mut there = Vec::new();
            while self.existing
                && !pair.to.is_at_end(shared, &shared.to)?
                && let Some(to) = pair.to.read.pop_front()
            {
                if to.position() >= from.position() {
                    if to.position() == from.position() {
                        there = to.writes;
                    } else {
                        pair.to.read.push_front(to);
                    }
                    break;
                }
            }
            if there != from.writes {
                self.page.counts.writes += (from.writes.len() - there.len().min(from.writes.len())) as u64;
                write(&mut self.page, from, &there);
            }
        }
        Ok(false)
    }
}

/// Adds the ops that change the writes to a checkpoint from those of the destination to those of the source.
fn write(page: &mut Page, Written { contract, id, writes }: Written, there: &[Write]) {
    page.counts.bytes += writes.iter().map(|write| write.part.bytes.len() as u64).sum::<u64>();
    let claim = claim_since(there, &writes);
    let asks = |write: &Write| write.claimed_by.is_none() && write.state.has(TaskState::ASKS);
    // An interrupted task of the destination has been answered in the source.
    let mut answer =
        there.iter().any(|held| asks(held) && !writes.iter().any(|write| asks(write) && write.task == held.task));
    if let Some(claimed_by) = &claim {
        // Before the claim, the unclaimed writes got these values.
        let claimed = writes.iter().filter(|write| write.claimed_by.as_ref() == Some(claimed_by));
        let open = claimed.map(|write| Write { claimed_by: None, ..write.clone() }).collect();
        page.push(Op::Write { contract, id: id.clone(), writes: open, replace: true, encoded: None });
        page.push(Op::Claim { contract, id: id.clone(), claimed_by: claimed_by.clone() });
    }
    // A write op stores claimed writes before the others, so writes with different claims get separate ops.
    for writes in writes.chunk_by(|a, b| (&a.task, &a.claimed_by, a.state) == (&b.task, &b.claimed_by, b.state)) {
        // A claimed write is always added, so it must not exist yet.
        let Write { task, claimed_by, .. } = &writes[0];
        let is_there = there.iter().any(|write| (&write.task, &write.claimed_by) == (task, claimed_by));
        if claimed_by.is_none() || !(is_there || *claimed_by == claim) {
            let mut writes = writes.to_vec();
            if claimed_by.is_none() && std::mem::take(&mut answer) {
                writes[0].state |= TaskState::ANSWERS;
            }
            page.push(Op::Write { contract, id: id.clone(), writes, replace: true, encoded: None });
        }
    }
}

/// The checkpoint that has claimed the destination's unclaimed writes in the source, if any.
fn claim_since(there: &[Write], writes: &[Write]) -> Option<String> {
    let is_open = |write: &&Write| write.claimed_by.is_none();
    let same = |a: &Write, b: &Write| (&a.task, a.index) == (&b.task, b.index);
    let open = there.iter().find(is_open)?;
    let is_new = |write: &&Write| there.iter().all(|other| other.claimed_by != write.claimed_by);
    let claimed = writes.iter().filter(|write| write.claimed_by.is_some() && same(write, open));
    claimed.filter(is_new).find_map(|write| write.claimed_by.clone())
}

/// Returns true if the origin of a lineage is in a later lineage, or now belongs to another lineage.
fn needs_care(shared: &Shared, start: &Start) -> Result<bool> {
    let Some(origin) = start.origin() else { return Ok(false) };
    if begins_before_origin(start) {
        return Ok(true);
    }
    let found = shared.from.lineage_of(start.contract, &origin.id)?;
    Ok(shared.only.is_none() && found.is_some_and(|lineage| Some(lineage) != origin.lineage))
}

/// Reads the stretches of the logs that each checkpoint names.
fn runs_of(shared: &Shared, saved: &[Saved]) -> Result<Vec<Vec<Vec<LogRun>>>> {
    let checkpoints = || saved.iter().map(|saved| &saved.checkpoint);
    let queries = checkpoints().flat_map(|checkpoint| {
        let header = &checkpoint.header;
        let lineage = (header.contract, header.lineage.clone());
        checkpoint.logs.iter().map(move |mark| log_runs(&lineage, &mark.log, Some(&header.id)))
    });
    let mut answers = shared.from.ask_all(queries.collect())?.into_iter();
    let mut next = |_: &LogMark| answers.next().map_or_else(|| Ok(Vec::new()), Answer::into_log_runs);
    checkpoints().map(|checkpoint| checkpoint.logs.iter().map(&mut next).collect()).collect()
}
