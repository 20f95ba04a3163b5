//! What a check of a store says: what was verified, and what is wrong with it. [`Query::Check`](crate::query::Query::Check) asks for it
//! page by page, so that other reads go on in between.

use crate::record::ContractId;

/// Where the next page of a check begins. The text is the backend's own. Default: the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckCursor(pub String);

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something that was saved cannot be read, or is not found.
    Error,
    /// Everything can be read, but something about it is not as it should be.
    Warning,
}

impl Severity {
    /// The public name.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// What kind of thing is wrong. The names are public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingCode {
    /// Stored bytes do not match their checksum.
    Corrupt,
    /// A row refers to another one that is not there.
    Orphan,
    /// An index does not agree with its table.
    Index,
}

impl FindingCode {
    /// The public name.
    pub const fn name(self) -> &'static str {
        match self {
            FindingCode::Corrupt => "CORRUPT",
            FindingCode::Orphan => "ORPHAN",
            FindingCode::Index => "INDEX",
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong and where. Never the content of a state.
    pub message: String,
    /// What can be done.
    pub remedy: &'static str,
    /// The contract that it belongs to, as far as that can be told.
    pub contract: Option<ContractId>,
    /// The lineage, as far as that can be told.
    pub lineage: Option<String>,
    /// The id of the checkpoint, as far as that can be told.
    pub id: Option<String>,
}

/// How much was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Checkpoints: their headers, and the indexes that find them.
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
    /// What this page has verified.
    pub counted: Counted,
    /// What this page has found.
    pub findings: Vec<Finding>,
    /// How many rows have been looked at since the beginning.
    pub done: u64,
    /// About how many rows there are.
    pub of: u64,
    /// Where the next page begins; `None`: this was the last one.
    pub next: Option<CheckCursor>,
}
