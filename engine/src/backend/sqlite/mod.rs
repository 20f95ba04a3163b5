//! The default backend stores all data in one `SQLite` file. It uses a write-ahead log (WAL), or a rollback journal on
//! a network file system. `docs/sqlite.md` is the public guide.

mod backend;
pub mod backup;
mod chain;
mod check;
mod connection;
mod error;
mod export;
mod file;
mod identity;
mod lineage;
mod listing;
mod locks;
mod log_check;
mod log_damage;
mod log_rows;
mod logs;
mod meta_index;
mod new_file;
mod options;
mod page;
mod payloads;
mod quick_check;
mod raw;
mod read;
mod read_only;
mod recent;
mod reserve;
mod retention;
mod row;
mod rows;
mod schema;
mod setting;
mod statement;
mod stats;
mod totals;
pub(crate) mod unchanged;
mod vfs;
mod wal;
mod write;
mod writes;

pub use self::backend::Sqlite;
pub(crate) use self::backend::opener;
pub use self::options::{Journal, Options};
pub use self::read_only::ReadOnly;
