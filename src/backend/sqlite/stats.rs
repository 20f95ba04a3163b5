//! What a store holds and takes.

use rusqlite::{Connection, Row, params};

use super::chain::Chain;
use super::error::from_sqlite;
use super::lineage;
use super::retention::pragma;
use super::totals::Totals;
use crate::error::Result;
use crate::record::{LineageStats, Space, Stats};

/// See [`Stats`]. The totals are kept; the largest lineages are found by reading a little of every row.
pub(super) fn stats(connection: &Connection, space: Option<Space>, largest: usize) -> Result<Stats> {
    let totals = Totals::now(connection)?;
    let pages = |name| pragma(connection, name).map_err(from_sqlite);
    let mut stats = Stats { file_bytes: Some(pages("page_count")? * pages("page_size")?), ..Stats::default() };
    for (contract, counts) in &totals.contracts {
        if space.is_none_or(|space| space.0 == *contract) {
            stats.checkpoints += unsigned(counts.checkpoints);
            stats.lineages += unsigned(counts.lineages);
            stats.logical_bytes += unsigned(counts.logical_bytes);
            stats.stored_bytes += unsigned(counts.stored_bytes);
            stats.records += unsigned(counts.records);
            stats.record_bytes += unsigned(counts.record_bytes);
        }
    }
    if largest > 0 {
        find_largest(connection, space, largest, &mut stats)?;
    }
    Ok(stats)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn find_largest(connection: &Connection, space: Option<Space>, largest: usize, stats: &mut Stats) -> Result<()> {
    let sql = "SELECT lin, seq, chain, length(body)
               FROM lineage NOT INDEXED CROSS JOIN checkpoint USING (lin) WHERE ?1 IS NULL OR contract = ?1 ORDER BY lin";
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut rows = statement.query(params![space.map(|space| space.0)]).map_err(from_sqlite)?;
    let mut current: Option<(i64, LineageStats)> = None;
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let lin = row.get(0).map_err(from_sqlite)?;
        if current.as_ref().is_none_or(|(before, _)| *before != lin) {
            let Some(named) = lineage::read(connection, lin)? else { continue };
            let begun = LineageStats {
                space: named.space,
                lineage: named.name,
                checkpoints: 0,
                logical_bytes: 0,
                stored_bytes: 0,
            };
            if let Some((_, done)) = current.replace((lin, begun)) {
                stats.rank_among_largest(done, largest);
            }
        }
        if let Some((_, lineage)) = &mut current {
            let (size, stored) = sizes(row)?;
            lineage.checkpoints += 1;
            lineage.logical_bytes += unsigned(size);
            lineage.stored_bytes += unsigned(stored);
        }
    }
    if let Some((_, last)) = current {
        stats.rank_among_largest(last, largest);
    }
    Ok(())
}

/// The raw size of a row's payload, and what it takes.
fn sizes(row: &Row<'_>) -> Result<(i64, i64)> {
    let read = || Ok((row.get(1)?, row.get_ref(2)?.as_blob()?, row.get(3)?));
    let (seq, chain, stored) = read().map_err(from_sqlite)?;
    // As in the totals: a damaged row counts no size.
    Ok((Chain::decode(seq, chain).map_or(0, |chain| chain.size), stored))
}
