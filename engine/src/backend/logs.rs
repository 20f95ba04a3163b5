//! Logs are persistent lists of records. This module implements them over the rows of a backend.
//!
//! Records are stored in *branches*. A branch is a stretch of records without gaps. It continues after its parent, an
//! [`End`] in another branch. There are three kinds of ends: the end of a log, the mark of a checkpoint, and the parent
//! of a branch. To read the records up to an end, first read the records of its branch below its length. Then read the
//! records up to the parent of this branch in the same way.
//!
//! Records below an end never change, so several ends can share them. If a log ends at the last record of its branch,
//! an append extends the branch; otherwise it begins a new branch. A branch has no records after its last end, because
//! code that moves or removes an end calls [`free`] for the branch.
//!
//! A log without records is the same as no log.

use std::collections::{BTreeSet, HashSet};

use crate::error::{Code, Error, Result};
use crate::op::{Appended, LogMust};
use crate::query::LogRange;
use crate::record::{ContractId, Header, LogMark, LogPage, LogPin, LogRun, Record, Seq};

/// The number of a branch. Numbers are never reused, so an old reference cannot find a wrong branch.
pub(crate) type BranchId = i64;

/// A position in a branch, directly after the record at position `length - 1`. This record is in the branch itself, not
/// in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) branch: BranchId,
    /// The number of records up to this end, including the records of the parent branches. Never 0.
    pub(crate) length: u64,
}

/// A stretch of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The contract that the records belong to. All ends in a branch belong to this contract.
    pub(crate) contract: ContractId,
    /// The end after which the branch continues. `None` means that the branch starts at position 0.
    pub(crate) parent: Option<End>,
}

impl Branch {
    /// The position of the branch's first record.
    pub(crate) fn start(&self) -> u64 {
        length(self.parent)
    }
}

/// A log that a checkpoint names, and the end of the log when the checkpoint was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) log: String,
    /// The end of the log. `None` means that the log had no records.
    pub(crate) end: Option<End>,
}

impl Mark {
    /// The mark in the form that callers see.
    pub(crate) fn shown(&self) -> LogMark {
        LogMark { log: self.log.clone(), length: length(self.end) }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LogName<'a> {
    pub(crate) contract: ContractId,
    /// The lineage's number in the backend.
    pub(crate) lin: i64,
    /// The lineage's name, for messages.
    pub(crate) lineage: &'a str,
    pub(crate) log: &'a str,
}

/// The branches with their records.
pub(crate) trait Branches {
    /// A branch. `None` means that there is no such branch.
    fn branch(&self, id: BranchId) -> Result<Option<Branch>>;
    /// Returns the records of a branch from position `from` to position `to` (exclusive), in order. Missing records
    /// are skipped. A sealed record of more than `largest` bytes gives `UNSUPPORTED`.
    fn read(&self, id: BranchId, from: u64, to: u64, largest: usize) -> Result<Vec<Record>>;
}

/// The log data that a backend stores: the logs, the branches, the records and the marks of checkpoints.
pub(crate) trait LogRows: Branches {
    /// The end of a log. `None` means that there is no such log.
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>>;
    /// Returns all logs of a lineage with their ends, sorted by name.
    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>>;
    /// Sets the end of a log. Creates the log if it does not exist.
    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()>;
    /// Removes a log, if it exists. [`free`] removes its records later.
    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()>;
    /// Creates a branch without records.
    fn create_branch(&mut self, branch: Branch) -> Result<BranchId>;
    /// Removes a branch that has no records and no ends.
    fn remove_branch(&mut self, id: BranchId) -> Result<()>;
    /// The greatest length of all ends in a branch. These are the ends of logs, the marks of checkpoints, and the
    /// parents of other branches. Returns `None` if the branch has no ends.
    fn needed(&self, id: BranchId) -> Result<Option<u64>>;
    /// The position after the branch's last record. `None` means that the branch has no records.
    fn tip(&self, id: BranchId) -> Result<Option<u64>>;
    /// [`LogRows::head`] with [`LogRows::tip`] of its branch.
    fn head_with_tip(&self, lin: i64, log: &str) -> Result<(Option<End>, Option<u64>)> {
        let head = self.head(lin, log)?;
        Ok((head, head.map(|head| self.tip(head.branch)).transpose()?.flatten()))
    }
    /// Adds records at the end of a branch. `at` is the position after the branch's last record.
    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()>;
    /// Removes the records of a branch at position `from` and after it.
    fn cut(&mut self, id: BranchId, from: u64) -> Result<()>;
    /// Returns which of these keys are keys of records before position `below` in the branch.
    fn with_keys<'k>(&self, id: BranchId, below: u64, keys: &[&'k str]) -> Result<HashSet<&'k str>>;
    /// Stores that the checkpoint has a mark that ends at `end`.
    fn hold(&mut self, seq: Seq, end: End) -> Result<()>;
    /// Removes the row that [`LogRows::hold`] stored.
    fn let_go(&mut self, seq: Seq, end: End) -> Result<()>;
}

