//! Tests envelopes that lie about their sizes, and what envelopes cost.

use crate::common::prelude::*;
use forkpoint_engine::codec::envelope::{open, seal, seal_delta};
use xxhash_rust::xxh3::xxh3_64;

/// The largest length that an envelope may claim, in bytes.
const LARGEST: usize = 1 << 30;

/// A hand-made delta that copies the whole base and appends `more`. The encoder might refuse such a delta.
fn prefix_delta(base: &[u8], more: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let numbers = [2, 0, 0, base.len() as u64, more.len() as u64, 0, 0];
    for number in numbers {
        leb128(&mut out, number);
    }
    out.extend_from_slice(more);
    out
}

#[test]
fn text_shrinks_and_noise_does_not_grow() {
    let text = "the quick brown fox ".repeat(1000);
    assert!(seal(text.as_bytes()).len() < text.len() / 20);
    let noise: Vec<u8> = (0..10_000u64).flat_map(|n| xxh3_64(&n.to_le_bytes()).to_le_bytes()).collect();
    assert!(seal(&noise).len() <= noise.len() + 19);
}

#[test]
fn a_frame_that_lies_about_its_length_is_refused() {
    let bomb = vec![0u8; 1 << 20];
    let body = zstd::bulk::compress(&bomb, 1).unwrap();
    for claimed in [10, u64::MAX] {
        let mut sealed = vec![2];
        sealed.extend_from_slice(&xxh3_64(&bomb).to_le_bytes());
        leb128(&mut sealed, claimed);
        sealed.extend_from_slice(&body);
        assert_eq!(open(&[sealed]).unwrap_err().code(), Code::Corrupt);
    }
}

#[test]
fn deltas_that_claim_too_much_are_refused() {
    let keyframe = seal(b"0123456789");
    let claiming = |raw: usize, content: usize| {
        let mut sealed = vec![4];
        sealed.extend_from_slice(&xxh3_64(b"").to_le_bytes());
        leb128(&mut sealed, raw as u64);
        leb128(&mut sealed, content as u64);
        sealed.extend_from_slice(&zstd::bulk::compress(&[0; 4096], 1).unwrap());
        sealed
    };
    for chain in [
        vec![claiming(10, 64 << 20), keyframe.clone()],
        vec![claiming(LARGEST, LARGEST), claiming(LARGEST, LARGEST), claiming(LARGEST, LARGEST), keyframe],
    ] {
        let error = open(&chain).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.message().contains("large"), "{error}");
    }
}

/// Deltas whose contents do not fit into the memory for combining deltas are combined in several steps.
#[test]
fn a_chain_of_large_deltas_is_opened_in_steps() {
    let mut payload = vec![b'a'; 1000];
    let mut chain = vec![seal(&payload)];
    for step in 0..12_u8 {
        let more = vec![step; if step % 3 == 0 { 9 << 20 } else { 1 + usize::from(step) }];
        let delta = prefix_delta(&payload, &more);
        payload.extend_from_slice(&more);
        chain.insert(0, seal_delta(&payload, &delta));
    }
    assert!(open(&chain).unwrap() == payload);

    // Steps take more memory than their bytes. Steps that do nothing are no damage.
    let nothing = 1_000_000;
    let mut delta = Vec::new();
    leb128(&mut delta, nothing + 1);
    delta.resize(delta.len() + 3 * usize::try_from(nothing).unwrap(), 0);
    for number in [1, 1, payload.len() as u64 - 1] {
        leb128(&mut delta, number);
    }
    delta.push(b'b');
    payload[0] = b'b';
    for _ in 0..3 {
        chain.insert(0, seal_delta(&payload, &delta));
    }
    assert!(open(&chain).unwrap() == payload);
}
