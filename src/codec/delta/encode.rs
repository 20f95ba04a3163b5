//! The matcher: what a payload has in common with its base.
//!
//! The matcher walks both payloads side by side. While they agree it compares, at memory speed; where they do not, it looks
//! for the place at which they agree again, in windows that widen. All its looking is paid from a budget, so that the
//! worst input costs a small multiple of the best one: when the budget is spent, the payload is better stored whole.

use std::cell::RefCell;

use super::{Step, anchors};
use crate::codec::varint;
use crate::error::Result;

/// A delta may have so many bytes, however little it makes.
pub(in crate::codec) const SMALLEST: usize = 64;

/// Bytes by which places that may agree are found. A shorter match is no sign that the two are in step again: words
/// occur everywhere.
const SHORTEST: usize = 16;
/// A match of so many bytes is taken without looking for a better one.
const GOOD: usize = 64;
/// How far behind the first match a longer one is looked for.
const LOOK_AHEAD: usize = 2048;
/// A walk that leaves less than one in so many bytes new has not lost its way.
const GOOD_WALK: usize = 5;
/// The first window in which a mismatch is resolved.
const FIRST_WINDOW: usize = 64;
/// Of a window beyond this, one place in so many is looked up: what agrees there is longer, and found all the same.
const NEAR: usize = 256;
const FAR_STRIDE: usize = 4;

/// The delta that makes `target` of `base`; `None` if it is not worth storing: too much is new, or finding out what is
/// would take too long.
pub fn encode(base: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let suffix = common_suffix(base, target);
    let (head, tail) = (&base[..base.len() - suffix], &target[..target.len() - suffix]);
    let walked = TABLE.with_borrow_mut(|table| {
        let mut matcher = Matcher::new(head, tail, target.len(), table);
        matcher.run().ok().map(|()| matcher.found)
    });
    let lost = walked.as_ref().is_none_or(|found| found.literals.len() > target.len() / GOOD_WALK);
    let anchored = if lost { Found::anchored(head, tail, target.len() / 2).ok() } else { None };
    let Found { mut steps, literals, .. } = walked.into_iter().chain(anchored).min_by_key(Found::cost)?;
    if suffix > 0 {
        push_copy(&mut steps, head.len(), suffix);
    }
    let mut out = Vec::with_capacity(16 + steps.len() * 6 + literals.len());
    varint::write(&mut out, steps.len() as u64);
    let mut expected = 0usize;
    for step in &steps {
        varint::write(&mut out, step.literal as u64);
        let from = if step.copy == 0 { expected } else { step.from };
        varint::write(&mut out, (from - expected) as u64);
        varint::write(&mut out, step.copy as u64);
        expected = from + step.copy;
    }
    out.extend_from_slice(&literals);
    // So that a reader may refuse what claims to be more.
    (out.len() <= target.len().max(SMALLEST)).then_some(out)
}

fn push_copy(steps: &mut Vec<Step>, from: usize, copy: usize) {
    match steps.last_mut() {
        // Goes on where the last one ended.
        Some(last) if last.copy > 0 && last.from + last.copy == from => last.copy += copy,
        Some(last) if last.copy == 0 => (last.from, last.copy) = (from, copy),
        _ => steps.push(Step { literal: 0, from, copy }),
    }
}

/// Why there is no delta: too much is new, or the budget is spent.
#[derive(Debug)]
struct NotWorthIt;

/// What is found so far.
struct Found {
    steps: Vec<Step>,
    literals: Vec<u8>,
    /// Literal bytes beyond this make the delta worthless.
    most_literals: usize,
}

impl Found {
    fn new(most_literals: usize) -> Self {
        Self { steps: Vec::new(), literals: Vec::new(), most_literals }
    }

