//! What can hold checkpoints. A backend applies batches and answers queries; everything else is built on that.

mod ancestors;
mod inherit;
pub mod memory;
pub mod sqlite;

use crate::error::Result;
use crate::op::{Op, Unit};
use crate::query::{Answer, Query};
use crate::retention::{Prune, Pruned};

/// A place to keep checkpoints. `tests/backend_contract.rs` is this contract, run over every implementation.
///
/// - A backend is used by one thread at a time and never calls back.
/// - Several backends, in one process or many, may stand on one database: order and atomicity hold across them.
/// - Ids and names are data: compared byte by byte, never part of a pattern, a path or a statement.
pub trait Backend: Send {
    /// Applies the units, in order.
    ///
    /// - Returns one result per unit, in their order. When it returns, every `Ok` is as durable as the store promises.
    /// - A unit happens whole or not at all; the failure of one leaves the others alone.
    /// - Each put gets a place in the store's save order greater than all before it, in whichever process.
    /// - A unit whose result is an error is absent, unless the error's outcome is unknown.
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<()>>;

    /// Answers a query.
    ///
    /// - Sees every unit that some backend on this database has returned `Ok` for, and never half of a unit.
    /// - Returns stored bytes exactly, or `CORRUPT`.
    /// - Something that is not there is `None` or empty, never an error.
    /// - A lookup by an empty label or group finds nothing: empty means that there is none.
    fn answer(&mut self, query: &Query) -> Result<Answer>;

    /// Removes one batch of what a rule names, whole or not at all.
    ///
    /// - Every checkpoint that stays reads back exactly as before (D9).
    /// - It removes at most as many as it was told to, and looks at a bounded number of others.
    /// - Going on from [`Pruned::next`] until there is none leaves what [`Query::Prunable`] says, if nothing else happens.
    fn prune(&mut self, prune: &Prune) -> Result<Pruned>;

    /// Gives back what removed checkpoints took. May take long, and needs the database for itself.
    fn vacuum(&mut self) -> Result<()>;

    /// What the user should hear about this place once it is open, if anything.
    fn notice(&self) -> Option<&str> {
        None
    }
}

/// Does what a large op needs before its turn comes, on another thread than the backend's.
pub trait Prepare: Send + Sync {
    /// Whether preparing it takes longer than handing it from thread to thread. Asked on the caller's thread.
    fn takes_long(&self, op: &Op) -> bool;

    /// Fills in what the op has for that, or leaves it. What is prepared changes nothing of what is stored but how: the backend
    /// checks it against what it finds when the turn has come.
    fn prepare(&self, op: &mut Op);
}
