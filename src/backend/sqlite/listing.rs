//! Where checkpoints stand in the order of their lineage or group, as the indexes tell; and their rows, verified.

use rusqlite::{Connection, Params, ToSql, params};

use super::error::from_sqlite;
use super::lineage;
use super::row::{self, HeaderRow};
use crate::error::Result;
use crate::query::Of;
use crate::record::{ContractId, Header, Seq, SortKey};

/// A checkpoint, by an index alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub sort_key: SortKey,
    pub seq: Seq,
}

/// Which checkpoints are looked for, and from which end.
pub(super) enum Walk<'a> {
    /// The newest first: only those of a lesser sort key, if one is given, and at most so many.
    Newest { before: Option<&'a SortKey>, limit: usize },
    /// The oldest first: those whose sort key begins so.
    Oldest { prefix: &'a [u8] },
}

/// Whether the index of groups is there. It must be, before a group is listed: see `schema::index_groups`.
pub(super) fn has_group_index(connection: &Connection) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'checkpoint_group'")
        .and_then(|mut statement| statement.exists([]))
        .map_err(from_sqlite)
}

/// Where an index has checkpoints that are looked for.
struct Source<'a> {
    /// The tables and the condition: `?1` is `one`, `?4` the group.
    from: &'static str,
    /// The number of the lineage, or of the contract.
    one: i64,
    group: Option<&'a str>,
}

const OF_CONTRACT: &str = "lineage CROSS JOIN checkpoint USING (lin) WHERE contract = ?1 AND ?4 IS NULL";
const OF_LINEAGE: &str = "checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?1 AND ?4 IS NULL";
/// The group of any contract: the index alone answers that.
const OF_ANY_GROUP: &str = "checkpoint INDEXED BY checkpoint_group WHERE grp = ?4 AND grp <> '' AND ?1 IS NOT NULL";
const OF_GROUP: &str = "checkpoint INDEXED BY checkpoint_group CROSS JOIN lineage USING (lin)
                        WHERE checkpoint.grp = ?4 AND checkpoint.grp <> '' AND contract = ?1";
const OF_BOTH: &str = "checkpoint WHERE lin = ?1 AND grp = ?4 AND grp <> ''";

fn sources<'a>(connection: &Connection, contract: ContractId, of: &'a Of) -> Result<Vec<Source<'a>>> {
    let of_lineage = |from, name: &str, group| -> Result<Vec<Source<'a>>> {
        let found = lineage::find(connection, contract, name)?;
        Ok(found.into_iter().map(|lineage| Source { from, one: lineage.lin, group }).collect())
    };
    let number = i64::from(contract.0);
    match of {
        Of::Contract => Ok(vec![Source { from: OF_CONTRACT, one: number, group: None }]),
        Of::Lineage(name) => of_lineage(OF_LINEAGE, name, None),
        Of::Lineages(prefix) => {
            let found = lineage::with_prefix(connection, contract, prefix)?;
            Ok(found.into_iter().map(|lineage| Source { from: OF_LINEAGE, one: lineage.lin, group: None }).collect())
        }
        Of::Group(group) => Ok(vec![Source { from: OF_GROUP, one: number, group: Some(group) }]),
        Of::LineageInGroup { lineage, group } => of_lineage(OF_BOTH, lineage, Some(group)),
    }
}

/// Listings are mostly no longer than this.
const PAGE: usize = 128;

/// The index entries of checkpoints, in their order.
pub(super) fn entries_of(
    connection: &Connection,
    contract: ContractId,
    of: &Of,
    walk: &Walk<'_>,
) -> Result<Vec<IndexEntry>> {
    let mut all = Vec::new();
    for source in sources(connection, contract, of)? {
        select(&source, walk, |sql, params| {
            all.extend(entries(connection, sql, params)?);
            Ok(())
        })?;
    }
    Ok(in_order(all, walk, |entry| (&entry.sort_key, entry.seq)))
}

