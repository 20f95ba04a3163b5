//! Brings the logs of the destination to the records that a checkpoint names, or that a log has now.
//!
//! The records of a log that a checkpoint names are often the beginning of another log, or of the same log at another
//! time. [`Query::LogRuns`] says which records two logs share, without reading them. So each record is copied once: the
//! log goes back to a checkpoint that shares most of its records, and the rest is appended.

use std::collections::HashMap;

use super::mark::{Mark, Partial};
use super::page::Page;
use super::shared::{Shared, changed};
use crate::error::{Result, quote};
use crate::op::{LogEnd, Op};
use crate::query::{LogRange, LogSide, Of, Query};
use crate::record::{ContractId, LogRun};

/// The number of records to compare at once.
pub(super) const RECORDS: usize = 256;

/// The number of logs whose state is remembered. Forgetting a state costs time and shared records, and nothing else.
const MOST_LOGS: usize = 20_000;

/// The number of checkpoints that are looked up to learn the state of a log.
const MOST_CHECKPOINTS: usize = 32;

/// The number of branches of a log that are remembered.
const MOST_BRANCHES: usize = 1024;

/// The name of a log: the contract, the lineage and the log.
type Name = (ContractId, String, String);

/// What is known about the logs of the destination.
#[derive(Default)]
pub(super) struct Logs {
    states: HashMap<Name, State>,
    /// The number of records to read at once. It follows from the size of the records that were read.
    records: usize,
}

#[derive(Default)]
struct State {
    /// The records of the log, as runs of the source. `None`: they are not known.
    head: Option<Vec<LogRun>>,
    /// The checkpoints of the destination that name records of a branch of the source.
    anchors: HashMap<i64, Anchor>,
}

/// A checkpoint to which a log can go back.
#[derive(Clone)]
struct Anchor {
    id: String,
    /// The position up to which the checkpoint names the records of the branch.
    to: u64,
    /// The number of records that the checkpoint names.
    length: u64,
}

/// The records that a log must get.
pub(super) struct Wanted<'a> {
    pub(super) contract: ContractId,
    pub(super) lineage: &'a str,
    pub(super) log: &'a str,
    /// The checkpoint that names the records. `None`: the log has them now.
    pub(super) at: Option<&'a str>,
    pub(super) runs: &'a [LogRun],
}

impl Wanted<'_> {
    fn name(&self) -> Name {
        (self.contract, self.lineage.to_owned(), self.log.to_owned())
    }

    fn is(&self, partial: &Partial) -> bool {
        (ContractId(partial.contract), &*partial.lineage, &*partial.log) == (self.contract, self.lineage, self.log)
            && partial.at.as_deref() == self.at
    }

    fn truncate(&self, to: LogEnd) -> Op {
        let (contract, lineage, log) = self.name();
        Op::Truncate { contract, lineage, log, to }
    }
}

impl Logs {
    /// Remembers that a log was begun with these records.
    pub(super) fn begun(&mut self, contract: ContractId, lineage: &str, log: &str, runs: &[LogRun]) {
        let state = State { head: Some(runs.to_vec()), anchors: HashMap::new() };
        self.states.insert((contract, lineage.to_owned(), log.to_owned()), state);
    }

    /// Remembers that a checkpoint of the destination names these records.
    pub(super) fn named(&mut self, wanted: &Wanted<'_>) {
        if let (Some(id), Some(state)) = (wanted.at, self.states.get_mut(&wanted.name())) {
            state.anchor(id, wanted.runs);
        }
    }

    /// Adds the ops that bring a log to the wanted records. A log that only has more records at its end may stay as it is
    /// if a checkpoint names the records. Returns false if the page is full before the log has all records. Then the next
    /// page goes on with the same call.
    pub(super) fn bring(
        &mut self,
        shared: &Shared,
        (page, mark): (&mut Page, &mut Mark),
        wanted: &Wanted<'_>,
    ) -> Result<bool> {
        let wanted_length = length(wanted.runs);
        let state = self.state(shared, mark, wanted)?;
        let anchor = state.best_anchor(wanted.runs);
        let anchored = anchor.as_ref().map_or(0, |(_, common)| *common);
        let from = match &state.head {
            Some(head) if common(head, wanted.runs) >= anchored => {
                let (common, head_length) = (common(head, wanted.runs), length(head));
                let is_longer = head_length > common && (common < wanted_length || wanted.at.is_none());
                if is_longer {
                    page.push(wanted.truncate(LogEnd::Length(common)));
                } else if common == wanted_length {
                    return Ok(true);
                }
                common
            }
            _ => {
                if let Some((Anchor { id, .. }, _)) = &anchor {
                    page.push(wanted.truncate(LogEnd::Checkpoint(id.clone())));
                }
                if anchor.as_ref().is_none_or(|(anchor, common)| anchor.length > *common) {
                    page.push(wanted.truncate(LogEnd::Length(anchored)));
                }
                anchored
            }
        };
        let to = self.append(shared, page, mark, wanted, from)?;
        if let Some(state) = self.states.get_mut(&wanted.name()) {
            state.head = Some(cut(wanted.runs, to));
        }
        let (contract, lineage, log) = wanted.name();
        let (contract, at) = (contract.0, wanted.at.map(str::to_owned));
        mark.partial = (to < wanted_length).then_some(Partial { contract, lineage, log, at, length: to });
        Ok(to == wanted_length)
    }

