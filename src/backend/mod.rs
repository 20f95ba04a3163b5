//! Backends: the storage of checkpoints. A backend applies batches of units and answers queries; the rest of the
//! engine builds on that.
//!
//! A backend's folder holds only the code of its storage. The logic that every backend needs stands beside the
//! folders, once: `inherit` (parts that a put takes from other checkpoints), `rebase` (deltas whose base is removed),
//! `writes` (pending writes), `logs` (persistent lists of records) and `ancestors` (walks along parents).
//! [`crate::codec`] plans payloads and walks down chains of deltas, and [`crate::retention`] plans what retention
//! removes.

mod ancestors;
mod inherit;
mod lazy;
mod logs;
pub mod memory;
mod rebase;
pub mod sqlite;
mod writes;

use std::time::{Duration, Instant};

pub(crate) use self::inherit::resolve_from_parent;
pub(crate) use self::lazy::{Lazy, Open};
pub(crate) use self::writes::encode as encode_writes;
use crate::error::Result;
use crate::op::{Applied, Op, Unit};
use crate::query::{Answer, Query};
use crate::retention::{Prune, Pruned};

/// The failures that an acknowledged save survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Survives power loss and every lesser failure (D2): every commit is synced.
    #[default]
    Full,
    /// Survives a killed process (D3). Power loss may lose the newest commits but never corrupts the store.
    Normal,
    /// Survives a killed process. Nothing is promised about power loss (D3).
    Off,
}

/// How long a call waits for another process's lock before it fails with `BUSY`. Default: 30 s.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of units.
    pub units: usize,
    /// The maximum number of bytes, as [`Op::weight`] counts them. A single unit may be larger.
    pub bytes: usize,
}

/// The storage of checkpoints. `tests/backend_contract.rs` tests the following contract on every implementation.
///
/// - One thread at a time uses a backend. A backend never calls back.
/// - Several backends, in one process or many, may share a database. Order and atomicity hold across them.
/// - Ids and names are data. They are compared byte by byte and are never part of a pattern, a path or a statement.
pub trait Backend: Send {
    /// Applies the units, in order.
    ///
    /// - Returns one result per unit, in the order of the units. When it returns, every `Ok` is as durable as the
    ///   store promises.
    /// - A unit happens whole or not at all. If one unit fails, the others are not affected.
    /// - Each put gets a save number. Within a lineage the number is greater than all earlier ones, from any process.
    ///   Across lineages, a save that was acknowledged before a call began has a lower number than the saves of that
    ///   call.
    /// - A unit whose result is an error changes nothing, unless the error's outcome is unknown.
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>>;

    /// Answers a query.
    ///
    /// - Sees every unit for which any backend on this database returned `Ok`, and never half of a unit.
    /// - Returns exactly what was saved under the requested id, or fails with `CORRUPT` (D5).
    /// - Something that does not exist is `None` or empty, never an error.
    /// - A lookup by an empty label or group finds nothing, because empty means that there is none.
    fn answer(&mut self, query: &Query) -> Result<Answer>;

    /// Answers several queries as [`Backend::answer`] does. Calls `tell` with each answer as soon as the answer is
    /// there, in the order of the queries. A server backend sends the queries together.
    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        for query in queries {
            tell(self.answer(query));
        }
    }

    /// Removes one batch of the checkpoints that a rule selects, whole or not at all.
    ///
    /// - Every checkpoint that stays reads back exactly as before (D9).
    /// - Removes at most `prune.most` checkpoints, and looks at a bounded number of others.
    /// - Repeating with [`Pruned::next`] until it is `None` removes what [`Query::Prunable`] announced, if nothing
    ///   else changes the store.
    fn prune(&mut self, prune: &Prune) -> Result<Pruned>;

    /// Does a bounded piece of maintenance that no caller waits for. Returns whether there is more to do.
    fn sweep(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Returns the space of removed checkpoints to the file system. May take long, and needs the database
    /// exclusively.
    fn vacuum(&mut self) -> Result<()>;

    /// The maximum size of a batch. Default: unlimited.
    fn limits(&self) -> Limits {
        Limits { units: usize::MAX, bytes: usize::MAX }
    }

    /// Announces that the store is being closed. From now on, no call waits for a lock or a connection after
    /// `deadline`.
    fn closing(&mut self, deadline: Instant) {
        let _ = deadline;
    }

    /// A notice for the user about this storage, once it is open. `None` if there is nothing to say.
    fn notice(&self) -> Option<&str> {
        None
    }
}

/// Encodes large ops ahead of time, on another thread than the backend's.
pub trait PreEncode: Send + Sync {
    /// Whether encoding the op takes longer than passing it to another thread. Called on the caller's thread.
    fn takes_long(&self, op: &Op) -> bool;

    /// Sets the encoded form in the op, or leaves it unset. The encoded form changes how the data is stored and never
    /// what is stored. The backend checks it against the database before use.
    fn encode(&self, op: &mut Op);
}

/// Applies each unit by itself. Used after a whole batch failed because of one unit.
pub(crate) fn each_alone(batch: &[Unit], apply: impl FnMut(&Unit) -> Result<Applied>) -> Vec<Result<Applied>> {
    batch.iter().map(apply).collect()
}
