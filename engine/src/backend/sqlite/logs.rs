//! Stores logs in rows. [`crate::backend::logs`] explains logs, branches, records and ends.
//!
//! Each row of `log`, `log_branch` and `record` has a checksum over its columns. A row found by an index is read again
//! by its number and compared with the query, so a damaged index cannot yield a wrong record.

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, Params, Row, params};

use super::log_rows::{branch, branch_sum, head, key_hash, misled, record, record_name};
use super::statement::{all, each, execute, exists, first, number, one};
use crate::backend::logs::{Branch, BranchId, Branches, End, LogRows, with_ancestors};
use crate::backend::marks::{decode_marks, head_sum, open_position, open_record, record_sum, seal_record};
use crate::backend::number::{signed, unsigned};
use crate::error::Result;
use crate::record::{ContractId, Record, Seq};

/// The tables of logs. The first log creates them, so they cost nothing in a file that has no logs.
///
/// The numbers of removed logs and records may be reused, because no row refers to them. Branch numbers are not reused,
/// because marks and other branches refer to them: a damaged reference finds nothing instead of another branch.
pub(super) const TABLES: &str = "
CREATE TABLE log (
  log    INTEGER PRIMARY KEY,
  lin    INTEGER NOT NULL,
  name   TEXT NOT NULL,
  branch INTEGER NOT NULL,                  -- the branch in which its last record stands
  length INTEGER NOT NULL,                  -- how many records it has, those of the branch's ancestors among them
  sum    INTEGER NOT NULL                   -- of all these but log
) STRICT;
CREATE UNIQUE INDEX log_name   ON log (lin, name);
CREATE INDEX        log_head   ON log (branch);

CREATE TABLE log_branch (
  branch   INTEGER PRIMARY KEY AUTOINCREMENT,
  contract INTEGER NOT NULL,                -- whose records they are
  parent   INTEGER,                         -- the branch that it goes on from; NULL: from the beginning
  start    INTEGER NOT NULL,                -- the position of its first record
  sum      INTEGER NOT NULL                 -- of all these
) STRICT;
CREATE INDEX log_branch_parent ON log_branch (parent, start) WHERE parent IS NOT NULL;

CREATE TABLE record (
  num      INTEGER PRIMARY KEY,
  branch   INTEGER NOT NULL,
  pos      INTEGER NOT NULL,                -- its position in every log that has it
  key_hash INTEGER,                         -- of the key
  key      TEXT,
  sum      INTEGER NOT NULL,                -- of branch, pos, key and body
  body     BLOB NOT NULL                    -- the codec's envelope of tag and bytes
) STRICT;
CREATE UNIQUE INDEX record_pos ON record (branch, pos);
CREATE INDEX        record_key ON record (branch, key_hash) WHERE key_hash IS NOT NULL;

CREATE TABLE log_mark (                     -- an index of the marks in checkpoint.logs, by branch
  branch INTEGER NOT NULL,
  length INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  PRIMARY KEY (branch, length, seq)
) STRICT, WITHOUT ROWID;
";

/// Returns 1 if the file has tables of logs. Checking one table is enough: if another is missing, the file is damaged,
/// and a statement that needs it fails.
const PRESENT: &str = "SELECT 1 FROM sqlite_schema WHERE name IN ('log', 'log_branch', 'record', 'log_mark') LIMIT 1";

// In these statements, `i` is a row's entry in the index, and `r` is the row in the table.

const HEAD: &str = "SELECT r.lin, r.name, r.branch, r.length, r.sum
    FROM log i CROSS JOIN log r ON r.log = i.log WHERE i.lin = ? AND i.name = ?";
const HEADS: &str = "SELECT r.lin, r.name, r.branch, r.length, r.sum
    FROM log i CROSS JOIN log r ON r.log = i.log WHERE i.lin = ? ORDER BY i.name";
const NEEDED: &str = "SELECT max(coalesce((SELECT max(length) FROM log WHERE branch = ?1), 0),
    coalesce((SELECT max(length) FROM log_mark WHERE branch = ?1), 0),
    coalesce((SELECT max(start) FROM log_branch WHERE parent = ?1), 0))";
