//! Indexes that are built by the first query that needs them. Without such a query, they cost nothing.
//!
//! An index of a metadata key orders checkpoints by the key's value. The server computes the entries with the function
//! `meta_value`. An entry is empty if the meta may have the value in another form, and null if the meta lacks the key.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::names::Names;
use super::session::{Session, UNTIL_CLOSED};
use super::value::Value;
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::query::{MetaKey, Of, Page, Query};

/// The time after which a store checks again for an index that could not be built.
const AGAIN: Duration = Duration::from_secs(60);

/// The value with which the server marks a table whose rows it has not counted yet.
const UNCOUNTED: i64 = -1;

/// The number of lineages at which their groups get an index. A smaller number is scanned.
const MANY_LINEAGES: i64 = 10_000;

/// The indexes that do not depend on a key, for users who create the tables by hand.
pub(super) const SCRIPT: &str = "
CREATE INDEX @-checkpoint_group ON @checkpoint (contract, substr(sha256(grp), 1, 16), substr(sort_key, 1, 1000), seq) WHERE grp <> '';
CREATE INDEX @-checkpoint_order ON @checkpoint (contract, substr(sort_key, 1, 1000), seq);
CREATE INDEX @-lineage_group ON @lineage (contract, substr(grp, 1, 1000)) WHERE grp <> '';
";

enum LateIndex<'a> {
    /// The checkpoints of each group.
    Groups,
    /// The checkpoints of all lineages in their order.
    Order,
    /// The lineages of each group.
    LineageGroups,
    /// The checkpoints by the value of a key of their metadata.
    Meta(&'a MetaKey),
}

impl LateIndex<'_> {
    /// The name of the index. A key may be too long for a Postgres name, so the name has a hash of the key. If two keys
    /// had the same hash, the server would scan rows instead, because it compares the definition of the index.
    fn name(&self) -> String {
        match self {
            Self::Groups => "checkpoint_group".to_owned(),
            Self::Order => "checkpoint_order".to_owned(),
            Self::LineageGroups => "lineage_group".to_owned(),
            Self::Meta(key) => {
                format!("checkpoint_meta_{:016x}", Sum::new().bytes(&key.begins).text(&key.key).finish())
            }
        }
    }

    /// The table of the index, and the minimum number of its rows for building the index.
    fn table(&self) -> (&'static str, i64) {
        match self {
            Self::LineageGroups => ("lineage", MANY_LINEAGES),
            Self::Groups | Self::Order | Self::Meta(_) => ("checkpoint", UNCOUNTED),
        }
    }

    /// The columns of the index, and the condition on its rows.
    fn rows(&self) -> String {
        match self {
            Self::Groups => {
                "(contract, substr(sha256(grp), 1, 16), substr(sort_key, 1, 1000), seq) WHERE grp <> ''".to_owned()
            }
            Self::Order => "(contract, substr(sort_key, 1, 1000), seq)".to_owned(),
            Self::LineageGroups => "(contract, substr(grp, 1, 1000)) WHERE grp <> ''".to_owned(),
            Self::Meta(key) => {
                let entry = entry(key, "meta");
                format!("(contract, {entry}, substr(sort_key, 1, 1000), seq) WHERE {entry} IS NOT NULL")
            }
        }
    }
}

/// The SQL of an entry. It is pure ASCII, so that it has the same meaning in every database encoding.
fn entry(key: &MetaKey, column: &str) -> String {
    format!("@meta_value({column}, {}, {})", bytes(&key.begins), bytes(key.key.as_bytes()))
}

fn bytes(bytes: &[u8]) -> String {
    let digits = bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("decode('{digits}', 'hex')")
}

/// The rows of a metadata index whose entry is equal to an SQL expression.
pub(super) fn part(names: &Names, key: &MetaKey, equal_to: &str) -> String {
    names.fill(&format!("@checkpoint AS c WHERE c.contract = $1 AND {} = {equal_to}", entry(key, "c.meta")))
}

/// The states of the database's indexes, shared by the connections of a store.
#[derive(Debug, Default)]
pub(super) struct LateIndexes(Mutex<HashMap<String, State>>);

#[derive(Clone, Copy, Debug)]
enum State {
    Ready,
    /// The database lacked the index at this time.
    Missing(Instant),
}

