//! Fuzzes frames. Any bytes must split into parts or give an error. Parts that are joined and split again must be equal.
#![no_main]

use bytes::Bytes;
use forkpoint::codec::frame;
use forkpoint::error::Code;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let input = Bytes::copy_from_slice(input);
    match frame::split(&input) {
        Ok(payload) => {
            assert!(payload.len() <= input.len());
            let joined = Bytes::from(frame::join(&payload));
            // The result may be shorter than the input: LEB128 has longer spellings of a number than `join` writes.
            assert!(joined.len() <= input.len());
            assert_eq!(frame::split(&joined).unwrap(), payload);
        }
        Err(error) => assert_eq!(error.code(), Code::Corrupt),
    }
});
