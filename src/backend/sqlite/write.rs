//! A batch as one transaction.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::error::{from_commit, from_sqlite};
use super::payloads::{self, Payloads};
use crate::codec::frame;
use crate::codec::heads::SharedHeads;
use crate::error::{Error, Result};
use crate::op::{Op, Unit};
use crate::record::{Checkpoint, Seq, Space};

/// Where a transaction failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// In one of the units: the others may do better alone.
    Unit(Error),
    /// At its begin or commit: it is the same for all.
    Whole(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unit(error) | Failure::Whole(error) => error,
        }
    }
}

/// Applies the units in one transaction: all of them are committed, or none.
pub(super) fn transaction(connection: &mut Connection, heads: &SharedHeads, batch: &[Unit]) -> Result<(), Failure> {
    let whole = |error| Failure::Whole(from_sqlite(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(whole)?;
    let mut writing = Writing::begin(&transaction, heads).map_err(Failure::Whole)?;
    for op in batch.iter().flatten() {
        writing.op(op).map_err(Failure::Unit)?;
    }
    let written = writing.payloads.finish();
    transaction.commit().map_err(|error| Failure::Whole(from_commit(error)))?;
    // Only now: a number that was rolled back is given out again.
    heads.keep_all(written);
    Ok(())
}

/// A transaction under way.
struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    payloads: Payloads<'a>,
    last_seq: Seq,
}

impl<'a> Writing<'a> {
    fn begin(transaction: &'a Transaction<'a>, heads: &'a SharedHeads) -> Result<Self> {
        // The floor stands in for rows that were the last when they were removed: no seq is given out twice.
        let last_seq = transaction
            .prepare_cached(
                "SELECT max(coalesce((SELECT max(seq) FROM checkpoint), 0),
                            coalesce((SELECT value FROM setting WHERE name = 'seq_floor'), 0))",
            )
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(from_sqlite)?;
        Ok(Self { transaction, payloads: Payloads::new(transaction, heads), last_seq })
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Put(checkpoint) => {
                let id = &checkpoint.header.id;
                self.put(checkpoint).map_err(|error| error.context(&format!("checkpoint {id:?}")))
            }
            Op::Remove { space, id } => {
                self.remove(*space, id).map_err(|error| error.context(&format!("checkpoint {id:?}")))
            }
        }
    }

    fn put(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let header = &checkpoint.header;
        // The lineage first: replacing its only checkpoint must not end it and begin it anew.
        let lin = self.lineage(header.space, &header.lineage, &header.group)?;
        let replaced = self.find(header.space, &header.id)?;
        if let Some((seq, _)) = replaced {
            self.delete(seq)?;
        }
        let newest = self.newest(lin)?;
        let base = match (newest, &header.parent) {
            (None, Some(parent)) => self.find(header.space, parent)?.map(|(seq, _)| seq),
            (newest, _) => newest,
        };
        self.last_seq += 1;
        self.execute(
            "INSERT INTO checkpoint (seq, lin, id, parent, grp, label, rank, meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                self.last_seq,
                lin,
                header.id,
                header.parent,
                header.group,
                header.label,
                header.rank.0,
                header.meta
            ],
        )?;
        let raw = frame::join(&checkpoint.payload).into();
        self.payloads.store(payloads::New { seq: self.last_seq, raw, base, supersedes: newest })?;
        match replaced {
            Some((_, old)) if old != lin => self.end_lineage_if_empty(old),
            _ => Ok(()),
        }
    }

    fn remove(&mut self, space: Space, id: &str) -> Result<()> {
        let Some((seq, lin)) = self.find(space, id)? else { return Ok(()) };
        self.delete(seq)?;
        if seq == self.last_seq {
            self.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('seq_floor', ?)", params![seq])?;
        }
        self.end_lineage_if_empty(lin)
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<()> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map(drop)
            .map_err(from_sqlite)
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, read).optional())
            .map_err(from_sqlite)
    }

    fn lineage(&self, space: Space, name: &str, group: &str) -> Result<i64> {
        let sql = "SELECT lin FROM lineage WHERE space = ? AND name = ?";
        let known = self.one(sql, params![space.0, name], |row| row.get(0))?;
        if let Some(lin) = known {
            return Ok(lin);
        }
        self.execute("INSERT INTO lineage (space, name, grp) VALUES (?, ?, ?)", params![space.0, name, group])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn find(&self, space: Space, id: &str) -> Result<Option<(Seq, i64)>> {
        let sql = "SELECT seq, lin FROM checkpoint CROSS JOIN lineage USING (lin) WHERE id = ? AND space = ?";
        self.one(sql, params![id, space.0], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn newest(&self, lin: i64) -> Result<Option<Seq>> {
        let sql = "SELECT seq FROM checkpoint WHERE lin = ? ORDER BY rank DESC, seq DESC LIMIT 1";
        self.one(sql, params![lin], |row| row.get(0))
    }

    fn delete(&mut self, seq: Seq) -> Result<()> {
        self.execute("DELETE FROM checkpoint WHERE seq = ?", params![seq])?;
        self.payloads.remove(seq)
    }

    fn end_lineage_if_empty(&self, lin: i64) -> Result<()> {
        self.execute(
            "DELETE FROM lineage WHERE lin = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ?1)",
            params![lin],
        )
    }
}
