//! The number and the size of stored items.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter::Sum;

use serde::Serialize;
use ts_rs::TS;

use super::key::ContractId;
use super::status::Status;

/// The format of the stored data, and the newest format that this release knows. Each backend numbers its own formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Formats {
    pub format: u32,
    pub newest: u32,
}

/// The number and the size of the stored items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The items of each contract. A contract without items may be missing.
    pub contracts: BTreeMap<ContractId, Sizes>,
    /// The total size of the database, in bytes. `None` if there is no database.
    pub file_bytes: Option<u64>,
    /// The size of the log that belongs to the database, in bytes. `None` if there is no log.
    pub log_bytes: Option<u64>,
    /// The unused space in the database, in bytes. `None` if unknown.
    pub free_bytes: Option<u64>,
    /// The lineages with the most stored bytes in payloads and records, the largest first. Lineages of equal size are
    /// sorted by name. Lineages of effects are left out.
    pub largest: Vec<LineageStats>,
    /// True if the numbers of `contracts` are estimates, because counting would read too many rows.
    pub is_estimate: bool,
}

/// The number and the size of the items of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub checkpoints: u64,
    /// The number of lineages, including lineages that have only logs.
    pub lineages: u64,
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, compressed and as deltas, in bytes.
    pub stored_bytes: u64,
    /// The number of records in all logs. A record that several checkpoints and logs share is counted once.
    pub records: u64,
    /// The total size of these records, in bytes.
    pub record_bytes: u64,
    /// The number of lineages by the number of their status, if the query asks for it. Lineages of effects are not
    /// counted.
    pub statuses: [u64; Status::ALL.len()],
}

/// The number and the size of the items of a lineage: see [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageStats {
    pub contract: ContractId,
    pub lineage: String,
    pub checkpoints: u64,
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, in bytes.
    pub stored_bytes: u64,
    /// The total size of the records of the lineage's logs, in bytes, including records that only checkpoints name.
    /// Records that a fork shares with its source count for both, in whole branches.
    pub record_bytes: u64,
}

impl LineageStats {
    /// The size that lineages are ranked by.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored_bytes + self.record_bytes
    }
}

impl Stats {
    /// The sizes of a contract.
    pub fn of(&self, contract: ContractId) -> Sizes {
        self.contracts.get(&contract).copied().unwrap_or_default()
    }

    /// The total sizes of the contracts for which `counts` returns true.
    pub fn sum(&self, counts: impl Fn(ContractId) -> bool) -> Sizes {
        self.contracts.iter().filter(|(contract, _)| counts(**contract)).map(|(_, sizes)| *sizes).sum()
    }

    /// The total sizes of all contracts.
    pub fn total(&self) -> Sizes {
        self.sum(|_| true)
    }

    /// The sizes of a contract, for updates.
    pub(crate) fn contract(&mut self, contract: ContractId) -> &mut Sizes {
        self.contracts.entry(contract).or_default()
    }

    /// Inserts a lineage into the ranking, which keeps at most `largest` lineages.
    pub fn rank_among_largest(&mut self, lineage: LineageStats, largest: usize) {
        let before = |other: &LineageStats| {
            (Reverse(other.bytes()), other.contract, &other.lineage)
                < (Reverse(lineage.bytes()), lineage.contract, &lineage.lineage)
        };
        let at = self.largest.partition_point(before);
        if at < largest {
            self.largest.insert(at, lineage);
            self.largest.truncate(largest);
        }
    }
}

impl Sum for Sizes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, of| Self {
            checkpoints: sum.checkpoints + of.checkpoints,
            lineages: sum.lineages + of.lineages,
            logical_bytes: sum.logical_bytes + of.logical_bytes,
            stored_bytes: sum.stored_bytes + of.stored_bytes,
            records: sum.records + of.records,
            record_bytes: sum.record_bytes + of.record_bytes,
            statuses: std::array::from_fn(|at| sum.statuses[at] + of.statuses[at]),
        })
    }
}
