//! Logs: persistent lists of records, over what a backend stores of them.
//!
//! Records stand in *branches*. A branch is a run of records without gaps; its parent is the [`End`] in another branch that it goes
//! on from. A log, a checkpoint's mark and a branch's parent are all the same thing: an end. To read an end is to read its branch
//! below the length, then the branch's parent, and so on.
//!
//! Nothing below an end ever changes, so ends share what they have in common. An append extends the branch if its log ends where
//! the branch does, and begins a new branch otherwise. A branch has no record behind the last end in it: whoever moves or removes
//! an end calls [`free`] for the branch.
//!
//! A log without records is the same as no log.

#[cfg(test)]
pub(crate) mod model;

use std::collections::{BTreeSet, HashSet};

use crate::error::{Code, Error, Result};
use crate::op::Appended;
use crate::query::LogRange;
use crate::record::{ContractId, Header, LogMark, LogPage, LogPin, Record, Seq};

/// The number of a branch. Never given out twice: a reference that outlived its branch must not find another one.
pub(crate) type BranchId = i64;

/// A place in a branch: behind the record at position `length - 1`, which stands in this very branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) branch: BranchId,
    /// How many records there are up to here, those of the ancestors among them. Never 0.
    pub(crate) length: u64,
}

/// A run of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Whose records they are. Ends in a branch are all of this contract.
    pub(crate) contract: ContractId,
    /// Where it goes on from. `None`: from the beginning.
    pub(crate) parent: Option<End>,
}

impl Branch {
    /// The position of its first record.
    pub(crate) fn start(&self) -> u64 {
        length(self.parent)
    }
}

/// A log that a checkpoint names, and where it ended when the checkpoint was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) log: String,
    /// `None`: it had no records.
    pub(crate) end: Option<End>,
}

impl Mark {
    /// What a caller sees of it.
    pub(crate) fn shown(&self) -> LogMark {
        LogMark { log: self.log.clone(), length: length(self.end) }
    }
}

/// A log by its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogName<'a> {
    pub(crate) contract: ContractId,
    /// The number that the backend has given to the lineage.
    pub(crate) lin: i64,
    /// The lineage's name, for messages.
    pub(crate) lineage: &'a str,
    pub(crate) log: &'a str,
}

/// What a backend stores of logs.
pub(crate) trait LogRows {
    /// Where a log ends. `None`: there is no such log.
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>>;
    /// All logs of a lineage, by name.
    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>>;
    /// Moves a log's end, or creates the log.
    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()>;
    /// Removes a log, if it is there. Its records stay for [`free`].
    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()>;
    /// A branch. `None`: it is not there.
    fn branch(&self, id: BranchId) -> Result<Option<Branch>>;
    /// Creates a branch without records.
    fn create_branch(&mut self, branch: Branch) -> Result<BranchId>;
    /// Removes a branch that has no records and in which nothing ends.
    fn remove_branch(&mut self, id: BranchId) -> Result<()>;
    /// The greatest length of all ends in a branch: of logs, of marks that are held, of parents. `None`: there is none.
    fn needed(&self, id: BranchId) -> Result<Option<u64>>;
    /// The position behind a branch's last record. `None`: it has no records.
    fn tip(&self, id: BranchId) -> Result<Option<u64>>;
    /// Adds records at a branch's tip, which is that position.
    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()>;
    /// Removes a branch's records from that position on.
    fn cut(&mut self, id: BranchId, from: u64) -> Result<()>;
    /// A branch's records at those positions, in order. Those that are missing are left out.
    fn read(&self, id: BranchId, from: u64, to: u64) -> Result<Vec<Record>>;
    /// Whether a record of a branch, below that position, has the key.
    fn has_key(&self, id: BranchId, below: u64, key: &str) -> Result<bool>;
    /// Remembers that something ends there because of a checkpoint.
    fn hold(&mut self, seq: Seq, end: End) -> Result<()>;
    /// Forgets what [`LogRows::hold`] remembered.
    fn let_go(&mut self, seq: Seq, end: End) -> Result<()>;
}