/// Returns the branches and all their ancestors: together they have all records up to the ends in `branches`.
pub(crate) fn with_ancestors(
    branches: impl IntoIterator<Item = BranchId>,
    mut parent_of: impl FnMut(BranchId) -> Result<Option<BranchId>>,
) -> Result<BTreeSet<BranchId>> {
    let mut all = BTreeSet::new();
    for branch in branches {
        let mut next = Some(branch);
        while let Some(branch) = next.filter(|branch| all.insert(*branch)) {
            next = parent_of(branch)?;
        }
    }
    Ok(all)
}

/// Appends records. See [`Op::Append`](crate::op::Op::Append).
pub(crate) fn append(rows: &mut impl LogRows, of: LogName<'_>, records: &[Record], must: LogMust) -> Result<Appended> {
    in_log(of.lineage, of.log, || {
        let (head, tip) = rows.head_with_tip(of.lin, of.log)?;
        let before = length(head);
        let conflict = |what: &str| {
            let message = format!("log {:?} of {:?} {what}: read the log again and retry", of.log, of.lineage);
            Err(Error::new(Code::Conflict, message))
        };
        match must {
            LogMust::HaveLength(expected) if expected != before => {
                return conflict(&format!("has {before} records, not {expected} as expected"));
            }
            _ => {}
        }
        let (fresh, left_out) = without_repeated(rows, head, records)?;
        if must == LogMust::LackTheKeys && !left_out.is_empty() {
            return conflict("already has some of the keys");
        }
        let after = before + fresh.len() as u64;
        if !fresh.is_empty() {
            let branch = writable(rows, of.contract, head, tip)?;
            rows.push(branch, before, &fresh)?;
            rows.set_head(of.lin, of.log, End { branch, length: after })?;
        }
        Ok(Appended { length: after, left_out })
    })
}

/// Returns the records whose keys are not in the log yet, and the indexes of the other records.
fn without_repeated<'r>(
    rows: &impl LogRows,
    head: Option<End>,
    records: &'r [Record],
) -> Result<(Vec<&'r Record>, Vec<usize>)> {
    let keys: Vec<&str> = records.iter().filter_map(|record| record.key.as_deref()).collect();
    let mut seen = HashSet::new();
    for run in if keys.is_empty() { Vec::new() } else { runs(rows, head, 0)? } {
        seen.extend(rows.with_keys(run.branch, run.to, &keys)?);
    }
    let (mut fresh, mut left_out) = (Vec::with_capacity(records.len()), Vec::new());
    for (at, record) in records.iter().enumerate() {
        if record.key.as_deref().is_none_or(|key| seen.insert(key)) {
            fresh.push(record);
        } else {
            left_out.push(at);
        }
    }
    Ok((fresh, left_out))
}

/// Returns the branch to append to: the log's own branch if the log ends at its last record, and otherwise a new
/// branch.
fn writable(rows: &mut impl LogRows, contract: ContractId, head: Option<End>, tip: Option<u64>) -> Result<BranchId> {
    let Some(End { branch, length }) = head else { return rows.create_branch(Branch { contract, parent: None }) };
    match tip {
        Some(tip) if tip == length => Ok(branch),
        Some(tip) if tip > length => rows.create_branch(Branch { contract, parent: head }),
        _ => Err(corrupt("its last records are missing")),
    }
}

/// Shortens a log to its first `to` records.
pub(crate) fn truncate(rows: &mut impl LogRows, of: LogName<'_>, to: u64) -> Result<()> {
    in_log(of.lineage, of.log, || match rows.head(of.lin, of.log)? {
        Some(head) if to < head.length => {
            let end = end_at(rows, head, to)?;
            move_head(rows, of, end)
        }
        _ => Ok(()),
    })
}

