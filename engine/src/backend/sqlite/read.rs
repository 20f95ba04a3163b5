//! Answers queries with SQL statements. An index finds the numbers of the rows. Each row is then read by its number
//! and verified.

use std::cmp::Reverse;
use std::ops::Deref;

use rusqlite::Connection;

use super::changes::Changes;
use super::lineage::{self, LineageRow};
use super::listing::{self, Walk};
use super::logs::Logs;
use super::meta_index::MetaIndex;
use super::retention::SqliteCatalog;
use super::row::{self, HeaderRow};
use super::schema::{self, LateIndex};
use super::statement::execute;
use super::stats::stats;
use super::{begun, check, export, open_lineages, page, payloads, quick_check, recent, rows, several, steps, writes};
use crate::backend::ancestors;
use crate::backend::clock::machine_clock;
use crate::backend::logs::{self as log, Mark};
use crate::backend::marks::decode_marks;
use crate::cache::PayloadCache;
use crate::error::{Code, Error, Result};
use crate::query::{Answer, LogRange, MetaFilter, Of, Page, Pick, Query, Recent};
use crate::record::{Checkpoint, ContractId, Lineage, LogPage, Logged, Tuple};
use crate::retention::preview;

/// A read transaction. Dropping it ends it. Its statements are kept prepared, because parsing them would take much of
/// the time of a small read.
struct Snapshot<'a>(&'a Connection);

impl<'a> Snapshot<'a> {
    fn begin(connection: &'a Connection) -> Result<Self> {
        execute(connection, "BEGIN", [])?;
        Ok(Self(connection))
    }
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // An error may have ended the transaction already.
        if !self.0.is_autocommit() {
            let _ = execute(self.0, "ROLLBACK", []);
        }
    }
}

/// Answers queries one after the other, from one snapshot. Each has its own outcome.
pub(super) fn answer_all(
    connection: &Connection,
    changes: Changes,
    cache: &PayloadCache,
    queries: &[Query],
    tell: &mut dyn FnMut(Result<Answer>),
) {
    let mut snapshot = None;
    for query in queries {
        let answer = steps::within(connection, || {
            let open = with_indexes(connection, snapshot.take(), query)?;
            Reading { connection: snapshot.insert(open), changes, cache }.answer(query)
        });
        tell(answer);
    }
}

/// Returns a snapshot of a database that has the indexes that a query needs.
fn with_indexes<'a>(connection: &'a Connection, open: Option<Snapshot<'a>>, query: &Query) -> Result<Snapshot<'a>> {
    let mut snapshot = open.map_or_else(|| Snapshot::begin(connection), Ok)?;
    for index in needed(&snapshot, query)? {
        if !index.exists(&snapshot)? {
            // Building the index writes to the database, so end the snapshot before and begin a new one afterwards.
            drop(snapshot);
            index.build(connection)?;
            snapshot = Snapshot::begin(connection)?;
        }
    }
    Ok(snapshot)
}

/// Answers a query of a database that must not be changed. Reads more rows if an index is missing.
pub(super) fn answer_unchanged(
    connection: &Connection,
    changes: Changes,
    cache: &PayloadCache,
    query: &Query,
) -> Result<Answer> {
    let snapshot = Snapshot::begin(connection)?;
    steps::within(connection, || Reading { connection: &snapshot, changes, cache }.answer(query))
}

/// The maximum size of a payload for an answer on the calling thread, in bytes.
const AT_ONCE_BYTES: usize = 32 << 10;

/// Answers a query whose answer takes little work.
///
/// # Errors
///
/// After any error, the query must be answered in another way.
pub(super) fn answer_at_once(
    connection: &Connection,
    changes: Changes,
    cache: &PayloadCache,
    query: &Query,
) -> Result<Answer> {
    let too_much = || Error::new(Code::Unavailable, "the query takes too much work");
    if !takes_little(query) {
        return Err(too_much());
    }
    let snapshot = Snapshot::begin(connection)?;
    steps::within_little(connection, || {
        for index in needed(&snapshot, query)? {
            if !index.exists(&snapshot)? {
                return Err(too_much());
            }
        }
        Reading { connection: &snapshot, changes, cache: &cache.clone().up_to(AT_ONCE_BYTES) }.answer(query)
    })
}

