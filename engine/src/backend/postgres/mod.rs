//! A backend that stores all data on a Postgres server, for several machines. `docs/postgres.md` is the public guide.
//!
//! A store owns two connections: one for writing and one for reading. The trait is synchronous, so a connection runs on
//! the calling thread. While leases are held or awaited, a third one listens on a thread of its own.

mod append;
mod backend;
mod batch;
mod check;
mod checkpoint;
mod clock;
mod connect;
mod direct;
mod error;
mod export;
mod fork;
mod heads;
mod key;
mod known;
mod labels;
mod late_index;
mod like;
mod lineage;
mod listener;
mod listing;
mod locks;
mod log_check;
mod log_read;
mod logs;
mod names;
mod notify;
mod open_lineages;
mod optimistic;
mod optimistic_rows;
mod page;
mod passfile;
mod payloads;
mod pipelined;
mod point;
mod prefix;
mod prepared;
mod prune;
mod read;
mod removal;
mod remove;
mod resolve;
mod retention;
mod row;
mod rows;
mod schema;
mod session;
mod set_labels;
mod several;
mod statement;
mod stats;
mod status;
mod tls;
mod transaction;
pub mod url;
mod value;
mod write;
mod writes;

pub use self::backend::Postgres;
pub(crate) use self::backend::opener;
pub use self::schema::schema_script;
