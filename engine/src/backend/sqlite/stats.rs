//! Statistics of a store: the number of its checkpoints, lineages and records, and their sizes in bytes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use super::chain::Chain;
use super::retention::pragma;
use super::statement::each;
use super::totals::Totals;
use super::{lineage, logs, open_lineages};
use crate::backend::logs::BranchId;
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::record::{ContractId, LineageStats, Sizes, Stats};

/// Computes [`Stats`] from the running totals. Lists at most `most` lineages: finding them takes time in proportion to
/// the number of checkpoints.
pub(super) fn stats(
    connection: &Connection,
    contract: Option<ContractId>,
    most: usize,
    by_status: bool,
) -> Result<Stats> {
    let totals = Totals::now(connection)?;
    let page_size = pragma(connection, "page_size")?;
    let mut stats = Stats {
        file_bytes: Some(pragma(connection, "page_count")? * page_size),
        log_bytes: log_bytes(connection),
        free_bytes: Some(pragma(connection, "freelist_count")? * page_size),
        ..Stats::default()
    };
    for (number, counts) in &totals.contracts {
        *stats.contract(ContractId(*number)) = Sizes {
            checkpoints: unsigned(counts.checkpoints),
            lineages: unsigned(counts.lineages),
            logical_bytes: unsigned(counts.logical_bytes),
            stored_bytes: unsigned(counts.stored_bytes),
            records: unsigned(counts.records),
            record_bytes: unsigned(counts.record_bytes),
            ..Sizes::default()
        };
    }
    if by_status {
        count_statuses(connection, &mut stats)?;
    }
    if most > 0 {
        list_largest(connection, contract, most, &mut stats)?;
    }
    Ok(stats)
}

/// The size of the write-ahead log.
fn log_bytes(connection: &Connection) -> Option<u64> {
    let path = connection.path().filter(|path| !path.is_empty())?;
    std::fs::metadata(format!("{path}-wal")).ok().map(|log| log.len())
}

#[derive(Default)]
struct Size {
    checkpoints: u64,
    logical_bytes: u64,
    stored_bytes: u64,
    /// The branches of the logs that the lineage's checkpoints name.
    branches: BTreeSet<BranchId>,
    record_bytes: u64,
}

/// Lists the largest lineages. Reads a few columns of every checkpoint and record. This is fast, because it follows the
/// order of the file.
fn list_largest(connection: &Connection, contract: Option<ContractId>, most: usize, stats: &mut Stats) -> Result<()> {
    let sql = "SELECT lin, seq, chain, length(body), logs FROM checkpoint NOT INDEXED";
    let mut sizes: HashMap<i64, Size> = HashMap::new();
    each(connection, sql, [], |row| {
        let size = sizes.entry(row.get(0)?).or_default();
        size.checkpoints += 1;
        size.logical_bytes += unsigned(Chain::size_of(row.get(1)?, row.get_ref(2)?.as_blob()?));
        size.stored_bytes += unsigned(row.get(3)?);
        size.branches.extend(logs::marked(row.get_ref(4)?.as_blob_or_null()?)?);
        Ok(())
    })?;
    let logs = logs::LogSizes::read(connection)?;
    for (lin, size) in &mut sizes {
        size.record_bytes = logs.of(*lin, std::mem::take(&mut size.branches))?;
    }
    let mut sizes: Vec<(i64, Size)> = sizes.into_iter().collect();
    sizes.sort_unstable_by_key(|(_, size)| Reverse(size.stored_bytes + size.record_bytes));
    for (lin, Size { checkpoints, logical_bytes, stored_bytes, record_bytes, .. }) in sizes {
        // Lineages of equal size are ordered by name, so read all that are as large as the last of the list.
        let is_full = stats.largest.len() >= most;
        if is_full && stats.largest.last().is_some_and(|last| last.bytes() > stored_bytes + record_bytes) {
            break;
        }
        let row = lineage::read(connection, lin)?;
        if let Some(row) =
            row.filter(|row| contract.is_none_or(|contract| row.contract == contract) && !row.contract.is_effects())
        {
            let (contract, lineage) = (row.contract, row.name);
            let found = LineageStats { contract, lineage, checkpoints, logical_bytes, stored_bytes, record_bytes };
            stats.rank_among_largest(found, most);
        }
    }
    Ok(())
}

/// Counts the lineages with each status.
fn count_statuses(connection: &Connection, stats: &mut Stats) -> Result<()> {
    for (contract, sizes) in stats.contracts.iter_mut().filter(|(contract, _)| !contract.is_effects()) {
        let (statuses, is_estimate) = open_lineages::count(connection, *contract, sizes.lineages)?;
        sizes.statuses = statuses;
        stats.is_estimate |= is_estimate;
    }
    Ok(())
}
