//! The delta encoder: finds the bytes that a payload has in common with its base.
//!
//! The matcher walks both payloads side by side. Where they agree, it compares them at memory speed. Where they differ,
//! it searches for the next position at which they agree, first in a small window and then in larger ones.
//!
//! Every search uses a part of a budget, so that the slowest input costs only a small multiple of the fastest input.
//! When the budget is spent, the payload is stored in full.

use std::cell::RefCell;

use super::restore::Step;
use super::stretch::{Common, SHORTEST, common_prefix, common_suffix, key, slot};
use super::{anchors, short};
use crate::codec::varint;
use crate::error::Result;

/// A delta of up to this many bytes is always allowed, even if it is larger than its payload.
pub(in crate::codec) const SMALLEST: usize = 64;

/// A match of at least this many bytes ends the search for a longer match.
const GOOD: usize = 64;
/// After the first match, the matcher searches this many further bytes of the target for a longer match.
const LOOK_AHEAD: usize = 2048;
/// If more than one byte in `GOOD_PASS` is new after a pass, the encoder also tries the next pass.
const GOOD_PASS: usize = 5;
/// The size of the first window after a mismatch, in bytes. Each further window is four times as large.
const FIRST_WINDOW: usize = 64;
/// The maximum size of a window in which every position of the base is indexed, in bytes.
const NEAR: usize = 256;
/// In a larger window, at most one position in `FAR_STRIDE` is indexed. A match is still found if it contains the bytes
/// of an indexed position.
const FAR_STRIDE: usize = 4;

/// Returns the delta that turns `base` into `target`.
///
/// Returns `None` if a delta is not worth storing: too much of `target` is new, or the search would take too long.
pub fn encode(base: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let suffix = common_suffix(base, target);
    let (head, tail) = (&base[..base.len() - suffix], &target[..target.len() - suffix]);
    let most_literals = target.len() / 2;
    let passes: [&dyn Fn() -> Option<Found>; 3] = [
        &|| {
            let short = head.len().max(tail.len()) < short::LONG;
            short.then(|| Found::stretches(&short::common(head, tail), tail, most_literals).ok()).flatten()
        },
        &|| {
            TABLE.with_borrow_mut(|table| {
                let mut matcher = Matcher::new(head, tail, target.len(), table);
                matcher.run().ok().map(|()| matcher.found)
            })
        },
        &|| Found::stretches(&anchors::common(head, tail), tail, most_literals).ok(),
    ];
    let mut best: Option<Found> = None;
    for pass in passes {
        best = best.into_iter().chain(pass()).min_by_key(Found::cost);
        if best.as_ref().is_some_and(|found| found.literals.len() <= target.len() / GOOD_PASS) {
            break;
        }
    }
    let Found { mut steps, literals, .. } = best?;
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
    // Do not return a delta that is larger than its payload and `SMALLEST`. A reader can thus refuse a delta that
    // claims to be larger.
    (out.len() <= target.len().max(SMALLEST)).then_some(out)
}

/// Appends a copy to the last step if the copy continues that step. Otherwise appends a step with this copy.
fn push_copy(steps: &mut Vec<Step>, from: usize, copy: usize) {
    match steps.last_mut() {
        // The copy begins at the position where the copy of the last step ends.
        Some(last) if last.copy > 0 && last.from + last.copy == from => last.copy += copy,
        Some(last) if last.copy == 0 => (last.from, last.copy) = (from, copy),
        _ => steps.push(Step { literal: 0, from, copy }),
    }
}

/// Too much of the target is new, or the budget is spent: the delta is not worth storing.
#[derive(Debug)]
struct NotWorthIt;

/// The steps of a delta and their literal bytes, as found so far.
struct Found {
    steps: Vec<Step>,
    literals: Vec<u8>,
    /// The maximum number of literal bytes. A delta with more literal bytes is not worth storing.
    most_literals: usize,
}

