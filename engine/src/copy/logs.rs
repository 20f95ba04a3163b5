//! Gives the logs of the destination the records of a checkpoint's log, or of a current log.
//!
//! The records of a log that a checkpoint names are often the beginning of another log, or of the same log at another
//! time. [`Query::LogRuns`] tells which records two logs share, without reading them. Each record is copied once: the
//! log is rewound to a checkpoint that shares most of its records, and the rest is appended.

use std::collections::HashMap;

use super::page::Page;
use super::records::{begins_with, common, cut, length};
use super::shared::{Shared, changed};
use super::side::{Name, Side, log_runs};
use crate::error::{Result, quote};
use crate::op::{LogEnd, LogMust, Op};
use crate::query::{LogRange, LogSide, Of, Query};
use crate::record::{LogRun, Origin};

/// The maximum number of logs whose state is remembered. Forgetting a state only costs time and shared records.
const MOST_LOGS: usize = 20_000;

/// The maximum number of checkpoints to look up for the state of a log.
const MOST_CHECKPOINTS: usize = 32;

/// The maximum number of branches of a log that are remembered.
const MOST_BRANCHES: usize = 1024;

/// The name of a log: the lineage and the log.
type LogName = (Name, String);

/// The states of the destination's logs, as far as known.
#[derive(Default)]
pub(super) struct Logs {
    states: HashMap<LogName, State>,
    /// True if the destination was not empty, so that its logs may have records that this copy has not appended.
    existing: bool,
    /// The number of records in one read. Depends on the size of the records so far.
    records: usize,
}

#[derive(Default)]
struct State {
    /// The records of the log, as stretches of the source. `None`: unknown.
    head: Option<Vec<LogRun>>,
    /// For each branch of the source, a checkpoint of the destination that names records of the branch.
    anchors: HashMap<i64, Anchor>,
}

/// A checkpoint to which a log can be rewound.
#[derive(Clone)]
struct Anchor {
    id: String,
    /// The position in the branch at which the checkpoint's records end.
    to: u64,
    /// The number of records that the checkpoint names.
    length: u64,
}

/// The records that a log must get.
pub(super) struct Wanted<'a> {
    pub(super) lineage: &'a Name,
    pub(super) log: &'a str,
    /// The checkpoint that names the records. `None`: they are the current log.
    pub(super) at: Option<&'a str>,
    pub(super) runs: &'a [LogRun],
}

impl Wanted<'_> {
    fn name(&self) -> LogName {
        (self.lineage.clone(), self.log.to_owned())
    }

    fn truncate(&self, to: LogEnd) -> Op {
        let ((contract, lineage), log) = self.name();
        Op::Truncate { contract, lineage, log, to }
    }
}

impl Logs {
    pub(super) fn new(existing: bool) -> Self {
        Self { existing, ..Self::default() }
    }

    /// Remembers that a new log has these records.
    pub(super) fn begun(&mut self, lineage: &Name, log: &str, runs: &[LogRun]) {
        let state = State { head: Some(runs.to_vec()), anchors: HashMap::new() };
        self.states.insert((lineage.clone(), log.to_owned()), state);
    }

    /// Remembers that a checkpoint of the destination names these records.
    pub(super) fn named(&mut self, wanted: &Wanted<'_>) {
        if let (Some(id), Some(state)) = (wanted.at, self.states.get_mut(&wanted.name())) {
            state.anchor(id, wanted.runs);
        }
    }

    /// Adds the ops that give a log the wanted records. If a checkpoint names the records, the log may have further
    /// records at its end. Returns false if the page is full too early. The next page then continues with the same
    /// call.
    pub(super) fn bring(&mut self, shared: &Shared, page: &mut Page, wanted: &Wanted<'_>) -> Result<bool> {
        let wanted_length = length(wanted.runs);
        let state = self.state(shared, wanted)?;
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
        let to = self.append(shared, page, wanted, from)?;
        if let Some(state) = self.states.get_mut(&wanted.name()) {
            state.head = Some(cut(wanted.runs, to));
        }
        Ok(to == wanted_length)
    }

