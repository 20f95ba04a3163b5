//! The rows of pending writes: a row holds what one task wrote to a checkpoint, in an envelope of its own. They come back as they
//! were written, or `CORRUPT`.

use rusqlite::{Connection, params};

use super::error::from_sqlite;
use super::row::{Claims, index_damaged};
use super::statement::one;
use crate::backend::writes::{by_task, merge, open, release, seal};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::{Part, Space, Write};

/// A row.
pub(super) struct WriteRow {
    pub num: i64,
    pub space: Space,
    /// Of the checkpoint that was written to.
    pub id: String,
    pub task: String,
    /// The checkpoint that has claimed it.
    pub claimed: Option<String>,
}

impl WriteRow {
    /// What the task wrote.
    pub(super) fn open(&self, connection: &Connection) -> Result<Vec<(i64, Part)>> {
        let body: Vec<u8> = connection
            .prepare_cached("SELECT body FROM write WHERE num = ?")
            .and_then(|mut statement| statement.query_row([self.num], |row| row.get(0)))
            .map_err(from_sqlite)?;
        open(&self.id, &self.task, body)
    }
}

fn sum(num: i64, space: Space, id: &str, task: &str) -> i64 {
    Sum::new().int(num).int(space.0.into()).text(id).text(task).finish()
}

fn claim_sum(num: i64, claimed: Option<&str>) -> i64 {
    Sum::new().int(num).opt_text(claimed).finish()
}

/// The row with that number, verified.
pub(super) fn read(connection: &Connection, num: i64) -> Result<Option<WriteRow>> {
    let sql = "SELECT contract, id, task, claimed, sum, claim_sum FROM write WHERE num = ?";
    let read = |row: &rusqlite::Row<'_>| {
        let written =
            WriteRow { num, space: Space(row.get(0)?), id: row.get(1)?, task: row.get(2)?, claimed: row.get(3)? };
        Ok((written, row.get::<_, i64>(4)?, row.get::<_, i64>(5)?))
    };
    let Some((row, stored, claimed)) = one(connection, sql, [num], read)? else { return Ok(None) };
    let whole = sum(num, row.space, &row.id, &row.task) == stored && claim_sum(num, row.claimed.as_deref()) == claimed;
    if whole {
        return Ok(Some(row));
    }
    let message = format!(
        "what task {:?} wrote to {:?}: its row {num} does not match its checksum: restore a backup",
        row.task, row.id
    );
    Err(Error::new(Code::Corrupt, message))
}

