//! The row of a checkpoint, as it is found and verified.
//!
//! An index tells a row's number and nothing else. The row is then read by that number, its header's checksum is verified, and it is
//! compared with what was asked for. So a damaged index or row gives `CORRUPT`, and never another checkpoint.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use xxhash_rust::xxh3::xxh3_64;

use super::error::from_sqlite;
use super::lineage;
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::{Header, Rank, Seq, Space};

/// In the column `flags`: the checkpoint cannot be read without its parent.
const DEPENDS_ON_PARENT: i64 = 1;

/// What [`Found::read`] reads, in its order; a statement may select more behind it, from the fourteenth column on.
macro_rules! columns {
    () => {
        "c.seq, c.lin, c.id_hash, c.saved_at, c.flags, c.sum, c.id, c.parent, c.grp, c.label, c.sort_key, c.meta, c.logs"
    };
}

/// What a row says of its checkpoint beside its payload.
#[derive(Clone, Debug)]
pub(super) struct HeaderRow {
    pub seq: Seq,
    pub lin: i64,
    pub header: Header,
    /// The column `logs`.
    pub logs: Option<Vec<u8>>,
}

/// What is known of a thing that is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub space: Option<Space>,
    pub lineage: Option<String>,
    /// The id of the checkpoint.
    pub id: Option<String>,
}

/// The hash by which a checkpoint's id is indexed.
pub(super) fn id_hash(space: Space, id: &str) -> i64 {
    let mut short = [0; 128];
    let hash = match short.get_mut(..=id.len()) {
        Some(bytes) => {
            bytes[0] = space.0;
            bytes[1..].copy_from_slice(id.as_bytes());
            xxh3_64(bytes)
        }
        None => xxh3_64(&[&[space.0], id.as_bytes()].concat()),
    };
    hash.cast_signed()
}

/// The columns `flags` and `sum` of a row.
pub(super) fn flags_and_sum(seq: Seq, header: &Header, logs: Option<&[u8]>) -> (i64, i64) {
    let flags = if header.depends_on_parent { DEPENDS_ON_PARENT } else { 0 };
    let Header { space, lineage, id, parent, group, label, rank, saved_at, age_offset, depends_on_parent: _, meta } =
        header;
    let sum = Sum::new()
        .int(seq)
        .int(space.0.into())
        .text(lineage)
        .text(id)
        .opt_text(parent.as_deref())
        .text(group)
        .text(label)
        .bytes(&rank.0)
        .int(*saved_at)
        .int((*age_offset).into())
        .int(flags)
        .bytes(meta)
        .bytes(logs.unwrap_or_default());
    (flags, sum.finish())
}

/// Says that an index and its table do not agree.
pub(super) fn index_damaged(what: &str) -> Error {
    let message = format!("{what}: an index leads to a row that is another or gone: restore a backup");
    Error::new(Code::Corrupt, message)
}

/// The row with that number.
pub(super) fn read(connection: &Connection, seq: Seq) -> Result<Option<HeaderRow>> {
    let from = concat!(
        "SELECT ",
        columns!(),
        ", l.contract, l.name, l.age_offset
         FROM checkpoint AS c LEFT JOIN lineage AS l ON l.lin = c.lin WHERE c.seq = ?"
    );
    Ok(found(connection, from, [seq])?.pop().flatten())
}

/// The rows that a statement finds, verified. It selects [`columns`] of `c`, and the contract, the name and the age offset of `l`; `None`
/// where there is no such row.
fn found(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Option<HeaderRow>>> {
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut rows = statement.query(params).map_err(from_sqlite)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let read = || -> rusqlite::Result<Option<Found>> {
            if row.get_ref(0)? == ValueRef::Null {
                return Ok(None);
            }
            Found::read(row, Named::read(row)?.as_ref()).map(Some)
        };
        all.push(read().map_err(from_sqlite)?.map(Found::verify).transpose()?);
    }
    Ok(all)
}

