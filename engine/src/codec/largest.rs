//! The maximum size of a payload that a store saves and opens.
//!
//! A stored payload names its length, and a small one can claim any length. A store therefore opens only payloads that
//! it could have saved. The limit is an argument of the functions that save and open payloads.

use crate::error::{Code, Error, Result};

/// The maximum length that an envelope may claim, in bytes. A larger length is damage, because `SQLite` limits a row to
/// a gigabyte.
pub(crate) const MOST: usize = 1 << 30;

/// The maximum number of parts of a payload. An empty part takes three bytes in a frame, and much more in memory.
const MOST_PARTS: u64 = 1 << 20;

/// Refuses to open a payload of this length, in bytes.
///
/// # Errors
///
/// `UNSUPPORTED` if the payload is longer than `largest`.
pub(super) fn open(length: usize, largest: usize) -> Result<()> {
    if length <= largest {
        return Ok(());
    }
    let message = format!(
        "the stored payload takes {length} bytes, and this store opens at most {largest}: open the store with a higher \
         maxPayloadBytes (on the command line: --max-payload-bytes)"
    );
    Err(Error::new(Code::Unsupported, message))
}

/// Refuses to store a frame of this length with this many parts.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if a store with the limit `largest` could not open the frame again.
pub(super) fn store(length: usize, parts: u64, largest: usize) -> Result<()> {
    if length > largest {
        return Err(Error::invalid(format!(
            "all parts together take {length} bytes, more than the store keeps in one place ({largest}): keep less in \
             the state, or open the store with a higher maxPayloadBytes"
        )));
    }
    if parts > MOST_PARTS {
        return Err(Error::invalid(format!("there are {parts} parts, and a store keeps {MOST_PARTS} in one place")));
    }
    Ok(())
}

/// Returns true if a payload may have this many parts.
pub(super) fn holds_parts(parts: u64) -> bool {
    parts <= MOST_PARTS
}