    /// Appends the wanted records from a position on, until the page is full. Returns the next position.
    fn append(&mut self, shared: &Shared, page: &mut Page, wanted: &Wanted<'_>, from: u64) -> Result<u64> {
        let mut position = from;
        while position < length(wanted.runs) && !page.is_full(shared) {
            let ((contract, lineage), log) = wanted.name();
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
                return Err(changed(&format!("log {} of {}", quote(wanted.log), quote(&lineage))));
            }
            let size = found.records.iter().map(|record| record.bytes.len()).sum::<usize>();
            self.records = (shared.options.page_bytes / (64 + size / found.records.len())).clamp(1, 4096);
            let count = found.records.len() as u64;
            page.counts.records += count;
            page.counts.bytes += size as u64;
            page.push(Op::Append {
                contract,
                lineage,
                log,
                records: found.records,
                must: LogMust::HaveLength(position),
            });
            position += count;
        }
        Ok(position)
    }

    /// Returns the state of a log. If it is unknown, determines it as far as sharing records requires.
    fn state(&mut self, shared: &Shared, wanted: &Wanted<'_>) -> Result<&mut State> {
        let name = wanted.name();
        if self.states.len() > MOST_LOGS {
            self.states.clear();
        }
        if !self.states.contains_key(&name) {
            let mut state = State::look_up(shared, wanted)?;
            if self.existing {
                state.head = head_of(shared, wanted.lineage, wanted.log)?;
            }
            self.states.insert(name.clone(), state);
        }
        Ok(self.states.entry(name).or_default())
    }
}

/// The records of a log of the destination, as stretches of the source. An interrupted copy leaves the first records of
/// the source's log, or of a log that one of its checkpoints or its origin names. `None`: other records.
pub(super) fn head_of(shared: &Shared, lineage: &Name, log: &str) -> Result<Option<Vec<LogRun>>> {
    let there = length(&shared.to.log_runs(lineage, log, None)?);
    let runs = shared.from.log_runs(lineage, log, None)?;
    let begins = begins_with(shared, (lineage, log, None), lineage, there.min(length(&runs)))?;
    if begins && there <= length(&runs) {
        return Ok(Some(cut(&runs, there)));
    }
    let named = named_runs(&shared.from, lineage, log, None)?.into_iter();
    let mut candidates: Vec<(Name, String, Vec<LogRun>)> =
        named.map(|(id, runs)| (lineage.clone(), id, runs)).collect();
    let first = shared.from.start(lineage)?.and_then(|start| start.first);
    if let Some(Origin { id, lineage: Some(name), .. }) = first.and_then(|first| first.origin) {
        let origin = (lineage.0, name);
        let runs = shared.from.log_runs(&origin, log, Some(&id))?;
        candidates.push((origin, id, runs));
    }
    let mut seen: Vec<Vec<LogRun>> = Vec::new();
    for (of, id, runs) in candidates {
        let runs = cut(&runs, there);
        if length(&runs) == there && !seen.contains(&runs) {
            if begins_with(shared, (&of, log, Some(&id)), lineage, there)? {
                return Ok(Some(runs));
            }
            seen.push(runs);
        }
    }
    Ok(None)
}

/// The newest checkpoints of a lineage, and the stretches of the records that each of them names.
fn named_runs(side: &Side, lineage: &Name, log: &str, limit: Option<usize>) -> Result<Vec<(String, Vec<LogRun>)>> {
    let (contract, of) = (lineage.0, Of::Lineage(lineage.1.clone()));
    let found = side.ask(Query::List { contract, of, before: None, limit })?.into_headers()?;
    let ids: Vec<String> = found.into_iter().map(|header| header.id).collect();
    let answers = side.ask_all(ids.iter().map(|id| log_runs(lineage, log, Some(id))).collect())?;
    ids.into_iter().zip(answers).map(|(id, runs)| Ok((id, runs.into_log_runs()?))).collect()
}

impl State {
    fn look_up(shared: &Shared, wanted: &Wanted<'_>) -> Result<Self> {
        let mut state = Self::default();
        let named = named_runs(&shared.to, wanted.lineage, wanted.log, Some(MOST_CHECKPOINTS))?;
        let queries = named.iter().map(|(id, _)| log_runs(wanted.lineage, wanted.log, Some(id)));
        let answers = shared.from.ask_all(queries.collect())?;
        for ((id, to), from) in named.into_iter().zip(answers) {
            let from = from.into_log_runs()?;
            // The source may have saved the checkpoint again, with another log.
            if length(&from) == length(&to) {
                state.anchor(&id, &from);
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

    /// The checkpoint that names the most of these records, and their number.
    fn best_anchor(&self, runs: &[LogRun]) -> Option<(Anchor, u64)> {
        let run = runs.iter().rev().find(|run| self.anchors.contains_key(&run.branch))?;
        let anchor = self.anchors.get(&run.branch)?.clone();
        let common = anchor.to.min(run.to);
        Some((anchor, common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(i64, u64)]) -> Vec<LogRun> {
        runs.iter().map(|(branch, to)| LogRun { branch: *branch, to: *to }).collect()
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
