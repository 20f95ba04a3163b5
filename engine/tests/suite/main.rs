//! The engine's tests, a hazard a module, in one binary. The faults of the storage are in another one, because their
//! layer between `SQLite` and the file system is there for the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod backend_contract;
mod check;
mod codec;
mod common;
mod contracts;
mod copy;
mod damage;
mod format;
mod graph;
mod import;
mod jsonl;
mod model;
#[cfg(feature = "postgres")]
mod postgres;
mod read_only;
mod retention;
mod sqlite;
mod store;
mod workflow;
