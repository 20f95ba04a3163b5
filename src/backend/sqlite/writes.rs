//! Small records that belong to a checkpoint: a row for what a task wrote, in an envelope of its own. Its bytes come back, or
//! `CORRUPT`.

use std::borrow::Cow;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::from_sqlite;
use crate::codec::{envelope, frame};
use crate::error::{Code, Error, Result};
use crate::op;
use crate::record::{Part, Payload, Space, Write};

/// What was written to a checkpoint: by task, in the order in which they began, and of a task in the order in which each
/// place was first written.
pub(super) fn of(connection: &Connection, space: Space, id: &str) -> Result<Vec<Write>> {
    let sql = "SELECT task, owner, body FROM write WHERE id = ? AND space = ? ORDER BY num";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let rows: Vec<(String, Option<String>, Vec<u8>)> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_map(params![id, space.0], read)?.collect())
        .map_err(from_sqlite)?;
    let mut found = Vec::new();
    for (task, owner, body) in rows {
        let parts = open(id, &task, body)?;
        found.extend(parts.into_iter().map(|(index, part)| Write {
            task: task.clone(),
            index,
            owner: owner.clone(),
            part,
        }));
    }
    Ok(found)
}

/// Adds writes. One in a place that is taken by what nobody owns replaces it, or is left out. What is prepared is what
/// [`prepare`] made of them.
pub(super) fn add(
    connection: &Connection,
    space: Space,
    id: &str,
    writes: &[Write],
    replace: bool,
    prepared: Option<&[u8]>,
) -> Result<()> {
    for owned in writes.chunk_by(|a, b| (&a.task, &a.owner) == (&b.task, &b.owner)) {
        let [Write { task, owner: Some(owner), .. }, ..] = owned else { continue };
        let body = seal(owned.iter().map(|write| (write.index, write.part.clone())).collect());
        let sql = "INSERT INTO write (space, id, task, owner, body) VALUES (?, ?, ?, ?, ?)";
        execute(connection, sql, params![space.0, id, task, owner, body])?;
    }
    let mut left: Vec<&Write> = writes.iter().filter(|write| write.owner.is_none()).collect();
    while let Some(first) = left.first().copied() {
        let task = &first.task;
        let (mine, others) = left.into_iter().partition(|write| write.task == *task);
        left = others;
        let sql = "SELECT num, body FROM write WHERE id = ? AND space = ? AND task = ? AND owner IS NULL";
        let row: Option<(i64, Vec<u8>)> = connection
            .prepare_cached(sql)
            .and_then(|mut statement| {
                statement.query_row(params![id, space.0, task], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(from_sqlite)?;
        if let Some((num, body)) = row {
            let body = seal(merge(open(id, task, body)?, mine, replace));
            execute(connection, "UPDATE write SET body = ? WHERE num = ?", params![body, num])?;
        } else {
            let body = prepared.map_or_else(|| Cow::Owned(seal(merge(Vec::new(), mine, replace))), Cow::Borrowed);
            let sql = "INSERT INTO write (space, id, task, body) VALUES (?, ?, ?, ?)";
            execute(connection, sql, params![space.0, id, task, body])?;
        }
    }
    Ok(())
}

/// The row of writes to which nobody has written before: for what one task writes and nobody owns.
pub(super) fn prepare(writes: &[Write], replace: bool) -> Option<Bytes> {
    let task = &writes.first()?.task;
    let alone = writes.iter().all(|write| write.task == *task && write.owner.is_none());
    alone.then(|| seal(merge(Vec::new(), writes.iter().collect(), replace)).into())
}

/// What a task has written, and writes now.
fn merge(mut held: Vec<(i64, Part)>, writes: Vec<&Write>, replace: bool) -> Vec<(i64, Part)> {
    for write in writes {
        match held.iter_mut().find(|(index, _)| *index == write.index) {
            Some((_, part)) if replace => *part = write.part.clone(),
            Some(_) => {}
            None => held.push((write.index, write.part.clone())),
        }
    }
    held
}

/// What a task wrote as an envelope: a frame whose parts are named by their places and names.
fn seal(writes: Vec<(i64, Part)>) -> Vec<u8> {
    let named = |(index, part): (i64, Part)| Part { name: format!("{index} {}", part.name), ..part };
    let parts = writes.into_iter().map(named).collect();
    envelope::seal(&frame::join(&Payload { parts, ..Payload::default() }))
}

fn open(id: &str, task: &str, body: Vec<u8>) -> Result<Vec<(i64, Part)>> {
    let split = || -> Result<Vec<(i64, Part)>> {
        let damaged = || Error::new(Code::Corrupt, "its places cannot be told from its names");
        let place = |part: Part| {
            let (index, name) = part.name.split_once(' ').ok_or_else(damaged)?;
            Ok((index.parse().map_err(|_| damaged())?, Part { name: name.to_owned(), ..part }))
        };
        frame::split(&envelope::open(&[body])?.into())?.parts.into_iter().map(place).collect()
    };
    split().map_err(|error| error.context(&format!("what task {task:?} wrote to {id:?}")))
}

/// Gives what nobody owns to a checkpoint.
pub(super) fn claim(connection: &Connection, space: Space, id: &str, owner: &str) -> Result<()> {
    let sql = "UPDATE write SET owner = ? WHERE id = ? AND space = ? AND owner IS NULL";
    execute(connection, sql, params![owner, id, space.0])
}

/// Takes what was written to a checkpoint from its owners.
pub(super) fn release(connection: &Connection, space: Space, id: &str) -> Result<()> {
    let left = op::release(of(connection, space, id)?);
    remove(connection, space, id)?;
    add(connection, space, id, &left, false, None)
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
