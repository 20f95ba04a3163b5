//! A message about the opened storage.

use serde::Serialize;
use ts_rs::TS;

/// A message for the user about the opened storage. JavaScript emits it as a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Notice {
    /// The warning's code, which is public API.
    #[ts(type = "\"FORKPOINT_COMMITS_LOST\" | \"FORKPOINT_LOG_MISSING\" | \"FORKPOINT_NETWORK_FILE\" \
                | \"FORKPOINT_SERVER_NOT_DURABLE\" | \"FORKPOINT_SERVER_NOT_VERIFIED\"")]
    pub code: &'static str,
    /// The problem and the remedy. Never contains the content of a state.
    pub message: String,
}