    /// Appends the wanted records from a position on, until the page is full. Returns the position after them.
    fn append(
        &mut self,
        shared: &Shared,
        page: &mut Page,
        mark: &mut Mark,
        wanted: &Wanted<'_>,
        from: u64,
    ) -> Result<u64> {
        let mut position = from;
        while position < length(wanted.runs) && !page.is_full(shared) {
            let (contract, lineage, log) = wanted.name();
            let range = LogRange {
                contract,
                lineage: lineage.clone(),
                log: log.clone(),
                at: wanted.at.map(str::to_owned),
                from: LogSide::First,
                skip: position,
                limit: usize::try_from(length(wanted.runs) - position).unwrap_or(usize::MAX).min(self.records.max(16)),
            };
            let found = shared.from.ask(Query::Log(range))?.into_log()?.unwrap_or_default();
            if found.records.is_empty() || found.start != position {
                return Err(changed(&format!("log {} of {}", quote(wanted.log), quote(wanted.lineage))));
            }
            let size = found.records.iter().map(|record| record.bytes.len()).sum::<usize>();
            self.records = (shared.options.page_bytes / (64 + size / found.records.len())).clamp(1, 4096);
            let count = found.records.len() as u64;
            mark.done.records += count;
            mark.done.bytes += size as u64;
            page.push(Op::Append {
                contract,
                lineage: lineage.clone(),
                log: log.clone(),
                records: found.records,
                expect: Some(position),
            });
            position += count;
        }
        Ok(position)
    }

    /// The state of a log. If it is not known, finds out what is needed to share records.
    fn state(&mut self, shared: &Shared, mark: &mut Mark, wanted: &Wanted<'_>) -> Result<&mut State> {
        let name = wanted.name();
        if self.states.len() > MOST_LOGS {
            self.states.clear();
        }
        if !self.states.contains_key(&name) {
            let partial = mark.partial.take_if(|partial| wanted.is(partial));
            let mut state = State::look_up(shared, partial, wanted)?;
            if state.head.is_none() && mark.existing.is_some() {
                state.head = head_of_earlier_copy(shared, wanted)?;
            }
            self.states.insert(name.clone(), state);
        }
        Ok(self.states.entry(name).or_default())
    }
}

/// The records that a log has of an earlier copy, as runs of the source. `None`: they are not the beginning of the log that
/// the source has now.
fn head_of_earlier_copy(shared: &Shared, wanted: &Wanted<'_>) -> Result<Option<Vec<LogRun>>> {
    let (contract, lineage, log) = wanted.name();
    let runs = Query::LogRuns { contract, lineage, log, at: None };
    let there = length(&shared.to.ask(runs.clone())?.into_log_runs()?);
    let runs = shared.from.ask(runs)?.into_log_runs()?;
    let (contract, lineage, log) = wanted.name();
    let begins = begins_with(shared, (contract, &lineage, &log), there)?;
    Ok((there <= length(&runs) && begins).then(|| cut(&runs, there)))
}

/// Returns true if a log of the source begins with the records that the destination has.
pub(super) fn begins_with(
    shared: &Shared,
    (contract, lineage, log): (ContractId, &str, &str),
    there: u64,
) -> Result<bool> {
    let mut position = 0;
    while position < there {
        let range = LogRange {
            contract,
            lineage: lineage.to_owned(),
            log: log.to_owned(),
            at: None,
            from: LogSide::First,
            skip: position,
            limit: usize::try_from(there - position).unwrap_or(RECORDS).min(RECORDS),
        };
        let theirs = shared.to.request(Query::Log(range.clone()));
        let ours = shared.from.ask(Query::Log(range))?.into_log()?.unwrap_or_default().records;
        if ours.is_empty() || ours != theirs.wait()?.into_log()?.unwrap_or_default().records {
            return Ok(false);
        }
        position += ours.len() as u64;
    }
    Ok(true)
}