/// Moves the end of a log to a checkpoint's mark. `marks` are the marks of the checkpoint. `id` is the checkpoint's id
/// for error messages.
pub(crate) fn rewind(rows: &mut impl LogRows, of: LogName<'_>, id: &str, marks: &[Mark]) -> Result<()> {
    let Some(mark) = marks.iter().find(|mark| mark.log == of.log) else {
        let message = format!(
            "checkpoint {id:?} does not name log {:?} of {:?}: truncate the log to a length, or rewind to a checkpoint that names the log",
            of.log, of.lineage
        );
        return Err(Error::new(Code::NotFound, message));
    };
    in_log(of.lineage, of.log, || move_head(rows, of, mark.end))
}

/// The error of [`rewind`] for a checkpoint that does not exist or belongs to another lineage.
pub(crate) fn no_such_checkpoint(lineage: &str, log: &str, id: &str) -> Error {
    let message = format!("log {log:?} of {lineage:?} cannot be rewound: there is no checkpoint {id:?} in {lineage:?}");
    Error::new(Code::NotFound, message)
}

fn move_head(rows: &mut impl LogRows, of: LogName<'_>, end: Option<End>) -> Result<()> {
    let head = rows.head(of.lin, of.log)?;
    match end {
        Some(end) => rows.set_head(of.lin, of.log, end)?,
        None => rows.remove_head(of.lin, of.log)?,
    }
    free(rows, head.into_iter().map(|head| head.branch))
}

pub(crate) fn remove_all(rows: &mut impl LogRows, lin: i64) -> Result<()> {
    let heads = rows.heads(lin)?;
    for (log, _) in &heads {
        rows.remove_head(lin, log)?;
    }
    free(rows, heads.iter().map(|(_, head)| head.branch))
}

/// Returns the marks of a new checkpoint. `lin` is the number of its lineage, or `None` if the lineage does not exist.
/// The caller must then call [`hold`] for these marks, and add the checkpoint's id to an error.
pub(crate) fn pin(rows: &impl LogRows, lin: Option<i64>, header: &Header, pins: &[LogPin]) -> Result<Vec<Mark>> {
    let mut marks: Vec<Mark> = Vec::with_capacity(pins.len());
    for LogPin { log, length: wanted } in pins {
        if marks.iter().any(|mark| mark.log == *log) {
            return Err(Error::invalid(format!("it names log {log:?} twice: name it once")));
        }
        let head = match lin {
            Some(lin) => rows.head(lin, log)?,
            None => None,
        };
        let end = match (head, *wanted) {
            (head, None) => head,
            (Some(head), Some(wanted)) if wanted <= head.length => {
                in_log(&header.lineage, log, || end_at(rows, head, wanted))?
            }
            (None, Some(0)) => None,
            (head, Some(wanted)) => {
                let message = format!(
                    "it names the first {wanted} records of log {log:?} of {:?}, which has only {}: append the missing records first",
                    header.lineage,
                    length(head)
                );
                return Err(Error::invalid(message));
            }
        };
        marks.push(Mark { log: log.clone(), end });
    }
    Ok(marks)
}

/// Protects the records that the marks of a checkpoint name from removal, until [`release`] is called.
pub(crate) fn hold(rows: &mut impl LogRows, seq: Seq, marks: &[Mark]) -> Result<()> {
    marks.iter().filter_map(|mark| mark.end).try_for_each(|end| rows.hold(seq, end))
}

/// Releases the marks of these checkpoints, and removes the records that no other checkpoint or log names.
pub(crate) fn release<'a>(
    rows: &mut impl LogRows,
    checkpoints: impl IntoIterator<Item = (Seq, &'a [Mark])>,
) -> Result<()> {
    let mut branches = BTreeSet::new();
    for (seq, marks) in checkpoints {
        for end in marks.iter().filter_map(|mark| mark.end) {
            rows.let_go(seq, end)?;
            branches.insert(end.branch);
        }
    }
    // Free the branches with the greatest numbers first. Most branches have greater numbers than their parents, and
    // [`free`] continues with the parent of each removed branch.
    free(rows, branches.into_iter().rev())
}

/// Creates the logs of a new lineage from the marks of a checkpoint.
pub(crate) fn fork(rows: &mut impl LogRows, lin: i64, marks: &[Mark]) -> Result<()> {
    marks.iter().filter_map(|mark| Some((&mark.log, mark.end?))).try_for_each(|(log, end)| rows.set_head(lin, log, end))
}

