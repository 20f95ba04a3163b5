//! The tables of a database, and the steps that create and upgrade them.
//!
//! Ids, names, groups and labels are TEXT and are compared byte by byte. A sort key is a BLOB whose byte order is the
//! order that its contract defines. A save writes one row and two index entries: one by the hash of the id, and one by
//! lineage and sort key. A row that an index finds is read again and its checksum is verified. A damaged index
//! cannot return another row.
//!
//! `sum` covers the columns of a row that never change. A column that a later save may change has its own checksum.

use std::borrow::Cow;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::meta_index::MetaIndex;
use super::statement::exists;
use super::user_version::UserVersion;
use crate::error::{Code, Error, Result};

/// "Fkpt" in ASCII: the `PRAGMA application_id` of a Forkpoint database.
pub(super) const APPLICATION_ID: i32 = 0x466b_7074;

/// The SQL statements of each schema version. The statements of a version upgrade a file from the previous version.
/// The number of versions that were applied to the file is in its `user_version`.
pub(super) const STEPS: &[&str] = &[VERSION_1, VERSION_2];

/// The tables of version 1, without those that are created when they are needed: the tables of logs (`logs.rs`), of
/// settings (`setting.rs`) and of labels (`labels.rs`).
const VERSION_1: &str = "
CREATE TABLE lineage (
  lin        INTEGER PRIMARY KEY,           -- never used twice (see setting 'lin_floor'): listings go on from it
  contract   INTEGER NOT NULL,              -- whose ids: one number per contract
  name       TEXT NOT NULL,                 -- the run, thread or session
  grp        TEXT NOT NULL,                 -- the group of its first checkpoint
  age_offset INTEGER NOT NULL,              -- the byte of a sort key at which the age begins
  origin     TEXT,                          -- the id of the checkpoint of another lineage that it began from
  origin_lin INTEGER,                       -- and that lineage
  sum        INTEGER NOT NULL               -- of all these
) STRICT;
CREATE UNIQUE INDEX lineage_name ON lineage (contract, name);

CREATE TABLE checkpoint (
  seq      INTEGER PRIMARY KEY,             -- the save order; never used twice (see setting 'seq_floor')
  lin      INTEGER NOT NULL,
  id_hash  INTEGER NOT NULL,                -- of contract and id
  saved_at INTEGER NOT NULL,                -- ms since the epoch; only retention goes by it
  flags    INTEGER NOT NULL,                -- 1: it cannot be read without its parent. 2: no rule on age or size removes it. 3 bits: its status
  chain    BLOB NOT NULL,                   -- 56 bytes: how the payload is stored, and what is built on it (chain.rs)
  sum      INTEGER NOT NULL,                -- of the header: contract, lineage's name, id, parent, group, label, sort key, ...
  id       TEXT NOT NULL,
  parent   TEXT,
  grp      TEXT NOT NULL,
  label    TEXT NOT NULL,
  sort_key BLOB NOT NULL,
  meta     BLOB NOT NULL,
  logs     BLOB,                            -- the logs that it names; NULL: none
  body     BLOB NOT NULL                    -- the payload: the codec's envelope
) STRICT;
CREATE INDEX checkpoint_id        ON checkpoint (id_hash);
CREATE INDEX checkpoint_lineage   ON checkpoint (lin, sort_key, seq, label);
CREATE INDEX checkpoint_dependent ON checkpoint (lin, parent) WHERE flags & 1;

CREATE TABLE write (
  num       INTEGER PRIMARY KEY,            -- the order in which they began
  contract  INTEGER NOT NULL,
  id        TEXT NOT NULL,                  -- of the checkpoint, which need not be there yet
  task      TEXT NOT NULL,
  sum       INTEGER NOT NULL,               -- of num, contract, id and task; the envelope has its own
  claimed   TEXT,                           -- the checkpoint that was made of it; NULL: none yet
  claim_sum INTEGER NOT NULL,               -- of num, claimed and what the writes tell about the task, which is in its lowest 4 bits
  body      BLOB NOT NULL                   -- the codec's envelope of all that the task wrote
) STRICT;
CREATE INDEX write_id ON write (contract, id, task);
";

/// Every lineage has its status, with a checksum (status.rs). The default is no status of any lineage: it is computed when it is read.
/// A lineage may have labels (labels.rs).
const VERSION_2: &str = "
ALTER TABLE lineage ADD COLUMN status INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lineage ADD COLUMN labels BLOB;
";

/// An index that the first query that needs it builds. The index costs nothing in a store that never gets such a
/// query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LateIndex {
    /// The checkpoints of each group.
    Groups,
    /// The lineages that were forked from each lineage.
    Forks,
    /// The checkpoints of all lineages in their order.
    Order,
    /// The lineages by their status. A file with many lineages gets it before a query: see `totals.rs`.
    Status,
    /// The checkpoints by the value of a key of their metadata.
    Meta(MetaIndex),
}

