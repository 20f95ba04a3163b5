//! A payload as the difference to another: what was copied from where, and what is new.
//!
//! ```text
//! count  { literal length, skip, copy length } * count  { literal bytes }      (numbers: LEB128)
//! ```
//!
//! Each step appends its literal bytes, skips bytes of the base, and copies what follows there. Copies only go forward, so an
//! edit costs a few bytes wherever it is, and whatever a damaged delta says, its result is no longer than its base and its
//! literals together.
//!
//! The matcher walks both payloads side by side. While they agree it compares, at memory speed; where they do not, it looks
//! for the place at which they agree again, in windows that widen. All its looking is paid from a budget, so that the
//! worst input costs a small multiple of the best one: when the budget is spent, the payload is better stored whole.

use super::varint;
use crate::error::{Code, Error, Result};

/// Bytes that must agree before the two payloads count as in step again.
const GRAM: usize = 8;
/// A match of so many bytes is taken without looking for a better one.
const GOOD: usize = 64;
/// How far behind the first match a longer one is looked for.
const LOOK_AHEAD: usize = 2048;
/// The first window in which a mismatch is resolved.
const FIRST_WINDOW: usize = 64;

/// One step: literal bytes, then a copy of the base. Either may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    literal: usize,
    from: usize,
    copy: usize,
}

/// The difference that makes `target` of `base`; `None` if it is not worth storing: too much is new, or finding out what is
/// would take too long.
pub fn encode(base: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let suffix = common_suffix(base, target);
    let (head, tail) = (&base[..base.len() - suffix], &target[..target.len() - suffix]);
    let mut matcher = Matcher::new(head, tail, target.len());
    matcher.run().ok()?;
    let Matcher { mut steps, literals, .. } = matcher;
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
    Some(out)
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

struct Matcher<'a> {
    base: &'a [u8],
    target: &'a [u8],
    steps: Vec<Step>,
    literals: Vec<u8>,
    /// Literal bytes beyond this make the difference worthless.
    most_literals: usize,
    /// Bytes that may still be looked at beyond the comparing.
    budget: usize,
    /// Where in the window of the base a gram begins: (round, offset), so that a round need not clear what another left.
    table: Vec<(u32, u32)>,
    round: u32,
}

impl<'a> Matcher<'a> {
    fn new(base: &'a [u8], target: &'a [u8], whole: usize) -> Self {
        Self {
            base,
            target,
            steps: Vec::new(),
            literals: Vec::new(),
            most_literals: whole / 2,
            budget: 2 * whole + 4096,
            table: Vec::new(),
            round: 0,
        }
    }

    fn run(&mut self) -> Result<(), NotWorthIt> {
        let (mut b, mut t) = (0, 0);
        loop {
            let same = common_prefix(&self.base[b..], &self.target[t..]);
            if same > 0 {
                push_copy(&mut self.steps, b, same);
                b += same;
                t += same;
            }
            if t == self.target.len() {
                return Ok(());
            }
            let Some((skip, new)) = self.resync(b, t)? else {
                return self.push_literal(t, self.target.len());
            };
            self.push_literal(t, t + new)?;
            b += skip;
            t += new;
        }
    }

