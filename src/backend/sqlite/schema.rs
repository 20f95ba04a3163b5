//! The tables, and how a database comes to have them.
//!
//! Ids, groups and labels are TEXT compared byte by byte; a rank is a BLOB that compares as its contract orders. Rows are
//! narrow: payloads have a table of their own, lineage names are stored once, and a lookup that a contract does not use
//! costs it no index.

use rusqlite::{Connection, TransactionBehavior};

use super::error::from_sqlite;
use crate::error::{Code, Error, Result};

/// "Fkpt": tells a Forkpoint database from any other (`PRAGMA application_id`).
pub(super) const APPLICATION_ID: i32 = 0x466b_7074;
/// The schema that this version writes (`PRAGMA user_version`).
pub(super) const SCHEMA_VERSION: i32 = 2;

const VERSION_1: &str = "
CREATE TABLE lineage (
  lin   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: listings go on from it
  space INTEGER NOT NULL,                   -- whose ids: one number per contract
  name  TEXT NOT NULL,                      -- the run, thread or session
  grp   TEXT NOT NULL,                      -- the group of its first checkpoint
  UNIQUE (space, name)
) STRICT;

CREATE TABLE checkpoint (
  seq    INTEGER PRIMARY KEY,               -- the save order; never used twice (see setting 'seq_floor')
  lin    INTEGER NOT NULL,
  id     TEXT NOT NULL,
  parent TEXT,
  grp    TEXT NOT NULL,
  label  TEXT NOT NULL,
  rank   BLOB NOT NULL,
  saved_at INTEGER NOT NULL,                -- ms since the epoch; only retention goes by it
  meta   BLOB NOT NULL
) STRICT;
CREATE INDEX checkpoint_id      ON checkpoint (id);
CREATE INDEX checkpoint_lineage ON checkpoint (lin, rank);
CREATE INDEX checkpoint_label   ON checkpoint (lin, label, rank) WHERE label <> '';
CREATE INDEX checkpoint_group   ON checkpoint (grp, rank) WHERE grp <> '';

CREATE TABLE payload (
  seq   INTEGER PRIMARY KEY,
  base  INTEGER,                            -- the seq whose payload this one is a delta against; NULL: a keyframe
  depth INTEGER NOT NULL,                   -- how many deltas a reader applies, at most
  room  INTEGER NOT NULL,                   -- how many bytes deltas may still take before the next keyframe
  size  INTEGER NOT NULL,                   -- of the raw payload, in bytes
  body  BLOB NOT NULL                       -- the codec's envelope
) STRICT;
CREATE INDEX payload_base ON payload (base) WHERE base IS NOT NULL;

CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What a version adds to the one before it.
const VERSION_2: &str = "
CREATE TABLE write (
  num   INTEGER PRIMARY KEY,                -- the order in which they began
  space INTEGER NOT NULL,
  id    TEXT NOT NULL,                      -- of the checkpoint, which need not be there yet
  task  TEXT NOT NULL,
  owner TEXT,                               -- the checkpoint that was made of it; NULL: none yet
  body  BLOB NOT NULL                       -- the codec's envelope of all that the task wrote
) STRICT;
CREATE INDEX write_id ON write (id, task);

CREATE INDEX checkpoint_difference ON checkpoint (lin, parent) WHERE label = 'difference';
";

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is in it yet.
    Empty,
    /// It has our tables, of a version before this one.
    Older,
    /// It has our tables.
    Ready,
}

/// Looks, and changes nothing. A file of a newer version or of another program is refused. In one snapshot: another
/// process may be creating the tables.
pub(super) fn inspect(connection: &Connection) -> Result<State> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0)).map_err(from_sqlite);
    let snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose();
    let _snapshot = snapshot.map_err(from_sqlite)?;
    match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(State::Ready),
        (APPLICATION_ID, 1) => Ok(State::Older),
        (APPLICATION_ID, newer) => Err(Error::new(
            Code::Unsupported,
            format!(
                "the database has schema version {newer} and this version of forkpoint knows versions up to \
                 {SCHEMA_VERSION}: upgrade forkpoint; the file was not changed"
            ),
        )),
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Empty),
        _ => Err(Error::new(
            Code::Unsupported,
            "the file is a database of another program: give forkpoint a file of its own; the file was not changed",
        )),
    }
}

/// Creates the tables that are missing, unless another connection has done so in the meantime.
pub(super) fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
    let missing: &[&str] = match inspect(&transaction)? {
        State::Empty => &[VERSION_1, VERSION_2],
        State::Older => &[VERSION_2],
        State::Ready => &[],
    };
    for tables in missing {
        transaction.execute_batch(tables).map_err(from_sqlite)?;
    }
    if !missing.is_empty() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(from_sqlite)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(from_sqlite)?;
    }
    transaction.commit().map_err(from_sqlite)
}
