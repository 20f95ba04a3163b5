//! Values in lines. JSON text is embedded byte for byte. Every other value is stored as base64.

use base64::display::Base64Display;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::line::unreadable;
use crate::error::Result;

/// The maximum nesting of embedded JSON. Many JSON parsers refuse more than 128 levels, and the line itself takes a
/// few.
const DEEPEST: usize = 100;

/// Bytes that are stored as base64.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base64<'a> {
    /// Bytes to encode.
    Bytes(&'a [u8]),
    /// Base64 text that was read.
    Text(&'a str),
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => to.collect_str(&Base64Display::new(bytes, &BASE64_STANDARD)),
            Self::Text(text) => to.serialize_str(text),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Base64<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        <&str>::deserialize(from).map(Self::Text)
    }
}

/// The two fields that hold a value: the first if the value is embedded as JSON, and otherwise the second.
pub(super) type Fields<'a> = (Option<&'a RawValue>, Option<Base64<'a>>);

/// Returns the fields that hold a value.
pub(super) fn fields(bytes: &[u8]) -> Fields<'_> {
    match as_json(bytes) {
        Some(json) => (Some(json), None),
        None => (None, Some(Base64::Bytes(bytes))),
    }
}

/// Returns the value that the fields hold.
pub(super) fn bytes(fields: Fields<'_>) -> Result<Vec<u8>> {
    match fields {
        (Some(json), None) => Ok(json.get().as_bytes().to_vec()),
        (None, Some(Base64::Text(text))) => BASE64_STANDARD.decode(text).map_err(|_| unreadable()),
        _ => Err(unreadable()),
    }
}

/// Returns the bytes as JSON, if they are a single line of JSON without surrounding spaces.
fn as_json(bytes: &[u8]) -> Option<&RawValue> {
    let text = str::from_utf8(bytes).ok()?;
    let json: &RawValue = serde_json::from_str(text).ok()?;
    (json.get() == text && !text.contains(['\n', '\r']) && depth(bytes) <= DEEPEST).then_some(json)
}

/// The depth of nesting of a JSON text.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
