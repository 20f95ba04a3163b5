//! The unfinished lineages: their number for each status, and a sample of them.
//!
//! Counting a million lineages takes about 45 ms. Above that, the numbers are estimated from a sample of rows.

use rusqlite::{Connection, Row, params};

use super::schema::LateIndex;
use super::statement::{all, each, number};
use super::totals::Totals;
use super::{lineage, listing, row, status};
use crate::backend::number::{signed, unsigned};
use crate::backend::spread;
use crate::error::{Error, Result};
use crate::record::{ContractId, OpenLineage, OpenLineages, Status};

/// The number of lineages for each status.
type Counts = [u64; Status::ALL.len()];

/// The maximum number of lineages of a contract to count.
const COUNTED: u64 = 1_000_000;
/// The number of positions in the table that an estimate samples. `ROWS` is the number of rows at each.
const SAMPLES: u64 = 1_024;
const ROWS: usize = 16;

/// Counts the lineages of a contract by status. Returns true if the numbers are estimates. `lineages` is the contract's
/// total number of lineages.
pub(super) fn count(connection: &Connection, contract: ContractId, lineages: u64) -> Result<(Counts, bool)> {
    count_up_to(COUNTED, connection, contract, lineages)
}

fn count_up_to(most: u64, connection: &Connection, contract: ContractId, lineages: u64) -> Result<(Counts, bool)> {
    let (mut counts, is_estimate) = open(most, connection, contract, lineages)?;
    // The index has all lineages except the finished ones.
    counts[Status::Finished as usize] = lineages.saturating_sub(counts.iter().sum());
    Ok((counts, is_estimate))
}

/// Returns the table with the index of unfinished lineages. A small file has no such index.
fn indexed(connection: &Connection) -> Result<&'static str> {
    Ok(if LateIndex::Status.exists(connection)? { "lineage INDEXED BY lineage_status" } else { "lineage" })
}

fn open(most: u64, connection: &Connection, contract: ContractId, lineages: u64) -> Result<(Counts, bool)> {
    let (from, condition) = (indexed(connection)?, status::INDEXED);
    if lineages > most {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from} WHERE contract = ? AND {condition} LIMIT ?)");
        let found = number(connection, &sql, params![contract.0, signed(most + 1)])?;
        if unsigned(found) > most {
            return Ok((estimate(connection, contract, lineages)?, true));
        }
    }
    let sql = format!("SELECT status & 7, count(*) FROM {from} WHERE contract = ? AND {condition} GROUP BY 1");
    let mut counts = Counts::default();
    each(connection, &sql, [contract.0], |row| {
        counts[Status::numbered(row.get(0)?).unwrap_or_default() as usize] += unsigned(row.get(1)?);
        Ok(())
    })?;
    Ok((counts, false))
}

fn estimate(connection: &Connection, contract: ContractId, lineages: u64) -> Result<Counts> {
    let mut seen = Counts::default();
    for (_, status) in sample(connection, contract)? {
        seen[status as usize] += 1;
    }
    let all = u128::from(seen.iter().sum::<u64>().max(1));
    let scaled = |seen| u64::try_from(u128::from(lineages) * u128::from(seen) / all).unwrap_or(u64::MAX);
    let mut counts = seen.map(scaled);
    counts[Status::Finished as usize] = 0;
    Ok(counts)
}

/// Samples rows at evenly spread positions of the table. Returns the lineages of a contract among them.
fn sample(connection: &Connection, contract: ContractId) -> Result<Vec<(i64, Status)>> {
    let edge = |edge| number(connection, &format!("SELECT coalesce({edge}(lin), 0) FROM lineage"), []);
    let (first, last) = (edge("min")?, edge("max")?);
    let apart = usize::try_from(last.abs_diff(first) / SAMPLES).unwrap_or(usize::MAX).max(ROWS);
    let sql =
        format!("SELECT lin, contract, status & 7 FROM lineage NOT INDEXED WHERE lin >= ? ORDER BY lin LIMIT {ROWS}");
    let read = |row: &Row<'_>| Ok((row.get(0)?, ContractId(row.get(1)?), row.get(2)?));
    let mut found = Vec::new();
    for start in (first..=last).step_by(apart) {
        // After a gap in the numbers, these rows may belong to the next position, so leave them out here.
        let end = start.saturating_add_unsigned(apart as u64);
        let rows: Vec<(i64, ContractId, u8)> = all(connection, &sql, [start], read)?;
        let own = rows.into_iter().filter(|(lin, of, _)| *of == contract && *lin < end);
        found.extend(own.map(|(lin, _, status)| (lin, Status::numbered(status).unwrap_or_default())));
    }
    Ok(found)
}

