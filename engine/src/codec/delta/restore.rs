//! Restores a payload from a chain of deltas. The deltas are combined first, so that every byte is copied only once.

use crate::codec::varint;
use crate::error::{Code, Error, Result};

/// One step of a delta: literal bytes, then a copy from the base. The literal bytes or the copy may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) literal: usize,
    pub(super) from: usize,
    pub(super) copy: usize,
}

/// A parsed delta, as [`super::encode()`] writes it. Parsing checks everything that can be checked without the base.
#[derive(Debug)]
struct Steps<'a> {
    /// The steps, each with the position in the result at which it begins.
    placed: Vec<(usize, Step)>,
    literals: &'a [u8],
    /// The length of the result, in bytes.
    length: usize,
}

impl<'a> Steps<'a> {
    fn parse(delta: &'a [u8]) -> Option<Self> {
        let mut rest = delta;
        let count = usize::try_from(varint::read(&mut rest)?).ok()?;
        // A step takes at least three bytes. The count may be damaged, so reserve memory for at most as many steps as
        // fit into the bytes.
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

/// A piece of the payload that is being rebuilt: a range of a source.
#[derive(Clone, Copy, Debug)]
struct Piece {
    source: Source,
    from: usize,
    length: usize,
}

/// The origin of a piece's bytes.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The result of the next older delta, or the keyframe.
    Below,
    /// The literals of the delta with this index in the chain.
    Literals(usize),
}

/// Rebuilds a payload from its keyframe and its deltas, oldest first. The result must have `length` bytes.
pub fn restore(keyframe: &[u8], deltas: &[impl AsRef<[u8]>], length: usize) -> Result<Vec<u8>> {
    let damaged = "the stored payload is damaged: a delta does not fit its base; restore it from a backup";
    let restored = match deltas {
        [only] => apply(keyframe, only.as_ref(), length),
        _ => compose(keyframe, deltas, length),
    };
    restored.ok_or_else(|| Error::new(Code::Corrupt, damaged))
}

/// Returns the memory that [`restore`] takes for this delta as one of several, in bytes. A single delta takes no memory
/// besides its own bytes.
pub fn weight(delta: &[u8]) -> usize {
    let count = varint::read(&mut &*delta).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let steps = count.min(delta.len() / 3);
    delta.len() + steps * (size_of::<(usize, Step)>() + size_of::<usize>() + 2 * size_of::<Piece>())
}

/// Rebuilds a payload from its base and one delta.
fn apply(base: &[u8], delta: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut steps = delta;
    let count = varint::read(&mut steps)?;
    let mut literals = steps;
    for _ in 0..count {
        for _ in 0..3 {
            varint::read(&mut literals)?;
        }
    }
    // The result is at most this long, so do not reserve memory for a larger `length`.
    let mut out = Vec::with_capacity(length.min(base.len().saturating_add(literals.len())));
    let mut at = 0usize;
    for _ in 0..count {
        out.extend_from_slice(varint::take(&mut literals, varint::read(&mut steps)?)?);
        let from = at.checked_add(usize::try_from(varint::read(&mut steps)?).ok()?)?;
        at = from.checked_add(usize::try_from(varint::read(&mut steps)?).ok()?)?;
        if from < at {
            out.extend_from_slice(base.get(from..at)?);
        }
    }
    (literals.is_empty() && out.len() == length).then_some(out)
}

fn compose(keyframe: &[u8], deltas: &[impl AsRef<[u8]>], length: usize) -> Option<Vec<u8>> {
    let chain = deltas.iter().map(|delta| Steps::parse(delta.as_ref())).collect::<Option<Vec<_>>>()?;
    let Some(newest) = chain.last() else { return (keyframe.len() == length).then(|| keyframe.to_vec()) };
    // Copies only go forward, so the result is at most this long. Do not reserve memory for a larger `length`.
    let most = chain.iter().fold(keyframe.len(), |most, steps| most.saturating_add(steps.literals.len()));
    if newest.length != length || length > most {
        return None;
    }
    let mut pieces = vec![Piece { source: Source::Below, from: 0, length }];
    // Go from the newest delta to the oldest. Each delta splits the pieces of its own result.
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

/// Splits a range of a delta's result into ranges of its literals and ranges of the payload below.
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
    // Finds the last step that begins at or before the start of the range.
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