impl State {
    fn look_up(shared: &Shared, partial: Option<Partial>, wanted: &Wanted<'_>) -> Result<Self> {
        let mut state = Self::default();
        let (contract, lineage, log) = wanted.name();
        if let Some(partial) = partial {
            state.head = Some(cut(wanted.runs, partial.length));
        }
        let (of, limit) = (Of::Lineage(lineage.clone()), Some(MOST_CHECKPOINTS));
        let found = shared.to.ask(Query::List { contract, of, before: None, limit })?.into_headers()?;
        let runs =
            |id: &String| Query::LogRuns { contract, lineage: lineage.clone(), log: log.clone(), at: Some(id.clone()) };
        let ids: Vec<String> = found.into_iter().map(|header| header.id).collect();
        let both = [&shared.from, &shared.to].map(|side| side.ask_all(ids.iter().map(runs).collect()));
        let [from, to] = both;
        for ((id, from), to) in ids.iter().zip(from?).zip(to?) {
            let (from, to) = (from.into_log_runs()?, to.into_log_runs()?);
            // The source may have saved the checkpoint again, with another log.
            if length(&from) == length(&to) {
                state.anchor(id, &from);
            }
        }
        Ok(state)
    }

    fn anchor(&mut self, id: &str, runs: &[LogRun]) {
        if self.anchors.len() >= MOST_BRANCHES {
            self.anchors.clear();
        }
        let length = length(runs);
        for run in runs {
            let anchor = Anchor { id: id.to_owned(), to: run.to, length };
            let known = self.anchors.entry(run.branch).or_insert_with(|| anchor.clone());
            if known.to < run.to {
                *known = anchor;
            }
        }
    }

    /// The checkpoint that names most of the records, and how many of them.
    fn best_anchor(&self, runs: &[LogRun]) -> Option<(Anchor, u64)> {
        let run = runs.iter().rev().find(|run| self.anchors.contains_key(&run.branch))?;
        let anchor = self.anchors.get(&run.branch)?.clone();
        let common = anchor.to.min(run.to);
        Some((anchor, common))
    }
}

/// The number of records that two logs share from their beginning.
pub(super) fn common(a: &[LogRun], b: &[LogRun]) -> u64 {
    let mut shared = 0;
    for (a, b) in a.iter().zip(b) {
        if a.branch != b.branch {
            break;
        }
        shared = a.to.min(b.to);
        if a.to != b.to {
            break;
        }
    }
    shared
}

/// The number of records of a log.
pub(super) fn length(runs: &[LogRun]) -> u64 {
    runs.last().map_or(0, |run| run.to)
}

/// The first records of a log.
fn cut(runs: &[LogRun], length: u64) -> Vec<LogRun> {
    let mut start = 0;
    let mut first = Vec::new();
    for run in runs {
        if start < length {
            first.push(LogRun { branch: run.branch, to: run.to.min(length) });
        }
        start = run.to;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(i64, u64)]) -> Vec<LogRun> {
        runs.iter().map(|(branch, to)| LogRun { branch: *branch, to: *to }).collect()
    }

    #[test]
    fn two_logs_share_the_branches_that_both_have() {
        let trunk = runs(&[(1, 5), (2, 9)]);
        for (other, shared) in [
            (&[][..], 0),
            (&[(3, 4)], 0),
            (&[(1, 3)], 3),
            (&[(1, 5)], 5),
            (&[(1, 7)], 5),
            (&[(1, 4), (2, 9)], 4),
            (&[(1, 5), (2, 8), (3, 9)], 8),
            (&[(1, 5), (2, 12)], 9),
        ] {
            assert_eq!((common(&trunk, &runs(other)), common(&runs(other), &trunk)), (shared, shared), "{other:?}");
        }
    }

    #[test]
    fn the_first_records_are_those_of_the_first_runs() {
        let trunk = runs(&[(1, 5), (2, 9)]);
        for (length, first) in [(0, &[][..]), (4, &[(1, 4)]), (5, &[(1, 5)]), (6, &[(1, 5), (2, 6)])] {
            assert_eq!(cut(&trunk, length), runs(first));
        }
    }

    #[test]
    fn the_checkpoint_with_the_last_branch_names_most() {
        let mut state = State::default();
        state.anchor("a", &runs(&[(1, 5)]));
        state.anchor("b", &runs(&[(1, 3), (2, 9)]));
        state.anchor("c", &runs(&[(1, 3), (2, 7), (3, 20)]));
        let best = |wanted| state.best_anchor(&runs(wanted)).map(|(anchor, common)| (anchor.id, anchor.length, common));
        assert_eq!(best(&[(1, 4)]), Some(("a".to_owned(), 5, 4)));
        assert_eq!(best(&[(1, 3), (2, 12)]), Some(("b".to_owned(), 9, 9)));
        assert_eq!(best(&[(1, 3), (2, 8), (4, 9)]), Some(("b".to_owned(), 9, 8)));
        assert_eq!(best(&[(9, 9)]), None);
    }
}