/// Returns at most `most` unfinished lineages of a contract, and their total number.
pub(super) fn some(connection: &Connection, contract: ContractId, most: usize) -> Result<OpenLineages> {
    let lineages = unsigned(Totals::now(connection)?.contracts.get(&contract.0).map_or(0, |of| of.lineages));
    let (counts, is_estimate) = count(connection, contract, lineages)?;
    let count = lineages.saturating_sub(counts[Status::Finished as usize]);
    let mut lins = if is_estimate {
        let open = sample(connection, contract)?.into_iter().filter(|(_, status)| *status != Status::Finished);
        open.map(|(lin, _)| lin).collect()
    } else {
        numbers(connection, contract)?
    };
    lins.sort_unstable();
    let is_all = !is_estimate && lins.len() <= most;
    spread::keep(&mut lins, most);
    let mut some = Vec::with_capacity(lins.len());
    for lin in lins {
        some.extend(read(connection, contract, lin)?);
    }
    Ok(if is_all { OpenLineages::all(some) } else { OpenLineages { count, is_estimate, some } })
}

/// The numbers of all unfinished lineages of a contract.
fn numbers(connection: &Connection, contract: ContractId) -> Result<Vec<i64>> {
    let (from, condition) = (indexed(connection)?, status::INDEXED);
    let first = |row: &Row<'_>| Ok::<i64, Error>(row.get(0)?);
    all(connection, &format!("SELECT lin FROM {from} WHERE contract = ? AND {condition}"), [contract.0], first)
}

/// Reads a lineage. Returns `None` if it has no checkpoint, or if it is finished because its status is damaged.
fn read(connection: &Connection, contract: ContractId, lin: i64) -> Result<Option<OpenLineage>> {
    let of = lineage::read(connection, lin)?.filter(|of| of.contract == contract);
    let of = of.ok_or_else(|| row::index_damaged(&format!("run number {lin}")))?;
    let newest = if of.status == Status::Finished { None } else { listing::newest_row(connection, lin)? };
    Ok(newest.map(|newest| OpenLineage { newest: newest.header, status: of.status }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::sqlite::schema::STEPS;

    const CONTRACT: ContractId = ContractId(3);
    const OTHER: ContractId = ContractId(4);
    const LINEAGES: i64 = 40_000;

    /// A file with a quarter of finished and a quarter of waiting lineages. The others belong to another contract.
    fn many() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&STEPS.concat()).unwrap();
        LateIndex::Status.build(&connection).unwrap();
        let sql =
            "INSERT INTO lineage (lin, contract, name, grp, age_offset, sum, status) VALUES (?1, ?2, ?1, '', 0, 0, ?3)";
        let mut insert = connection.prepare(sql).unwrap();
        // A gap, as after a removal.
        for lin in (1..=LINEAGES / 2).chain(LINEAGES..LINEAGES * 3 / 2) {
            let (contract, of) = match lin % 4 {
                0 => (CONTRACT, Status::Finished),
                1 => (CONTRACT, Status::Waiting),
                _ => (OTHER, Status::Failed),
            };
            insert.execute(params![lin, contract.0, status::sealed(lin, of)]).unwrap();
        }
        drop(insert);
        connection
    }

    #[test]
    fn many_lineages_are_estimated() {
        let connection = many();
        let lineages = unsigned(LINEAGES) / 2;
        let (exact, is_estimate) = count_up_to(lineages, &connection, CONTRACT, lineages).unwrap();
        assert_eq!((exact[Status::Waiting as usize], exact[Status::Finished as usize]), (lineages / 2, lineages / 2));
        assert!(!is_estimate);
        let (about, is_estimate) = count_up_to(1_000, &connection, CONTRACT, lineages).unwrap();
        assert!(is_estimate);
        for (about, exact) in about.into_iter().zip(exact) {
            assert!(about.abs_diff(exact) <= exact / 20, "{about} in place of {exact}");
        }
        assert_eq!(about.iter().sum::<u64>(), lineages);
    }

    #[test]
    fn lineages_are_counted_if_few_of_them_are_open() {
        let connection = many();
        let lineages = unsigned(LINEAGES) / 2;
        connection.execute("UPDATE lineage SET status = 4 WHERE contract = 3 AND lin > 100", []).unwrap();
        let (counts, is_estimate) = count_up_to(1_000, &connection, CONTRACT, lineages).unwrap();
        assert_eq!((counts[Status::Waiting as usize], is_estimate), (25, false));
    }

    #[test]
    fn a_sample_is_spread_over_the_table() {
        let found = sample(&many(), CONTRACT).unwrap();
        assert!(found.is_sorted_by(|(one, _), (next, _)| one < next));
        let early = found.iter().filter(|(lin, _)| *lin <= LINEAGES / 2).count();
        assert!(early.abs_diff(found.len() - early) < found.len() / 10, "{early} of {}", found.len());
    }
}
