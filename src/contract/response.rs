//! The response to a call: a JSON text with named fields, and buffers. The buffers contain the bytes of the parts in
//! the text.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::record::{Part, Payload};

/// The response to a call.
///
/// The text is JSON, because V8 parses a text several times faster than Node-API passes the same values one by one.
/// Several parts share a buffer, because every buffer has the same fixed cost.
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
}

/// A part in a response: its name, its tag, the index of the buffer that contains its bytes, the index of its first
/// byte in the buffer, and the number of its bytes.
///
/// Named fields would double the cost of reading a part. So this type has no named fields, although the other types
/// have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PackedPart(String, String, usize, usize, usize);

/// A buffer with at least this many bytes is full. The next part goes into another buffer.
const FULL: usize = 256 << 20;

/// Collects the parts of a response. The bytes are copied on the thread that has them, so that JavaScript's thread gets
/// only pointers.
#[derive(Debug, Default)]
pub(crate) struct ResponseBuilder {
    bytes: Vec<Bytes>,
    /// The length of each buffer, in bytes.
    buffers: Vec<usize>,
}

impl ResponseBuilder {
    /// Adds a part.
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

    /// Builds the response. `value` contains the [`PackedPart`]s of the parts that were added.
    pub(crate) fn finish(self, value: &impl Serialize) -> Result<Response> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::new(Code::Corrupt, format!("the result cannot be encoded: {error}")))?;
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
