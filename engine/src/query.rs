//! Queries as values, and their answers.

mod answer;
mod of;
mod page;
mod recent;
mod rows;

pub use self::answer::Answer;
pub use self::of::Of;
pub(crate) use self::page::Searcher;
pub use self::page::{MetaFilter, MetaKey, MetaTest, Page};
pub use self::recent::{ActivityOrder, Recent};
pub use self::rows::{Feed, RowOrder, Rows, RowsFrom};
use crate::check::CheckCursor;
use crate::record::{ContractId, Seq, SortKey};
use crate::retention::Rule;

/// A query to a backend. The newest checkpoint of a lineage has the greatest sort key. If sort keys are equal, the
/// checkpoint that was saved last is the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// The checkpoint with this id. Answers [`Answer::Checkpoint`].
    Get { contract: ContractId, id: String },
    /// The newest checkpoint of a lineage, optionally with a given label. Answers [`Answer::Checkpoint`].
    Newest {
        contract: ContractId,
        lineage: String,
        /// If given, only checkpoints with this label are considered.
        label: Option<String>,
    },
    /// A checkpoint with its pending writes, both from one snapshot. Answers [`Answer::Tuple`].
    Tuple { contract: ContractId, pick: Pick },
    /// A checkpoint and its ancestors, in order from child to parent. Answers [`Answer::Tuples`].
    Ancestors(Ancestors),
    /// Lists the headers of checkpoints, the newest checkpoint first. Answers [`Answer::Headers`].
    List {
        contract: ContractId,
        /// The lineages or the group to list.
        of: Of,
        /// If given, only checkpoints with a sort key less than this one are listed.
        before: Option<SortKey>,
        /// The maximum number of results.
        limit: Option<usize>,
    },
    /// Lists checkpoints with their payloads and their pending writes. Answers [`Answer::Page`].
    Page(Page),
    /// The number of checkpoints. Answers [`Answer::Count`].
    Count { contract: ContractId, of: Of },
    /// Several queries, answered from one snapshot. Answers [`Answer::All`], in the order of the queries.
    All(Vec<Query>),
    /// Checkpoints with their payloads, all from one snapshot. They are ordered by ascending sort key and then by save
    /// order. Answers [`Answer::Checkpoints`].
    Whole {
        contract: ContractId,
        /// The lineages or the group to list.
        of: Of,
        /// Only checkpoints whose sort key begins with these bytes are returned.
        prefix: Vec<u8>,
    },
    /// Lists lineages, the lineage that was created last first. An index finds the lineages of a rare group. Answers
    /// [`Answer::Lineages`].
    Lineages {
        contract: ContractId,
        /// Only lineages whose first checkpoint has a group with this prefix are returned. Prefixes are compared byte
        /// by byte.
        group_prefix: String,
        /// If given, only lineages with a position less than this one are returned.
        before: Option<i64>,
        /// The maximum number of results.
        limit: usize,
    },
    /// The names of the lineages that begin with a prefix, the lineage that was created last first. Includes lineages
    /// without checkpoints. Reads no checkpoints. Answers [`Answer::Names`].
    Names { contract: ContractId, prefix: String },
    /// Lists lineages by their last activity. Answers [`Answer::Recent`].
    Recent(Recent),
    /// Unfinished lineages of a contract. Answers [`Answer::Open`].
    Open {
        contract: ContractId,
        /// The maximum number of results. If there are more, the results are sampled evenly from all of them.
        most: usize,
    },
    /// Lists the checkpoints of a lineage with their positions and sizes. Answers [`Answer::Rows`].
    Rows(Rows),
    /// Lists the checkpoints of all contracts in save order. Answers [`Answer::Feed`].
    Feed(Feed),
    /// The forks of the checkpoints of this lineage, the last created first. Answers [`Answer::Lineages`].
    Forks {
        contract: ContractId,
        /// The lineage whose forks are listed.
        lineage: String,
    },
    /// Records of a log. Answers [`Answer::Log`].
    Log(LogRange),
    /// A checkpoint with the records of a log that it names, both from one snapshot. Answers [`Answer::Logged`].
    Logged {
        contract: ContractId,
        pick: Pick,
        /// The log's name. If the checkpoint does not name this log, the answer has no records.
        log: String,
    },
    /// The logs of a lineage and their lengths, sorted by name. No records are read. Answers [`Answer::Logs`].
    Logs { contract: ContractId, lineage: String },
    /// Verifies one page of the stored data. Answers [`Answer::Checked`].
    Check {
        /// The position after the previous page.
        cursor: CheckCursor,
        /// The approximate number of rows to verify.
        limit: usize,
    },
    /// Checks the location and the pages of the store, in at most one second. Reads no payloads or records. Answers
    /// [`Answer::Checked`].
    QuickCheck,
    /// The format of the stored data. Answers [`Answer::Format`].
    Format,
    /// The number and the size of the items that each contract holds. Answers [`Answer::Stats`].
    Stats {
        /// If given, only lineages of this contract are listed.
        contract: Option<ContractId>,
        /// The maximum number of lineages to list by name. The largest lineages are listed.
        largest: usize,
        /// True to count lineages by status. This may take time in proportion to the number of open lineages.
        by_status: bool,
    },
    /// The time on the store's clock. Answers [`Answer::Clock`].
    ///
    /// All processes that use the store must compare times of the same clock. A local store answers with the machine's
    /// clock. A server answers with its own clock.
    Clock,
    /// Counts the checkpoints that applying the rules now, one after the other, would remove. Answers
    /// [`Answer::Pruned`].
    Prunable {
        /// If given, only checkpoints of this contract are counted.
        contract: Option<ContractId>,
        rules: Vec<Rule>,
    },
    /// A page of the checkpoints of all contracts, in save order. Answers [`Answer::Saves`].
    Saves {
        /// The save number after which the page begins. `None` begins with the first checkpoint.
        after: Option<Seq>,
        /// The page ends at the checkpoint that reaches this number of bytes, as [`Saved::weight`] counts them.
        ///
        /// [`Saved::weight`]: crate::record::Saved::weight
        bytes: usize,
    },
    /// A page of the lineages of all contracts, in the order of their creation. Includes lineages that have only logs.
    /// Answers [`Answer::Starts`].
    Starts {
        /// The position after which the page begins. `None` begins with the first lineage.
        after: Option<i64>,
        /// The maximum number of results.
        limit: usize,
    },
    /// The lineage with this name, in the form of [`Query::Starts`]. Answers [`Answer::Starts`], which is empty if the
    /// lineage does not exist.
    Start { contract: ContractId, lineage: String },
    /// A page of the pending writes of all contracts, ordered by contract and id of the checkpoint. Includes writes to
    /// checkpoints that do not exist. Answers [`Answer::Writes`].
    Writes {
        /// The contract and the id after which the page begins. `None` begins with the first checkpoint.
        after: Option<(ContractId, String)>,
        /// The page ends at the checkpoint whose writes reach this number of bytes, as [`Written::weight`] counts them.
        ///
        /// [`Written::weight`]: crate::record::Written::weight
        bytes: usize,
    },
    /// The stretches of records that make up a log, in log order. No records are read. A log that does not exist has
    /// none. Answers [`Answer::LogRuns`].
    LogRuns {
        contract: ContractId,
        lineage: String,
        log: String,
        /// If given, the id of a checkpoint of the lineage: the answer covers the records that this checkpoint names.
        /// `None` covers the current log.
        at: Option<String>,
    },
}

