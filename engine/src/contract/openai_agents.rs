//! The OpenAI Agents SDK: sessions, which are lists of items, and the saved states of runs.
//!
//! - In [`SESSIONS`], a lineage is a session. Its only checkpoint is the *row*. The version of the row (its sort key) is random, and
//!   another one after each change. So a change that has read the session can expect that nobody has changed it since, and an
//!   append expects nothing and need not read. The log [`ITEMS`] holds the items. The log `operations` holds the transactions that were
//!   applied: the key of a record is the operation's id, and the bytes are the hash of the transaction.
//! - In [`STATES`], a lineage is a run. Each saved state is a checkpoint. Who has taken a state is an effect of the run
//!   (`effect.rs`), so it goes with the run.

mod sessions;
mod states;

pub use self::sessions::{ITEMS, SESSIONS, SESSIONS_ID, delete, items};
pub use self::states::{EFFECTS, STATES, STATES_ID};