    fn push_literal(&mut self, from: usize, to: usize) -> Result<(), NotWorthIt> {
        let literal = &self.target[from..to];
        if self.literals.len() + literal.len() > self.most_literals {
            return Err(NotWorthIt);
        }
        if !literal.is_empty() {
            self.literals.extend_from_slice(literal);
            self.steps.push(Step { literal: literal.len(), from: 0, copy: 0 });
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), NotWorthIt> {
        self.budget = self.budget.checked_sub(bytes).ok_or(NotWorthIt)?;
        Ok(())
    }

    /// How far to go in the base and in the target until they are in step again; `None`: they never are.
    fn resync(&mut self, b: usize, t: usize) -> Result<Option<(usize, usize)>, NotWorthIt> {
        let (base, target) = (&self.base[b..], &self.target[t..]);
        let mut window = FIRST_WINDOW;
        loop {
            let (in_base, in_target) = (window.min(base.len()), window.min(target.len()));
            self.spend(in_base + in_target)?;
            if let Some(found) = self.look(base, in_base, target, in_target)? {
                return Ok(Some(found));
            }
            if in_base == base.len() && in_target == target.len() {
                return Ok(None);
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
        let bits = (in_base.max(FIRST_WINDOW) * 2).next_power_of_two().trailing_zeros();
        if self.table.len() < 1 << bits {
            self.table.resize(1 << bits, (0, 0));
        }
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.table.fill((0, 0));
            self.round = 1;
        }
        // Later grams do not replace earlier ones: the nearest is the likeliest.
        for at in 0..in_base.saturating_sub(GRAM - 1) {
            let slot = &mut self.table[hash(gram(base, at), bits)];
            if slot.0 != self.round {
                // A window never reaches beyond what a row can hold, which is below 2^32.
                *slot = (self.round, u32::try_from(at).map_err(|_| NotWorthIt)?);
            }
        }
        let mut best: Option<(usize, usize)> = None;
        let mut length = 0;
        let mut end = in_target.saturating_sub(GRAM - 1);
        let mut at = 0;
        while at < end {
            let (round, there) = self.table[hash(gram(target, at), bits)];
            if round == self.round {
                let there = there as usize;
                let same = common_prefix(&base[there..], &target[at..]);
                self.spend(same.min(GOOD))?;
                if same >= GRAM && same > length {
                    if best.is_none() {
                        end = end.min(at + LOOK_AHEAD);
                    }
                    (best, length) = (Some((there, at)), same);
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

fn gram(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk: &[u8; GRAM]| u64::from_le_bytes(*chunk))
}

fn hash(gram: u64, bits: u32) -> usize {
    // Fibonacci hashing: the high bits of the product depend on all of the gram. They fit: bits is below 32.
    usize::try_from(gram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)).unwrap_or(0)
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (x, y) in a.chunks_exact(32).zip(b.chunks_exact(32)) {
        if x != y {
            break;
        }
        same += 32;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
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

/// A difference, taken apart: what [`encode`] made, checked as far as it can be without its base.
#[derive(Debug)]
struct Steps<'a> {
    /// Each with the place in the result at which it begins.
    placed: Vec<(usize, Step)>,
    literals: &'a [u8],
    /// The length of the result.
    length: usize,
}

impl<'a> Steps<'a> {
    fn parse(delta: &'a [u8]) -> Option<Self> {
        let mut rest = delta;
        let count = usize::try_from(varint::read(&mut rest)?).ok()?;
        // A step takes three bytes at least, so a count beyond that is no reason to reserve memory.
        let mut steps = Vec::with_capacity(count.min(rest.len() / 3));
        let (mut at, mut expected, mut literal_length) = (0usize, 0usize, 0usize);
        for _ in 0..count {
            let literal = usize::try_from(varint::read(&mut rest)?).ok()?;
            let from = expected.checked_add(usize::try_from(varint::read(&mut rest)?).ok()?)?;
            let copy = usize::try_from(varint::read(&mut rest)?).ok()?;
            expected = from.checked_add(copy)?;
            steps.push((at, Step { literal, from, copy }));
            literal_length = literal_length.checked_add(literal)?;
            at = at.checked_add(literal)?.checked_add(copy)?;
        }
        (rest.len() == literal_length).then_some(Self { placed: steps, literals: rest, length: at })
    }
}

/// A piece of a payload that is being rebuilt: a range of some source, to be resolved or already resolved.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Which source: a delta's literals, by its place in the chain, or the payload below.
    source: Source,
    from: usize,
    length: usize,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Below,
    Literals(usize),
}

/// Rebuilds a payload from its keyframe and the differences that lead to it, oldest first. The differences are composed
/// first, so that every byte is copied once. `length` is how many bytes it must have.
pub fn restore(keyframe: &[u8], deltas: &[&[u8]], length: usize) -> Result<Vec<u8>> {
    compose(keyframe, deltas, length).ok_or_else(|| Error::new(Code::Corrupt, "a delta does not fit its base"))
}

fn compose(keyframe: &[u8], deltas: &[&[u8]], length: usize) -> Option<Vec<u8>> {
    let chain = deltas.iter().map(|delta| Steps::parse(delta)).collect::<Option<Vec<_>>>()?;
    let Some(newest) = chain.last() else { return Some(keyframe.to_vec()) };
    // Copies only go forward, so there can be no more than this; a length beyond it must not reserve memory.
    let most = chain.iter().fold(keyframe.len(), |most, steps| most.saturating_add(steps.literals.len()));
    if newest.length != length || length > most {
        return None;
    }
    let mut pieces = vec![Piece { source: Source::Below, from: 0, length }];
    // From the newest down: what comes from below is looked up in the delta there.
    for (place, steps) in chain.iter().enumerate().rev() {
        let mut next = Vec::with_capacity(pieces.len() + steps.placed.len());
        let literal_starts = literal_starts(&steps.placed);
        for piece in pieces {
            match piece.source {
                Source::Below => resolve(steps, &literal_starts, place, piece, &mut next)?,
                Source::Literals(_) => next.push(piece),
            }
        }
        pieces = next;
    }
    let mut out = Vec::with_capacity(length);
    for piece in pieces {
        let source = match piece.source {
            Source::Below => keyframe,
            Source::Literals(place) => chain[place].literals,
        };
        out.extend_from_slice(source.get(piece.from..piece.from.checked_add(piece.length)?)?);
    }
    (out.len() == length).then_some(out)
}

fn literal_starts(steps: &[(usize, Step)]) -> Vec<usize> {
    let mut start = 0;
    let starts = steps.iter().map(|(_, step)| {
        let here = start;
        start += step.literal;
        here
    });
    starts.collect()
}

/// Splits a range of a delta's result into what its literals give and what comes from below it.
fn resolve(
    steps: &Steps<'_>,
    literal_starts: &[usize],
    place: usize,
    piece: Piece,
    out: &mut Vec<Piece>,
) -> Option<()> {
    let (mut at, end) = (piece.from, piece.from.checked_add(piece.length)?);
    if end > steps.length {
        return None;
    }
    // The last step that begins at or before the range.
    let mut index = steps.placed.partition_point(|(start, _)| *start <= at).saturating_sub(1);
    while at < end {
        let (start, step) = *steps.placed.get(index)?;
        let copied = start + step.literal;
        if at < copied {
            let length = end.min(copied) - at;
            out.push(Piece { source: Source::Literals(place), from: literal_starts[index] + (at - start), length });
            at += length;
        }
        let below = copied + step.copy;
        if at < end && at < below {
            let length = end.min(below) - at;
            out.push(Piece { source: Source::Below, from: step.from + (at - copied), length });
            at += length;
        }
        index += 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let words =
            (0..=length / 8).map(|n| (n as u64 ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        words.flat_map(|word| word.wrapping_mul(0xff51_afd7_ed55_8ccd).to_le_bytes()).take(length).collect()
    }

    fn round_trip(base: &[u8], target: &[u8]) -> Option<usize> {
        let delta = encode(base, target)?;
        assert_eq!(restore(base, &[&delta], target.len()).unwrap(), target);
        Some(delta.len())
    }

    #[test]
    fn an_append_before_a_tail_costs_what_is_new() {
        let old = [noise(100_000, 1), b"tail of the state".to_vec()].concat();
        let new = [noise(100_000, 1), noise(700, 2), b"tail of the state".to_vec()].concat();
        assert!(round_trip(&old, &new).unwrap() < 720);
    }

    #[test]
    fn scattered_edits_cost_a_little_each() {
        let old = noise(200_000, 3);
        let mut new = old.clone();
        for at in (500..200_000).step_by(2000) {
            new[at] ^= 1;
        }
        assert!(round_trip(&old, &new).unwrap() < 100 * 8);
        let moved = [noise(5, 4), old[..70_000].to_vec(), noise(30, 5), old[90_000..].to_vec()].concat();
        assert!(round_trip(&old, &moved).unwrap() < 100);
    }

    #[test]
    fn nothing_and_everything() {
        let old = noise(10_000, 6);
        assert!(round_trip(&old, &old).unwrap() < 10);
        assert_eq!(round_trip(&old, b""), Some(1));
        assert_eq!(encode(&old, &noise(10_000, 7)), None, "unrelated");
        assert_eq!(encode(b"", &old), None);
        assert_eq!(round_trip(b"", b""), Some(1));
    }

    /// The budget is counted in bytes, so the bound is a count, not a time.
    #[test]
    fn the_worst_inputs_end_within_the_budget() {
        let old = noise(2 << 20, 8);
        let mut dense = old.clone();
        for at in (0..dense.len()).step_by(100) {
            dense[at] ^= 1;
        }
        let swapped = [&old[1 << 20..], &old[..1 << 20]].concat();
        for target in [dense, swapped, noise(2 << 20, 9), vec![0; 2 << 20], b"ab".repeat(1 << 20)] {
            let mut matcher = Matcher::new(&old, &target, target.len());
            let allowed = matcher.budget;
            let done = matcher.run();
            assert!(allowed - matcher.budget <= allowed);
            if done.is_ok() {
                round_trip(&old, &target);
            }
        }
    }

    #[test]
    fn a_long_chain_is_rebuilt_in_one_pass() {
        let mut payloads = vec![noise(5000, 10)];
        let mut deltas = Vec::new();
        for step in 0..128usize {
            let mut next = payloads.last().unwrap().clone();
            let at = (step * 37) % next.len();
            next.splice(at..at, noise(20, 100 + step as u64));
            if step % 5 == 0 {
                next.drain(100..110);
            }
            deltas.push(encode(payloads.last().unwrap(), &next).unwrap());
            payloads.push(next);
        }
        for length in 0..=deltas.len() {
            let chain: Vec<&[u8]> = deltas[..length].iter().map(Vec::as_slice).collect();
            assert_eq!(restore(&payloads[0], &chain, payloads[length].len()).unwrap(), payloads[length]);
        }
    }

    #[test]
    fn a_delta_that_promises_too_much_is_refused() {
        let mut delta = Vec::new();
        for number in [1, 0, 0, u64::MAX >> 1] {
            varint::write(&mut delta, number);
        }
        assert_eq!(restore(b"base", &[&delta], usize::MAX >> 1).unwrap_err().code(), Code::Corrupt);
        let mut many = Vec::new();
        varint::write(&mut many, u64::MAX);
        assert_eq!(restore(b"base", &[&many], 4).unwrap_err().code(), Code::Corrupt);
    }

    fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
        let edit = (any::<prop::sample::Index>(), 0..40usize, prop::collection::vec(0u8..4, 0..60));
        prop::collection::vec(edit, 0..8)
    }

    fn edit(mut bytes: Vec<u8>, edits: &[(prop::sample::Index, usize, Vec<u8>)]) -> Vec<u8> {
        for (at, removed, inserted) in edits {
            let at = at.index(bytes.len() + 1);
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, inserted.iter().copied());
        }
        bytes
    }

    proptest! {
        #[test]
        fn any_pair_comes_back(base in prop::collection::vec(0u8..3, 0..400), target in prop::collection::vec(0u8..3, 0..400)) {
            round_trip(&base, &target);
        }

        #[test]
        fn any_chain_comes_back(base in prop::collection::vec(0u8..4, 200..600), steps in prop::collection::vec(edits(), 1..12)) {
            let mut payload = base.clone();
            let mut deltas = Vec::new();
            for step in &steps {
                let next = edit(payload.clone(), step);
                let Some(delta) = encode(&payload, &next) else { break };
                deltas.push(delta);
                payload = next;
            }
            let chain: Vec<&[u8]> = deltas.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(restore(&base, &chain, payload.len()).unwrap(), payload);
        }

        #[test]
        fn any_bytes_are_an_error_or_bounded(base in prop::collection::vec(any::<u8>(), 0..100), delta in prop::collection::vec(any::<u8>(), 0..100)) {
            for length in 0..250 {
                if let Ok(payload) = restore(&base, &[&delta, &delta], length) {
                    prop_assert_eq!(payload.len(), length);
                    prop_assert!(length <= base.len() + 2 * delta.len());
                }
            }
        }
    }
}
