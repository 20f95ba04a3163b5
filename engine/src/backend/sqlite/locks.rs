//! Releases locks that a failed unlock has left behind.
//!
//! `SQLite` ignores errors of an unlock. The lock would stay until all connections of the process are closed, and every
//! save would fail because another process seems to hold the database.
#![expect(unsafe_code, reason = "rusqlite has no functions for the locks of a file")]

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use super::handle::Handle;
use super::options::Journal;

/// The number of locks in the index of the write-ahead log.
const INDEX_LOCKS: c_int = 8;

/// Releases every lock that an idle connection should not hold, unless the connection is in a transaction. Locks that
/// are not held cost only a few function calls.
pub(super) fn release(connection: &Connection, journal: Journal) {
    if !connection.is_autocommit() {
        return;
    }
    let Some(Handle { file, methods }) = Handle::of(connection) else { return };
    // SAFETY: the file is open. An unlock of a lock that is not held changes nothing.
    unsafe {
        // In WAL mode, an open connection always keeps a shared lock on the file.
        let idle = match journal {
            Journal::Wal => ffi::SQLITE_LOCK_SHARED,
            Journal::Rollback => ffi::SQLITE_LOCK_NONE,
        };
        // Ignore the results: the next call tries again.
        if let Some(unlock) = methods.xUnlock {
            unlock(file, idle);
        }
        if let (Journal::Wal, Some(lock)) = (journal, methods.xShmLock) {
            for index in 0..INDEX_LOCKS {
                lock(file, index, 1, ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_SHARED);
            }
        }
    }
}
