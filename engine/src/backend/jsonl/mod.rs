//! A backend that stores a folder of text files: one file for each lineage, one JSON object a line. `docs/jsonl.md` is
//! the public guide.
//!
//! # How it works
//!
//! - A batch is appended to the files of its lineages. Then one line in the journal, `order.jsonl`, commits it. This
//!   line has the new length of each file. Bytes beyond that length are not committed.
//! - A process keeps an index of all files in memory, in the tables of the memory backend. Before each operation it
//!   reads the new lines of the journal and of the files. It reads payloads and records on demand.
//! - All processes share one lock file. A batch needs an exclusive lock. A reader needs a shared lock only while it
//!   reads new lines. Committed lines never change, so it reads payloads without a lock.
//! - A line states what is true after it. Lines in different files have no order, and a file can be rewritten with only
//!   the lines that are still true.

mod backend;
mod check;
mod commit;
mod compact;
mod embed;
mod files;
mod folder;
mod index;
mod journal;
mod line;
mod lock;
mod names;
mod options;
mod plan;
mod records;
mod touch;

pub use self::backend::Jsonl;
pub(crate) use self::backend::opener;
pub use self::options::Options;