const TIP: &str = "SELECT pos FROM record WHERE branch = ? ORDER BY pos DESC LIMIT 1";
const CUT: &str = "DELETE FROM record WHERE num IN (
    SELECT r.num FROM record i CROSS JOIN record r ON r.num = i.num
    WHERE i.branch = ?1 AND i.pos >= ?2 AND +r.branch = ?1 AND +r.pos = i.pos)
    RETURNING num, length(body)";
const READ: &str = "SELECT r.num, r.branch, r.pos, r.key_hash, r.key, r.sum, r.body, i.pos
    FROM record i CROSS JOIN record r ON r.num = i.num
    WHERE i.branch = ?1 AND i.pos >= ?2 AND i.pos < ?3 ORDER BY i.pos";
const HAS_KEY: &str = "SELECT r.num, r.branch, r.pos, r.key_hash, r.key, r.sum, r.body
    FROM record i CROSS JOIN record r ON r.num = i.num WHERE i.branch = ? AND i.key_hash = ?";

/// A record that was removed.
pub(super) struct Removed {
    pub contract: ContractId,
    pub num: i64,
    /// The size of the record's envelope, in bytes.
    pub bytes: i64,
}

/// The logs of a database, through one connection and in one transaction.
pub(super) struct Logs<'a> {
    connection: &'a Connection,
    /// True if the file has the tables of logs. Empty if not known yet.
    present: OnceCell<bool>,
    /// The records that were removed through this value. The caller subtracts them from the running totals.
    pub(super) removed: Vec<Removed>,
}

impl<'a> Logs<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, present: OnceCell::new(), removed: Vec::new() }
    }

    /// Returns true if the file has the tables of logs.
    fn present(&self) -> Result<bool> {
        if let Some(present) = self.present.get() {
            return Ok(*present);
        }
        let present = present(self.connection)?;
        Ok(*self.present.get_or_init(|| present))
    }

    /// Returns the first row. Returns `None` if there is no row or the file has no tables of logs.
    fn one<T>(&self, sql: &str, params: impl Params, read: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<Option<T>> {
        if self.present()? { one(self.connection, sql, params, read) } else { Ok(None) }
    }

    /// Returns true if a lineage has logs.
    pub(super) fn any(&self, lin: i64) -> Result<bool> {
        Ok(self.one("SELECT 1 FROM log WHERE lin = ? LIMIT 1", params![lin], |_| Ok(()))?.is_some())
    }

    /// Runs a statement that removes rows, if the tables exist.
    fn delete(&self, sql: &str, params: impl Params) -> Result<()> {
        if self.present()? { execute(self.connection, sql, params).map(drop) } else { Ok(()) }
    }
}

const BYTES: &str =
    "SELECT coalesce(sum(length(r.body)), 0) FROM record i CROSS JOIN record r ON r.num = i.num WHERE i.branch = ?";

/// The total size of the records in a lineage's branches, in bytes. `branches` are those that its checkpoints name.
pub(super) fn bytes_of(connection: &Connection, lin: i64, mut branches: BTreeSet<BranchId>) -> Result<u64> {
    if !present(connection)? {
        return Ok(0);
    }
    branches.extend(all::<BranchId>(connection, "SELECT branch FROM log WHERE lin = ?", [lin], first)?);
    let parent = "SELECT parent FROM log_branch WHERE branch = ?";
    let parent_of = |branch| Ok(one(connection, parent, [branch], |row| Ok(row.get(0)?))?.flatten());
    let branches = with_ancestors(branches, parent_of)?;
    branches.into_iter().map(|branch| Ok(unsigned(number(connection, BYTES, [branch])?))).sum()
}

/// The sizes of the logs of all lineages.
#[derive(Default)]
pub(super) struct LogSizes {
    heads: HashMap<i64, Vec<BranchId>>,
    parents: HashMap<BranchId, BranchId>,
    bytes: HashMap<BranchId, u64>,
}

