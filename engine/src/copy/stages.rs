//! Goes through the source, page by page, and fills the destination.

use std::collections::VecDeque;

use super::begin::{Beginnings, Entry};
use super::logs::{Logs, Wanted, length};
use super::mark::{Mark, Stage};
use super::page::Page;
use super::shared::{Counts, Shared, changed};
use super::side::Pending;
use crate::error::{Result, quote};
use crate::op::{LogEnd, Op};
use crate::query::{Answer, Pick, Query};
use crate::record::{ContractId, Draft, LogMark, LogRun, Saved, Start, Write, Written};

/// A copy that is under way.
pub(super) struct Copying {
    mark: Mark,
    page: Page,
    beginnings: Beginnings,
    logs: Logs,
    /// The checkpoints that were read and not copied yet, with the runs of the logs that they name.
    queue: VecDeque<(Saved, Vec<Vec<LogRun>>)>,
    /// The next page of checkpoints. It is read while the last page is written.
    next: Option<Pending>,
    /// The save number of the last checkpoint of the page that was read last.
    read: Option<i64>,
}

impl Copying {
    pub(super) fn new(mark: Mark) -> Self {
        let beginnings = Beginnings::new(&mark);
        let read = mark.after;
        let queue = VecDeque::new();
        Self { mark, page: Page::default(), beginnings, logs: Logs::default(), queue, next: None, read }
    }

    /// Begins the copy with these ops.
    pub(super) fn beginning_with(mut self, ops: Vec<Op>) -> Self {
        for op in ops {
            self.page.push(op);
        }
        self
    }

    /// Lets all lineages be created before the first checkpoint is copied.
    pub(super) fn with_care(mut self) -> Self {
        self.mark.stage = Stage::Begin;
        self
    }

    /// Goes on with a copy that was begun earlier.
    pub(super) fn resumed(shared: &Shared, mark: Mark) -> Result<Self> {
        if mark.stage == Stage::Saves && mark.created > i64::MIN {
            let found = shared.from.ask(Query::Starts { after: Some(mark.created - 1), limit: 1 })?.into_starts()?;
            if found.first().is_none_or(|start| start.position != mark.created) {
                return Err(changed("a lineage"));
            }
        }
        Ok(Self::new(mark))
    }

    pub(super) fn stage(&self) -> Stage {
        self.mark.stage
    }

    pub(super) fn counts(&self) -> Counts {
        self.mark.done
    }

    pub(super) fn into_mark(self) -> Mark {
        self.mark
    }

    pub(super) fn step(&mut self, shared: &Shared) -> Result<()> {
        let ended = match self.mark.stage {
            Stage::Begin => self.create(shared)?,
            Stage::Describe => self.describe(shared)?,
            Stage::Saves => self.saves(shared)?,
            Stage::Settle => self.settle(shared)?,
            Stage::Writes => self.writes(shared)?,
            Stage::Verify => false,
        };
        if ended {
            self.mark.settled = None;
            self.mark.stage = match self.mark.stage {
                Stage::Begin => Stage::Describe,
                Stage::Describe => Stage::Saves,
                Stage::Saves => Stage::Settle,
                Stage::Settle => Stage::Writes,
                Stage::Writes | Stage::Verify => Stage::Verify,
            };
        }
        if ended || !self.page.is_empty() {
            self.page.flush(shared, &mut self.mark)?;
        }
        Ok(())
    }

    /// Creates all lineages that are not created yet.
    fn create(&mut self, shared: &Shared) -> Result<bool> {
        let Self { beginnings, page, mark, logs, .. } = self;
        beginnings.create_before(shared, (page, mark, logs), i64::MAX)
    }

    fn describe(&mut self, shared: &Shared) -> Result<bool> {
        let found = shared.from.starts(self.mark.settled)?;
        for start in &found {
            if self.mark.existing.is_none_or(|existing| start.position > existing) {
                self.beginnings.describe(shared, (&mut self.page, &mut self.logs), start)?;
            }
            self.mark.settled = Some(start.position);
        }
        Ok(found.is_empty())
    }

