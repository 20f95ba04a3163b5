//! The row of a checkpoint, as it is found and verified.
//!
//! An index tells a row's number and nothing else. The row is then read by that number, its header's checksum is verified, and it is
//! compared with what was asked for. So a damaged index or row gives `CORRUPT`, and never another checkpoint.

use rusqlite::{Connection, OptionalExtension};
use xxhash_rust::xxh3::xxh3_64;

use super::error::from_sqlite;
use super::lineage;
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::{Header, Rank, Seq, Space};

/// In the column `flags`: the checkpoint cannot be read without its parent.
const DEPENDS_ON_PARENT: i64 = 1;

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
    xxh3_64(&[&[space.0], id.as_bytes()].concat()).cast_signed()
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
    let sql = "SELECT c.lin, c.saved_at, c.flags, c.sum, c.id, c.parent, c.grp, c.label, c.sort_key, c.meta, c.logs,
                      l.contract, l.name, l.age_offset, c.id_hash
               FROM checkpoint AS c LEFT JOIN lineage AS l ON l.lin = c.lin WHERE c.seq = ?";
    let found = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                let lineage: Option<(u8, String)> =
                    row.get::<_, Option<u8>>(11)?.zip(row.get::<_, Option<String>>(12)?);
                let known = lineage.is_some();
                let (contract, lineage) = lineage.unwrap_or_default();
                let flags: i64 = row.get(2)?;
                let header = Header {
                    space: Space(contract),
                    lineage,
                    id: row.get(4)?,
                    parent: row.get(5)?,
                    group: row.get(6)?,
                    label: row.get(7)?,
                    rank: Rank(row.get(8)?),
                    saved_at: row.get(1)?,
                    age_offset: row.get::<_, Option<u8>>(13)?.unwrap_or_default(),
                    depends_on_parent: flags & DEPENDS_ON_PARENT != 0,
                    meta: row.get(9)?,
                };
                let whole = HeaderRow { seq, lin: row.get(0)?, header, logs: row.get(10)? };
                Ok((whole, known, (flags, row.get::<_, i64>(3)?), row.get::<_, i64>(14)?))
            };
            statement.query_row([seq], read).optional()
        })
        .map_err(from_sqlite)?;
    let Some((row, known, sums, hash)) = found else { return Ok(None) };
    let (id, space) = (&row.header.id, row.header.space);
    if !known {
        let message = format!("checkpoint {id:?}: its lineage is not there: restore a backup");
        return Err(Error::new(Code::Corrupt, message));
    }
    // The hash is no part of the checksum, because it follows from what is.
    if flags_and_sum(seq, &row.header, row.logs.as_deref()) != sums || id_hash(space, id) != hash {
        let message = format!("checkpoint {id:?}: its row {seq} does not match its checksum: restore a backup");
        return Err(Error::new(Code::Corrupt, message));
    }
    Ok(Some(row))
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

/// The checkpoint with that id.
pub(super) fn by_id(connection: &Connection, space: Space, id: &str) -> Result<Option<HeaderRow>> {
    for seq in indexed(connection, space, id)? {
        let row = read(connection, seq)
            .map_err(|error| error.context(&format!("checkpoint {id:?}")))?
            .ok_or_else(|| index_damaged(&format!("checkpoint {id:?}")))?;
        if (row.header.space, &*row.header.id) == (space, id) {
            return Ok(Some(row));
        }
        // Another id may have the same hash. One that has another hash is not indexed here.
        if id_hash(row.header.space, &row.header.id) != id_hash(space, id) {
            return Err(index_damaged(&format!("checkpoint {id:?}")));
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
