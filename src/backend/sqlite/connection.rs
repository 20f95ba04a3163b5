//! A connection to a database file, and how it is set.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::Journal;
use super::error::from_sqlite;
use crate::error::{Code, Error, Result};

pub(super) fn connect(path: &Path, busy_timeout: Duration) -> Result<Connection> {
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
pub(super) fn set_journal(connection: &Connection, journal: Journal, busy_timeout: Duration) -> Result<()> {
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
