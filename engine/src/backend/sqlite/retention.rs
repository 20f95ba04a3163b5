//! The queries of retention over the checkpoint rows, and the vacuum that returns free pages to the file system.

use rusqlite::{Connection, Params, Row, params};

use super::chain::{Chain, dependants};
use super::ids::id;
use super::statement::{all, first, number, one};
use super::{lineage, row, status};
use crate::backend::clock::machine_clock;
use crate::backend::number::{signed, unsigned};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq, Status};
use crate::retention::{Catalog, Entry, LEASES, Leases, Line, SavedList, Stored};

#[cfg(test)]
mod tests;

const COUNT: &str = "SELECT count(*) FROM checkpoint WHERE lin = ?";
const OLDEST: &str = "SELECT seq, sort_key FROM checkpoint WHERE lin = ? ORDER BY sort_key, seq LIMIT ?";
const FIRST_SAVED: &str =
    "SELECT seq, sort_key FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ? ORDER BY +seq LIMIT ?";
const NEWEST: &str = "SELECT seq, sort_key FROM checkpoint WHERE lin = ? ORDER BY sort_key DESC, seq DESC LIMIT ?";
const ANY_DEPENDENT: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE flags & 1)";
const HAS_DEPENDENT: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ? AND flags & 1)";
const DEPENDENT_ON: &str = concat!(
    "SELECT child.seq, child.lin, child.saved_at
     FROM checkpoint AS parent CROSS JOIN checkpoint AS child
       ON child.lin = parent.lin AND child.parent = ",
    id!("parent"),
    " AND child.flags & 1
     WHERE parent.seq = ? ORDER BY child.seq"
);

/// The [`Catalog`] of a database, for planning retention. The caller holds the transaction.
///
/// For several numbers, a method runs a prepared statement for each. This is cheap, because `SQLite` runs in the same
/// process.
pub(super) struct SqliteCatalog<'a>(pub(super) &'a Connection);

impl SqliteCatalog<'_> {
    fn number(&self, sql: &str, params: impl Params) -> Result<u64> {
        Ok(unsigned(number(self.0, sql, params)?))
    }

    /// The number of checkpoints of a lineage.
    pub(super) fn count(&self, lineage: i64) -> Result<u64> {
        self.number(COUNT, [lineage])
    }

    /// Reads a lineage. Computes its status if the column is damaged. If that fails too, the run counts as waiting and
    /// stays, because retention must not stop at damage. A check reports it.
    fn line(&self, row: &Row<'_>) -> Result<Line> {
        let (lin, contract) = (row.get(0)?, ContractId(row.get(1)?));
        let name = String::from_utf8_lossy(row.get_ref(2)?.as_bytes()?).into_owned();
        let status = status::opened(lin, row.get(3)?);
        let status = status.unwrap_or_else(|| status::derived(self.0, lin).unwrap_or(Status::Waiting));
        Ok(Line { lineage: lin, contract, name, status })
    }

    /// Reads the rows of these index entries of a lineage, in the order of the entries. Skips a row whose sort key
    /// differs from the index, so that a damaged index cannot make retention remove the wrong checkpoints.
    ///
    /// # Errors
    ///
    /// `CORRUPT` if a row does not exist or belongs to another lineage.
    fn entries(&self, lineage: i64, entries: Vec<(Seq, Vec<u8>)>) -> Result<Vec<Entry>> {
        let sql = "SELECT seq, lin, saved_at, sort_key FROM checkpoint WHERE seq = ?";
        let with_sort_key = |row: &Row<'_>| Ok((entry(row)?, row.get_ref(3)?.as_bytes()?.to_vec()));
        let read = |(seq, sort_key): (Seq, Vec<u8>)| match one(self.0, sql, [seq], with_sort_key)? {
            Some((found, row_sort_key)) if found.lineage == lineage => Ok((sort_key == row_sort_key).then_some(found)),
            _ => {
                let message = format!(
                    "row {seq}: the row of the checkpoint is missing or belongs to another run than its index entry: restore a backup"
                );
                Err(Error::new(Code::Corrupt, message))
            }
        };
        entries.into_iter().filter_map(|index_entry| read(index_entry).transpose()).collect()
    }
}

