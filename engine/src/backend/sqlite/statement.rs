//! Runs statements. The connection caches the prepared statement.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::error::from_sqlite;
use crate::error::Result;

/// Returns the first row, or `None` if the statement returns no row.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let found = connection.prepare_cached(sql).and_then(|mut statement| statement.query_row(params, read).optional());
    found.map_err(from_sqlite)
}

/// Returns all rows, in the statement's order.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let found = connection.prepare_cached(sql).and_then(|mut statement| statement.query_map(params, read)?.collect());
    found.map_err(from_sqlite)
}

/// Returns the number in the only row. Returns 0 if the statement returns no row.
pub(super) fn number(connection: &Connection, sql: &str, params: impl Params) -> Result<i64> {
    Ok(one(connection, sql, params, |row| row.get(0))?.unwrap_or(0))
}

/// Runs a statement that returns no rows. Returns the number of rows that it changed.
pub(super) fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(from_sqlite)
}
