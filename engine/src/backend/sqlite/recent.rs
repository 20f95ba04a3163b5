//! Finds the most recently active lineages, without an index of activity.
//!
//! A walk visits checkpoints in save order. It finds a lineage at the row of its newest checkpoint. The index of
//! lineages tells which row that is, with one lookup for each lineage. If a few lineages have most of the checkpoints,
//! the walk would visit many rows for few lineages. The newest row of every lineage is then looked up instead.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, params};

use super::lineage::{self, LineageRow};
use super::listing;
use super::row::index_damaged;
use super::schema::LateIndex;
use super::statement::{all as all_rows, first, number};
use super::{labels, status};
use crate::error::Result;
use crate::query::{ActivityOrder, Recent};
use crate::record::{ContractId, Seq};

/// The number of rows that the walk visits before it counts the lineages.
const AT_LEAST: i64 = 1_000;

/// Returns the lineages of a listing and the save numbers of their newest checkpoints. Does not read the checkpoints'
/// rows.
pub(super) fn lineages(connection: &Connection, recent: &Recent) -> Result<Vec<(Seq, LineageRow)>> {
    if let Some(found) = walk(connection, recent)? {
        return Ok(found);
    }
    if !recent.labels.is_empty() && labels::are_indexed(connection)? {
        return newest_of(connection, recent, &labels::indexed(connection, &recent.labels)?);
    }
    let mut lineages = Vec::new();
    for contract in &recent.contracts {
        if recent.is_indexed() && LateIndex::Status.exists(connection)? {
            for status in &recent.statuses {
                lineages.extend(status::indexed(connection, *contract, *status)?);
            }
        } else {
            // Compare as bytes, because a name may contain U+0000.
            let sql = "SELECT lin FROM lineage INDEXED BY lineage_name WHERE contract = ? AND instr(CAST(name AS BLOB), ?) > 0";
            let named = params![contract.0, recent.matching.as_bytes()];
            lineages.extend(all_rows::<i64>(connection, sql, named, first)?);
        }
    }
    newest_of(connection, recent, &lineages)
}

/// Walks over the checkpoints. Returns `None` if it has visited more checkpoints than the contracts have lineages. The
/// walk ends sooner if the query asks for a status, labels or a text that few lineages may have, because an index has
/// them.
fn walk(connection: &Connection, recent: &Recent) -> Result<Option<Vec<(Seq, LineageRow)>>> {
    let sql = match recent.order {
        ActivityOrder::LatestFirst => "SELECT seq, lin FROM checkpoint NOT INDEXED WHERE seq < ? ORDER BY seq DESC",
        ActivityOrder::EarliestFirst => "SELECT seq, lin FROM checkpoint NOT INDEXED WHERE seq > ? ORDER BY seq",
    };
    let from = recent.after.unwrap_or(match recent.order {
        ActivityOrder::LatestFirst => Seq::MAX,
        ActivityOrder::EarliestFirst => Seq::MIN,
    });
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([from])?;
    // The newest checkpoint of each visited lineage. `None`: the query excludes the lineage.
    let mut met: HashMap<i64, Option<(Seq, LineageRow)>> = HashMap::new();
    let mut found = Vec::new();
    let (mut visited, mut most) = (0, AT_LEAST);
    while found.len() < recent.limit
        && let Some(row) = rows.next()?
    {
        if visited >= most {
            if recent.is_indexed() || !recent.labels.is_empty() || !recent.matching.is_empty() {
                return Ok(None);
            }
            most = count(connection, &recent.contracts)?;
            if visited >= most {
                return Ok(None);
            }
        }
        visited += 1;
        let (seq, lin): (Seq, i64) = (row.get(0)?, row.get(1)?);
        let known = match met.entry(lin) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unmet) => unmet.insert(newest(connection, recent, lin)?),
        };
        if known.as_ref().is_some_and(|(newest, _)| *newest == seq) {
            found.extend(known.take());
        }
    }
    Ok(Some(found))
}

/// Looks up the newest checkpoint of each of these lineages.
fn newest_of(connection: &Connection, recent: &Recent, lineages: &[i64]) -> Result<Vec<(Seq, LineageRow)>> {
    let mut found = Vec::new();
    for lin in lineages {
        found.extend(newest(connection, recent, *lin)?.filter(|(seq, _)| recent.reaches(*seq)));
    }
    match recent.order {
        ActivityOrder::LatestFirst => found.sort_unstable_by_key(|(seq, _)| std::cmp::Reverse(*seq)),
        ActivityOrder::EarliestFirst => found.sort_unstable_by_key(|(seq, _)| *seq),
    }
    found.truncate(recent.limit);
    Ok(found)
}

/// Returns the lineage and the save number of its newest checkpoint. Returns `None` if the listing excludes the
/// lineage.
fn newest(connection: &Connection, recent: &Recent, lin: i64) -> Result<Option<(Seq, LineageRow)>> {
    let wanted = |row: &LineageRow| {
        recent.contracts.contains(&row.contract)
            && (!recent.named_as_group || row.name == row.group)
            && row.name.contains(&recent.matching)
            && recent.has(row.status)
            && (recent.labels.is_empty() || row.labels().has(&recent.labels))
    };
    let row = lineage::read(connection, lin)?.ok_or_else(|| index_damaged(&format!("run number {lin}")))?;
    if !wanted(&row) {
        return Ok(None);
    }
    Ok(listing::newest(connection, lin)?.map(|seq| (seq, row)))
}

/// Counts the lineages of the contracts.
fn count(connection: &Connection, contracts: &[ContractId]) -> Result<i64> {
    let sql = "SELECT count(*) FROM lineage INDEXED BY lineage_name WHERE contract = ?";
    contracts.iter().map(|contract| number(connection, sql, [contract.0])).sum()
}
