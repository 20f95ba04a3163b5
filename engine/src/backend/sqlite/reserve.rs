//! A file that reserves space, so that checkpoints can be removed from a full disk.
//!
//! A removal writes to the log or the journal before it frees anything, so on a full disk it would fail. The log cannot
//! be copied into the database either, because the database would grow. So the store keeps a file as large as the log.
//! When the disk is full, it deletes this file, then copies and truncates the log. Removals then have room.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

use super::file::beside;
use crate::backend::disk::create;
use crate::error::{Code, Error, Result};

/// The space for the log of a removal, in bytes.
const REMOVAL: u64 = 256 << 10;

/// The reserve of a database file. All connections of all processes share it.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    log: PathBuf,
    /// The size of the file, as far as this connection knows.
    size: u64,
    lacks: bool,
}

impl Reserve {
    pub(super) fn new(database: &Path) -> Self {
        Self { path: beside(database, "-reserve"), log: beside(database, "-wal"), size: 0, lacks: false }
    }

    /// Grows the file to the size of the log. If the disk is full, [`Reserve::lacks`] is true afterwards. Ignores other
    /// errors: the store then works without a reserve.
    pub(super) fn keep(&mut self) {
        let log = fs::metadata(&self.log).map_or(0, |file| file.len());
        // Grow in large steps, and therefore seldom.
        let size = log.next_multiple_of(REMOVAL) + REMOVAL;
        if size <= self.size {
            return;
        }
        let grown = self.open().and_then(|file| allocate(&file, size));
        let full = |error: &std::io::Error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        self.lacks = grown.as_ref().is_err_and(full);
        if grown.is_ok() {
            self.size = size;
        } else if self.size == 0 {
            self.release();
        }
    }

    fn open(&self) -> IoResult<File> {
        match create(&self.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(&self.path),
            created => created,
        }
    }

    /// True if the disk has no room for the reserve. Saves would then use the space that removals need.
    pub(super) fn lacks(&self) -> bool {
        self.lacks
    }

    /// Deletes the file to free its space.
    pub(super) fn release(&mut self) {
        self.size = 0;
        // If the file cannot be deleted, the disk stays full, and the call fails as without a reserve.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns true if a call failed because the disk is full.
pub(super) fn is_full<T>(outcome: &Result<T>) -> bool {
    outcome.as_ref().is_err_and(|error| error.code() == Code::Full)
}

/// The error for a save that would use the space that removals need.
pub(super) fn reserve_only() -> Error {
    let message = "the disk is full: prune or delete checkpoints, or make room on the device, and save again";
    Error::new(Code::Full, message)
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // The last connection removes the log. Other open connections need the reserve.
        if !self.log.exists() {
            self.release();
        }
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, size: u64) -> IoResult<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size) {
        Err(rustix::io::Errno::OPNOTSUPP) => fill(file, size),
        allocated => Ok(allocated?),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, size: u64) -> IoResult<()> {
    fill(file, size)
}

/// Writes the entire file, because only setting its length would reserve no space.
fn fill(file: &File, size: u64) -> IoResult<()> {
    std::io::copy(&mut std::io::Read::take(std::io::repeat(1), size), &mut &*file).map(drop)
}
