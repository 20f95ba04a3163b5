//! The answers to queries.

use crate::check::CheckPage;
use crate::error::{Code, Error, Result};
use crate::record::{
    Active, Checkpoint, FeedPage, Header, Lineage, LogMark, LogPage, LogRun, Logged, RowPage, Saved, Start, Stats,
    Tuple, Written,
};
use crate::retention::Pruned;

/// The answer of a backend to a [`Query`](super::Query).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One checkpoint, or none.
    Checkpoint(Option<Box<Checkpoint>>),
    /// One checkpoint with its writes, or none.
    Tuple(Option<Box<Tuple>>),
    /// Checkpoints with their writes.
    Tuples(Vec<Tuple>),
    Checkpoints(Vec<Checkpoint>),
    /// The headers of checkpoints.
    Headers(Vec<Header>),
    /// A number of checkpoints.
    Count(u64),
    /// The answers of several queries.
    All(Vec<Answer>),
    /// A page of lineages.
    Lineages(Vec<Lineage>),
    /// A page of lineages, with their last activity.
    Recent(Vec<Active>),
    /// Records of a log. `None` if the checkpoint in the query does not exist or does not name the log.
    Log(Option<LogPage>),
    /// One checkpoint with the records of a log that it names, or none.
    Logged(Option<Box<Logged>>),
    /// The logs of a lineage, with their lengths.
    Logs(Vec<LogMark>),
    /// The result of verifying one page.
    Checked(Box<CheckPage>),
    /// The number and the size of the items that the store holds.
    Stats(Stats),
    /// The number and the size of the checkpoints that would be removed.
    Pruned(Pruned),
    /// A page of checkpoints in save order.
    Saves(Vec<Saved>),
    /// A page of lineages in the order of their creation.
    Starts(Vec<Start>),
    /// A page of pending writes.
    Writes(Vec<Written>),
    /// The runs of a log.
    LogRuns(Vec<LogRun>),
    /// A page of the checkpoints of a lineage.
    Rows(RowPage),
    /// A page of the checkpoints of all contracts in save order.
    Feed(FeedPage),
    /// A time, in ms since the epoch.
    Clock(i64),
}

impl Answer {
    /// Returns the checkpoint. Fails if the answer is of another kind.
    pub fn into_checkpoint(self) -> Result<Option<Box<Checkpoint>>> {
        match self {
            Answer::Checkpoint(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the checkpoint with its writes. Fails if the answer is of another kind.
    pub fn into_tuple(self) -> Result<Option<Box<Tuple>>> {
        match self {
            Answer::Tuple(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the checkpoints with their writes. Fails if the answer is of another kind.
    pub fn into_tuples(self) -> Result<Vec<Tuple>> {
        match self {
            Answer::Tuples(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the checkpoints. Fails if the answer is of another kind.
    pub fn into_checkpoints(self) -> Result<Vec<Checkpoint>> {
        match self {
            Answer::Checkpoints(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the headers. Fails if the answer is of another kind.
    pub fn into_headers(self) -> Result<Vec<Header>> {
        match self {
            Answer::Headers(headers) => Ok(headers),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the number. Fails if the answer is of another kind.
    pub fn into_count(self) -> Result<u64> {
        match self {
            Answer::Count(count) => Ok(count),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the answers of exactly `N` queries. Fails if the answer is of another kind.
    pub fn into_all<const N: usize>(self) -> Result<[Answer; N]> {
        match self {
            Answer::All(all) => <[Answer; N]>::try_from(all).map_err(|all| Answer::All(all).unexpected()),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the lineages. Fails if the answer is of another kind.
    pub fn into_lineages(self) -> Result<Vec<Lineage>> {
        match self {
            Answer::Lineages(lineages) => Ok(lineages),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the lineages with their last activity. Fails if the answer is of another kind.
    pub fn into_recent(self) -> Result<Vec<Active>> {
        match self {
            Answer::Recent(lineages) => Ok(lineages),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the records. Fails if the answer is of another kind.
    pub fn into_log(self) -> Result<Option<LogPage>> {
        match self {
            Answer::Log(page) => Ok(page),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the checkpoint and the records of its log. Fails if the answer is of another kind.
    pub fn into_logged(self) -> Result<Option<Box<Logged>>> {
        match self {
            Answer::Logged(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the logs. Fails if the answer is of another kind.
    pub fn into_logs(self) -> Result<Vec<LogMark>> {
        match self {
            Answer::Logs(logs) => Ok(logs),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the verified page. Fails if the answer is of another kind.
    pub fn into_checked(self) -> Result<CheckPage> {
        match self {
            Answer::Checked(page) => Ok(*page),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the statistics. Fails if the answer is of another kind.
    pub fn into_stats(self) -> Result<Stats> {
        match self {
            Answer::Stats(stats) => Ok(stats),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the number and the size of the checkpoints that would be removed. Fails if the answer is of another
    /// kind.
    pub fn into_pruned(self) -> Result<Pruned> {
        match self {
            Answer::Pruned(pruned) => Ok(pruned),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the page of checkpoints. Fails if the answer is of another kind.
    pub fn into_saves(self) -> Result<Vec<Saved>> {
        match self {
            Answer::Saves(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the page of lineages. Fails if the answer is of another kind.
    pub fn into_starts(self) -> Result<Vec<Start>> {
        match self {
            Answer::Starts(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the page of pending writes. Fails if the answer is of another kind.
    pub fn into_writes(self) -> Result<Vec<Written>> {
        match self {
            Answer::Writes(found) => Ok(found),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the runs of a log. Fails if the answer is of another kind.
    pub fn into_log_runs(self) -> Result<Vec<LogRun>> {
        match self {
            Answer::LogRuns(runs) => Ok(runs),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the page of a lineage's checkpoints. Fails if the answer is of another kind.
    pub fn into_rows(self) -> Result<RowPage> {
        match self {
            Answer::Rows(page) => Ok(page),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the page of the checkpoints of all contracts. Fails if the answer is of another kind.
    pub fn into_feed(self) -> Result<FeedPage> {
        match self {
            Answer::Feed(page) => Ok(page),
            other => Err(other.unexpected()),
        }
    }

    /// Returns the time, in ms since the epoch. Fails if the answer is of another kind.
    pub fn into_clock(self) -> Result<i64> {
        match self {
            Answer::Clock(now) => Ok(now),
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
            Answer::Count(_) => "a number",
            Answer::All(_) => "several answers",
            Answer::Lineages(_) => "lineages",
            Answer::Recent(_) => "lineages by their activity",
            Answer::Log(_) => "records",
            Answer::Logged(_) => "a checkpoint and its records",
            Answer::Logs(_) => "logs",
            Answer::Checked(_) => "the result of a check",
            Answer::Stats(_) => "statistics",
            Answer::Pruned(_) => "a preview of a removal",
            Answer::Saves(_) => "checkpoints in save order",
            Answer::Starts(_) => "lineages with their beginnings",
            Answer::Writes(_) => "pending writes",
            Answer::LogRuns(_) => "the runs of a log",
            Answer::Rows(_) => "a page of a lineage",
            Answer::Feed(_) => "a page of a feed",
            Answer::Clock(_) => "a time",
        };
        Error::new(Code::Unavailable, format!("the backend gave the wrong kind of answer, {kind}: please report this"))
    }
}