/// Appends records. See [`Op::Append`](crate::op::Op::Append).
pub(crate) fn append(
    rows: &mut impl LogRows,
    of: LogName<'_>,
    records: &[Record],
    expect: Option<u64>,
) -> Result<Appended> {
    in_log(of.lineage, of.log, || {
        let head = rows.head(of.lin, of.log)?;
        let before = length(head);
        if let Some(expected) = expect.filter(|expected| *expected != before) {
            let message = format!(
                "log {:?} of {:?} has {before} records, not {expected} as expected: read it again and decide anew",
                of.log, of.lineage
            );
            return Err(Error::new(Code::Conflict, message));
        }
        let (fresh, left_out) = without_repeated(rows, head, records)?;
        let after = before + fresh.len() as u64;
        if !fresh.is_empty() {
            let branch = writable(rows, of.contract, head)?;
            rows.push(branch, before, &fresh)?;
            rows.set_head(of.lin, of.log, End { branch, length: after })?;
        }
        Ok(Appended { length: after, left_out })
    })
}

/// The records whose keys the log does not have, and the indexes of the others.
fn without_repeated<'r>(
    rows: &impl LogRows,
    head: Option<End>,
    records: &'r [Record],
) -> Result<(Vec<&'r Record>, Vec<usize>)> {
    let keyed = records.iter().any(|record| record.key.is_some());
    let runs = if keyed { runs(rows, head, 0)? } else { Vec::new() };
    let (mut fresh, mut left_out, mut seen) = (Vec::with_capacity(records.len()), Vec::new(), HashSet::new());
    for (at, record) in records.iter().enumerate() {
        let repeated = match &record.key {
            None => false,
            Some(key) => !seen.insert(key) || has_key(rows, &runs, key)?,
        };
        if repeated {
            left_out.push(at);
        } else {
            fresh.push(record);
        }
    }
    Ok((fresh, left_out))
}