impl LateIndexes {
    fn known(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ready(&self, index: &LateIndex<'_>) -> bool {
        matches!(self.known().get(&index.name()), Some(State::Ready))
    }

    /// Returns the metadata key whose index serves the page, if the index is ready.
    pub(super) fn ready<'a>(&self, page: &'a Page) -> Option<&'a MetaKey> {
        key(page).filter(|key| self.is_ready(&LateIndex::Meta(key)))
    }

    /// Returns true if the index of lineage groups is ready.
    pub(super) fn has_lineage_groups(&self) -> bool {
        self.is_ready(&LateIndex::LineageGroups)
    }

    /// Returns the indexes that a query needs and that are due for a check.
    fn lacking<'a>(&self, query: &'a Query) -> Vec<LateIndex<'a>> {
        let known = self.known();
        let should_look = |index: &LateIndex<'_>| match known.get(&index.name()) {
            Some(State::Ready) => false,
            Some(State::Missing(since)) => since.elapsed() > AGAIN,
            None => true,
        };
        needed(query).into_iter().filter(should_look).collect()
    }

    fn note(&self, index: &LateIndex<'_>, is_ready: bool) {
        let state = if is_ready { State::Ready } else { State::Missing(Instant::now()) };
        self.known().insert(index.name(), state);
    }

    /// Records the indexes of the database. Other existing indexes are ignored.
    pub(super) fn have(&self, names: Vec<String>) {
        self.known().extend(names.into_iter().map(|name| (name, State::Ready)));
    }

    /// Checks for the indexes that a query needs. Returns true if one of them should be built.
    pub(super) fn look(&self, session: &Session, query: &Query, builds: bool) -> bool {
        self.lacking(query).iter().any(|index| match look(session, index) {
            Ok(Found::Missing | Found::Broken) if builds => true,
            found => {
                self.note(index, matches!(found, Ok(Found::Ready)));
                false
            }
        })
    }

    /// Builds the indexes that a query needs. Failures are ignored, because the query works without the indexes.
    pub(super) fn build(&self, session: &Session, query: &Query) {
        for index in self.lacking(query) {
            self.note(&index, build(session, &index).unwrap_or(false));
        }
    }
}

fn key(page: &Page) -> Option<&MetaKey> {
    page.filter.as_ref().filter(|_| page.of == Of::Contract)?.key.as_deref()
}

fn needed(query: &Query) -> Vec<LateIndex<'_>> {
    let of = match query {
        Query::Page(page) => match key(page) {
            Some(key) => return vec![LateIndex::Meta(key)],
            None => &page.of,
        },
        Query::List { of, .. } | Query::Whole { of, .. } => of,
        Query::Lineages { group_prefix, .. } if !group_prefix.is_empty() => return vec![LateIndex::LineageGroups],
        Query::All(queries) => return queries.iter().flat_map(needed).collect(),
        _ => return Vec::new(),
    };
    match of {
        Of::Group(_) => vec![LateIndex::Groups],
        Of::Contract => vec![LateIndex::Order],
        _ => Vec::new(),
    }
}

/// Parameters: the names of the table and of the index, and the minimum number of rows. Only the owner of the table may
/// build an index. A process that builds an index holds a lock on the table.
const LOOK: &str = "SELECT i.indisvalid,
      t.reltuples >= $3 AND pg_has_role(t.relowner, 'USAGE') AND has_schema_privilege(t.relnamespace, 'CREATE') AND NOT pg_is_in_recovery()
        AND NOT current_setting('default_transaction_read_only')::bool,
      EXISTS (SELECT FROM pg_locks AS o WHERE o.relation = t.oid AND o.mode = 'ShareUpdateExclusiveLock' AND o.granted
              AND o.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    FROM pg_class AS t LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass($2) WHERE t.oid = to_regclass($1)";

/// The state of an index in the database.
#[derive(Clone, Copy)]
enum Found {
    Ready,
    /// Another session is building it, this role may not build it, or the table is small.
    NotForUs,
    Missing,
    /// A build was interrupted. The server keeps the unfinished index, but does not use it.
    Broken,
}

fn look(session: &Session, index: &LateIndex<'_>) -> Result<Found> {
    let (table, least) = index.table();
    let [table, name] = [table, &index.name()].map(|name| session.names.table(name));
    let found = session.query(LOOK, vec![Value::Text(table), Value::Text(name), Value::Int(Some(least))])?;
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

/// Returns true if the database has the index now.
fn build(session: &Session, index: &LateIndex<'_>) -> Result<bool> {
    // Another process may have built it in the meantime.
    let found = look(session, index)?;
    if matches!(found, Found::Ready | Found::NotForUs) {
        return Ok(matches!(found, Found::Ready));
    }
    // A build waits for running transactions. Leave half of the call's remaining time for the query.
    let patience = session.left_here() / 2;
    if !session.is_direct() {
        return build_within(session, index, found, patience);
    }
    session.run(&format!("SET lock_timeout = {}", patience.as_millis().max(1)), UNTIL_CLOSED)?;
    let built = build_within(session, index, found, UNTIL_CLOSED);
    session.run("RESET lock_timeout", UNTIL_CLOSED)?;
    built
}

/// Builds an index while saves continue. This runs outside a transaction, so a failed build leaves an unfinished index,
/// which is dropped. If two processes build the index at the same time, one waits for the other, and fails if that
/// takes too long.
fn build_within(session: &Session, index: &LateIndex<'_>, found: Found, patience: Duration) -> Result<bool> {
    let name = index.name();
    let drop = || session.run(&format!("DROP INDEX CONCURRENTLY IF EXISTS @{name}"), patience);
    if matches!(found, Found::Broken) {
        drop()?;
    }
    let (table, _) = index.table();
    let statement = format!("CREATE INDEX CONCURRENTLY IF NOT EXISTS @-{name} ON @{table} {}", index.rows());
    let built = session.run(&statement, patience);
    let found = look(session, index)?;
    if built.is_err() && matches!(found, Found::Broken) {
        drop()?;
    }
    Ok(matches!(found, Found::Ready))
}
