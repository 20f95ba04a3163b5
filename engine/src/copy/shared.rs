//! The data that all parts of a copy share: both stores, the options, the counts.

use std::ops::Add;

use serde::Serialize;

use super::side::{Name, Side};
use crate::error::{Code, Error, quote};
use crate::record::ContractId;

#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// The contracts that are neither copied nor compared.
    pub left_out: &'static [ContractId],
    /// The contracts of effects, which are counted separately.
    pub effects: &'static [ContractId],
    /// The lineages to copy. All of them are compared before the first is changed. `None` copies the entire store.
    pub lineages: Option<Vec<Name>>,
    /// The approximate size of a page, in bytes. A page has at least one checkpoint.
    pub page_bytes: usize,
}

impl CopyOptions {
    /// The default of `page_bytes`: 4 MiB.
    pub const PAGE_BYTES: usize = 4 << 20;
}

/// The counts of copied or compared items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub lineages: u64,
    pub checkpoints: u64,
    /// The number of effects: see [`ContractId::is_effects`].
    pub effects: u64,
    /// The number of pending writes.
    pub writes: u64,
    /// The number of records of logs. A record that several checkpoints and logs share is counted once.
    pub records: u64,
    /// The number of bytes of all payloads, writes and records.
    pub bytes: u64,
}

impl Counts {
    /// Counts a checkpoint or an effect.
    pub(super) fn count(&mut self, contract: ContractId, payload: usize) {
        let counted = if contract.is_effects() { &mut self.effects } else { &mut self.checkpoints };
        *counted += 1;
        self.bytes += payload as u64;
    }

    /// Counts a lineage, unless it contains the effects of a run.
    pub(super) fn count_lineage(&mut self, contract: ContractId) {
        self.lineages += u64::from(!contract.is_effects());
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lineages: self.lineages + other.lineages,
            checkpoints: self.checkpoints + other.checkpoints,
            effects: self.effects + other.effects,
            writes: self.writes + other.writes,
            records: self.records + other.records,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The data that all parts of a copy share.
pub(super) struct Shared {
    pub(super) from: Side,
    pub(super) to: Side,
    pub(super) options: CopyOptions,
    /// The lineage that is being copied or compared. `None`: all lineages of the store.
    pub(super) only: Option<Name>,
}

impl Shared {
    pub(super) fn leaves_out(&self, contract: ContractId) -> bool {
        self.options.left_out.contains(&contract)
    }
}

/// The error for a source that has changed during the copy.
pub(super) fn changed(what: &str) -> Error {
    let message = format!(
        "{what} changed in the source while it was copied: stop the programs that write to the source, remove the \
         destination, and copy again"
    );
    Error::new(Code::Conflict, message)
}

/// The error for a lineage that has changed during the copy.
pub(super) fn changed_lineage(name: &str) -> Error {
    changed(&format!("run {}", quote(name)))
}
