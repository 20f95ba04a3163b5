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
//! With less durability, a power loss can leave the same bytes, so only stores with full durability look. Other
//! processes may write the log during this. They only append, or write a new header first and start again.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Result as IoResult};
use std::path::Path;

use super::file::beside;
use crate::backend::disk::failed;
use crate::error::{Code, Error, Result};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The two magic numbers. The last bit says that checksums read the bytes as big-endian numbers.
const MAGIC: u32 = 0x377f_0682;

/// Syncs the log of the database. Fails with `CORRUPT` if the log has a damaged frame before its last commit. Changes
/// nothing.
pub(super) fn refuse(database: &Path) -> Result<()> {
    let log = beside(database, "-wal");
    // No lock is on the log itself, so closing it drops none.
    match OpenOptions::new().read(true).write(true).open(&log) {
        Ok(file) => file.sync_all().map_err(|error| failed(error, "the write-ahead log cannot be synced"))?,
        Err(_) => return Ok(()),
    }
    // If the log cannot be read, SQLite reports it. If another process keeps starting the log again, the log is in use
    // and needs no recovery.
    for _ in 0..3 {
        let Ok(Some((header, frame))) = look(&log) else { break };
        // If the header has changed, another process has started the log again during the look.
        if read_header(&log).is_ok_and(|now| now == header) {
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

/// The fields of a log's header.
#[derive(Clone, Copy)]
struct Header {
    big_endian: bool,
    page_size: usize,
    salts: [u8; 8],
    sum: Sum,
    whole: bool,
}

impl Header {
    fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let magic = number(bytes, 0);
        let known = magic & !1 == MAGIC;
        let big_endian = known && magic & 1 == 1;
        let sum = Sum::default().add(&bytes[..24], big_endian);
        let whole = known && sum == Sum::stored(bytes, 24);
        let size = usize::try_from(number(bytes, 8)).ok()?;
        let page_size = if whole { size } else { 4096 };
        let valid = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
        valid.then(|| Self { big_endian, page_size, salts: eight(bytes, 16), sum, whole })
    }
}

/// The checksum of the log's format: two sums of 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(number(bytes, at), number(bytes, at + 4))
    }

    fn add(mut self, bytes: &[u8], big_endian: bool) -> Self {
        let read = |at: &[u8]| {
            let word = [at[0], at[1], at[2], at[3]];
            if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        for pair in bytes.chunks_exact(8) {
            self.0 = self.0.wrapping_add(read(&pair[..4])).wrapping_add(self.1);
            self.1 = self.1.wrapping_add(read(&pair[4..])).wrapping_add(self.0);
        }
        self
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    bytes[at..].first_chunk().copied().unwrap_or_default()
}

fn read_header(log: &Path) -> IoResult<[u8; HEADER]> {
    let mut bytes = [0; HEADER];
    File::open(log)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the header and the number of the first damaged frame. The first frame has the number 1, and the header has the
/// number 0. Returns `None` if nothing is damaged.
fn look(log: &Path) -> IoResult<Option<([u8; HEADER], u64)>> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(log)?);
    let mut bytes = [0; HEADER];
    file.read_exact(&mut bytes)?;
    let Some(header) = Header::parse(&bytes) else { return Ok(None) };
    Ok(scan(&mut file, &header)?.map(|frame| (bytes, frame)))
}

/// Returns the first wrong frame if a later frame continues a commit that is not before the wrong frame.
fn scan(file: &mut impl Read, header: &Header) -> IoResult<Option<u64>> {
    let Header { big_endian, page_size, mut salts, mut sum, whole } = *header;
    let mut wrong = (!whole).then_some(0);
    // Whether the frame before is a commit that is not before the wrong frame.
    let mut committed = false;
    let mut frame = vec![0; FRAME_HEADER + page_size];
    for count in 1.. {
        match file.read_exact(&mut frame) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        if wrong == Some(0) && count == 1 {
            // The header is damaged, so the salts of the first frame must do.
            salts = eight(&frame, 8);
        }
        let ours = eight(&frame, 8) == salts && number(&frame, 0) != 0;
        let goes_on =
            sum.add(&frame[..8], big_endian).add(&frame[FRAME_HEADER..], big_endian) == Sum::stored(&frame, 16);
        if wrong.is_some() && committed && ours && goes_on {
            return Ok(wrong);
        }
        if wrong.is_none() && !(ours && goes_on) {
            wrong = Some(count);
        }
        committed = wrong.is_some() && ours && number(&frame, 4) != 0;
        sum = Sum::stored(&frame, 16);
    }
    Ok(None)
}
