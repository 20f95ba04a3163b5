//! A line is a JSON object with two fields: the kind of the line, and the checksum `sum`.
//!
//! The checksum covers the bytes before the field `sum`, the line's position (file number and line number), and the
//! checksum of the previous line. It detects lines that were changed, moved, inserted or removed by hand. Two versions
//! of a file with the same checksum in the same line are equal up to this line. A file that has grown can thus be told
//! from a file that was replaced by an older version.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Code, Error, Result};

/// The length of `,"sum":"0123456789abcdef"}`.
const SUM: usize = 26;

/// The length of a line's end in bytes, as [`Sum::end`] returns it.
pub(super) const END: usize = SUM + 1;

/// The position of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// The number of the file. The journal has the number 0.
    pub(super) file: u64,
    /// The number of the line. The first line has the number 1.
    pub(super) line: u64,
    /// The checksum of the previous line. 0 for the first line.
    pub(super) before: Sum,
}

impl At {
    /// The position of the first line of a file.
    pub(super) fn first(file: u64) -> Self {
        Self { file, line: 1, before: Sum::default() }
    }

    fn sum(self, bytes: &[u8]) -> Sum {
        Sum(xxh3_64_with_seed(bytes, self.file << 32 ^ self.line ^ self.before.0))
    }
}

/// The checksum of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(u64);

impl Sum {
    /// The end of a line with this checksum: the field, the closing brace and the line break.
    pub(super) fn end(self) -> String {
        format!(",\"sum\":\"{self}\"}}\n")
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

impl FromStr for Sum {
    type Err = ParseIntError;

    fn from_str(digits: &str) -> std::result::Result<Self, ParseIntError> {
        u64::from_str_radix(digits, 16).map(Self)
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        <&str>::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// Appends a line with these fields. Returns its checksum.
pub(super) fn push(out: &mut Vec<u8>, fields: &impl Serialize, at: At) -> Sum {
    let begin = out.len();
    // Lines always serialize as JSON, and writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, fields);
    // The checksum comes before the closing brace.
    out.pop();
    let sum = at.sum(&out[begin..]);
    out.extend_from_slice(sum.end().as_bytes());
    sum
}

/// Verifies a line without its line break. Returns its text and its checksum.
pub(super) fn verify(line: &[u8], at: At) -> Result<(&str, Sum)> {
    let damaged = || Error::new(Code::Corrupt, "the line was changed or damaged: its checksum does not match");
    let split = line.len().checked_sub(SUM).ok_or_else(damaged)?;
    let (body, end) = line.split_at(split);
    let sum = at.sum(body);
    if end != sum.end().trim_end().as_bytes() {
        return Err(damaged());
    }
    std::str::from_utf8(line).map(|text| (text, sum)).map_err(|_| damaged())
}

/// Returns the stored checksum of a line without its line break, even if the line is damaged before it.
pub(super) fn stored_sum(line: &[u8]) -> Option<Sum> {
    let (_, end) = line.split_at_checked(line.len().checked_sub(SUM)?)?;
    std::str::from_utf8(end).ok()?.strip_prefix(",\"sum\":\"")?.strip_suffix("\"}")?.parse().ok()
}

/// Parses a verified line.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    // Leave out the parser's message, because it may quote stored state.
    serde_json::from_str(text).map_err(|error| {
        Error::new(Code::Corrupt, format!("the line has unexpected content, at column {}", error.column()))
    })
}

pub(super) fn unreadable() -> Error {
    Error::new(Code::Corrupt, "the line has unexpected content")
}
