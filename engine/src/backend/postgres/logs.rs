//! Stores logs in rows. [`crate::backend::logs`] explains logs, branches, records and ends.
//!
//! All branches of a log belong to one lineage, whose lock protects them. For this reason, a fork copies the records.

use std::collections::HashSet;

use super::key;
use super::row;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::logs::{Branch, BranchId, Branches, End, LogRows, Mark};
use crate::backend::marks::{
    damaged, head_sum, open_branch, open_head, open_position, open_record, record_sum, seal_record,
};
use crate::backend::number::signed;
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::record::{ContractId, Record, Seq};

/// Replaces the branch in the checksum of a record, because a fork copies records into other branches.
const OF_ANY_BRANCH: BranchId = 0;

/// The logs of a database, in one transaction.
pub(super) struct Logs<'a>(pub(super) &'a Transaction<'a>);

macro_rules! of_log {
    () => {
        "lin = $1 AND substr(sha256(name), 1, 16) = substr(sha256($2), 1, 16) AND name = $2"
    };
}

/// The checksum of a branch. It does not cover the branch's number, which the server has yet to assign.
fn branch_sum(contract: i16, parent: Option<i64>, start: i64) -> i64 {
    Sum::new().text("log_branch").int(contract.into()).opt_int(parent).int(start).finish()
}

impl Logs<'_> {
    pub(super) fn head_of(row: &tokio_postgres::Row) -> Result<(String, End)> {
        let name = row::text(row, 1)?;
        let end = open_head(row.get(0), &name, row.get(2), row.get(3), row.get(4))?;
        Ok((name, end))
    }

    pub(super) fn branch_of(row: &tokio_postgres::Row) -> Result<Branch> {
        let (contract, parent, start): (i16, _, _) = (row.get(1), row.get(2), row.get(3));
        let is_whole = branch_sum(contract, parent, start) == row.get::<_, i64>(4);
        open_branch(row.get(0), contract.into(), parent, start, is_whole)
    }

    pub(super) fn record_of(branch: BranchId, row: &tokio_postgres::Row, largest: usize) -> Result<Record> {
        let (position, key, body) = (row.get::<_, i64>(0), row::opt_text(row, 1)?, row.get::<_, Vec<u8>>(3));
        let what = || format!("the record at {position} of branch {branch}");
        if record_sum(OF_ANY_BRANCH, position, key.as_deref(), &body) != row.get::<_, i64>(2) {
            return Err(damaged(&what()));
        }
        open_record(key, &body, &what(), largest)
    }

    /// Copies the named records into new branches, and returns the marks of the copies.
    pub(super) fn copy(&mut self, contract: ContractId, marks: &[Mark]) -> Result<Vec<Mark>> {
        marks.iter().map(|mark| self.copy_mark(contract, mark)).collect()
    }

    fn copy_mark(&mut self, contract: ContractId, mark: &Mark) -> Result<Mark> {
        let Some(end) = mark.end else { return Ok(mark.clone()) };
        let branch = self.create_branch(Branch { contract, parent: None })?;
        let (mut from, mut length) = (Some(end), end.length);
        while let Some(End { branch: source, .. }) = from {
            let Some(found) = self.branch(source)? else { return Err(damaged(&format!("log {:?}", mark.log))) };
            self.0.later(
                "INSERT INTO @record (branch, pos, key, sum, body)
                   SELECT $1, pos, key, sum, body FROM @record WHERE branch = $2 AND pos >= $3 AND pos < $4",
                values![branch, source, signed(found.start()), signed(length)],
            );
            length = found.start();
            from = found.parent;
        }
        Ok(Mark { log: mark.log.clone(), end: Some(End { branch, length: end.length }) })
    }
}

impl Branches for Logs<'_> {
    fn branch(&self, id: BranchId) -> Result<Option<Branch>> {
        let sql = "SELECT branch, contract, parent, start, sum FROM @log_branch WHERE branch = $1";
        self.0.one(sql, values![id])?.as_ref().map(Self::branch_of).transpose()
    }

    fn read(&self, id: BranchId, from: u64, to: u64, largest: usize) -> Result<Vec<Record>> {
        let sql = "SELECT pos, key, sum, body FROM @record WHERE branch = $1 AND pos >= $2 AND pos < $3 ORDER BY pos";
        let rows = self.0.query(sql, values![id, signed(from), signed(to)])?;
        rows.iter().map(|row| Self::record_of(id, row, largest)).collect()
    }
}

