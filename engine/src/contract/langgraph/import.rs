//! Imports a database of `LangGraph`'s `SqliteSaver` (`@langchain/langgraph-checkpoint-sqlite`).
//!
//! The import reads the database in one snapshot, and changes nothing. It copies serialized bytes unchanged, because
//! only the serializer can interpret them. `split` finds the channel values in a serialized checkpoint. `call` has the
//! calls.

mod call;
mod saver;
mod split;

pub(super) use self::call::TOOL;
pub use self::saver::{SavedCheckpoint, SavedWrite, SqliteSaver, Typed};
pub use self::split::split;
