//! The seed of a test.

pub(crate) use crate::common::{Random, number};

/// The seed of a test. If the test fails, the seed is printed.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn or(default: u64) -> Self {
        Self(number("FORKPOINT_SEED").unwrap_or(default))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FORKPOINT_SEED={} repeats the failure", self.0);
        }
    }
}