impl LogSizes {
    /// Reads a few columns of every record, in the order of the table.
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let mut sizes = Self::default();
        if !present(connection)? {
            return Ok(sizes);
        }
        each(connection, "SELECT lin, branch FROM log", [], |row| {
            sizes.heads.entry(row.get(0)?).or_default().push(row.get(1)?);
            Ok(())
        })?;
        each(connection, "SELECT branch, parent FROM log_branch WHERE parent IS NOT NULL", [], |row| {
            sizes.parents.insert(row.get(0)?, row.get(1)?);
            Ok(())
        })?;
        each(connection, "SELECT branch, length(body) FROM record NOT INDEXED", [], |row| {
            *sizes.bytes.entry(row.get(0)?).or_default() += unsigned(row.get(1)?);
            Ok(())
        })?;
        Ok(sizes)
    }

    /// The total size of the records in a lineage's branches, in bytes. `marked` are those that its checkpoints name.
    pub(super) fn of(&self, lin: i64, marked: impl IntoIterator<Item = BranchId>) -> Result<u64> {
        let branches = marked.into_iter().chain(self.heads.get(&lin).into_iter().flatten().copied());
        let branches = with_ancestors(branches, |branch| Ok(self.parents.get(&branch).copied()))?;
        Ok(branches.iter().filter_map(|branch| self.bytes.get(branch)).sum())
    }
}

/// The branches of the marks of a checkpoint.
pub(super) fn marked(logs: Option<&[u8]>) -> Result<impl Iterator<Item = BranchId>> {
    Ok(decode_marks(logs)?.into_iter().filter_map(|mark| Some(mark.end?.branch)))
}

impl Branches for Logs<'_> {
    fn branch(&self, id: BranchId) -> Result<Option<Branch>> {
        let sql = "SELECT contract, parent, start, sum FROM log_branch WHERE branch = ?";
        self.one(sql, [id], |row| branch(row, id))
    }

    fn read(&self, id: BranchId, from: u64, to: u64, largest: usize) -> Result<Vec<Record>> {
        all(self.connection, READ, params![id, signed(from), signed(to)], |row| {
            let position = row.get(7)?;
            let (key, body) = record(row, id, position)?;
            open_record(key, &body, &record_name(id, position), largest)
        })
    }
}

