//! Maps in memory for a backend that keeps its data, or an index of its data, in memory. The maps hold everything that
//! queries search. [`Contents`] tells where the payloads and the records are. An undo list reverts the changes of a
//! failed unit.

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
