//! Detects a write-ahead log that belongs to another state of the database file.
//!
//! Users restore a backup with `cp backup.db agent.db`. If the log of the replaced database still exists, `SQLite`
//! applies it to the restored file, and both are lost. Nothing in the format of `SQLite` connects a log with its file.
//! Each log therefore has a number, in the `user_version` of its copies of page 1:
//!
//! - The transaction that begins a log writes page 1 with the next number. So does a transaction after a minute.
//! - The file has the number of the previous log, or a number that the log has copied into it.
//! - A new database and each backup begin with a random number.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::file::beside;
use super::user_version::{OFFSET, UserVersion};
use super::wal_file::{each_frame, number};
use crate::error::{Code, Error, Result};

/// The number of attempts for a log that does not match the file: a process may be writing both.
const TRIES: usize = 5;

/// Fails if the log beside the file belongs to another file. Changes nothing.
///
/// # Errors
///
/// `UNAVAILABLE`, and not retryable.
pub(super) fn refuse_foreign(path: &Path) -> Result<()> {
    let log = beside(path, "-wal");
    for _ in 0..TRIES {
        let Some(file) = UserVersion::of_file(path) else { return Ok(()) };
        if owns(file, &numbers(&log)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(foreign(path))
}

/// The error for a log that belongs to another file.
pub(super) fn foreign(path: &Path) -> Error {
    let message = format!(
        "the write-ahead log \"{path}-wal\" belongs to another state of the database: another file was copied over \
         \"{path}\" while its log was there. To continue with the copied file, close all stores of it, move \"{path}-wal\" \
         and \"{path}-shm\" to another folder, and open a new store. To undo the copy, put the earlier file back. To restore \
         a backup without this, use `npx forkpoint restore`",
        path = path.display()
    );
    Error::new(Code::Unavailable, message).lasting()
}

/// Returns true if a log with these numbers belongs to the file.
fn owns(file: UserVersion, numbers: &[u32]) -> bool {
    let Some(first) = numbers.first() else { return true };
    // A new database's header has no tables and no number until its log is first copied into it.
    file.tables == 0 || file.next().log == *first || numbers.contains(&file.log)
}

/// Returns the log numbers in the committed copies of page 1.
fn numbers(log: &Path) -> Vec<u32> {
    let (mut numbers, mut committed) = (Vec::new(), 0);
    // SQLite reports an unreadable log.
    let _ = each_frame(log, |header, frame| {
        if !(header.intact && frame.ours && frame.continues) {
            return ControlFlow::Break(());
        }
        if frame.page_number == 1 {
            numbers.push(UserVersion::decode(number(frame.page, OFFSET.into())).log);
        }
        if frame.commits {
            committed = numbers.len();
        }
        ControlFlow::Continue(())
    });
    numbers.truncate(committed);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_belongs_to_the_file_that_it_began_from_or_was_copied_to() {
        let file = |log| UserVersion { tables: 1, unsynced: false, log };
        for (own, numbers) in [(6, &[7, 7, 8][..]), (7, &[7, 7, 8]), (8, &[7, 7, 8]), (900, &[])] {
            assert!(owns(file(own), numbers), "{own} {numbers:?}");
        }
        for (other, numbers) in [(5, &[7, 7, 8][..]), (9, &[7, 7, 8]), (0, &[7])] {
            assert!(!owns(file(other), numbers), "{other} {numbers:?}");
        }
        assert!(owns(UserVersion::default(), &[7]), "a new file");
        assert!(owns(file((1 << 23) - 1), &[0]), "the number after the last is 0");
    }
}
