//! Small values that belong to the whole database, each with a checksum.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::from_sqlite;
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};

/// No save number up to this one is given out again.
pub(super) const SEQ_FLOOR: &str = "seq_floor";
/// No lineage's number up to this one is given out again.
pub(super) const LIN_FLOOR: &str = "lin_floor";
/// The running totals: see `totals.rs`.
pub(super) const TOTALS: &str = "totals";

fn sum(name: &str, value: &[u8]) -> [u8; 8] {
    Sum::new().text(name).bytes(value).finish().to_le_bytes()
}

/// The value of that name.
pub(super) fn get(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    let found: Option<Vec<u8>> = connection
        .prepare_cached("SELECT value FROM setting WHERE name = ?")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    let Some(mut value) = found else { return Ok(None) };
    let damaged =
        || Error::new(Code::Corrupt, format!("setting {name:?} does not match its checksum: restore a backup"));
    let at = value.len().checked_sub(8).ok_or_else(damaged)?;
    let stored = value.split_off(at);
    if sum(name, &value) == stored[..] { Ok(Some(value)) } else { Err(damaged()) }
}

/// Verifies every value that there is.
pub(super) fn verify_all(connection: &Connection) -> Result<()> {
    let names: Vec<String> = connection
        .prepare_cached("SELECT name FROM setting")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .map_err(from_sqlite)?;
    for name in names {
        if get(connection, &name)?.is_none() {
            let message = format!("setting {name:?} is there and is not found: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
    }
    Ok(())
}

/// Stores a value.
pub(super) fn set(connection: &Connection, name: &str, value: &[u8]) -> Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)")
        .and_then(|mut statement| statement.execute(params![name, [value, &sum(name, value)].concat()]))
        .map(drop)
        .map_err(from_sqlite)
}

/// A value that is a number; 0 if it is not there.
pub(super) fn number(connection: &Connection, name: &str) -> Result<i64> {
    let value = get(connection, name)?.and_then(|value| <[u8; 8]>::try_from(value).ok());
    Ok(value.map_or(0, i64::from_le_bytes))
}

/// Stores a number.
pub(super) fn set_number(connection: &Connection, name: &str, value: i64) -> Result<()> {
    set(connection, name, &value.to_le_bytes())
}

/// The last number that was given out: the greatest that a row has, or the floor where the last row is gone.
pub(super) fn last(connection: &Connection, greatest: &str, floor: &str) -> Result<i64> {
    let greatest: i64 = connection
        .prepare_cached(greatest)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(from_sqlite)?;
    Ok(greatest.max(number(connection, floor)?))
}

/// The next number to give out.
pub(super) fn next(connection: &Connection, greatest: &str, floor: &str) -> Result<i64> {
    Ok(last(connection, greatest, floor)? + 1)
}
