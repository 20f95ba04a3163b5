//! The answers to queries.

use crate::check::CheckPage;
use crate::error::{Code, Error, Result};
use crate::record::{
    Checkpoint, FeedPage, Formats, Header, Lineage, LogMark, LogPage, LogRun, Logged, OpenLineages, RowPage, Saved,
    Start, Stats, Tuple, TuplePage, Written,
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
    /// A page of checkpoints with their writes.
    Page(TuplePage),
    Headers(Vec<Header>),
    /// A number of checkpoints.
    Count(u64),
    /// The answers of several queries.
    All(Vec<Answer>),
    /// A page of lineages.
    Lineages(Vec<Lineage>),
    /// Names of lineages.
    Names(Vec<String>),
    /// A page of lineages, with their last activity.
    Recent(Vec<Lineage>),
    /// Lineages that are not finished, or some of them.
    Open(OpenLineages),
    /// Records of a log. `None` if the checkpoint in the query does not exist or does not name the log.
    Log(Option<LogPage>),
    /// One checkpoint with the records of a log that it names, or none.
    Logged(Option<Box<Logged>>),
    /// The logs of a lineage, with their lengths.
    Logs(Vec<LogMark>),
    /// The result of verifying one page.
    Checked(Box<CheckPage>),
    /// The number and the size of the stored items.
    Stats(Stats),
    /// The number and the size of the checkpoints that would be removed.
    Pruned(Pruned),
    /// A page of checkpoints in save order.
    Saves(Vec<Saved>),
    /// A page of lineages in the order of their creation.
    Starts(Vec<Start>),
    /// A page of pending writes.
    Writes(Vec<Written>),
    LogRuns(Vec<LogRun>),
    /// A page of the checkpoints of a lineage.
    Rows(RowPage),
    /// A page of the checkpoints of all contracts in save order.
    Feed(FeedPage),
    /// A time, in ms since the epoch.
    Clock(i64),
    /// The format of the stored data. `None` for a store in memory.
    Format(Option<Formats>),
}

/// Each function returns the content of one kind of answer. It fails if the answer is of another kind.
impl Answer {
    pub fn into_checkpoint(self) -> Result<Option<Box<Checkpoint>>> {
        let Answer::Checkpoint(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_tuple(self) -> Result<Option<Box<Tuple>>> {
        let Answer::Tuple(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_tuples(self) -> Result<Vec<Tuple>> {
        let Answer::Tuples(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_checkpoints(self) -> Result<Vec<Checkpoint>> {
        let Answer::Checkpoints(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_page(self) -> Result<TuplePage> {
        let Answer::Page(page) = self else { return Err(wrong_kind()) };
        Ok(page)
    }

    pub fn into_headers(self) -> Result<Vec<Header>> {
        let Answer::Headers(headers) = self else { return Err(wrong_kind()) };
        Ok(headers)
    }

    pub fn into_count(self) -> Result<u64> {
        let Answer::Count(count) = self else { return Err(wrong_kind()) };
        Ok(count)
    }

    /// Returns the answers of [`Query::All`](super::Query::All).
    pub fn into_list(self) -> Result<Vec<Answer>> {
        let Answer::All(all) = self else { return Err(wrong_kind()) };
        Ok(all)
    }

    /// Returns the answers of exactly `N` queries.
    pub fn into_all<const N: usize>(self) -> Result<[Answer; N]> {
        <[Answer; N]>::try_from(self.into_list()?).map_err(|_| wrong_kind())
    }

    /// The position of the lineage that [`Query::Start`](super::Query::Start) found.
    pub fn into_position(self) -> Result<Option<i64>> {
        Ok(self.into_starts()?.first().map(|start| start.position))
    }

    pub fn into_lineages(self) -> Result<Vec<Lineage>> {
        let Answer::Lineages(lineages) = self else { return Err(wrong_kind()) };
        Ok(lineages)
    }

    pub fn into_names(self) -> Result<Vec<String>> {
        let Answer::Names(names) = self else { return Err(wrong_kind()) };
        Ok(names)
    }

    pub fn into_recent(self) -> Result<Vec<Lineage>> {
        let Answer::Recent(lineages) = self else { return Err(wrong_kind()) };
        Ok(lineages)
    }

    pub fn into_open(self) -> Result<OpenLineages> {
        let Answer::Open(open) = self else { return Err(wrong_kind()) };
        Ok(open)
    }

    pub fn into_log(self) -> Result<Option<LogPage>> {
        let Answer::Log(page) = self else { return Err(wrong_kind()) };
        Ok(page)
    }

    pub fn into_logged(self) -> Result<Option<Box<Logged>>> {
        let Answer::Logged(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_logs(self) -> Result<Vec<LogMark>> {
        let Answer::Logs(logs) = self else { return Err(wrong_kind()) };
        Ok(logs)
    }

    pub fn into_checked(self) -> Result<CheckPage> {
        let Answer::Checked(page) = self else { return Err(wrong_kind()) };
        Ok(*page)
    }

    pub fn into_stats(self) -> Result<Stats> {
        let Answer::Stats(stats) = self else { return Err(wrong_kind()) };
        Ok(stats)
    }

    pub fn into_pruned(self) -> Result<Pruned> {
        let Answer::Pruned(pruned) = self else { return Err(wrong_kind()) };
        Ok(pruned)
    }

    pub fn into_saves(self) -> Result<Vec<Saved>> {
        let Answer::Saves(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_starts(self) -> Result<Vec<Start>> {
        let Answer::Starts(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_writes(self) -> Result<Vec<Written>> {
        let Answer::Writes(found) = self else { return Err(wrong_kind()) };
        Ok(found)
    }

    pub fn into_log_runs(self) -> Result<Vec<LogRun>> {
        let Answer::LogRuns(runs) = self else { return Err(wrong_kind()) };
        Ok(runs)
    }

    pub fn into_rows(self) -> Result<RowPage> {
        let Answer::Rows(page) = self else { return Err(wrong_kind()) };
        Ok(page)
    }

    pub fn into_feed(self) -> Result<FeedPage> {
        let Answer::Feed(page) = self else { return Err(wrong_kind()) };
        Ok(page)
    }

    pub fn into_format(self) -> Result<Option<Formats>> {
        let Answer::Format(format) = self else { return Err(wrong_kind()) };
        Ok(format)
    }

    pub fn into_clock(self) -> Result<i64> {
        let Answer::Clock(now) = self else { return Err(wrong_kind()) };
        Ok(now)
    }
}

fn wrong_kind() -> Error {
    Error::new(Code::Unavailable, "the backend gave the wrong kind of answer: please report this")
}
