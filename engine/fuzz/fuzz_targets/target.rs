//! Fuzzes targets. Any text is an absolute path or an error.
#![no_main]

use forkpoint_engine::error::Code;
use forkpoint_engine::target::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Target::parse(text) {
        Ok(Target::Memory) => assert_eq!(text, "memory:"),
        Ok(Target::Sqlite(path) | Target::Jsonl(path)) => assert!(path.is_absolute(), "{path:?}"),
        // A directory that does not exist is unavailable.
        Err(error) => {
            assert!(matches!(error.code(), Code::InvalidArgument | Code::Unsupported | Code::Unavailable), "{error}")
        }
    }
});
