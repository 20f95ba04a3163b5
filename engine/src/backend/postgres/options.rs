//! The options of a server.

use std::time::Duration;

use super::url::Url;
use crate::options::{BUSY_TIMEOUT, Durability};

/// Options for the use of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub url: Url,
    /// The failures that an acknowledged commit must survive.
    pub durability: Durability,
    /// How long a call waits for locks and for the server.
    pub busy_timeout: Duration,
    /// The size limit, in bytes, of the in-memory cache of recent payloads.
    pub cache_bytes: usize,
    /// True if the database is only looked at.
    pub read_only: bool,
}

impl Options {
    /// The default options for a server.
    pub fn new(url: Url) -> Self {
        Self { url, durability: Durability::Full, busy_timeout: BUSY_TIMEOUT, cache_bytes: 64 << 20, read_only: false }
    }
}
