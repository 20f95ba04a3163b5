//! The part of a check that is about logs.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::from_sqlite;
use super::log_rows::{Head, Stored, damaged, decode_marks, misled, signed};
use super::logs::Logs;
use crate::backend::logs::{End, LogRows};
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// The numbers of all records.
pub(super) const RECORDS: &str = "SELECT num FROM record NOT INDEXED";
/// The numbers of all logs.
pub(super) const HEADS: &str = "SELECT log FROM log NOT INDEXED";
/// The numbers of all branches.
pub(super) const BRANCHES: &str = "SELECT branch FROM log_branch NOT INDEXED";

/// The index of a table, the rows that it should have, and the entries that it has. `?` is the least integer.
pub(super) const INDEXES: [(&str, &str, &str); 5] = [
    ("log", "log NOT INDEXED WHERE log >= ?", "log INDEXED BY log_name WHERE lin >= ?"),
    ("log", "log NOT INDEXED WHERE log >= ?", "log INDEXED BY log_head WHERE branch >= ?"),
    (
        "log_branch",
        "log_branch NOT INDEXED WHERE branch >= ? AND parent IS NOT NULL",
        "log_branch INDEXED BY log_branch_parent WHERE parent >= ?",
    ),
    ("record", "record NOT INDEXED WHERE num >= ?", "record INDEXED BY record_pos WHERE branch >= ?"),
    (
        "record",
        "record NOT INDEXED WHERE num >= ? AND key_hash IS NOT NULL",
        "record INDEXED BY record_key WHERE branch >= ? AND key_hash IS NOT NULL",
    ),
];

/// Verifies a checkpoint's marks, and that what they name is there.
pub(super) fn check_marks(connection: &Connection, seq: Seq, marks: Option<&[u8]>) -> Result<()> {
    for mark in decode_marks(marks)? {
        let Some(end) = mark.end else { continue };
        check_end(connection, end).map_err(|error| error.context(&format!("log {:?}", mark.log)))?;
        let held = "SELECT 1 FROM log_mark WHERE branch = ? AND length = ? AND seq = ?";
        if !exists(connection, held, params![end.branch, signed(end.length), seq])? {
            return Err(misled(&format!("what the checkpoint keeps of log {:?}", mark.log)));
        }
    }
    Ok(())
}

/// Verifies a log, and that its records are there.
pub(super) fn check_head(connection: &Connection, log: i64) -> Result<()> {
    let sql = "SELECT lin, name, branch, length, sum FROM log WHERE log = ?";
    let Some(head) = one(connection, sql, log, Head::read)? else { return Ok(()) };
    let lin = head.lin;
    let (name, end) = head.verify(lin)?;
    if !exists(connection, "SELECT 1 FROM lineage WHERE lin = ?", params![lin])? {
        return Err(Error::new(Code::Corrupt, format!("log {name:?}: its lineage is not there: restore a backup")));
    }
    for index in ["log_name WHERE lin = ?1 AND name = ?2", "log_head WHERE branch = ?3"] {
        let sql = format!("SELECT 1 FROM log INDEXED BY {index} AND log = ?4 AND coalesce(?1, ?2, ?3) IS NOT NULL");
        if !exists(connection, &sql, params![lin, name, end.branch, log])? {
            return Err(misled(&format!("log {name:?}")));
        }
    }
    check_end(connection, end).map_err(|error| error.context(&format!("log {name:?}")))
}

/// Verifies a branch, and that it has where it goes on from.
pub(super) fn check_branch(connection: &Connection, id: i64) -> Result<()> {
    match Logs::new(connection).branch(id)?.and_then(|branch| branch.parent) {
        Some(parent) => check_end(connection, parent).map_err(|error| error.context(&format!("branch {id}"))),
        None => Ok(()),
    }
}

/// Verifies a record, and that the indexes lead to it.
pub(super) fn check_record(connection: &Connection, num: i64) -> Result<()> {
    let sql = "SELECT num, branch, pos, key_hash, key, sum, body FROM record WHERE num = ?";
    let Some(stored) = one(connection, sql, num, Stored::read)? else { return Ok(()) };
    let (branch, position, key_hash) = (stored.branch, stored.position, stored.key_hash);
    stored.verify(branch, position)?.record()?;
    let what = || format!("the record at {position} of branch {branch}");
    let by_position = "SELECT 1 FROM record INDEXED BY record_pos WHERE branch = ? AND pos = ? AND num = ?";
    let by_key = "SELECT 1 FROM record INDEXED BY record_key WHERE branch = ? AND key_hash = ? AND num = ?";
    let found = exists(connection, by_position, params![branch, position, num])?
        && (key_hash.is_none() || exists(connection, by_key, params![branch, key_hash, num])?);
    if !found {
        return Err(misled(&what()));
    }
    match Logs::new(connection).branch(branch)? {
        Some(branch) if signed(branch.start()) <= position => Ok(()),
        _ => Err(damaged(&what())),
    }
}

/// Whether a branch has its records up to there.
fn check_end(connection: &Connection, end: End) -> Result<()> {
    let logs = Logs::new(connection);
    let whole = logs.branch(end.branch)?.is_some_and(|branch| branch.start() < end.length)
        && logs.tip(end.branch)?.is_some_and(|tip| tip >= end.length);
    if whole {
        return Ok(());
    }
    let message = format!("records of branch {} are missing below {}: restore a backup", end.branch, end.length);
    Err(Error::new(Code::Corrupt, message))
}

fn exists(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<bool> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.exists(params)).map_err(from_sqlite)
}

fn one<T>(
    connection: &Connection,
    sql: &str,
    number: i64,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([number], read).optional())
        .map_err(from_sqlite)
}
