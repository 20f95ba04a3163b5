//! Retention removes old checkpoints to free space. Rules are values that say which checkpoints to remove. Planning
//! selects the checkpoints that a rule removes, in batches of limited size. A backend describes what it stores (see
//! [`Catalog`]) and removes the planned checkpoints. This module writes nothing.
//!
//! A checkpoint that is not removed must stay readable. If it is a delta against a removed payload, its payload is
//! stored again in full. If the checkpoint depends on its parent, the parent is not removed either.
//!
//! A rule about age spares the newest checkpoints and the effects of a run that is leased or waits for a person.
//!
//! Checkpoints are ordered by sort key and then by save order, never by a clock. Only a rule about age uses the time
//! of the save.

mod catalog;
mod excess;
mod held;
mod known;
mod ledger;
mod limit;
mod plan;
mod policy;
mod together;
mod waiting;

pub use self::catalog::{Catalog, Entry, Leases, Line, SavedList, Stored};
pub use self::excess::beyond;
pub use self::held::{LEASES, Owned, REQUESTS, is_valid, lessee};
pub use self::plan::{Plan, candidates, plan, preview};
pub use self::policy::{BATCH, Cursor, Policy, Prune, Pruned, Rule};
