//! Tests deltas: what they cost for the usual changes of a state, and which inputs are given up or refused.

use crate::common::prelude::*;
use forkpoint_engine::codec::delta::{encode, restore};
use proptest::prelude::*;

fn round_trip(base: &[u8], target: &[u8]) -> Option<usize> {
    let delta = encode(base, target)?;
    assert_eq!(restore(base, &[&delta], target.len()).unwrap(), target);
    Some(delta.len())
}

#[test]
fn an_append_before_a_tail_costs_what_is_new() {
    let old = [noise(1, 100_000), b"tail of the state".to_vec()].concat();
    let new = [noise(1, 100_000), noise(2, 700), b"tail of the state".to_vec()].concat();
    assert!(round_trip(&old, &new).unwrap() < 720);
}

#[test]
fn scattered_edits_cost_a_little_each() {
    let old = noise(3, 200_000);
    let mut new = old.clone();
    for at in (500..200_000).step_by(2000) {
        new[at] ^= 1;
    }
    assert!(round_trip(&old, &new).unwrap() < 100 * 8);
    let moved = [noise(4, 5), old[..70_000].to_vec(), noise(5, 30), old[90_000..].to_vec()].concat();
    assert!(round_trip(&old, &moved).unwrap() < 100);
}

/// A message history that drops its oldest message at every step. All messages begin with the same text.
#[test]
fn a_window_that_slides_costs_a_fraction() {
    let words: Vec<&str> =
        "the agent reads a page and writes what it found before it asks for the next tool call with \
                            these arguments because the user wanted an answer about storage"
            .split(' ')
            .collect();
    let message = |number: u64| {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut text = String::from("{\"role\":\"assistant\",\"content\":\"");
        while text.len() < 1500 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(words[usize::try_from(state % words.len() as u64).unwrap()]);
            text.push(' ');
        }
        text + "\"},"
    };
    let window = |from: u64| -> Vec<u8> {
        let messages: String = (from..from + 20).map(message).collect();
        format!("{{\"step\":{from},\"messages\":[{messages}],\"tokens\":{}}}", from * 7).into_bytes()
    };
    for from in 0..20 {
        let length = round_trip(&window(from), &window(from + 1)).unwrap();
        assert!(length < 5 * message(0).len(), "step {from} takes {length} bytes");
    }
}

#[test]
fn nothing_and_everything() {
    let old = noise(6, 10_000);
    assert!(round_trip(&old, &old).unwrap() < 10);
    assert_eq!(round_trip(&old, b""), Some(1));
    assert_eq!(encode(&old, &noise(7, 10_000)), None, "unrelated");
    assert_eq!(encode(b"", &old), None);
    assert_eq!(round_trip(b"", b""), Some(1));
}

/// These inputs make the matcher search for the longest time. The encoder must give up or find a delta that is
/// worth storing.
#[test]
fn the_worst_inputs_are_given_up_or_worth_it() {
    const LENGTH: usize = 256 << 10;
    let old = noise(8, LENGTH);
    let every = |distance: usize| {
        let mut edited = old.clone();
        edited.iter_mut().step_by(distance).for_each(|byte| *byte ^= 1);
        edited
    };
    let swapped = [&old[LENGTH / 2..], &old[..LENGTH / 2]].concat();
    for (target, worth_it) in [
        (every(500), true),
        (every(12), false),
        // Copies only go forward, so one of the two halves must be stored as new bytes.
        (swapped, true),
        (noise(9, LENGTH), false),
        (vec![0; LENGTH], false),
        (b"ab".repeat(LENGTH / 2), false),
    ] {
        assert_eq!(round_trip(&old, &target).is_some(), worth_it);
    }
}

#[test]
fn a_delta_that_promises_too_much_is_refused() {
    let mut delta = Vec::new();
    for number in [1, 0, 0, u64::MAX >> 1] {
        leb128(&mut delta, number);
    }
    assert_eq!(restore(b"base", &[&delta], usize::MAX >> 1).unwrap_err().code(), Code::Corrupt);
    let mut many = Vec::new();
    leb128(&mut many, u64::MAX);
    assert_eq!(restore(b"base", &[&many], 4).unwrap_err().code(), Code::Corrupt);
}

proptest! {

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
