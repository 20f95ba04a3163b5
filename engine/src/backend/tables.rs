//! The maps of a backend that keeps its data, or an index of its data, in memory: everything about checkpoints, writes
//! and logs that queries search. [`Contents`] says where the payloads and the records themselves are. An undo list
//! reverts the changes of a unit that fails.

mod catalog;
mod contents;
mod export;
mod logs;
mod maps;
mod read;
mod row;
mod rows;
mod write;

pub(crate) use self::contents::{Contents, Held, InMemory};
pub(crate) use self::maps::{Tables, Undo};
pub(crate) use self::row::{BranchRow, First, Key, Row, TaskRow};
