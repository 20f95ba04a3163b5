//! Lists the checkpoints of a lineage, a group or a contract in order.

use std::borrow::Cow;

use rusqlite::{Connection, params};

use super::lineage;
use super::row::{self, HeaderRow};
use super::schema::LateIndex;
use super::statement::{all, exists, first, one};
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::query::Of;
use crate::record::{ContractId, Position, Seq, SortKey};

/// The direction and the bounds of a listing.
pub(super) enum Walk<'a> {
    /// Lists the newest checkpoints first, at most `limit`. If `before` is given, lists only checkpoints with a smaller
    /// sort key.
    Newest { before: Option<&'a SortKey>, limit: usize },
    /// Lists the oldest checkpoints first, if their sort key begins with `prefix`.
    Oldest { prefix: &'a [u8] },
}

/// The part of an index that a listing reads.
#[derive(Clone)]
pub(super) struct Source<'a> {
    /// The SQL of the tables and the condition. `?1` is `one`, and `?4` is `text`.
    pub from: Cow<'static, str>,
    /// The number of the lineage or of the contract, depending on `from`.
    pub one: i64,
    /// A group, a label, or an entry of a metadata index.
    pub text: Option<&'a str>,
}

const OF_CONTRACT: &str = "lineage CROSS JOIN checkpoint USING (lin) WHERE contract = ?1 AND ?4 IS NULL";
/// Selects all checkpoints in order, if the database has only one contract.
const IN_ORDER: &str = "checkpoint INDEXED BY checkpoint_order WHERE ?1 IS NOT NULL AND ?4 IS NULL";
const OF_LINEAGE: &str = "checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?1 AND ?4 IS NULL";
/// SQLite runs this statement from the index alone.
const LABELLED: &str = "checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?1 AND label = ?4 AND label <> ''";
/// Selects the checkpoints of a group, in a database that lacks the index of groups.
const OF_GROUP_WITHOUT_INDEX: &str = "checkpoint CROSS JOIN lineage USING (lin)
                        WHERE checkpoint.grp = ?4 AND checkpoint.grp <> '' AND contract = ?1";
/// Selects the checkpoints of a group in any contract. SQLite can run this statement from the index alone.
const OF_ANY_GROUP: &str = "checkpoint INDEXED BY checkpoint_group WHERE grp = ?4 AND grp <> '' AND ?1 IS NOT NULL";
const OF_GROUP: &str = "checkpoint INDEXED BY checkpoint_group CROSS JOIN lineage USING (lin)
                        WHERE checkpoint.grp = ?4 AND checkpoint.grp <> '' AND contract = ?1";
const OF_BOTH: &str = "checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?1 AND grp = ?4 AND grp <> ''";

pub(super) fn sources<'a>(connection: &Connection, contract: ContractId, of: &'a Of) -> Result<Vec<Source<'a>>> {
    let of_lineage = |from: &'static str, name: &str, text| -> Result<Vec<Source<'a>>> {
        let found = lineage::find(connection, contract, name)?;
        Ok(found.into_iter().map(|lineage| Source { from: from.into(), one: lineage.lin, text }).collect())
    };
    let of_lineages = |from: &'static str, prefix: &str, text| -> Result<Vec<Source<'a>>> {
        let found = lineage::with_prefix(connection, contract, prefix)?;
        Ok(found.into_iter().map(|lineage| Source { from: from.into(), one: lineage.lin, text }).collect())
    };
    let number = i64::from(contract.0);
    match of {
        Of::Contract => {
            let ordered = LateIndex::Order.exists(connection)? && is_alone(connection, contract)?;
            Ok(vec![Source { from: if ordered { IN_ORDER } else { OF_CONTRACT }.into(), one: number, text: None }])
        }
        Of::Lineage(name) => of_lineage(OF_LINEAGE, name, None),
        Of::Lineages(prefix) => of_lineages(OF_LINEAGE, prefix, None),
        Of::Labelled { prefix, label } => of_lineages(LABELLED, prefix, Some(label)),
        Of::Group(group) => {
            let from = if LateIndex::Groups.exists(connection)? { OF_GROUP } else { OF_GROUP_WITHOUT_INDEX };
            Ok(vec![Source { from: from.into(), one: number, text: Some(group) }])
        }
        Of::LineageInGroup { lineage, group } => of_lineage(OF_BOTH, lineage, Some(group)),
    }
}

