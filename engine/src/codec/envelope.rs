//! The envelope: the bytes that a row of a database stores for a payload.
//!
//! ```text
//! format (1 byte)  checksum of the raw bytes (XXH3-64, 8 bytes, little endian)  raw length (LEB128)
//! content length (LEB128; formats of deltas only)  body
//! ```
//!
//! | the body is | keyframe | delta |
//! |---|---|---|
//! | the content itself | 1 | 3 |
//! | the content as a zstd frame | 2 | 4 |
//! | the content as a zstd frame, compressed with the [dictionary] | 5 | 6 |
//!
//! The content of a keyframe is the payload's raw bytes. The content of a delta is the output of [`delta::encode`]
//! against the row's base. `docs/internals/format.md` specifies the format for users.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Read};
use std::thread::LocalKey;

use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::{Compressor, Decompressor};

use super::{delta, dictionary, largest, varint};
use crate::error::{Code, Error, Result};

/// The formats of a keyframe: plain content, a zstd frame, and a zstd frame that needs the dictionary.
const KEYFRAME: [u8; 3] = [1, 2, 5];
/// The formats of a delta, in the same order.
const DELTA: [u8; 3] = [3, 4, 6];

/// Content with fewer bytes is not compressed, because that would save next to nothing.
const WORTH_COMPRESSING: usize = 64;
/// Content with fewer bytes is compressed at [`dictionary::QUICK`] level.
const WORTH_TIME: usize = 512;
/// Content with at least this many bytes is compressed without the dictionary, because it repeats its own names.
const LARGE: usize = 8192;

/// The maximum memory for combining deltas, in bytes, besides the payload itself. A longer chain is opened in several
/// steps.
const MOST_TO_COMBINE: usize = 32 << 20;

