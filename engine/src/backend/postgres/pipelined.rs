//! Queries whose statements do not depend on each other's answers. Several such queries are sent together, in one round
//! trip.

use tokio_postgres::Row;

use super::clock;
use super::export;
use super::listing;
use super::log_read;
use super::point::Point;
use super::row::HeaderRow;
use super::rows;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::number::unsigned;
use crate::cache::PayloadCache;
use crate::error::{Error, Result};
use crate::query::{Answer, LogRange, Pick, Query, Rows};
use crate::record::Logged;

/// A query whose statements are sent with the next round trip.
enum Pipelined<'a> {
    Point(Point),
    Log(&'a LogRange),
    /// A checkpoint, and its records of this log.
    Logged(Point, &'a str),
    Logs,
    List,
    Lineages,
    Count,
    Rows(&'a Rows),
    Start,
    Clock,
}

/// Returns true if a query can be pipelined with others.
pub(super) fn is_pipelined(query: &Query) -> bool {
    Point::is(query)
        || matches!(
            query,
            Query::List { .. }
                | Query::Lineages { .. }
                | Query::Count { .. }
                | Query::Clock
                | Query::Log(_)
                | Query::Logged { .. }
                | Query::Logs { .. }
                | Query::Start { .. }
        )
        || matches!(query, Query::Rows(wanted) if rows::is_newest(wanted))
}

/// Answers queries for which [`is_pipelined`] is true.
pub(super) fn answer_all<'a>(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    queries: impl IntoIterator<Item = &'a Query>,
) -> Result<Vec<Answer>> {
    let pipelined: Vec<(Pipelined<'_>, usize)> = queries
        .into_iter()
        .map(|query| {
            let before = open.count();
            let pipelined = Pipelined::ask(open, cache, query).ok_or_else(Error::poisoned)?;
            Ok((pipelined, open.count() - before))
        })
        .collect::<Result<_>>()?;
    let mut found = open.flush()?;
    // The answers may begin with that of the statement that begins the transaction.
    let statements = pipelined.iter().map(|(_, count)| count).sum();
    let mut found = found.split_off(found.len().saturating_sub(statements)).into_iter();
    pipelined
        .into_iter()
        .map(|(pipelined, count)| pipelined.answer(cache, found.by_ref().take(count).collect()))
        .collect()
}

impl<'a> Pipelined<'a> {
    fn ask(open: &Transaction<'_>, cache: &PayloadCache, query: &'a Query) -> Option<Self> {
        match query {
            Query::Log(range) => {
                log_read::ask(open, range);
                Some(Self::Log(range))
            }
            Query::Logged { contract, pick, log } => {
                let contract = *contract;
                let query = match pick {
                    Pick::Id(id) => Query::Get { contract, id: id.clone() },
                    Pick::Newest(lineage) => Query::Newest { contract, lineage: lineage.clone(), label: None },
                };
                let point = Point::of(&query, cache)?;
                point.ask(open);
                log_read::ask_kept(open, contract, pick, log);
                Some(Self::Logged(point, log))
            }
            Query::Logs { contract, lineage } => {
                log_read::ask_list(open, *contract, lineage);
                Some(Self::Logs)
            }
            Query::List { contract, of, before, limit } => {
                listing::ask_newest(open, *contract, of, before.as_ref(), limit.unwrap_or(usize::MAX));
                Some(Self::List)
            }
            Query::Lineages { contract, group_prefix, before, limit } => {
                listing::ask_lineages(open, *contract, group_prefix, *before, *limit);
                Some(Self::Lineages)
            }
            Query::Count { contract, of } => {
                listing::ask_count(open, *contract, of);
                Some(Self::Count)
            }
            Query::Rows(wanted) => {
                rows::ask_newest(open, wanted);
                Some(Self::Rows(wanted))
            }
            Query::Start { contract, lineage } => {
                export::ask_start(open, *contract, lineage);
                Some(Self::Start)
            }
            Query::Clock => {
                open.later(clock::NOW, values![]);
                Some(Self::Clock)
            }
            _ => {
                let point = Point::of(query, cache)?;
                point.ask(open);
                Some(Self::Point(point))
            }
        }
    }

    fn answer(self, cache: &PayloadCache, mut found: Vec<Vec<Row>>) -> Result<Answer> {
        if let Self::Logged(point, log) = self {
            let logs = found.split_off(found.len().saturating_sub(2));
            let records = match (found.first().and_then(|rows| rows.first()), &logs[..]) {
                (Some(row), [branches, records]) => log_read::read_kept(row, log, branches, records, cache.largest()),
                _ => Ok(Vec::new()),
            };
            // If the checkpoint is damaged too, report that first.
            let checkpoint = point.answer(cache, found)?.into_checkpoint()?;
            let records = records?;
            let logged = checkpoint.map(|checkpoint| Box::new(Logged { checkpoint: *checkpoint, records }));
            return Ok(Answer::Logged(logged));
        }
        let rows = found.first().map(Vec::as_slice).unwrap_or_default();
        let number = || rows.first().map_or(0, |row| row.get(0));
        match self {
            Self::Point(point) => point.answer(cache, found),
            Self::Log(range) => log_read::read(range, &found, cache.largest()).map(Answer::Log),
            Self::Logs => log_read::read_list(rows).map(Answer::Logs),
            Self::Logged(..) => Err(Error::poisoned()),
            Self::List => {
                let rows: Vec<HeaderRow> = rows.iter().map(HeaderRow::read).collect::<Result<_>>()?;
                Ok(Answer::Headers(rows.into_iter().map(|row| row.header).collect()))
            }
            Self::Lineages => listing::read_lineages(rows).map(Answer::Lineages),
            Self::Count => Ok(Answer::Count(unsigned(number()))),
            Self::Rows(wanted) => rows::read_newest(wanted, rows).map(Answer::Rows),
            Self::Start => rows.iter().map(export::read_start).collect::<Result<_>>().map(Answer::Starts),
            Self::Clock => Ok(Answer::Clock(number())),
        }
    }
}
