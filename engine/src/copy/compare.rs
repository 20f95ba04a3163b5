//! Compares the two stores: their lineages, then their checkpoints, then their pending writes, each in order.
//!
//! Before a copy, items may be missing in the destination: an earlier or interrupted copy is continued. After a copy,
//! nothing may be missing.
//!
//! A destination can be continued if it has the first lineages and the first checkpoints of the source. Checkpoints
//! that the source has saved again since then come later in the source. The logs of the destination must be beginnings
//! of the source's logs, or of logs that a checkpoint of the source names. Otherwise nothing is changed, because the
//! destination may be another store.

use std::collections::{HashSet, VecDeque};

use super::begin::{LOG, is_placeholder, placeholder_id};
use super::items::{Item, Items, logs_of};
use super::logs::head_of;
use super::records::{Compared, length};
use super::shared::{Counts, Shared};
use super::side::{Name, log_runs};
use crate::error::{Code, Error, Result};
use crate::names;
use crate::op::Op;
use crate::query::Query;
use crate::record::{Checkpoint, ContractId, FirstCheckpoint, LogMark, Origin, Saved, Seq, Start, Write, Written};

/// A running comparison.
pub(super) struct Comparison {
    lineages: Pair<Start, i64>,
    checkpoints: Pair<Saved, Seq>,
    writes: Pair<Written, (ContractId, String)>,
    /// True if nothing may be missing in the destination.
    whole: bool,
    found: There,
    compared: Compared,
}

/// The result of comparing the destination with the source.
#[derive(Default)]
pub(super) struct There {
    pub(super) counts: Counts,
    /// True if the destination has any items.
    pub(super) any: bool,
    /// True if the source has more or newer items than the destination.
    pub(super) less: bool,
    /// The source's position of the last lineage that the destination has.
    pub(super) created: Option<i64>,
    /// The source's save number of the last checkpoint that the destination has.
    pub(super) after: Option<Seq>,
    /// The lineages for which an interrupted copy left placeholders.
    pub(super) placed: HashSet<Name>,
    /// The lineages that an interrupted copy has created before their origins.
    pub(super) undescribed: VecDeque<Start>,
    /// The checkpoints that the source has saved again since the last copy.
    pub(super) again: HashSet<Name>,
    /// The checkpoints whose save time the source has changed since the last copy.
    pub(super) touched: Vec<Op>,
}

/// The items of both stores.
pub(super) struct Pair<T, Position> {
    pub(super) from: Items<T, Position>,
    pub(super) to: Items<T, Position>,
}

impl<T: Item<Position>, Position: Clone> Pair<T, Position> {
    pub(super) fn new() -> Self {
        Self { from: Items::after(None), to: Items::after(None) }
    }
}

impl Comparison {
    pub(super) fn new(whole: bool) -> Self {
        let (lineages, checkpoints, writes) = (Pair::new(), Pair::new(), Pair::new());
        Self { lineages, checkpoints, writes, whole, found: There::default(), compared: Compared::default() }
    }

    /// The result of the comparison so far.
    pub(super) fn found(&self) -> &There {
        &self.found
    }

    pub(super) fn into_found(self) -> There {
        self.found
    }

    /// Compares about one page. Returns true if everything is compared.
    pub(super) fn step(&mut self, shared: &Shared) -> Result<bool> {
        let more = self.page(shared, |all| &mut all.lineages, Self::compare_lineages)?
            || self.page(shared, |all| &mut all.checkpoints, Self::compare_checkpoints)?
            || self.page(shared, |all| &mut all.writes, Self::compare_writes)?;
        Ok(!more)
    }

    /// Compares the items of the destination's next page. Returns false if there are no more.
    fn page<T: Item<Position>, Position: Clone>(
        &mut self,
        shared: &Shared,
        of: fn(&mut Self) -> &mut Pair<T, Position>,
        compare: fn(&mut Self, &Shared, &mut Pair<T, Position>) -> Result<()>,
    ) -> Result<bool> {
        let mut pair = std::mem::replace(of(self), Pair::new());
        let is_at_end = pair.to.is_at_end(shared, &shared.to)?;
        if !is_at_end {
            self.found.any = true;
            compare(self, shared, &mut pair)?;
        } else if !self.found.less
            && let Some(item) = pair.from.take(shared, &shared.from)?
        {
            self.missing(shared, &item.named(), "it is only in the source")?;
        }
        *of(self) = pair;
        Ok(!is_at_end)
    }

    /// Records that the source has more or newer items. After a copy, this is an error.
    fn missing(&mut self, shared: &Shared, item: &str, what: &str) -> Result<()> {
        if self.whole {
            return Err(self.differs(shared, item, what));
        }
        self.found.less = true;
        Ok(())
    }

