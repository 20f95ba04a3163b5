//! Small records that belong to a checkpoint. Each has an envelope of its own: its bytes come back, or `CORRUPT`.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::from_sqlite;
use crate::codec::envelope;
use crate::error::Result;
use crate::record::{Part, Space, Write};

/// What was written to a checkpoint, in the order in which each place was first written.
pub(super) fn of(connection: &Connection, space: Space, id: &str) -> Result<Vec<Write>> {
    let sql = "SELECT task, idx, owner, name, tag, body FROM write WHERE id = ? AND space = ? ORDER BY num";
    let found: Vec<(Write, Vec<u8>)> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                let part = Part { name: row.get(3)?, tag: row.get(4)?, bytes: bytes::Bytes::new() };
                Ok((Write { task: row.get(0)?, index: row.get(1)?, owner: row.get(2)?, part }, row.get(5)?))
            };
            statement.query_map(params![id, space.0], read)?.collect()
        })
        .map_err(from_sqlite)?;
    let open = |(mut write, body): (Write, Vec<u8>)| {
        let raw = envelope::open(&[body])
            .map_err(|error| error.context(&format!("the write of task {:?} to {id:?}", write.task)))?;
        write.part.bytes = raw.into();
        Ok(write)
    };
    found.into_iter().map(open).collect()
}

/// Adds writes. One in a place that is taken by what nobody owns replaces it, or is left out.
pub(super) fn add(connection: &Connection, space: Space, id: &str, writes: &[Write], replace: bool) -> Result<()> {
    let one = |write: &Write| {
        let body = envelope::seal(&write.part.bytes);
        let taken: Option<i64> = connection
            .prepare_cached(
                "SELECT num FROM write WHERE id = ? AND space = ? AND task = ? AND idx = ? AND owner IS NULL",
            )?
            .query_row(params![id, space.0, write.task, write.index], |row| row.get(0))
            .optional()?;
        match taken {
            Some(num) if replace => connection
                .prepare_cached("UPDATE write SET name = ?, tag = ?, body = ? WHERE num = ?")?
                .execute(params![write.part.name, write.part.tag, body, num]),
            Some(_) => Ok(0),
            None => connection
                .prepare_cached(
                    "INSERT INTO write (space, id, task, idx, name, tag, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![space.0, id, write.task, write.index, write.part.name, write.part.tag, body]),
        }
    };
    writes.iter().try_for_each(|write| one(write).map(drop)).map_err(from_sqlite)
}

/// Gives what nobody owns to a checkpoint.
pub(super) fn claim(connection: &Connection, space: Space, id: &str, owner: &str) -> Result<()> {
    let sql = "UPDATE write SET owner = ? WHERE id = ? AND space = ? AND owner IS NULL";
    execute(connection, sql, params![owner, id, space.0])
}

/// Removes what was written to a checkpoint.
pub(super) fn remove(connection: &Connection, space: Space, id: &str) -> Result<()> {
    execute(connection, "DELETE FROM write WHERE id = ? AND space = ?", params![id, space.0])
}

/// Removes what was written to checkpoints whose id begins so.
pub(super) fn remove_prefix(connection: &Connection, space: Space, prefix: &str) -> Result<()> {
    let sql = "SELECT DISTINCT id FROM write WHERE id >= ? ORDER BY id";
    let found: Vec<String> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let mut rows = statement.query([prefix])?;
            let mut found = Vec::new();
            // Here and not in SQL, where a prefix is a pattern: ids that begin so stand together.
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                if !id.starts_with(prefix) {
                    break;
                }
                found.push(id);
            }
            Ok(found)
        })
        .map_err(from_sqlite)?;
    found.iter().try_for_each(|id| remove(connection, space, id))
}

fn execute(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<()> {
    let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params));
    done.map(drop).map_err(from_sqlite)
}