/// The newest row of a lineage, or of its checkpoints with that label: one statement looks up the names, the order and the row.
pub(super) fn newest(
    connection: &Connection,
    space: Space,
    name: &str,
    label: Option<&str>,
) -> Result<Option<HeaderRow>> {
    const FROM: &str = concat!(
        "SELECT ",
        columns!(),
        ", l.contract, l.name, l.age_offset
         FROM lineage AS n INDEXED BY lineage_name
         CROSS JOIN checkpoint AS i INDEXED BY checkpoint_lineage ON i.lin = n.lin
         LEFT JOIN checkpoint AS c ON c.seq = i.seq LEFT JOIN lineage AS l ON l.lin = c.lin
         WHERE n.contract = ?1 AND n.name = ?2 AND "
    );
    const LAST: &str = " ORDER BY i.sort_key DESC, i.seq DESC LIMIT 1";
    let what = || format!("lineage {name:?}");
    // An empty label is none.
    let with = if label.is_some() { "i.label = ?3 AND i.label <> ''" } else { "?3 IS NULL" };
    let rows = found(connection, &[FROM, with, LAST].concat(), params![space.0, name, label])
        .map_err(|error| error.context(&what()))?;
    let fits = |header: &Header| {
        (header.space, &*header.lineage) == (space, name) && label.is_none_or(|label| header.label == label)
    };
    match rows.into_iter().next() {
        None => Ok(None),
        Some(Some(row)) if fits(&row.header) => Ok(Some(row)),
        Some(_) => Err(index_damaged(&what())),
    }
}

/// The rows that an index tells, in its order; `?` of `from` are the parameters. `from` selects `seq` and `sort_key`. Each row must
/// have the sort key that the index has.
pub(super) fn indexed_rows(connection: &Connection, from: &str, params: impl Params) -> Result<Vec<HeaderRow>> {
    let sql = format!(
        "SELECT {}, l.contract, l.name, l.age_offset, i.sort_key IS c.sort_key
         FROM ({from}) AS i LEFT JOIN checkpoint AS c ON c.seq = i.seq LEFT JOIN lineage AS l ON l.lin = c.lin",
        columns!()
    );
    let mut statement = connection.prepare_cached(&sql).map_err(from_sqlite)?;
    let mut rows = statement.query(params).map_err(from_sqlite)?;
    let mut last: Option<(i64, Option<Named>)> = None;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        let read = || Ok((row.get(1)?, row.get(16)?));
        let (lin, agrees): (Option<i64>, bool) = read().map_err(from_sqlite)?;
        let Some(lin) = lin.filter(|_| agrees) else { return Err(index_damaged("a listing")) };
        // Most rows of a listing are of one lineage.
        if last.as_ref().is_none_or(|(known, _)| *known != lin) {
            last = Some((lin, Named::read(row).map_err(from_sqlite)?));
        }
        let lineage = last.as_ref().and_then(|(_, lineage)| lineage.as_ref());
        found.push(Found::read(row, lineage).map_err(from_sqlite)?.verify()?);
    }
    Ok(found)
}

/// What a lineage gives to the headers of its checkpoints.
struct Named {
    space: Space,
    name: String,
    age_offset: u8,
}

impl Named {
    /// The columns behind [`columns`]: the contract, the name and the age offset.
    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        if row.get_ref(13)? == ValueRef::Null {
            return Ok(None);
        }
        Ok(Some(Self { space: Space(row.get(13)?), name: row.get(14)?, age_offset: row.get(15)? }))
    }
}

/// A row as it was found, not verified yet.
struct Found {
    row: HeaderRow,
    id_hash: i64,
    flags: i64,
    sum: i64,
    /// Whether its lineage is there.
    has_lineage: bool,
}

impl Found {
    fn read(row: &Row<'_>, lineage: Option<&Named>) -> rusqlite::Result<Self> {
        let flags: i64 = row.get(4)?;
        let header = Header {
            space: lineage.map_or(Space(0), |lineage| lineage.space),
            lineage: lineage.map(|lineage| lineage.name.clone()).unwrap_or_default(),
            id: row.get(6)?,
            parent: row.get(7)?,
            group: row.get(8)?,
            label: row.get(9)?,
            rank: Rank(row.get(10)?),
            saved_at: row.get(3)?,
            age_offset: lineage.map_or(0, |lineage| lineage.age_offset),
            depends_on_parent: flags & DEPENDS_ON_PARENT != 0,
            meta: row.get(11)?,
        };
        Ok(Self {
            row: HeaderRow { seq: row.get(0)?, lin: row.get(1)?, header, logs: row.get(12)? },
            id_hash: row.get(2)?,
            flags,
            sum: row.get(5)?,
            has_lineage: lineage.is_some(),
        })
    }

