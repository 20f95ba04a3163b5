//! Fuzzes deltas. `restore` must reverse `encode`. Any other input of `restore` must give an error, or a payload of the
//! requested length.
#![no_main]

use arbitrary::Arbitrary;
use forkpoint_engine::codec::delta;
use libfuzzer_sys::fuzz_target;

/// The largest payload, in bytes. The limit keeps an execution with 128 edits short.
const LARGEST: usize = 1 << 16;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Two payloads that may have nothing in common.
    Pair { base: &'a [u8], target: &'a [u8] },
    /// A payload and edits that are applied one after the other. The payloads after each edit form a chain.
    Edits { base: &'a [u8], repeat: u8, edits: Vec<Edit<'a>> },
    /// Arbitrary bytes in place of encoded deltas.
    Hostile { keyframe: &'a [u8], deltas: Vec<&'a [u8]>, length: u16 },
}

#[derive(Arbitrary, Debug)]
enum Edit<'a> {
    Splice {
        at: u16,
        removed: u16,
        inserted: &'a [u8],
    },
    /// Inserts a copy of a block at another position.
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

/// Returns a payload that repeats `base` with small differences. Such a payload exercises the budget and the table of
/// the matcher.
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
            // Without deltas, `length` is valid only if it is the length of the keyframe.
            let length = if deltas.is_empty() { keyframe.len() } else { usize::from(length) };
            if let Ok(payload) = delta::restore(keyframe, &deltas, length) {
                assert_eq!(payload.len(), length);
                // Copies only go forward, so the result cannot be longer than the keyframe and the deltas together.
                assert!(length <= keyframe.len() + deltas.iter().map(|delta| delta.len()).sum::<usize>());
            }
        }
    }
});