/// Returns the number of checkpoints of a listing.
pub(super) fn count(connection: &Connection, contract: ContractId, of: &Of) -> Result<u64> {
    let mut count = 0;
    for Source { from, one: of, text } in sources(connection, contract, of)? {
        let sql = format!("SELECT count(*) FROM {from} AND ?2 IS NULL AND ?3 IS NULL");
        count += one(connection, &sql, params![of, None::<i64>, None::<i64>, text], first::<i64>)?.map_or(0, unsigned);
    }
    Ok(count)
}

/// Returns true if the database has no other contract, so that an order of all checkpoints is the order of this
/// contract.
pub(super) fn is_alone(connection: &Connection, contract: ContractId) -> Result<bool> {
    let other = |sql| exists(connection, sql, [contract.0]);
    Ok(!other("SELECT 1 FROM lineage INDEXED BY lineage_name WHERE contract < ? LIMIT 1")?
        && !other("SELECT 1 FROM lineage INDEXED BY lineage_name WHERE contract > ? LIMIT 1")?)
}

/// The initial capacity of a listing, in rows. Most listings have at most this many rows.
const PAGE: usize = 128;

/// Returns the verified rows of a listing, in the order of the walk.
///
/// # Errors
///
/// `CORRUPT` if a row does not match its index entry or the query.
pub(super) fn rows(connection: &Connection, contract: ContractId, of: &Of, walk: &Walk<'_>) -> Result<Vec<HeaderRow>> {
    if let Of::Group(group) = of
        && LateIndex::Groups.exists(connection)?
    {
        // First list the group in all contracts, which needs only the index. Contracts seldom share the name of a
        // group, so this is usually the result.
        let any = Source { from: OF_ANY_GROUP.into(), one: 0, text: Some(group) };
        let found = rows_of(connection, contract, of, walk, vec![any])?;
        if found.iter().all(|row| row.header.contract == contract) {
            return Ok(found);
        }
    }
    let sources = sources(connection, contract, of)?;
    let found = rows_of(connection, contract, of, walk, sources)?;
    if found.iter().all(|row| row.header.contract == contract) {
        return Ok(found);
    }
    Err(row::index_damaged(&describe(of)))
}

fn rows_of(
    connection: &Connection,
    contract: ContractId,
    of: &Of,
    walk: &Walk<'_>,
    sources: Vec<Source<'_>>,
) -> Result<Vec<HeaderRow>> {
    let mut all = match walk {
        Walk::Newest { limit, .. } => Vec::with_capacity((*limit).min(PAGE)),
        Walk::Oldest { .. } => Vec::new(),
    };
    let (bound, end, direction, limit) = match walk {
        Walk::Newest { before: Some(before), limit } => (Some(&before.0[..]), "sort_key < ?2", "DESC", Some(*limit)),
        Walk::Newest { before: None, limit } => (None, "?2 IS NULL", "DESC", Some(*limit)),
        Walk::Oldest { prefix } => (Some(*prefix), "sort_key >= ?2", "ASC", None),
    };
    // A negative limit means no limit. The LIMIT is always there, because SQLite would otherwise not keep the order of
    // a subquery.
    let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
    for Source { from, one, text } in sources {
        let before = all.len();
        let sql = format!(
            "SELECT sort_key, seq FROM {from} AND {end} ORDER BY sort_key {direction}, seq {direction} LIMIT ?3"
        );
        row::indexed_rows(connection, &sql, params![one, bound, limit, text], &mut all)
            .map_err(|error| error.context(&describe(of)))?;
        // Check the order by the sort keys in the rows. An index entry with a damaged key leads to a row out of order.
        if !walked(&all[before..], walk) {
            return Err(row::index_damaged(&describe(of)));
        }
    }
    let rows = in_order(all, walk);
    // The rows are sorted, so duplicates are adjacent.
    let twice = rows.windows(2).any(|pair| pair[0].seq == pair[1].seq);
    // Ignore rows of other contracts: a source may include them, and the caller checks the contract.
    if twice || !rows.iter().all(|row| row.header.contract != contract || of.has(&row.header)) {
        return Err(row::index_damaged(&describe(of)));
    }
    Ok(rows)
}

/// Returns the sort order of rows: first by sort key, then by save number.
fn order(row: &HeaderRow) -> (&SortKey, Seq) {
    (&row.header.sort_key, row.seq)
}

