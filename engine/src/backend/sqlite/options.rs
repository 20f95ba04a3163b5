//! The options of a database file.

use std::path::PathBuf;
use std::time::Duration;

use crate::codec::largest;
use crate::options::{BUSY_TIMEOUT, Durability, Migrate};

/// The journal that makes commits atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log. Readers never wait for writers. Needs shared memory, so it works only on local file systems.
    Wal,
    /// A rollback journal. Slower than a WAL, but also works on network file systems.
    Rollback,
}

/// Options for opening a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The path of the database file. The directory of the file must exist.
    pub path: PathBuf,
    /// The failures that an acknowledged commit must survive.
    pub durability: Durability,
    /// How long a call waits for another process's lock before it fails with `BUSY`.
    pub busy_timeout: Duration,
    /// The journal. `None`: a rollback journal on a network file system, and a WAL otherwise.
    pub journal: Option<Journal>,
    /// The size limit, in bytes, of the in-memory cache of recent payloads.
    pub cache_bytes: usize,
    /// The maximum size of a payload that can be stored and opened, in bytes, with its part names and inherited parts.
    /// Default: 1 GiB.
    pub largest_payload: usize,
    /// True if small payloads may be stored raw under load. [`Backend::rest`](crate::backend::Backend::rest) compresses
    /// them.
    pub raw_in_a_hurry: bool,
    /// True if deleted data are overwritten with zeros, in the file and in its log.
    pub secure_delete: bool,
    /// True if a file that is open elsewhere in this process is refused.
    pub alone_in_process: bool,
    /// Whether tables are created and upgraded.
    pub migrate: Migrate,
}

impl Options {
    /// The default options for a file: full durability, a busy timeout of 30 s and a cache of 64 MiB.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            busy_timeout: BUSY_TIMEOUT,
            journal: None,
            cache_bytes: 64 << 20,
            largest_payload: largest::MOST,
            raw_in_a_hurry: false,
            secure_delete: false,
            alone_in_process: false,
            migrate: Migrate::default(),
        }
    }
}
