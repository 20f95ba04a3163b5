//! Creates lineages in their order, with their groups and origins.
//!
//! A lineage keeps the group and the origin of its first checkpoint, and its place in the order of lineages. The source
//! may have removed this checkpoint and the checkpoint that was the origin. Usually the first checkpoint that is left
//! gives the lineage the same fields at the same place, and nothing needs to be done. Otherwise the lineage begins with
//! a *placeholder*: a checkpoint with these fields. The unit that puts the first checkpoint of the lineage removes it.
//!
//! An origin that is not there (yet) is put for a moment, in the same unit. This could replace a checkpoint that has
//! moved to another lineage since. And the origin of a lineage that began with a log may be a later lineage. If the
//! source has one of these cases, all lineages are created before the first checkpoint.

use std::collections::{HashSet, VecDeque};

use super::logs::Logs;
use super::mark::Mark;
use super::page::Page;
use super::shared::{Shared, changed};
use crate::error::{Result, quote};
use crate::op::{Fork, LogEnd, Op};
use crate::query::Query;
use crate::record::{
    Checkpoint, ContractId, FirstCheckpoint, Header, LogRun, Origin, Payload, Record, Saved, SortKey, Start,
};

/// The log that creates a lineage whose origin does not exist yet.
const LOG: &str = "forkpoint:copy";

/// The lineages of the source that are not created yet, and the placeholders that are left.
pub(super) struct Beginnings {
    /// The next lineages in their order.
    ahead: VecDeque<Start>,
    /// The lineages that this process has begun with placeholders.
    placed: HashSet<i64>,
    /// An earlier process may have begun lineages up to this position with placeholders.
    maybe_placed: i64,
}

/// How a checkpoint gets into its lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// It needs a put.
    Put,
    /// It was stored as a fork.
    Forked,
    /// The page is full before its turn. It has to be entered again.
    Later,
}

impl Beginnings {
    pub(super) fn new(mark: &Mark) -> Self {
        Self { ahead: VecDeque::new(), placed: HashSet::new(), maybe_placed: mark.created }
    }

    /// The next lineage that is not created yet.
    fn next(&mut self, shared: &Shared, mark: &Mark) -> Result<Option<&Start>> {
        if self.ahead.is_empty() {
            self.ahead.extend(shared.from.starts((mark.created > i64::MIN).then_some(mark.created))?);
        }
        Ok(self.ahead.front())
    }

