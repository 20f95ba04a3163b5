//! The index of the write-ahead log: shared memory with the number of frames in the log, and the number that are copied
//! to the database file. Its layout is part of the file format of `SQLite` (<https://www.sqlite.org/walformat.html>).

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::file::{beside, has};
use super::handle::Handle;
use super::wal_file::{FRAME_HEADER, HEADER};
use crate::error::{Code, Error, Result};

/// The offset of the page size, and of the change counter beside it.
const PAGE_SIZE: usize = 12;
/// The offset of the number of frames.
const FRAMES: usize = 16;
/// The offset of the number of copied frames.
const COPIED: usize = 96;

/// The number of attempts if the log is too short, because another process may be restarting it.
const TRIES: usize = 20;

/// The contents of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index {
    frames: u32,
    copied: u32,
    page_size: u64,
}

impl Index {
    /// Reads the index of a database in WAL mode. Returns `None` if it cannot be read.
    pub(super) fn read(connection: &Connection) -> Option<Self> {
        let [page_size, frames, copied] = Handle::of(connection)?.index_numbers([PAGE_SIZE, FRAMES, COPIED]).ok()?;
        // The upper half is the page size. The number is in the byte order of the machine, and 1 stands for 65,536.
        let page_size = u64::from(if cfg!(target_endian = "big") { page_size & 0xffff } else { page_size >> 16 });
        Some(Self { frames, copied, page_size: if page_size == 1 { 65_536 } else { page_size } })
    }

    /// Returns true if the next commit may restart the log, because all frames are in the database file. Only a
    /// connection with the write lock knows for sure.
    pub(super) fn may_restart(self) -> bool {
        self.frames == self.copied
    }

    /// Returns true if the file at the path is too short for the frames, and therefore another log.
    pub(super) fn is_missing(self, log: &Path) -> bool {
        let frames = u64::from(self.frames);
        let needed = HEADER as u64 + frames * (FRAME_HEADER as u64 + self.page_size);
        frames > 0 && fs::metadata(log).map_or(0, |log| log.len()) < needed
    }
}

/// Fails if another process has the database open and the log was removed. A new log would be used with the index of
/// the removed one.
///
/// # Errors
///
/// `UNAVAILABLE`, and not retryable.
pub(super) fn refuse_missing_log(connection: &Connection, database: &Path) -> Result<()> {
    if !has(database, "-shm") {
        return Ok(());
    }
    let log = beside(database, "-wal");
    for _ in 0..TRIES {
        match Index::read(connection) {
            Some(index) if index.is_missing(&log) => std::thread::sleep(std::time::Duration::from_millis(5)),
            _ => return Ok(()),
        }
    }
    let message = format!(
        "the write-ahead log \"{}\" was removed while another store has the database open, and only that store still has \
         its content. Let it save something or close it, which writes the content to the database file. Then open a new store",
        log.display()
    );
    Err(Error::new(Code::Unavailable, message).lasting())
}
