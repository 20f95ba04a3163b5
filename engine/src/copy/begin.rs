//! Creates lineages in their order, with their groups and origins.
//!
//! A lineage keeps the group and the origin of its first checkpoint, and its position in the order of lineages. The
//! source may have removed this checkpoint and the origin. Usually the first remaining checkpoint gives the lineage the
//! same properties at the same position. Otherwise the copied lineage begins with a *placeholder*: a checkpoint with
//! these properties. The unit that puts the lineage's first checkpoint removes the placeholder.
//!
//! If the origin does not exist in the destination yet, it is put and removed in the same unit. This could replace a
//! checkpoint that has since moved to another lineage. And the origin of a lineage that began with a log may be in a
//! later lineage. If the source has such a case, all lineages are created before the first checkpoint.

use std::collections::{HashSet, VecDeque};

use xxhash_rust::xxh3::xxh3_128;

use super::items::Items;
use super::logs::Logs;
use super::page::Page;
use super::records::Compared;
use super::shared::{Counts, Shared, changed, changed_lineage};
use super::side::Name;
use crate::error::{Result, quote};
use crate::op::{Fork, LogEnd, LogMust, Op};
use crate::record::{
    Checkpoint, ContractId, FirstCheckpoint, Header, Labels, LogMark, LogRun, Origin, Record, Saved, Start,
};

/// The name of the log that creates a lineage before its origin exists.
pub(super) const LOG: &str = "forkpoint:copy";

/// The prefix of a placeholder's id.
const PLACEHOLDER: &str = "forkpoint:copy:";

/// The lineages that are not created yet, and the remaining placeholders.
pub(super) struct Beginnings {
    /// The next lineages, in order.
    ahead: Items<Start, i64>,
    /// All lineages of the source up to this position exist in the destination.
    created: Option<i64>,
    /// The lineages that begin with placeholders.
    placed: HashSet<Name>,
    /// The lineages that were created before their origins.
    undescribed: VecDeque<Start>,
}

/// The way in which a checkpoint enters its lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The checkpoint needs a put.
    Put,
    /// The checkpoint was stored as a fork.
    Forked,
    /// The page is full. The checkpoint must be entered again in the next page.
    Later,
}

impl Beginnings {
    /// Continues after the content of the destination: see [`There`](super::compare::There).
    pub(super) fn after(created: Option<i64>, placed: HashSet<Name>, undescribed: VecDeque<Start>) -> Self {
        Self { ahead: Items::after(created), created, placed, undescribed }
    }

