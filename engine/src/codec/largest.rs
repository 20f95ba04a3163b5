//! The maximum size of a payload that this thread stores and opens.
//!
//! A stored payload names its length, and a small one can claim any length. Each thread of a store therefore opens only
//! payloads that the store could have saved. The limit belongs to the thread and not to a call, because all rows of all
//! backends use this codec.

use std::cell::Cell;

use crate::error::{Code, Error, Result};

/// The maximum length that an envelope may claim, in bytes. A larger length is damage, because `SQLite` limits a row to
/// a gigabyte.
pub(super) const MOST: usize = 1 << 30;

/// The maximum number of parts of a payload. An empty part takes three bytes in a frame, and much more in memory.
const MOST_PARTS: u64 = 1 << 20;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(MOST) };
}

/// Sets this thread's limit, in bytes of all parts with their names.
pub(crate) fn set(bytes: usize) {
    LARGEST.set(bytes.min(MOST));
}

/// Runs work with this limit.
pub(crate) fn within<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    struct Outer(usize);
    impl Drop for Outer {
        fn drop(&mut self) {
            LARGEST.set(self.0);
        }
    }
    let _outer = Outer(LARGEST.replace(bytes.min(MOST)));
    work()
}

/// Returns the limit of this thread, in bytes.
pub(crate) fn get() -> usize {
    LARGEST.get()
}

/// Refuses to open a payload of this length, in bytes.
///
/// # Errors
///
/// `UNSUPPORTED` if the payload is longer than the limit.
pub(super) fn open(length: usize) -> Result<()> {
    let most = get();
    if length <= most {
        return Ok(());
    }
    let message = format!(
        "the stored payload takes {length} bytes, and this store opens at most {most}: open the store with a higher \
         maxPayloadBytes (on the command line: --max-payload-bytes)"
    );
    Err(Error::new(Code::Unsupported, message))
}

/// Refuses to store a frame of this length with this many parts.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if this thread could not open the frame again.
pub(super) fn store(length: usize, parts: u64) -> Result<()> {
    let most = get();
    if length > most {
        return Err(Error::invalid(format!(
            "all parts together take {length} bytes, more than the store keeps in one place ({most}): keep less in the \
             state, or open the store with a higher maxPayloadBytes"
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
