//! Ends a read that takes more steps than an intact file of its size can need.
//!
//! The pages of a table are a tree. In a hostile file, many pages can lead to the same page, so that a scan of twenty
//! pages never ends.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::file::beside;

/// The number of steps of `SQLite`'s virtual machine between two checks.
const EACH: u32 = 1_000;
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

thread_local! {
    /// The kind of this thread's read, and its steps so far. `None`: this thread is not reading.
    static TAKEN: Cell<Option<(Reading, u64)>> = const { Cell::new(None) };
}

/// Runs a read. Its statements fail with `CORRUPT` if they take too many steps together.
pub(super) fn within<T>(read: impl FnOnce() -> T) -> T {
    counted(Reading::Data, read)
}

/// Opens a file or reads its schema, which takes few steps in any file.
pub(super) fn within_schema<T>(read: impl FnOnce() -> T) -> T {
    counted(Reading::Schema, read)
}

/// Runs a read that must take little time. Its statements fail if they take many steps together.
pub(super) fn within_little<T>(read: impl FnOnce() -> T) -> T {
    counted(Reading::Little, read)
}

fn counted<T>(reading: Reading, read: impl FnOnce() -> T) -> T {
    struct Outer(Option<(Reading, u64)>);
    impl Drop for Outer {
        fn drop(&mut self) {
            TAKEN.set(self.0);
        }
    }
    let _outer = Outer(TAKEN.replace(Some((reading, 0))));
    read()
}

/// Counts the steps of a connection.
pub(super) fn watch(connection: &mut Connection) -> rusqlite::Result<()> {
    let path = connection.path().map(PathBuf::from);
    let bytes = move || {
        let path = path.as_deref()?;
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        Some(length(path.to_owned()) + length(beside(path, "-wal")))
    };
    let each = c_int::try_from(EACH).unwrap_or(c_int::MAX);
    connection.progress_handler(each, Some(move || takes_too_long(&bytes)))
}

fn takes_too_long(bytes: impl Fn() -> Option<u64>) -> bool {
    let Some((reading, taken)) = TAKEN.get() else { return false };
    TAKEN.set(Some((reading, taken + u64::from(EACH))));
    match reading {
        Reading::Schema => taken >= OF_SCHEMA,
        Reading::Little => taken >= AT_ONCE,
        Reading::Data => taken > FREE && bytes().is_some_and(|bytes| (taken - FREE) / PER_BYTE > bytes),
    }
}