/// Returns true if the query looks up a few rows by an index, as most calls do.
fn takes_little(query: &Query) -> bool {
    match query {
        Query::Get { .. }
        | Query::Newest { .. }
        | Query::Tuple { .. }
        | Query::List { .. }
        | Query::Whole { .. }
        | Query::Count { .. }
        | Query::Log(_)
        | Query::Logged { .. }
        | Query::Logs { .. } => true,
        Query::Page(page) => page.filter.is_none(),
        Query::All(queries) => queries.iter().all(takes_little),
        _ => false,
    }
}

/// Returns true if the query may read a part of every row.
pub(super) fn takes_long(connection: &Connection, query: &Query) -> bool {
    match query {
        Query::Stats { largest, .. } => *largest > 0,
        Query::Prunable { .. } => true,
        Query::All(queries) => queries.iter().any(|query| takes_long(connection, query)),
        // The query itself reports a failure.
        Query::Page(page) if page.filter.is_some() => several::has_several(connection, page).unwrap_or(false),
        _ => false,
    }
}

/// Returns the late indexes that the query needs.
fn needed(connection: &Connection, query: &Query) -> Result<Vec<LateIndex>> {
    let (contract, of) = match query {
        Query::Page(Page { of: Of::Contract, filter: Some(MetaFilter { key: Some(key), .. }), .. }) => {
            return Ok(vec![LateIndex::Meta(MetaIndex::of(key))]);
        }
        Query::List { contract, of, .. }
        | Query::Whole { contract, of, .. }
        | Query::Count { contract, of }
        | Query::Page(Page { contract, of, .. }) => (contract, of),
        Query::Forks { .. } => return Ok(vec![LateIndex::Forks]),
        Query::Lineages { group_prefix, .. } if !group_prefix.is_empty() => {
            let is_worth_it = begun::is_worth_an_index(connection)?;
            return Ok(if is_worth_it { vec![LateIndex::LineageGroups] } else { Vec::new() });
        }
        Query::All(queries) => {
            let each = queries.iter().map(|query| needed(connection, query));
            return Ok(each.collect::<Result<Vec<_>>>()?.concat());
        }
        _ => return Ok(Vec::new()),
    };
    Ok(match of {
        Of::Group(_) => vec![LateIndex::Groups],
        Of::Contract if listing::is_alone(connection, *contract)? => vec![LateIndex::Order],
        _ => Vec::new(),
    })
}

/// Reads from one snapshot of the database.
struct Reading<'a> {
    connection: &'a Connection,
    changes: Changes,
    cache: &'a PayloadCache,
}

