//! The options of a folder.

use std::path::PathBuf;
use std::time::Duration;

use super::names::Names;
use crate::options::{BUSY_TIMEOUT, Durability, Migrate};

/// Options for opening a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The path of the folder. Its parent must exist.
    pub path: PathBuf,
    /// The failures that an acknowledged commit must survive.
    pub durability: Durability,
    /// How long a call waits for another process's lock before it fails with `BUSY`.
    pub busy_timeout: Duration,
    /// The names of contracts, for folder names. The folder of any other contract has the contract's number.
    pub names: Names,
    /// True if the folder is opened read-only: nothing in it is created or changed.
    pub read_only: bool,
    /// Whether a new folder is created.
    pub migrate: Migrate,
}

impl Options {
    /// The default options for a folder: full durability and a busy timeout of 30 s.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            busy_timeout: BUSY_TIMEOUT,
            names: &[],
            read_only: false,
            migrate: Migrate::default(),
        }
    }
}
