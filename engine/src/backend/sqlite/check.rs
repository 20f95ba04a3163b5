//! Verifies all stored data: each row by its checksum, each payload by rebuilding it, and each index by comparing it
//! with its table. A check runs in pages of limited size. Damage in one row does not stop it.
//!
//! To find a row that is missing in an index, the check looks up the row's index entry. To find an index entry without
//! a row, it compares the number of entries with the number of rows.

mod indexes;
mod rows;

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Params, params};

use super::log_check;
use super::logs::present;
use super::quick_check::damaged_pages;
use super::row::HeaderRow;
use super::totals::Totals;
use super::{setting, statement};
use crate::backend::log_findings::{After, LogTable};
use crate::backend::number::signed;
use crate::backend::stages::Position;
use crate::cache::PayloadCache;
use crate::check::{About, CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::error::{Error, Result};
use crate::names;
use crate::record::Seq;

/// The size in bytes of the payload cache for one page. Payloads are rebuilt in save order, and most are deltas against
/// a recent payload.
const CACHE_BYTES: usize = 64 << 20;

const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";
const REBUILD: &str = "Stop all processes that use the database, and run REINDEX on it with the sqlite3 tool.";
const LABEL: &str = "Set the labels of the run again.";
const HARMLESS: &str = "You do not need to do anything.";

/// The stages of a check, in the order in which they run.
const STAGES: [Stage; 9] = [
    Stage::File,
    Stage::Indexes,
    Stage::Lineages,
    Stage::Checkpoints,
    Stage::Writes,
    Stage::Logs(LogTable::Records),
    Stage::Logs(LogTable::Branches),
    Stage::Logs(LogTable::Logs),
    Stage::Logs(LogTable::Marks),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Checks the structure of the file and the settings. This stage is a single page, which reads the entire file.
    File,
    /// Checks the number of entries of each index. Each index is one page.
    Indexes,
    Lineages,
    Checkpoints,
    Writes,
    Logs(LogTable),
}

/// Checks one page of about `limit` rows, starting at the cursor. The caller holds a snapshot for the page.
pub(super) fn page(
    connection: &Connection,
    cache: &PayloadCache,
    cursor: &CheckCursor,
    limit: usize,
) -> Result<CheckPage> {
    let position = Position::read(&STAGES, cursor, || match count_rows(connection) {
        // Count an unreadable table as 0. The check reports the damage when it reads the table.
        Err(error) if error.is_damage() => Ok(0),
        counted => counted,
    })?;
    let limit = limit.max(1);
    // Use a separate cache, so that payloads are read from the database.
    let cache = cache.separate(CACHE_BYTES);
    let mut check =
        Check { connection, cache, lists: HashMap::new(), claims: HashMap::new(), page: CheckPage::default() };
    let after = position.after[0];
    let last = match position.stage {
        Stage::File => {
            check.file()?;
            None
        }
        Stage::Indexes => check.index(after)?,
        Stage::Lineages => check.each("lineage", "lin", after, limit, Check::lineage)?,
        Stage::Checkpoints => check.each("checkpoint", "seq", after, limit, Check::checkpoint)?,
        Stage::Writes => check.each("write", "num", after, limit, Check::write)?,
        Stage::Logs(table) => check.logs(*table, position.after, limit)?,
    };
    Ok(position.complete(check.page, last))
}

/// Counts the checkpoints, the rows of writes, and the records.
fn count_rows(connection: &Connection) -> Result<i64> {
    // The condition makes SQLite count row by row: it could not be interrupted otherwise, see `steps.rs`.
    let sql = "SELECT (SELECT count(*) FROM checkpoint INDEXED BY checkpoint_id WHERE id_hash >= ?1)
                 + (SELECT count(*) FROM write INDEXED BY write_id WHERE contract >= ?1)";
    let records = " + (SELECT count(*) FROM record INDEXED BY record_pos WHERE branch >= ?1)";
    let records = if present(connection)? { records } else { "" };
    statement::number(connection, &format!("{sql}{records}"), [i64::MIN])
}

/// The check of one page.
struct Check<'a> {
    connection: &'a Connection,
    cache: PayloadCache,
    /// The dependants of each base whose list was read. `None`: the list is damaged or the base does not exist.
    lists: HashMap<Seq, Option<HashSet<Seq>>>,
    /// The total bytes that the headers of a payload and its bases claim.
    claims: HashMap<Seq, usize>,
    page: CheckPage,
}