impl LateIndex {
    /// The name of the index, and the rows that it has.
    fn name_and_rows(&self) -> (Cow<'static, str>, Cow<'static, str>) {
        let (name, rows) = match self {
            Self::Meta(index) => return (index.name().into(), index.rows().into()),
            Self::Groups => ("checkpoint_group", "checkpoint (grp, sort_key) WHERE grp <> ''"),
            Self::Forks => ("lineage_origin", "lineage (origin_lin) WHERE origin_lin IS NOT NULL"),
            Self::Order => ("checkpoint_order", "checkpoint (sort_key, seq)"),
            Self::Status => {
                ("lineage_status", "lineage (contract, status & 7) WHERE contract < 128 AND status & 7 <> 4")
            }
        };
        (name.into(), rows.into())
    }

    /// Returns true if the file has the index.
    pub(super) fn exists(&self, connection: &Connection) -> Result<bool> {
        exists(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?", [self.name_and_rows().0])
    }

    /// The statement that builds the index if it does not exist.
    pub(super) fn sql(&self) -> String {
        let (name, rows) = self.name_and_rows();
        format!("CREATE INDEX IF NOT EXISTS {name} ON {rows}")
    }

    /// Builds the index if it does not exist. Saves wait during the build, which takes about one second for a million
    /// rows.
    pub(super) fn build(&self, connection: &Connection) -> Result<()> {
        Ok(connection.execute_batch(&self.sql())?)
    }
}

/// The state of the tables of a database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The file is empty or has an earlier schema version. The number is the index of the first step in [`STEPS`] that
    /// the file lacks.
    Lacks(usize),
    /// The file has all tables.
    Ready,
}

/// Determines the state of a file without changing it.
///
/// # Errors
///
/// `UNSUPPORTED` if the file has a newer schema version or belongs to another program.
pub(super) fn inspect(connection: &Connection) -> Result<State> {
    inspect_for(connection, STEPS)
}

/// Adds the missing tables. Does nothing if another connection has added the tables in the meantime.
pub(super) fn create(connection: &Connection) -> Result<()> {
    create_for(connection, STEPS)
}

fn inspect_for(connection: &Connection, steps: &[&str]) -> Result<State> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    // Read everything in one snapshot, because another process may be creating the tables.
    let snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose();
    let _snapshot = snapshot?;
    let (id, version) = (number("PRAGMA application_id")?, usize::from(UserVersion::read(connection)?.tables));
    match (id, version) {
        (APPLICATION_ID, version) if version == steps.len() => Ok(State::Ready),
        (APPLICATION_ID, version) if (1..steps.len()).contains(&version) => Ok(State::Lacks(version)),
        (APPLICATION_ID, _) => Err(Error::new(
            Code::Unsupported,
            format!(
                "the database has schema version {version}, but this version of forkpoint knows versions up to {}: \
                 upgrade forkpoint; the file was not changed",
                steps.len()
            ),
        )),
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Lacks(0)),
        _ => Err(Error::new(
            Code::Unsupported,
            "the file is a database of another program: use a separate file for forkpoint; the file was not changed",
        )),
    }
}

fn create_for(connection: &Connection, steps: &[&str]) -> Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if let State::Lacks(from) = inspect_for(&transaction, steps)? {
        for sql in &steps[from..] {
            transaction.execute_batch(sql)?;
        }
        let before = UserVersion::read(&transaction)?;
        let version = if from == 0 { before.with_new_number() } else { before };
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        UserVersion { tables: u8::try_from(steps.len()).unwrap_or(u8::MAX), ..version }.write(&transaction)?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a made-up next schema version.
    const NEXT: &[&str] =
        &[STEPS[0], STEPS[1], "CREATE TABLE lease (name TEXT PRIMARY KEY) STRICT; INSERT INTO lease VALUES ('a')"];

    #[test]
    fn a_file_of_this_version_becomes_one_of_the_next_once() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(inspect(&connection), Ok(State::Lacks(0)));
        create(&connection).unwrap();
        assert_eq!(inspect(&connection), Ok(State::Ready));
        connection.execute("INSERT INTO write VALUES (1, 1, 'kept', '', 0, NULL, 0, x'00')", []).unwrap();

        assert_eq!(inspect_for(&connection, NEXT), Ok(State::Lacks(2)));
        for _ in 0..2 {
            create_for(&connection, NEXT).unwrap();
            assert_eq!(inspect_for(&connection, NEXT), Ok(State::Ready));
        }
        let rows = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((rows("SELECT count(*) FROM lease"), rows("SELECT count(*) FROM write")), (1, 1));

        let error = inspect(&connection).unwrap_err();
        assert_eq!(error.code(), Code::Unsupported, "this version refuses a file of the next");
        assert!(error.message().contains("version 3"), "{error}");
    }
}