impl Reading<'_> {
    // Not inlined, because two copies would make the addon larger.
    #[inline(never)]
    fn answer(&self, query: &Query) -> Result<Answer> {
        let snapshot = self.connection;
        match query {
            Query::All(queries) => {
                queries.iter().map(|query| self.answer(query)).collect::<Result<_>>().map(Answer::All)
            }
            Query::Count { contract, of } => listing::count(snapshot, *contract, of).map(Answer::Count),
            Query::Get { contract, id } => Ok(Answer::Checkpoint(self.get(*contract, id)?.map(Box::new))),
            Query::Newest { contract, lineage, label } => {
                Ok(Answer::Checkpoint(self.newest(*contract, lineage, label.as_deref())?.map(Box::new)))
            }
            Query::Tuple { contract, pick } => {
                let checkpoint = self.pick(*contract, pick)?;
                Ok(Answer::Tuple(self.tuple(*contract, checkpoint)?.map(Box::new)))
            }
            Query::Ancestors(walk) => {
                let get = |id: &str| self.tuple(walk.contract, self.get(walk.contract, id)?);
                ancestors::walk(walk, get).map(Answer::Tuples)
            }
            // A single statement is enough for the newest checkpoint.
            Query::List { contract, of: Of::Lineage(name), before: None, limit: Some(1) } => {
                let newest = row::newest(snapshot, *contract, name, None)?;
                Ok(Answer::Headers(newest.into_iter().map(|row| row.header).collect()))
            }
            Query::List { contract, of, before, limit } => {
                let walk = Walk::Newest { before: before.as_ref(), limit: limit.unwrap_or(usize::MAX) };
                let rows = listing::rows(snapshot, *contract, of, &walk)?;
                Ok(Answer::Headers(rows.into_iter().map(|row| row.header).collect()))
            }
            Query::Page(wanted) => page::page(snapshot, self.cache, wanted).map(Answer::Page),
            Query::Whole { contract, of, prefix } => self.whole(*contract, of, prefix).map(Answer::Checkpoints),
            Query::Lineages { contract, group_prefix, before, limit } => {
                self.lineages(*contract, group_prefix, *before, *limit).map(Answer::Lineages)
            }
            Query::Names { contract, prefix } => {
                let mut found = lineage::with_prefix(snapshot, *contract, prefix)?;
                found.sort_unstable_by_key(|row| Reverse(row.lin));
                Ok(Answer::Names(found.into_iter().map(|row| row.name).collect()))
            }
            Query::Recent(recent) => self.recent(recent).map(Answer::Recent),
            Query::Open { contract, most } => open_lineages::some(snapshot, *contract, *most).map(Answer::Open),
            Query::Rows(wanted) => rows::rows(snapshot, wanted).map(Answer::Rows),
            Query::Feed(feed) => rows::feed(snapshot, self.changes, feed).map(Answer::Feed),
            Query::Forks { contract, lineage } => self.forks(*contract, lineage).map(Answer::Lineages),
            Query::Log(range) => self.log(range).map(Answer::Log),
            Query::Logged { contract, pick, log } => {
                let Some(checkpoint) = self.pick(*contract, pick)? else { return Ok(Answer::Logged(None)) };
                let header = &checkpoint.header;
                let page = self.log(&LogRange::kept(*contract, &header.lineage, log, &header.id))?;
                let records = page.unwrap_or_default().records;
                Ok(Answer::Logged(Some(Box::new(Logged { checkpoint, records }))))
            }
            Query::Logs { contract, lineage } => {
                let found = lineage::find(snapshot, *contract, lineage)?;
                let logs = found.map(|row| log::list(&Logs::new(snapshot), row.lin)).transpose()?;
                Ok(Answer::Logs(logs.unwrap_or_default()))
            }
            Query::Saves { after, bytes } => export::saves(snapshot, self.cache, *after, *bytes).map(Answer::Saves),
            Query::Starts { after, limit } => export::starts(snapshot, *after, *limit).map(Answer::Starts),
            Query::Start { contract, lineage } => match lineage::find(snapshot, *contract, lineage)? {
                Some(row) => export::starts(snapshot, Some(row.lin - 1), 1).map(Answer::Starts),
                None => Ok(Answer::Starts(Vec::new())),
            },
            Query::Writes { after, bytes } => {
                export::writes(snapshot, after.as_ref(), *bytes, self.cache.largest()).map(Answer::Writes)
            }
            Query::LogRuns { contract, lineage, log, at } => {
                let end = self.mark_of(*contract, lineage, log, at.as_deref())?.and_then(|mark| mark.end);
                log::all_runs(&Logs::new(snapshot), lineage, log, end).map(Answer::LogRuns)
            }
            Query::Check { cursor, limit } => {
                check::page(snapshot, self.cache, cursor, *limit).map(|page| Answer::Checked(Box::new(page)))
            }
            Query::QuickCheck => quick_check::quick_check(snapshot).map(|page| Answer::Checked(Box::new(page))),
            Query::Stats { contract, largest, by_status } => {
                stats(snapshot, *contract, *largest, *by_status).map(Answer::Stats)
            }
            Query::Format => schema::formats(snapshot).map(|found| Answer::Format(Some(found))),
            Query::Clock => Ok(Answer::Clock(machine_clock())),
            Query::Prunable { contract, rules } => {
                preview(&SqliteCatalog(snapshot), *contract, rules).map(Answer::Pruned)
            }
        }
    }

    fn get(&self, contract: ContractId, id: &str) -> Result<Option<Checkpoint>> {
        let row = row::by_id(self.connection, contract, id)?;
        row.map(|row| payloads::checkpoint(self.connection, self.cache, row)).transpose()
    }

    fn pick(&self, contract: ContractId, pick: &Pick) -> Result<Option<Checkpoint>> {
        match pick {
            Pick::Id(id) => self.get(contract, id),
            Pick::Newest(lineage) => self.newest(contract, lineage, None),
        }
    }

    fn newest(&self, contract: ContractId, name: &str, label: Option<&str>) -> Result<Option<Checkpoint>> {
        let row = row::newest(self.connection, contract, name, label)?;
        row.map(|row| payloads::checkpoint(self.connection, self.cache, row)).transpose()
    }

    /// Adds the pending writes of a checkpoint.
    fn tuple(&self, contract: ContractId, checkpoint: Option<Checkpoint>) -> Result<Option<Tuple>> {
        let Some(checkpoint) = checkpoint else { return Ok(None) };
        let writes = writes::of(self.connection, contract, &checkpoint.header.id, self.cache.largest())?;
        Ok(Some(Tuple { checkpoint, writes }))
    }

    fn whole(&self, contract: ContractId, of: &Of, prefix: &[u8]) -> Result<Vec<Checkpoint>> {
        // A payload is usually a delta against the previous one, so cache all of this answer. This takes no extra
        // memory, because the answer contains them anyway.
        let cache = self.cache.separate(usize::MAX);
        let rows = listing::rows(self.connection, contract, of, &Walk::Oldest { prefix })?;
        rows.into_iter().map(|row| payloads::checkpoint(self.connection, &cache, row)).collect()
    }

    fn lineages(
        &self,
        contract: ContractId,
        group_prefix: &str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Lineage>> {
        let mut found: Vec<Lineage> = Vec::new();
        begun::newest_first(self.connection, contract, group_prefix, before.unwrap_or(i64::MAX), |row| {
            // In damaged pages, a scan may visit a row twice.
            if found.last().is_some_and(|before| before.position <= row.lin) {
                return Err(row::index_damaged(&format!("run number {}", row.lin)));
            }
            if found.len() < limit {
                found.extend(self.lineage(row)?);
            }
            Ok(found.len() >= limit)
        })?;
        Ok(found)
    }

    fn recent(&self, wanted: &Recent) -> Result<Vec<Lineage>> {
        let found = recent::lineages(self.connection, wanted)?;
        let shown = found.into_iter().map(|(seq, row)| {
            let lin = row.lin;
            let damaged = || row::index_damaged(&format!("run number {lin}"));
            let newest = row::read(self.connection, seq)?.filter(|row| row.lin == lin).ok_or_else(damaged)?;
            self.shown(row, newest)
        });
        shown.collect()
    }

    fn forks(&self, contract: ContractId, lineage: &str) -> Result<Vec<Lineage>> {
        let Some(origin) = lineage::find(self.connection, contract, lineage)? else { return Ok(Vec::new()) };
        let forks = lineage::began_from(self.connection, origin.lin)?;
        let mut found = Vec::with_capacity(forks.len());
        for lin in forks {
            let row = lineage::read(self.connection, lin)?
                .filter(|row| row.origin.as_ref().is_some_and(|from| from.lin == origin.lin))
                .ok_or_else(|| row::index_damaged(&format!("forks of {lineage:?}")))?;
            found.extend(self.lineage(row)?);
        }
        Ok(found)
    }

    /// A lineage with its newest header and its number of checkpoints, for a listing. Returns `None` if the lineage has
    /// no checkpoint.
    fn lineage(&self, row: LineageRow) -> Result<Option<Lineage>> {
        let newest = listing::newest_row(self.connection, row.lin)?;
        newest.map(|newest| self.shown(row, newest)).transpose()
    }

    fn shown(&self, row: LineageRow, newest: HeaderRow) -> Result<Lineage> {
        let checkpoints = SqliteCatalog(self.connection).count(row.lin)?;
        let (origin, status) = (row.origin.map(|origin| origin.id), row.status);
        Ok(Lineage { position: row.lin, checkpoints, newest: newest.header, seq: newest.seq, origin, status })
    }

    fn log(&self, range: &LogRange) -> Result<Option<LogPage>> {
        let mark = self.mark_of(range.contract, &range.lineage, &range.log, range.at.as_deref())?;
        mark.map(|mark| log::read(&Logs::new(self.connection), mark.end, range, self.cache.largest())).transpose()
    }

    /// Returns the end of a log: its current end, or its end in the checkpoint `at`. Returns `None` if the checkpoint
    /// does not exist or does not name the log.
    fn mark_of(&self, contract: ContractId, lineage: &str, log: &str, at: Option<&str>) -> Result<Option<Mark>> {
        let Some(id) = at else {
            let found = lineage::find(self.connection, contract, lineage)?;
            let head = |row: LineageRow| log::LogRows::head(&Logs::new(self.connection), row.lin, log);
            return Ok(Some(Mark { log: log.to_owned(), end: found.map(head).transpose()?.flatten() }));
        };
        let row = row::by_id(self.connection, contract, id)?.filter(|row| row.header.lineage == lineage);
        let marks = row.map(|row| decode_marks(row.logs.as_deref())).transpose()?.unwrap_or_default();
        Ok(marks.into_iter().find(|mark| mark.log == log))
    }
}