// Each thread keeps its compressors and decompressors, because setting one up costs more than compressing a small
// payload. They are thread locals, because all functions that save or read a payload, a write or a record would have to
// pass them. Each call begins a new frame, so no result depends on earlier calls.
thread_local! {
    /// For content below [`WORTH_TIME`].
    static QUICK: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// For content below [`LARGE`].
    static SMALL: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// For all other content.
    static WITHOUT_DICTIONARY: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// For content that was compressed with the dictionary.
    static FROM_SMALL: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    /// For content that was compressed without the dictionary.
    static FROM_LARGE: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Seals raw bytes as a keyframe.
pub fn seal(raw: &[u8]) -> Vec<u8> {
    assemble(KEYFRAME, raw, raw, compress(raw).as_deref())
}

/// Seals raw bytes as an uncompressed keyframe, which takes much less time and much more space.
pub fn seal_raw(raw: &[u8]) -> Vec<u8> {
    assemble(KEYFRAME, raw, raw, None)
}

/// Seals raw bytes as a delta. `delta` turns the base into the raw bytes.
pub fn seal_delta(raw: &[u8], delta: &[u8]) -> Vec<u8> {
    assemble(DELTA, raw, delta, compress(delta).as_deref())
}

/// Compresses the content, with the dictionary if it is smaller than [`LARGE`]. Returns `None` if this is not
/// worthwhile.
fn compress(content: &[u8]) -> Option<Vec<u8>> {
    if content.len() < WORTH_COMPRESSING {
        return None;
    }
    let body = match content.len() {
        ..WORTH_TIME => with(&QUICK, || Compressor::with_prepared_dictionary(&dictionary::QUICK), content),
        WORTH_TIME..LARGE => with(&SMALL, || Compressor::with_prepared_dictionary(&dictionary::STANDARD), content),
        _ => with(&WITHOUT_DICTIONARY, || Compressor::new(dictionary::LEVEL), content),
    }?;
    (body.len() < content.len() / 10 * 9).then_some(body)
}

/// Compresses with this thread's compressor. Returns `None` if there is no memory for one.
fn with(
    kept: &'static LocalKey<RefCell<Option<Compressor<'static>>>>,
    fresh: impl FnOnce() -> io::Result<Compressor<'static>>,
    content: &[u8],
) -> Option<Vec<u8>> {
    kept.with_borrow_mut(|kept| reused(kept, fresh).and_then(|compressor| compressor.compress(content)).ok())
}

/// Returns the kept value. Creates it if there is none yet.
fn reused<T>(kept: &mut Option<T>, fresh: impl FnOnce() -> io::Result<T>) -> io::Result<&mut T> {
    match kept {
        Some(kept) => Ok(kept),
        empty => Ok(empty.insert(fresh()?)),
    }
}

fn assemble(formats: [u8; 3], raw: &[u8], content: &[u8], compressed: Option<&[u8]>) -> Vec<u8> {
    let [plain, zstd, small] = formats;
    let (format, body) = match compressed {
        None => (plain, content),
        Some(body) => (if content.len() < LARGE { small } else { zstd }, body),
    };
    let mut out = Vec::with_capacity(29 + body.len());
    out.push(format);
    out.extend_from_slice(&xxh3_64(raw).to_le_bytes());
    varint::write(&mut out, raw.len() as u64);
    if formats == DELTA {
        varint::write(&mut out, content.len() as u64);
    }
    out.extend_from_slice(body);
    out
}

/// The maximum total length of the contents of a chain, in bytes.
pub(crate) const MOST_CLAIMED: usize = 2 * largest::MOST;

/// [`claimed`] reads only this many bytes at the beginning of an envelope.
pub(crate) const CLAIM_END: usize = 29;

/// Returns the length that an envelope claims for its content, from the first [`CLAIM_END`] bytes of the envelope.
/// Returns `None` if they are damaged, or if the payload is longer than `largest` bytes.
pub(crate) fn claimed(sealed: &[u8], largest: usize) -> Option<usize> {
    Envelope::parse(sealed, largest).ok().map(|envelope| envelope.size)
}

/// The error for a chain that claims more than [`MOST_CLAIMED`].
pub(crate) fn too_large() -> Error {
    corrupt("its deltas are impossibly large")
}

/// [`sum`] reads only this many bytes at the beginning of an envelope.
pub const SUM_END: usize = 9;

/// Returns the checksum of the raw bytes, from the first [`SUM_END`] bytes of the envelope. Returns `None` if they are
/// cut off.
pub fn sum(sealed: &[u8]) -> Option<u64> {
    sealed.get(1..SUM_END).and_then(|sum| sum.try_into().ok()).map(u64::from_le_bytes)
}

/// Opens a chain of envelopes and returns the raw bytes of the payload. The chain begins with the payload's own
/// envelope, followed by the envelope of its base, and so on. The last envelope is the keyframe.
///
/// The payload's checksum is verified. Damage gives `CORRUPT`. A format of a later version gives `UNSUPPORTED`.
pub fn open(chain: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
    open_on(None, chain, largest::MOST)
}

/// Like [`open`]. If `below` is given, the last envelope of the chain is a delta against the raw bytes `below`.
///
/// A payload of more than `largest` bytes, in the chain too, gives `UNSUPPORTED`.
pub fn open_on(below: Option<&[u8]>, chain: &[impl AsRef<[u8]>], largest: usize) -> Result<Vec<u8>> {
    let chain = chain.iter().map(|sealed| Envelope::parse(sealed.as_ref(), largest)).collect::<Result<Vec<_>>>()?;
    let Some(newest) = chain.first() else { return Err(corrupt("it is missing")) };
    // The sum of all claims must have a limit too.
    if chain.len() > 1 && chain.iter().fold(0, |total: usize, link| total.saturating_add(link.size)) > MOST_CLAIMED {
        return Err(too_large());
    }
    let (base, deltas) = match (below, chain.split_last()) {
        (Some(below), _) => (Cow::Borrowed(below), &chain[..]),
        (None, Some((keyframe, deltas))) => (keyframe.content(KEYFRAME, "its base is missing")?, deltas),
        (None, None) => return Err(corrupt("its base is missing")),
    };
    let raw = if deltas.is_empty() { base.into_owned() } else { restore(base, deltas)? };
    if raw.len() != newest.length || xxh3_64(&raw) != newest.checksum {
        return Err(corrupt("its checksum does not match"));
    }
    Ok(raw)
}

/// Applies deltas to the base, and returns the payload of the first (newest) delta. Combines as many deltas as
/// possible, so that few bytes are copied more than once.
fn restore(base: Cow<'_, [u8]>, deltas: &[Envelope<'_>]) -> Result<Vec<u8>> {
    let (mut raw, mut waiting, mut weight, mut length) = (base, Vec::new(), 0, 0);
    for link in deltas.iter().rev() {
        let delta = link.content(DELTA, "it is a keyframe, but names a base")?;
        let more = delta::weight(&delta);
        if !waiting.is_empty() && weight + more > MOST_TO_COMBINE {
            raw = Cow::Owned(delta::restore(&raw, &std::mem::take(&mut waiting), length)?);
            weight = 0;
        }
        (weight, length) = (weight + more, link.length);
        waiting.push(delta);
    }
    delta::restore(&raw, &waiting, length)
}

