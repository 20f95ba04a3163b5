//! Imports a database of `LangGraph`'s `SqliteSaver` (`@langchain/langgraph-checkpoint-sqlite`).
//!
//! The import only reads the database, in one snapshot. It copies serialized bytes unchanged, because only the
//! serializer can interpret them. `split` finds the values of the channels in a serialized checkpoint. `call` has the
//! calls.

mod call;
mod saver;
mod split;

pub(super) use self::call::TOOL;
pub use self::saver::{SavedCheckpoint, SavedWrite, SqliteSaver, Typed};
pub use self::split::split;
