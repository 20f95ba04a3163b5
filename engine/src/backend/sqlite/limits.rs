//! Limits the work that a file can cause. The file may come from somebody else.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

/// Configures every connection: protection against a hostile file, and statements that are planned once.
/// `largest_payload` is in bytes.
pub(super) fn set_limits_and_plans(connection: &Connection, largest_payload: usize) -> rusqlite::Result<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // QPSG makes query plans independent of bound values, so a statement is not planned again for each value.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        connection.set_db_config(config, on)?;
    }
    // SQLite then refuses a text, a blob or a row that is larger, before allocating memory for it.
    let most = i32::try_from(largest_payload + BESIDES_PAYLOAD).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

/// The maximum number of bytes of a row besides its payload.
const BESIDES_PAYLOAD: usize = 16 << 20;

/// Opens a read-only connection to inspect a file of possibly another program. It takes no lock, creates no file, and
/// does not see changes that are only in the WAL. It reads no payloads.
///
/// Reads the file through `SQLite`, because closing any other descriptor would drop all locks of this process on the
/// file (<https://www.sqlite.org/howtocorrupt.html>, section 2.2). `SQLite` closes its descriptors only when that is
/// safe.
#[cfg(unix)]
pub(super) fn peek(path: &Path) -> rusqlite::Result<Connection> {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            other => uri.push(*other),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(OsString::from_vec(uri), flags)?;
    set_limits_and_plans(&connection, 0)?;
    Ok(connection)
}

/// Opens a read-only connection to inspect a file: see the Unix version. Uses no URI, because a path on this system is
/// not a valid URI. Locks belong to handles here, so closing a handle does not drop the locks of others.
#[cfg(not(unix))]
pub(super) fn peek(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    set_limits_and_plans(&connection, 0)?;
    Ok(connection)
}
