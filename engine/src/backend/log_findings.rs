//! What a check says about the log tables of a database.

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

/// The key of the last row of a page. Most tables do not use all of its numbers.
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

/// A row is damaged.
pub(crate) fn corrupt(error: &Error) -> Finding {
    Finding::new(FindingCode::Corrupt, Severity::Error, error.message(), RESTORE)
}

/// A row is missing that another row needs.
pub(crate) fn missing(message: &str) -> Finding {
    Finding::new(FindingCode::Orphan, Severity::Error, message, RESTORE)
}

/// A row is there that nothing needs.
pub(crate) fn left_over(message: &str) -> Finding {
    let remedy = "you do not need to do anything: it only takes up space";
    Finding::new(FindingCode::Orphan, Severity::Warning, message, remedy)
}

/// The records of a branch: their number, and the positions of the first and the last.
pub(crate) type Places = (i64, Option<i64>, Option<i64>);

/// Checks that the records of a branch have no gap, and that its greatest end is after the last of them. `needed` is the
/// length of this end. 0: the branch has no ends.
pub(crate) fn of_branch(id: i64, start: i64, (count, first, last): Places, needed: i64) -> Vec<Finding> {
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

/// Checks that the last record before an end exists. `start` and `tip` are the position of the first record of the end's
/// branch and the position after its last record. Other missing records are found when their branches are checked.
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

/// Checks that a mark is one of a checkpoint. `logs` are the stored marks of the checkpoint.
pub(crate) fn of_mark(branch: i64, length: i64, logs: Option<&[u8]>) -> Option<Finding> {
    // Skip a damaged list of marks, because the check of its checkpoint reports the damage.
    let named = decode_marks(logs).ok()?;
    let is_it = |end: End| (end.branch, signed(end.length)) == (branch, length);
    let is_named = named.iter().filter_map(|mark| mark.end).any(is_it);
    let message = || format!("no checkpoint names the first {length} records up to branch {branch}");
    (!is_named).then(|| left_over(&message()))
}
