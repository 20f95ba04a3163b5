//! Fuzzes frames. Any bytes must split into parts or give an error. If parts are joined and split again, the result
//! must equal the parts.
#![no_main]

use bytes::Bytes;
use forkpoint_engine::codec::frame;
use forkpoint_engine::error::Code;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let input = Bytes::copy_from_slice(input);
    match frame::split(&input) {
        Ok(payload) => {
            assert!(payload.len() <= input.len());
            let joined = Bytes::from(frame::join(&payload));
            // The result may be shorter than the input, because LEB128 can encode a number in more bytes than `join`
            // writes.
            assert!(joined.len() <= input.len());
            assert_eq!(frame::split(&joined).unwrap(), payload);
        }
        Err(error) => assert_eq!(error.code(), Code::Corrupt),
    }
});
