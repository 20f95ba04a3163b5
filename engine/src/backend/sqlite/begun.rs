//! Finds the newest lineages of a group, without an index in that order.
//!
//! A walk visits the last lineages. If it finds too few, lineages of the group are rare. An index then finds all of
//! them, and they are sorted.

use std::cmp::Reverse;

use rusqlite::{Connection, params};

use super::lineage::{self, LineageRow};
use super::row::index_damaged;
use super::schema::LateIndex;
use super::several::end_of;
use super::statement::{all, first};
use crate::error::Result;
use crate::record::ContractId;

/// The number of lineage numbers that the walk covers.
const VISITS: i64 = 10_000;

/// Returns true if the file has so many lineages that an index of groups is worthwhile.
pub(super) fn is_worth_an_index(connection: &Connection) -> Result<bool> {
    Ok(lineage::last(connection)? > VISITS)
}

/// Calls `walk` with the lineages of a contract that have numbers below `before` and groups with this prefix, in
/// descending order, until it returns true.
pub(super) fn newest_first(
    connection: &Connection,
    contract: ContractId,
    group_prefix: &str,
    before: i64,
    mut walk: impl FnMut(LineageRow) -> Result<bool>,
) -> Result<()> {
    let mut visit = |from| lineage::newest_first(connection, contract, from..before, group_prefix, &mut walk);
    let near = before.min(lineage::last(connection)?.saturating_add(1)).saturating_sub(VISITS);
    // Numbers begin with 1.
    if near <= 1 {
        return visit(i64::MIN).map(drop);
    }
    if visit(near)? {
        return Ok(());
    }
    let Some(mut others) = indexed(connection, contract, group_prefix)? else {
        return lineage::newest_first(connection, contract, i64::MIN..near, group_prefix, &mut walk).map(drop);
    };
    others.retain(|lin| *lin < near);
    others.sort_unstable_by_key(|lin| Reverse(*lin));
    for lin in others {
        let is_wanted = |row: &LineageRow| row.contract == contract && row.group.starts_with(group_prefix);
        let row = lineage::read(connection, lin)?.filter(is_wanted);
        if walk(row.ok_or_else(|| index_damaged(&format!("run number {lin}")))?)? {
            break;
        }
    }
    Ok(())
}

/// The numbers of the lineages whose groups begin with a prefix. `None`: the file lacks the index.
fn indexed(connection: &Connection, contract: ContractId, prefix: &str) -> Result<Option<Vec<i64>>> {
    if prefix.is_empty() {
        let sql = "SELECT lin FROM lineage INDEXED BY lineage_name WHERE contract = ?";
        return all(connection, sql, [contract.0], first).map(Some);
    }
    if !LateIndex::LineageGroups.exists(connection)? {
        return Ok(None);
    }
    let sql = "SELECT lin FROM lineage INDEXED BY lineage_group
               WHERE contract = ?1 AND grp >= ?2 AND grp < coalesce(?3, x'') AND grp <> ''";
    all(connection, sql, params![contract.0, prefix, end_of(prefix)], first).map(Some)
}
