//! How a payload is stored: as a keyframe, or as a delta against another payload.

use bytes::Bytes;

use super::{delta, envelope};
use crate::cache::CachedPayload;
use crate::error::{Code, Result};
use crate::record::{Encoded, Seq};

/// Below this many bytes a delta saves less than it costs.
const WORTH_A_DELTA: usize = 1024;
/// A reader applies no more deltas than this.
pub const MAX_DEPTH: i64 = 256;

/// The payload that a new one is likely to resemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its number.
    pub seq: Seq,
    /// How many deltas a reader of it applies.
    pub depth: i64,
    /// How many bytes deltas may still take before the next keyframe.
    pub budget: i64,
}

impl Base {
    /// Whether a chain may go on.
    fn takes_more(&self) -> bool {
        self.depth < MAX_DEPTH && self.budget > 0
    }
}

/// A payload as a row stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The payload that `body` is a delta against; `None`: a keyframe.
    pub base: Option<Seq>,
    /// How many deltas a reader applies.
    pub depth: i64,
    /// How many bytes deltas may still take before the next keyframe.
    pub budget: i64,
    /// The envelope.
    pub body: Bytes,
}

impl Row {
    /// A keyframe. Deltas may then take as much again, so that a reader reads at most twice a whole payload.
    pub fn keyframe(raw: &[u8]) -> Self {
        Self::whole(envelope::seal(raw).into())
    }

    fn whole(body: Bytes) -> Self {
        Self { base: None, depth: 0, budget: length(&body), body }
    }
}

/// Plans the row of a payload, and counts the misses of its lineage: how many payloads in a row, up to this one, had no delta that
/// was worth it.
///
/// `encoded` is what was encoded ahead of time; it is used where it was made against the same base. `load` reads the base, and is
/// called only if a delta is tried. A base that is damaged, or of a later format, gives a keyframe: it must not keep new checkpoints from being saved.
pub fn plan(
    raw: &Bytes,
    base: Option<Base>,
    encoded: Option<&Encoded>,
    load: impl FnOnce(Seq) -> Result<CachedPayload>,
) -> Result<(Row, u32)> {
    let mut misses = 0;
    if let Some(base) = base.filter(|base| raw.len() >= WORTH_A_DELTA && base.takes_more()) {
        let found = match encoded.filter(|encoded| encoded.base == Some(base.seq)) {
            Some(Encoded { is_delta, body, misses, .. }) => (is_delta.then(|| body.clone()), *misses),
            None => match load(base.seq) {
                Ok(payload) => encode_delta(&payload, raw),
                Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => (None, 0),
                Err(error) => return Err(error),
            },
        };
        misses = found.1;
        if let Some(body) = found.0.filter(|body| length(body) <= base.budget) {
            let budget = base.budget - length(&body);
            return Ok((Row { base: Some(base.seq), depth: base.depth + 1, budget, body }, misses));
        }
    }
    let row = match encoded {
        Some(Encoded { is_delta: false, body, .. }) => Row::whole(body.clone()),
        _ => Row::keyframe(raw),
    };
    Ok((row, misses))
}

/// The sealed delta against that base, if one is worth it, and the misses of the lineage.
fn encode_delta(base: &CachedPayload, raw: &[u8]) -> (Option<Bytes>, u32) {
    match base.promising().then(|| delta::encode(&base.raw, raw)).flatten() {
        Some(delta) => (Some(envelope::seal_delta(raw, &delta).into()), 0),
        None => (None, base.misses + 1),
    }
}

fn length(body: &Bytes) -> i64 {
    // No payload has 2^63 bytes.
    i64::try_from(body.len()).unwrap_or(i64::MAX)
}
