//! What can hold checkpoints. A backend applies batches and answers queries; everything else is built on that.
//!
//! A backend's folder holds storage only. The logic that every backend needs stands beside it, once: `inherit` (parts that a
//! put takes from others), `rebase` (payloads whose base is removed), `writes` (what tasks wrote to checkpoints),
//! `logs` (persistent lists), `ancestors` (walks along parents). The planning of payloads and the walk down a chain of
//! deltas are in [`crate::codec`], and what retention removes is planned in [`crate::retention`].

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

/// What a resolved save has survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss and everything less (D2): every commit is synced.
    #[default]
    Full,
    /// A killed process; power loss may take the newest commits but never corrupts (D3).
    Normal,
    /// A killed process; nothing is said about power loss (D3).
    Off,
}

/// How long a call waits for a lock of another process before it fails with `BUSY`. Default: 30 s.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// What a batch may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units.
    pub units: usize,
    /// Bytes, as [`Op::weight`] counts them. A single unit may be larger.
    pub bytes: usize,
}

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
    /// - Each put gets a place in the save order. Within a lineage it is greater than all before it, in whichever process; across
    ///   lineages, what was acknowledged before a call began has the lower place.
    /// - A unit whose result is an error is absent, unless the error's outcome is unknown.
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>>;

    /// Answers a query.
    ///
    /// - Sees every unit that some backend on this database has returned `Ok` for, and never half of a unit.
    /// - Returns what was saved under the id that was asked for, or `CORRUPT` (D5).
    /// - Something that is not there is `None` or empty, never an error.
    /// - A lookup by an empty label or group finds nothing: empty means that there is none.
    fn answer(&mut self, query: &Query) -> Result<Answer>;

    /// Answers several queries, each as [`Backend::answer`] does, and tells each answer as soon as it is there, in their order. A
    /// server sends the queries together.
    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        for query in queries {
            tell(self.answer(query));
        }
    }

    /// Removes one batch of what a rule names, whole or not at all.
    ///
    /// - Every checkpoint that stays reads back exactly as before (D9).
    /// - It removes at most as many as it was told to, and looks at a bounded number of others.
    /// - Going on from [`Pruned::next`] until there is none leaves what [`Query::Prunable`] says, if nothing else happens.
    fn prune(&mut self, prune: &Prune) -> Result<Pruned>;

    /// Does a bounded piece of upkeep that no caller waits for. Returns whether there is more to do.
    fn sweep(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Gives back what removed checkpoints took. May take long, and needs the database for itself.
    fn vacuum(&mut self) -> Result<()>;

    /// What a batch may hold. Default: anything.
    fn limits(&self) -> Limits {
        Limits { units: usize::MAX, bytes: usize::MAX }
    }

    /// The store is being closed: from now on no call waits for a lock or a connection beyond that time.
    fn closing(&mut self, deadline: Instant) {
        let _ = deadline;
    }

    /// What the user should hear about this place once it is open, if anything.
    fn notice(&self) -> Option<&str> {
        None
    }
}

/// Does what a large op needs before its turn comes, on another thread than the backend's.
pub trait PreEncode: Send + Sync {
    /// Whether encoding it takes longer than handing it from thread to thread. Asked on the caller's thread.
    fn takes_long(&self, op: &Op) -> bool;

    /// Fills in what the op has for that, or leaves it. What is encoded changes nothing of what is stored but how: the backend
    /// checks it against what it finds when the turn has come.
    fn encode(&self, op: &mut Op);
}

/// Applies each unit by itself: after a batch that failed as a whole because of one of them.
pub(crate) fn each_alone(batch: &[Unit], apply: impl FnMut(&Unit) -> Result<Applied>) -> Vec<Result<Applied>> {
    batch.iter().map(apply).collect()
}
