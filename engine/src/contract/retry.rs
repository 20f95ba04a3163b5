//! The rule for retries of a failed step or task. The state machines of several contracts use it.

use serde::Deserialize;
use ts_rs::TS;

/// The rule for retries after a failed attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// The maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// The wait before the first retry, in ms. Each further wait is twice as long.
    pub backoff_ms: f64,
}

impl Retry {
    /// The longest wait that a JavaScript timer supports: about 24 days.
    const LONGEST_MS: f64 = 2_147_483_647.0;

    /// Returns the wait after an attempt, in ms. The first attempt has the number 0.
    pub fn wait_ms(&self, attempt: u32) -> f64 {
        (self.backoff_ms * 2f64.powi(i32::try_from(attempt).unwrap_or(i32::MAX))).min(Self::LONGEST_MS)
    }
}
