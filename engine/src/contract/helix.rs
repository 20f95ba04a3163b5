//! Helix sessions: a state that changes, a log of messages, and checkpoints that hold both.
//!
//! A session uses two contract ids:
//! - In [`CONTRACT`], a lineage is a session's history: its checkpoints, in the order of their `timestamp`, and the log
//!   [`MESSAGES`]. A checkpoint names the records of the log that its session had when it was saved. So messages are
//!   stored once, and a checkpoint stays complete after the session was rewound.
//! - In [`SESSIONS`], a lineage is a session, with one checkpoint: its *row*. The row holds the fields that listings
//!   show. The parts of the session's state are writes to this checkpoint, so that each part can be replaced alone.
//!
//! The sort key of a row is its version. Each change of a session, except an append of messages, expects the version
//! that it has read and stores the next one. So a change in one process never undoes a change in another process. The
//! save time of a row is the time of the session's last write. A session is alive if its row was saved at or after
//! `alive_since`. An expired session counts as if it did not exist, until [`expire`] removes it.

mod call;
pub mod checkpoint_id;
mod list;
mod meta;
mod ops;

pub use self::meta::{CheckpointMeta, SessionMeta};
pub use self::ops::{
    Branch, CONTRACT_ID, Change, MESSAGES, SESSIONS_ID, Save, Session, append, branch, change, checkpoint, checkpoints,
    delete, expire, messages, save, session, sessions,
};
use super::entry::{Contract, Names};

/// The contract of checkpoints and messages.
pub const CONTRACT: Contract = Contract {
    name: "helix",
    id: CONTRACT_ID,
    request: call::request,
    tool: Some(checkpoint_id::tool),
    name_of: Names::same,
    lineage_of: Names::same_lineage,
    id_of: Names::same_id,
    show: meta::show_checkpoint,
};
/// The contract of the sessions' rows.
pub const SESSIONS: Contract = Contract {
    name: "helix-sessions",
    id: SESSIONS_ID,
    request: call::request,
    tool: None,
    name_of: Names::same,
    lineage_of: Names::same_lineage,
    id_of: Names::same_id,
    show: meta::show_session,
};
