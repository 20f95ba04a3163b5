//! A message about the opened storage.

use serde::Serialize;

/// A message for the user about the opened storage. JavaScript emits it as a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The warning's code, which is public API.
    pub code: &'static str,
    /// The problem and the remedy. Never contains the content of a state.
    pub message: String,
}
