//! The AI SDK: chats with all their versions, approvals that are taken once, and streams that can be resumed.
//!
//! - In [`CHATS`], a lineage is a chat, and each save of messages is a checkpoint without a payload: a version. The log [`MESSAGES`] holds
//!   the messages, and a version names the end of the log. A record is a message, or further parts of the message before it, so that an
//!   answer that grows is stored once.
//! - In [`ROWS`], a chat has its row: the newest version, the stream that runs, and the metadata. Rows are in the order of their saves. The
//!   meta of a row begins with the time of the last change and a number that no other change has. A change expects those of the row that it was made from, so
//!   no change undoes another one.
//! - In [`APPROVALS`], a checkpoint says that an approval of a chat was taken.
//! - In [`STREAMS`], a lineage is a stream. The log `chunks` holds its text. Its only checkpoint says whether it has ended.

mod approvals;
mod chats;
mod rows;
mod streams;

pub use self::chats::{APPROVALS, CHATS, CHATS_ID, MESSAGES, ROWS, delete};
pub use self::streams::{STREAMS, STREAMS_ID, chunks, remove as remove_stream};