impl Logs<'_> {
    /// Returns true if a record of the branch before position `below` has this key.
    fn has_key(&self, id: BranchId, below: u64, key: &str) -> Result<bool> {
        let hash = key_hash(key);
        let mut statement = self.connection.prepare_cached(HAS_KEY)?;
        let mut rows = statement.query(params![id, hash])?;
        while let Some(row) = rows.next()? {
            let position = row.get(2)?;
            let (found, _) = record(row, id, position)?;
            if row.get::<_, Option<i64>>(3)? != Some(hash) {
                return Err(misled(&format!("key {key:?}")));
            }
            if found.as_deref() == Some(key) && position < signed(below) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl LogRows for Logs<'_> {
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>> {
        let Some((name, end)) = self.one(HEAD, params![lin, log], |row| head(row, lin))? else { return Ok(None) };
        if name == log { Ok(Some(end)) } else { Err(misled(&format!("log {log:?}"))) }
    }

    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>> {
        if self.present()? { all(self.connection, HEADS, [lin], |row| head(row, lin)) } else { Ok(Vec::new()) }
    }

    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()> {
        let (branch, length) = (end.branch, signed(end.length));
        let sum = head_sum(lin, log, branch, length);
        // An append usually stays in the same branch. This update leaves the column `branch` unchanged, so SQLite need
        // not update the index by branch.
        let sql = "UPDATE log SET length = ?, sum = ? WHERE lin = ? AND name = ? AND branch = ?";
        if execute(self.connection, sql, params![length, sum, lin, log, branch])? == 0 {
            let sql = "INSERT INTO log (lin, name, branch, length, sum) VALUES (?, ?, ?, ?, ?)
                       ON CONFLICT (lin, name) DO UPDATE
                       SET branch = excluded.branch, length = excluded.length, sum = excluded.sum";
            execute(self.connection, sql, params![lin, log, branch, length, sum])?;
        }
        Ok(())
    }

    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()> {
        self.delete("DELETE FROM log WHERE lin = ? AND name = ?", params![lin, log])
    }

    fn create_branch(&mut self, branch: Branch) -> Result<BranchId> {
        if !self.present()? {
            self.connection.execute_batch(TABLES)?;
            self.present = OnceCell::from(true);
        }
        // Choose the number here, because the checksum of the row includes it.
        let sql = "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'log_branch'), 0),
                              coalesce((SELECT max(branch) FROM log_branch), 0))";
        let last: i64 = self.one(sql, [], first)?.unwrap_or_default();
        let (id, contract) = (last + 1, i64::from(branch.contract.0));
        let (parent, start) = (branch.parent.map(|parent| parent.branch), signed(branch.start()));
        let sum = branch_sum(id, contract, parent, start);
        let sql = "INSERT INTO log_branch (branch, contract, parent, start, sum) VALUES (?, ?, ?, ?, ?)";
        execute(self.connection, sql, params![id, contract, parent, start, sum])?;
        Ok(id)
    }

    fn remove_branch(&mut self, id: BranchId) -> Result<()> {
        self.delete("DELETE FROM log_branch WHERE branch = ?", [id])
    }

    fn needed(&self, id: BranchId) -> Result<Option<u64>> {
        let length = self.one(NEEDED, [id], first)?.unwrap_or_default();
        Ok(Some(open_position(length)?).filter(|length| *length > 0))
    }

    fn tip(&self, id: BranchId) -> Result<Option<u64>> {
        let last = self.one(TIP, [id], first)?;
        last.map(|last| Ok(open_position(last)? + 1)).transpose()
    }

    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()> {
        let sql = "INSERT INTO record (branch, pos, key_hash, key, sum, body) VALUES (?, ?, ?, ?, ?, ?)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for (position, record) in (signed(at)..).zip(records) {
            let key = record.key.as_deref();
            let body = seal_record(record);
            let sum = record_sum(id, position, key, &body);
            let row = params![id, position, key.map(key_hash), key, sum, body];
            statement.execute(row)?;
        }
        Ok(())
    }

    fn cut(&mut self, id: BranchId, from: u64) -> Result<()> {
        let contract = self.branch(id)?.map_or(ContractId(0), |branch| branch.contract);
        // The statement compares each row with its index entry, so a damaged index cannot delete records of another
        // branch.
        let read = |row: &Row<'_>| Ok(Removed { contract, num: row.get(0)?, bytes: row.get(1)? });
        self.removed.extend(all(self.connection, CUT, params![id, signed(from)], read)?);
        Ok(())
    }

    fn with_keys<'k>(&self, id: BranchId, below: u64, keys: &[&'k str]) -> Result<HashSet<&'k str>> {
        let mut found = HashSet::new();
        for key in keys {
            if self.has_key(id, below, key)? {
                found.insert(*key);
            }
        }
        Ok(found)
    }

    fn hold(&mut self, seq: Seq, end: End) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO log_mark (branch, length, seq) VALUES (?, ?, ?)";
        execute(self.connection, sql, params![end.branch, signed(end.length), seq]).map(drop)
    }

    fn let_go(&mut self, seq: Seq, end: End) -> Result<()> {
        let sql = "DELETE FROM log_mark WHERE branch = ? AND length = ? AND seq = ?";
        self.delete(sql, params![end.branch, signed(end.length), seq])
    }
}

/// Returns true if the file has the tables of logs. The first log creates them.
pub(super) fn present(connection: &Connection) -> Result<bool> {
    exists(connection, PRESENT, [])
}

/// Returns the greatest number of a record, or 0 if there are no records.
pub(super) fn last_record(connection: &Connection) -> Result<i64> {
    if !present(connection)? {
        return Ok(0);
    }
    number(connection, "SELECT coalesce(max(num), 0) FROM record", [])
}