    fn verify(self) -> Result<HeaderRow> {
        let Self { row, id_hash: hash, flags, sum, has_lineage } = self;
        let (id, space, seq) = (&row.header.id, row.header.space, row.seq);
        if !has_lineage {
            let message = format!("checkpoint {id:?}: its lineage is not there: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
        // The hash is no part of the checksum, because it follows from what is.
        if flags_and_sum(seq, &row.header, row.logs.as_deref()) != (flags, sum) || id_hash(space, id) != hash {
            let message = format!("checkpoint {id:?}: its row {seq} does not match its checksum: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
        Ok(row)
    }
}

/// What can be told of a damaged row. Its id is told where the hash of it fits, and its lineage where that one's row is whole.
pub(super) fn claims(connection: &Connection, seq: Seq) -> Claims {
    let lineage = lineage_of(connection, seq).ok().flatten().and_then(|lin| lineage::read(connection, lin).ok()?);
    let space = lineage.as_ref().map(|lineage| lineage.space);
    let id = connection.prepare_cached("SELECT id, id_hash FROM checkpoint WHERE seq = ?").and_then(|mut statement| {
        statement.query_row([seq], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
    });
    let id = id.ok().filter(|(id, hash)| space.is_some_and(|space| id_hash(space, id) == *hash)).map(|(id, _)| id);
    Claims { space, lineage: lineage.map(|lineage| lineage.name), id }
}

/// The numbers that the index of ids has for that id, the newest first. Several may share a hash.
pub(super) fn indexed(connection: &Connection, space: Space, id: &str) -> Result<Vec<Seq>> {
    connection
        .prepare_cached("SELECT seq FROM checkpoint INDEXED BY checkpoint_id WHERE id_hash = ? ORDER BY seq DESC")
        .and_then(|mut statement| statement.query_map([id_hash(space, id)], |row| row.get(0))?.collect())
        .map_err(from_sqlite)
}

/// The checkpoint with that id: one statement looks up the hash and the row.
pub(super) fn by_id(connection: &Connection, space: Space, id: &str) -> Result<Option<HeaderRow>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        ", l.contract, l.name, l.age_offset FROM checkpoint AS i INDEXED BY checkpoint_id
         LEFT JOIN checkpoint AS c ON c.seq = i.seq LEFT JOIN lineage AS l ON l.lin = c.lin
         WHERE i.id_hash = ? ORDER BY i.seq DESC"
    );
    let what = || format!("checkpoint {id:?}");
    let hash = id_hash(space, id);
    for row in found(connection, sql, [hash]).map_err(|error| error.context(&what()))? {
        let row = row.ok_or_else(|| index_damaged(&what()))?;
        if (row.header.space, &*row.header.id) == (space, id) {
            return Ok(Some(row));
        }
        // Another id may have the same hash. One that has another hash is not indexed here.
        if id_hash(row.header.space, &row.header.id) != hash {
            return Err(index_damaged(&what()));
        }
    }
    Ok(None)
}

/// The rows of a checkpoint that are damaged, where enough of each is whole to tell that it is that one. They can be removed.
pub(super) fn damaged_by_id(connection: &Connection, space: Space, id: &str) -> Result<Vec<Seq>> {
    let mut found = indexed(connection, space, id)?;
    found.retain(|seq| {
        let claims = claims(connection, *seq);
        claims.space == Some(space) && claims.id.as_deref() == Some(id)
    });
    Ok(found)
}

/// The number of the lineage that a row names, verified or not.
pub(super) fn lineage_of(connection: &Connection, seq: Seq) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT lin FROM checkpoint WHERE seq = ?")
        .and_then(|mut statement| statement.query_row([seq], |row| row.get(0)).optional())
        .map_err(from_sqlite)
}