struct Envelope<'a> {
    format: u8,
    checksum: u64,
    /// The length of the raw bytes.
    length: usize,
    /// The length of the content.
    size: usize,
    body: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn parse(sealed: &'a [u8], largest: usize) -> Result<Self> {
        let mut rest = sealed;
        let cut_off = || corrupt("it is cut off");
        let format = *varint::take(&mut rest, 1).and_then(<[u8]>::first).ok_or_else(cut_off)?;
        let is_delta = DELTA.contains(&format);
        if !is_delta && !KEYFRAME.contains(&format) {
            let message = format!(
                "the payload has format {format}, which this version of forkpoint does not know: upgrade forkpoint"
            );
            return Err(Error::new(Code::Unsupported, message));
        }
        let checksum = varint::take(&mut rest, 8).and_then(|bytes| bytes.try_into().ok()).ok_or_else(cut_off)?;
        let mut length = || {
            let length = varint::read(&mut rest).ok_or_else(cut_off)?;
            usize::try_from(length)
                .ok()
                .filter(|length| *length <= largest::MOST)
                .ok_or_else(|| corrupt("its length is impossible"))
        };
        let raw = length()?;
        largest::open(raw, largest)?;
        let size = if is_delta { length()? } else { raw };
        if is_delta && size > raw.max(delta::SMALLEST) {
            return Err(corrupt("its delta is larger than the bytes that it produces"));
        }
        Ok(Self { format, checksum: u64::from_le_bytes(checksum), length: raw, size, body: rest })
    }

    /// Returns the content, if the envelope has one of these formats.
    fn content(&self, [plain, zstd, small]: [u8; 3], otherwise: &str) -> Result<Cow<'a, [u8]>> {
        match self.format {
            format if format == plain => Ok(Cow::Borrowed(self.body)),
            format if format == zstd => inflate(self.body, self.size).map(Cow::Owned),
            format if format == small => inflate_small(self.body, self.size).map(Cow::Owned),
            _ => Err(corrupt(otherwise)),
        }
    }
}

/// The maximum expansion of a body that is decompressed in one step. If a body claims more, it is decompressed piece by
/// piece.
const EXPANSION: usize = 256;

/// Decompresses the body into at most `length + 1` bytes. A damaged length or body costs little memory.
fn inflate(body: &[u8], length: usize) -> Result<Vec<u8>> {
    if length <= body.len().saturating_mul(EXPANSION) {
        return inflate_at_once(&FROM_LARGE, Decompressor::new, body, length);
    }
    let mut content = Vec::with_capacity(body.len().saturating_mul(EXPANSION));
    let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(not_decompressed)?;
    decoder.take(length as u64 + 1).read_to_end(&mut content).map_err(not_decompressed)?;
    Ok(content)
}

/// Decompresses a body that needs the dictionary, into at most `length` bytes.
fn inflate_small(body: &[u8], length: usize) -> Result<Vec<u8>> {
    if length >= LARGE {
        return Err(corrupt("its length is impossible"));
    }
    inflate_at_once(&FROM_SMALL, || Decompressor::with_prepared_dictionary(&dictionary::BACK), body, length)
}

/// Decompresses with this thread's decompressor, into memory of `length` bytes.
fn inflate_at_once(
    kept: &'static LocalKey<RefCell<Option<Decompressor<'static>>>>,
    fresh: impl FnOnce() -> io::Result<Decompressor<'static>>,
    body: &[u8],
    length: usize,
) -> Result<Vec<u8>> {
    kept.with_borrow_mut(|kept| {
        let no_memory = |error| {
            let message = "a payload cannot be decompressed, because memory is short: free some and read it again";
            Error::new(Code::Unavailable, message).with_cause(error)
        };
        reused(kept, fresh).map_err(no_memory)?.decompress(body, length).map_err(not_decompressed)
    })
}

fn not_decompressed(error: io::Error) -> Error {
    corrupt(&format!("it cannot be decompressed ({error})")).with_cause(error)
}

fn corrupt(why: &str) -> Error {
    Error::new(Code::Corrupt, format!("the stored payload is damaged: {why}; restore it from a backup"))
}