    /// By what both hold somewhere.
    fn anchored(base: &[u8], target: &[u8], most_literals: usize) -> Result<Self, NotWorthIt> {
        let mut found = Self::new(most_literals);
        let mut t = 0;
        for stretch in anchors::common(base, target) {
            found.push_literal(&target[t..stretch.target])?;
            push_copy(&mut found.steps, stretch.base, stretch.length);
            t = stretch.target + stretch.length;
        }
        found.push_literal(&target[t..])?;
        Ok(found)
    }

    fn push_literal(&mut self, literal: &[u8]) -> Result<(), NotWorthIt> {
        if self.literals.len() + literal.len() > self.most_literals {
            return Err(NotWorthIt);
        }
        if !literal.is_empty() {
            self.literals.extend_from_slice(literal);
            self.steps.push(Step { literal: literal.len(), from: 0, copy: 0 });
        }
        Ok(())
    }

    /// About how many bytes the delta takes.
    fn cost(&self) -> usize {
        self.literals.len() + 4 * self.steps.len()
    }
}

struct Matcher<'a> {
    base: &'a [u8],
    target: &'a [u8],
    found: Found,
    /// Bytes that may still be looked at beyond the comparing.
    budget: usize,
    table: &'a mut Table,
}

/// Where in a window of the base which bytes stand. An entry knows its round, so that none need be cleared for the next.
#[derive(Default)]
struct Table {
    /// The round with a few bits of the key, and the place.
    entries: Vec<(u32, u32)>,
    round: u32,
    bits: u32,
    /// How much of the base has been taken up in this round.
    filled: usize,
}

/// 2,048 entries for a small window, 65,536 for a large one: half a megabyte, and some places are left out.
const FEWEST_BITS: u32 = 11;
const MOST_BITS: u32 = 16;
/// So many bits of a key go with the round.
const MARK_BITS: u32 = 12;

thread_local! {
    /// Setting a table up costs more than a small payload does.
    static TABLE: RefCell<Table> = RefCell::default();
}

impl Table {
    /// Forgets what it has.
    fn begin(&mut self, bits: u32) {
        (self.bits, self.filled) = (bits, 0);
        if self.entries.len() < 1 << bits {
            self.entries.resize(1 << bits, (0, 0));
        }
        self.round += 1;
        if self.round >> (u32::BITS - MARK_BITS) > 0 {
            self.entries.fill((0, 0));
            self.round = 1;
        }
    }

    /// Takes up a window of the base, of which it may have the beginning. Later places do not replace earlier ones: the nearest is
    /// the likeliest.
    fn fill(&mut self, base: &[u8], window: usize) {
        let bits = window.max(1).ilog2().clamp(FEWEST_BITS, MOST_BITS);
        if bits != self.bits {
            self.begin(bits);
        }
        let stride = if window <= NEAR { 1 } else { FAR_STRIDE.max(window >> (MOST_BITS - 1)) };
        let window = &base[..window];
        let mut at = self.filled;
        while let Some(key) = key(window, at) {
            let entry = &mut self.entries[slot(key, self.bits)];
            // A window is smaller than what a row can hold, which is below 2^32.
            if entry.0 >> MARK_BITS != self.round
                && let Ok(at) = u32::try_from(at)
            {
                *entry = (mark(self.round, key), at);
            }
            at += stride;
        }
        self.filled = at;
    }

    /// Where what has this key may stand in the base.
    fn find(&self, key: u64) -> Option<usize> {
        let (marked, at) = self.entries[slot(key, self.bits)];
        (marked == mark(self.round, key)).then_some(at as usize)
    }
}

/// The [`SHORTEST`] bytes that stand there, as a number in which all of them have a part.
fn key(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk: &[u8; SHORTEST] = bytes.get(at..)?.first_chunk()?;
    let (low, high) = chunk.split_at(GRAM);
    Some(gram(low, 0).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ gram(high, 0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f))
}

fn slot(key: u64, bits: u32) -> usize {
    usize::try_from(key >> (64 - bits)).unwrap_or(0)
}

/// By other bits of the key than its place.
fn mark(round: u32, key: u64) -> u32 {
    round << MARK_BITS | (key >> 32) as u32 & ((1 << MARK_BITS) - 1)
}

