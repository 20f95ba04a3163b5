//! The tables of a database, and the steps that create and upgrade them.
//!
//! A file keeps its format until the user asks for an upgrade. The settings of a file of a newer format say which
//! releases may use it ([`Rights`]).
//!
//! Ids, names, groups and labels are TEXT and are compared byte by byte. A sort key is a BLOB in the byte order that
//! its contract defines. A save writes one row and two index entries: by the hash of the id, and by lineage and sort
//! key. A row found by an index is read again and its checksum is verified, so a damaged index cannot yield another
//! row.
//!
//! `sum` covers the columns of a row that never change. A column that a later save may change has its own checksum.

use std::borrow::Cow;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::meta_index::MetaIndex;
use super::setting;
use super::statement::exists;
use super::user_version::UserVersion;
use crate::error::{Code, Error, Result};
use crate::options::Migrate;
use crate::record::Formats;

/// "Fkpt" in ASCII: the `PRAGMA application_id` of a Forkpoint database.
pub(super) const APPLICATION_ID: i32 = 0x466b_7074;

/// The SQL statements of each schema version, which upgrade a file from the previous version. The file's `user_version`
/// has the number of applied versions.
pub(super) const STEPS: &[&str] = &[VERSION_1];

/// The tables of version 1, except those that are created on demand: for logs (`logs.rs`), settings (`setting.rs`) and
/// labels (`labels.rs`).
const VERSION_1: &str = "
CREATE TABLE lineage (
  lin        INTEGER PRIMARY KEY,           -- never used twice (see setting 'lin_floor'): listings go on from it
  contract   INTEGER NOT NULL,              -- whose ids: one number per contract
  name       TEXT NOT NULL,                 -- the run, thread or session
  grp        TEXT NOT NULL,                 -- the group of its first checkpoint
  age_offset INTEGER NOT NULL,              -- 0: retention by number goes by the sort key
  origin     TEXT,                          -- the id of the checkpoint of another lineage that it began from
  origin_lin INTEGER,                       -- and that lineage
  sum        INTEGER NOT NULL,              -- of all these
  status     INTEGER NOT NULL,              -- the lowest 3 bits; the others are a checksum (status.rs)
  labels     BLOB                           -- with a checksum (labels.rs); NULL: none
) STRICT;
CREATE UNIQUE INDEX lineage_name ON lineage (contract, name);

CREATE TABLE checkpoint (
  seq      INTEGER PRIMARY KEY,             -- the save order; never used twice (see setting 'seq_floor')
  lin      INTEGER NOT NULL,
  id_hash  INTEGER NOT NULL,                -- of contract and id
  saved_at INTEGER NOT NULL,                -- ms since the epoch; only retention goes by it
  flags    INTEGER NOT NULL,                -- 1: it cannot be read without its parent. 2: no rule on age or size removes it. 3 bits: its status. 3 bits: what the ids lack
  chain    BLOB NOT NULL,                   -- 30 or 56 bytes: how the payload is stored, and what is built on it (chain.rs)
  sum      INTEGER NOT NULL,                -- of the header: contract, lineage's name, id, parent, group, label, sort key, ...
  id       TEXT NOT NULL,                   -- without what grp and sort_key have of it (ids.rs)
  parent   TEXT,                            -- the id of the parent, without what grp has of it
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

/// An index that is built by the first query that needs it. Without such a query, it costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LateIndex {
    /// The checkpoints of each group.
    Groups,
    /// The lineages of each group. Built only in a file with many lineages.
    LineageGroups,
    /// The lineages that were forked from each lineage.
    Forks,
    /// The checkpoints of all lineages in their order.
    Order,
    /// The lineages by status. Built before a query in a file with many lineages: see `totals.rs`.
    Status,
    /// The checkpoints by the value of a key of their metadata.
    Meta(MetaIndex),
}

impl LateIndex {
    /// All late indexes except those of metadata keys.
    pub(super) const NAMED: [Self; 5] = [Self::Groups, Self::LineageGroups, Self::Forks, Self::Order, Self::Status];

    /// The name of the index, and its rows.
    fn name_and_rows(&self) -> (Cow<'static, str>, Cow<'static, str>) {
        let (name, rows) = match self {
            Self::Meta(index) => return (index.name().into(), index.rows().into()),
            Self::Groups => ("checkpoint_group", "checkpoint (grp, sort_key) WHERE grp <> ''"),
            Self::LineageGroups => ("lineage_group", "lineage (contract, grp) WHERE grp <> ''"),
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

    /// Builds the index if it does not exist. Saves wait for the build, which takes about one second for a million
    /// rows.
    pub(super) fn build(&self, connection: &Connection) -> Result<()> {
        Ok(connection.execute_batch(&self.sql())?)
    }
}

/// The newest format of this release.
pub(super) const NEWEST: usize = STEPS.len();

/// The state of a database file's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The file has no tables: the database is new.
    Empty,
    /// The file has tables of this format, which may be older or newer than [`NEWEST`].
    Format(usize),
}

/// The oldest formats whose releases may use a file of a newer format, from its settings. Without them, none may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rights {
    oldest_reader: i64,
    oldest_writer: i64,
}

