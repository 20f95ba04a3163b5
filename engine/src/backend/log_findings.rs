//! The findings of a check of a database's log tables.

use super::logs::End;
use super::marks::decode_marks;
use super::number::{signed, unsigned};
use crate::check::{Finding, FindingCode, Severity};
use crate::error::{Code, Error};

/// One of the log tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTable {
    /// The table `record`.
    Records,
    /// The table `log_branch`.
    Branches,
    /// The table `log`.
    Logs,
    /// The table `log_mark`.
    Marks,
}

/// The key of the last row of a page. Most tables use only some of its numbers.
pub(crate) type After = [i64; 3];

/// The result of checking one page of a table.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The number of rows that were checked.
    pub(crate) rows: u64,
    pub(crate) findings: Vec<Finding>,
    /// The key after which the next page begins. `None` if this was the last page.
    pub(crate) next: Option<After>,
}

const RESTORE: &str = "restore the database from a backup";

/// The finding for a damaged row.
pub(crate) fn corrupt(error: &Error) -> Finding {
    Finding::new(FindingCode::Corrupt, Severity::Error, error.message(), RESTORE)
}

/// The finding for a missing row that another row refers to.
pub(crate) fn missing(message: &str) -> Finding {
    Finding::new(FindingCode::Orphan, Severity::Error, message, RESTORE)
}

/// The finding for a row that nothing refers to.
pub(crate) fn left_over(message: &str) -> Finding {
    let remedy = "you do not need to do anything: it only takes up space";
    Finding::new(FindingCode::Orphan, Severity::Warning, message, remedy)
}

/// The records of a branch: their number, and the first and last positions.
pub(crate) type BranchRecords = (i64, Option<i64>, Option<i64>);

/// Checks that the records of a branch have no gap, and that its greatest end is directly after the last record.
/// `needed` is the length of this end, or 0 if the branch has no ends.
pub(crate) fn of_branch(id: i64, start: i64, (count, first, last): BranchRecords, needed: i64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if first.is_some_and(|first| first != start) || last.is_some_and(|last| last - start + 1 != count) {
        findings.push(missing(&format!("records of branch {id} are missing")));
    }
    let tip = last.map_or(start, |last| last + 1);
    if needed > tip {
        findings.push(missing(&format!("the last records of branch {id} are missing")));
    } else if needed < tip || needed == 0 {
        findings.push(left_over(&format!("no log and no checkpoint names the last records of branch {id}")));
    }
    findings
}

/// Checks that the last record before an end exists. `start` is the first position of the end's branch, and `tip` the
/// position after its last record. Checks of branches find other missing records.
pub(crate) fn of_end(end: End, start: Option<i64>, tip: i64, what: &str) -> Option<Finding> {
    let End { branch, length } = end;
    match start.map(unsigned) {
        None => Some(missing(&format!("branch {branch} of {what} is missing"))),
        Some(start) if start >= length => {
            let message = format!("{what} ends before its branch {branch} begins");
            Some(corrupt(&Error::new(Code::Corrupt, message)))
        }
        Some(_) if unsigned(tip) < length => Some(missing(&format!("the last records of {what} are missing"))),
        Some(_) => None,
    }
}

/// Checks that a checkpoint names this mark. `logs` are the stored marks of the checkpoint.
pub(crate) fn of_mark(branch: i64, length: i64, logs: Option<&[u8]>) -> Option<Finding> {
    // Skip a damaged list of marks, because the check of its checkpoint reports the damage.
    let named = decode_marks(logs).ok()?;
    let is_it = |end: End| (end.branch, signed(end.length)) == (branch, length);
    let is_named = named.iter().filter_map(|mark| mark.end).any(is_it);
    let message = || format!("no checkpoint names the first {length} records up to branch {branch}");
    (!is_named).then(|| left_over(&message()))
}
