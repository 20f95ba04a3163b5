//! The OpenAI Agents SDK: sessions, which are lists of items, and the saved states of runs.
//!
//! - In [`SESSIONS`], a lineage is a session. Its only checkpoint is the *row*. The row's version (its sort key) is
//!   random and differs after each change. A change that has read the session expects its version. An append expects
//!   nothing and need not read. The log [`ITEMS`] holds the items. The log `operations` holds the applied transactions:
//!   the key of a record is the operation's id, and the bytes are the transaction's hash.
//! - In [`STATES`], a lineage is a run. Each saved state is a checkpoint. The taking of a state is an effect of the run
//!   (`effect.rs`), so it is removed with the run.

mod sessions;
mod states;

pub use self::sessions::{ITEMS, SESSIONS, SESSIONS_ID, delete, items};
pub use self::states::{EFFECTS, STATES, STATES_ID};
