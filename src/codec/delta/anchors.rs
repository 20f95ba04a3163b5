//! The second look: what both payloads hold somewhere, when walking them side by side has lost its way. A list that drops
//! its oldest item at every step is such a case: items look alike where they begin, and each is taken for the one before.
//!
//! Places are chosen by what stands there, so that the same text is chosen in both payloads wherever it is; a place whose
//! text the base holds only once is an anchor. One pass over each payload, whatever is in them.

use xxhash_rust::xxh3::xxh3_64;

use super::encode::{GRAM, common_prefix, common_suffix, gram, hash};

/// Bytes that make a place what it is.
const TEXT: usize = 32;
/// Of so many places one is chosen, on average: 2 to the power of this.
const RARITY: u32 = 6;
/// Of bytes that repeat themselves too many places are chosen. They make poor anchors: the rest is left out.
const MOST: usize = 16;

/// A stretch that both payloads hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) base: usize,
    pub(super) target: usize,
    pub(super) length: usize,
}

/// The chosen places, and a hash of what stands at each.
fn places(bytes: &[u8]) -> impl Iterator<Item = (u64, usize)> {
    let end = bytes.len().saturating_sub(TEXT - 1);
    let chosen = (0..end).filter(|at| hash(gram(bytes, *at), RARITY) == 0);
    chosen.take(bytes.len() / MOST + 1).map(|at| (xxh3_64(&bytes[at..at + TEXT]), at))
}

/// Stretches in the order in which both payloads hold them.
pub(super) fn common(base: &[u8], target: &[u8]) -> Vec<Common> {
    const { assert!(GRAM <= TEXT) };
    let mut index: Vec<(u64, usize)> = places(base).collect();
    index.sort_unstable();
    let once = |at: usize| {
        let key = index[at].0;
        (at == 0 || index[at - 1].0 != key) && index.get(at + 1).is_none_or(|next| next.0 != key)
    };
    let mut found = Vec::new();
    let (mut b, mut t) = (0, 0);
    for (key, at) in places(target) {
        let Ok(place) = index.binary_search_by_key(&key, |entry| entry.0) else { continue };
        let there = index[place].1;
        if at < t || there < b || !once(place) {
            continue;
        }
        let before = common_suffix(&base[b..there], &target[t..at]);
        let length = before + common_prefix(&base[there..], &target[at..]);
        // Otherwise only the hashes agree.
        if length >= TEXT {
            let stretch = Common { base: there - before, target: at - before, length };
            (b, t) = (stretch.base + length, stretch.target + length);
            found.push(stretch);
        }
    }
    found
}