    /// Creates the lineages before this position, with placeholders. Returns true if no more of them are left. Returns
    /// false if the page is full.
    pub(super) fn create_before(
        &mut self,
        shared: &Shared,
        (page, mark, logs): (&mut Page, &mut Mark, &mut Logs),
        position: i64,
    ) -> Result<bool> {
        while self.next(shared, mark)?.is_some_and(|start| start.position < position)
            && let Some(start) = self.ahead.pop_front()
        {
            if !shared.leaves_out(start.contract) {
                if begins_before_origin(&start) {
                    page.push(placeholder_record(&start));
                } else {
                    self.place(shared, (page, logs), &start)?;
                }
                mark.done.lineages += 1;
            }
            mark.created = start.position;
            if page.is_full(shared) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives a lineage its origin that was created before its origin.
    pub(super) fn describe(
        &mut self,
        shared: &Shared,
        (page, logs): (&mut Page, &mut Logs),
        start: &Start,
    ) -> Result<()> {
        if !shared.leaves_out(start.contract) && begins_before_origin(start) {
            self.place(shared, (page, logs), start)?;
            let (contract, lineage, to) = (start.contract, start.name.clone(), LogEnd::Length(0));
            page.push(Op::Truncate { contract, lineage, log: LOG.to_owned(), to });
        }
        Ok(())
    }

    /// Begins the lineage of the next checkpoint, if it has not begun yet.
    pub(super) fn enter(
        &mut self,
        shared: &Shared,
        (page, mark, logs): (&mut Page, &mut Mark, &mut Logs),
        saved: &Saved,
        runs: &[Vec<LogRun>],
    ) -> Result<Entry> {
        if saved.lineage <= mark.created {
            return Ok(Entry::Put);
        }
        if !self.create_before(shared, (&mut *page, &mut *mark, &mut *logs), saved.lineage)? {
            return Ok(Entry::Later);
        }
        let lineage = &saved.checkpoint.header.lineage;
        let start = self.ahead.pop_front().filter(|start| start.position == saved.lineage);
        let start = start.ok_or_else(|| changed(&format!("lineage {}", quote(lineage))))?;
        let first = start.first.as_ref().ok_or_else(|| changed(&format!("lineage {}", quote(lineage))))?;
        let entry = if !begins(shared, page, &saved.checkpoint.header, first)? {
            self.place(shared, (page, logs), &start)?;
            Entry::Put
        } else if let Some(fork) = fork_of(shared, saved, first, runs)? {
            for (mark, runs) in saved.checkpoint.logs.iter().zip(runs) {
                logs.begun(start.contract, &start.name, &mark.log, runs);
            }
            page.push(Op::Fork(Box::new(fork)));
            Entry::Forked
        } else {
            Entry::Put
        };
        mark.created = start.position;
        mark.done.lineages += 1;
        Ok(entry)
    }

    /// Removes the placeholder of a lineage, if it may have one. The lineage must have something else by now.
    pub(super) fn displace(&mut self, shared: &Shared, page: &mut Page, contract: ContractId, position: i64) {
        if self.placed.remove(&position) || position <= self.maybe_placed {
            page.push(Op::Remove { contract, id: placeholder_id(shared, position) });
        }
    }

    /// Begins a lineage with a placeholder.
    fn place(&mut self, shared: &Shared, (page, logs): (&mut Page, &mut Logs), start: &Start) -> Result<()> {
        self.placed.insert(start.position);
        let id = placeholder_id(shared, start.position);
        let contract = start.contract;
        let none = FirstCheckpoint { group: String::new(), age_offset: 0, origin: None };
        let FirstCheckpoint { group, age_offset, origin } = start.first.as_ref().unwrap_or(&none);
        let mut header = Header {
            contract,
            lineage: start.name.clone(),
            id,
            parent: origin.as_ref().map(|origin| origin.id.clone()),
            group: group.clone(),
            label: String::new(),
            sort_key: SortKey::default(),
            saved_at: 0,
            age_offset: *age_offset,
            depends_on_parent: false,
            exempt: true,
            meta: Vec::new(),
        };
        let Some(origin) = origin else {
            page.push(put(header));
            return Ok(());
        };
        match page.lineage_of(shared, contract, &origin.id)? {
            Some(lineage) if Some(&lineage) == origin.lineage.as_ref() => {
                if !share(shared, (page, logs), start, &header)? {
                    page.push(put(header));
                }
            }
            Some(_) => return Err(changed(&format!("checkpoint {}", quote(&origin.id)))),
            None => {
                let parent = origin_for_a_moment(shared, &header, origin)?;
                let away = Op::Remove { contract, id: parent.id.clone() };
                header.parent = Some(parent.id.clone());
                page.push(put(parent));
                page.push(put(header));
                page.push(away);
            }
        }
        Ok(())
    }
}

/// Returns true if a lineage was created before the lineage that it was forked from. It then began with a log.
pub(super) fn begins_before_origin(start: &Start) -> bool {
    let origin = start.first.as_ref().and_then(|first| first.origin.as_ref());
    origin.is_some_and(|origin| origin.position > start.position)
}

/// Returns true if a put of this checkpoint begins its lineage with the right group and origin.
fn begins(shared: &Shared, page: &Page, header: &Header, first: &FirstCheckpoint) -> Result<bool> {
    if header.group != first.group {
        return Ok(false);
    }
    let parent = match &header.parent {
        Some(parent) => page.lineage_of(shared, header.contract, parent)?.map(|lineage| (parent, lineage)),
        None => None,
    };
    let origin = match &first.origin {
        Some(Origin { id, lineage: Some(lineage), .. }) => Some((id, lineage)),
        Some(_) => return Ok(false),
        None => None,
    };
    Ok(parent.as_ref().map(|(id, lineage)| (*id, lineage)) == origin)
}

/// Returns the fork that stores this checkpoint, if it is an unchanged copy of its parent. A fork shares the records of
/// the logs and the payload with its source.
fn fork_of(shared: &Shared, saved: &Saved, first: &FirstCheckpoint, runs: &[Vec<LogRun>]) -> Result<Option<Fork>> {
    let Checkpoint { header, payload, logs } = &saved.checkpoint;
    let Some(origin) = &first.origin else { return Ok(None) };
    let Some(source) = shared.from.get(header.contract, &origin.id)? else { return Ok(None) };
    let copied = Header {
        lineage: header.lineage.clone(),
        id: header.id.clone(),
        parent: header.parent.clone(),
        sort_key: header.sort_key.clone(),
        saved_at: header.saved_at,
        ..source.header.clone()
    };
    if (&copied, &source.payload, &source.logs) != (header, payload, logs) {
        return Ok(None);
    }
    let of = |mark: &crate::record::LogMark| Query::LogRuns {
        contract: header.contract,
        lineage: source.header.lineage.clone(),
        log: mark.log.clone(),
        at: Some(origin.id.clone()),
    };
    for (answer, runs) in shared.from.ask_all(logs.iter().map(of).collect())?.into_iter().zip(runs) {
        if answer.into_log_runs()? != *runs {
            return Ok(None);
        }
    }
    Ok(Some(Fork {
        contract: header.contract,
        source: origin.id.clone(),
        id: header.id.clone(),
        lineage: header.lineage.clone(),
        sort_key: header.sort_key.clone(),
        saved_at: header.saved_at,
    }))
}

/// Begins a lineage with a fork of its origin, if the origin names logs. So the lineage shares their records. Returns
/// false if a put must begin the lineage.
fn share(shared: &Shared, (page, logs): (&mut Page, &mut Logs), start: &Start, placeholder: &Header) -> Result<bool> {
    let Some(parent) = &placeholder.parent else { return Ok(false) };
    let Some(source) = shared.from.get(start.contract, parent)? else { return Ok(false) };
    let fits = (&source.header.group, source.header.age_offset) == (&placeholder.group, placeholder.age_offset);
    if !fits || source.logs.iter().all(|mark| mark.length == 0) {
        return Ok(false);
    }
    for mark in &source.logs {
        let (lineage, log, at) = (source.header.lineage.clone(), mark.log.clone(), Some(parent.clone()));
        let query = Query::LogRuns { contract: start.contract, lineage, log, at };
        let runs = shared.from.ask(query)?.into_log_runs()?;
        logs.begun(start.contract, &start.name, &mark.log, &runs);
    }
    page.push(Op::Fork(Box::new(Fork {
        contract: start.contract,
        source: parent.clone(),
        id: placeholder.id.clone(),
        lineage: start.name.clone(),
        sort_key: SortKey::default(),
        saved_at: 0,
    })));
    Ok(true)
}

/// The checkpoint that stands for an origin while a placeholder is put.
fn origin_for_a_moment(shared: &Shared, placeholder: &Header, origin: &Origin) -> Result<Header> {
    let (lineage, age_offset) = match &origin.lineage {
        Some(lineage) => {
            let query = Query::Starts { after: Some(origin.position - 1), limit: 1 };
            let found = shared.from.ask(query)?.into_starts()?.pop();
            let found = found.filter(|start| start.position == origin.position);
            let found = found.ok_or_else(|| changed(&format!("lineage {}", quote(lineage))))?;
            (lineage.clone(), found.first.map_or(0, |first| first.age_offset))
        }
        // The lineage of the origin does not exist any more. Neither does this one after the unit.
        None => (placeholder.id.clone(), 0),
    };
    let (id, group, parent) = (origin.id.clone(), String::new(), None);
    Ok(Header { lineage, id, parent, group, age_offset, ..placeholder.clone() })
}

fn placeholder_id(shared: &Shared, position: i64) -> String {
    format!("forkpoint:copy:{}:{position}", shared.options.source)
}

fn placeholder_record(start: &Start) -> Op {
    let record = Record { key: None, tag: String::new(), bytes: bytes::Bytes::new() };
    let (contract, lineage, log) = (start.contract, start.name.clone(), LOG.to_owned());
    Op::Append { contract, lineage, log, records: vec![record], expect: None }
}

fn put(header: Header) -> Op {
    Op::Put(Box::new(Checkpoint { header, payload: Payload::default(), logs: Vec::new() }.into()))
}
