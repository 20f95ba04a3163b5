//! What a row of a database holds of a payload:
//!
//! ```text
//! format (1 byte)  checksum of the raw bytes (XXH3-64, 8 bytes, little endian)  raw length (LEB128)  body
//! ```
//!
//! Format 1: the body is the raw bytes. Format 2: the body is a zstd frame of them. `docs/format.md` is the public text.

use std::io::Read;

use xxhash_rust::xxh3::xxh3_64;

use super::varint;
use crate::error::{Code, Error, Result};

const PLAIN: u8 = 1;
const ZSTD: u8 = 2;

/// Below this many bytes compression saves less than the row around them takes.
const WORTH_COMPRESSING: usize = 512;
/// zstd's fastest standard level: a level more costs the commit path more than it saves on disk.
const LEVEL: i32 = 1;

/// More than a row can hold (`SQLite`: a gigabyte), so a length beyond it is damage and not a reason to decompress.
const MAX_RAW: u64 = 1 << 30;

/// Seals raw bytes for storing.
pub fn seal(raw: &[u8]) -> Vec<u8> {
    if raw.len() >= WORTH_COMPRESSING
        && let Ok(body) = zstd::bulk::compress(raw, LEVEL)
        && body.len() < raw.len() / 10 * 9
    {
        return assemble(ZSTD, raw, &body);
    }
    assemble(PLAIN, raw, raw)
}

fn assemble(format: u8, raw: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(19 + body.len());
    out.push(format);
    out.extend_from_slice(&xxh3_64(raw).to_le_bytes());
    varint::write(&mut out, raw.len() as u64);
    out.extend_from_slice(body);
    out
}

/// The raw bytes that [`seal`] was given, or `CORRUPT`; `UNSUPPORTED` for a format of a later version.
pub fn open(sealed: &[u8]) -> Result<Vec<u8>> {
    let mut rest = sealed;
    let (Some(&[format]), Some(checksum), Some(length)) = (
        varint::take(&mut rest, 1),
        varint::take(&mut rest, 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()),
        varint::read(&mut rest),
    ) else {
        return Err(corrupt("it is cut off"));
    };
    if length > MAX_RAW {
        return Err(corrupt("its length is impossible"));
    }
    let raw = match format {
        PLAIN => rest.to_vec(),
        ZSTD => inflate(rest, length)?,
        other => {
            let message =
                format!("the payload has format {other}, which this version does not know: upgrade forkpoint");
            return Err(Error::new(Code::Unsupported, message));
        }
    };
    if raw.len() as u64 != length || xxh3_64(&raw) != u64::from_le_bytes(checksum) {
        return Err(corrupt("its checksum does not match"));
    }
    Ok(raw)
}

/// Decompresses, but never beyond one byte more than was promised: a damaged length or frame costs no memory.
fn inflate(body: &[u8], length: u64) -> Result<Vec<u8>> {
    // What a hostile length can reserve is bounded by what the frame could honestly hold.
    let plausible = length.min((body.len() as u64).saturating_mul(256));
    let mut raw = Vec::with_capacity(usize::try_from(plausible).unwrap_or(0));
    let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(|error| corrupt(&error.to_string()))?;
    decoder
        .take(length.saturating_add(1))
        .read_to_end(&mut raw)
        .map_err(|error| corrupt(&format!("it does not decompress ({error})")))?;
    Ok(raw)
}

fn corrupt(why: &str) -> Error {
    Error::new(Code::Corrupt, format!("the stored payload is damaged: {why}; restore it from a backup"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_back(raw in prop::collection::vec(any::<u8>(), 0..2000), times in 1usize..20) {
            let raw = raw.repeat(times);
            prop_assert_eq!(open(&seal(&raw)).unwrap(), raw);
        }

        #[test]
        fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // Random bytes that carry their own checksum do not occur.
            prop_assert!(open(&bytes).is_err());
        }

        #[test]
        fn a_flipped_bit_is_noticed(raw in prop::collection::vec(0u8..4, 1..3000), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut sealed = seal(&raw);
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            if let Ok(opened) = open(&sealed) {
                prop_assert_eq!(opened, raw, "a bit that changes nothing may pass");
            }
        }
    }

    #[test]
    fn text_shrinks_and_noise_does_not_grow() {
        let text = "the quick brown fox ".repeat(1000);
        assert!(seal(text.as_bytes()).len() < text.len() / 20);
        let noise: Vec<u8> = (0..10_000u64).flat_map(|n| xxh3_64(&n.to_le_bytes()).to_le_bytes()).collect();
        assert!(seal(&noise).len() <= noise.len() + 19);
    }

    #[test]
    fn a_frame_that_lies_about_its_length_is_refused() {
        let bomb = vec![0u8; 1 << 20];
        let body = zstd::bulk::compress(&bomb, 1).unwrap();
        for claimed in [10, u64::MAX] {
            let mut sealed = vec![ZSTD];
            sealed.extend_from_slice(&xxh3_64(&bomb).to_le_bytes());
            varint::write(&mut sealed, claimed);
            sealed.extend_from_slice(&body);
            assert_eq!(open(&sealed).unwrap_err().code(), Code::Corrupt);
        }
    }

    #[test]
    fn a_later_format_is_unsupported_not_corrupt() {
        let mut sealed = seal(b"x");
        sealed[0] = 77;
        assert_eq!(open(&sealed).unwrap_err().code(), Code::Unsupported);
    }
}
