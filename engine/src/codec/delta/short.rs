//! The first matching pass of the delta encoder, for short payloads. It finds long stretches that both payloads
//! contain, at any positions.
//!
//! Most steps of an agent leave long stretches of a state unchanged, such as whole messages. Finding only these takes a
//! fraction of the walk's time. If they leave too much of the payload, the walk and the anchors search again.

use super::stretch::{Common, SHORTEST, common_prefix, key, slot};

/// The length in bytes from which a payload is too long for this pass.
pub(super) const LONG: usize = 32 << 10;
/// The minimum length of a stretch, in bytes. Texts of the same few words share many shorter stretches, each of which
/// may lead away from the long ones.
const WORTH: usize = 64;
/// One position in `STRIDE` of the base is indexed.
const STRIDE: usize = 16;
/// The index has 2^11 entries, as many as the longest payload has indexed positions. They take 4 KB.
const BITS: u32 = 11;
/// After this many positions of the target without a stretch, the pass checks only every third position. Three and
/// [`STRIDE`] have no common divisor, so a stretch of [`WORTH`] bytes still contains an indexed position.
const PATIENCE: usize = 64;

/// Finds common stretches of payloads that are shorter than [`LONG`]. The stretches do not overlap, and their positions
/// ascend in both payloads.
pub(super) fn common(base: &[u8], target: &[u8]) -> Vec<Common> {
    let mut found = Vec::new();
    let prefix = common_prefix(base, target);
    if prefix > 0 {
        found.push(Common { base: 0, target: 0, length: prefix });
    }
    let index = Index::new(base, prefix);
    let (mut b, mut t) = (prefix, prefix);
    let mut at = prefix;
    while let Some(key) = key(target, at) {
        if let Some(base_at) = index.find(key).filter(|base_at| *base_at >= b) {
            let stretch = Common::around((base, target), (base_at, at), (b, t));
            if stretch.length >= WORTH {
                (b, t) = stretch.end();
                at = t;
                found.push(stretch);
                continue;
            }
        }
        at += if at - t < PATIENCE { 1 } else { 3 };
    }
    found
}

/// Maps the [`SHORTEST`] bytes at a position to this position in the base.
struct Index([u16; 1 << BITS]);

impl Index {
    /// Indexes the base from position `from` on. If keys are equal, the earlier position stays.
    fn new(base: &[u8], from: usize) -> Self {
        const { assert!(LONG <= u16::MAX as usize && STRIDE <= SHORTEST) };
        let mut entries = [u16::MAX; 1 << BITS];
        for at in (from..base.len()).step_by(STRIDE) {
            let (Some(key), Ok(place)) = (key(base, at), u16::try_from(at)) else { break };
            let entry = &mut entries[slot(key, BITS)];
            *entry = place.min(*entry);
        }
        Self(entries)
    }

    /// Returns a position whose bytes may have the key. The caller must compare the bytes.
    fn find(&self, key: u64) -> Option<usize> {
        let at = self.0[slot(key, BITS)];
        (at != u16::MAX).then_some(usize::from(at))
    }
}