    /// Copies checkpoints until the page is full.
    fn saves(&mut self, shared: &Shared) -> Result<bool> {
        if self.queue.is_empty() {
            let bytes = shared.options.page_bytes;
            let request = |after| shared.from.request(Query::Saves { after, bytes });
            let found = self.next.take().unwrap_or_else(|| request(self.read)).wait()?.into_saves()?;
            let Some(last) = found.last() else { return self.create(shared) };
            self.read = Some(last.seq);
            self.next = Some(request(self.read));
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

    /// Copies a checkpoint. `runs` are the runs of the logs that it names. Returns the checkpoint if the page is full before
    /// its turn.
    fn save(&mut self, shared: &Shared, saved: Saved, runs: &[Vec<LogRun>]) -> Result<Option<Saved>> {
        let contract = saved.checkpoint.header.contract;
        if shared.leaves_out(contract) {
            return Ok(None);
        }
        let lengths = saved.checkpoint.logs.iter().map(|mark| mark.length);
        if !lengths.eq(runs.iter().map(|runs| length(runs))) {
            return Err(changed(&format!("checkpoint {}", quote(&saved.checkpoint.header.id))));
        }
        let Self { beginnings, page, mark, logs, .. } = self;
        let entry = beginnings.enter(shared, (page, mark, logs), &saved, runs)?;
        if entry == Entry::Later {
            return Ok(Some(saved));
        }
        let (id, lineage) = (saved.checkpoint.header.id.clone(), saved.checkpoint.header.lineage.clone());
        let wanted = saved.checkpoint.logs.iter().zip(runs).map(|(LogMark { log, .. }, runs)| {
            let (lineage, at) = (&*lineage, Some(&*id));
            Wanted { contract, lineage, log, at, runs }
        });
        let wanted: Vec<Wanted<'_>> = wanted.filter(|wanted| !wanted.runs.is_empty()).collect();
        for wanted in wanted.iter().filter(|_| entry == Entry::Put) {
            if !logs.bring(shared, (page, mark), wanted)? {
                return Ok(Some(saved));
            }
        }
        for wanted in &wanted {
            logs.named(wanted);
        }
        let Saved { seq, lineage: position, checkpoint } = saved;
        mark.done.bytes += checkpoint.payload.len() as u64;
        if entry == Entry::Put {
            page.push(Op::Put(Box::new(Draft::from(checkpoint))));
        }
        beginnings.displace(shared, page, contract, position);
        page.puts(contract, &id, &lineage);
        mark.after = Some(seq);
        mark.last = Some((contract.0, id));
        mark.done.checkpoints += 1;
        Ok(None)
    }

    /// Gives the logs of a page of lineages the records that they have now.
    fn settle(&mut self, shared: &Shared) -> Result<bool> {
        let found = shared.from.starts(self.mark.settled)?;
        let Some(last) = found.last().map(|start| start.position) else { return Ok(true) };
        let starts: Vec<Start> = found.into_iter().filter(|start| !shared.leaves_out(start.contract)).collect();
        let query = |start: &Start| Query::Logs { contract: start.contract, lineage: start.name.clone() };
        let theirs = shared.from.ask_all(starts.iter().map(query).collect())?;
        let ours = shared.to.ask_all(starts.iter().map(query).collect())?;
        let Self { beginnings, page, mark, logs, .. } = self;
        for ((start, theirs), ours) in starts.iter().zip(theirs).zip(ours) {
            let (contract, lineage) = (start.contract, &*start.name);
            let theirs = theirs.into_logs()?;
            for LogMark { log, .. } in &theirs {
                let query = Query::LogRuns { contract, lineage: lineage.to_owned(), log: log.clone(), at: None };
                let runs = shared.from.ask(query)?.into_log_runs()?;
                let wanted = Wanted { contract, lineage, log, at: None, runs: &runs };
                if !logs.bring(shared, (page, mark), &wanted)? {
                    return Ok(false);
                }
            }
            for LogMark { log, .. } in ours.into_logs()? {
                if theirs.iter().all(|other| other.log != log) {
                    let to = LogEnd::Length(0);
                    page.push(Op::Truncate { contract, lineage: lineage.to_owned(), log, to });
                }
            }
            if start.first.is_none() {
                if theirs.is_empty() {
                    return Err(changed(&format!("lineage {}", quote(lineage))));
                }
                beginnings.displace(shared, page, contract, start.position);
            }
            mark.settled = Some(start.position);
            if page.is_full(shared) {
                return Ok(false);
            }
        }
        self.mark.settled = Some(last);
        Ok(false)
    }

    /// Copies a page of pending writes.
    fn writes(&mut self, shared: &Shared) -> Result<bool> {
        let after = self.mark.written.clone().map(|(contract, id)| (ContractId(contract), id));
        let found = shared.from.ask(Query::Writes { after, bytes: shared.options.page_bytes })?.into_writes()?;
        let ended = found.is_empty();
        for Written { contract, id, writes } in found {
            self.mark.written = Some((contract.0, id.clone()));
            if shared.leaves_out(contract) {
                continue;
            }
            self.mark.done.writes += writes.len() as u64;
            self.mark.done.bytes += writes.iter().map(|write| write.part.bytes.len() as u64).sum::<u64>();
            let there = if self.mark.existing.is_some() { there(shared, contract, &id)? } else { Vec::new() };
            let claim = claim_since(&there, &writes);
            if let Some(claimed_by) = &claim {
                // Before they were claimed, the open writes got these values.
                let claimed = writes.iter().filter(|write| write.claimed_by.as_ref() == Some(claimed_by));
                let open = claimed.map(|write| Write { claimed_by: None, ..write.clone() }).collect();
                self.page.push(Op::Write { contract, id: id.clone(), writes: open, replace: true, encoded: None });
                self.page.push(Op::Claim { contract, id: id.clone(), claimed_by: claimed_by.clone() });
            }
            // A write op stores claimed writes before the others. So writes with different claims get ops of their own.
            for writes in writes.chunk_by(|a, b| (&a.task, &a.claimed_by) == (&b.task, &b.claimed_by)) {
                // A claimed write is always added, so it must not be there yet.
                let Write { task, claimed_by, .. } = &writes[0];
                let is_there = there.iter().any(|write| (&write.task, &write.claimed_by) == (task, claimed_by));
                if claimed_by.is_none() || !(is_there || *claimed_by == claim) {
                    let writes = writes.to_vec();
                    self.page.push(Op::Write { contract, id: id.clone(), writes, replace: true, encoded: None });
                }
            }
        }
        Ok(ended)
    }
}

/// The writes to a checkpoint that the destination has.
fn there(shared: &Shared, contract: ContractId, id: &str) -> Result<Vec<Write>> {
    let query = Query::Tuple { contract, pick: Pick::Id(id.to_owned()) };
    Ok(shared.to.ask(query)?.into_tuple()?.map(|tuple| tuple.writes).unwrap_or_default())
}

/// The checkpoint that has claimed the unclaimed writes of the destination since, if one has.
fn claim_since(there: &[Write], writes: &[Write]) -> Option<String> {
    let is_open = |write: &&Write| write.claimed_by.is_none();
    let same = |a: &Write, b: &Write| (&a.task, a.index) == (&b.task, b.index);
    let open = there.iter().find(is_open)?;
    let is_new = |write: &&Write| there.iter().all(|other| other.claimed_by != write.claimed_by);
    let claimed = writes.iter().filter(|write| write.claimed_by.is_some() && same(write, open));
    claimed.filter(is_new).find_map(|write| write.claimed_by.clone())
}

/// Reads the runs of the logs that each checkpoint names.
fn runs_of(shared: &Shared, saved: &[Saved]) -> Result<Vec<Vec<Vec<LogRun>>>> {
    let checkpoints = || saved.iter().map(|saved| &saved.checkpoint);
    let queries = checkpoints().flat_map(|checkpoint| {
        checkpoint.logs.iter().map(|mark| Query::LogRuns {
            contract: checkpoint.header.contract,
            lineage: checkpoint.header.lineage.clone(),
            log: mark.log.clone(),
            at: Some(checkpoint.header.id.clone()),
        })
    });
    let mut answers = shared.from.ask_all(queries.collect())?.into_iter();
    let mut next = |_: &LogMark| answers.next().map_or_else(|| Ok(Vec::new()), Answer::into_log_runs);
    checkpoints().map(|checkpoint| checkpoint.logs.iter().map(&mut next).collect()).collect()
}
