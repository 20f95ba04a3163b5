//! A batch of units, and what a store remembers between two batches.

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

/// A batch, and the number that all rows of one attempt get.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) units: &'a [Unit],
    pub(super) call: i64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(units: &'a [Unit]) -> Self {
        Self { units, call: (uuid::Uuid::new_v4().as_u64_pair().0 >> 1).cast_signed() }
    }

    /// Returns true if an earlier attempt with one of these numbers has stored the batch: its commit succeeded, and the
    /// answer was lost.
    pub(super) fn is_stored(self, open: &Transaction<'_>, known: &Known, calls: &[i64]) -> Result<bool> {
        if open.one("SELECT 1 FROM @batch WHERE call = ANY($1)", values![calls.to_vec()])?.is_some() {
            return Ok(true);
        }
        // A batch that was stored in one round trip is known by its rows.
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

/// What a store remembers of the database.
pub(super) struct Memory {
    pub(super) cache: PayloadCache,
    pub(super) heads: RefCell<Heads>,
    /// The number of the last batch that this store has noted in the table of batches.
    pub(super) noted: Cell<i64>,
}

impl Memory {
    /// Notes the batch, so that a later attempt learns whether this one was committed. The note of the batch before is not
    /// needed any more.
    pub(super) fn note(&self, open: &Transaction<'_>, call: i64) {
        self.forget_old_notes(open);
        open.later(
            "WITH before AS (DELETE FROM @batch WHERE call = $2) INSERT INTO @batch (call) VALUES ($1)",
            values![call, self.noted.get()],
        );
    }

    /// Removes the notes of programs that have ended, before the first note of this store.
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

/// The attempts that may have stored a batch: their commits got no answer.
#[derive(Debug, Default)]
pub(super) struct Sent {
    calls: RefCell<Vec<i64>>,
    applied: RefCell<Vec<Applied>>,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.borrow().is_empty()
    }

    /// Remembers an attempt, and the results that it has if it was committed.
    pub(super) fn add(&self, call: i64, applied: Vec<Applied>) {
        self.calls.borrow_mut().push(call);
        self.applied.replace(applied);
    }

    /// Learns whether one of the attempts has stored the batch, and returns its results. The caller holds the locks, so an
    /// attempt that is still under way on the server finds later that it is too late: its guess is wrong, and no row has
    /// its number.
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

    /// Waits until the synchronous replicas have what an attempt has stored. Its commit may have become visible without
    /// them, because its wait was canceled or the server has restarted.
    pub(super) fn confirm(&self, session: &Session) -> Result<()> {
        let open = Transaction::write(session, true);
        // The server waits only for a transaction that has changed something.
        let own = self.calls.borrow().last().map_or(0, |call| !call);
        open.later("INSERT INTO @batch (call) VALUES ($1)", values![own]);
        open.later("DELETE FROM @batch WHERE call = $1", values![own]);
        open.commit().map(drop)
    }
}
