//! Answers queries, each from one snapshot.

use super::late_index::LateIndexes;
use super::lineage;
use super::logs::Logs;
use super::retention::PostgresCatalog;
use super::row;
use super::transaction::Transaction;
use super::{check, checkpoint, export, listing, open_lineages, page, pipelined, rows, schema, several, stats, writes};
use crate::backend::ancestors;
use crate::backend::logs::{self as log, LogRows, Mark};
use crate::backend::marks::decode_marks;
use crate::cache::PayloadCache;
use crate::error::{Error, Result};
use crate::query::{Answer, Query};
use crate::record::{ContractId, Tuple};
use crate::retention::preview;

/// True if a query is answered in one round trip. The end of its transaction is sent with its statements.
pub(super) fn takes_one_round_trip(query: &Query) -> bool {
    match query {
        Query::All(queries) => queries.iter().all(pipelined::is_pipelined),
        Query::Page(page) => !several::is_of(page),
        Query::Names { .. } | Query::Recent(_) | Query::Open { .. } => true,
        query => pipelined::is_pipelined(query),
    }
}

/// True if a query finds its rows in order by an index, so that its statements may stay prepared.
pub(super) fn is_small(query: &Query) -> bool {
    match query {
        Query::All(queries) => queries.iter().all(is_small),
        Query::Page(page) => !several::is_of(page),
        Query::Rows(wanted) => rows::is_newest(wanted),
        Query::List { .. }
        | Query::Get { .. }
        | Query::Newest { .. }
        | Query::Tuple { .. }
        | Query::Ancestors(_)
        | Query::Count { .. }
        | Query::Names { .. }
        | Query::Log(_)
        | Query::Logged { .. }
        | Query::Logs { .. }
        | Query::Start { .. }
        | Query::Clock => true,
        _ => false,
    }
}

/// Reads from one snapshot of the database.
pub(super) struct Reading<'a> {
    pub(super) open: &'a Transaction<'a>,
    pub(super) cache: &'a PayloadCache,
    pub(super) indexes: &'a LateIndexes,
}

impl Reading<'_> {
    pub(super) fn answer(&self, query: &Query) -> Result<Answer> {
        match query {
            Query::Lineages { contract, group_prefix, before, limit }
                if !group_prefix.is_empty() && self.indexes.has_lineage_groups() =>
            {
                listing::lineages_of_groups(self.open, *contract, group_prefix, *before, *limit).map(Answer::Lineages)
            }
            query if pipelined::is_pipelined(query) => {
                pipelined::answer_all(self.open, self.cache, [query])?.pop().ok_or_else(Error::poisoned)
            }
            Query::All(queries) if queries.iter().all(pipelined::is_pipelined) => {
                pipelined::answer_all(self.open, self.cache, queries).map(Answer::All)
            }
            Query::All(queries) => {
                queries.iter().map(|query| self.answer(query)).collect::<Result<_>>().map(Answer::All)
            }
            Query::Ancestors(walk) => ancestors::walk(walk, |id| self.tuple(walk.contract, id)).map(Answer::Tuples),
            Query::Page(wanted) => {
                page::page(self.open, self.cache, wanted, self.indexes.ready(wanted)).map(Answer::Page)
            }
            Query::Whole { contract, of, prefix } => {
                let rows = listing::oldest(self.open, *contract, of, prefix)?;
                checkpoint::load_all(self.open, self.cache, &rows).map(Answer::Checkpoints)
            }
            Query::Names { contract, prefix } => {
                let found = lineage::with_prefix(self.open, *contract, prefix)?;
                Ok(Answer::Names(found.into_iter().rev().map(|row| row.name).collect()))
            }
            Query::Recent(recent) => listing::recent(self.open, recent).map(Answer::Recent),
            Query::Open { contract, most } => open_lineages::some(self.open, *contract, *most).map(Answer::Open),
            Query::Rows(wanted) => rows::rows(self.open, wanted).map(Answer::Rows),
            Query::Feed(feed) => rows::feed(self.open, feed).map(Answer::Feed),
            Query::Forks { contract, lineage } => match lineage::find(self.open, *contract, lineage)? {
                Some(origin) => listing::forks(self.open, origin.lin).map(Answer::Lineages),
                None => Ok(Answer::Lineages(Vec::new())),
            },
            Query::Check { cursor, limit } => {
                check::page(self.open, self.cache, cursor, *limit).map(|page| Answer::Checked(Box::new(page)))
            }
            // A quick check reads the pages of a file. The server checks its own pages.
            Query::QuickCheck => Ok(Answer::Checked(Box::default())),
            Query::Format => schema::formats(self.open).map(Answer::Format),
            Query::Stats { contract, largest, by_status } => {
                stats::stats(self.open, *contract, *largest, *by_status).map(Answer::Stats)
            }
            Query::Saves { after, bytes } => export::saves(self.open, self.cache, *after, *bytes).map(Answer::Saves),
            Query::Starts { after, limit } => export::starts(self.open, *after, *limit).map(Answer::Starts),
            Query::Writes { after, bytes } => {
                export::all_writes(self.open, after.as_ref(), *bytes, self.cache.largest()).map(Answer::Writes)
            }
            Query::LogRuns { contract, lineage, log, at } => {
                let end = self.mark_of(*contract, lineage, log, at.as_deref())?.and_then(|mark| mark.end);
                log::all_runs(&Logs(self.open), lineage, log, end).map(Answer::LogRuns)
            }
            // Answered above.
            Query::Get { .. }
            | Query::Newest { .. }
            | Query::Tuple { .. }
            | Query::List { .. }
            | Query::Lineages { .. }
            | Query::Count { .. }
            | Query::Log(_)
            | Query::Logged { .. }
            | Query::Logs { .. }
            | Query::Start { .. }
            | Query::Clock => Err(Error::poisoned()),
            Query::Prunable { contract, rules } => {
                preview(&PostgresCatalog::by_index(self.open), *contract, rules).map(Answer::Pruned)
            }
        }
    }

    /// A checkpoint with its pending writes.
    fn tuple(&self, contract: ContractId, id: &str) -> Result<Option<Tuple>> {
        let Some(row) = row::by_id(self.open, contract, id)? else { return Ok(None) };
        let checkpoint = checkpoint::load(self.open, self.cache, row)?;
        Ok(Some(Tuple { checkpoint, writes: writes::of(self.open, contract, id, self.cache.largest())? }))
    }

    /// Returns the end of a log: its current end, or its end in the checkpoint `at`. Returns `None` if the checkpoint
    /// does not exist or does not name the log.
    fn mark_of(&self, contract: ContractId, lineage: &str, log: &str, at: Option<&str>) -> Result<Option<Mark>> {
        let Some(id) = at else {
            let line = lineage::find(self.open, contract, lineage)?;
            let end = line.map(|line| Logs(self.open).head(line.lin, log)).transpose()?.flatten();
            return Ok(Some(Mark { log: log.to_owned(), end }));
        };
        let row = row::by_id(self.open, contract, id)?.filter(|row| row.header.lineage == lineage);
        let marks = row.map(|row| decode_marks(row.logs.as_deref())).transpose()?.unwrap_or_default();
        Ok(marks.into_iter().find(|mark| mark.log == log))
    }
}
