//! The engine's tests, a hazard a module, in one binary. The faults of the storage are in another one, because their
//! layer between `SQLite` and the file system is there for the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod at_once;
mod backend_contract;
mod cache;
mod check;
mod codec;
mod common;
mod contracts;
mod copy;
mod damage;
mod delta;
mod effects;
mod encoder;
mod envelope;
mod error;
mod format;
mod graph;
mod import;
mod jsonl;
mod memory;
mod model;
mod planning;
#[cfg(feature = "postgres")]
mod postgres;
mod read_only;
mod record;
mod retention;
#[cfg(feature = "postgres")]
mod silent_server;
mod sqlite;
mod store;
mod target;
mod workflow;
