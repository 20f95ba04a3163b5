//! Verifies all stored data: each row by its checksum, each payload by rebuilding it, and each index by comparing it
//! with its table. A check runs in pages with a limited number of rows. Damage in one row does not stop the check of
//! other rows.
//!
//! To find a row that is missing in an index, the check looks up the row's index entry. To find an index entry that
//! leads to no row, the check counts the entries: such an index has more entries than the table has rows.

mod indexes;
mod rows;

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Params, params};

use super::error::from_sqlite;
use super::log_check::{self, After};
use super::logs::present;
use super::row::{Claims, HeaderRow};
use super::schema::LateIndex;
use super::totals::Totals;
use super::{setting, statement};
use crate::backend::log_findings::LogTable;
use crate::cache::PayloadCache;
use crate::check::{CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// The size in bytes of the payload cache for one page. A page rebuilds the payloads in save order, and most payloads
/// are deltas against a recent payload.
const CACHE_BYTES: usize = 64 << 20;

const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";
const REBUILD: &str = "Stop all processes that use the database, and run REINDEX on it with the sqlite3 tool.";
const HARMLESS: &str = "Nothing needs to be done.";

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
    /// Checks the structure of the file and the settings. This stage is one page, which takes as long as reading the
    /// whole file.
    File,
    /// Checks the number of entries of each index. Each index is one page.
    Indexes,
    Lineages,
    Checkpoints,
    Writes,
    Logs(LogTable),
}

/// The position of a check, which a cursor encodes.
struct Position {
    stage: usize,
    /// The key of the last row that was checked. This is the row number, or the whole key if the table has no row
    /// numbers.
    after: After,
    /// The number of rows that were checked so far.
    done: u64,
    /// The number of rows when the check began.
    of: u64,
}

/// Checks one page of about `limit` rows, starting at the cursor. The caller holds a snapshot for the page.
pub(super) fn page(connection: &Connection, cursor: &CheckCursor, limit: usize) -> Result<CheckPage> {
    let mut position = Position::read(connection, cursor)?;
    let Some(stage) = STAGES.get(position.stage) else { return Err(no_cursor()) };
    let limit = limit.max(1);
    // Do not use the store's cache, so that the check reads the payloads from the database.
    let cache = PayloadCache::new(CACHE_BYTES);
    let mut check = Check { connection, cache, lists: HashMap::new(), late: Vec::new(), page: CheckPage::default() };
    let looked_at = match stage {
        Stage::File => {
            check.file()?;
            None
        }
        Stage::Indexes => number(check.index(position.after[0])?),
        Stage::Lineages => number(check.each(
            "SELECT lin FROM lineage NOT INDEXED",
            "lin",
            position.after[0],
            limit,
            Check::lineage,
        )?),
        Stage::Checkpoints => number(check.each(
            "SELECT seq FROM checkpoint NOT INDEXED",
            "seq",
            position.after[0],
            limit,
            Check::checkpoint,
        )?),
        Stage::Writes => {
            number(check.each("SELECT num FROM write NOT INDEXED", "num", position.after[0], limit, Check::write)?)
        }
        Stage::Logs(table) => check.logs(*table, position.after, limit)?,
    };
    let mut page = check.page;
    let counted = &page.counted;
    position.done += counted.checkpoints + counted.writes + counted.records;
    if let Some(last) = looked_at {
        position.after = last;
    } else {
        position.stage += 1;
        position.after = [beginning(position.stage); 3];
    }
    (page.done, page.of) = (position.done, position.of.max(position.done));
    page.next = (position.stage < STAGES.len()).then(|| position.cursor());
    Ok(page)
}

/// Counts the checkpoints, the rows of writes, and the records.
fn count_rows(connection: &Connection) -> Result<i64> {
    let sql = "SELECT (SELECT count(*) FROM checkpoint) + (SELECT count(*) FROM write)";
    let records = if present(connection)? { " + (SELECT count(*) FROM record)" } else { "" };
    statement::number(connection, &format!("{sql}{records}"), [])
}

