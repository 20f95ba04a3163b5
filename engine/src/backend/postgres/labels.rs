//! The labels of lineages, in the column `lineage.labels`. It has an element for each label: the key, a NUL, and the
//! value. Without labels, it is NULL and has no index entry.

use tokio_postgres::Row;

use super::transaction::Transaction;
use super::value::values;
use crate::error::Result;
use crate::record::Labels;

/// The elements of the column.
pub(super) fn elements(labels: &Labels) -> Vec<Vec<u8>> {
    labels.iter().map(|(key, value)| [key.as_bytes(), b"\0", value.as_bytes()].concat()).collect()
}

/// The content of the column.
pub(super) fn column(labels: &Labels) -> Option<Vec<Vec<u8>>> {
    Some(elements(labels)).filter(|elements| !elements.is_empty())
}

/// The labels in a column. Skips invalid elements.
pub(super) fn read(row: &Row, column: usize) -> Labels {
    let found: Option<Vec<Vec<u8>>> = row.get(column);
    let label = |element: Vec<u8>| {
        let text = String::from_utf8(element).ok()?;
        let (key, value) = text.split_once('\0')?;
        Some((key.to_owned(), value.to_owned()))
    };
    Labels(found.into_iter().flatten().filter_map(label).collect())
}

pub(super) fn of(open: &Transaction<'_>, lin: i64) -> Result<Labels> {
    let found = open.one("SELECT labels FROM @lineage WHERE lin = $1", values![lin])?;
    Ok(found.map_or_else(Labels::default, |row| read(&row, 0)))
}
