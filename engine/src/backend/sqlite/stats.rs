//! Statistics of a store: the number of its checkpoints, lineages and records, and their sizes in bytes.

use rusqlite::Connection;

use super::error::from_sqlite;
use super::largest::{Largest, unsigned};
use super::retention::pragma;
use super::totals::Totals;
use crate::error::Result;
use crate::record::{ContractId, Stats};

/// Computes [`Stats`]. The totals come from the running totals. `most` lineages are listed, which `largest` finds.
pub(super) fn stats(
    connection: &Connection,
    contract: Option<ContractId>,
    most: usize,
    largest: &Largest,
) -> Result<Stats> {
    let totals = Totals::now(connection)?;
    let pages = |name| pragma(connection, name).map_err(from_sqlite);
    let page_size = pages("page_size")?;
    let mut stats = Stats {
        file_bytes: Some(pages("page_count")? * page_size),
        log_bytes: log_bytes(connection),
        free_bytes: Some(pages("freelist_count")? * page_size),
        ..Stats::default()
    };
    for (number, counts) in &totals.contracts {
        if contract.is_none_or(|contract| contract.0 == *number) {
            stats.checkpoints += unsigned(counts.checkpoints);
            stats.lineages += unsigned(counts.lineages);
            stats.logical_bytes += unsigned(counts.logical_bytes);
            stats.stored_bytes += unsigned(counts.stored_bytes);
            stats.records += unsigned(counts.records);
            stats.record_bytes += unsigned(counts.record_bytes);
        }
    }
    if most > 0 {
        stats.largest = largest.find(connection, contract, most, totals)?;
    }
    Ok(stats)
}

/// The size of the write-ahead log.
fn log_bytes(connection: &Connection) -> Option<u64> {
    let path = connection.path().filter(|path| !path.is_empty())?;
    std::fs::metadata(format!("{path}-wal")).ok().map(|log| log.len())
}
