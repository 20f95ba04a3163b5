//! The result of checking a store: the number of verified items, and the problems that were found.
//! [`Query::Check`](crate::query::Query::Check) verifies one page at a time, so that other reads run between two
//! pages.

use serde::Serialize;
use ts_rs::TS;

use crate::error::shortened;
use crate::record::{ContractId, Header, Status};

/// The position at which the next page of a check begins. The backend defines the text. The default is the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckCursor(pub String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Saved data cannot be read or is not found.
    Error,
    /// All data can be read, but some data are not stored correctly.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The public name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// The kind of a finding. The names are public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingCode {
    /// Stored bytes do not match their checksum.
    Corrupt,
    /// A row refers to a row that does not exist.
    Orphan,
    /// An index disagrees with its table.
    Index,
    /// The store is on a network file system.
    Network,
    /// The log of the database is very large.
    Log,
    /// The check was ended before it was complete.
    Time,
}

impl FindingCode {
    /// The public name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            FindingCode::Corrupt => "CORRUPT",
            FindingCode::Orphan => "ORPHAN",
            FindingCode::Index => "INDEX",
            FindingCode::Network => "NETWORK",
            FindingCode::Log => "LOG",
            FindingCode::Time => "TIME",
        }
    }
}

/// One problem that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: FindingCode,
    pub severity: Severity,
    /// A description of the problem and its location, without stored state.
    pub message: String,
    /// What the user should do about the problem.
    pub remedy: &'static str,
    /// The contract of the damaged data, if it is known.
    pub contract: Option<ContractId>,
    /// The lineage, if it is known.
    pub lineage: Option<String>,
    /// The id of the checkpoint, if it is known.
    pub id: Option<String>,
}

impl Finding {
    /// Creates a finding that names no contract, lineage or id.
    /// Creates the finding for a stored status that differs from the status of the newest checkpoint.
    pub(crate) fn status(lineage: &str, kept: Status, expected: Status) -> Self {
        let [kept, expected] = [kept, expected].map(|status| format!("{status:?}").to_lowercase());
        let message = format!("run {lineage:?} is listed as {kept}, but its newest checkpoint says {expected}");
        let remedy = "Save a checkpoint of the run: every save brings the status up to date.";
        Self::new(FindingCode::Index, Severity::Warning, message, remedy)
    }

    /// Creates the finding for pending writes whose checkpoint does not exist.
    pub(crate) fn writes_of_none(contract: ContractId, id: String) -> Self {
        let message =
            format!("checkpoint {id:?} has pending writes, but is not stored: it comes later, or was deleted");
        let remedy = "If no program works on the run any more, delete the run: its writes go with it.";
        let about = About { contract: Some(contract), lineage: None, id: Some(id) };
        Self::new(FindingCode::Orphan, Severity::Note, message, remedy).about(about)
    }

    pub(crate) fn new(code: FindingCode, severity: Severity, message: impl Into<String>, remedy: &'static str) -> Self {
        Self { code, severity, message: shortened(message.into()), remedy, contract: None, lineage: None, id: None }
    }

    /// Sets the contract, lineage and id of the finding.
    pub(crate) fn about(self, About { contract, lineage, id }: About) -> Self {
        Self { contract, lineage, id, ..self }
    }
}

/// The subject of a finding. A field is empty if its value is unknown or cannot be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) contract: Option<ContractId>,
    pub(crate) lineage: Option<String>,
    pub(crate) id: Option<String>,
}

impl From<&Header> for About {
    fn from(Header { contract, lineage, id, .. }: &Header) -> Self {
        Self { contract: Some(*contract), lineage: Some(lineage.clone()), id: Some(id.clone()) }
    }
}

/// The number of verified items of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, TS)]
pub struct Counted {
    /// The number of checkpoints whose header and index entries were verified.
    pub checkpoints: u64,
    /// The number of payloads that were rebuilt through their chains and compared with their checksums.
    pub payloads: u64,
    /// The number of verified records of logs.
    pub records: u64,
    /// The number of verified rows of pending writes.
    pub writes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckPage {
    /// The number of items that this page verified.
    pub counted: Counted,
    /// The problems that this page found.
    pub findings: Vec<Finding>,
    /// The number of rows that all pages have verified so far.
    pub done: u64,
    /// The approximate total number of rows.
    pub of: u64,
    /// The position at which the next page begins. `None` means that this was the last page.
    pub next: Option<CheckCursor>,
}
