//! A frame is one byte string that holds all parts of a payload:
//!
//! ```text
//! count { name length, name, tag length, tag, byte length } * count { bytes } * count      (lengths: LEB128)
//! ```

use bytes::Bytes;

use super::{largest, varint};
use crate::error::{Code, Error, Result};
use crate::record::{Part, Payload};

/// Joins the parts of a payload into a frame.
pub fn join(payload: &Payload) -> Vec<u8> {
    let names: usize = payload.parts.iter().map(|part| part.name.len() + part.tag.len() + 20).sum();
    let mut out = Vec::with_capacity(10 + names + payload.len());
    varint::write(&mut out, payload.parts.len() as u64);
    for part in &payload.parts {
        for text in [&part.name, &part.tag] {
            varint::write(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        varint::write(&mut out, part.bytes.len() as u64);
    }
    for part in &payload.parts {
        part.bytes.pieces().iter().for_each(|piece| out.extend_from_slice(piece));
    }
    out
}

/// Returns the size in bytes of the frame that [`join`] would return.
pub fn length(payload: &Payload) -> usize {
    let text = |text: &str| varint::length(text.len() as u64) + text.len();
    let part = |part: &Part| text(&part.name) + text(&part.tag) + varint::length(part.bytes.len() as u64);
    let descriptions: usize = payload.parts.iter().map(part).sum();
    varint::length(payload.parts.len() as u64) + descriptions + payload.len()
}

/// Refuses a frame that could not be opened again.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the frame is longer than `largest` bytes or has too many parts.
pub(crate) fn refuse_large(frame: &[u8], largest: usize) -> Result<()> {
    largest::store(frame.len(), varint::read(&mut &*frame).unwrap_or(0), largest)
}

/// Splits a frame into its parts. The bytes of the parts are slices of `frame`, not copies.
pub fn split(frame: &Bytes) -> Result<Payload> {
    parse(frame).ok_or_else(|| {
        Error::new(
            Code::Corrupt,
            "the stored payload is damaged: its parts cannot be separated; restore it from a backup",
        )
    })
}

fn parse(frame: &Bytes) -> Option<Payload> {
    let mut rest: &[u8] = frame;
    let count = varint::read(&mut rest).filter(|count| largest::holds_parts(*count))?;
    // A part takes at least three bytes. The count may be damaged, so reserve memory for at most as many parts as fit
    // into the bytes.
    let mut descriptions = Vec::with_capacity(usize::try_from(count).ok()?.min(rest.len() / 3));
    for _ in 0..count {
        let name = text(&mut rest)?;
        let tag = text(&mut rest)?;
        descriptions.push((name, tag, varint::read(&mut rest)?));
    }
    let mut parts = Vec::with_capacity(descriptions.len());
    for (name, tag, length) in descriptions {
        parts.push(Part { name, tag, bytes: frame.slice_ref(varint::take(&mut rest, length)?).into() });
    }
    rest.is_empty().then_some(Payload { parts })
}

fn text(input: &mut &[u8]) -> Option<String> {
    let length = varint::read(input)?;
    let bytes = varint::take(input, length)?;
    Some(std::str::from_utf8(bytes).ok()?.to_owned())
}
