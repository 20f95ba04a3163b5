//! The interface through which the tables store the contents of checkpoints and records.

use std::fmt::Debug;

use crate::error::Result;
use crate::record::{Payload, Record};

/// The contents of checkpoints and records. The tables hold everything else themselves.
pub(crate) trait Contents {
    /// A payload, or its position.
    type Payload: Clone + Debug + From<Payload>;
    /// A record, or its position.
    type Record: Held + From<Record>;

    /// True if [`Tables`](super::Tables) lists the changes of each unit, because the backend stores them.
    const LISTS_CHANGES: bool;

    fn load(&self, payload: &Self::Payload) -> Result<Payload>;
    /// Reads consecutive records of a branch.
    fn load_records(&self, records: &[Self::Record]) -> Result<Vec<Record>>;
}

/// A record in the tables.
pub(crate) trait Held: Clone + Debug {
    fn key(&self) -> Option<&str>;
    /// The number of bytes of the record.
    fn size(&self) -> u64;
}

impl Held for Record {
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Keeps the contents in the tables.
#[derive(Debug, Default)]
pub(crate) struct InMemory;

impl Contents for InMemory {
    type Payload = Payload;
    type Record = Record;

    const LISTS_CHANGES: bool = false;

    fn load(&self, payload: &Payload) -> Result<Payload> {
        Ok(payload.clone())
    }

    fn load_records(&self, records: &[Record]) -> Result<Vec<Record>> {
        Ok(records.to_vec())
    }
}