/// The error for a cursor that no page of a check returned.
fn no_cursor() -> Error {
    Error::invalid("the cursor of the check is not valid: begin without one")
}

impl Position {
    fn read(connection: &Connection, cursor: &CheckCursor) -> Result<Self> {
        if *cursor == CheckCursor::default() {
            // If a damaged table cannot be counted, use 0. The check reports the damage when it reads this table.
            let of: i64 = match count_rows(connection) {
                Err(error) if !damaged(&error) => return Err(error),
                counted => counted.unwrap_or(0),
            };
            return Ok(Self { stage: 0, after: [0; 3], done: 0, of: u64::try_from(of).unwrap_or(0) });
        }
        let numbers: Vec<i64> =
            cursor.0.split(' ').map(str::parse).collect::<Result<_, _>>().map_err(|_| no_cursor())?;
        let [stage, first, second, third, done, of] = numbers[..] else { return Err(no_cursor()) };
        let after = [first, second, third];
        let [done, of] = [done, of].map(|number| u64::try_from(number).map_err(|_| no_cursor()));
        Ok(Self { stage: usize::try_from(stage).map_err(|_| no_cursor())?, after, done: done?, of: of? })
    }

    fn cursor(&self) -> CheckCursor {
        let [first, second, third] = self.after;
        CheckCursor(format!("{} {first} {second} {third} {} {}", self.stage, self.done, self.of))
    }
}

/// Returns the start position of a stage. This is the least integer, because a damaged row number may be negative. The
/// stage of indexes starts at 0.
fn beginning(stage: usize) -> i64 {
    if matches!(STAGES.get(stage), Some(Stage::Indexes)) { 0 } else { i64::MIN }
}

/// Returns true if the error means damage. Damage becomes a finding. Any other error ends the check.
fn damaged(error: &Error) -> bool {
    matches!(error.code(), Code::Corrupt | Code::Unsupported)
}

/// Converts a row number to a position. The table must have row numbers.
fn number(last: Option<i64>) -> Option<After> {
    last.map(|last| [last, 0, 0])
}

/// The check of one page.
struct Check<'a> {
    connection: &'a Connection,
    cache: PayloadCache,
    /// The dependants of each base whose list was read. `None` if the list is damaged or the base does not exist.
    lists: HashMap<Seq, Option<HashSet<Seq>>>,
    /// Whether the file has an index, for each late index that the check has looked for.
    late: Vec<(LateIndex, bool)>,
    page: CheckPage,
}