impl<'a> Matcher<'a> {
    fn new(base: &'a [u8], target: &'a [u8], whole: usize, table: &'a mut Table) -> Self {
        Self { base, target, found: Found::new(whole / 2), budget: 2 * whole + 4096, table }
    }

    fn run(&mut self) -> Result<(), NotWorthIt> {
        let (mut b, mut t) = (0, 0);
        loop {
            let same = common_prefix(&self.base[b..], &self.target[t..]);
            if same > 0 {
                push_copy(&mut self.found.steps, b, same);
                b += same;
                t += same;
            }
            if t == self.target.len() {
                return Ok(());
            }
            let Some((skip, new)) = self.resync(b, t)? else {
                return self.found.push_literal(&self.target[t..]);
            };
            self.found.push_literal(&self.target[t..t + new])?;
            b += skip;
            t += new;
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), NotWorthIt> {
        self.budget = self.budget.checked_sub(bytes).ok_or(NotWorthIt)?;
        Ok(())
    }

    /// How far to go in the base and in the target until they are in step again; `None`: they never are.
    fn resync(&mut self, b: usize, t: usize) -> Result<Option<(usize, usize)>, NotWorthIt> {
        let (base, target) = (&self.base[b..], &self.target[t..]);
        let mut window = FIRST_WINDOW;
        self.table.begin(FEWEST_BITS);
        loop {
            let (in_base, in_target) = (window.min(base.len()), window.min(target.len()));
            self.spend(in_base + in_target)?;
            if let Some(found) = self.look(base, in_base, target, in_target)? {
                return Ok(Some(found));
            }
            if in_base == base.len() && in_target == target.len() {
                return Ok(None);
            }
            // Whatever is found further on, all of this window would be new.
            if self.found.literals.len() + in_target > self.found.most_literals {
                return Err(NotWorthIt);
            }
            window *= 4;
        }
    }

    /// Looks for the first gram of the target's window that is in the base's, and for a longer match soon behind it.
    fn look(
        &mut self,
        base: &[u8],
        in_base: usize,
        target: &[u8],
        in_target: usize,
    ) -> Result<Option<(usize, usize)>, NotWorthIt> {
        self.table.fill(base, in_base);
        let mut best: Option<(usize, usize)> = None;
        let mut length = 0;
        let mut end = in_target;
        let mut at = 0;
        while at < end
            && let Some(key) = key(target, at)
        {
            if let Some(there) = self.table.find(key)
                // Most that share a place in the table do not share their bytes.
                && base[there..].first_chunk::<SHORTEST>() == target[at..].first_chunk()
            {
                let same = common_prefix(&base[there..], &target[at..]);
                self.spend(same.min(GOOD))?;
                if same > length {
                    if best.is_none() {
                        end = end.min(at + LOOK_AHEAD);
                    }
                    // Where the table leaves places out, the match began before the one that it has.
                    let before = common_suffix(&base[..there], &target[..at]);
                    (best, length) = (Some((there - before, at - before)), same);
                    if same >= GOOD {
                        break;
                    }
                }
            }
            at += 1;
        }
        Ok(best)
    }
}

/// Bytes that are read at once.
pub(super) const GRAM: usize = 8;

pub(super) fn gram(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk: &[u8; GRAM]| u64::from_le_bytes(*chunk))
}

pub(super) fn hash(gram: u64, bits: u32) -> usize {
    // Fibonacci hashing: the high bits of the product depend on all of the gram. They fit: bits is below 32.
    usize::try_from(gram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)).unwrap_or(0)
}

pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    /// How many bytes agree, in whole blocks of that length.
    fn blocks(a: &[u8], b: &[u8], length: usize) -> usize {
        length * a.chunks_exact(length).zip(b.chunks_exact(length)).take_while(|(x, y)| x == y).count()
    }
    // Most stretches are short. Of a long one most is compared at the speed of memory.
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