    /// Creates the lineages before this position, with placeholders. Returns true if all of them exist, and false if
    /// the page is full.
    pub(super) fn create_before(
        &mut self,
        shared: &Shared,
        (page, logs): (&mut Page, &mut Logs),
        position: i64,
    ) -> Result<bool> {
        while !self.ahead.is_at_end(shared, &shared.from)?
            && self.ahead.read.front().is_some_and(|start| start.position < position)
            && let Some(start) = self.ahead.read.pop_front()
        {
            if begins_before_origin(&start) {
                page.push(placeholder_record(&start));
                self.undescribed.push_back(start.clone());
            } else {
                self.place(shared, (page, logs), &start)?;
            }
            page.counts.count_lineage(start.contract);
            self.created = Some(start.position);
            if page.is_full(shared) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if no lineage waits for its origin.
    pub(super) fn is_described(&self) -> bool {
        self.undescribed.is_empty()
    }

    /// Creates all remaining lineages. Then sets the origins of lineages that were created before their origins.
    /// Returns false if the page is full.
    pub(super) fn create_all(&mut self, shared: &Shared, (page, logs): (&mut Page, &mut Logs)) -> Result<bool> {
        let mut is_done = self.create_before(shared, (page, logs), i64::MAX)?;
        while is_done && let Some(start) = self.undescribed.pop_front() {
            self.place(shared, (page, logs), &start)?;
            let (contract, lineage, to) = (start.contract, start.name, LogEnd::Length(0));
            page.push(Op::Truncate { contract, lineage, log: LOG.to_owned(), to });
            is_done = !page.is_full(shared);
        }
        Ok(is_done)
    }

    /// Begins the lineage of the next checkpoint, unless it has already begun.
    pub(super) fn enter(
        &mut self,
        shared: &Shared,
        (page, logs): (&mut Page, &mut Logs),
        saved: &Saved,
        runs: &[Vec<LogRun>],
    ) -> Result<Entry> {
        if self.created.is_some_and(|created| saved.lineage <= created) {
            return Ok(Entry::Put);
        }
        if !self.create_before(shared, (&mut *page, &mut *logs), saved.lineage)? {
            return Ok(Entry::Later);
        }
        let changed = || changed_lineage(&saved.checkpoint.header.lineage);
        let start = self.ahead.take(shared, &shared.from)?.filter(|start| start.position == saved.lineage);
        let start = start.ok_or_else(changed)?;
        let first = start.first.as_ref().ok_or_else(changed)?;
        let entry = if !begins(shared, page, &saved.checkpoint.header, first)? {
            self.place(shared, (page, logs), &start)?;
            Entry::Put
        } else if let Some(fork) = fork_of(shared, saved, first, runs)? {
            for (mark, runs) in saved.checkpoint.logs.iter().zip(runs) {
                logs.begun(&(start.contract, start.name.clone()), &mark.log, runs);
            }
            page.push(Op::Fork(Box::new(fork)));
            Entry::Forked
        } else {
            Entry::Put
        };
        self.created = Some(start.position);
        page.counts.count_lineage(start.contract);
        Ok(entry)
    }

    /// Removes the placeholder of a lineage, if it has one. The lineage must have other content by now.
    pub(super) fn displace(&mut self, page: &mut Page, lineage: &Name) {
        if self.placed.remove(lineage) {
            page.push(Op::Remove { contract: lineage.0, id: placeholder_id(&lineage.1) });
        }
    }

    /// Begins a lineage with a placeholder.
    fn place(&mut self, shared: &Shared, (page, logs): (&mut Page, &mut Logs), start: &Start) -> Result<()> {
        self.placed.insert((start.contract, start.name.clone()));
        let id = placeholder_id(&start.name);
        let contract = start.contract;
        let mut header = Header { exempt: true, ..Header::new(contract, start.name.clone(), id) };
        if let Some(first) = &start.first {
            header.group.clone_from(&first.group);
            header.age_offset = first.age_offset;
        }
        let Some(origin) = start.origin() else {
            page.push(Op::put(header, Vec::new()));
            return Ok(());
        };
        header.parent = Some(origin.id.clone());
        match page.lineage_of(shared, contract, &origin.id)? {
            Some(lineage) if Some(&lineage) == origin.lineage.as_ref() => {
                if !share(shared, (page, logs), &header, origin)? {
                    page.push(Op::put(header, Vec::new()));
                }
            }
            Some(_) => return Err(changed(&format!("checkpoint {}", quote(&origin.id)))),
            None => {
                let parent = origin_for_a_moment(shared, &header, origin)?;
                let away = Op::Remove { contract, id: parent.id.clone() };
                page.push(Op::put(parent, Vec::new()));
                page.push(Op::put(header, Vec::new()));
                page.push(away);
            }
        }
        Ok(())
    }
}

/// Returns true if a lineage was created before the lineage of its origin. It then began with a log.
pub(super) fn begins_before_origin(start: &Start) -> bool {
    start.origin().is_some_and(|origin| origin.position > start.position)
}

/// Returns true if a put of this checkpoint would begin its lineage with the right group and origin.
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

/// Reads the origin of a lineage. Returns `None` if only this lineage is copied, and the destination has another
/// checkpoint with this id.
fn origin_of(shared: &Shared, contract: ContractId, id: &str) -> Result<Option<Checkpoint>> {
    let Some(source) = shared.from.get(contract, id)? else { return Ok(None) };
    if shared.only.is_none() {
        return Ok(Some(source));
    }
    if shared.to.get(contract, id)?.as_ref() != Some(&source) {
        return Ok(None);
    }
    let lineage = (contract, source.header.lineage.clone());
    for LogMark { log, .. } in &source.logs {
        let (ours, theirs) =
            (shared.from.log_runs(&lineage, log, Some(id))?, shared.to.log_runs(&lineage, log, Some(id))?);
        let log = (&lineage, &**log, Some(id));
        if !Compared::default().begins_with(shared, &mut Counts::default(), log, (&ours, &theirs))? {
            return Ok(None);
        }
    }
    Ok(Some(source))
}

/// Returns the fork that stores this checkpoint, if it is an unchanged copy of its parent. A fork shares log records
/// and payload with its source.
fn fork_of(shared: &Shared, saved: &Saved, first: &FirstCheckpoint, runs: &[Vec<LogRun>]) -> Result<Option<Fork>> {
    let Checkpoint { header, payload, logs } = &saved.checkpoint;
    let Some(origin) = &first.origin else { return Ok(None) };
    let Some(source) = origin_of(shared, header.contract, &origin.id)? else { return Ok(None) };
    let fork = fork_as(header, origin);
    if (&fork.header(&source.header), &source.payload, &source.logs) != (header, payload, logs) {
        return Ok(None);
    }
    let lineage = (header.contract, source.header.lineage.clone());
    for (mark, runs) in logs.iter().zip(runs) {
        if shared.from.log_runs(&lineage, &mark.log, Some(&origin.id))? != *runs {
            return Ok(None);
        }
    }
    Ok(Some(fork))
}

/// The fork of an origin that yields a checkpoint with this header.
fn fork_as(header: &Header, origin: &Origin) -> Fork {
    let Header { contract, lineage, id, sort_key, saved_at, .. } = header.clone();
    Fork { contract, source: origin.id.clone(), id, lineage, sort_key, saved_at, labels: Labels::default() }
}

/// Begins a lineage with a fork of its origin, if the origin names logs, so that their records are shared. Returns
/// false if a put must begin the lineage.
fn share(shared: &Shared, (page, logs): (&mut Page, &mut Logs), placeholder: &Header, origin: &Origin) -> Result<bool> {
    let contract = placeholder.contract;
    let Some(source) = origin_of(shared, contract, &origin.id)? else { return Ok(false) };
    let fits = (&source.header.group, source.header.age_offset) == (&placeholder.group, placeholder.age_offset);
    if !fits || source.logs.iter().all(|mark| mark.length == 0) {
        return Ok(false);
    }
    for mark in &source.logs {
        let runs = shared.from.log_runs(&(contract, source.header.lineage.clone()), &mark.log, Some(&origin.id))?;
        logs.begun(&(contract, placeholder.lineage.clone()), &mark.log, &runs);
    }
    page.push(Op::Fork(Box::new(fork_as(placeholder, origin))));
    Ok(true)
}

/// The temporary checkpoint that replaces a missing origin while a placeholder is put.
fn origin_for_a_moment(shared: &Shared, placeholder: &Header, origin: &Origin) -> Result<Header> {
    let (lineage, age_offset) = match &origin.lineage {
        Some(lineage) => {
            let found = shared.from.start(&(placeholder.contract, lineage.clone()))?;
            let found = found.ok_or_else(|| changed_lineage(lineage))?;
            (lineage.clone(), found.first.map_or(0, |first| first.age_offset))
        }
        // The lineage of the origin no longer exists. The temporary one ends with the unit too.
        None => (placeholder.id.clone(), 0),
    };
    let (id, group, parent) = (origin.id.clone(), String::new(), None);
    Ok(Header { lineage, id, parent, group, age_offset, ..placeholder.clone() })
}

pub(super) fn placeholder_id(lineage: &str) -> String {
    format!("{PLACEHOLDER}{:032x}", xxh3_128(lineage.as_bytes()))
}

pub(super) fn is_placeholder(id: &str) -> bool {
    id.starts_with(PLACEHOLDER)
}

fn placeholder_record(start: &Start) -> Op {
    let record = Record { key: None, tag: String::new(), bytes: bytes::Bytes::new() };
    let (contract, lineage, log) = (start.contract, start.name.clone(), LOG.to_owned());
    Op::Append { contract, lineage, log, records: vec![record], must: LogMust::BeAny }
}
