//! Queries whose statements do not depend on each other's answers. Several of them are sent together, and take one round
//! trip.

use tokio_postgres::Row;

use super::key::number;
use super::listing;
use super::point::Point;
use super::row::HeaderRow;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::number::unsigned;
use crate::cache::PayloadCache;
use crate::error::{Error, Result};
use crate::query::{Answer, Query};

/// A query whose statements are sent with the next flight.
enum Asked {
    Point(Point),
    List,
    Lineages,
    Count,
    Clock,
}

/// Returns true if a query may be asked together with others.
pub(super) fn is_asked(query: &Query) -> bool {
    Point::is(query)
        || matches!(query, Query::List { .. } | Query::Lineages { .. } | Query::Count { .. } | Query::Clock)
}

/// Answers queries for which [`is_asked`] is true.
pub(super) fn answer_all<'a>(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    queries: impl IntoIterator<Item = &'a Query>,
) -> Result<Vec<Answer>> {
    let asked: Vec<(Asked, usize)> = queries
        .into_iter()
        .map(|query| {
            let before = open.count();
            let asked = Asked::ask(open, cache, query).ok_or_else(Error::poisoned)?;
            Ok((asked, open.count() - before))
        })
        .collect::<Result<_>>()?;
    let mut found = open.flush()?;
    // The flight may begin with the statement that begins the transaction.
    let statements = asked.iter().map(|(_, count)| count).sum();
    let mut found = found.split_off(found.len().saturating_sub(statements)).into_iter();
    asked.into_iter().map(|(asked, count)| asked.answer(cache, found.by_ref().take(count).collect())).collect()
}

impl Asked {
    fn ask(open: &Transaction<'_>, cache: &PayloadCache, query: &Query) -> Option<Self> {
        match query {
            Query::List { contract, of, before, limit } => {
                listing::ask_newest(open, *contract, of, before.as_ref(), limit.unwrap_or(usize::MAX));
                Some(Self::List)
            }
            Query::Lineages { contract, group_prefix, before, limit } => {
                listing::ask_lineages(open, *contract, group_prefix, *before, *limit);
                Some(Self::Lineages)
            }
            Query::Count { contract, lineage } => {
                let sql = "SELECT count(*) FROM @lineage AS l JOIN @checkpoint AS c USING (lin)
                           WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2";
                open.later(sql, values![number(*contract), lineage]);
                Some(Self::Count)
            }
            Query::Clock => {
                open.later("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", values![]);
                Some(Self::Clock)
            }
            _ => {
                let point = Point::of(query, cache)?;
                point.ask(open);
                Some(Self::Point(point))
            }
        }
    }

    fn answer(self, cache: &PayloadCache, found: Vec<Vec<Row>>) -> Result<Answer> {
        let rows = found.first().map(Vec::as_slice).unwrap_or_default();
        let number = || rows.first().map_or(0, |row| row.get(0));
        match self {
            Self::Point(point) => point.answer(cache, found),
            Self::List => {
                let rows: Vec<HeaderRow> = rows.iter().map(HeaderRow::read).collect::<Result<_>>()?;
                Ok(Answer::Headers(rows.into_iter().map(|row| row.header).collect()))
            }
            Self::Lineages => listing::read_lineages(rows).map(Answer::Lineages),
            Self::Count => Ok(Answer::Count(unsigned(number()))),
            Self::Clock => Ok(Answer::Clock(number())),
        }
    }
}