impl Rights {
    fn read(connection: &Connection) -> Result<Self> {
        let number = |name| setting::number(connection, name);
        Ok(Self { oldest_reader: number(setting::OLDEST_READER)?, oldest_writer: number(setting::OLDEST_WRITER)? })
    }

    fn may_read(self, newest: usize) -> bool {
        Self::is_known(self.oldest_reader, newest)
    }

    fn may_write(self, newest: usize) -> bool {
        self.may_read(newest) && Self::is_known(self.oldest_writer, newest)
    }

    fn is_known(format: i64, newest: usize) -> bool {
        usize::try_from(format).is_ok_and(|format| (1..=newest).contains(&format))
    }
}

/// Returns the format of a file.
pub(super) fn formats(connection: &Connection) -> Result<Formats> {
    let newest = u32::try_from(NEWEST).unwrap_or(0);
    Ok(Formats { format: UserVersion::read(connection)?.tables.into(), newest })
}

/// Determines the tables of a file without changing it.
///
/// # Errors
///
/// `UNSUPPORTED` if the file belongs to another program.
pub(super) fn inspect(connection: &Connection) -> Result<State> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    // Read in one snapshot, because another process may be creating the tables.
    let snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose();
    let _snapshot = snapshot?;
    let (id, version) = (number("PRAGMA application_id")?, usize::from(UserVersion::read(connection)?.tables));
    match (id, version) {
        (APPLICATION_ID, 1..) => Ok(State::Format(version)),
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Empty),
        _ => Err(Error::new(
            Code::Unsupported,
            "the file is a database of another program: use a separate file for forkpoint; the file was not changed",
        )),
    }
}

/// Checks that this release can read a file of this format, whose tables and indexes cannot run SQL.
///
/// # Errors
///
/// `UNSUPPORTED` if the format is newer, and its settings don't allow it.
pub(super) fn require_readable(connection: &Connection, format: usize) -> Result<()> {
    if format <= NEWEST || Rights::read(connection)?.may_read(NEWEST) {
        return Ok(());
    }
    Err(newer(format, "upgrade forkpoint"))
}

/// Checks that this release can write to a file.
///
/// # Errors
///
/// `UNSUPPORTED` if a newer release has upgraded the file, and its settings don't allow it.
pub(super) fn require_writable(connection: &Connection) -> Result<()> {
    let format = usize::from(UserVersion::read(connection)?.tables);
    if format <= NEWEST || Rights::read(connection)?.may_write(NEWEST) {
        return Ok(());
    }
    Err(newer(format, "programs of this release can only look at it, so upgrade forkpoint"))
}

fn newer(format: usize, remedy: &str) -> Error {
    let message = format!(
        "the database has format {format}, but this release of forkpoint knows formats up to {NEWEST}: {remedy}; the file was not \
         changed"
    );
    Error::new(Code::Unsupported, message).lasting()
}

/// Creates the tables of a new file, and upgrades an older format if `migrate` says so. Does nothing if another
/// connection has already done so.
///
/// # Errors
///
/// `UNSUPPORTED` if this release may not write to the file.
pub(super) fn prepare(connection: &Connection, migrate: Migrate) -> Result<()> {
    prepare_for(connection, migrate, STEPS)
}

fn prepare_for(connection: &Connection, migrate: Migrate, steps: &[&str]) -> Result<()> {
    let lacks = |state| match state {
        State::Empty => Some(0),
        State::Format(format) => (migrate == Migrate::Auto && format < steps.len()).then_some(format),
    };
    // Use a read, because SQLite opens the log only when needed.
    if lacks(inspect(connection)?).is_none() {
        return require_writable(connection);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if let Some(from) = lacks(inspect(&transaction)?) {
        for sql in &steps[from..] {
            transaction.execute_batch(sql)?;
        }
        let before = UserVersion::read(&transaction)?;
        let version = if from == 0 { before.with_new_number() } else { before };
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        UserVersion { tables: u8::try_from(steps.len()).unwrap_or(u8::MAX), ..version }.write(&transaction)?;
    }
    transaction.commit()?;
    require_writable(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a made-up next schema version.
    const NEXT: &[&str] =
        &[STEPS[0], "CREATE TABLE lease (name TEXT PRIMARY KEY) STRICT; INSERT INTO lease VALUES ('a')"];

    fn number(connection: &Connection, sql: &str) -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_file_becomes_one_of_the_next_format_only_on_request_and_once() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(inspect(&connection), Ok(State::Empty));
        prepare(&connection, Migrate::Create).unwrap();
        assert_eq!(inspect(&connection), Ok(State::Format(1)));
        connection.execute("INSERT INTO write VALUES (1, 1, 'kept', '', 0, NULL, 0, x'00')", []).unwrap();

        for migrate in [Migrate::Create, Migrate::Never] {
            prepare_for(&connection, migrate, NEXT).unwrap();
            assert_eq!(inspect(&connection), Ok(State::Format(1)));
        }
        for _ in 0..2 {
            // This release must not write to it.
            assert_eq!(prepare_for(&connection, Migrate::Auto, NEXT).unwrap_err().code(), Code::Unsupported);
            assert_eq!(inspect(&connection), Ok(State::Format(2)));
        }
        assert_eq!(number(&connection, "SELECT count(*) FROM lease"), 1);
        assert_eq!(number(&connection, "SELECT count(*) FROM write"), 1);
    }
}
