//! Finds damage in the middle of the write-ahead log, before `SQLite` opens the file.
//!
//! Each frame of the log has a checksum over itself and all frames before it. When `SQLite` recovers a log, it drops
//! everything from the first frame on whose checksum is wrong. That is right for the torn end of a log after a power
//! loss. But one flipped bit in the middle drops all later commits too, without an error.
//!
//! A torn end and damage differ in what follows. With full durability, a writer syncs a commit before it writes the
//! next frame. A frame that was written after a commit proves that everything up to this commit was on the disk.
//! The proof is the frame's checksum, which continues the checksum of the commit. If a frame before is wrong, it
//! was damaged later. Frames that an earlier power loss has left at the end of a log do not continue a commit.
//!
//! A process that was killed may leave a commit that is complete but not synced. The next process continues after it,
//! so the log is synced before the look.
//!
//! With less durability, a power loss can leave the same bytes. The header of the database says whether a store with
//! less durability has written to it (`user_version.rs`), in the file or in the log. Other processes may write the log
//! during this. They only append, or write a new header first and start again.

use std::fs::OpenOptions;
use std::io::Result as IoResult;
use std::ops::ControlFlow;
use std::path::Path;

use super::file::beside;
use super::user_version::{OFFSET, UserVersion};
use super::wal_file::{Header, each_frame, number};
use crate::backend::disk::failed;
use crate::error::{Code, Error, Result};

/// Syncs the log of the database. Fails with `CORRUPT` if the log has a damaged frame before its last commit. `file` is what
/// the header of the database file says. Changes nothing.
pub(super) fn refuse(database: &Path, file: UserVersion) -> Result<()> {
    let log = beside(database, "-wal");
    // No lock is on the log itself, so closing it drops none.
    match OpenOptions::new().read(true).write(true).open(&log) {
        Ok(file) => file.sync_all().map_err(|error| failed(error, "the write-ahead log cannot be synced"))?,
        Err(_) => return Ok(()),
    }
    // If the log cannot be read, SQLite reports it. If another process keeps starting the log again, the log is in use
    // and needs no recovery.
    for _ in 0..3 {
        let Ok(Some((header, frame))) = find(&log, file) else { break };
        // If the header has changed, another process has started the log again during the look.
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

/// Returns the first wrong frame if a later frame continues a commit that is not before the wrong frame. The header counts
/// as the frame 0. Returns `None` if no frame is damaged, or if a power loss can have left the log so.
fn find(log: &Path, file: UserVersion) -> IoResult<Option<(Header, u64)>> {
    let (mut wrong, mut proven) = (None, false);
    // Whether the frame before is a commit that is not before the wrong frame.
    let mut committed = false;
    // Until the log says it: the file says whether its commits may have been written without a sync.
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
            // What follows the damage can only say that there were commits without a sync.
            unsynced = if wrong.is_none() || says { Some(unsynced == Some(true) || says) } else { unsynced };
        }
        ControlFlow::Continue(())
    })?;
    let torn = unsynced.unwrap_or(file.unsynced);
    Ok(header.zip(wrong).filter(|_| proven && !torn))
}
