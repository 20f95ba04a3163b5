//! What `encode` makes, `restore` undoes; and whatever else `restore` is given, it is an error or as long as was asked.
#![no_main]

use arbitrary::Arbitrary;
use forkpoint::codec::delta;
use libfuzzer_sys::fuzz_target;

/// With up to 128 edits of it an execution stays short.
const LARGEST: usize = 1 << 16;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Two payloads that need have nothing in common.
    Pair { base: &'a [u8], target: &'a [u8] },
    /// A payload and what edits make of it, one after the other: a chain.
    Edits { base: &'a [u8], repeat: u8, edits: Vec<Edit<'a>> },
    /// Bytes that nobody encoded.
    Hostile { keyframe: &'a [u8], deltas: Vec<&'a [u8]>, length: u16 },
}

#[derive(Arbitrary, Debug)]
enum Edit<'a> {
    Splice {
        at: u16,
        removed: u16,
        inserted: &'a [u8],
    },
    /// A block that comes back elsewhere.
    Copy {
        from: u16,
        length: u16,
        to: u16,
    },
    Flip {
        at: u16,
        every: u8,
    },
}

impl Edit<'_> {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: u16| usize::from(at) % (bytes.len() + 1);
        match *self {
            Edit::Splice { at, removed, inserted } => {
                let at = place(at);
                let end = bytes.len().min(at + usize::from(removed));
                bytes.splice(at..end, inserted.iter().copied());
            }
            Edit::Copy { from, length, to } => {
                let (from, to) = (place(from), place(to));
                let block = bytes[from..bytes.len().min(from + usize::from(length))].to_vec();
                bytes.splice(to..to, block);
            }
            Edit::Flip { at, every } => {
                let at = place(at);
                bytes[at..].iter_mut().step_by(usize::from(every) + 1).for_each(|byte| *byte ^= 1);
            }
        }
    }
}

/// A payload that repeats, but nowhere exactly: what a budget and a table of grams are for.
fn grown(base: &[u8], repeat: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for round in 0..=repeat % 64 {
        bytes.extend_from_slice(base);
        bytes.push(round);
    }
    bytes.truncate(LARGEST);
    bytes
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Pair { base, target } => {
            if let Some(delta) = delta::encode(base, target) {
                assert_eq!(delta::restore(base, &[&delta], target.len()).unwrap(), target);
            }
        }
        Input::Edits { base, repeat, edits } => {
            let base = grown(base, repeat);
            let mut payload = base.clone();
            let mut deltas = Vec::new();
            for edit in edits.iter().take(128) {
                let mut next = payload.clone();
                edit.apply(&mut next);
                next.truncate(LARGEST);
                let Some(delta) = delta::encode(&payload, &next) else { continue };
                assert_eq!(delta::restore(&payload, &[&delta], next.len()).unwrap(), next);
                deltas.push(delta);
                payload = next;
            }
            let chain: Vec<&[u8]> = deltas.iter().map(Vec::as_slice).collect();
            if !chain.is_empty() {
                assert_eq!(delta::restore(&base, &chain, payload.len()).unwrap(), payload);
            }
        }
        Input::Hostile { keyframe, deltas, length } => {
            // Without a delta there is nothing to restore, and the length is not looked at.
            let length = if deltas.is_empty() { keyframe.len() } else { usize::from(length) };
            if let Ok(payload) = delta::restore(keyframe, &deltas, length) {
                assert_eq!(payload.len(), length);
                // Copies only go forward.
                assert!(length <= keyframe.len() + deltas.iter().map(|delta| delta.len()).sum::<usize>());
            }
        }
    }
});