/// Returns true if the rows are in the order of the walk and within its bounds.
fn walked(rows: &[HeaderRow], walk: &Walk<'_>) -> bool {
    match walk {
        Walk::Newest { before, .. } => {
            rows.is_sorted_by(|a, b| order(a) > order(b))
                && before.is_none_or(|before| rows.first().is_none_or(|first| first.header.sort_key < *before))
        }
        Walk::Oldest { prefix } => {
            rows.is_sorted_by(|a, b| order(a) < order(b))
                && rows.first().is_none_or(|first| first.header.sort_key.0[..] >= **prefix)
        }
    }
}

/// Sorts the rows of several sources in the order of the walk, and drops rows outside its bounds.
fn in_order(mut found: Vec<HeaderRow>, walk: &Walk<'_>) -> Vec<HeaderRow> {
    match walk {
        Walk::Newest { limit, .. } => {
            found.sort_by(|a, b| order(b).cmp(&order(a)));
            found.truncate(*limit);
        }
        Walk::Oldest { prefix } => {
            found.sort_by(|a, b| order(a).cmp(&order(b)));
            // All sort keys that share a prefix are adjacent.
            found.truncate(found.partition_point(|row| row.header.sort_key.0.starts_with(prefix)));
        }
    }
    found
}

/// Returns the save number of the newest checkpoint of a lineage. The row is not read.
pub(super) fn newest(connection: &Connection, lin: i64) -> Result<Option<Seq>> {
    Ok(newest_position(connection, lin)?.map(|(_, seq)| seq))
}

/// Returns the position of the newest checkpoint of a lineage, from the index alone.
pub(super) fn newest_position(connection: &Connection, lin: i64) -> Result<Option<Position>> {
    let sql = "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage
               WHERE lin = ? ORDER BY sort_key DESC, seq DESC LIMIT 1";
    one(connection, sql, [lin], |row| Ok((SortKey(row.get(0)?), row.get(1)?)))
}

/// Returns the verified row of the newest checkpoint of a lineage.
pub(super) fn newest_row(connection: &Connection, lin: i64) -> Result<Option<HeaderRow>> {
    let Some(seq) = newest(connection, lin)? else { return Ok(None) };
    let row = row::read(connection, seq)?.filter(|row| row.lin == lin);
    row.map(Some).ok_or_else(|| row::index_damaged(&format!("run number {lin}")))
}

/// Returns the verified rows of a lineage, the newest first. Reads each row on demand.
///
/// # Errors
///
/// `CORRUPT` if a row does not match its index entry or the lineage.
pub(super) fn newest_first<'a>(
    connection: &'a Connection,
    contract: ContractId,
    lineage: &'a str,
) -> Result<impl Iterator<Item = Result<HeaderRow>> + 'a> {
    let sql = "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage
               WHERE lin = ? ORDER BY sort_key DESC, seq DESC";
    let entries = match lineage::find(connection, contract, lineage)? {
        Some(found) => all(connection, sql, [found.lin], |row| Ok((SortKey(row.get(0)?), row.get(1)?)))?,
        None => Vec::new(),
    };
    Ok(entries.into_iter().map(move |(sort_key, seq)| {
        let what = || format!("run {lineage:?}");
        row::read(connection, seq)
            .map_err(|error| error.context(&what()))?
            .filter(|row| row.header.sort_key == sort_key)
            .filter(|row| (row.header.contract, &*row.header.lineage) == (contract, lineage))
            .ok_or_else(|| row::index_damaged(&what()))
    }))
}

pub(super) fn describe(of: &Of) -> String {
    match of {
        Of::Contract => "a listing".to_owned(),
        Of::Lineage(name) | Of::LineageInGroup { lineage: name, .. } => format!("run {name:?}"),
        Of::Lineages(prefix) | Of::Labelled { prefix, .. } => format!("lineages of {prefix:?}"),
        Of::Group(group) => format!("group {group:?}"),
    }
}

/// Returns the save numbers of a lineage's checkpoints whose sort key is equal to or greater than `sort_key`.
pub(super) fn from_sort_key(connection: &Connection, lin: i64, sort_key: &SortKey) -> Result<Vec<Seq>> {
    let sql = "SELECT seq FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ? AND sort_key >= ?";
    all(connection, sql, params![lin, sort_key.0], first)
}
