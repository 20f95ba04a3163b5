//! Reads and verifies the rows of the log tables.

use rusqlite::Row;
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::logs::{Branch, BranchId, End};
use crate::backend::marks::{damaged, open_branch, open_head, record_sum};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};

/// Reads the columns lineage, name, branch, length and sum of a log, in this order. Verifies the checksum, and that the
/// log belongs to the lineage `lin`. Returns the log's name and end.
pub(super) fn head(row: &Row<'_>, lin: i64) -> Result<(String, End)> {
    let (of, name): (i64, String) = (row.get(0)?, row.get(1)?);
    let end = open_head(of, &name, row.get(2)?, row.get(3)?, row.get(4)?)?;
    if of == lin { Ok((name, end)) } else { Err(misled(&format!("log {name:?}"))) }
}

/// Reads the columns number, branch, position, hash of the key, key, sum and body of a record, in this order. Verifies
/// the checksums, and that the row is the record at `position` of `branch`. Returns the key, and the envelope of the tag
/// and the bytes.
pub(super) fn record(row: &Row<'_>, branch: BranchId, position: i64) -> Result<(Option<String>, Vec<u8>)> {
    let (key, body): (Option<String>, Vec<u8>) = (row.get(4)?, row.get(6)?);
    if (row.get::<_, BranchId>(1)?, row.get::<_, i64>(2)?) != (branch, position) {
        return Err(misled(&record_name(branch, position)));
    }
    let sum = record_sum(branch, position, key.as_deref(), &body);
    if sum != row.get::<_, i64>(5)? || key.as_deref().map(key_hash) != row.get(3)? {
        return Err(damaged(&format!("{}, in row {}", record_name(branch, position), row.get::<_, i64>(0)?)));
    }
    Ok((key, body))
}

/// Names a record in messages.
pub(super) fn record_name(branch: BranchId, position: i64) -> String {
    format!("the record at {position} of branch {branch}")
}

/// Reads the columns contract, parent, start and sum of the branch `id`, in this order. Verifies the checksum.
pub(super) fn branch(row: &Row<'_>, id: BranchId) -> Result<Branch> {
    let (contract, parent, start) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let is_whole = branch_sum(id, contract, parent, start) == row.get::<_, i64>(3)?;
    open_branch(id, contract, parent, start, is_whole)
}

pub(super) fn branch_sum(id: BranchId, contract: i64, parent: Option<i64>, start: i64) -> i64 {
    Sum::new().text("log_branch").int(id).int(contract).opt_int(parent).int(start).finish()
}

pub(super) fn key_hash(key: &str) -> i64 {
    xxh3_64(key.as_bytes()).cast_signed()
}

pub(super) fn misled(what: &str) -> Error {
    let message = format!("an index leads to the wrong row for {what}; restore the database from a backup");
    Error::new(Code::Corrupt, message)
}
