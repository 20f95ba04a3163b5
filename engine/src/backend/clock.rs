//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time on the machine's clock, in ms since the epoch.
pub(crate) fn machine_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    i64::try_from(since).unwrap_or(i64::MAX)
}