/// Reads a checkpoint and then its ancestors, until each wanted part is found. The checkpoint itself is the first
/// result. All come from one snapshot and contain only the wanted parts and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestors {
    pub contract: ContractId,
    /// The id of the checkpoint to begin with.
    pub id: String,
    /// The stems of the wanted parts (see [`Part::stem`](crate::record::Part::stem)). Only the first checkpoint of the
    /// walk that has a part with a stem returns this part.
    pub stems: Vec<String>,
    /// The names of the writes to read.
    pub writes: Vec<String>,
    /// The maximum number of checkpoints.
    pub limit: usize,
}

/// Records of a log, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    pub contract: ContractId,
    pub lineage: String,
    /// The log's name. A log that does not exist reads as empty.
    pub log: String,
    /// If given, the id of a checkpoint of the lineage: only the records that this checkpoint names are read. `None`
    /// reads the current log.
    pub at: Option<String>,
    /// The end of the log from which `skip` counts.
    pub from: LogSide,
    /// The number of records to skip.
    pub skip: u64,
    /// The maximum number of results.
    pub limit: usize,
}

impl LogRange {
    /// All records of a log.
    pub(crate) fn whole(contract: ContractId, lineage: String, log: &str) -> Self {
        Self { contract, lineage, log: log.to_owned(), at: None, from: LogSide::First, skip: 0, limit: usize::MAX }
    }

    /// All records of a log that a checkpoint names.
    pub(crate) fn kept(contract: ContractId, lineage: &str, log: &str, id: &str) -> Self {
        let (lineage, log, at) = (lineage.to_owned(), log.to_owned(), Some(id.to_owned()));
        Self { contract, lineage, log, at, from: LogSide::First, skip: 0, limit: usize::MAX }
    }
}

/// The end of a log from which to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSide {
    /// `skip` and `limit` count from the oldest record.
    First,
    /// `skip` and `limit` count from the newest record. The answer still lists the records in log order.
    Last,
}

impl LogRange {
    /// Returns the range of positions in a log with this length. The end is exclusive.
    pub(crate) fn positions(&self, length: u64) -> (u64, u64) {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let rest = length.saturating_sub(self.skip);
        match self.from {
            LogSide::First => (length - rest, length - rest + rest.min(limit)),
            LogSide::Last => (rest - rest.min(limit), rest),
        }
    }
}

/// The checkpoint to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Id(String),
    /// The newest checkpoint of this lineage.
    Newest(String),
}
