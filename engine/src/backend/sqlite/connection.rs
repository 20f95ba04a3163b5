//! Opens a connection to a database file, and sets its options and its journal.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::limits::set_limits_and_plans;
use super::options::Journal;
use super::wal_index::refuse_missing_log;
use super::{locks, steps, vfs};
use crate::error::{Code, Error, Result};

/// Connects to the file. `largest_payload` is in bytes.
pub(super) fn connect(path: &Path, busy_timeout: Duration, largest_payload: usize) -> Result<Connection> {
    // NO_MUTEX is safe, because only one thread at a time uses a connection. Without the URI flag, SQLite takes every
    // path literally.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags_and_vfs(path, flags, vfs::name())?;
    let configured = steps::within_schema(&connection, || configure(&connection, busy_timeout, largest_payload));
    // Release locks even after a failure: closing a connection does not release locks that it failed to unlock.
    locks::release(&connection, Journal::Wal);
    if let Err(error) = configured {
        // A database without its log may look damaged.
        refuse_missing_log(&connection, path)?;
        return Err(error.into());
    }
    Ok(connection)
}

fn configure(connection: &Connection, busy_timeout: Duration, largest_payload: usize) -> rusqlite::Result<()> {
    connection.busy_timeout(busy_timeout)?;
    // Closing must not write to the file until it is known to be a Forkpoint database.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    set_limits_and_plans(connection, largest_payload)?;
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA cache_size = -16384;")
}

/// Sets a cache of 4 MB, for a connection that only reads. Reading a page from the system's cache costs less than
/// allocating a page of this cache, so a first scan of many pages is faster.
pub(super) fn read_with_small_cache(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA cache_size = -4096;")
}

/// Sets the journal mode, which needs exclusive access to the file. `SQLite` does not always wait for this access, so
/// the function retries until the busy timeout has passed.
pub(super) fn set_journal(connection: &Connection, journal: Journal, busy_timeout: Duration) -> Result<()> {
    let name = match journal {
        Journal::Wal => "wal",
        Journal::Rollback => "delete",
    };
    let deadline = Instant::now() + busy_timeout;
    loop {
        let outcome = connection
            .pragma_update_and_check(None, "journal_mode", name, |row| row.get::<_, String>(0))
            .map_err(Error::from);
        match outcome {
            Ok(mode) if mode == name => break,
            Ok(mode) => {
                let message = format!(
                    "SQLite keeps its journal mode \"{mode}\" and rejects \"{name}\": use a file on a local disk"
                );
                return Err(Error::new(Code::Unavailable, message));
            }
            Err(error) if error.code() == Code::Busy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    // After a burst of writes, SQLite truncates the journal file to this many bytes.
    Ok(connection.pragma_update(None, "journal_size_limit", 64 << 20)?)
}
