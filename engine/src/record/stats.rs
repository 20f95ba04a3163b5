//! The number and the size of stored items.

use std::cmp::Reverse;

use super::key::ContractId;

/// The number and the size of the items that a store, or one contract in a store, holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
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
    /// The total size of the database, in bytes. `None` if there is no database.
    pub file_bytes: Option<u64>,
    /// The size of the log that belongs to the database, in bytes. `None` if there is no log.
    pub log_bytes: Option<u64>,
    /// The unused space in the database, in bytes. `None` if unknown.
    pub free_bytes: Option<u64>,
    /// The lineages with the greatest stored size, the largest first. Lineages of equal size are sorted by name.
    pub largest: Vec<LineageStats>,
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
}

impl Stats {
    /// Adds a lineage to the totals. Lists the lineage by name if it is among the largest. `largest` is the maximum
    /// length of this list.
    pub fn count(&mut self, lineage: LineageStats, largest: usize) {
        self.checkpoints += lineage.checkpoints;
        self.lineages += 1;
        self.logical_bytes += lineage.logical_bytes;
        self.stored_bytes += lineage.stored_bytes;
        self.rank_among_largest(lineage, largest);
    }

    /// Inserts a lineage into the list of the largest lineages, and keeps at most `largest` of them.
    pub fn rank_among_largest(&mut self, lineage: LineageStats, largest: usize) {
        let before = |other: &LineageStats| {
            (Reverse(other.stored_bytes), other.contract, &other.lineage)
                < (Reverse(lineage.stored_bytes), lineage.contract, &lineage.lineage)
        };
        let at = self.largest.partition_point(before);
        if at < largest {
            self.largest.insert(at, lineage);
            self.largest.truncate(largest);
        }
    }
}
