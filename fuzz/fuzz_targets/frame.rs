//! Any bytes are an error or parts; and the parts, joined and split again, are the same.
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
            // Not equal to the input: a number has longer spellings than the one that is written.
            assert!(joined.len() <= input.len());
            assert_eq!(frame::split(&joined).unwrap(), payload);
        }
        Err(error) => assert_eq!(error.code(), Code::Corrupt),
    }
});
