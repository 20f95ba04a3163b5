//! Reads the file of the write-ahead log frame by frame (<https://www.sqlite.org/walformat.html>).
//!
//! Each frame is a page of the database, with a checksum over the frame and all earlier frames.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result as IoResult};
use std::ops::ControlFlow;
use std::path::Path;

/// The length of the file's header in bytes.
pub(super) const HEADER: usize = 32;
/// The length of a frame's header in bytes. The page follows it.
pub(super) const FRAME_HEADER: usize = 24;
/// The common part of the two magic numbers. If the last bit is set, checksums read bytes as big-endian numbers.
const MAGIC: u32 = 0x377f_0682;

/// One frame of a log.
pub(super) struct Frame<'a> {
    /// The first frame has the number 1.
    pub(super) number: u64,
    pub(super) page_number: u32,
    /// True if the frame is the last of a transaction.
    pub(super) commits: bool,
    /// True if the frame belongs to the current use of the file, and not to an earlier one.
    pub(super) ours: bool,
    /// True if the checksum is right: the frame is intact, and was written after the previous frame.
    pub(super) continues: bool,
    pub(super) page: &'a [u8],
}

/// The header of a log.
#[derive(Clone, Copy)]
pub(super) struct Header {
    bytes: [u8; HEADER],
    big_endian: bool,
    page_size: usize,
    sum: Sum,
    /// True if the checksum of the header is right.
    pub(super) intact: bool,
}

impl Header {
    fn parse(bytes: [u8; HEADER]) -> Option<Self> {
        let magic = number(&bytes, 0);
        let known = magic & !1 == MAGIC;
        let big_endian = known && magic & 1 == 1;
        let sum = Sum::default().add(&bytes[..24], big_endian);
        let intact = known && sum == Sum::stored(&bytes, 24);
        let size = usize::try_from(number(&bytes, 8)).ok()?;
        let page_size = if intact { size } else { 4096 };
        let valid = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
        valid.then_some(Self { bytes, big_endian, page_size, sum, intact })
    }

    /// Returns true if the log still has this header, because no process has restarted it.
    pub(super) fn is_current(&self, log: &Path) -> bool {
        let read = || -> IoResult<[u8; HEADER]> {
            let mut bytes = [0; HEADER];
            File::open(log)?.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().is_ok_and(|now| now == self.bytes)
    }
}

/// Passes each frame of a log to `look`, until `look` breaks. Returns the header. `None`: the file is not a log.
pub(super) fn each_frame(
    log: &Path,
    mut look: impl FnMut(&Header, &Frame<'_>) -> ControlFlow<()>,
) -> IoResult<Option<Header>> {
    // The log itself has no locks, so closing it drops none.
    let mut file = BufReader::with_capacity(1 << 16, File::open(log)?);
    let mut bytes = [0; HEADER];
    match file.read_exact(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let Some(header) = Header::parse(bytes) else { return Ok(None) };
    let mut salts: [u8; 8] = eight(&bytes, 16);
    let mut sum = header.sum;
    let mut frame = vec![0; FRAME_HEADER + header.page_size];
    for count in 1.. {
        match file.read_exact(&mut frame) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        if count == 1 && !header.intact {
            // The header is damaged, so take the salts of the first frame.
            salts = eight(&frame, 8);
        }
        let (page_number, stored) = (number(&frame, 0), Sum::stored(&frame, 16));
        let own = sum.add(&frame[..8], header.big_endian).add(&frame[FRAME_HEADER..], header.big_endian);
        let seen = Frame {
            number: count,
            page_number,
            commits: number(&frame, 4) != 0,
            ours: eight(&frame, 8) == salts && page_number != 0,
            continues: own == stored,
            page: &frame[FRAME_HEADER..],
        };
        if look(&header, &seen).is_break() {
            break;
        }
        sum = stored;
    }
    Ok(Some(header))
}

/// The checksum in the format of the log: two sums of 32 bits.
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

/// Reads four bytes as a big-endian number.
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    bytes[at..].first_chunk().copied().unwrap_or_default()
}
