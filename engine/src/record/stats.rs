//! The number and the size of stored items.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter::Sum;

use serde::Serialize;

use super::key::ContractId;
use super::status::Status;

/// The format of stored data, and the newest one that this release knows. The numbers of the backends have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Formats {
    pub format: u32,
    pub newest: u32,
}

/// The number and the size of the items that a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// What each contract holds. A contract that holds nothing may be missing.
    pub contracts: BTreeMap<ContractId, Sizes>,
    /// The total size of the database, in bytes. `None` if there is no database.
    pub file_bytes: Option<u64>,
    /// The size of the log that belongs to the database, in bytes. `None` if there is no log.
    pub log_bytes: Option<u64>,
    /// The unused space in the database, in bytes. `None` if unknown.
    pub free_bytes: Option<u64>,
    /// The lineages with the greatest stored size of payloads and records, the largest first. Lineages of equal size are sorted by name. The lineages
    /// of effects are left out.
    pub largest: Vec<LineageStats>,
    /// True if the numbers of `contracts` are estimates, because counting would read too many rows.
    pub is_estimate: bool,
}

/// The number and the size of the items that a contract holds.
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
    /// The number of lineages with each status, by the number of the status, if the query asks for them. Those of effects are not
    /// counted.
    pub statuses: [u64; Status::ALL.len()],
}

/// The number and the size of the items that a lineage holds: see [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageStats {
    pub contract: ContractId,
    pub lineage: String,
    pub checkpoints: u64,
    /// The total size of the payloads after framing and before compression, in bytes.
    pub logical_bytes: u64,
    /// The total stored size of the payloads, in bytes.
    pub stored_bytes: u64,
    /// The total size of the records of its logs, in bytes, with those that only checkpoints name. Records that a fork shares with its
    /// source count for both, in whole branches.
    pub record_bytes: u64,
}

impl LineageStats {
    /// The size that lineages are ranked by.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored_bytes + self.record_bytes
    }
}

impl Stats {
    /// What a contract holds.
    pub fn of(&self, contract: ContractId) -> Sizes {
        self.contracts.get(&contract).copied().unwrap_or_default()
    }

    /// What the contracts hold together for which `counts` returns true.
    pub fn sum(&self, counts: impl Fn(ContractId) -> bool) -> Sizes {
        self.contracts.iter().filter(|(contract, _)| counts(**contract)).map(|(_, sizes)| *sizes).sum()
    }

    /// What all contracts hold.
    pub fn total(&self) -> Sizes {
        self.sum(|_| true)
    }

    /// The sizes of a contract, to add to them.
    pub(crate) fn contract(&mut self, contract: ContractId) -> &mut Sizes {
        self.contracts.entry(contract).or_default()
    }

    /// Inserts a lineage into the list of the largest lineages, and keeps at most `largest` of them.
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
