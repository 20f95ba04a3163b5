//! What all stages of a copy use: both stores, the options, the counts.

use serde::{Deserialize, Serialize};

use super::side::Side;
use crate::error::{Code, Error};
use crate::record::ContractId;

/// The contract of the progress mark. Every store may contain it, and no contract of a framework has this number.
pub const MARK_CONTRACT: ContractId = ContractId(255);

/// What a copy needs to know besides the two stores.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Identifies the source. A begun copy is continued only from the same source.
    pub source: String,
    /// The contracts that are not copied and not compared.
    pub left_out: &'static [ContractId],
    /// The approximate size of a page, in bytes. A page has at least one checkpoint.
    pub page_bytes: usize,
}

impl CopyOptions {
    /// The default of `page_bytes`: 4 MiB.
    pub const PAGE_BYTES: usize = 4 << 20;
}

/// The numbers that a copy counts: see [`Progress`](super::Progress).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) lineages: u64,
    pub(super) checkpoints: u64,
    pub(super) writes: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// What all stages use.
pub(super) struct Shared {
    pub(super) from: Side,
    pub(super) to: Side,
    pub(super) options: CopyOptions,
}

impl Shared {
    pub(super) fn leaves_out(&self, contract: ContractId) -> bool {
        contract == MARK_CONTRACT || self.options.left_out.contains(&contract)
    }
}

/// The error for a source that has changed behind the copy.
pub(super) fn changed(what: &str) -> Error {
    let message = format!(
        "{what} changed in the source while it was copied: stop the programs that write to the source, remove the \
         destination, and copy again"
    );
    Error::new(Code::Conflict, message)
}
