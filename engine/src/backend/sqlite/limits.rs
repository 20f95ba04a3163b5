//! Limits what a file may make a connection do. Somebody else may have made the file.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::steps;
use crate::codec::largest;

/// Sets what every connection needs: protection against a hostile file, and statements that are prepared once.
pub(super) fn set_limits_and_plans(connection: &Connection) -> rusqlite::Result<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // QPSG makes query plans independent of the bound values, so a statement is not planned again for each value.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        connection.set_db_config(config, on)?;
    }
    limit(connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

/// How many bytes a row may take besides its payload.
const BESIDES_PAYLOAD: usize = 16 << 20;

/// Makes `SQLite` refuse a text, a blob or a row that is larger than this thread may store and open. `SQLite` refuses it
/// before it takes memory for it.
fn limit(connection: &Connection) -> rusqlite::Result<()> {
    let most = i32::try_from(largest::get() + BESIDES_PAYLOAD).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most).map(drop)
}

/// Opens a read-only connection to inspect a file that may belong to another program. The connection takes no lock and
/// creates no file. The connection does not see changes that are only in the WAL.
///
/// The file is read through `SQLite` and not directly, because closing a descriptor drops all locks that this process
/// has on the file (<https://www.sqlite.org/howtocorrupt.html>, section 2.2). `SQLite` closes its descriptors only when
/// that is safe.
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
    limited(Connection::open_with_flags(OsString::from_vec(uri), flags)?)
}

/// Limits what a file may make a connection do.
fn limited(mut connection: Connection) -> rusqlite::Result<Connection> {
    steps::watch(&mut connection)?;
    set_limits_and_plans(&connection)?;
    Ok(connection)
}

/// Opens a read-only connection to inspect a file. The version for Unix explains why. This version opens the file
/// without a URI, because a path on this system cannot be used as a URI unchanged. On this system, locks belong to
/// handles, so closing one handle does not drop the locks of another handle.
#[cfg(not(unix))]
pub(super) fn peek(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    limited(Connection::open_with_flags(path, flags)?)
}
