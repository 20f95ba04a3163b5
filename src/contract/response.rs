//! What a call resolves to: a text in JSON with named fields, and buffers with the bytes of the parts that it names.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::record::{Part, Payload};

/// The answer to a call. V8 parses a text several times faster than Node-API hands over what is in it, and one buffer
/// costs what each of many does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// A value in JSON. A part in it is a [`PackedPart`].
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

/// Where in a response a part is: its name, its tag, which of the buffers has its bytes, from where, and how many. The one
/// thing in a response that has no named fields: they would double what reading it costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedPart(String, String, usize, usize, usize);

/// A buffer takes up parts until it has so many bytes.
const FULL: usize = 256 << 20;

/// Collects the parts of a response. Runs on the thread that has the bytes: only pointers are left for JavaScript's.
#[derive(Debug, Default)]
pub struct ResponseBuilder {
    bytes: Vec<Bytes>,
    /// How long each buffer is.
    buffers: Vec<usize>,
}

impl ResponseBuilder {
    /// Adds a part.
    pub fn part(&mut self, Part { name, tag, bytes }: Part) -> PackedPart {
        if self.buffers.last().is_none_or(|length| *length >= FULL) {
            self.buffers.push(0);
        }
        let buffer = self.buffers.len() - 1;
        let (start, length) = (self.buffers[buffer], bytes.len());
        self.buffers[buffer] += length;
        self.bytes.push(bytes);
        PackedPart(name, tag, buffer, start, length)
    }

    /// Adds all parts of a payload.
    pub fn parts(&mut self, payload: Payload) -> Vec<PackedPart> {
        payload.parts.into_iter().map(|part| self.part(part)).collect()
    }

    /// The response with that value, which names the parts that were added.
    pub fn finish(self, value: &impl Serialize) -> Result<Response> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::new(Code::Corrupt, format!("what was found cannot be told: {error}")))?;
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
