//! Helix sessions: a state that changes, a log of messages, and checkpoints that hold both.
//!
//! A session uses two contract ids:
//! - In [`CONTRACT`], a lineage is a session's history: its checkpoints, in the order of their `timestamp`, and the log
//!   [`MESSAGES`]. A checkpoint names the records of the log that its session had when it was saved. Messages are
//!   stored once, and a checkpoint stays complete after the session was rewound.
//! - In [`SESSIONS`], a lineage is a session, with one checkpoint: its *row*. The row holds the fields that listings
//!   show. The parts of the session's state are writes to this checkpoint, so that each part can be replaced alone.
//!
//! The sort key of a row is its version. Each change of a session, except an append of messages, expects the version
//! that it read and stores the next one, so no process undoes another's change. The save time of a row is the session's
//! last write. A session is alive if its row was saved at or after `alive_since`. Expired sessions count as missing,
//! until `expire` removes them.

mod call;
mod checkpoint_id;
mod list;
mod meta;
mod ops;

pub use self::ops::{CONTRACT_ID, MESSAGES, SESSIONS_ID, delete};
use super::entry::Contract;
use crate::query::LogRange;

/// The contract of checkpoints and messages.
pub const CONTRACT: Contract = Contract {
    noun: "session",
    // A session may have no checkpoint yet.
    anchor: SESSIONS_ID,
    tool: Some(checkpoint_id::TOOL),
    records_of: Some(|session, _, key| LogRange::kept(CONTRACT_ID, session, MESSAGES, key)),
    remove: Some(|session, _| delete(session.to_owned())),
    call_types: call::CALL_TYPES,
    ..Contract::new("helix", CONTRACT_ID, call::request, meta::show_checkpoint)
};
/// The contract of the sessions' rows.
pub const SESSIONS: Contract = Contract {
    noun: "session",
    records_of: Some(|session, _, _| LogRange::whole(CONTRACT_ID, session.to_owned(), MESSAGES)),
    ..Contract::new("helix-sessions", SESSIONS_ID, call::request, meta::show_session)
};
