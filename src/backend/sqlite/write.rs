//! A batch as one transaction.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::{from_commit, from_sqlite};
use crate::codec::{envelope, frame};
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
pub(super) fn transaction(connection: &mut Connection, batch: &[Unit]) -> std::result::Result<(), Failure> {
    let whole = |error| Failure::Whole(from_sqlite(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(whole)?;
    let mut writing = Writing::begin(&transaction).map_err(Failure::Whole)?;
    for op in batch.iter().flatten() {
        writing.op(op).map_err(Failure::Unit)?;
    }
    transaction.commit().map_err(|error| Failure::Whole(from_commit(error)))
}

/// A transaction under way.
struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    last_seq: Seq,
}

impl<'a> Writing<'a> {
    fn begin(transaction: &'a Transaction<'a>) -> Result<Self> {
        // The floor stands in for rows that were the last when they were removed: no seq is given out twice.
        let last_seq = transaction
            .prepare_cached(
                "SELECT max(coalesce((SELECT max(seq) FROM checkpoint), 0),
                            coalesce((SELECT value FROM setting WHERE name = 'seq_floor'), 0))",
            )
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(from_sqlite)?;
        Ok(Self { transaction, last_seq })
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Put(checkpoint) => {
                let id = &checkpoint.header.id;
                self.put(checkpoint).map_err(|error| from_sqlite(error).context(&format!("checkpoint {id:?}")))
            }
            Op::Remove { space, id } => {
                self.remove(*space, id).map_err(|error| from_sqlite(error).context(&format!("checkpoint {id:?}")))
            }
        }
    }

    fn put(&mut self, checkpoint: &Checkpoint) -> rusqlite::Result<()> {
        let header = &checkpoint.header;
        // The lineage first: replacing its only checkpoint must not end it and begin it anew.
        let lin = self.lineage(header.space, &header.lineage, &header.group)?;
        let replaced = self.find(header.space, &header.id)?;
        if let Some((seq, _)) = replaced {
            self.delete(seq)?;
        }
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
        let body = envelope::seal(&frame::join(&checkpoint.payload));
        self.execute("INSERT INTO payload (seq, body) VALUES (?, ?)", params![self.last_seq, body])?;
        match replaced {
            Some((_, old)) if old != lin => self.end_lineage_if_empty(old),
            _ => Ok(()),
        }
    }

    fn remove(&mut self, space: Space, id: &str) -> rusqlite::Result<()> {
        let Some((seq, lin)) = self.find(space, id)? else { return Ok(()) };
        self.delete(seq)?;
        if seq == self.last_seq {
            self.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('seq_floor', ?)", params![seq])?;
        }
        self.end_lineage_if_empty(lin)
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(sql)?.execute(params).map(drop)
    }

    fn lineage(&self, space: Space, name: &str, group: &str) -> rusqlite::Result<i64> {
        let known = self
            .transaction
            .prepare_cached("SELECT lin FROM lineage WHERE space = ? AND name = ?")?
            .query_row(params![space.0, name], |row| row.get(0))
            .optional()?;
        if let Some(lin) = known {
            return Ok(lin);
        }
        self.execute("INSERT INTO lineage (space, name, grp) VALUES (?, ?, ?)", params![space.0, name, group])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn find(&self, space: Space, id: &str) -> rusqlite::Result<Option<(Seq, i64)>> {
        self.transaction
            .prepare_cached(
                "SELECT seq, lin FROM checkpoint CROSS JOIN lineage USING (lin)
                 WHERE id = ? AND space = ?",
            )?
            .query_row(params![id, space.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    fn delete(&self, seq: Seq) -> rusqlite::Result<()> {
        self.execute("DELETE FROM checkpoint WHERE seq = ?", params![seq])?;
        self.execute("DELETE FROM payload WHERE seq = ?", params![seq])
    }

    fn end_lineage_if_empty(&self, lin: i64) -> rusqlite::Result<()> {
        self.execute(
            "DELETE FROM lineage WHERE lin = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ?1)",
            params![lin],
        )
    }
}
