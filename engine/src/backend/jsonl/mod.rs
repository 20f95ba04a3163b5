//! A backend that stores a folder of text files: one file for each lineage, one JSON object a line. `docs/jsonl.md` is
//! the public guide.
//!
//! # How it works
//!
//! - A batch is appended to the files of its lineages. Then one line in the commit log, `order.jsonl`, makes it count.
//!   The line gives the new length of each file. What a file holds beyond its length was never committed.
//! - A process holds an index of all files in memory, in the tables of the memory backend. Before each operation it
//!   reads the new lines of the commit log and of the files. Payloads and records are read on demand.
//! - All processes share one lock file. A batch is written under an exclusive lock. A reader takes a shared lock only
//!   while it reads new lines: committed lines never change, so it reads payloads without a lock.
//! - A line states what is true after it. The order of lines in different files has no meaning, and a file can be
//!   rewritten with only what is still true.

mod backend;
mod check;
mod commit;
mod compact;
mod embed;
mod files;
mod folder;
mod index;
mod line;
mod lock;
mod names;
mod options;
mod order;
mod plan;
mod records;
mod touch;

pub use self::backend::Jsonl;
pub(crate) use self::backend::opener;
pub use self::options::Options;
