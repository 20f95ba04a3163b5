//! What retention asks of the rows, and what gives their room back.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::from_sqlite;
use crate::error::Result;
use crate::record::{LineageStats, Seq, Space, Stats};
use crate::retention::{Catalog, Entry, Stored};

/// The rows as planning sees them, within a transaction of the caller's.
pub(super) struct Shelf<'a>(pub(super) &'a Connection);

impl Shelf<'_> {
    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.0
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, read)?.collect())
            .map_err(from_sqlite)
    }

    fn number(&self, sql: &str, params: impl rusqlite::Params) -> Result<u64> {
        self.0
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, |row| unsigned(row, 0)))
            .map_err(from_sqlite)
    }
}

impl Catalog for Shelf<'_> {
    fn saved_after(&self, space: Option<Space>, after: Seq, most: usize) -> Result<Vec<Entry>> {
        match space {
            None => {
                let sql = "SELECT seq, lin, saved_at FROM checkpoint WHERE seq > ? ORDER BY seq LIMIT ?";
                self.all(sql, params![after, limit(most)], entry)
            }
            Some(space) => {
                let sql = "SELECT seq, lin, saved_at FROM checkpoint CROSS JOIN lineage USING (lin)
                           WHERE seq > ? AND space = ? ORDER BY seq LIMIT ?";
                self.all(sql, params![after, space.0, limit(most)], entry)
            }
        }
    }

    fn lineages_after(&self, space: Option<Space>, after: i64, most: usize) -> Result<Vec<i64>> {
        let sql = "SELECT lin FROM lineage WHERE lin > ?1 AND (?2 IS NULL OR space = ?2) ORDER BY lin LIMIT ?3";
        self.all(sql, params![after, space.map(|space| space.0), limit(most)], |row| row.get(0))
    }

    fn count(&self, lineage: i64) -> Result<usize> {
        let count = self.number("SELECT count(*) FROM checkpoint WHERE lin = ?", params![lineage])?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let space = self.number("SELECT coalesce(max(space), 0) FROM lineage WHERE lin = ?", params![lineage])?;
        let age = u8::try_from(space).map_or(0, |space| Space(space).age());
        if age > 0 {
            let sql =
                "SELECT seq, lin, saved_at FROM checkpoint WHERE lin = ? ORDER BY substr(rank, ?), rank, seq LIMIT ?";
            return self.all(sql, params![lineage, limit(age + 1), limit(most)], entry);
        }
        let sql = "SELECT seq, lin, saved_at FROM checkpoint WHERE lin = ? ORDER BY rank, seq LIMIT ?";
        self.all(sql, params![lineage, limit(most)], entry)
    }

    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let sql = "SELECT seq, lin, saved_at FROM checkpoint WHERE lin = ? ORDER BY rank DESC, seq DESC LIMIT ?";
        self.all(sql, params![lineage, limit(most)], entry)
    }

    fn has_differences(&self, lineage: i64) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ?1 AND label = 'difference')
                   AND (SELECT space FROM lineage WHERE lin = ?1) = ?2";
        Ok(self.number(sql, params![lineage, Space::LANGGRAPH.0])? == 1)
    }

    fn differences(&self, seq: Seq) -> Result<Vec<Entry>> {
        let sql = "SELECT child.seq, child.lin, child.saved_at
                   FROM checkpoint AS parent CROSS JOIN lineage USING (lin) CROSS JOIN checkpoint AS child
                   ON child.lin = parent.lin AND child.parent = parent.id
                   WHERE parent.seq = ? AND space = ? AND child.label = 'difference'";
        self.all(sql, params![seq, Space::LANGGRAPH.0], entry)
    }

    fn stored(&self, seq: Seq) -> Result<Option<Stored>> {
        // The length is in the row's head: the body is not read for it.
        self.0
            .prepare_cached("SELECT base, length(body) FROM payload WHERE seq = ?")
            .and_then(|mut statement| {
                statement.query_row([seq], |row| Ok(Stored { base: row.get(0)?, bytes: unsigned(row, 1)? })).optional()
            })
            .map_err(from_sqlite)
    }

    fn dependants(&self, seq: Seq) -> Result<Vec<(Seq, u64)>> {
        let sql = "SELECT seq, length(body) FROM payload WHERE base = ?";
        self.all(sql, params![seq], |row| Ok((row.get(0)?, unsigned(row, 1)?)))
    }

    fn total(&self, space: Option<Space>, limit: u64) -> Result<Option<u64>> {
        // Counting reads every row; what the database uses in all is known at once, and is more.
        if bytes_in_use(self.0).map_err(from_sqlite)? <= limit {
            return Ok(None);
        }
        match space {
            None => self.number("SELECT coalesce(sum(length(body)), 0) FROM payload", []),
            Some(space) => self.number(
                "SELECT coalesce(sum(length(body)), 0)
                 FROM checkpoint CROSS JOIN lineage USING (lin) CROSS JOIN payload USING (seq) WHERE space = ?",
                params![space.0],
            ),
        }
        .map(Some)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { seq: row.get(0)?, lineage: row.get(1)?, saved_at: row.get(2)? })
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    // Counts and lengths; a damaged file must not make them a panic.
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, name, |row| unsigned(row, 0))
}

fn bytes_in_use(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = pragma(connection, "page_count")?.saturating_sub(pragma(connection, "freelist_count")?);
    Ok(pages * pragma(connection, "page_size")?)
}

/// See [`Stats`]; `file_bytes` is the database's pages, wherever they are by now.
pub(super) fn stats(connection: &Connection, space: Option<Space>, largest: usize) -> rusqlite::Result<Stats> {
    let snapshot = connection.unchecked_transaction()?;
    // A payload may be gone, which only damage does: its checkpoint still counts.
    let mut statement = snapshot.prepare_cached(
        "SELECT space, name, count(*), coalesce(sum(size), 0), coalesce(sum(length(body)), 0)
         FROM lineage CROSS JOIN checkpoint USING (lin) LEFT JOIN payload USING (seq)
         WHERE ?1 IS NULL OR space = ?1 GROUP BY lin",
    )?;
    let mut rows = statement.query(params![space.map(|space| space.0)])?;
    let file_bytes = pragma(&snapshot, "page_count")? * pragma(&snapshot, "page_size")?;
    let mut stats = Stats { file_bytes: Some(file_bytes), ..Stats::default() };
    while let Some(row) = rows.next()? {
        let lineage = LineageStats {
            space: Space(row.get(0)?),
            lineage: row.get(1)?,
            checkpoints: unsigned(row, 2)?,
            logical_bytes: unsigned(row, 3)?,
            stored_bytes: unsigned(row, 4)?,
        };
        stats.count(lineage, largest);
    }
    Ok(stats)
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