/// The logs of a lineage and their lengths, sorted by name.
pub(crate) fn list(rows: &impl LogRows, lin: i64) -> Result<Vec<LogMark>> {
    let shown = |(log, end): (String, End)| LogMark { log, length: end.length };
    Ok(rows.heads(lin)?.into_iter().map(shown).collect())
}

/// Reads the records that the query selects from a log with this end. Opens no record of more than `largest` bytes.
pub(crate) fn read(rows: &impl Branches, end: Option<End>, range: &LogRange, largest: usize) -> Result<LogPage> {
    in_log(&range.lineage, &range.log, || {
        let length = length(end);
        let (start, to) = range.positions(length);
        let mut records = Vec::with_capacity(usize::try_from(to - start).unwrap_or(0).min(1 << 16));
        let runs = if start < to { runs(rows, end, start)? } else { Vec::new() };
        for run in runs.into_iter().rev() {
            let (from, to) = (run.from, run.to.min(to));
            if from < to {
                let found = rows.read(run.branch, from, to, largest)?;
                if found.len() as u64 != to - from {
                    return Err(corrupt(&format!("some of the records {from} to {} are missing", to - 1)));
                }
                records.extend(found);
            }
        }
        Ok(LogPage { length, start, records })
    })
}

/// The stretches of a log with this end: see [`Query::LogRuns`](crate::query::Query::LogRuns).
pub(crate) fn all_runs(rows: &impl Branches, lineage: &str, log: &str, end: Option<End>) -> Result<Vec<LogRun>> {
    let found = in_log(lineage, log, || runs(rows, end, 0))?;
    Ok(found.into_iter().rev().map(|run| LogRun { branch: run.branch, to: run.to }).collect())
}

/// Consecutive records of one branch.
struct Run {
    branch: BranchId,
    from: u64,
    to: u64,
}

/// Returns stretches that cover the records of a log from position `from` on, the last stretch first. Reads branches
/// but no records.
fn runs(rows: &impl Branches, end: Option<End>, from: u64) -> Result<Vec<Run>> {
    let (mut runs, mut next) = (Vec::new(), end);
    while let Some(End { branch, length }) = next.filter(|end| end.length > from) {
        let Some(found) = rows.branch(branch)? else {
            return Err(corrupt(&format!("branch {branch} of it is missing")));
        };
        // Each step must reach a branch with a lower start position. Otherwise the loop might never end.
        if found.start() >= length {
            return Err(corrupt("one of its branches begins after the end of the log"));
        }
        runs.push(Run { branch, from: found.start().max(from), to: length });
        next = found.parent;
    }
    Ok(runs)
}

/// Returns the position after the first `length` records of a log. `end` is the current end of the log, which must
/// contain more than `length` records.
fn end_at(rows: &impl Branches, end: End, length: u64) -> Result<Option<End>> {
    let last = match length.checked_sub(1) {
        Some(last) => runs(rows, Some(end), last)?.pop(),
        None => None,
    };
    Ok(last.map(|run| End { branch: run.branch, length }))
}

/// Removes the records after the last end of each branch, and the branches without ends.
fn free(rows: &mut impl LogRows, branches: impl IntoIterator<Item = BranchId>) -> Result<()> {
    for branch in branches {
        let mut next = Some(branch);
        while let Some(id) = next.take() {
            // A branch that does not exist was removed earlier in this loop, as the parent of another branch.
            let Some(branch) = rows.branch(id)? else { continue };
            if let Some(needed) = rows.needed(id)? {
                rows.cut(id, needed)?;
            } else {
                rows.cut(id, branch.start())?;
                rows.remove_branch(id)?;
                next = branch.parent.map(|parent| parent.branch);
            }
        }
    }
    Ok(())
}

fn length(end: Option<End>) -> u64 {
    end.map_or(0, |end| end.length)
}

fn corrupt(why: &str) -> Error {
    Error::new(Code::Corrupt, format!("the stored records are damaged: {why}; restore the database from a backup"))
}

/// Adds the log's name to errors about damage.
fn in_log<T>(lineage: &str, log: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    work().map_err(|error| match error.code() {
        Code::Corrupt => error.context(&format!("log {log:?} of {lineage:?}")),
        _ => error,
    })
}