impl LogRows for Logs<'_> {
    fn head(&self, lin: i64, log: &str) -> Result<Option<End>> {
        const SQL: &str = concat!("SELECT lin, name, branch, length, sum FROM @log WHERE ", of_log!());
        let found = self.0.one(SQL, values![lin, log])?;
        Ok(found.as_ref().map(Self::head_of).transpose()?.map(|(_, end)| end))
    }

    fn heads(&self, lin: i64) -> Result<Vec<(String, End)>> {
        let sql = "SELECT lin, name, branch, length, sum FROM @log WHERE lin = $1 ORDER BY name";
        self.0.query(sql, values![lin])?.iter().map(Self::head_of).collect()
    }

    fn set_head(&mut self, lin: i64, log: &str, end: End) -> Result<()> {
        let sql = "INSERT INTO @log (lin, name, branch, length, sum) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (lin, substr(sha256(name), 1, 16))
                   DO UPDATE SET branch = excluded.branch, length = excluded.length, sum = excluded.sum";
        let (branch, length) = (end.branch, signed(end.length));
        self.0.later(sql, values![lin, log, branch, length, head_sum(lin, log, branch, length)]);
        Ok(())
    }

    fn remove_head(&mut self, lin: i64, log: &str) -> Result<()> {
        const SQL: &str = concat!("DELETE FROM @log WHERE ", of_log!());
        self.0.later(SQL, values![lin, log]);
        Ok(())
    }

    fn create_branch(&mut self, branch: Branch) -> Result<BranchId> {
        let sql = "INSERT INTO @log_branch (contract, parent, start, sum) VALUES ($1, $2, $3, $4) RETURNING branch";
        let contract = key::number(branch.contract);
        let (parent, start) = (branch.parent.map(|parent| parent.branch), signed(branch.start()));
        let created = self.0.one(sql, values![contract, parent, start, branch_sum(contract, parent, start)])?;
        created.map(|row| row.get(0)).ok_or_else(|| damaged("a new branch"))
    }

    fn remove_branch(&mut self, id: BranchId) -> Result<()> {
        self.0.later("DELETE FROM @log_branch WHERE branch = $1", values![id]);
        Ok(())
    }

    fn needed(&self, id: BranchId) -> Result<Option<u64>> {
        let sql = "SELECT greatest(coalesce((SELECT max(length) FROM @log WHERE branch = $1), 0),
                                   coalesce((SELECT max(length) FROM @log_mark WHERE branch = $1), 0),
                                   coalesce((SELECT max(start) FROM @log_branch WHERE parent = $1), 0))";
        let length = self.0.one(sql, values![id])?.map_or(0, |row| row.get(0));
        Ok(Some(open_position(length)?).filter(|length| *length > 0))
    }

    fn tip(&self, id: BranchId) -> Result<Option<u64>> {
        let last = self.0.one("SELECT max(pos) FROM @record WHERE branch = $1", values![id])?;
        last.and_then(|row| row.get::<_, Option<i64>>(0)).map(|last| Ok(open_position(last)? + 1)).transpose()
    }

    fn head_with_tip(&self, lin: i64, log: &str) -> Result<(Option<End>, Option<u64>)> {
        const SQL: &str = concat!(
            "SELECT lin, name, branch, length, sum, (SELECT max(r.pos) FROM @record AS r WHERE r.branch = o.branch)
             FROM @log AS o WHERE ",
            of_log!()
        );
        let Some(row) = self.0.one(SQL, values![lin, log])? else { return Ok((None, None)) };
        let last = row.get::<_, Option<i64>>(5).map(open_position).transpose()?;
        Ok((Some(Self::head_of(&row)?.1), last.map(|last| last + 1)))
    }

    fn push(&mut self, id: BranchId, at: u64, records: &[&Record]) -> Result<()> {
        let (mut positions, mut keys, mut sums, mut bodies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (position, record) in (signed(at)..).zip(records) {
            let (key, body) = (record.key.as_deref(), seal_record(record));
            positions.push(position);
            keys.push(key.map(|key| key.as_bytes().to_vec()));
            sums.push(record_sum(OF_ANY_BRANCH, position, key, &body));
            bodies.push(body);
        }
        self.0.later(
            "INSERT INTO @record (branch, pos, key, sum, body)
               SELECT $1, * FROM unnest($2, $3, $4, $5)",
            values![id, positions, keys, sums, bodies],
        );
        Ok(())
    }

    fn cut(&mut self, id: BranchId, from: u64) -> Result<()> {
        self.0.later("DELETE FROM @record WHERE branch = $1 AND pos >= $2", values![id, signed(from)]);
        Ok(())
    }

    fn with_keys<'k>(&self, id: BranchId, below: u64, keys: &[&'k str]) -> Result<HashSet<&'k str>> {
        let sql = "SELECT w.ord FROM unnest($2) WITH ORDINALITY AS w(key, ord) CROSS JOIN LATERAL (
                     SELECT FROM @record AS r WHERE r.branch = $1 AND substr(sha256(r.key), 1, 16) = substr(sha256(w.key), 1, 16)
                       AND r.key = w.key AND r.key IS NOT NULL AND r.pos < $3 LIMIT 1) AS found";
        let wanted: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        let found = row::numbers(&self.0.query(sql, values![id, wanted, signed(below)])?);
        Ok(found.into_iter().filter_map(|ord| keys.get(usize::try_from(ord - 1).ok()?).copied()).collect())
    }

    fn hold(&mut self, seq: Seq, end: End) -> Result<()> {
        self.0.later(
            "INSERT INTO @log_mark (branch, length, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            values![end.branch, signed(end.length), seq],
        );
        Ok(())
    }

    fn let_go(&mut self, seq: Seq, end: End) -> Result<()> {
        self.0.later(
            "DELETE FROM @log_mark WHERE branch = $1 AND length = $2 AND seq = $3",
            values![end.branch, signed(end.length), seq],
        );
        Ok(())
    }
}
