//! The AI SDK: chats with all their versions, approvals that are taken once, and streams that can be resumed.
//!
//! - In [`CHATS`], a lineage is a chat. Each save is a version: a checkpoint without a payload that names the end of
//!   the log [`MESSAGES`]. A record is a message, or more parts of the one before, so a growing answer is stored once.
//! - In [`ROWS`], a chat has its row: the newest version, the running stream, the last answer and the metadata. Rows are
//!   in save order. The meta of a row begins with the time of the last change and a unique number. A change expects the
//!   values that it read, so none undoes another.
//! - In [`APPROVALS`], a checkpoint records that an approval of a chat was taken.
//! - In [`STREAMS`], a lineage is a stream. The log `chunks` holds its text. Its only checkpoint records its state: open,
//!   or how it ended.

mod approvals;
mod chats;
mod rows;
mod streams;

pub use self::chats::{APPROVALS, CHATS, CHATS_ID, MESSAGES, ROWS, delete};
pub use self::streams::{STREAMS, STREAMS_ID, chunks, remove as remove_stream};