/// The rows of checkpoints in their order, each of which must be what the index said and what was asked for.
pub(super) fn rows(connection: &Connection, contract: ContractId, of: &Of, walk: &Walk<'_>) -> Result<Vec<HeaderRow>> {
    if let Of::Group(group) = of {
        // Contracts seldom share the name of a group, so most often these are all that are looked for.
        let any = Source { from: OF_ANY_GROUP, one: 0, group: Some(group) };
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
    for source in sources {
        let before = all.len();
        select(&source, walk, |sql, params| {
            row::indexed_rows(connection, sql, params, &mut all).map_err(|error| error.context(&describe(of)))
        })?;
        // By their own sort keys: an entry whose key is damaged leads to a row out of its place.
        if !walked(&all[before..], walk) {
            return Err(row::index_damaged(&describe(of)));
        }
    }
    let rows = in_order(all, walk, order);
    // A row that an index has twice stands twice in a row.
    let twice = rows.windows(2).any(|pair| pair[0].seq == pair[1].seq);
    // A source may be of any contract, and the caller looks at those of another.
    if twice || !rows.iter().all(|row| row.header.contract != contract || fits(contract, of, &row.header)) {
        return Err(row::index_damaged(&describe(of)));
    }
    Ok(rows)
}

/// What rows are ordered by.
fn order(row: &HeaderRow) -> (&SortKey, Seq) {
    (&row.header.sort_key, row.seq)
}

/// Whether rows stand in the order of the walk, and within its bounds.
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

/// Puts what several sources gave into one order, and leaves out what the walk does not reach.
fn in_order<T>(mut found: Vec<T>, walk: &Walk<'_>, key: impl Fn(&T) -> (&SortKey, Seq)) -> Vec<T> {
    match walk {
        Walk::Newest { limit, .. } => {
            if !found.is_sorted_by(|a, b| key(a) >= key(b)) {
                found.sort_by(|a, b| key(b).cmp(&key(a)));
            }
            found.truncate(*limit);
        }
        Walk::Oldest { prefix } => {
            if !found.is_sorted_by(|a, b| key(a) <= key(b)) {
                found.sort_by(|a, b| key(a).cmp(&key(b)));
            }
            // Ranks with a prefix stand together.
            found.truncate(found.partition_point(|one| key(one).0.0.starts_with(prefix)));
        }
    }
    found
}

/// The newest entry of a lineage, or of its checkpoints with that label.
pub(super) fn newest(connection: &Connection, lin: i64, label: Option<&str>) -> Result<Option<IndexEntry>> {
    let sql = match label {
        None => {
            "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage
                 WHERE lin = ?1 AND ?2 IS NULL ORDER BY sort_key DESC, seq DESC LIMIT 1"
        }
        // An empty label is none.
        Some(_) => {
            "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage
                    WHERE lin = ?1 AND label = ?2 AND label <> '' ORDER BY sort_key DESC, seq DESC LIMIT 1"
        }
    };
    Ok(entries(connection, sql, params![lin, label])?.pop())
}

/// Runs the statement that a source and a walk make: it selects `sort_key` and `seq`. `?2` and `?3` are the walk's.
fn select(source: &Source<'_>, walk: &Walk<'_>, run: impl FnOnce(&str, &[&dyn ToSql]) -> Result<()>) -> Result<()> {
    let Source { from, one, group } = source;
    let (bound, end, order, limit) = match walk {
        Walk::Newest { before: Some(before), limit } => (Some(&before.0[..]), "sort_key < ?2", "DESC", Some(*limit)),
        Walk::Newest { before: None, limit } => (None, "?2 IS NULL", "DESC", Some(*limit)),
        Walk::Oldest { prefix } => (Some(*prefix), "sort_key >= ?2", "ASC", None),
    };
    // A negative limit is none. Without the word, SQLite would not keep the order where this is a part of another statement.
    let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
    let sql = format!("SELECT sort_key, seq FROM {from} AND {end} ORDER BY sort_key {order}, seq {order} LIMIT ?3");
    run(&sql, params![one, bound, limit, group])
}

fn entries(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<IndexEntry>> {
    let read = |row: &rusqlite::Row<'_>| Ok(IndexEntry { sort_key: SortKey(row.get(0)?), seq: row.get(1)? });
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_map(params, read)?.collect())
        .map_err(from_sqlite)
}

/// The row that an entry leads to, which must be what the index said and what was asked for.
pub(super) fn row_at(connection: &Connection, contract: ContractId, of: &Of, entry: &IndexEntry) -> Result<HeaderRow> {
    let row = row::read(connection, entry.seq).map_err(|error| error.context(&describe(of)))?;
    row.filter(|row| row.header.sort_key == entry.sort_key && fits(contract, of, &row.header))
        .ok_or_else(|| row::index_damaged(&describe(of)))
}

fn fits(contract: ContractId, of: &Of, header: &Header) -> bool {
    let asked = match of {
        Of::Contract => true,
        Of::Lineage(name) => header.lineage == *name,
        Of::Lineages(prefix) => header.lineage.starts_with(prefix),
        Of::Group(group) => header.group == *group,
        Of::LineageInGroup { lineage, group } => header.lineage == *lineage && header.group == *group,
    };
    asked && header.contract == contract
}

fn describe(of: &Of) -> String {
    match of {
        Of::Contract => "a listing".to_owned(),
        Of::Lineage(name) | Of::LineageInGroup { lineage: name, .. } => format!("lineage {name:?}"),
        Of::Lineages(prefix) => format!("lineages of {prefix:?}"),
        Of::Group(group) => format!("group {group:?}"),
    }
}

/// The numbers of a lineage's checkpoints from that sort key on.
pub(super) fn from_sort_key(connection: &Connection, lin: i64, sort_key: &SortKey) -> Result<Vec<Seq>> {
    let sql = "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ? AND sort_key >= ?";
    Ok(entries(connection, sql, params![lin, sort_key.0])?.into_iter().map(|entry| entry.seq).collect())
}
