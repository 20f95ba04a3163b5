//! The options of a store.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::record::{ContractId, Labels};
use crate::retention::Policy;

/// The kinds of failures that an acknowledged save survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// An acknowledged save survives power loss and every lesser failure: every commit is synced to the disk.
    #[default]
    Full,
    /// An acknowledged save survives a killed process. Power loss may lose the newest commits but never corrupts
    /// the store.
    Normal,
    /// An acknowledged save survives a killed process. The store promises nothing about power loss.
    Off,
}

/// What opening a store may do to its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migrate {
    /// Creates the tables of a new database. Uses a database of an older format without upgrading it.
    #[default]
    Create,
    /// Creates the tables of a new database. Upgrades a database of an older format.
    Auto,
    /// Creates and upgrades nothing. Fails with `NOT_FOUND` if the database has no tables.
    Never,
}

impl Migrate {
    /// Reads the value of the option `migrate`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for another text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "create" => Ok(Self::Create),
            "auto" => Ok(Self::Auto),
            "never" => Ok(Self::Never),
            _ => Err(Error::invalid("the option \"migrate\" must be \"create\", \"auto\" or \"never\"")),
        }
    }
}

/// How long a call waits for another process's lock before it fails with `BUSY`. Default: 30 s.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a store, for every kind of target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The failures that an acknowledged save must survive.
    pub durability: Durability,
    /// How long a call waits for another process's database lock before it fails with `BUSY`.
    pub busy_timeout: Duration,
    /// The maximum size of a payload to save, in bytes. A larger checkpoint is refused. Stored payloads can be read up
    /// to this size, and always up to [`Options::MAX_PAYLOAD_BYTES`].
    pub max_payload_bytes: usize,
    /// The maximum total size, in bytes, of the recent payloads that are kept in memory.
    pub cache_bytes: usize,
    /// The limits of retention. If the stored data exceed a limit, the store removes checkpoints in the background.
    pub retention: Policy,
    /// The file names of the contracts, for a target that names its files after contracts.
    pub contract_names: &'static [(ContractId, &'static str)],
    /// True if deleted data are overwritten. Works for database files only: other targets are refused.
    pub secure_delete: bool,
    /// The labels of each run that a contract's call creates.
    pub labels: Labels,
    /// True if the store is opened read-only. No file or table is created or upgraded, and writes are refused.
    pub read_only: bool,
    /// What opening the store may do to its tables. The URL of a server may set this option too.
    pub migrate: Migrate,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            busy_timeout: BUSY_TIMEOUT,
            max_payload_bytes: Self::MAX_PAYLOAD_BYTES,
            cache_bytes: Self::CACHE_BYTES,
            retention: Policy::default(),
            contract_names: &[],
            secure_delete: false,
            labels: Labels::default(),
            read_only: false,
            migrate: Migrate::default(),
        }
    }
}

impl Options {
    /// The maximum size in bytes of a payload that can be stored and read, with its part names and inherited parts.
    pub fn largest_payload(&self) -> usize {
        let parts = self.max_payload_bytes.max(Self::MAX_PAYLOAD_BYTES);
        parts + parts / 16
    }

    /// The default of `max_payload_bytes`: 64 MiB.
    pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;
    /// The default of `cache_bytes`: 64 MiB.
    pub const CACHE_BYTES: usize = 64 << 20;
    /// The maximum value of `max_payload_bytes`. Every backend can hold such a payload with its frame in one row.
    pub const LARGEST_PAYLOAD_BYTES: usize = 900 << 20;
}
