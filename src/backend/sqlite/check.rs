//! Verifies everything that is stored: every row against its checksum, every payload through its chain, every index against its
//! table. A page of it looks at so many rows; what is wrong with a row does not keep the next one from being looked at.

use rusqlite::{Connection, params};

use super::chain;
use super::error::from_sqlite;
use super::row::{self, HeaderRow};
use super::totals::Totals;
use super::{lineage, log_check as logs, payloads, writes};
use crate::cache::PayloadCache;
use crate::check::{CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::codec::frame;
use crate::error::{Code, Error, Result};
use crate::record::Seq;

/// A page rebuilds a run's payloads one after the other: most are a delta against the one before.
const CACHE_BYTES: usize = 64 << 20;

const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";
const REBUILD: &str = "Stop all processes that use the database, and run REINDEX on it with the sqlite3 tool.";

/// The parts of a check, in their order.
const STAGES: [Stage; 5] = [Stage::Pages, Stage::Lineages, Stage::Checkpoints, Stage::Writes, Stage::Logs];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The file's own structure, the settings, and the number of entries in each index.
    Pages,
    Lineages,
    Checkpoints,
    Writes,
    Logs,
}

/// Where a check goes on.
struct Place {
    stage: usize,
    /// The number of the last row that was looked at.
    after: i64,
    /// How many rows were looked at.
    done: u64,
    /// How many there were at the beginning.
    of: u64,
}

/// Looks at about so many rows from the cursor on. All of one snapshot, which is the caller's.
pub(super) fn page(connection: &Connection, cursor: &CheckCursor, limit: usize) -> Result<CheckPage> {
    let mut place = Place::read(connection, cursor)?;
    let Some(stage) = STAGES.get(place.stage) else { return Err(Error::invalid("the cursor of the check is none")) };
    let limit = limit.max(1);
    // Not the store's own cache: what is checked is what is stored.
    let cache = PayloadCache::new(CACHE_BYTES);
    let mut check = Check { connection, cache, page: CheckPage::default() };
    let looked_at = match stage {
        Stage::Pages => {
            check.structure()?;
            None
        }
        Stage::Lineages => check.each("SELECT lin FROM lineage", "lin", place.after, limit, Check::lineage)?,
        Stage::Checkpoints => {
            check.each("SELECT seq FROM checkpoint NOT INDEXED", "seq", place.after, limit, Check::checkpoint)?
        }
        Stage::Writes => check.each("SELECT num FROM write NOT INDEXED", "num", place.after, limit, Check::write)?,
        Stage::Logs => check.each(logs::RECORDS, "num", place.after, limit, Check::record)?,
    };
    let mut page = check.page;
    let counted = &page.counted;
    place.done += counted.checkpoints + counted.writes + counted.records;
    match looked_at {
        Some(last) => place.after = last,
        None => (place.stage, place.after) = (place.stage + 1, 0),
    }
    (page.done, page.of) = (place.done, place.of.max(place.done));
    page.next = (place.stage < STAGES.len()).then(|| place.cursor());
    Ok(page)
}

impl Place {
    fn read(connection: &Connection, cursor: &CheckCursor) -> Result<Self> {
        if *cursor == CheckCursor::default() {
            let rows = "SELECT (SELECT count(*) FROM checkpoint) + (SELECT count(*) FROM write) + (SELECT count(*) FROM record)";
            let of: i64 = connection.query_row(rows, [], |row| row.get(0)).map_err(from_sqlite)?;
            return Ok(Self { stage: 0, after: 0, done: 0, of: u64::try_from(of).unwrap_or(0) });
        }
        let mut numbers = cursor.0.split(' ').map(str::parse::<i64>);
        let mut next = || numbers.next().and_then(std::result::Result::ok).filter(|number| *number >= 0);
        let parts = (next(), next(), next(), next());
        let (Some(stage), Some(after), Some(done), Some(of)) = parts else {
            return Err(Error::invalid("the cursor of the check is none: begin without one"));
        };
        Ok(Self { stage: usize::try_from(stage).unwrap_or(usize::MAX), after, done: done.unsigned_abs(), of: of.unsigned_abs() })
    }