    /// The error for an item that must not be in the destination.
    fn differs(&self, shared: &Shared, item: &str, what: &str) -> Error {
        let message = if self.whole {
            format!(
                "the copy differs from its source: {item}: {what}. A program wrote to one of the two stores during the \
                 copy: stop the programs, remove the destination, and copy again"
            )
        } else if shared.only.is_some() {
            format!("the destination has it with another content: {item}: {what}. Nothing of it was copied")
        } else {
            format!(
                "the destination of the copy is not empty, and it is not an earlier copy of the source: {item}: {what}. Use \
                 an empty destination. Nothing was copied"
            )
        };
        Error::new(Code::Conflict, message)
    }

    fn compare_lineages(&mut self, shared: &Shared, pair: &mut Pair<Start, i64>) -> Result<()> {
        let mut starts = Vec::new();
        while let Some(to) = pair.to.read.pop_front() {
            let Some(from) = pair.from.take(shared, &shared.from)? else {
                return Err(self.differs(shared, &to.named(), "the source does not have it"));
            };
            if (from.contract, &from.name) != (to.contract, &to.name) {
                let what = format!("in the source, {} has its place", from.named());
                return Err(self.differs(shared, &to.named(), &what));
            }
            let name = (to.contract, to.name.clone());
            if shown(shared, &from) != shown(shared, &to) {
                // Its first checkpoint may not be copied yet.
                let is_begun = !self.whole && (to.first.is_none() || has_placeholder(shared, &name)?);
                if !is_begun {
                    return Err(self.differs(shared, &to.named(), "its group, its age or its origin"));
                }
                self.found.less = true;
            }
            if from.labels != to.labels {
                self.missing(shared, &to.named(), "its labels")?;
            }
            self.found.created = Some(from.position);
            self.found.counts.count_lineage(to.contract);
            starts.push((name, from));
        }
        self.logs(shared, &starts)
    }

    /// Compares the current logs of lineages.
    fn logs(&mut self, shared: &Shared, starts: &[(Name, Start)]) -> Result<()> {
        let item = |(contract, lineage): &Name| names::run(*contract, lineage);
        let queries: Vec<Query> = starts.iter().map(|(_, start)| logs_of(start)).collect();
        let (from, to) = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
        let mut logs = Vec::new();
        for (((name, start), from), to) in starts.iter().zip(from).zip(to) {
            let to = to.into_logs()?;
            if from.into_logs()? != to {
                self.missing(shared, &item(name), "its logs")?;
            }
            for LogMark { log, .. } in to {
                if log == LOG {
                    self.found.undescribed.push_back(start.clone());
                } else {
                    logs.push((name, log));
                }
            }
        }
        let queries: Vec<Query> = logs.iter().map(|(name, log)| log_runs(name, log, None)).collect();
        let both = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
        for (((name, log), ours), theirs) in logs.iter().zip(both.0).zip(both.1) {
            let (ours, theirs) = (ours.into_log_runs()?, theirs.into_log_runs()?);
            let counts = &mut self.found.counts;
            if !self.compared.begins_with(shared, counts, (name, log, None), (&ours, &theirs))? {
                self.missing(shared, &item(name), "the records of its logs")?;
                if head_of(shared, name, log)?.is_none() {
                    return Err(self.differs(shared, &item(name), "the records of its logs"));
                }
            }
        }
        Ok(())
    }

    fn compare_checkpoints(&mut self, shared: &Shared, pair: &mut Pair<Saved, Seq>) -> Result<()> {
        let mut same = Vec::new();
        while let Some(Saved { checkpoint: to, .. }) = pair.to.read.pop_front() {
            let header = &to.header;
            if !self.whole && is_placeholder(&header.id) {
                self.found.placed.insert((header.contract, header.lineage.clone()));
                self.found.less = true;
                continue;
            }
            pair.from.fill(shared, &shared.from)?;
            let next = pair.from.read.front().map(|saved| &saved.checkpoint);
            let difference =
                next.map_or_else(|| Some("it is only in the destination".to_owned()), |from| difference(from, &to));
            let saved_at = match difference {
                None => {
                    let Some(Saved { seq, checkpoint: from, .. }) = pair.from.read.pop_front() else { break };
                    self.found.after = Some(seq);
                    self.found.counts.count(header.contract, to.payload.len());
                    from.header.saved_at
                }
                Some(what) if self.whole => return Err(self.differs(shared, &named(&to), &what)),
                // The source may have saved it again. It then comes later in the source, and will replace this one.
                Some(_) => match shared.from.get(header.contract, &header.id)? {
                    Some(from) if from.header.lineage == header.lineage => {
                        self.found.again.insert((header.contract, header.id.clone()));
                        self.found.less = true;
                        from.header.saved_at
                    }
                    _ => return Err(self.differs(shared, &named(&to), "the source does not have it")),
                },
            };
            if saved_at < header.saved_at {
                return Err(self.differs(shared, &named(&to), "it was saved later than in the source"));
            }
            if !self.found.again.contains(&(header.contract, header.id.clone())) {
                if saved_at > header.saved_at {
                    self.missing(shared, &named(&to), "its fields")?;
                    let (contract, id) = (header.contract, header.id.clone());
                    self.found.touched.push(Op::Touch { contract, id, saved_at });
                }
                same.push(to);
            }
        }
        self.named_logs(shared, &same)
    }

