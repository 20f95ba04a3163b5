//! The table `setting` stores small values for the entire database. Each value has a checksum.

use rusqlite::{Connection, params};

use super::statement::{self, all, execute, exists, first, one};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// The name of the save number floor. Save numbers up to the floor are not reused.
pub(super) const SEQ_FLOOR: &str = "seq_floor";
/// The name of the lineage number floor. Lineage numbers up to the floor are not reused.
pub(super) const LIN_FLOOR: &str = "lin_floor";
/// The name of the running totals: see `totals.rs`.
pub(super) const TOTALS: &str = "totals";
/// The name of the save number from which payloads may be raw: see `raw.rs`.
pub(super) const RAW_FROM: &str = "raw_from";

/// The name of the oldest format whose releases can read the file. Present only in formats after 1.
pub(super) const OLDEST_READER: &str = "oldest_reader";
/// The name of the oldest format whose releases can write to the file. Present only in formats after 1.
pub(super) const OLDEST_WRITER: &str = "oldest_writer";

/// The table. Created with the first value, so a file without values has no page for it.
pub(super) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS setting (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL                       -- ends with a checksum of 8 bytes
) STRICT, WITHOUT ROWID";

/// Returns 1 if the file has the table, even if one of the two names is damaged.
const PRESENT: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'setting' OR tbl_name = 'setting' LIMIT 1";

fn present(connection: &Connection) -> Result<bool> {
    exists(connection, PRESENT, [])
}

fn sum(name: &str, value: &[u8]) -> [u8; 8] {
    Sum::new().text(name).bytes(value).finish().to_le_bytes()
}

/// Reads a value and verifies its checksum. Returns `None` if the value does not exist.
pub(super) fn get(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    if !present(connection)? {
        return Ok(None);
    }
    let found: Option<Vec<u8>> = one(connection, "SELECT value FROM setting WHERE name = ?", [name], first)?;
    let Some(mut value) = found else { return Ok(None) };
    if value.split_last_chunk().is_some_and(|(value, stored)| sum(name, value) == *stored) {
        value.truncate(value.len() - 8);
        return Ok(Some(value));
    }
    Err(Error::new(Code::Corrupt, format!("setting {name:?} does not match its checksum: restore a backup")))
}

/// Verifies the checksums of all values.
pub(super) fn verify_all(connection: &Connection) -> Result<()> {
    if !present(connection)? {
        return Ok(());
    }
    let names: Vec<String> = all(connection, "SELECT name FROM setting", [], first)?;
    for name in names {
        if get(connection, &name)?.is_none() {
            let message = format!("setting {name:?} is in its table, but its index does not find it: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
    }
    Ok(())
}

/// Stores a value with its checksum.
pub(super) fn set(connection: &Connection, name: &str, value: &[u8]) -> Result<()> {
    execute(connection, TABLE, [])?;
    let sql = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)";
    execute(connection, sql, params![name, [value, &sum(name, value)].concat()]).map(drop)
}

/// Reads a value that is a number. Returns 0 if the value does not exist.
pub(super) fn number(connection: &Connection, name: &str) -> Result<i64> {
    let value = get(connection, name)?.and_then(|value| <[u8; 8]>::try_from(value).ok());
    Ok(value.map_or(0, i64::from_le_bytes))
}

/// Stores a number as a value.
pub(super) fn set_number(connection: &Connection, name: &str, value: i64) -> Result<()> {
    set(connection, name, &value.to_le_bytes())
}

/// Returns the last number that was used: the greatest number of all rows, or the floor if it is greater. `greatest` is
/// the SQL for the greatest number, and `floor` the name of the floor's setting.
pub(super) fn last(connection: &Connection, greatest: &str, floor: &str) -> Result<i64> {
    Ok(statement::number(connection, greatest, [])?.max(number(connection, floor)?))
}

/// Records that the payload `first` is raw, in the transaction that stores it.
pub(super) fn note_raw(connection: &Connection, first: Seq) -> Result<()> {
    match raw_from(connection)? {
        Some(_) => Ok(()),
        None => set_number(connection, RAW_FROM, first),
    }
}

/// Returns the save number from which payloads may be raw. `None`: no payload waits to be compressed.
pub(super) fn raw_from(connection: &Connection) -> Result<Option<Seq>> {
    match number(connection, RAW_FROM) {
        // A damaged note must prevent neither saves nor prunes. Its payloads stay raw. A check reports it.
        Err(error) if error.code() == Code::Corrupt => Ok(None),
        noted => Ok(Some(noted?).filter(|from| *from != 0)),
    }
}