impl Check<'_> {
    /// Calls `look` for the next rows of a table, ordered by number. Returns the greatest row number of the page, or
    /// `None` at the end of the table.
    fn each(
        &mut self,
        rows: &str,
        number: &str,
        after: i64,
        limit: usize,
        look: impl Fn(&mut Self, i64) -> Result<()>,
    ) -> Result<Option<i64>> {
        let sql = format!("{rows} WHERE {number} > ? ORDER BY {number} LIMIT ?");
        let mut statement = self.connection.prepare_cached(&sql).map_err(from_sqlite)?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut numbers: Vec<i64> = Vec::new();
        let mut rows = statement.query(params![after, most]).map_err(from_sqlite)?;
        let end = loop {
            match rows.next().and_then(|row| row.map(|row| row.get(0)).transpose()) {
                Ok(Some(number)) => numbers.push(number),
                Ok(None) => break Ok(()),
                Err(error) => break Err(from_sqlite(error)),
            }
        };
        drop(rows);
        for number in &numbers {
            look(self, *number)?;
        }
        match end {
            // The table is damaged here, and the rows after this point cannot be reached.
            Err(error) if damaged(&error) => {
                self.find(
                    FindingCode::Corrupt,
                    format!("the rest of a table cannot be read: {}", error.message()),
                    RESTORE,
                );
                Ok(None)
            }
            Err(error) => Err(error),
            // In a damaged table the last number may not be the greatest. Continuing from the greatest number always
            // moves forward, so the check ends.
            Ok(()) => Ok(numbers.iter().copied().max().filter(|greatest| numbers.len() == limit && *greatest > after)),
        }
    }

    /// Adds a finding without a contract, lineage or id, and returns the finding.
    fn find(&mut self, code: FindingCode, message: String, remedy: &'static str) -> &mut Finding {
        let finding =
            Finding { code, severity: Severity::Error, message, remedy, contract: None, lineage: None, id: None };
        self.page.findings.push(finding);
        let last = self.page.findings.len() - 1;
        &mut self.page.findings[last]
    }

    /// Adds a finding about a checkpoint.
    fn find_at(&mut self, code: FindingCode, row: &HeaderRow, message: &str, remedy: &'static str) {
        let header = &row.header;
        let claims = Claims {
            contract: Some(header.contract),
            lineage: Some(header.lineage.clone()),
            id: Some(header.id.clone()),
        };
        self.find_of(code, claims, format!("checkpoint {:?}: {message}", header.id), remedy);
    }

    /// Adds a finding about the contract, lineage and id in `claims`.
    fn find_of(&mut self, code: FindingCode, claims: Claims, message: String, remedy: &'static str) {
        let finding = self.find(code, message, remedy);
        let Claims { contract, lineage, id } = claims;
        (finding.contract, finding.lineage, finding.id) = (contract, lineage, id);
    }

    /// If the result is an error that means damage, adds a finding and returns `None`. Returns any other error.
    fn damage<T>(&mut self, found: Result<T>) -> Result<Option<T>> {
        self.damage_of(found, Claims::default)
    }

    /// Does the same as [`Check::damage`], with a finding about the contract, lineage and id that `claims` returns.
    fn damage_of<T>(&mut self, found: Result<T>, claims: impl FnOnce() -> Claims) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if damaged(&error) => {
                self.find_of(FindingCode::Corrupt, claims(), error.message().to_owned(), RESTORE);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn number(&self, sql: &str, params: impl Params) -> Result<i64> {
        statement::number(self.connection, sql, params)
    }

    /// Returns true if an index has exactly one entry for a row. A damaged index is treated as having no entry.
    fn has_entry(&self, sql: &str, params: impl Params) -> Result<bool> {
        leads(self.number(sql, params).map(|entries| entries == 1))
    }

    /// Checks the structure of the file, the settings and the running totals.
    fn file(&mut self) -> Result<()> {
        let lines: Result<Vec<String>> = self
            .connection
            .prepare("PRAGMA quick_check(20)")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(from_sqlite);
        for line in self.damage(lines)?.into_iter().flatten().filter(|line| line != "ok") {
            self.find(FindingCode::Corrupt, format!("the file's structure is damaged: {line}"), RESTORE);
        }
        let settings = setting::verify_all(self.connection);
        self.damage(settings)?;
        let totals = Totals::read(self.connection);
        self.damage(totals).map(drop)
    }

    /// Checks one page of a log table.
    fn logs(&mut self, table: LogTable, after: After, limit: usize) -> Result<Option<After>> {
        let found = log_check::page(self.connection, table, after, limit);
        let Some(checked) = self.damage(found)? else { return Ok(None) };
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
        Err(error) if damaged(&error) => Ok(false),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        let connection = Connection::open_in_memory().unwrap();
        for after in [[7, 0, 0], [-7, 1, i64::MAX], [i64::MIN; 3]] {
            let position = Position { stage: 2, after, done: 9, of: 100 };
            let read = Position::read(&connection, &position.cursor()).unwrap();
            assert_eq!((read.stage, read.after, read.done, read.of), (2, after, 9, 100));
        }
        for nonsense in ["nonsense", "1 2 3", "1 2 3 4 5", "-1 2 3 4 5 6", "1 2 3 4 -5 6"] {
            assert!(Position::read(&connection, &CheckCursor(nonsense.to_owned())).is_err(), "{nonsense}");
        }
    }
}
