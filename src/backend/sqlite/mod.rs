//! The default backend: one `SQLite` file, in WAL unless the file system forbids it. `docs/sqlite.md` is its public text.

mod ahead;
mod checkpoint;
mod error;
mod file;
mod payloads;
mod read;
mod retention;
mod schema;
mod write;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

pub use self::ahead::Ahead;
use self::checkpoint::Checkpointer;
pub(crate) use self::error::from_sqlite;
use super::Backend;
use crate::codec::heads::SharedHeads;
use crate::error::{Code, Error, Result};
use crate::op::Unit;
use crate::query::{Answer, Query};
use crate::retention::{Prune, Pruned};

/// The oldest `SQLite` without the WAL-reset bug, which loses commits when two connections checkpoint at once.
const OLDEST_SQLITE: i32 = 3_051_003;

/// What a resolved save has survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss and everything less (D2): every commit is synced.
    #[default]
    Full,
    /// A killed process; power loss may take the newest commits but never corrupts (D3).
    Normal,
    /// A killed process; nothing is said about power loss (D3).
    Off,
}

/// How commits are made atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log: readers never wait. Needs shared memory.
    Wal,
    /// A rollback journal: for network file systems.
    Rollback,
}

/// Which database, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The database file; its directory must exist.
    pub path: PathBuf,
    /// What a commit must survive.
    pub durability: Durability,
    /// How long another process may hold the database before a call fails with `BUSY`.
    pub busy_timeout: Duration,
    /// The journal; `None` asks the file system.
    pub journal: Option<Journal>,
    /// How many bytes of recent payloads are kept in memory.
    pub head_bytes: usize,
}

impl Options {
    /// The defaults for a file: everything acknowledged survives power loss, and locks are waited for 30 s.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            busy_timeout: Duration::from_secs(30),
            journal: None,
            head_bytes: 64 << 20,
        }
    }
}

/// One connection to one database file. Any number of them, in any number of processes, may stand on the same file.
#[derive(Debug)]
pub struct Sqlite {
    /// Dropped first: the last connection to be closed clears the log away.
    checkpointer: Option<Checkpointer>,
    connection: Connection,
    journal: Journal,
    notice: Option<String>,
    heads: SharedHeads,
}

impl Sqlite {
    /// Opens the file, creating it if need be.
    pub fn open(options: &Options) -> Result<Self> {
        Self::open_with(options, SharedHeads::new(options.head_bytes))
    }

    /// The same, with recent payloads shared with other connections to the same file.
    pub fn open_with(options: &Options, heads: SharedHeads) -> Result<Self> {
        Self::open_file(options, heads)
            .map_err(|error| error.context(&format!("cannot open \"{}\"", options.path.display())))
    }

