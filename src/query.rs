//! Questions as values, and their answers.

use crate::check::{CheckCursor, CheckPage};
use crate::error::{Code, Error, Result};
use crate::record::{Checkpoint, ContractId, Header, Lineage, LogMark, LogPage, SortKey, Stats, Tuple};
use crate::retention::{Pruned, Rule};

/// A question to a backend. Newest means: of the greatest sort key, and among equal sort keys the last saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// The checkpoint with that id. Answers [`Answer::Checkpoint`].
    Get {
        /// Whose id it is.
        contract: ContractId,
        /// The id.
        id: String,
    },
    /// The newest checkpoint of a lineage, or of those with a label. Answers [`Answer::Checkpoint`].
    Newest {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage.
        lineage: String,
        /// Only checkpoints with this label.
        label: Option<String>,
    },
    /// A checkpoint with what was written to it, of one snapshot. Answers [`Answer::Tuple`].
    Tuple {
        /// Whose it is.
        contract: ContractId,
        /// Which one.
        pick: Pick,
    },
    /// What a checkpoint was made from, step by step. Answers [`Answer::Tuples`].
    Ancestors(Ancestors),
    /// Headers, newest first. Answers [`Answer::Headers`].
    List {
        /// Whose checkpoints they are.
        contract: ContractId,
        /// Of which lineage or group.
        of: Of,
        /// Only those of a lesser sort key.
        before: Option<SortKey>,
        /// At most so many.
        limit: Option<usize>,
    },
    /// Whole checkpoints, of one snapshot, those of the least sort key first, and among equal sort keys as they were saved. Answers
    /// [`Answer::Checkpoints`].
    Whole {
        /// Whose checkpoints they are.
        contract: ContractId,
        /// Of which lineage or group.
        of: Of,
        /// Only those whose sort key begins with these bytes.
        prefix: Vec<u8>,
    },
    /// Lineages, the last to begin first. Answers [`Answer::Lineages`].
    Lineages {
        /// Whose lineages they are.
        contract: ContractId,
        /// Only those whose first checkpoint had a group that begins so (literally, byte by byte).
        group_prefix: String,
        /// Only those before this position.
        before: Option<i64>,
        /// At most so many.
        limit: usize,
    },
    /// The lineages that began from a checkpoint of that one, the last to begin first. Answers [`Answer::Lineages`].
    Forks {
        /// Whose lineages they are.
        contract: ContractId,
        /// The lineage that they were made from.
        lineage: String,
    },
    /// Records of a log. Answers [`Answer::Log`].
    Log(LogRange),
    /// The logs of a lineage and their lengths, by name; no record is read. Answers [`Answer::Logs`].
    Logs {
        /// Whose lineage it is.
        contract: ContractId,
        /// The lineage.
        lineage: String,
    },
    /// Verifies a part of what is stored. Answers [`Answer::Checked`].
    Check {
        /// Where the part before ended.
        cursor: CheckCursor,
        /// It looks at about so many rows.
        limit: usize,
    },
    /// What the store holds and takes. Answers [`Answer::Stats`].
    Stats {
        /// Only checkpoints of this contract.
        contract: Option<ContractId>,
        /// So many of the largest lineages are named.
        largest: usize,
    },
    /// What the rules would remove, one after the other, if they were applied now. Answers [`Answer::Pruned`].
    Prunable {
        /// Only checkpoints of this contract.
        contract: Option<ContractId>,
        /// The rules.
        rules: Vec<Rule>,
    },
}

/// A checkpoint and its ancestors, itself first, until each of the wanted parts has been found. Of each they have only what
/// is wanted, of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestors {
    /// Whose checkpoints they are.
    pub contract: ContractId,
    /// The id of the checkpoint.
    pub id: String,
    /// The stems of the wanted parts (see [`Part::stem`](crate::record::Part::stem)). One is wanted until an ancestor has it.
    pub stems: Vec<String>,
    /// The names of the wanted writes.
    pub writes: Vec<String>,
    /// At most so many checkpoints.
    pub limit: usize,
}

/// Records of a log, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// Whose lineage it is.
    pub contract: ContractId,
    /// The lineage.
    pub lineage: String,
    /// The log's name. One that is not there is empty.
    pub log: String,
    /// As that checkpoint of the lineage names the log; `None`: as it is now.
    pub at: Option<String>,
    /// From which end `skip` counts.
    pub from: LogSide,
    /// So many records are passed over.
    pub skip: u64,
    /// At most so many.
    pub limit: usize,
}

/// An end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSide {
    /// Its oldest record.
    First,
    /// Its newest record. The records of an answer are in their order all the same.
    Last,
}

