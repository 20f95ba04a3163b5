//! A chain of deltas as one: composed first, so that every byte is copied once.

use super::Step;
use crate::codec::varint;
use crate::error::{Code, Error, Result};

/// A delta, taken apart: what [`super::encode()`] made, checked as far as it can be without its base.
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

/// Rebuilds a payload from its keyframe and the deltas that lead to it, oldest first. The deltas are composed
/// first, so that every byte is copied once. `length` is how many bytes it must have.
pub fn restore(keyframe: &[u8], deltas: &[&[u8]], length: usize) -> Result<Vec<u8>> {
    let damaged = "the stored payload is damaged: a delta does not fit its base; restore it from a backup";
    compose(keyframe, deltas, length).ok_or_else(|| Error::new(Code::Corrupt, damaged))
}

fn compose(keyframe: &[u8], deltas: &[&[u8]], length: usize) -> Option<Vec<u8>> {
    let chain = deltas.iter().map(|delta| Steps::parse(delta)).collect::<Option<Vec<_>>>()?;
    let Some(newest) = chain.last() else { return (keyframe.len() == length).then(|| keyframe.to_vec()) };
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
