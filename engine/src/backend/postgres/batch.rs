//! A batch of units, and the state that a store keeps between batches.

use std::cell::{Cell, RefCell};

use super::heads::Heads;
use super::known::Known;
use super::session::Session;
use super::transaction::Transaction;
use super::value::values;
use super::writes;
use crate::cache::PayloadCache;
use crate::error::Result;
use crate::op::{Applied, Op, Unit};

/// A batch, and the number of this attempt, which all of its rows get.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) units: &'a [Unit],
    pub(super) call: i64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(units: &'a [Unit]) -> Self {
        Self { units, call: (uuid::Uuid::new_v4().as_u64_pair().0 >> 1).cast_signed() }
    }

    /// Returns true if an earlier attempt with one of these numbers has stored the batch. Its commit succeeded, but the
    /// answer was lost.
    pub(super) fn is_stored(self, open: &Transaction<'_>, known: &Known, calls: &[i64]) -> Result<bool> {
        if open.one("SELECT 1 FROM @batch WHERE call = ANY($1)", values![calls.to_vec()])?.is_some() {
            return Ok(true);
        }
        // A batch that was stored in one round trip has no note, but its rows have its number.
        for op in self.units.iter().flat_map(|unit| &unit.ops) {
            let stored = match op {
                Op::Put(draft) => {
                    let row = known.row(open, draft.header.contract, &draft.header.id)?;
                    row.is_some_and(|row| calls.contains(&row.call))
                }
                Op::Write { contract, id, .. } => writes::has_call(open, *contract, id, calls)?,
                _ => false,
            };
            if stored {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The state that a store keeps about the database.
pub(super) struct Memory {
    pub(super) cache: PayloadCache,
    pub(super) heads: RefCell<Heads>,
    /// The number of the last batch that this store has noted in the table of batches.
    pub(super) noted: Cell<i64>,
}

impl Memory {
    /// Notes the batch in the database, so that a later attempt learns whether this one was committed. Removes the note
    /// of the previous batch.
    pub(super) fn note(&self, open: &Transaction<'_>, call: i64) {
        self.forget_old_notes(open);
        open.later(
            "WITH before AS (DELETE FROM @batch WHERE call = $2) INSERT INTO @batch (call) VALUES ($1)",
            values![call, self.noted.get()],
        );
    }

    /// Before the first note of this store, removes notes of programs that have ended.
    pub(super) fn forget_old_notes(&self, open: &Transaction<'_>) {
        if self.noted.get() == 0 {
            open.later(
                "DELETE FROM @batch WHERE call IN (
                   SELECT call FROM @batch WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)",
                values![],
            );
        }
    }
}

/// The attempts that may have stored a batch: the answers to their commits were lost.
#[derive(Debug, Default)]
pub(super) struct Sent {
    calls: RefCell<Vec<i64>>,
    applied: RefCell<Vec<Applied>>,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.borrow().is_empty()
    }

    /// Adds an attempt, with its results in case it was committed.
    pub(super) fn add(&self, call: i64, applied: Vec<Applied>) {
        self.calls.borrow_mut().push(call);
        self.applied.replace(applied);
    }

    /// If one of the attempts has stored the batch, returns its results. The caller holds the locks. An attempt that is
    /// still running on the server will therefore fail: its optimistic write is outdated, and no row has its number.
    pub(super) fn resolve(
        &self,
        batch: Batch<'_>,
        open: &Transaction<'_>,
        known: &Known,
    ) -> Result<Option<Vec<Applied>>> {
        if self.is_empty() {
            return Ok(None);
        }
        if !batch.is_stored(open, known, &self.calls.borrow())? {
            self.calls.borrow_mut().clear();
            return Ok(None);
        }
        Ok(Some(self.applied.borrow().clone()))
    }

    /// Waits until the synchronous replicas have the stored batch. Its commit may have become visible without them,
    /// because its wait was canceled or the server was restarted.
    pub(super) fn confirm(&self, session: &Session) -> Result<()> {
        let open = Transaction::write(session, true);
        // The server waits for replicas only if a transaction has changed something.
        let own = self.calls.borrow().last().map_or(0, |call| !call);
        open.later("INSERT INTO @batch (call) VALUES ($1)", values![own]);
        open.later("DELETE FROM @batch WHERE call = $1", values![own]);
        open.commit().map(drop)
    }
}
