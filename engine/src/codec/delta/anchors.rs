//! The second matching pass of the delta encoder. It finds stretches of bytes that both payloads contain, possibly at
//! different positions.
//!
//! This pass is used when the walk along both payloads finds too little in common. An example is a list that drops its
//! oldest item at every step. The items begin with the same text, so the walk matches each item with the wrong item.
//!
//! A hash of the bytes at a position decides whether the position is a candidate. The same text thus gives the same
//! candidates in both payloads, wherever the text is. A candidate is an anchor if its text occurs only once in the
//! base. The pass reads each payload once, whatever its content.

use xxhash_rust::xxh3::xxh3_64;

use super::stretch::{Common, GRAM, gram, slot};

/// The number of bytes that are hashed at each candidate, to find the same text in the other payload.
const TEXT: usize = 32;
/// On average, one position in `2^RARITY` is a candidate.
const RARITY: u32 = 6;
/// A payload has at most about one candidate for every `MOST` bytes. Repetitive bytes would give more, but poor
/// anchors.
const MOST: usize = 16;

/// Returns the candidates. Each has a hash of the next [`TEXT`] bytes and its position.
fn candidates(bytes: &[u8]) -> impl Iterator<Item = (u64, usize)> {
    let end = bytes.len().saturating_sub(TEXT - 1);
    // Fibonacci hashing: the high bits of the product depend on the entire gram.
    let hash = |at: usize| slot(gram(bytes, at).wrapping_mul(0x9e37_79b9_7f4a_7c15), RARITY);
    let chosen = (0..end).filter(move |at| hash(*at) == 0);
    chosen.take(bytes.len() / MOST + 1).map(|at| (xxh3_64(&bytes[at..at + TEXT]), at))
}

/// Finds common stretches. The stretches do not overlap, and their positions ascend in both payloads.
pub(super) fn common(base: &[u8], target: &[u8]) -> Vec<Common> {
    const { assert!(GRAM <= TEXT) };
    let mut index: Vec<(u64, usize)> = candidates(base).collect();
    index.sort_unstable();
    let once = |at: usize| {
        let key = index[at].0;
        (at == 0 || index[at - 1].0 != key) && index.get(at + 1).is_none_or(|next| next.0 != key)
    };
    let mut found = Vec::new();
    let (mut b, mut t) = (0, 0);
    for (key, at) in candidates(target) {
        let Ok(entry) = index.binary_search_by_key(&key, |entry| entry.0) else { continue };
        let base_at = index[entry].1;
        if at < t || base_at < b || !once(entry) {
            continue;
        }
        let stretch = Common::around((base, target), (base_at, at), (b, t));
        // In a shorter stretch than `TEXT`, only the hashes agree, and not the bytes.
        if stretch.length >= TEXT {
            (b, t) = stretch.end();
            found.push(stretch);
        }
    }
    found
}
