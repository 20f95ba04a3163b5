//! The interface that every backend implements.

use std::time::Instant;

use crate::error::{Code, Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::query::{Answer, Query};
use crate::record::Notice;
use crate::retention::{Prune, Pruned};

/// The maximum size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of units.
    pub units: usize,
    /// The maximum number of bytes, as [`Op::weight`] counts them. A single unit may be larger.
    pub bytes: usize,
}

/// The storage of checkpoints. `engine/tests/suite/backend_contract.rs` checks that every implementation obeys these
/// rules:
/// - One thread at a time uses a backend. A backend never calls the engine that uses it.
/// - Several backends, in one process or in many, may share a database. The rules about save order and atomicity apply
///   across all of these backends.
/// - Ids and names are data. They are compared byte by byte and are never part of a pattern, a path or a statement.
pub trait Backend: Send {
    /// Applies the units, in order.
    ///
    /// - Returns one result per unit, in the order of the units. When the function returns, every `Ok` is as durable
    ///   as the store promises.
    /// - Each unit is applied completely or not at all. If one unit fails, the other units are not affected.
    /// - Each put gets a save number. This number is greater than all earlier save numbers of the lineage, whichever
    ///   process made the earlier saves. If a save was acknowledged before a call began, its number is lower than the
    ///   numbers of all saves of the call, in every lineage.
    /// - If the result of a unit is an error, the unit has changed nothing. The exception is an error whose outcome is
    ///   unknown.
    /// - When the function returns, the backend has no reference to the bytes of the units, because their owner may
    ///   free them. The backend in memory may keep them.
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>>;

    /// Announces that this backend will only answer queries and checks, so that it can use less memory.
    fn only_reads(&mut self) -> Result<()> {
        Ok(())
    }

    /// Answers a query.
    ///
    /// - The answer includes every unit for which any backend on this database returned `Ok`, and never a part of a
    ///   unit.
    /// - Returns exactly what was saved under the requested id, or fails with `CORRUPT`.
    /// - If the requested data does not exist, the answer is `None` or empty, and never an error.
    /// - A lookup by an empty label or group finds nothing, because an empty text means that the checkpoint has no
    ///   label or group.
    fn answer(&mut self, query: &Query) -> Result<Answer>;

    /// Answers several queries as [`Backend::answer`] does. Calls `tell` with each answer as soon as it is known, in
    /// the order of the queries. A server backend sends all queries together.
    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        for query in queries {
            tell(self.answer(query));
        }
    }

    /// Answers a query from memory with little work, and without waiting for a disk, a lock or the network: the calling
    /// thread may be an event loop. `None`: not possible; the caller then uses [`Backend::answer`].
    fn answer_at_once(&mut self, query: &Query) -> Option<Answer> {
        let _ = query;
        None
    }

    /// Returns true if answering takes time in proportion to the number of stored checkpoints. Another backend on the
    /// same database then answers the query, so that other queries do not wait.
    fn takes_long(&self, query: &Query) -> bool {
        let _ = query;
        false
    }

    /// Removes one batch of the checkpoints that a rule selects. Removes either all checkpoints of the batch or none.
    ///
    /// - Every checkpoint that stays reads back exactly as before.
    /// - Removes at most `prune.most` checkpoints, and examines a bounded number of other checkpoints.
    /// - To apply the entire rule, repeat the call with [`Pruned::next`] until it is `None`. If nothing else changes
    ///   the store, the calls together remove the checkpoints that [`Query::Prunable`] counted.
    fn prune(&mut self, prune: &Prune) -> Result<Pruned>;

    /// Takes or renews this worker's lease on background retention, and returns true if the worker has it. Only one
    /// worker of a storage has the lease at a time. The lease expires if it is not renewed.
    fn may_sweep(&mut self, worker: i64) -> Result<bool> {
        let _ = worker;
        Ok(true)
    }

    /// Gives up this worker's lease on background retention, so that another worker need not wait for its expiry.
    fn end_sweeps(&mut self, worker: i64) -> Result<()> {
        let _ = worker;
        Ok(())
    }

    /// Makes much unused space of removed checkpoints reusable. Called while retention removes checkpoints in the
    /// background, for a storage that does not do this at each removal.
    fn reclaim(&mut self) -> Result<()> {
        Ok(())
    }

    /// Does a bounded amount of maintenance that no caller waits for. Returns true if more maintenance is left.
    fn sweep(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Does a bounded amount of maintenance while the store is idle. Returns true if more maintenance is left.
    ///
    /// When `wanted` returns true, a caller waits for the backend and the function must return soon. Work that is not
    /// committed by then is repeated the next time.
    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Result<bool> {
        let _ = wanted;
        Ok(false)
    }

    /// Returns the space of removed checkpoints to the file system. This work may take a long time and needs exclusive
    /// use of the database.
    fn vacuum(&mut self) -> Result<()>;

    /// Upgrades stored data of an older format to the newest format, in one transaction, if there is any.
    fn migrate(&mut self) -> Result<()> {
        Ok(())
    }

    /// The maximum size of a batch. A batch takes memory until it is committed. Default: 32 MiB.
    fn limits(&self) -> Limits {
        Limits { units: usize::MAX, bytes: 32 << 20 }
    }

    /// Returns true if one lock guards the entire storage. If a batch then fails with `BUSY`, all other batches would
    /// have failed at that time too.
    fn has_one_lock(&self) -> bool {
        false
    }

    /// Announces that the store is being closed or its process is ending. From now on, no call waits for a lock or a
    /// connection after `deadline`. Called before each remaining piece of work.
    fn closing(&mut self, deadline: Instant) {
        let _ = deadline;
    }

    /// Called before the backend is dropped.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if acknowledged writes may be lost, because the storage was removed under the backend.
    fn close(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns a notice for the user about the opened storage. Returns `None` if there is no notice.
    fn notice(&self) -> Option<&Notice> {
        None
    }
}

/// Encodes large ops ahead of time, on another thread than the backend's.
pub trait PreEncode: Send + Sync {
    /// Returns the size of the op in bytes, including inherited parts, if encoding it takes longer than passing it to
    /// another thread. Called on the caller's thread and on the encoder's.
    fn size_if_long(&self, op: &Op) -> Option<usize>;

    /// Sets the encoded form in the op, or leaves the field empty. The encoded form affects only how the data is
    /// stored, not its content. The backend checks the encoded form against the database before use.
    fn encode(&self, op: &mut Op);
}

/// The error of a call that would change a read-only store.
pub(crate) fn read_only() -> Error {
    let message = "the store was opened with readOnly, so it cannot be changed: open it without readOnly";
    Error::new(Code::Unsupported, message).lasting()
}
