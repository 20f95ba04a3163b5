//! Ends a read that takes more steps than an undamaged file of its size can need.
//!
//! The pages of a table are a tree. In a file that somebody made for this purpose, many pages lead to the same page, and a
//! scan of twenty pages never ends.

use std::cell::Cell;
use std::ffi::c_int;
use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::file::beside;

/// How many steps of `SQLite`'s machine are taken between two looks.
const EACH: u32 = 1_000;
/// The steps that a read may take in a file of any size. They take about a second.
const FREE: u64 = 20_000_000;
/// The further steps for each byte of the file. A row takes at least ten bytes, and no query takes a thousand steps for each
/// row.
const PER_BYTE: u64 = 256;

/// The steps that a look at the schema may take. A schema has some dozen rows.
const OF_SCHEMA: u64 = 100_000;

/// The steps that a read at once may take. They take some tenths of a millisecond.
const AT_ONCE: u64 = 8_000;

/// What a thread reads.
#[derive(Clone, Copy)]
enum Reading {
    Schema,
    Little,
    Data,
}

thread_local! {
    /// What this thread reads, and the steps so far. `None`: it does not read.
    static TAKEN: Cell<Option<(Reading, u64)>> = const { Cell::new(None) };
}

/// Does a read. Its statements fail with `CORRUPT` if they take too many steps together.
pub(super) fn within<T>(read: impl FnOnce() -> T) -> T {
    counted(Reading::Data, read)
}

/// Opens a file or looks at its schema, which takes few steps in a file of any size.
pub(super) fn within_schema<T>(read: impl FnOnce() -> T) -> T {
    counted(Reading::Schema, read)
}

/// Does a read that must take little time. Its statements fail if they take many steps together.
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
