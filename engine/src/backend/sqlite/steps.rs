//! Ends a read that takes more steps than an intact file of its size can need.
//!
//! The pages of a table are a tree. In a hostile file, many pages can lead to the same page, so that a scan of twenty
//! pages never ends.

#![expect(unsafe_code, reason = "rusqlite would allocate a progress handler for each read")]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::{fs, ptr};

use rusqlite::{Connection, MAIN_DB, ffi};

use super::file::beside;

/// The number of steps of `SQLite`'s virtual machine between two checks.
const EACH: u16 = 1_000;
/// The number of steps that a read may take in any file: about a second.
const FREE: u64 = 20_000_000;
/// The number of further steps for each byte of the file. A row takes at least ten bytes, and no query takes a thousand
/// steps for each row.
const PER_BYTE: u64 = 256;

/// The number of steps for reading a schema. A schema has a few dozen rows.
const OF_SCHEMA: u64 = 100_000;

/// The number of steps for a read on the calling thread: some tenths of a millisecond.
const AT_ONCE: u64 = 8_000;

/// The kind of a read.
#[derive(Clone, Copy)]
enum Reading {
    Schema,
    Little,
    Data,
}

/// Runs a read of a connection. Its statements fail with `CORRUPT` if they take too many steps together. Reads must not
/// be nested, because a connection counts only the steps of the last one that began.
pub(super) fn within<T>(connection: &Connection, read: impl FnOnce() -> T) -> T {
    counted(connection, Reading::Data, read)
}

/// Reads the schema of a file, which takes few steps in any file.
pub(super) fn within_schema<T>(connection: &Connection, read: impl FnOnce() -> T) -> T {
    counted(connection, Reading::Schema, read)
}

/// Runs a read that must take little time. Its statements fail if they take many steps together.
pub(super) fn within_little<T>(connection: &Connection, read: impl FnOnce() -> T) -> T {
    counted(connection, Reading::Little, read)
}

/// The steps that a read has taken so far.
struct Steps {
    reading: Reading,
    taken: Cell<u64>,
    database: *mut ffi::sqlite3,
}

impl Drop for Steps {
    fn drop(&mut self) {
        // SAFETY: the connection is open, because `counted` borrows it.
        unsafe { ffi::sqlite3_progress_handler(self.database, 0, None, ptr::null_mut()) };
    }
}

fn counted<T>(connection: &Connection, reading: Reading, read: impl FnOnce() -> T) -> T {
    // SAFETY: `SQLite` calls the handler with `steps` until `steps` is dropped, on the thread that uses the connection.
    let steps = unsafe { Steps { reading, taken: Cell::new(0), database: connection.handle() } };
    let argument = ptr::from_ref(&steps).cast_mut().cast();
    // SAFETY: see above.
    unsafe { ffi::sqlite3_progress_handler(steps.database, c_int::from(EACH), Some(takes_too_long), argument) };
    read()
}

/// Ends a statement of the read if it returns another number than 0.
unsafe extern "C" fn takes_too_long(steps: *mut c_void) -> c_int {
    // SAFETY: `counted` passes its steps.
    let Some(Steps { reading, taken, database }) = (unsafe { steps.cast::<Steps>().as_ref() }) else { return 0 };
    let before = taken.replace(taken.get() + u64::from(EACH));
    c_int::from(match reading {
        Reading::Schema => before >= OF_SCHEMA,
        Reading::Little => before >= AT_ONCE,
        Reading::Data => before > FREE && bytes(*database).is_some_and(|bytes| (before - FREE) / PER_BYTE > bytes),
    })
}

/// Returns the size of the database file with its log, in bytes. Returns `None` if the path is not known.
fn bytes(database: *mut ffi::sqlite3) -> Option<u64> {
    // SAFETY: the connection is open. The name of its file lives as long as the connection.
    let path = unsafe {
        let name = ffi::sqlite3_db_filename(database, MAIN_DB.as_ptr());
        if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
    };
    let path = Path::new(path?);
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    Some(length(path) + length(&beside(path, "-wal")))
}
