//! What a check says about the log tables of a database.

use crate::check::{Finding, FindingCode, Severity};
use crate::error::Error;

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

const RESTORE: &str = "restore the database from a backup";

/// A finding that names no contract, lineage or id.
pub(crate) fn finding(code: FindingCode, severity: Severity, message: String, remedy: &'static str) -> Finding {
    Finding { code, severity, message, remedy, contract: None, lineage: None, id: None }
}

/// A row is damaged.
pub(crate) fn corrupt(error: &Error) -> Finding {
    finding(FindingCode::Corrupt, Severity::Error, error.message().to_owned(), RESTORE)
}

/// A row is missing that another row needs.
pub(crate) fn missing(message: &str) -> Finding {
    finding(FindingCode::Orphan, Severity::Error, message.to_owned(), RESTORE)
}

/// A row is there that nothing needs.
pub(crate) fn left_over(message: &str) -> Finding {
    let remedy = "nothing needs to be done: it only takes up space";
    finding(FindingCode::Orphan, Severity::Warning, message.to_owned(), remedy)
}