fn has_key(rows: &impl LogRows, runs: &[Run], key: &str) -> Result<bool> {
    for run in runs {
        if rows.has_key(run.branch, run.to, key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The branch that a log goes on in: its own, or a new one where others have gone on from its end.
fn writable(rows: &mut impl LogRows, contract: ContractId, head: Option<End>) -> Result<BranchId> {
    let Some(End { branch, length }) = head else { return rows.create_branch(Branch { contract, parent: None }) };
    match rows.tip(branch)? {
        Some(tip) if tip == length => Ok(branch),
        Some(tip) if tip > length => rows.create_branch(Branch { contract, parent: head }),
        _ => Err(corrupt("its last records are missing")),
    }
}

/// Cuts a log behind its first so many records.
pub(crate) fn truncate(rows: &mut impl LogRows, of: LogName<'_>, to: u64) -> Result<()> {
    in_log(of.lineage, of.log, || match rows.head(of.lin, of.log)? {
        Some(head) if to < head.length => {
            let end = end_at(rows, head, to)?;
            move_head(rows, of, end)
        }
        _ => Ok(()),
    })
}

/// Has a log end where a checkpoint's mark is. The marks are those of the checkpoint; the id is for the error's message.
pub(crate) fn rewind(rows: &mut impl LogRows, of: LogName<'_>, id: &str, marks: &[Mark]) -> Result<()> {
    let Some(mark) = marks.iter().find(|mark| mark.log == of.log) else {
        let message = format!(
            "checkpoint {id:?} does not name log {:?} of {:?}: truncate it to a length, or rewind to a checkpoint that names it",
            of.log, of.lineage
        );
        return Err(Error::new(Code::NotFound, message));
    };
    in_log(of.lineage, of.log, || move_head(rows, of, mark.end))
}

/// What [`rewind`] fails with where the checkpoint is not there, or is of another lineage.
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

/// Removes all logs of a lineage. Returns whether there were any.
pub(crate) fn remove_all(rows: &mut impl LogRows, lin: i64) -> Result<bool> {
    let heads = rows.heads(lin)?;
    for (log, _) in &heads {
        rows.remove_head(lin, log)?;
    }
    free(rows, heads.iter().map(|(_, head)| head.branch))?;
    Ok(!heads.is_empty())
}

/// The marks of a checkpoint that is put. `lin`: its lineage, if it is there already. They must be held: see [`hold`].
pub(crate) fn pin(rows: &impl LogRows, lin: Option<i64>, header: &Header, pins: &[LogPin]) -> Result<Vec<Mark>> {
    let mut marks: Vec<Mark> = Vec::with_capacity(pins.len());
    for LogPin { log, length: wanted } in pins {
        if marks.iter().any(|mark| mark.log == *log) {
            return Err(Error::invalid(format!("checkpoint {:?} names log {log:?} twice: name it once", header.id)));
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
                    "checkpoint {:?} names the first {wanted} records of log {log:?} of {:?}, which has {}: append them first",
                    header.id,
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

/// Keeps what a checkpoint's marks name, until they are released.
pub(crate) fn hold(rows: &mut impl LogRows, seq: Seq, marks: &[Mark]) -> Result<()> {
    marks.iter().filter_map(|mark| mark.end).try_for_each(|end| rows.hold(seq, end))
}

/// Frees what only these checkpoints' marks have named.
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
    // The last ones first: most branches are younger than their parents, which are looked at with them.
    free(rows, branches.into_iter().rev())
}

/// Makes logs of a new lineage out of the marks of a checkpoint.
pub(crate) fn fork(rows: &mut impl LogRows, lin: i64, marks: &[Mark]) -> Result<()> {
    marks.iter().filter_map(|mark| Some((&mark.log, mark.end?))).try_for_each(|(log, end)| rows.set_head(lin, log, end))
}

/// The logs of a lineage and their lengths, by name.
pub(crate) fn list(rows: &impl LogRows, lin: i64) -> Result<Vec<LogMark>> {
    let shown = |(log, end): (String, End)| LogMark { log, length: end.length };
    Ok(rows.heads(lin)?.into_iter().map(shown).collect())
}

/// The records that are asked for, of a log that ends there.
pub(crate) fn read(rows: &impl LogRows, end: Option<End>, asked: &LogRange) -> Result<LogPage> {
    in_log(&asked.lineage, &asked.log, || {
        let length = length(end);
        let (start, to) = asked.positions(length);
        let mut records = Vec::with_capacity(usize::try_from(to - start).unwrap_or(0).min(1 << 16));
        let runs = if start < to { runs(rows, end, start)? } else { Vec::new() };
        for run in runs.into_iter().rev() {
            let (from, to) = (run.from, run.to.min(to));
            if from < to {
                let found = rows.read(run.branch, from, to)?;
                if found.len() as u64 != to - from {
                    return Err(corrupt(&format!("records are missing among those from {from} to {}", to - 1)));
                }
                records.extend(found);
            }
        }
        Ok(LogPage { length, start, records })
    })
}

/// Records of one branch that follow one another.
struct Run {
    branch: BranchId,
    from: u64,
    to: u64,
}

/// The records of a log from that position on, as runs: the last one first. Reads branches, but no record.
fn runs(rows: &impl LogRows, end: Option<End>, from: u64) -> Result<Vec<Run>> {
    let (mut runs, mut next) = (Vec::new(), end);
    while let Some(End { branch, length }) = next.filter(|end| end.length > from) {
        let found = known(rows, branch)?;
        // The start is lower at each step, so that this comes to an end.
        if found.start() >= length {
            return Err(corrupt("a branch of it begins behind its end"));
        }
        runs.push(Run { branch, from: found.start().max(from), to: length });
        next = found.parent;
    }
    Ok(runs)
}

/// The end of the first so many records of a log that ends there. There are more of them.
fn end_at(rows: &impl LogRows, end: End, length: u64) -> Result<Option<End>> {
    let last = match length.checked_sub(1) {
        Some(last) => runs(rows, Some(end), last)?.pop(),
        None => None,
    };
    Ok(last.map(|run| End { branch: run.branch, length }))
}

/// Removes the records of these branches that are behind the last end, and branches in which nothing ends.
fn free(rows: &mut impl LogRows, branches: impl IntoIterator<Item = BranchId>) -> Result<()> {
    for branch in branches {
        let mut next = Some(branch);
        while let Some(id) = next.take() {
            // One that is not there was the parent of another one of these.
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

fn known(rows: &impl LogRows, id: BranchId) -> Result<Branch> {
    rows.branch(id)?.ok_or_else(|| corrupt(&format!("branch {id} of it is missing")))
}

fn length(end: Option<End>) -> u64 {
    end.map_or(0, |end| end.length)
}

fn corrupt(why: &str) -> Error {
    Error::new(Code::Corrupt, format!("the stored records are damaged: {why}; restore the database from a backup"))
}

/// Damage is told with the log that has it.
fn in_log<T>(lineage: &str, log: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    work().map_err(|error| match error.code() {
        Code::Corrupt => error.context(&format!("log {log:?} of {lineage:?}")),
        _ => error,
    })
}