    fn open_file(options: &Options, heads: SharedHeads) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            let message = format!(
                "SQLite {} can lose commits when two connections checkpoint at once: build with 3.51.3 or later",
                rusqlite::version()
            );
            return Err(Error::new(Code::Unsupported, message));
        }
        let (path, mut connection) = Self::connect(options)?;
        let state = schema::inspect(&connection)?;

        let network = file::network(&path);
        let journal = options.journal.unwrap_or(if network.is_some() { Journal::Rollback } else { Journal::Wal });
        set_journal(&connection, journal, options.busy_timeout)?;
        let synchronous = match (options.durability, journal) {
            (Durability::Full, Journal::Wal) => "FULL",
            // EXTRA also syncs the directory after the journal's removal, which is what commits.
            (Durability::Full, Journal::Rollback) => "EXTRA",
            (Durability::Normal, _) => "NORMAL",
            (Durability::Off, _) => "OFF",
        };
        connection.pragma_update(None, "synchronous", synchronous).map_err(from_sqlite)?;
        if state != schema::State::Ready {
            schema::create(&mut connection)?;
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(from_sqlite)?;

        let notice = network.filter(|_| journal == Journal::Rollback).map(|kind| {
            format!(
                "\"{}\" is on a network file system ({kind}), where a write-ahead log would be corrupted: using a \
                 rollback journal instead, which is slower. Use a local disk, or a database server for several machines.",
                path.display()
            )
        });
        let checkpointer =
            (journal == Journal::Wal).then(|| Checkpointer::new(path.clone(), synchronous, options.busy_timeout));
        Ok(Self { checkpointer, connection, journal, notice, heads })
    }

    /// A connection to a file that, as far as can be seen without touching it, is ours to use.
    fn connect(options: &Options) -> Result<(PathBuf, Connection)> {
        // One at a time: a file that is being created is closed once before SQLite opens it, and that would drop the
        // locks of another connection of this process.
        static OPENING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = file::prepare(&options.path)?;
        // A file that is refused must not find a WAL beside it afterwards. What else may be wrong, the real connection says.
        if let Ok(Err(error)) = file::peek(&path).map(|connection| schema::inspect(&connection))
            && error.code() == Code::Unsupported
        {
            return Err(error);
        }
        let connection = connect(&path, options.busy_timeout)?;
        Ok((path, connection))
    }

    /// The journal in use.
    pub fn journal(&self) -> Journal {
        self.journal
    }

    /// The value of a pragma, as text. For tests and diagnosis.
    pub fn pragma(&self, name: &str) -> Result<String> {
        self.connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| match value {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => format!("{other:?}"),
            })
            .map_err(from_sqlite)
    }
}

fn connect(path: &Path, busy_timeout: Duration) -> Result<Connection> {
    // One thread at a time uses a connection. No URI: a path is a path, whatever is in it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags).map_err(from_sqlite)?;
    connection.busy_timeout(busy_timeout).map_err(from_sqlite)?;
    // Until the file is known to be ours, closing must not write to it.
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // A plan does not depend on what is bound, so that a statement is not planned anew for every value.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        connection.set_db_config(config, on).map_err(from_sqlite)?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    connection
        .execute_batch("PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;")
        .map_err(from_sqlite)?;
    Ok(connection)
}

/// Changing the journal needs the file alone, and `SQLite` does not always wait for that by itself.
fn set_journal(connection: &Connection, journal: Journal, busy_timeout: Duration) -> Result<()> {
    let name = match journal {
        Journal::Wal => "wal",
        Journal::Rollback => "delete",
    };
    let deadline = Instant::now() + busy_timeout;
    loop {
        let outcome = connection
            .pragma_update_and_check(None, "journal_mode", name, |row| row.get::<_, String>(0))
            .map_err(from_sqlite);
        match outcome {
            Ok(mode) if mode == name => break,
            Ok(mode) => {
                let message = format!(
                    "SQLite keeps its journal mode \"{mode}\" and refuses \"{name}\": give a file on a local disk"
                );
                return Err(Error::new(Code::Unavailable, message));
            }
            Err(error) if error.code() == Code::Busy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    // After a burst the log shrinks back to this many bytes.
    connection.pragma_update(None, "journal_size_limit", 64 << 20).map_err(from_sqlite)
}

impl Backend for Sqlite {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<()>> {
        match write::transaction(&mut self.connection, &self.heads, batch) {
            Ok(()) => {
                if let Some(checkpointer) = &mut self.checkpointer {
                    checkpointer.after_commit(&self.connection, batch.len());
                }
                batch.iter().map(|_| Ok(())).collect()
            }
            // One bad unit must not take the others along: each by itself, then.
            Err(write::Failure::Unit(_)) if batch.len() > 1 => batch
                .iter()
                .map(|unit| {
                    write::transaction(&mut self.connection, &self.heads, std::slice::from_ref(unit))
                        .map_err(Error::from)
                })
                .collect(),
            Err(failure) => {
                let error = Error::from(failure);
                batch.iter().map(|_| Err(error.clone())).collect()
            }
        }
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        read::answer(&self.connection, &self.heads, query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        write::prune(&mut self.connection, &self.heads, prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.stop();
        }
        retention::vacuum(&self.connection).map_err(from_sqlite)
    }

    fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }
}
