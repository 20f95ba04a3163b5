//! Statistics of a store: the number of its checkpoints, lineages and records, and their sizes in bytes.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::Connection;

use super::chain::Chain;
use super::error::from_sqlite;
use super::lineage;
use super::retention::pragma;
use super::totals::Totals;
use crate::error::Result;
use crate::record::{ContractId, LineageStats, Seq, Stats};

/// Computes [`Stats`]. The totals come from the running totals. To find the largest lineages, the function reads a few
/// columns of every checkpoint row.
pub(super) fn stats(connection: &Connection, contract: Option<ContractId>, largest: usize) -> Result<Stats> {
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
    if largest > 0 {
        find_largest(connection, contract, largest, &mut stats)?;
    }
    Ok(stats)
}

/// The size of the write-ahead log.
fn log_bytes(connection: &Connection) -> Option<u64> {
    let path = connection.path().filter(|path| !path.is_empty())?;
    std::fs::metadata(format!("{path}-wal")).ok().map(|log| log.len())
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn find_largest(
    connection: &Connection,
    contract: Option<ContractId>,
    largest: usize,
    stats: &mut Stats,
) -> Result<()> {
    let mut sums: Vec<(i64, Sums)> = sums(connection)?.into_iter().collect();
    sums.sort_unstable_by_key(|(lin, sums)| (Reverse(sums.stored_bytes), *lin));
    for (lin, Sums { checkpoints, logical_bytes, stored_bytes }) in sums {
        let smallest = stats.largest.get(largest - 1);
        // Lineages of equal size are ordered by name. So all lineages that have the smallest listed size must be read.
        if smallest.is_some_and(|smallest| smallest.stored_bytes > stored_bytes) {
            break;
        }
        let named =
            lineage::read(connection, lin)?.filter(|named| contract.is_none_or(|contract| named.contract == contract));
        if let Some(named) = named {
            let (contract, lineage) = (named.contract, named.name);
            let lineage = LineageStats { contract, lineage, checkpoints, logical_bytes, stored_bytes };
            stats.rank_among_largest(lineage, largest);
        }
    }
    Ok(())
}

/// The size of a lineage.
#[derive(Default)]
struct Sums {
    checkpoints: u64,
    logical_bytes: u64,
    stored_bytes: u64,
}

/// Returns the sums of each lineage, by lineage number. The rows are read in the order of the table, which is fast
/// because the rows have the same order in the file.
fn sums(connection: &Connection) -> Result<HashMap<i64, Sums>> {
    let sql = "SELECT lin, seq, chain, length(body) FROM checkpoint NOT INDEXED";
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut rows = statement.query([]).map_err(from_sqlite)?;
    let mut all: HashMap<i64, Sums> = HashMap::new();
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let read = || Ok((row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob()?, row.get(3)?));
        let (lin, seq, chain, stored): (i64, Seq, &[u8], i64) = read().map_err(from_sqlite)?;
        let sums = all.entry(lin).or_default();
        sums.checkpoints += 1;
        // A damaged row counts as size 0, in the same way as in the running totals.
        sums.logical_bytes += Chain::decode(seq, chain).map_or(0, |chain| unsigned(chain.size));
        sums.stored_bytes += unsigned(stored);
    }
    Ok(all)
}
