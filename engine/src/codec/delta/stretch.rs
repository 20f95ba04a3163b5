//! Stretches of bytes that two payloads have in common, and helpers to find them.

/// The minimum length of a match, in bytes. Shorter matches are not used, because the same words occur at many
/// positions.
pub(super) const SHORTEST: usize = 16;

/// Mixes the [`SHORTEST`] bytes from position `at` into one number. Returns `None` if fewer bytes are left.
pub(super) fn key(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk: &[u8; SHORTEST] = bytes.get(at..)?.first_chunk()?;
    let (low, high) = chunk.split_at(GRAM);
    Some(gram(low, 0).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ gram(high, 0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f))
}

pub(super) fn slot(key: u64, bits: u32) -> usize {
    usize::try_from(key >> (64 - bits)).unwrap_or(0)
}

pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    /// Counts the equal bytes at the beginning, in blocks of `length` bytes.
    fn blocks(a: &[u8], b: &[u8], length: usize) -> usize {
        length * a.chunks_exact(length).zip(b.chunks_exact(length)).take_while(|(x, y)| x == y).count()
    }
    // Most equal stretches are short, so begin with small blocks. Large blocks then compare a long stretch at memory
    // speed.
    let near = 256.min(a.len()).min(b.len());
    let mut same = blocks(&a[..near], &b[..near], 32);
    if same == near {
        same += blocks(&a[same..], &b[same..], 4096);
        same += blocks(&a[same..], &b[same..], 32);
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
}

pub(super) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (x, y) in a.rchunks_exact(32).zip(b.rchunks_exact(32)) {
        if x != y {
            break;
        }
        same += 32;
    }
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

/// A stretch of bytes that the base and the target have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) base: usize,
    pub(super) target: usize,
    pub(super) length: usize,
}

impl Common {
    /// The stretch around the positions `base_at` and `target_at`. It begins at `from` at the earliest.
    pub(super) fn around(
        (base, target): (&[u8], &[u8]),
        (base_at, target_at): (usize, usize),
        from: (usize, usize),
    ) -> Self {
        let before = common_suffix(&base[from.0..base_at], &target[from.1..target_at]);
        let length = before + common_prefix(&base[base_at..], &target[target_at..]);
        Self { base: base_at - before, target: target_at - before, length }
    }

    /// The positions after the stretch.
    pub(super) fn end(self) -> (usize, usize) {
        (self.base + self.length, self.target + self.length)
    }
}

/// The number of bytes that [`gram`] reads as one number.
pub(super) const GRAM: usize = 8;

pub(super) fn gram(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk: &[u8; GRAM]| u64::from_le_bytes(*chunk))
}