/// What can be told of a damaged row: the checkpoint that was written to, where only the claim is damaged.
pub(super) fn claims(connection: &Connection, num: i64) -> Claims {
    let found = connection.prepare_cached("SELECT contract, id, task, sum FROM write WHERE num = ?").and_then(
        |mut statement| {
            statement.query_row([num], |row| {
                Ok((Space(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
            })
        },
    );
    match found {
        Ok((space, id, task, stored)) if sum(num, space, &id, &task) == stored => {
            Claims { space: Some(space), lineage: None, id: Some(id) }
        }
        _ => Claims::default(),
    }
}

/// The numbers that the index has for a checkpoint, in the order in which the rows began.
pub(super) fn indexed(connection: &Connection, space: Space, id: &str) -> Result<Vec<i64>> {
    connection
        .prepare_cached("SELECT num FROM write INDEXED BY write_id WHERE contract = ? AND id = ? ORDER BY num")
        .and_then(|mut statement| statement.query_map(params![space.0, id], |row| row.get(0))?.collect())
        .map_err(from_sqlite)
}

fn rows(connection: &Connection, space: Space, id: &str) -> Result<Vec<WriteRow>> {
    let damaged = || index_damaged(&format!("what was written to {id:?}"));
    let row = |num| -> Result<WriteRow> {
        let row = read(connection, num).map_err(|error| error.context(&format!("what was written to {id:?}")))?;
        row.filter(|row| (row.space, &*row.id) == (space, id)).ok_or_else(damaged)
    };
    let found = indexed(connection, space, id)?;
    // They come in the order of their numbers, and each only once.
    if !found.is_sorted_by(|a, b| a < b) {
        return Err(damaged());
    }
    found.into_iter().map(row).collect()
}

/// What was written to a checkpoint: by task, in the order in which they began, and of a task in the order in which each
/// place was first written.
pub(super) fn of(connection: &Connection, space: Space, id: &str) -> Result<Vec<Write>> {
    let mut found = Vec::new();
    for row in rows(connection, space, id)? {
        let write = |(index, part)| Write { task: row.task.clone(), index, owner: row.claimed.clone(), part };
        found.extend(row.open(connection)?.into_iter().map(write));
    }
    Ok(found)
}

/// Adds writes. In a place that is taken by what nobody has claimed, the new one replaces the old one or is left out. `encoded` is
/// what [`encode`](crate::backend::encode_writes) made of all of them.
pub(super) fn add(
    connection: &Connection,
    space: Space,
    id: &str,
    writes: &[Write],
    replace: bool,
    encoded: Option<&[u8]>,
) -> Result<()> {
    for group in by_task(writes) {
        let held = match group.owner {
            Some(_) => None,
            None => {
                rows(connection, space, id)?.into_iter().find(|row| row.claimed.is_none() && row.task == group.task)
            }
        };
        match (held, encoded) {
            (Some(row), _) => {
                let body = seal(merge(row.open(connection)?, group.writes, replace));
                execute(connection, "UPDATE write SET body = ? WHERE num = ?", params![body, row.num])?;
            }
            (None, Some(body)) => insert(connection, space, id, group.task, group.owner, body)?,
            // What is claimed already is a copy, and comes as it was.
            (None, None) if group.owner.is_some() => {
                let parts = group.writes.iter().map(|write| (write.index, write.part.clone())).collect();
                insert(connection, space, id, group.task, group.owner, &seal(parts))?;
            }
            (None, None) => {
                let body = seal(merge(Vec::new(), group.writes, replace));
                insert(connection, space, id, group.task, group.owner, &body)?;
            }
        }
    }
    Ok(())
}

fn insert(
    connection: &Connection,
    space: Space,
    id: &str,
    task: &str,
    claimed: Option<&str>,
    body: &[u8],
) -> Result<()> {
    let last: i64 = connection
        .prepare_cached("SELECT coalesce(max(num), 0) FROM write")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(from_sqlite)?;
    let num = last + 1;
    let sql =
        "INSERT INTO write (num, contract, id, task, sum, claimed, claim_sum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let sums = (sum(num, space, id, task), claim_sum(num, claimed));
    execute(connection, sql, params![num, space.0, id, task, sums.0, claimed, sums.1, body])
}

/// Gives what nobody has claimed to a checkpoint.
pub(super) fn claim(connection: &Connection, space: Space, id: &str, owner: &str) -> Result<()> {
    for row in rows(connection, space, id)?.into_iter().filter(|row| row.claimed.is_none()) {
        let sql = "UPDATE write SET claimed = ?, claim_sum = ? WHERE num = ?";
        execute(connection, sql, params![owner, claim_sum(row.num, Some(owner)), row.num])?;
    }
    Ok(())
}

/// Takes what was written to a checkpoint from those that have claimed it.
pub(super) fn reopen(connection: &Connection, space: Space, id: &str) -> Result<()> {
    let left = release(of(connection, space, id)?);
    remove(connection, space, id)?;
    add(connection, space, id, &left, false, None)
}

/// Removes what was written to a checkpoint, damaged or not.
pub(super) fn remove(connection: &Connection, space: Space, id: &str) -> Result<()> {
    execute(connection, "DELETE FROM write WHERE contract = ? AND id = ?", params![space.0, id])
}

/// Removes what was written to checkpoints whose id begins so.
pub(super) fn remove_prefix(connection: &Connection, space: Space, prefix: &str) -> Result<()> {
    let sql = "SELECT DISTINCT id FROM write WHERE contract = ? AND id >= ? ORDER BY id";
    let found: Vec<String> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let mut rows = statement.query(params![space.0, prefix])?;
            let mut found = Vec::new();
            // Compared here and not in SQL, where a prefix is a pattern. Ids that begin so stand together.
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
