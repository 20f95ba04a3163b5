//! Checksums of rows. A checksum is a hash of the columns that identify a row and never change.

use std::cell::Cell;

use xxhash_rust::xxh3::xxh3_64;

use super::varint;

const INT: u8 = 1;
const TEXT: u8 = 2;
const BYTES: u8 = 3;
const NONE: u8 = 4;

thread_local! {
    /// A buffer that all checksums of this thread reuse, because a listing computes one for every row. It is a thread
    /// local, because dozens of functions would have to pass it. It is empty between two checksums, so no result
    /// depends on it.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A checksum that is being built.
///
/// Each value is written with its type, and also with its length if that is variable. Different lists of values
/// therefore never give the same bytes.
#[derive(Debug)]
pub(crate) struct Sum(Vec<u8>);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(SPARE.take())
    }

    #[must_use]
    pub(crate) fn int(mut self, value: i64) -> Self {
        self.0.push(INT);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[must_use]
    pub(crate) fn text(self, value: &str) -> Self {
        self.tagged(TEXT, value.as_bytes())
    }

    /// Adds an optional text. `None` and the empty text give different checksums.
    #[must_use]
    pub(crate) fn opt_text(mut self, value: Option<&str>) -> Self {
        if let Some(value) = value {
            return self.text(value);
        }
        self.0.push(NONE);
        self
    }

    /// Adds an optional integer.
    #[must_use]
    pub(crate) fn opt_int(mut self, value: Option<i64>) -> Self {
        if let Some(value) = value {
            return self.int(value);
        }
        self.0.push(NONE);
        self
    }

    #[must_use]
    pub(crate) fn bytes(self, value: &[u8]) -> Self {
        self.tagged(BYTES, value)
    }

    /// Returns the checksum: XXH3-64, as the signed integer that a column stores.
    pub(crate) fn finish(mut self) -> i64 {
        let sum = xxh3_64(&self.0).cast_signed();
        self.0.clear();
        SPARE.set(self.0);
        sum
    }

    fn tagged(mut self, tag: u8, value: &[u8]) -> Self {
        self.0.push(tag);
        varint::write(&mut self.0, value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lists_that_look_alike_differ() {
        let sums = [
            Sum::new(),
            Sum::new().text(""),
            Sum::new().bytes(b""),
            Sum::new().opt_text(None),
            Sum::new().int(0),
            Sum::new().int(0).int(0),
            Sum::new().text("ab").text("c"),
            Sum::new().text("a").text("bc"),
            Sum::new().bytes(b"ab").text("c"),
            Sum::new().opt_int(None).int(1),
            Sum::new().opt_int(Some(1)).opt_int(None),
        ];
        let count = sums.len();
        let different: HashSet<i64> = sums.into_iter().map(Sum::finish).collect();
        assert_eq!(different.len(), count);
        assert_eq!(Sum::new().opt_text(Some("a")).finish(), Sum::new().text("a").finish());
    }
}