impl LogRange {
    /// The positions that are asked for, of a log of that length: from, to.
    pub(crate) fn positions(&self, length: u64) -> (u64, u64) {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let rest = length.saturating_sub(self.skip);
        match self.from {
            LogSide::First => (length - rest, length - rest + rest.min(limit)),
            LogSide::Last => (rest - rest.min(limit), rest),
        }
    }
}

/// Which checkpoint is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The one with that id.
    Id(String),
    /// The newest of that lineage.
    Newest(String),
}

/// Which checkpoints a listing is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// All of the contract.
    Contract,
    /// Those of a lineage.
    Lineage(String),
    /// Those of every lineage whose name begins so, literally, byte by byte.
    Lineages(String),
    /// Those of a group.
    Group(String),
    /// Those of a lineage that also are of a group.
    LineageInGroup {
        /// The lineage.
        lineage: String,
        /// The group.
        group: String,
    },
}

/// What a backend says to a [`Query`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One checkpoint, or none.
    Checkpoint(Option<Box<Checkpoint>>),
    /// One checkpoint with its writes, or none.
    Tuple(Option<Box<Tuple>>),
    /// Checkpoints with their writes.
    Tuples(Vec<Tuple>),
    /// Checkpoints.
    Checkpoints(Vec<Checkpoint>),
    /// Headers.
    Headers(Vec<Header>),
    /// Lineages.
    Lineages(Vec<Lineage>),
    /// Records, or none where the checkpoint in question is not there or does not name the log.
    Log(Option<LogPage>),
    /// Logs.
    Logs(Vec<LogMark>),
    /// What was verified.
    Checked(Box<CheckPage>),
    /// What there is.
    Stats(Stats),
    /// What would be removed.
    Pruned(Pruned),
}

impl Answer {
    /// The checkpoint, if that was the question.
    pub fn into_checkpoint(self) -> Result<Option<Box<Checkpoint>>> {
        match self {
            Answer::Checkpoint(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// The checkpoint with its writes, if that was the question.
    pub fn into_tuple(self) -> Result<Option<Box<Tuple>>> {
        match self {
            Answer::Tuple(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// The checkpoints with their writes, if they were the question.
    pub fn into_tuples(self) -> Result<Vec<Tuple>> {
        match self {
            Answer::Tuples(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// The checkpoints, if they were the question.
    pub fn into_checkpoints(self) -> Result<Vec<Checkpoint>> {
        match self {
            Answer::Checkpoints(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// The headers, if they were the question.
    pub fn into_headers(self) -> Result<Vec<Header>> {
        match self {
            Answer::Headers(headers) => Ok(headers),
            other => Err(other.unexpected()),
        }
    }

    /// The lineages, if they were the question.
    pub fn into_lineages(self) -> Result<Vec<Lineage>> {
        match self {
            Answer::Lineages(lineages) => Ok(lineages),
            other => Err(other.unexpected()),
        }
    }

    /// The records, if they were the question.
    pub fn into_log(self) -> Result<Option<LogPage>> {
        match self {
            Answer::Log(page) => Ok(page),
            other => Err(other.unexpected()),
        }
    }

    /// The logs, if they were the question.
    pub fn into_logs(self) -> Result<Vec<LogMark>> {
        match self {
            Answer::Logs(logs) => Ok(logs),
            other => Err(other.unexpected()),
        }
    }

    /// What was verified, if that was the question.
    pub fn into_checked(self) -> Result<CheckPage> {
        match self {
            Answer::Checked(page) => Ok(*page),
            other => Err(other.unexpected()),
        }
    }

    /// What there is, if that was the question.
    pub fn into_stats(self) -> Result<Stats> {
        match self {
            Answer::Stats(stats) => Ok(stats),
            other => Err(other.unexpected()),
        }
    }

    /// What would be removed, if that was the question.
    pub fn into_pruned(self) -> Result<Pruned> {
        match self {
            Answer::Pruned(pruned) => Ok(pruned),
            other => Err(other.unexpected()),
        }
    }

    fn unexpected(&self) -> Error {
        let kind = match self {
            Answer::Checkpoint(_) => "a checkpoint",
            Answer::Tuple(_) => "a checkpoint and its writes",
            Answer::Tuples(_) => "checkpoints and their writes",
            Answer::Checkpoints(_) => "checkpoints",
            Answer::Headers(_) => "headers",
            Answer::Lineages(_) => "lineages",
            Answer::Log(_) => "records",
            Answer::Logs(_) => "logs",
            Answer::Checked(_) => "what was verified",
            Answer::Stats(_) => "statistics",
            Answer::Pruned(_) => "what would be removed",
        };
        Error::new(Code::Unavailable, format!("the backend answered another question, with {kind}: please report this"))
    }
}
