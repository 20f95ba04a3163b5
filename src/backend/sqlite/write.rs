//! A batch as one transaction.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::error::{from_commit, from_sqlite};
use super::payloads::{self, Payloads};
use super::retention::Shelf;
use super::writes;
use crate::backend::inherit::Inherited;
use crate::codec::frame;
use crate::codec::heads::SharedHeads;
use crate::error::{Code, Error, Result};
use crate::op::{self, Op, Unit};
use crate::record::{Checkpoint, Payload, Prepared, Rank, Seq, Space};
use crate::retention::{Ledger, Prune, Pruned, plan};

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
    heads.keep(written);
    Ok(())
}

/// Removes one batch of what a rule names, in one transaction.
pub(super) fn prune(connection: &mut Connection, heads: &SharedHeads, prune: &Prune) -> Result<Pruned> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
    let mut writing = Writing::begin(&transaction, heads)?;
    let plan = plan(&Shelf(&transaction), prune, &mut Ledger::default())?;
    let (bytes, lineages) = writing.remove_all(&plan.victims)?;
    drop(writing);
    transaction.commit().map_err(from_commit)?;
    Ok(plan.done(bytes, lineages))
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
            Op::Expect { space, lineage, newest, or } => {
                let found = match self.known(*space, lineage)? {
                    Some(lin) => {
                        let sql = "SELECT id FROM checkpoint WHERE lin = ? ORDER BY rank DESC, seq DESC LIMIT 1";
                        self.one(sql, params![lin], |row| row.get::<_, String>(0))?
                    }
                    None => None,
                };
                op::expect(found.as_deref(), newest.as_deref(), or)
            }
            Op::Remove { space, id } => {
                self.remove(*space, id).map_err(|error| error.context(&format!("checkpoint {id:?}")))
            }
            Op::RemoveFrom { space, lineage, rank } => self.remove_from(*space, lineage, rank),
            Op::RemoveGroup { space, group } => self.remove_group(*space, group),
            Op::Write { space, id, writes, replace, prepared } => {
                writes::add(self.transaction, *space, id, writes, *replace, prepared.as_deref())
            }
            Op::Claim { space, id, owner } => writes::claim(self.transaction, *space, id, owner),
            Op::Release { space, id } => writes::release(self.transaction, *space, id),
            Op::RemoveWrites { space, prefix } => writes::remove_prefix(self.transaction, *space, prefix),
            Op::KeepLast { space, lineage, keep, pinned } => self.keep_last(*space, lineage, *keep, pinned),
        }
    }

    fn put(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let header = &checkpoint.header;
        // The lineage first: replacing its only checkpoint must not end it and begin it anew.
        let lin = self.lineage(header.space, &header.lineage, &header.group)?;
        // While the one that is replaced is still there.
        let prepared = self.prepared(checkpoint)?;
        let raw = match (prepared, &checkpoint.payload.inherit[..]) {
            (Some(prepared), _) => prepared.raw.clone(),
            (None, []) => frame::join(&checkpoint.payload).into(),
            (None, _) => frame::join(&self.with_inherited(checkpoint, lin)?).into(),
        };
        let replaced = self.find(header.space, &header.id)?;
        if let Some((seq, _)) = replaced {
            self.delete(&[seq])?;
        }
        let newest = self.newest(lin)?;
        let base = match (newest, &header.parent) {
            (None, Some(parent)) => self.find(header.space, parent)?.map(|(seq, _)| seq),
            (newest, _) => newest,
        };
        self.last_seq += 1;
        self.execute(
            "INSERT INTO checkpoint (seq, lin, id, parent, grp, label, rank, meta, saved_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                self.last_seq,
                lin,
                header.id,
                header.parent,
                header.group,
                header.label,
                header.rank.0,
                header.meta,
                header.saved_at
            ],
        )?;
        let seq = self.last_seq;
        self.payloads.store(payloads::New { seq, header, raw, prepared, base, supersedes: newest })?;
        match replaced {
            Some((_, old)) if old != lin => self.end_lineage_if_empty(old).map(drop),
            _ => Ok(()),
        }
    }

    /// What was made of the payload ahead of its turn, if its parent is still what it was then.
    fn prepared<'p>(&self, checkpoint: &'p Checkpoint) -> Result<Option<&'p Prepared>> {
        let Some(prepared) = &checkpoint.payload.prepared else { return Ok(None) };
        let parent = match (prepared.parent, &checkpoint.header.parent) {
            (None, _) | (_, None) => None,
            (_, Some(parent)) => self.find(checkpoint.header.space, parent)?.map(|(seq, _)| seq),
        };
        Ok((prepared.parent == parent).then_some(prepared))
    }

    /// The payload with the parts that it has from its parent, or from the newest of its lineage that has them.
    fn with_inherited(&self, checkpoint: &Checkpoint, lin: i64) -> Result<Payload> {
        let header = &checkpoint.header;
        let mut payload = checkpoint.payload.clone();
        let mut found = Inherited::of(&mut payload);
        let parent = match &header.parent {
            Some(parent) => self.find(header.space, parent)?.map(|(seq, _)| seq),
            None => None,
        };
        // One that is damaged must not keep new checkpoints from being saved: what it had is looked for elsewhere.
        let payload_of = |seq| match self.payloads.load(seq).and_then(|head| frame::split(&head.raw)) {
            Err(error) if error.code() == Code::Corrupt => Ok(Payload::default()),
            other => other,
        };
        if let Some(parent) = parent {
            found.take_parents(&payload_of(parent)?);
        }
        if !found.is_complete() {
            let newest = "SELECT seq FROM checkpoint WHERE lin = ? ORDER BY rank DESC, seq DESC";
            for seq in self.seqs(newest, params![lin])? {
                found.take(&payload_of(seq)?);
                if found.is_complete() {
                    break;
                }
            }
        }
        found.into_payload(&mut payload);
        Ok(payload)
    }

    fn remove(&mut self, space: Space, id: &str) -> Result<()> {
        match self.find(space, id)? {
            Some((seq, _)) => self.remove_all(&[seq]).map(drop),
            None => Ok(()),
        }
    }

    fn remove_from(&mut self, space: Space, lineage: &str, rank: &Rank) -> Result<()> {
        let Some(lin) = self.known(space, lineage)? else { return Ok(()) };
        let victims = self.seqs("SELECT seq FROM checkpoint WHERE lin = ? AND rank >= ?", params![lin, rank.0])?;
        self.remove_all(&victims).map(drop)
    }

    fn remove_group(&mut self, space: Space, group: &str) -> Result<()> {
        let sql = "SELECT seq FROM checkpoint CROSS JOIN lineage USING (lin)
                   WHERE checkpoint.grp = ? AND checkpoint.grp <> '' AND space = ?";
        let victims = self.seqs(sql, params![group, space.0])?;
        self.remove_all(&victims).map(drop)
    }

    fn seqs(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Seq>> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, |row| row.get(0))?.collect())
            .map_err(from_sqlite)
    }

    fn keep_last(&mut self, space: Space, lineage: &str, keep: u64, pinned: &str) -> Result<()> {
        let Some(lin) = self.known(space, lineage)? else { return Ok(()) };
        let pinned = self.find(space, pinned)?.map(|(seq, _)| seq);
        let victims = Ledger::default().beyond(&Shelf(self.transaction), lin, keep, pinned, usize::MAX)?;
        self.remove_all(&victims.iter().map(|entry| entry.seq).collect::<Vec<_>>()).map(drop)
    }

    /// Removes what was planned, and tells the bytes and the lineages that went with it.
    fn remove_all(&mut self, victims: &[Seq]) -> Result<(i64, u64)> {
        for seq in victims {
            let sql = "SELECT space, id FROM checkpoint CROSS JOIN lineage USING (lin) WHERE seq = ?";
            let named = self.one(sql, params![seq], |row| Ok((Space(row.get(0)?), row.get::<_, String>(1)?)))?;
            if let Some((space, id)) = named {
                writes::remove(self.transaction, space, &id)?;
            }
        }
        let (bytes, lineages) = self.delete(victims)?;
        if victims.contains(&self.last_seq) {
            let sql = "INSERT OR REPLACE INTO setting (name, value) VALUES ('seq_floor', ?)";
            self.execute(sql, params![self.last_seq])?;
        }
        let mut ended = 0;
        for lin in lineages {
            ended += u64::from(self.end_lineage_if_empty(lin)?);
        }
        Ok((bytes, ended))
    }

    /// How many rows it has changed.
    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        self.transaction.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(from_sqlite)
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
        if let Some(lin) = self.known(space, name)? {
            return Ok(lin);
        }
        self.execute("INSERT INTO lineage (space, name, grp) VALUES (?, ?, ?)", params![space.0, name, group])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn known(&self, space: Space, name: &str) -> Result<Option<i64>> {
        let sql = "SELECT lin FROM lineage WHERE space = ? AND name = ?";
        self.one(sql, params![space.0, name], |row| row.get(0))
    }

    fn find(&self, space: Space, id: &str) -> Result<Option<(Seq, i64)>> {
        let sql = "SELECT seq, lin FROM checkpoint CROSS JOIN lineage USING (lin) WHERE id = ? AND space = ?";
        self.one(sql, params![id, space.0], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn newest(&self, lin: i64) -> Result<Option<Seq>> {
        let sql = "SELECT seq FROM checkpoint WHERE lin = ? ORDER BY rank DESC, seq DESC LIMIT 1";
        self.one(sql, params![lin], |row| row.get(0))
    }

    /// The rows and their payloads. Tells the bytes that they took, and the lineages that they were of.
    fn delete(&mut self, victims: &[Seq]) -> Result<(i64, BTreeSet<i64>)> {
        let mut lineages = BTreeSet::new();
        for seq in victims {
            let sql = "DELETE FROM checkpoint WHERE seq = ? RETURNING lin";
            lineages.extend(self.one(sql, params![seq], |row| row.get::<_, i64>(0))?);
        }
        Ok((self.payloads.remove(victims)?, lineages))
    }

    fn end_lineage_if_empty(&self, lin: i64) -> Result<bool> {
        let sql = "DELETE FROM lineage WHERE lin = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint WHERE lin = ?1)";
        Ok(self.execute(sql, params![lin])? > 0)
    }
}
