//! Where checkpoints stand in the order of their lineage or group, as the indexes tell; and their rows, verified.

use rusqlite::{Connection, Params, params};

use super::error::from_sqlite;
use super::lineage;
use super::row::{self, HeaderRow};
use super::schema;
use crate::error::Result;
use crate::query::Of;
use crate::record::{Header, Rank, Seq, Space};

/// A checkpoint, by an index alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub rank: Rank,
    pub seq: Seq,
}

/// Which checkpoints are looked for, and from which end.
pub(super) enum Walk<'a> {
    /// The newest first: only those of a lesser rank, if one is given, and at most so many.
    Newest { before: Option<&'a Rank>, limit: usize },
    /// The oldest first: those whose rank begins so.
    Oldest { prefix: &'a [u8] },
}

/// Builds the index of groups if it is not there yet. Must be called before the places of a group are looked for.
pub(super) fn index_groups(connection: &Connection) -> Result<()> {
    if has_group_index(connection)? { Ok(()) } else { schema::index_groups(connection) }
}

/// Whether the index of groups is there.
pub(super) fn has_group_index(connection: &Connection) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'checkpoint_group'")
        .and_then(|mut statement| statement.exists([]))
        .map_err(from_sqlite)
}

/// The places of checkpoints in their order.
pub(super) fn find(connection: &Connection, space: Space, of: &Of, walk: &Walk<'_>) -> Result<Vec<Place>> {
    match of {
        Of::Space => {
            let from = "lineage CROSS JOIN checkpoint USING (lin) WHERE contract = ?1 AND ?4 IS NULL";
            select(connection, from, walk, (space.0, None))
        }
        Of::Lineage(name) => match lineage::find(connection, space, name)? {
            Some(lineage) => in_lineage(connection, lineage.lin, walk),
            None => Ok(Vec::new()),
        },
        Of::Lineages(prefix) => {
            let mut all = Vec::new();
            for lineage in lineage::with_prefix(connection, space, prefix)? {
                all.extend(in_lineage(connection, lineage.lin, walk)?);
            }
            match walk {
                Walk::Newest { limit, .. } => {
                    all.sort_by(|a, b| (&b.rank, b.seq).cmp(&(&a.rank, a.seq)));
                    all.truncate(*limit);
                }
                Walk::Oldest { .. } => all.sort_by(|a, b| (&a.rank, a.seq).cmp(&(&b.rank, b.seq))),
            }
            Ok(all)
        }
        Of::Group(group) => {
            // Numbers of contracts are few, so those of another one cost little.
            let from = "checkpoint INDEXED BY checkpoint_group CROSS JOIN lineage USING (lin)
                        WHERE checkpoint.grp = ?4 AND checkpoint.grp <> '' AND contract = ?1";
            select(connection, from, walk, (space.0, Some(group)))
        }
        Of::LineageInGroup { lineage, group } => match lineage::find(connection, space, lineage)? {
            Some(lineage) => {
                let from = "checkpoint WHERE lin = ?1 AND grp = ?4 AND grp <> ''";
                select(connection, from, walk, (lineage.lin, Some(group)))
            }
            None => Ok(Vec::new()),
        },
    }
}

fn in_lineage(connection: &Connection, lin: i64, walk: &Walk<'_>) -> Result<Vec<Place>> {
    let from = "checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?1 AND ?4 IS NULL";
    select(connection, from, walk, (lin, None))
}

/// The newest place of a lineage, or of its checkpoints with that label.
pub(super) fn newest(connection: &Connection, lin: i64, label: Option<&str>) -> Result<Option<Place>> {
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
    Ok(places(connection, sql, params![lin, label])?.pop())
}

/// `?1` is the lineage or the contract, `?4` the group; `?2` and `?3` are the walk's.
fn select(
    connection: &Connection,
    from: &str,
    walk: &Walk<'_>,
    (one, four): (impl rusqlite::ToSql, Option<&String>),
) -> Result<Vec<Place>> {
    match walk {
        Walk::Newest { before, limit } => {
            let end = if before.is_some() { "sort_key < ?2" } else { "?2 IS NULL" };
            let sql = format!("SELECT sort_key, seq FROM {from} AND {end} ORDER BY sort_key DESC, seq DESC LIMIT ?3");
            // A negative LIMIT is none.
            let limit = i64::try_from(*limit).unwrap_or(-1);
            places(connection, &sql, params![one, before.map(|rank| &rank.0), limit, four])
        }
        Walk::Oldest { prefix } => {
            let sql =
                format!("SELECT sort_key, seq FROM {from} AND sort_key >= ?2 AND ?3 IS NULL ORDER BY sort_key, seq");
            let nothing: Option<i64> = None;
            let mut found = places(connection, &sql, params![one, prefix, nothing, four])?;
            // Ranks with a prefix stand together.
            found.truncate(found.partition_point(|place| place.rank.0.starts_with(prefix)));
            Ok(found)
        }
    }
}

fn places(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Place>> {
    let read = |row: &rusqlite::Row<'_>| Ok(Place { rank: Rank(row.get(0)?), seq: row.get(1)? });
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_map(params, read)?.collect())
        .map_err(from_sqlite)
}

/// The rows at places, each of which must be what the index said and what was asked for.
pub(super) fn rows_at(connection: &Connection, space: Space, of: &Of, places: &[Place]) -> Result<Vec<HeaderRow>> {
    let seqs: Vec<Seq> = places.iter().map(|place| place.seq).collect();
    let rows = row::read_all(connection, &seqs).map_err(|error| error.context(&describe(of)))?;
    places.iter().zip(rows).map(|(place, row)| fitting(space, of, place, row)).collect()
}

/// The row at a place: see [`rows_at`].
pub(super) fn row_at(connection: &Connection, space: Space, of: &Of, place: &Place) -> Result<HeaderRow> {
    let row = row::read(connection, place.seq).map_err(|error| error.context(&describe(of)))?;
    fitting(space, of, place, row)
}

fn fitting(space: Space, of: &Of, place: &Place, row: Option<HeaderRow>) -> Result<HeaderRow> {
    let fits = |header: &Header| match of {
        Of::Space => true,
        Of::Lineage(name) => header.lineage == *name,
        Of::Lineages(prefix) => header.lineage.starts_with(prefix),
        Of::Group(group) => header.group == *group,
        Of::LineageInGroup { lineage, group } => header.lineage == *lineage && header.group == *group,
    };
    row.filter(|row| row.header.space == space && row.header.rank == place.rank && fits(&row.header))
        .ok_or_else(|| row::index_damaged(&describe(of)))
}

fn describe(of: &Of) -> String {
    match of {
        Of::Space => "a listing".to_owned(),
        Of::Lineage(name) | Of::LineageInGroup { lineage: name, .. } => format!("lineage {name:?}"),
        Of::Lineages(prefix) => format!("lineages of {prefix:?}"),
        Of::Group(group) => format!("group {group:?}"),
    }
}

/// The numbers of a lineage's checkpoints from that rank on.
pub(super) fn from_rank(connection: &Connection, lin: i64, rank: &Rank) -> Result<Vec<Seq>> {
    let sql = "SELECT sort_key, seq FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ? AND sort_key >= ?";
    Ok(places(connection, sql, params![lin, rank.0])?.into_iter().map(|place| place.seq).collect())
}