impl Check<'_> {
    /// Calls `look` for the next rows of a table, ordered by number. Returns the greatest row number of the page as the
    /// next position, or `None` at the end of the table.
    fn each(
        &mut self,
        table: &str,
        number: &str,
        after: i64,
        limit: usize,
        look: impl Fn(&mut Self, i64) -> Result<()>,
    ) -> Result<Option<After>> {
        let sql = format!("SELECT {number} FROM {table} NOT INDEXED WHERE {number} > ? ORDER BY {number} LIMIT ?");
        let mut numbers: Vec<i64> = Vec::new();
        let end = statement::each(self.connection, &sql, params![after, signed(limit as u64)], |row| {
            numbers.push(row.get(0)?);
            Ok(())
        });
        for number in &numbers {
            look(self, *number)?;
        }
        match end {
            // The table is damaged here, and later rows are unreachable.
            Err(error) if error.is_damage() => {
                let message = format!("the rest of a table cannot be read: {}", error.message());
                self.find(FindingCode::Corrupt, About::default(), message, RESTORE);
                Ok(None)
            }
            Err(error) => Err(error),
            // In a damaged table the last number may not be the greatest. Continuing from the greatest number makes
            // progress, so the check ends.
            Ok(()) => {
                let greatest = numbers.iter().copied().max();
                let next = greatest.filter(|greatest| numbers.len() == limit && *greatest > after);
                Ok(next.map(|greatest| [greatest, 0, 0]))
            }
        }
    }

    fn find(&mut self, code: FindingCode, about: About, message: String, remedy: &'static str) {
        // A user's removal of a checkpoint by its id may leave an orphan.
        let severity = if code == FindingCode::Orphan { Severity::Warning } else { Severity::Error };
        self.page.findings.push(Finding::new(code, severity, message, remedy).about(about));
    }

    /// Adds a finding about a checkpoint.
    fn find_at(&mut self, code: FindingCode, row: &HeaderRow, message: &str, remedy: &'static str) {
        let message = format!("{}: {message}", names::checkpoint(row.header.contract, &row.header.id));
        self.find(code, About::from(&row.header), message, remedy);
    }

    /// Turns damage into a finding and returns `None`. Returns any other error.
    fn damage<T>(&mut self, found: Result<T>, about: impl FnOnce() -> About) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_damage() => {
                self.find(FindingCode::Corrupt, about(), error.message().to_owned(), RESTORE);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if an index has exactly one entry for a row. A damaged index is treated as having no entry.
    fn has_entry(&self, sql: &str, params: impl Params) -> Result<bool> {
        leads(statement::number(self.connection, sql, params).map(|entries| entries == 1))
    }

    /// Checks the structure of the file, the settings and the running totals.
    fn file(&mut self) -> Result<()> {
        let lines = damaged_pages(self.connection, 20).map_err(Error::from);
        for line in self.damage(lines, About::default)?.into_iter().flatten() {
            let message = format!("the file's structure is damaged: {line}");
            self.find(FindingCode::Corrupt, About::default(), message, RESTORE);
        }
        let settings = setting::verify_all(self.connection);
        self.damage(settings, About::default)?;
        let totals = Totals::read(self.connection);
        self.damage(totals, About::default).map(drop)
    }

    /// Checks one page of a log table.
    fn logs(&mut self, table: LogTable, after: After, limit: usize) -> Result<Option<After>> {
        let found = log_check::page(self.connection, table, after, limit, self.cache.largest());
        let Some(checked) = self.damage(found, About::default)? else { return Ok(None) };
        if table == LogTable::Records {
            self.page.counted.records += checked.rows;
        }
        self.page.findings.extend(checked.findings);
        Ok(checked.next)
    }
}

/// Returns true if an index leads to a row. A damaged index is treated as not leading to the row.
fn leads(found: Result<bool>) -> Result<bool> {
    match found {
        Err(error) if error.is_damage() => Ok(false),
        found => found,
    }
}
