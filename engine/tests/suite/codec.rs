//! Tests the codec with realistic payloads and with damaged chains. Each result must be the saved payload or the error
//! CORRUPT. A result of other bytes or a panic is a failure.

use crate::common::prelude::*;
use bytes::Bytes;
use forkpoint_engine::codec::{delta, envelope, frame};
use proptest::prelude::*;
use proptest::sample::Index;

/// The greatest number of deltas in a chain that a store makes.
const DEEPEST: usize = 256;

/// An agent's state: many messages that resemble each other.
fn messages(count: usize, seed: u64) -> Vec<u8> {
    let roles = ["user", "assistant", "tool"];
    let message = |n: usize| {
        let id = seed.wrapping_add(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let words = "the quick brown fox jumps over the lazy dog ".repeat(1 + n % 4);
        format!(r#"{{"id":"{id:016x}","role":"{}","content":"{words}","tokens":{}}}"#, roles[n % 3], id % 1000)
    };
    let all = (0..count).map(message).collect::<Vec<_>>().join(",");
    format!(r#"{{"messages":[{all}],"step":{count}}}"#).into_bytes()
}

fn payloads() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => Just(Vec::new()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
        6 => (1..250usize, any::<u64>()).prop_map(|(count, seed)| messages(count, seed)),
        2 => (0..60_000usize, any::<u64>()).prop_map(|(length, seed)| noise(seed, length)),
        // A short unit of bytes is repeated many times, so every match occurs at many positions.
        2 => (prop::collection::vec(any::<u8>(), 1..50), 1..2000usize).prop_map(|(unit, times)| unit.repeat(times)),
        1 => (1..100_000usize).prop_map(|length| vec![0; length]),
        // The payload has only three byte values. So it has many short matches that are not worth a copy.
        1 => prop::collection::vec(0u8..3, 0..5000),
    ]
}

#[derive(Clone, Debug)]
enum Edit {
    Append(usize, u64),
    /// Replaces some bytes in the middle.
    Splice(Index, usize, usize, u64),
    /// Moves a block.
    Move(Index, usize, Index),
    /// Copies a block to another place.
    Repeat(Index, usize, Index),
    /// Changes single bytes in many places. A counter in each message of a state changes in the same way.
    Sprinkle(usize),
    Truncate(Index),
    /// Replaces the whole payload.
    Replace(Vec<u8>),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = any::<Index>;
    let edit = prop_oneof![
        4 => (0..2000usize, any::<u64>()).prop_map(|(length, seed)| Edit::Append(length, seed)),
        4 => (at(), 0..300usize, 0..300usize, any::<u64>())
            .prop_map(|(at, out, new, seed)| Edit::Splice(at, out, new, seed)),
        2 => (at(), 0..8000usize, at()).prop_map(|(from, length, to)| Edit::Move(from, length, to)),
        2 => (at(), 0..8000usize, at()).prop_map(|(from, length, to)| Edit::Repeat(from, length, to)),
        1 => (20..2000usize).prop_map(Edit::Sprinkle),
        1 => at().prop_map(Edit::Truncate),
        1 => payloads().prop_map(Edit::Replace),
    ];
    prop::collection::vec(edit, 0..6)
}

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for edit in edits {
        let place = |at: &Index| at.index(bytes.len() + 1);
        match edit {
            Edit::Append(length, seed) => bytes.extend(noise(*seed, *length)),
            Edit::Splice(at, out, new, seed) => {
                let at = place(at);
                let end = bytes.len().min(at + out);
                bytes.splice(at..end, noise(*seed, *new));
            }
            Edit::Move(from, length, to) => {
                let from = place(from);
                let end = bytes.len().min(from + length);
                let block: Vec<u8> = bytes.drain(from..end).collect();
                let to = to.index(bytes.len() + 1);
                bytes.splice(to..to, block);
            }
            Edit::Repeat(from, length, to) => {
                let (from, to) = (place(from), place(to));
                let block = bytes[from..bytes.len().min(from + length)].to_vec();
                bytes.splice(to..to, block);
            }
            Edit::Sprinkle(every) => bytes.iter_mut().step_by(*every).for_each(|byte| *byte = byte.wrapping_add(1)),
            Edit::Truncate(at) => bytes.truncate(at.index(bytes.len() + 1)),
            Edit::Replace(other) => bytes.clone_from(other),
        }
    }
    bytes
}

/// The rows of a chain and the payloads that the rows encode. Both lists begin with the newest.
struct Chain {
    rows: Vec<Vec<u8>>,
    payloads: Vec<Vec<u8>>,
}

impl Chain {
    fn new(keyframe: Vec<u8>) -> Self {
        Self { rows: vec![envelope::seal(&keyframe)], payloads: vec![keyframe] }
    }

    /// Adds a payload to the chain if the delta is smaller than the payload.
    fn push(&mut self, payload: Vec<u8>) {
        if let Some(delta) = delta::encode(&self.payloads[0], &payload) {
            self.rows.insert(0, envelope::seal_delta(&payload, &delta));
            self.payloads.insert(0, payload);
        }
    }

    fn check(&self) {
        for (at, payload) in self.payloads.iter().enumerate() {
            assert!(envelope::open(&self.rows[at..]).unwrap() == *payload, "payload {at} of {}", self.rows.len());
        }
        let Some((newest, older)) = self.payloads.split_first() else { return };
        for (at, below) in older.iter().enumerate() {
            assert!(
                envelope::open_on(Some(below), &self.rows[..=at], usize::MAX).unwrap() == *newest,
                "on the payload {at} below"
            );
        }
    }
}

/// Opens rows that may be damaged. The result must be `payload` or an error that reports the damage.
fn open_damaged(rows: &[Vec<u8>], payload: &[u8]) -> Result<(), TestCaseError> {
    match envelope::open(rows) {
        Ok(raw) => prop_assert!(raw == payload, "other bytes were returned"),
        Err(error) => prop_assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{}", error),
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, Index, u8),
    Cut(Index, Index),
    Grow(Index, u8),
    Swap(Index, Index),
    Remove(Index),
    Repeat(Index, Index),
    /// Replaces a row with a row of another chain.
    Foreign(Index),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<Index>;
    let damage = prop_oneof![
        4 => (at(), at(), 0..8u8).prop_map(|(row, at, bit)| Damage::Flip(row, at, bit)),
        1 => (at(), at()).prop_map(|(row, at)| Damage::Cut(row, at)),
        1 => (at(), any::<u8>()).prop_map(|(row, byte)| Damage::Grow(row, byte)),
        2 => (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        2 => at().prop_map(Damage::Remove),
        2 => (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        1 => at().prop_map(Damage::Foreign),
    ];
    prop::collection::vec(damage, 1..4)
}

fn damaged(mut rows: Vec<Vec<u8>>, damages: &[Damage]) -> Vec<Vec<u8>> {
    for damage in damages {
        let count = rows.len();
        if count == 0 {
            break;
        }
        match damage {
            Damage::Flip(row, at, bit) => {
                let row = &mut rows[row.index(count)];
                if !row.is_empty() {
                    let at = at.index(row.len());
                    row[at] ^= 1 << bit;
                }
            }
            Damage::Cut(row, at) => {
                let row = &mut rows[row.index(count)];
                row.truncate(at.index(row.len() + 1));
            }
            Damage::Grow(row, byte) => rows[row.index(count)].push(*byte),
            Damage::Swap(one, other) => rows.swap(one.index(count), other.index(count)),
            Damage::Remove(row) => drop(rows.remove(row.index(count))),
            Damage::Repeat(from, to) => rows.insert(to.index(count + 1), rows[from.index(count)].clone()),
            Damage::Foreign(row) => {
                let base = messages(40, 1);
                let payload = messages(41, 1);
                rows[row.index(count)] = match delta::encode(&base, &payload) {
                    Some(delta) if row.index(2) == 0 => envelope::seal_delta(&payload, &delta),
                    _ => envelope::seal(&payload),
                };
            }
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_payload_comes_back(payload in payloads()) {
        prop_assert!(envelope::open(&[envelope::seal(&payload)]).unwrap() == payload);
    }

    #[test]
    fn any_payload_comes_back_over_any_other(base in payloads(), target in payloads()) {
        let delta = delta::encode(&base, &target);
        // Proptest takes another case, and fails if too few have a delta.
        prop_assume!(delta.is_some());
        prop_assert!(delta::restore(&base, &[&delta.unwrap()], target.len()).unwrap() == target);
    }

    #[test]
    fn any_chain_comes_back(first in payloads(), steps in prop::collection::vec(edits(), 1..12)) {
        let mut chain = Chain::new(first);
        for edits in &steps {
            chain.push(edited(chain.payloads[0].clone(), edits));
        }
        prop_assume!(chain.rows.len() > 1);
        chain.check();
    }

    #[test]
    fn a_damaged_chain_is_noticed(
        first in payloads(),
        steps in prop::collection::vec(edits(), 0..8),
        damages in damages(),
    ) {
        let mut chain = Chain::new(first);
        for edits in &steps {
            chain.push(edited(chain.payloads[0].clone(), edits));
        }
        let newest = chain.rows[0].clone();
        let rows = damaged(chain.rows, &damages);
        // If the newest rows are missing, the envelopes alone give an older payload without an error. Only the numbers
        // of the rows in the database show that rows are missing.
        let mut expected = chain.payloads[0].clone();
        match rows.first() {
            Some(row) if row[..] != newest[..] => {
                let checksum = |payload: &Vec<u8>| xxhash_rust::xxh3::xxh3_64(payload).to_le_bytes();
                let named = chain.payloads.iter().chain([&messages(41, 1)]).find(|payload| {
                    row.get(1..9).is_some_and(|named| named == checksum(payload))
                }).cloned();
                expected = named.unwrap_or_default();
            }
            _ => {}
        }
        open_damaged(&rows, &expected)?;
    }

    #[test]
    fn any_rows_are_an_error(
        rows in prop::collection::vec((1..5u8, prop::collection::vec(any::<u8>(), 0..300)), 0..6),
    ) {
        let rows: Vec<Vec<u8>> = rows.into_iter().map(|(format, rest)| [vec![format], rest].concat()).collect();
        // Random bytes practically never have a correct checksum.
        prop_assert!(envelope::open(&rows).is_err());
    }

    #[test]
    fn parts_come_back_through_a_chain(
        states in prop::collection::vec(payloads(), 1..5),
        edits in edits(),
        cut in any::<Index>(),
    ) {
        let payload = |states: &[Vec<u8>]| Payload {
            parts: (0..).zip(states).map(|(n, state)| part(&format!("channel {n}"), "t", state.clone())).collect(),
        };
        let before = payload(&states);
        let mut states = states;
        let last = states.pop().unwrap();
        states.push(edited(last, &edits));
        let after = payload(&states);
        let mut chain = Chain::new(frame::join(&before));
        chain.push(frame::join(&after));
        let raw = Bytes::from(envelope::open(&chain.rows).unwrap());
        let expected = if chain.rows.len() == 2 { after } else { before };
        prop_assert!(frame::split(&raw).unwrap() == expected);
        let cut = cut.index(raw.len());
        prop_assert_eq!(frame::split(&raw.slice(..cut)).unwrap_err().code(), Code::Corrupt);
    }
}

/// Makes a chain of the greatest depth. The state grows, and every step edits the state in several places.
fn deep() -> Chain {
    let mut chain = Chain::new(messages(60, 7));
    let mut step = 0;
    while chain.rows.len() <= DEEPEST {
        let mut next = chain.payloads[0].clone();
        let end = next.len() - 10;
        next.splice(end..end, format!(r#",{{"step":{step},"new":"{:x}"}}"#, step * 7919).into_bytes());
        for place in 0..4 {
            let at = (step * 37 + place * 1500) % (next.len() - 20);
            next.splice(at..at + place, noise((step * 4 + place) as u64, 5));
        }
        if step % 9 == 0 {
            let block: Vec<u8> = next.drain(200..900).collect();
            next.splice(3000..3000, block);
        }
        chain.push(next);
        // For some steps the encoder finds no delta worth storing, for example if a block moves among similar blocks.
        // The chain grows at the other steps.
        step += 1;
        assert!(step < 2 * DEEPEST, "{} deltas in {step} steps", chain.rows.len() - 1);
    }
    chain
}

#[test]
fn the_deepest_chain_comes_back_from_every_depth_and_misses_no_link() {
    let chain = deep();
    chain.check();
    for at in 0..chain.rows.len() {
        let mut missing = chain.rows.clone();
        missing.remove(at);
        // If only the newest row is missing, the other rows are the valid chain of the payload before it.
        let expected = chain.payloads[usize::from(at == 0)].clone();
        match envelope::open(&missing) {
            Ok(raw) => assert!(at == 0 && raw == expected, "row {at} is missing"),
            Err(error) => assert_eq!(error.code(), Code::Corrupt, "row {at} is missing"),
        }
        let mut twice = chain.rows.clone();
        twice.insert(at, twice[at].clone());
        assert_eq!(envelope::open(&twice).unwrap_err().code(), Code::Corrupt, "row {at} is there twice");
        if at > 0 {
            let mut swapped = chain.rows.clone();
            swapped.swap(at - 1, at);
            assert_eq!(envelope::open(&swapped).unwrap_err().code(), Code::Corrupt, "rows {at} and before it");
        }
    }
    let mut cut = chain.rows;
    cut.pop();
    assert_eq!(envelope::open(&cut).unwrap_err().code(), Code::Corrupt, "no keyframe");
}

#[test]
fn a_flipped_bit_anywhere_in_a_chain_is_noticed() {
    let mut chain = Chain::new(messages(3, 1));
    for step in 0..4u64 {
        let mut next = chain.payloads[0].clone();
        let at = next.len() / 2;
        next.splice(at..at + 3, noise(step, 40));
        chain.push(next);
    }
    assert_eq!(chain.rows.len(), 5);
    for row in 0..chain.rows.len() {
        for at in 0..chain.rows[row].len() {
            for bit in 0..8 {
                let mut rows = chain.rows.clone();
                rows[row][at] ^= 1 << bit;
                match envelope::open(&rows) {
                    // In a row below the newest, some bytes are not copied by any delta. Damage to these bytes does not
                    // change the result.
                    Ok(raw) => assert!(raw == chain.payloads[0], "bit {bit} of byte {at} of row {row}"),
                    Err(error) => assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{error}"),
                }
            }
        }
    }
}

fn frames() -> impl Strategy<Value = Payload> {
    let part = (".{0,8}", "[a-z]{0,4}", prop::collection::vec(any::<u8>(), 0..300))
        .prop_map(|(name, tag, bytes)| Part { name, tag, bytes: bytes.into() });
    prop::collection::vec(part, 0..6).prop_map(|parts| Payload { parts })
}

proptest! {
    #[test]
    fn parts_come_back(payload in frames()) {
        prop_assert_eq!(frame::split(&frame::join(&payload).into()).unwrap(), payload);
    }

    #[test]
    fn any_bytes_are_an_error_or_parts(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        if let Ok(payload) = frame::split(&bytes) {
            prop_assert_eq!(frame::split(&frame::join(&payload).into()).unwrap(), payload);
        }
    }
}

#[test]
fn a_huge_count_reserves_nothing() {
    let mut bytes = Vec::new();
    leb128(&mut bytes, u64::MAX);
    assert!(frame::split(&bytes.into()).is_err());
}
