//! The labels of lineages: the column `lineage.labels`, and the table that finds lineages by a label.
//!
//! The column is NULL without labels. Otherwise its last 8 bytes are a checksum. Damaged labels prevent neither saves
//! nor listings: the lineage reads as one without labels, and a check reports the damage.
//!
//! The table has a row for each label. Like the index of statuses, it is built when the file has many lineages (see
//! `totals.rs`). A small file is quickly scanned and does not pay for the table. Once built, every change of labels
//! also updates it. Its rows are verified against the column.

use rusqlite::{Connection, params};

use super::statement::{all, each, execute, exists, first, number};
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::record::{LabelChanges, Labels};

/// The table of labels.
pub(super) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS lineage_label (
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  lin   INTEGER NOT NULL,
  PRIMARY KEY (key, value, lin)
) STRICT, WITHOUT ROWID";

/// The maximum number of lineages to count for a label, when searching for the rarest label.
const COUNTED: i64 = 10_000;

fn sum(lin: i64, labels: &[u8]) -> [u8; 8] {
    Sum::new().int(lin).bytes(labels).finish().to_le_bytes()
}

/// The content of the column.
pub(super) fn sealed(lin: i64, labels: &Labels) -> Option<Vec<u8>> {
    if labels.is_empty() {
        return None;
    }
    let mut bytes = labels.encode();
    bytes.extend(sum(lin, &bytes));
    Some(bytes)
}

/// The labels in a column. `None`: the column is damaged.
pub(super) fn opened(lin: i64, column: Option<&[u8]>) -> Option<Labels> {
    let Some(column) = column else { return Some(Labels::default()) };
    let (bytes, stored) = column.split_last_chunk()?;
    Labels::decode(bytes).filter(|_| sum(lin, bytes) == *stored)
}

/// Returns true if the file has the table.
pub(super) fn are_indexed(connection: &Connection) -> Result<bool> {
    exists(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'lineage_label'", [])
}

/// Creates and fills the table.
pub(super) fn build(connection: &Connection) -> Result<()> {
    connection.execute_batch(TABLE)?;
    let mut found = Vec::new();
    each(connection, "SELECT lin, labels FROM lineage NOT INDEXED WHERE labels IS NOT NULL", [], |row| {
        let lin = row.get(0)?;
        found.extend(opened(lin, row.get_ref(1)?.as_blob_or_null()?).map(|labels| (lin, labels)));
        Ok(())
    })?;
    found.iter().try_for_each(|(lin, labels)| add(connection, *lin, labels))
}

/// Changes the labels of a lineage. `column` is the content of its column. Damaged labels are replaced.
pub(super) fn change(connection: &Connection, lin: i64, column: Option<&[u8]>, changes: &LabelChanges) -> Result<()> {
    let labels = opened(lin, column).unwrap_or_default().changed(changes)?;
    let sql = "UPDATE lineage SET labels = ?2 WHERE lin = ?1 AND labels IS NOT ?2";
    execute(connection, sql, params![lin, sealed(lin, &labels)])?;
    forget(connection, lin, column)?;
    index(connection, lin, &labels)
}

/// Adds the labels of a lineage to the table, if the file has it.
pub(super) fn index(connection: &Connection, lin: i64, labels: &Labels) -> Result<()> {
    if labels.is_empty() || !are_indexed(connection)? {
        return Ok(());
    }
    add(connection, lin, labels)
}

fn add(connection: &Connection, lin: i64, labels: &Labels) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO lineage_label (key, value, lin) VALUES (?, ?, ?)";
    labels.iter().try_for_each(|(key, value)| execute(connection, sql, params![key, value, lin]).map(drop))
}

/// Removes the labels of a lineage from the table, if the file has it. `column` is the content of its column.
pub(super) fn forget(connection: &Connection, lin: i64, column: Option<&[u8]>) -> Result<()> {
    if column.is_none() || !are_indexed(connection)? {
        return Ok(());
    }
    let Some(labels) = opened(lin, column) else {
        // The labels are damaged, so search all rows of the lineage.
        return execute(connection, "DELETE FROM lineage_label WHERE lin = ?", [lin]).map(drop);
    };
    let sql = "DELETE FROM lineage_label WHERE key = ? AND value = ? AND lin = ?";
    labels.iter().try_for_each(|(key, value)| execute(connection, sql, params![key, value, lin]).map(drop))
}

/// Returns the lineages with the rarest of these labels, in any order. The file must have the table.
pub(super) fn indexed(connection: &Connection, labels: &Labels) -> Result<Vec<i64>> {
    let count = "SELECT count(*) FROM (SELECT 1 FROM lineage_label WHERE key = ? AND value = ? LIMIT ?)";
    let mut counted = Vec::new();
    for (key, value) in labels.iter() {
        counted.push((number(connection, count, params![key, value, COUNTED])?, key, value));
    }
    let Some((_, key, value)) = counted.into_iter().min() else { return Ok(Vec::new()) };
    all(connection, "SELECT lin FROM lineage_label WHERE key = ? AND value = ?", params![key, value], first)
}

/// Returns true if the table has a row for each label of the lineage.
pub(super) fn lead_to(connection: &Connection, lin: i64, labels: &Labels) -> Result<bool> {
    let sql = "SELECT 1 FROM lineage_label WHERE key = ? AND value = ? AND lin = ?";
    for (key, value) in labels.iter() {
        if !exists(connection, sql, params![key, value, lin])? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the number of rows of the table, and the expected number.
pub(super) fn count(connection: &Connection) -> Result<(i64, i64)> {
    let mut expected = 0;
    each(connection, "SELECT lin, labels FROM lineage NOT INDEXED WHERE labels IS NOT NULL", [], |row| {
        let labels = opened(row.get(0)?, row.get_ref(1)?.as_blob_or_null()?).unwrap_or_default();
        expected += i64::try_from(labels.0.len()).unwrap_or(0);
        Ok(())
    })?;
    Ok((number(connection, "SELECT count(*) FROM lineage_label WHERE lin >= ?", [i64::MIN])?, expected))
}