    /// Compares the records of the logs that checkpoints name.
    fn named_logs(&mut self, shared: &Shared, checkpoints: &[Checkpoint]) -> Result<()> {
        let names = checkpoints.iter().map(|to| (to, (to.header.contract, to.header.lineage.clone())));
        let all: Vec<(&Checkpoint, Name, &LogMark)> =
            names.flat_map(|(to, name)| to.logs.iter().map(move |mark| (to, name.clone(), mark))).collect();
        let queries: Vec<Query> =
            all.iter().map(|(to, name, mark)| log_runs(name, &mark.log, Some(&to.header.id))).collect();
        let both = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
        for (((to, name, mark), ours), theirs) in all.iter().zip(both.0).zip(both.1) {
            let (ours, theirs) = (ours.into_log_runs()?, theirs.into_log_runs()?);
            let log = (name, &*mark.log, Some(&*to.header.id));
            let counts = &mut self.found.counts;
            if length(&ours) != length(&theirs) || !self.compared.begins_with(shared, counts, log, (&ours, &theirs))? {
                return Err(self.differs(shared, &named(to), "the records of its logs"));
            }
        }
        Ok(())
    }

    fn compare_writes(&mut self, shared: &Shared, pair: &mut Pair<Written, (ContractId, String)>) -> Result<()> {
        while let Some(to) = pair.to.read.pop_front() {
            let from = loop {
                match pair.from.take(shared, &shared.from)? {
                    Some(from) if from.position() < to.position() => {
                        self.missing(shared, &from.named(), "they are only in the source")?;
                    }
                    found => break found.filter(|from| from.position() == to.position()),
                }
            };
            // The source may have another value or claim for a write.
            let has = |write: &Write| {
                let mut ours = from.iter().flat_map(|from| &from.writes);
                ours.any(|other| (&other.task, other.index) == (&write.task, write.index))
            };
            if !to.writes.iter().all(has) {
                return Err(self.differs(shared, &to.named(), "the source does not have them"));
            }
            if from.as_ref() != Some(&to) {
                self.missing(shared, &to.named(), "they are not the same")?;
            }
            self.found.counts.writes += to.writes.len() as u64;
            self.found.counts.bytes += to.writes.iter().map(|write| write.part.bytes.len() as u64).sum::<u64>();
        }
        Ok(())
    }
}

/// Returns true if the destination has a placeholder of an interrupted copy for the lineage.
fn has_placeholder(shared: &Shared, (contract, lineage): &Name) -> Result<bool> {
    Ok(shared.to.lineage_of(*contract, &placeholder_id(lineage))?.is_some())
}

fn named(checkpoint: &Checkpoint) -> String {
    names::checkpoint_of(&checkpoint.header)
}

/// Describes how a checkpoint differs between source and destination. Ignores a later save time in the source.
fn difference(from: &Checkpoint, to: &Checkpoint) -> Option<String> {
    let mut ours = from.header.clone();
    ours.saved_at = to.header.saved_at;
    if (ours.contract, &ours.id) != (to.header.contract, &to.header.id) {
        return Some(format!("in the source, {} has its place", named(from)));
    }
    let what = if ours != to.header {
        "its fields"
    } else if from.payload != to.payload {
        "its payload"
    } else if from.logs != to.logs {
        "the logs that it names"
    } else {
        return None;
    };
    Some(what.to_owned())
}

/// The comparable properties of a lineage's first checkpoint. Positions differ between stores. A lineage that was
/// copied alone may have lost its origin.
fn shown(shared: &Shared, start: &Start) -> Option<FirstCheckpoint> {
    let mut first = start.first.clone()?;
    first.origin = first.origin.filter(|_| shared.only.is_none()).map(|origin| Origin { position: 0, ..origin });
    Some(first)
}