impl Catalog for SqliteCatalog<'_> {
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, _: Option<i64>, most: usize) -> Result<SavedList> {
        let sql = match contract {
            None => {
                "SELECT seq, lin, saved_at FROM checkpoint WHERE seq > ? AND flags & 2 = 0 AND ? IS NULL ORDER BY seq LIMIT ?"
            }
            Some(_) => {
                "SELECT seq, lin, saved_at FROM checkpoint CROSS JOIN lineage USING (lin)
                 WHERE seq > ? AND flags & 2 = 0 AND contract = ? ORDER BY seq LIMIT ?"
            }
        };
        let of = params![after, contract.map(|contract| contract.0), signed(most as u64)];
        let entries = all(self.0, sql, of, entry)?;
        in_order(after, entries.iter().map(|entry| entry.seq))?;
        Ok(SavedList::new(entries, most))
    }

    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>> {
        let sql = "SELECT lin FROM lineage WHERE lin > ?1 AND contract < 64 AND (?2 IS NULL OR contract = ?2)
                   ORDER BY lin LIMIT ?3";
        let most = signed(most as u64);
        let lineages = all(self.0, sql, params![after, contract.map(|contract| contract.0), most], first)?;
        in_order(after, lineages.iter().copied())?;
        Ok(lineages)
    }

    fn lines(&self, lineages: &[i64]) -> Result<Vec<Line>> {
        let sql = "SELECT lin, contract, name, status FROM lineage WHERE lin = ?";
        let mut found = Vec::with_capacity(lineages.len());
        for lin in lineages {
            found.extend(one(self.0, sql, [lin], |row| self.line(row))?);
        }
        Ok(found)
    }

    fn waiting_among(&self, runs: &[(ContractId, String)]) -> Result<Vec<(ContractId, String)>> {
        let sql =
            "SELECT lin, contract, name, status FROM lineage INDEXED BY lineage_name WHERE contract = ? AND name = ?";
        let mut found = Vec::new();
        for run in runs {
            let line = one(self.0, sql, params![run.0.0, run.1], |row| self.line(row))?;
            found.extend(line.filter(|line| line.status == Status::Waiting).map(|_| run.clone()));
        }
        Ok(found)
    }

    fn leases(&self) -> Result<Leases> {
        let sql =
            "SELECT seq FROM lineage INDEXED BY lineage_name CROSS JOIN checkpoint USING (lin) WHERE contract = ?";
        let mut leases = Vec::new();
        for seq in all(self.0, sql, [LEASES.0], first)? {
            // A damaged lease must not stop retention. A check reports the lease.
            if let Ok(Some(row)) = row::read(self.0, seq) {
                leases.push((row.header.saved_at, row.header.meta));
            }
        }
        Ok(Leases { now: machine_clock(), all: leases })
    }

    fn named(&self, contract: ContractId, name: &str, all: bool) -> Result<Vec<i64>> {
        let found = if all {
            lineage::with_prefix(self.0, contract, name)?
        } else {
            lineage::find(self.0, contract, name)?.into_iter().collect()
        };
        Ok(found.into_iter().map(|row| row.lin).collect())
    }

    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        lineages.iter().map(|lin| Ok(usize::try_from(self.count(*lin)?).unwrap_or(usize::MAX))).collect()
    }

    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        let oldest = |(lin, most): &(i64, usize)| {
            let offset = "SELECT age_offset FROM lineage WHERE lin = ?";
            let sql = match one(self.0, offset, [lin], first::<u8>)?.unwrap_or(0) {
                0 => OLDEST,
                _ => FIRST_SAVED,
            };
            self.entries(*lin, all(self.0, sql, params![lin, signed(*most as u64)], index_entry)?)
        };
        lineages.iter().map(oldest).collect()
    }

    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        let newest = |(lin, most): &(i64, usize)| {
            self.entries(*lin, all(self.0, NEWEST, params![lin, signed(*most as u64)], index_entry)?)
        };
        lineages.iter().map(newest).collect()
    }

    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        lineages.iter().map(|lin| Ok(self.number(HAS_DEPENDENT, [lin])? == 1)).collect()
    }

    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
        // Most stores have no such checkpoint. One lookup in the index detects this.
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
            // The base is only used to count bytes. Ignore a damaged column, which must not stop retention.
            let base = |column: &[u8]| Chain::named_base(*seq, column).unwrap_or_default();
            let row = one(self.0, sql, [seq], |row| Ok((base(row.get_ref(0)?.as_blob()?), unsigned(row.get(1)?))))?;
            found.extend(row.map(|(base, bytes)| (*seq, Stored { base, bytes })));
        }
        Ok(found)
    }

    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
        // SQLite reads the length without reading the body.
        let sql = "SELECT length(body) FROM checkpoint WHERE seq = ?";
        let mut found = Vec::new();
        for base in bases {
            for delta in dependants(self.0, *base)? {
                found.push((*base, delta, self.number(sql, [delta])?));
            }
        }
        Ok(found)
    }

    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>> {
        // First compare the size of the pages in use, which needs no rows and is never less than the sum of the payload
        // sizes. The sum itself would read every row.
        if bytes_in_use(self.0)? <= limit {
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

fn entry(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry { seq: row.get(0)?, lineage: row.get(1)?, saved_at: row.get(2)? })
}

/// Reads an index entry of a checkpoint: its save number and its sort key.
fn index_entry(row: &Row<'_>) -> Result<(Seq, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Returns an error if row numbers do not increase. `SQLite` returns the rows of a damaged table in page order.
/// Retention continues after the last row, so it might never end.
fn in_order(after: i64, numbers: impl Iterator<Item = i64>) -> Result<()> {
    let mut before = after;
    for number in numbers {
        if number <= before {
            let message = format!("row {number} comes after row {before}, so a table is damaged: restore a backup");
            return Err(Error::new(Code::Corrupt, message));
        }
        before = number;
    }
    Ok(())
}

pub(super) fn pragma(connection: &Connection, name: &str) -> Result<u64> {
    Ok(unsigned(connection.pragma_query_value(None, name, |row| row.get(0))?))
}

/// The size of the database in bytes, without its free pages.
fn bytes_in_use(connection: &Connection) -> Result<u64> {
    let pages = pragma(connection, "page_count")?.saturating_sub(pragma(connection, "freelist_count")?);
    Ok(pages * pragma(connection, "page_size")?)
}

/// Rewrites the database without its free pages.
pub(super) fn vacuum(connection: &Connection) -> Result<()> {
    // VACUUM makes a temporary copy as large as the database, so keep the copy in a file.
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    let vacuumed = connection.execute_batch("VACUUM");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    vacuumed?;
    // The file shrinks only when the WAL is copied into it. If readers prevent that now, a later checkpoint does it.
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}
