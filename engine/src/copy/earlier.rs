//! Compares a destination that is not empty with the source. If the destination has what an earlier copy has left, the copy
//! goes on after it.
//!
//! The lineages of the destination must be the first ones of the source. Its checkpoints must be the first ones too, apart
//! from those that the source has saved again since, which come later there. Its logs must be the beginnings of those of
//! the source. Nothing is changed unless all of this holds, because the destination may be another store.

use super::logs::begins_with;
use super::mark::{Mark, Stage as Copied};
use super::shared::Shared;
use super::verify::{Item, Pair, shown};
use crate::error::{Code, Error, Result, quote};
use crate::op::Op;
use crate::query::Query;
use crate::record::{ContractId, Header, LogMark, Saved, Seq, Start, Written};

/// A comparison that is under way. It goes through lineages, checkpoints and pending writes, in this order.
pub(super) struct Earlier {
    stage: Stage,
    /// Says where the copy goes on, and counts what is there.
    mark: Mark,
    /// The checkpoints whose save time the source has changed since.
    touched: Vec<Op>,
}

enum Stage {
    Lineages(Pair<Start, i64>),
    Checkpoints(Pair<Saved, Seq>),
    Writes(Pair<Written, (ContractId, String)>),
    Ended,
}

impl Earlier {
    pub(super) fn new(source: &str) -> Self {
        let mut mark = Mark::new(source, Copied::Saves);
        mark.existing = Some(i64::MIN);
        Self { stage: Stage::Lineages(Pair::new()), mark, touched: Vec::new() }
    }

    /// The progress mark from which the copy goes on, and what the counts are so far.
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// The ops with which the copy begins.
    pub(super) fn into_parts(self) -> (Mark, Vec<Op>) {
        (self.mark, self.touched)
    }

    /// Compares about one page. Returns true if everything is compared.
    pub(super) fn step(&mut self, shared: &Shared) -> Result<bool> {
        let Self { stage, mark, touched } = self;
        match stage {
            Stage::Lineages(pair) => {
                if !lineages(shared, pair, mark)? {
                    self.stage = Stage::Checkpoints(Pair::new());
                }
            }
            Stage::Checkpoints(pair) => {
                if !checkpoints(shared, pair, mark, touched)? {
                    self.stage = Stage::Writes(Pair::new());
                }
            }
            Stage::Writes(pair) => {
                if !writes(shared, pair, mark)? {
                    self.stage = Stage::Ended;
                }
            }
            Stage::Ended => return Ok(true),
        }
        Ok(false)
    }
}

/// Compares a page of lineages. Returns false if there are no more.
fn lineages(shared: &Shared, pair: &mut Pair<Start, i64>, mark: &mut Mark) -> Result<bool> {
    pair.to.fill(&shared.to, shared)?;
    let any = !pair.to.read.is_empty();
    for to in pair.to.read.drain(..) {
        pair.from.fill(&shared.from, shared)?;
        let from = pair.from.read.pop_front().ok_or_else(|| foreign(&to.named(), "the source does not have it"))?;
        if (from.contract, &from.name) != (to.contract, &to.name) {
            return Err(foreign(&to.named(), &format!("in the source, {} has its place", from.named())));
        }
        if shown(&from) != shown(&to) {
            return Err(foreign(&to.named(), "its group, its age or its origin"));
        }
        let logs = Query::Logs { contract: to.contract, lineage: to.name.clone() };
        for LogMark { log, length } in shared.to.ask(logs)?.into_logs()? {
            if !begins_with(shared, (to.contract, &to.name, &log), length)? {
                return Err(foreign(&to.named(), "its logs"));
            }
        }
        mark.created = from.position;
        mark.existing = Some(from.position);
        mark.done.lineages += 1;
    }
    Ok(any)
}

/// Compares a page of checkpoints. Returns false if there are no more.
fn checkpoints(shared: &Shared, pair: &mut Pair<Saved, Seq>, mark: &mut Mark, touched: &mut Vec<Op>) -> Result<bool> {
    pair.to.fill(&shared.to, shared)?;
    let any = !pair.to.read.is_empty();
    for Saved { checkpoint: to, .. } in pair.to.read.drain(..) {
        pair.from.fill(&shared.from, shared)?;
        let is_same = |from: &Saved| {
            let now = Header { saved_at: from.checkpoint.header.saved_at, ..to.header.clone() };
            (&from.checkpoint.header, &from.checkpoint.payload, &from.checkpoint.logs) == (&now, &to.payload, &to.logs)
        };
        let (contract, id) = (to.header.contract, &to.header.id);
        let what = || format!("checkpoint {}", quote(id));
        let same = if pair.from.read.front().is_some_and(is_same) { pair.from.read.pop_front() } else { None };
        let saved_at = match same {
            Some(from) => {
                mark.after = Some(from.seq);
                mark.last = Some((contract.0, id.clone()));
                mark.done.checkpoints += 1;
                mark.done.bytes += to.payload.len() as u64;
                let saved_at = from.checkpoint.header.saved_at;
                if saved_at > to.header.saved_at {
                    touched.push(Op::Touch { contract, id: id.clone(), saved_at });
                }
                saved_at
            }
            // The source may have saved it again. It then comes later in the source, and replaces this one.
            None => match shared.from.get(contract, id)? {
                Some(from) if from.header.lineage == to.header.lineage => from.header.saved_at,
                _ => return Err(foreign(&what(), "the source does not have it")),
            },
        };
        if saved_at < to.header.saved_at {
            return Err(foreign(&what(), "it was saved later than in the source"));
        }
    }
    Ok(any)
}

/// Compares a page of pending writes. A write may have another value or another claim in the source. Returns false if there
/// are no more.
fn writes(shared: &Shared, pair: &mut Pair<Written, (ContractId, String)>, mark: &mut Mark) -> Result<bool> {
    pair.to.fill(&shared.to, shared)?;
    let any = !pair.to.read.is_empty();
    for to in pair.to.read.drain(..) {
        let from = loop {
            pair.from.fill(&shared.from, shared)?;
            match pair.from.read.pop_front() {
                Some(from) if from.place() < to.place() => {}
                found => break found.filter(|from| from.place() == to.place()),
            }
        };
        let has = |task: &str, index: i64| {
            from.iter().flat_map(|from| &from.writes).any(|write| (&*write.task, write.index) == (task, index))
        };
        if !to.writes.iter().all(|write| has(&write.task, write.index)) {
            return Err(foreign(&to.named(), "the source does not have them"));
        }
        mark.done.writes += to.writes.len() as u64;
    }
    Ok(any)
}

fn foreign(item: &str, what: &str) -> Error {
    let message = format!(
        "the destination of the copy is not empty, and it is no earlier copy of the source: {item}: {what}. Give an empty \
         destination. Nothing was copied"
    );
    Error::new(Code::Conflict, message)
}
