//! Decides how a payload is stored: in full, as a keyframe, or as a delta against another payload.

use bytes::Bytes;

use super::{delta, envelope, frame};
use crate::error::{Code, Result};
use crate::record::{Encoded, PayloadKey, Seq};

/// A payload with fewer bytes is stored in full, because a delta would save less than it costs.
const WORTH_A_DELTA: usize = 512;
/// The minimum budget for the deltas of a keyframe, in bytes. Without it, most deltas of a small payload would not fit.
const SMALLEST_BUDGET: i64 = 512;
/// The sizes of keyframes that may be stored raw, in bytes. Smaller keyframes compress in no time, and writing a larger
/// one takes about as long as compressing it.
const WORTH_RAW: std::ops::Range<usize> = 1024..32 << 10;
/// The maximum number of deltas that a reader applies to rebuild one payload.
pub(crate) const MAX_DEPTH: i64 = 256;

/// A delta is tried if the number of misses is a multiple of this number, or a power of two.
const MOST_SKIPPED: u32 = 16;

/// The effort that the encoder makes to keep a payload small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Every payload is compressed, if that makes it smaller.
    Full,
    /// A small keyframe is stored raw, because other saves are waiting. The backend compresses it later.
    Quick,
}

/// An earlier payload, probably similar to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// The key of the payload, confirmed by the database.
    pub(crate) key: PayloadKey,
    /// The number of deltas that a reader applies to rebuild the payload.
    pub(crate) depth: i64,
    /// The maximum total size of the next deltas of the chain, in bytes. A payload whose delta would exceed
    /// this size becomes a keyframe.
    pub(crate) budget: i64,
}

impl Base {
    /// Returns true if the chain can take another delta.
    fn takes_more(&self) -> bool {
        self.depth < MAX_DEPTH && self.budget > 0
    }
}

/// The stored form of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The save number of the payload that `body` is a delta against. `None`: `body` is a keyframe.
    pub(crate) base: Option<Seq>,
    /// The number of deltas that a reader applies to rebuild the payload.
    pub(crate) depth: i64,
    /// The maximum total size of the next deltas of the chain, in bytes. A payload whose delta would exceed
    /// this size becomes a keyframe.
    pub(crate) budget: i64,
    /// The sealed bytes: see [`envelope`].
    pub(crate) body: Bytes,
}

impl Row {
    /// Seals a payload as a keyframe.
    ///
    /// The budget of its deltas is the size of the keyframe, but at least [`SMALLEST_BUDGET`]. So a reader reads at
    /// most twice the size of the keyframe, if the keyframe is not small.
    pub(crate) fn keyframe(raw: &[u8]) -> Self {
        Self::whole(envelope::seal(raw).into())
    }

    /// Seals a payload as an uncompressed keyframe. The budget of its deltas is half of its size, which is about its
    /// size after compression.
    fn raw(raw: &[u8]) -> Self {
        let row = Self::whole(envelope::seal_raw(raw).into());
        Self { budget: (row.budget / 2).max(SMALLEST_BUDGET), ..row }
    }

    fn whole(body: Bytes) -> Self {
        Self { base: None, depth: 0, budget: length(&body).max(SMALLEST_BUDGET), body }
    }

    /// The key of the payload if the row has the save number `seq`.
    pub(crate) fn key(&self, seq: Seq) -> PayloadKey {
        // The body was sealed here, so it has a checksum.
        PayloadKey { seq, sum: envelope::sum(&self.body).unwrap_or_default() }
    }

    /// Returns true if the row may be a raw keyframe of a payload with `size` bytes. The body has `stored` bytes. Also
    /// returns true for a keyframe that cannot be compressed.
    pub(crate) fn is_raw(base: Option<Seq>, size: i64, stored: i64) -> bool {
        base.is_none() && stored > size && usize::try_from(size).is_ok_and(|size| WORTH_RAW.contains(&size))
    }
}

/// Plans the row of a payload. Also returns the lineage's misses: the number of consecutive payloads, including this
/// one, without a worthwhile delta.
///
/// `encoded` was encoded ahead of time. Its delta is used only if it was made against the same base.
///
/// `effort` decides whether a keyframe is compressed. `largest` is the maximum size of the payload, in bytes.
///
/// `load` reads the raw bytes and the misses of the base. It is called only if a delta must be computed. If the base is
/// damaged or has a later format, the payload becomes a keyframe, because a bad base must not prevent saves.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the payload is too large to be opened again.
pub(crate) fn plan(
    raw: &Bytes,
    base: Option<Base>,
    encoded: Option<&Encoded>,
    effort: Effort,
    largest: usize,
    load: impl FnOnce(PayloadKey) -> Result<(Bytes, u32)>,
) -> Result<(Row, u32)> {
    frame::refuse_large(raw, largest)?;
    let mut misses = 0;
    if let Some(base) = base.filter(|base| raw.len() >= WORTH_A_DELTA && base.takes_more()) {
        let found = match encoded.filter(|encoded| encoded.base == Some(base.key)) {
            Some(Encoded { is_delta, body, misses, .. }) => (is_delta.then(|| body.clone()), *misses),
            None => match load(base.key) {
                Ok((base, misses)) => encode_delta(&base, misses, raw),
                Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => (None, 0),
                Err(error) => return Err(error),
            },
        };
        misses = found.1;
        if let Some(body) = found.0.filter(|body| length(body) <= base.budget) {
            let budget = base.budget - length(&body);
            return Ok((Row { base: Some(base.key.seq), depth: base.depth + 1, budget, body }, misses));
        }
    }
    let row = match encoded {
        Some(Encoded { is_delta: false, body, .. }) => Row::whole(body.clone()),
        _ if effort == Effort::Quick && WORTH_RAW.contains(&raw.len()) => Row::raw(raw),
        _ => Row::keyframe(raw),
    };
    Ok((row, misses))
}

/// Returns the sealed delta against `base` if it is worthwhile. Also returns the lineage's misses.
fn encode_delta(base: &[u8], misses: u32, raw: &[u8]) -> (Option<Bytes>, u32) {
    match is_promising(misses).then(|| delta::encode(base, raw)).flatten() {
        Some(delta) => (Some(envelope::seal_delta(raw, &delta).into()), 0),
        None => (None, misses + 1),
    }
}

/// Returns true if a delta is likely to be worthwhile after this number of misses. After misses, a delta is tried for
/// only some payloads.
fn is_promising(misses: u32) -> bool {
    misses.is_power_of_two() || misses.is_multiple_of(MOST_SKIPPED)
}

fn length(body: &Bytes) -> i64 {
    // No payload has 2^63 bytes, so the fallback is never used.
    i64::try_from(body.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_vain_is_tried_less_and_less_but_never_given_up() {
        let tries: Vec<u32> = (0..50).filter(|misses| is_promising(*misses)).collect();
        assert_eq!(tries, [0, 1, 2, 4, 8, 16, 32, 48]);
    }
}
