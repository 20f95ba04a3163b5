//! Finds damage in the middle of the write-ahead log, before `SQLite` opens the file.
//!
//! Each frame of the log has a checksum over itself and all earlier frames. When `SQLite` recovers a log, it drops
//! everything from the first wrong checksum on. That is right for the torn end of a log after a power loss. But one
//! flipped bit in the middle drops all later commits too, without an error.
//!
//! Later frames tell a torn end from damage. With full durability, a writer syncs a commit before it writes the next
//! frame. So a frame after a commit proves that everything up to this commit was on the disk. The proof is the frame's
//! checksum, which continues the commit's checksum. A wrong frame before was damaged later. Frames from before an
//! earlier power loss do not continue a commit.
//!
//! A killed process may leave a complete commit that is not synced. The next process continues after it, so the log is
//! synced before it is examined.
//!
//! With less durability, a power loss can leave the same bytes. The header of the database, in the file or in the log,
//! says whether a store with less durability has written to it (`user_version.rs`). Other processes may write the log
//! at the same time. They only append, or restart the log by first writing a new header.

use std::fs::OpenOptions;
use std::io::Result as IoResult;
use std::ops::ControlFlow;
use std::path::Path;

use super::file::beside;
use super::user_version::{OFFSET, UserVersion};
use super::wal_file::{Header, each_frame, number};
use crate::backend::disk::failed;
use crate::error::{Code, Error, Result};

/// Syncs the log of the database. Fails with `CORRUPT` if the log has a damaged frame before its last commit. `file` is
/// the version in the database file's header. Changes no content.
pub(super) fn refuse(database: &Path, file: UserVersion) -> Result<()> {
    let log = beside(database, "-wal");
    // The log itself has no locks, so closing it drops none.
    match OpenOptions::new().read(true).write(true).open(&log) {
        Ok(file) => file.sync_all().map_err(|error| failed(error, "the write-ahead log cannot be synced"))?,
        Err(_) => return Ok(()),
    }
    // If the log cannot be read, SQLite reports it. If another process keeps restarting the log, the log is in use and
    // needs no recovery.
    for _ in 0..3 {
        let Ok(Some((header, frame))) = find(&log, file) else { break };
        // If the header has changed, another process has restarted the log in the meantime.
        if header.is_current(&log) {
            return Err(damaged(&log, frame));
        }
    }
    Ok(())
}

fn damaged(log: &Path, frame: u64) -> Error {
    let message = format!(
        "frame {frame} of the write-ahead log \"{}\" is damaged, and later commits follow it, which SQLite would drop \
         without an error: restore the database from a backup, or open the store once with the durability \"normal\", which \
         keeps only what was saved before the damage; nothing was changed",
        log.display()
    );
    Error::new(Code::Corrupt, message)
}

/// Returns the first wrong frame, if a later frame continues a commit at or after it. The header counts as frame 0.
/// Returns `None` if no frame is damaged, or if a power loss can explain the state of the log.
fn find(log: &Path, file: UserVersion) -> IoResult<Option<(Header, u64)>> {
    let (mut wrong, mut proven) = (None, false);
    // True if the previous frame is a commit at or after the wrong frame.
    let mut committed = false;
    // True if the log says that commits were not synced. `None`: it does not say, so the file's header decides.
    let mut unsynced = None;
    let header = each_frame(log, |header, frame| {
        if frame.number == 1 && !header.intact {
            wrong = Some(0);
        }
        let right = frame.ours && frame.continues;
        proven |= wrong.is_some() && committed && right;
        if wrong.is_none() && !right {
            wrong = Some(frame.number);
        }
        committed = wrong.is_some() && frame.ours && frame.commits;
        if right && frame.page_number == 1 {
            let says = UserVersion::decode(number(frame.page, OFFSET.into())).unsynced;
            // After the damage, only trust a frame that reports unsynced commits.
            unsynced = if wrong.is_none() || says { Some(unsynced == Some(true) || says) } else { unsynced };
        }
        ControlFlow::Continue(())
    })?;
    let torn = unsynced.unwrap_or(file.unsynced);
    Ok(header.zip(wrong).filter(|_| proven && !torn))
}
