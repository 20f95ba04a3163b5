//! The indexes of keys of the metadata: the checkpoints by the value that the key has, in their order. A query that asks
//! for such an index builds it.
//!
//! The server computes the entries with the function `meta_value`. An entry is empty if the meta may have the value in
//! another form, and null if the meta lacks the key.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::names::Names;
use super::session::{Session, UNTIL_CLOSED};
use super::value::Value;
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::query::{MetaKey, Of, Page, Query};

/// How long a store does without an index that could not be built, before it looks for the index again.
const AGAIN: Duration = Duration::from_secs(60);

/// What the connections of a store know of the indexes in the database.
#[derive(Debug, Default)]
pub(super) struct MetaIndexes(Mutex<HashMap<String, State>>);

#[derive(Clone, Copy, Debug)]
enum State {
    Ready,
    /// The database lacked the index at this time.
    Missing(Instant),
}

/// Returns the key for which a query asks for an index.
fn key(query: &Query) -> Option<&MetaKey> {
    match query {
        Query::Page(page) => of_page(page),
        _ => None,
    }
}

fn of_page(page: &Page) -> Option<&MetaKey> {
    page.filter.as_ref().filter(|_| page.of == Of::Contract)?.key.as_deref()
}

/// The name of an index. A name of Postgres is too short for some keys, so it has a hash of the key. If two keys ever had the same
/// hash, the server would read the rows instead, because it compares what an index contains.
fn name(key: &MetaKey) -> String {
    format!("checkpoint_meta_{:016x}", Sum::new().bytes(&key.begins).text(&key.key).finish())
}

/// The SQL of an entry. It has no characters but ASCII, so that it means the same in a database of any encoding.
fn entry(key: &MetaKey, column: &str) -> String {
    format!("@meta_value({column}, {}, {})", bytes(&key.begins), bytes(key.key.as_bytes()))
}

fn bytes(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("decode('{digits}', 'hex')")
}

/// A part of an index: the entries that are equal to an SQL expression.
pub(super) fn part(names: &Names, key: &MetaKey, equal_to: &str) -> String {
    names.fill(&format!("@checkpoint AS c WHERE c.contract = $1 AND {} = {equal_to}", entry(key, "c.meta")))
}

impl MetaIndexes {
    fn known(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key by whose index a page is found.
    pub(super) fn ready<'a>(&self, page: &'a Page) -> Option<&'a MetaKey> {
        of_page(page).filter(|key| matches!(self.known().get(&name(key)), Some(State::Ready)))
    }

    /// Returns true if a query asks for an index that should be looked for, and built if it is missing.
    pub(super) fn lacks(&self, query: &Query) -> bool {
        key(query).is_some_and(|key| match self.known().get(&name(key)) {
            Some(State::Ready) => false,
            Some(State::Missing(since)) => since.elapsed() > AGAIN,
            None => true,
        })
    }

    /// Looks for the index that a query lacks, and builds it. A query can do without the index, so no failure is an error.
    pub(super) fn find(&self, session: &Session, query: &Query, builds: bool) {
        let Some(key) = key(query).filter(|_| self.lacks(query)) else { return };
        let is_ready = find(session, key, builds).unwrap_or(false);
        let state = if is_ready { State::Ready } else { State::Missing(Instant::now()) };
        self.known().insert(name(key), state);
    }
}

/// Parameters: the names of the table and of the index. Only the owner of the table may build the index. Another process that
/// builds an index holds a lock on the table.
const LOOK: &str = "SELECT i.indisvalid,
      pg_has_role(t.relowner, 'USAGE') AND has_schema_privilege(t.relnamespace, 'CREATE') AND NOT pg_is_in_recovery()
        AND NOT current_setting('default_transaction_read_only')::bool,
      EXISTS (SELECT FROM pg_locks AS o WHERE o.relation = t.oid AND o.mode = 'ShareUpdateExclusiveLock' AND o.granted
              AND o.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    FROM pg_class AS t LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass($2) WHERE t.oid = to_regclass($1)";

/// What the database has of an index.
#[derive(Clone, Copy)]
enum Found {
    Ready,
    /// Somebody builds it, or this role may not.
    NotForUs,
    Missing,
    /// A build was cut off. The server keeps what it has built, and does not use it.
    Broken,
}

fn look(session: &Session, name: &str) -> Result<Found> {
    let named = ["checkpoint", name].map(|name| Value::Text(session.names.table(name)));
    let found = session.query(LOOK, named.to_vec())?;
    let Some(row) = found.first() else { return Ok(Found::NotForUs) };
    let (is_valid, is_allowed, is_locked) = (row.get::<_, Option<bool>>(0), row.get::<_, bool>(1), row.get(2));
    Ok(match is_valid {
        Some(true) => Found::Ready,
        _ if !is_allowed => Found::NotForUs,
        Some(false) if is_locked => Found::NotForUs,
        Some(false) => Found::Broken,
        None => Found::Missing,
    })
}

/// Returns true if the database has the index, or has got it now.
fn find(session: &Session, key: &MetaKey, builds: bool) -> Result<bool> {
    let name = name(key);
    let found = look(session, &name)?;
    if !builds || matches!(found, Found::Ready | Found::NotForUs) {
        return Ok(matches!(found, Found::Ready));
    }
    // A build waits for the transactions that are under way. Half of the time that the call has is left for the list.
    let patience = session.left_here() / 2;
    if !session.is_direct() {
        return build(session, key, &name, found, patience);
    }
    session.run(&format!("SET lock_timeout = {}", patience.as_millis().max(1)), UNTIL_CLOSED)?;
    let built = build(session, key, &name, found, UNTIL_CLOSED);
    session.run("RESET lock_timeout", UNTIL_CLOSED)?;
    built
}

/// Builds an index while saves go on. That takes no transaction, so a build that fails leaves a part of the index, which is
/// dropped. If two processes build the index at the same time, one of them waits for the other, and fails if that takes too
/// long.
fn build(session: &Session, key: &MetaKey, name: &str, found: Found, patience: Duration) -> Result<bool> {
    let drop = || session.run(&format!("DROP INDEX CONCURRENTLY IF EXISTS @{name}"), patience);
    if matches!(found, Found::Broken) {
        drop()?;
    }
    let entry = entry(key, "meta");
    let built = session.run(
        &format!(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS @-{name} ON @checkpoint (contract, {entry}, substr(sort_key, 1, 1000), seq)
             WHERE {entry} IS NOT NULL"
        ),
        patience,
    );
    let found = look(session, name)?;
    if built.is_err() && matches!(found, Found::Broken) {
        drop()?;
    }
    Ok(matches!(found, Found::Ready))
}
