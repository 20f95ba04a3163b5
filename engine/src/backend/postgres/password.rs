//! Asks for the password of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;

/// Asks the user's program for a password. It may wait for as long as the parameter says.
#[derive(Clone)]
pub struct Ask(pub Arc<dyn Fn(Duration) -> Result<String> + Send + Sync>);

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl PartialEq for Ask {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ask {}