    fn cursor(&self) -> CheckCursor {
        CheckCursor(format!("{} {} {} {}", self.stage, self.after, self.done, self.of))
    }
}

struct Check<'a> {
    connection: &'a Connection,
    cache: PayloadCache,
    page: CheckPage,
}

impl Check<'_> {
    /// Looks at rows by their numbers. Returns the last of them; `None`: there is no more.
    fn each(
        &mut self,
        rows: &str,
        number: &str,
        after: i64,
        limit: usize,
        look: impl Fn(&mut Self, i64) -> Result<()>,
    ) -> Result<Option<i64>> {
        let sql = format!("{rows} WHERE {number} > ? ORDER BY {number} LIMIT ?");
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let numbers: Vec<i64> = match self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map(params![after, most], |row| row.get(0))?.collect())
            .map_err(from_sqlite)
        {
            Ok(numbers) => numbers,
            Err(error) if error.code() == Code::Corrupt => {
                self.find(FindingCode::Corrupt, format!("a table cannot be read on: {}", error.message()), RESTORE);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        for number in &numbers {
            look(self, *number)?;
        }
        Ok(numbers.last().copied().filter(|_| numbers.len() == limit))
    }

    fn find(&mut self, code: FindingCode, message: String, remedy: &'static str) -> &mut Finding {
        let finding =
            Finding { code, severity: Severity::Error, message, remedy, space: None, lineage: None, id: None };
        self.page.findings.push(finding);
        let last = self.page.findings.len() - 1;
        &mut self.page.findings[last]
    }

    fn find_at(&mut self, code: FindingCode, row: &HeaderRow, message: &str, remedy: &'static str) {
        let header = &row.header;
        let finding = self.find(code, format!("checkpoint {:?}: {message}", header.id), remedy);
        finding.space = Some(header.space);
        finding.lineage = Some(header.lineage.clone());
        finding.id = Some(header.id.clone());
    }

    /// Takes an error of damage for a finding; any other ends the check.
    fn damage<T>(&mut self, found: Result<T>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
                self.find(FindingCode::Corrupt, error.message().to_owned(), RESTORE);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn number(&self, sql: &str, params: impl rusqlite::Params) -> Result<i64> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, |row| row.get(0)))
            .map_err(from_sqlite)
    }

    /// What belongs to no row.
    fn structure(&mut self) -> Result<()> {
        let said: Result<Vec<String>> = self
            .connection
            .prepare("PRAGMA quick_check(20)")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(from_sqlite);
        for line in self.damage(said)?.into_iter().flatten().filter(|line| line != "ok") {
            self.find(FindingCode::Corrupt, format!("the file's structure is damaged: {line}"), RESTORE);
        }
        let totals = Totals::now(self.connection);
        self.damage(totals)?;
        let entries = [
            ("lineage", "lineage NOT INDEXED WHERE lin > ?", "lineage INDEXED BY lineage_name WHERE contract > ?"),
            ("checkpoint", "checkpoint NOT INDEXED WHERE seq > ?", "checkpoint INDEXED BY checkpoint_id WHERE id_hash >= ?"),
            ("checkpoint", "checkpoint NOT INDEXED WHERE seq > ?", "checkpoint INDEXED BY checkpoint_lineage WHERE lin > ?"),
            ("write", "write NOT INDEXED WHERE num > ?", "write INDEXED BY write_id WHERE contract > ?"),
        ];
        for (table, rows, index) in entries.into_iter().chain(logs::INDEXES) {
            let count = |from: &str| self.number(&format!("SELECT count(*) FROM {from}"), [i64::MIN]);
            let counted = count(rows).and_then(|rows| Ok((rows, count(index)?)));
            if let Some((rows, entries)) = self.damage(counted)?
                && rows != entries
            {
                let message = format!("table {table} has {rows} rows, and its index {entries} entries ({index})");
                self.find(FindingCode::Index, message, REBUILD);
            }
        }
        Ok(())
    }

    fn lineage(&mut self, lin: i64) -> Result<()> {
        let found = lineage::read(self.connection, lin);
        let Some(row) = self.damage(found)?.flatten() else { return Ok(()) };
        if lineage::indexed(self.connection, row.space, &row.name)? != Some(lin) {
            let message = format!("lineage {:?}: the index of names does not lead to its row", row.name);
            let finding = self.find(FindingCode::Index, message, REBUILD);
            (finding.space, finding.lineage) = (Some(row.space), Some(row.name));
        }
        Ok(())
    }

    fn checkpoint(&mut self, seq: Seq) -> Result<()> {
        self.page.counted.checkpoints += 1;
        let found = row::read(self.connection, seq);
        let Some(row) = self.damage(found)?.flatten() else { return Ok(()) };
        let header = &row.header;
        if !row::indexed(self.connection, header.space, &header.id)?.contains(&seq) {
            self.find_at(FindingCode::Index, &row, "the index of ids does not lead to its row", REBUILD);
        }
        let order = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_lineage
                     WHERE lin = ? AND sort_key = ? AND seq = ? AND label = ?";
        if self.number(order, params![row.lin, header.rank.0, seq, header.label])? != 1 {
            self.find_at(FindingCode::Index, &row, "the index of its lineage does not lead to its row", REBUILD);
        }
        self.parent(&row)?;
        self.chain(&row)?;
        self.page.counted.payloads += 1;
        let split = payloads::load(self.connection, &self.cache, seq).and_then(|payload| frame::split(&payload.raw));
        let marks = logs::check_marks(self.connection, seq, row.logs.as_deref());
        for outcome in [split.map(drop), marks] {
            match outcome {
                Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
                    self.find_at(FindingCode::Corrupt, &row, error.message(), RESTORE);
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// What it cannot be read without.
    fn parent(&mut self, row: &HeaderRow) -> Result<()> {
        let header = &row.header;
        if !header.depends_on_parent {
            return Ok(());
        }
        let dependent = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_dependent
                         WHERE lin = ? AND parent IS ? AND seq = ? AND flags & 1";
        if self.number(dependent, params![row.lin, header.parent, row.seq])? != 1 {
            self.find_at(FindingCode::Index, row, "the index of what depends on a parent does not lead to its row", REBUILD);
        }
        let parent = header.parent.as_ref().map(|parent| row::by_id(self.connection, header.space, parent));
        let found = matches!(parent, Some(Ok(Some(_))) | Some(Err(_)));
        if !found {
            self.find_at(FindingCode::Orphan, row, "its parent is gone, and it cannot be read without that", RESTORE);
        }
        Ok(())
    }

    /// Its place in the lists of what is built on what.
    fn chain(&mut self, row: &HeaderRow) -> Result<()> {
        let read = chain::read(self.connection, row.seq);
        let Some(Some(own)) = self.damage(read)? else { return Ok(()) };
        let listed = chain::listed(self.connection, row.seq);
        self.damage(listed)?;
        if let Some(base) = own.base {
            let siblings = chain::listed(self.connection, base);
            if siblings.is_ok_and(|siblings| !siblings.iter().any(|(seq, _)| *seq == row.seq)) {
                self.find_at(FindingCode::Index, row, "the list of what is built on its base lacks it", RESTORE);
            }
        }
        Ok(())
    }

    fn write(&mut self, num: i64) -> Result<()> {
        self.page.counted.writes += 1;
        let found = writes::read(self.connection, num);
        let Some(row) = self.damage(found)?.flatten() else { return Ok(()) };
        let opened = row.open(self.connection);
        self.damage(opened)?;
        if !writes::indexed(self.connection, row.space, &row.id)?.contains(&num) {
            let message = format!("what task {:?} wrote to {:?}: the index does not lead to its row", row.task, row.id);
            let finding = self.find(FindingCode::Index, message, REBUILD);
            (finding.space, finding.id) = (Some(row.space), Some(row.id));
        }
        Ok(())
    }

    fn record(&mut self, num: i64) -> Result<()> {
        self.page.counted.records += 1;
        let found = logs::check_record(self.connection, num);
        self.damage(found).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        let connection = Connection::open_in_memory().unwrap();
        let place = Place { stage: 2, after: 7, done: 9, of: 100 };
        let read = Place::read(&connection, &place.cursor()).unwrap();
        assert_eq!((read.stage, read.after, read.done, read.of), (2, 7, 9, 100));
        assert!(Place::read(&connection, &CheckCursor("nonsense".to_owned())).is_err());
    }
}
