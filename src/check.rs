//! The result of checking a store: how much was verified, and what is wrong.
//! [`Query::Check`](crate::query::Query::Check) verifies one page at a time, so that other reads run in between.

use crate::record::ContractId;

/// The position at which the next page of a check begins. The backend defines the text. Default: the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckCursor(pub String);

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Saved data cannot be read or is not found.
    Error,
    /// All data can be read, but some of it is not stored as it should be.
    Warning,
}

impl Severity {
    /// The public name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
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
}

impl FindingCode {
    /// The public name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            FindingCode::Corrupt => "CORRUPT",
            FindingCode::Orphan => "ORPHAN",
            FindingCode::Index => "INDEX",
        }
    }
}

/// One problem that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the finding.
    pub code: FindingCode,
    /// The severity of the finding.
    pub severity: Severity,
    /// The problem and its place. Never contains stored state.
    pub message: String,
    /// The remedy.
    pub remedy: &'static str,
    /// The contract of the damaged data, if it is known.
    pub contract: Option<ContractId>,
    /// The lineage, if it is known.
    pub lineage: Option<String>,
    /// The id of the checkpoint, if it is known.
    pub id: Option<String>,
}

/// The number of verified items of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Checkpoints: their headers, and the indexes over them.
    pub checkpoints: u64,
    /// Payloads, each rebuilt through its chain and compared with its checksum.
    pub payloads: u64,
    /// Rows of pending writes.
    pub writes: u64,
    /// Records of logs.
    pub records: u64,
}

/// A page of a check.
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
    /// The position at which the next page begins. `None`: this was the last page.
    pub next: Option<CheckCursor>,
}
