//! Runs statements. The connection caches the prepared statements.

use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, Params, Row};

use crate::error::{Code, Error, Result};

/// Returns the first row, or `None` if the statement returns no row.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    connection.prepare_cached(sql)?.query(params)?.next()?.map(read).transpose()
}

/// Calls `read` with each row, in the statement's order.
pub(super) fn each(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    until(connection, sql, params, |row| {
        read(row)?;
        Ok(false)
    })
}

/// Calls `read` with each row, in the statement's order, until it returns true.
pub(super) fn until(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<bool>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        if read(row)? {
            break;
        }
    }
    Ok(())
}

/// Returns all rows, in the statement's order.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    each(connection, sql, params, |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// Reads the first column.
pub(super) fn first<T: FromSql>(row: &Row<'_>) -> Result<T> {
    Ok(row.get(0)?)
}

/// Returns the number in the only row. Returns 0 if the statement returns no row.
pub(super) fn number(connection: &Connection, sql: &str, params: impl Params) -> Result<i64> {
    Ok(one(connection, sql, params, first)?.unwrap_or(0))
}

/// Returns true if the statement returns a row.
pub(super) fn exists(connection: &Connection, sql: &str, params: impl Params) -> Result<bool> {
    Ok(one(connection, sql, params, |_| Ok(()))?.is_some())
}

/// Runs a statement that returns no rows. Returns the number of rows that it changed.
pub(super) fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    connection.prepare_cached(sql)?.execute(params).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::TooBig) => {
            let message =
                "what is stored with the state, such as its metadata, is too large: keep less in one checkpoint";
            Error::new(Code::InvalidArgument, message)
        }
        _ => error.into(),
    })
}
