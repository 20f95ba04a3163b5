//! The response to a call: JSON text with named fields, and buffers with the bytes of the parts in the text.
//!
//! JavaScript reads JSON numbers as doubles, which cannot represent most 64-bit integers. Such an integer is a text
//! with its decimal digits. [`super::fields`] reads both forms.

use std::io;

use bytes::Bytes;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use ts_rs::TS;

use crate::error::{Code, Error, Result};
use crate::query::Answer;
use crate::record::{Header, Lineage, Part, Payload, Record, Seq};

/// The response to a call.
///
/// The text is JSON, because V8 parses it several times faster than Node-API passes the values one by one. Several
/// parts share a buffer, because every buffer has a fixed cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The value, in JSON. Each part in the value is a packed part.
    pub text: String,
    /// The bytes of the parts.
    pub buffers: Vec<Vec<u8>>,
}

impl Response {
    /// A response without parts.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        ResponseBuilder::default().finish(value)
    }

    /// The response to a call that reads one item. `show` adds the item's parts. Null if there is no item.
    pub(crate) fn one<I, T: Serialize>(
        item: Option<I>,
        show: impl FnOnce(I, &mut ResponseBuilder) -> Result<T>,
    ) -> Result<Option<Self>> {
        let Some(item) = item else { return Ok(None) };
        let mut response = ResponseBuilder::default();
        let shown = show(item, &mut response)?;
        response.finish(&shown).map(Some)
    }

    /// The response to a call that lists items. `show` adds the parts of an item.
    pub(crate) fn list<I, T: Serialize>(
        items: Vec<I>,
        mut show: impl FnMut(I, &mut ResponseBuilder) -> Result<T>,
    ) -> Result<Option<Self>> {
        Self::one(Some(items), |items, response| {
            items.into_iter().map(|item| show(item, response)).collect::<Result<Vec<_>>>()
        })
    }

    /// The response to a call that lists lineages. `show` shows the newest checkpoint of a lineage.
    pub(crate) fn lineages<T: Serialize>(answer: Answer, show: impl Fn(Header) -> Result<T>) -> Result<Option<Self>> {
        Self::list(answer.into_lineages()?, |Lineage { position, newest, seq, .. }, _| {
            Ok(Listed { cursor: position.to_string(), saved: seq, shown: show(newest)? })
        })
    }
}

/// A lineage in a response.
#[derive(Serialize, TS)]
pub(crate) struct Listed<T> {
    /// The position after which the next page begins.
    cursor: String,
    /// The number of its last save. Later saves have greater numbers.
    saved: Seq,
    #[serde(flatten)]
    shown: T,
}

/// A part in a response: its name, its tag, the index of its buffer, its offset in the buffer, and its number of bytes.
///
/// This type has no named fields, unlike the other types, because they would double the cost of reading a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
#[ts(type = "[name: string, tag: string, buffer: number, start: number, length: number]")]
pub(crate) struct PackedPart(String, String, usize, usize, usize);

/// A buffer with at least this many bytes is full. The next part goes into another buffer.
const FULL: usize = 256 << 20;

/// Collects the parts of a response. The bytes are copied on the current thread, so that JavaScript's thread only gets
/// pointers.
#[derive(Debug, Default)]
pub(crate) struct ResponseBuilder {
    bytes: Vec<Bytes>,
    /// The length of each buffer, in bytes.
    buffers: Vec<usize>,
}

impl ResponseBuilder {
    pub(crate) fn part(&mut self, Part { name, tag, bytes }: Part) -> PackedPart {
        if self.buffers.last().is_none_or(|length| *length >= FULL) {
            self.buffers.push(0);
        }
        let buffer = self.buffers.len() - 1;
        let (start, length) = (self.buffers[buffer], bytes.len());
        self.buffers[buffer] += length;
        self.bytes.push(bytes.into_joined());
        PackedPart(name, tag, buffer, start, length)
    }

    /// Adds all parts of a payload.
    pub(crate) fn parts(&mut self, payload: Payload) -> Vec<PackedPart> {
        payload.parts.into_iter().map(|part| self.part(part)).collect()
    }

    /// Adds the records of a log. They have no names.
    pub(crate) fn records(&mut self, records: Vec<Record>) -> Vec<PackedPart> {
        let part = |Record { tag, bytes, .. }| Part { name: String::new(), tag, bytes: bytes.into() };
        records.into_iter().map(|record| self.part(part(record))).collect()
    }

    /// Builds the response. `value` contains the [`PackedPart`]s of the parts that were added.
    pub(crate) fn finish(self, value: &impl Serialize) -> Result<Response> {
        let unwritable =
            |why: &dyn std::fmt::Display| Error::new(Code::Corrupt, format!("the result cannot be encoded: {why}"));
        let mut text = Vec::with_capacity(128);
        value
            .serialize(&mut serde_json::Serializer::with_formatter(&mut text, Exact))
            .map_err(|error| unwritable(&error))?;
        let text = String::from_utf8(text).map_err(|error| unwritable(&error))?;
        let mut bytes = self.bytes.into_iter();
        let mut fill = |length: usize| {
            let mut buffer: Vec<u8> = Vec::new();
            while buffer.len() < length
                && let Some(part) = bytes.next()
            {
                if part.len() == length {
                    return part.into();
                }
                buffer.reserve_exact(length - buffer.len());
                buffer.extend_from_slice(&part);
            }
            buffer
        };
        let buffers = self.buffers.into_iter().map(&mut fill).collect();
        Ok(Response { text, buffers })
    }
}

/// The greatest integer `n` for which a double holds `n` and each integer between `n` and 0: `Number.MAX_SAFE_INTEGER`.
pub(crate) const SAFE: u64 = (1 << 53) - 1;

/// Writes compact JSON without numbers that JavaScript would round. An integer beyond [`SAFE`] becomes a text with its
/// digits.
struct Exact;

impl Formatter for Exact {
    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > SAFE {
            return write!(writer, "\"{value}\"");
        }
        CompactFormatter.write_i64(writer, value)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > SAFE {
            return write!(writer, "\"{value}\"");
        }
        CompactFormatter.write_u64(writer, value)
    }
}
