//! Fuzzes the JSON of values. Any bytes must have a JSON that gives exactly these bytes, or none. Any text must give an
//! error, or bytes for which the same holds.
#![no_main]

use arbitrary::Arbitrary;
use forkpoint_engine::codec::value::{from_json, to_json};
use forkpoint_engine::error::Code;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Bytes(&'a [u8]),
    /// What follows the header of V8's format.
    Content(&'a [u8]),
    Text(&'a str),
}

fn check(tag: &str, bytes: &[u8]) {
    if let Some(text) = to_json(tag, bytes) {
        assert!(text.len() <= bytes.len() * 32 + 4_096);
        assert!(!text.contains(['\n', '\r']));
        assert_eq!(from_json(tag, &text).unwrap(), bytes);
    }
}

fuzz_target!(|input: Input<'_>| {
    for tag in ["v8", "json"] {
        match input {
            Input::Bytes(bytes) => check(tag, bytes),
            Input::Content(content) => check(tag, &[&[0xff, 15], content].concat()),
            Input::Text(text) => match from_json(tag, text) {
                Ok(bytes) => check(tag, &bytes),
                Err(error) => assert_eq!(error.code(), Code::InvalidArgument),
            },
        }
    }
});