impl Found {
    fn new(most_literals: usize) -> Self {
        Self { steps: Vec::new(), literals: Vec::new(), most_literals }
    }

    /// Builds the steps from common stretches.
    fn stretches(stretches: &[Common], target: &[u8], most_literals: usize) -> Result<Self, NotWorthIt> {
        let mut found = Self::new(most_literals);
        let mut t = 0;
        for stretch in stretches {
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

    /// Returns the estimated size of the delta, in bytes.
    fn cost(&self) -> usize {
        self.literals.len() + 4 * self.steps.len()
    }
}

struct Matcher<'a> {
    base: &'a [u8],
    target: &'a [u8],
    found: Found,
    /// The number of bytes that searches may still read. Walking along equal bytes is free.
    budget: usize,
    table: &'a mut Table,
}

/// An index of a window of the base. It maps a key to the position of its bytes in the base.
///
/// Each entry stores the number of its round, so that a new round need not clear the table.
#[derive(Default)]
struct Table {
    /// Two values for each entry: the round with some bits of the key (see [`mark`]), and the position in the base.
    entries: Vec<(u32, u32)>,
    round: u32,
    bits: u32,
    /// The positions of the base below this one are indexed in the current round.
    filled: usize,
}

/// The table for a small window has 2^11 = 2,048 entries.
const FEWEST_BITS: u32 = 11;
/// The table for a large window has 2^16 = 65,536 entries, which take half a megabyte. Some positions are not indexed.
const MOST_BITS: u32 = 16;
/// The number of bits of the key that an entry stores together with its round.
const MARK_BITS: u32 = 12;

thread_local! {
    /// A table that all encodings of this thread reuse. Setting up a table costs more than encoding a small payload.
    /// It is a thread local, because each function between a connection and this file would have to pass it. A round
    /// begins with an empty table, so no result depends on earlier rounds.
    static TABLE: RefCell<Table> = RefCell::default();
}

impl Table {
    /// Begins a new round, in which the table is empty.
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

    /// Indexes the first `window` bytes of the base, except those that this round has already indexed.
    ///
    /// A later position never replaces an earlier one, because the nearest match is the most likely.
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
            // The conversion does not fail: a window is never larger than a row, and therefore smaller than 2^32 bytes.
            if entry.0 >> MARK_BITS != self.round
                && let Ok(at) = u32::try_from(at)
            {
                *entry = (mark(self.round, key), at);
            }
            at += stride;
        }
        self.filled = at;
    }

    /// Returns a position in the base whose bytes may have this key. The caller must compare the bytes.
    fn find(&self, key: u64) -> Option<usize> {
        let (marked, at) = self.entries[slot(key, self.bits)];
        (marked == mark(self.round, key)).then_some(at as usize)
    }
}

/// Combines the round with some bits of the key that [`slot`] does not use.
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

    /// Returns the number of bytes to skip in the base and in the target until both agree again. `None`: they never do.
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
            // If the next match is after this window, all its bytes are new. End the search if these are too many new
            // bytes.
            if self.found.literals.len() + in_target > self.found.most_literals {
                return Err(NotWorthIt);
            }
            window *= 4;
        }
    }

    /// Searches the target's window for the first match with the base's window, and then a short distance further for a
    /// longer match.
    ///
    /// Returns the match's positions in the base and in the target.
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
            if let Some(base_at) = self.table.find(key)
                // The table stores only a part of each key, so compare the bytes.
                && base[base_at..].first_chunk::<SHORTEST>() == target[at..].first_chunk()
            {
                let same = common_prefix(&base[base_at..], &target[at..]);
                self.spend(same.min(GOOD))?;
                if same > length {
                    if best.is_none() {
                        end = end.min(at + LOOK_AHEAD);
                    }
                    // Not all positions are indexed, so the match may begin before the indexed position.
                    let before = common_suffix(&base[..base_at], &target[..at]);
                    (best, length) = (Some((base_at - before, at - before)), same);
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
