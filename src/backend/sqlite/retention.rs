//! What retention asks of the rows, and what gives their room back.

use rusqlite::{Connection, Params, Row, params};

use super::chain::{Chain, dependants};
use super::error::from_sqlite;
use super::statement::{all, one};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq};
use crate::retention::{Catalog, Entry, Stored};

#[cfg(test)]
mod tests;

const COUNT: &str = "SELECT count(*) FROM checkpoint WHERE lin = ?";
const OLDEST: &str = "SELECT seq, sort_key FROM checkpoint WHERE lin = ? ORDER BY sort_key, seq LIMIT ?";
const OLDEST_BY_AGE: &str =
    "SELECT seq, sort_key FROM checkpoint WHERE lin = ? ORDER BY substr(sort_key, 1 + ?), sort_key, seq LIMIT ?";
const NEWEST: &str = "SELECT seq, sort_key FROM checkpoint WHERE lin = ? ORDER BY sort_key DESC, seq DESC LIMIT ?";
const ANY_DEPENDENT: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE flags & 1)";
const HAS_DEPENDENT: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ? AND flags & 1)";
const DEPENDENT_ON: &str = "
SELECT child.seq, child.lin, child.saved_at
FROM checkpoint AS parent CROSS JOIN checkpoint AS child
  ON child.lin = parent.lin AND child.parent = parent.id AND child.flags & 1
WHERE parent.seq = ? ORDER BY child.seq";

/// The rows as planning sees them, within a transaction of the caller's.
///
/// `SQLite` takes one number at a time. It is in the same process, so a bulk question is a loop over a prepared statement.
pub(super) struct SqliteCatalog<'a>(pub(super) &'a Connection);

impl SqliteCatalog<'_> {
    fn number(&self, sql: &str, params: impl Params) -> Result<u64> {
        Ok(one(self.0, sql, params, |row| unsigned(row, 0))?.unwrap_or(0))
    }

    /// The rows that an index has named for a lineage, in the same order. A damaged index must not remove another's checkpoints, or
    /// those that are not the oldest: a row whose sort key is another one in the index is left out.
    fn entries(&self, lineage: i64, entries: Vec<(Seq, Vec<u8>)>) -> Result<Vec<Entry>> {
        let sql = "SELECT seq, lin, saved_at, sort_key FROM checkpoint WHERE seq = ?";
        let ranked = |row: &Row<'_>| Ok((entry(row)?, row.get_ref(3)?.as_bytes()?.to_vec()));
        let read = |(seq, sort_key): (Seq, Vec<u8>)| match one(self.0, sql, [seq], ranked)? {
            Some((found, own)) if found.lineage == lineage => Ok((sort_key == own).then_some(found)),
            _ => {
                let message = format!(
                    "checkpoint number {seq} is not in the lineage in which the index has it: restore the database from a backup"
                );
                Err(Error::new(Code::Corrupt, message))
            }
        };
        entries.into_iter().filter_map(|index_entry| read(index_entry).transpose()).collect()
    }

    /// What a payload takes. The length is in the row's head: the body is not read for it.
    fn bytes(&self, seq: Seq) -> Result<u64> {
        self.number("SELECT length(body) FROM checkpoint WHERE seq = ?", [seq])
    }
}

impl Catalog for SqliteCatalog<'_> {
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, most: usize) -> Result<Vec<Entry>> {
        match contract {
            None => {
                let sql = "SELECT seq, lin, saved_at FROM checkpoint WHERE seq > ? ORDER BY seq LIMIT ?";
                all(self.0, sql, params![after, limit(most)], entry)
            }
            Some(contract) => {
                let sql = "SELECT seq, lin, saved_at FROM checkpoint CROSS JOIN lineage USING (lin)
                           WHERE seq > ? AND contract = ? ORDER BY seq LIMIT ?";
                all(self.0, sql, params![after, contract.0, limit(most)], entry)
            }
        }
    }

    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>> {
        let sql = "SELECT lin FROM lineage WHERE lin > ?1 AND (?2 IS NULL OR contract = ?2) ORDER BY lin LIMIT ?3";
        all(self.0, sql, params![after, contract.map(|contract| contract.0), limit(most)], |row| row.get(0))
    }

    fn count(&self, lineage: i64) -> Result<usize> {
        let count = self.number(COUNT, [lineage])?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let offset = one(self.0, "SELECT age_offset FROM lineage WHERE lin = ?", [lineage], |row| row.get::<_, u8>(0))?;
        let entries = match offset.unwrap_or(0) {
            0 => all(self.0, OLDEST, params![lineage, limit(most)], index_entry),
            offset => all(self.0, OLDEST_BY_AGE, params![lineage, offset, limit(most)], index_entry),
        };
        self.entries(lineage, entries?)
    }

    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let entries = all(self.0, NEWEST, params![lineage, limit(most)], index_entry)?;
        self.entries(lineage, entries)
    }

    fn has_dependent(&self, lineage: i64) -> Result<bool> {
        Ok(self.number(HAS_DEPENDENT, [lineage])? == 1)
    }

    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
        // Most stores have none at all, and the index knows.
        if self.number(ANY_DEPENDENT, [])? == 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for parent in parents {
            found.extend(all(self.0, DEPENDENT_ON, [parent], entry)?.into_iter().map(|child| (*parent, child)));
        }
        Ok(found)
    }

    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>> {
        let sql = "SELECT chain, length(body) FROM checkpoint WHERE seq = ?";
        let mut found = Vec::with_capacity(seqs.len());
        for seq in seqs {
            // Only bytes are counted by it: a damaged row must not keep a rule from removing what it removes.
            let base = |column: &[u8]| Chain::named_base(*seq, column).unwrap_or_default();
            let row = one(self.0, sql, [seq], |row| Ok((base(row.get_ref(0)?.as_blob()?), unsigned(row, 1)?)))?;
            found.extend(row.map(|(base, bytes)| (*seq, Stored { base, bytes })));
        }
        Ok(found)
    }

    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
        let mut found = Vec::new();
        for base in bases {
            for delta in dependants(self.0, *base)? {
                found.push((*base, delta, self.bytes(delta)?));
            }
        }
        Ok(found)
    }

    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>> {
        // Counting reads every row; what the database uses in all is known at once, and is more.
        if bytes_in_use(self.0).map_err(from_sqlite)? <= limit {
            return Ok(None);
        }
        match contract {
            None => self.number("SELECT coalesce(sum(length(body)), 0) FROM checkpoint", []),
            Some(contract) => self.number(
                "SELECT coalesce(sum(length(body)), 0) FROM checkpoint CROSS JOIN lineage USING (lin) WHERE contract = ?",
                [contract.0],
            ),
        }
        .map(Some)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { seq: row.get(0)?, lineage: row.get(1)?, saved_at: row.get(2)? })
}

/// What an index says of a checkpoint: its number and its sort key.
fn index_entry(row: &Row<'_>) -> rusqlite::Result<(Seq, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    // Counts and lengths; a damaged file must not make them a panic.
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, name, |row| unsigned(row, 0))
}

/// What the database takes, without its empty pages.
fn bytes_in_use(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = pragma(connection, "page_count")?.saturating_sub(pragma(connection, "freelist_count")?);
    Ok(pages * pragma(connection, "page_size")?)
}

/// Writes the database anew without its empty pages.
pub(super) fn vacuum(connection: &Connection) -> rusqlite::Result<()> {
    // The copy that it makes on the way is as large as the database: not in memory.
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    let vacuumed = connection.execute_batch("VACUUM");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    vacuumed?;
    // The file shrinks when the log is written back to it. Readers may be in the way of that: then it happens later.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
