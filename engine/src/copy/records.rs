//! Compares the records of logs. [`Query::LogRuns`] tells which records two logs share, without reading them.

use std::collections::HashMap;

use super::shared::{Counts, Shared};
use super::side::Name;
use crate::error::Result;
use crate::query::{LogRange, LogSide, Query};
use crate::record::LogRun;

/// The number of records that are compared in one step.
const RECORDS: usize = 256;

/// The maximum number of branch pairs whose comparison is remembered. Beyond that, some records are compared twice.
const MOST_PAIRS: usize = 1 << 20;

/// A log that both stores have: the lineage, the log, and the checkpoint that names the records. Without a checkpoint,
/// the current log.
pub(super) type Log<'a> = (&'a Name, &'a str, Option<&'a str>);

/// The compared records. For each pair of a source branch and a destination branch: the range of positions with equal
/// records, with an exclusive end.
#[derive(Default)]
pub(super) struct Compared(HashMap<(i64, i64), (u64, u64)>);

impl Compared {
    /// Returns true if a log of the source begins with the records of a log of the destination. Records are compared
    /// only once, even if several logs share them.
    pub(super) fn begins_with(
        &mut self,
        shared: &Shared,
        counts: &mut Counts,
        log: Log<'_>,
        (from, to): (&[LogRun], &[LogRun]),
    ) -> Result<bool> {
        if length(from) < length(to) {
            return Ok(false);
        }
        if self.0.len() > MOST_PAIRS {
            self.0.clear();
        }
        for (pair, start, end) in segments(&cut(from, length(to)), to) {
            let known = self.0.get(&pair).copied();
            let mut position = match known {
                Some((first, last)) if first <= start => start.max(last),
                _ => start,
            };
            while position < end {
                let Some((records, bytes)) = equal_records(shared, log, log, position, end)? else {
                    return Ok(false);
                };
                position += records;
                counts.records += records;
                counts.bytes += bytes;
            }
            let known = self.0.entry(pair).or_insert((start, end));
            if known.0 <= start && start <= known.1 {
                known.1 = known.1.max(end);
            } else {
                *known = (start, end);
            }
        }
        Ok(true)
    }
}

/// Returns true if a log of the source begins with the current records of a log of the destination.
pub(super) fn begins_with(shared: &Shared, from: Log<'_>, lineage: &Name, there: u64) -> Result<bool> {
    let mut position = 0;
    while position < there {
        let to = (lineage, from.1, None);
        let Some((records, _)) = equal_records(shared, from, to, position, there)? else { return Ok(false) };
        position += records;
    }
    Ok(true)
}

/// Compares a page of records. Returns the number of equal records, and their size. `None`: they differ.
fn equal_records(shared: &Shared, from: Log<'_>, to: Log<'_>, position: u64, end: u64) -> Result<Option<(u64, u64)>> {
    let range = |((contract, lineage), log, at): Log<'_>| LogRange {
        contract: *contract,
        lineage: lineage.clone(),
        log: log.to_owned(),
        at: at.map(str::to_owned),
        from: LogSide::First,
        skip: position,
        limit: usize::try_from(end - position).unwrap_or(RECORDS).min(RECORDS),
    };
    let theirs = shared.to.request(Query::Log(range(to)));
    let ours = shared.from.ask(Query::Log(range(from)))?.into_log()?.unwrap_or_default().records;
    let theirs = theirs.wait()?.into_log()?.unwrap_or_default().records;
    let bytes = ours.iter().map(|record| record.bytes.len() as u64).sum();
    Ok((ours == theirs && !ours.is_empty()).then_some((ours.len() as u64, bytes)))
}

/// Splits two logs of the same length at the ends of all their stretches. Returns the branches and the positions of
/// each segment.
fn segments(from: &[LogRun], to: &[LogRun]) -> Vec<((i64, i64), u64, u64)> {
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    let (mut start, mut found) = (0, Vec::new());
    while let (Some(a), Some(b)) = (from.peek(), to.peek()) {
        let (pair, a_end, b_end) = ((a.branch, b.branch), a.to, b.to);
        let end = a_end.min(b_end);
        found.push((pair, start, end));
        if a_end == end {
            from.next();
        }
        if b_end == end {
            to.next();
        }
        start = end;
    }
    found
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
pub(super) fn cut(runs: &[LogRun], length: u64) -> Vec<LogRun> {
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
    fn segments_end_where_a_run_of_either_log_ends() {
        let found = segments(&runs(&[(1, 5), (2, 9)]), &runs(&[(7, 3), (8, 5), (9, 9)]));
        assert_eq!(found, [((1, 7), 0, 3), ((1, 8), 3, 5), ((2, 9), 5, 9)]);
        assert_eq!(segments(&[], &[]), []);
    }
}
