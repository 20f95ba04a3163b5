//! Durable checkpoints and time travel: the engine behind the `forkpoint` package. It knows no Node.js: the crate at the
//! repository's root is the addon.
//!
//! # Layout
//!
//! Each layer uses only layers below it. From the top down:
//!
//! | module | what it does |
//! |---|---|
//! | `contract` | turns a framework's calls into ops and queries; no other module knows a framework |
//! | `copy` | copies everything from one store to another |
//! | `store` | opens a store; the contracts call it |
//! | `pipeline`, `encoder`, `ahead`, `reader` | the worker threads: they write, encode large payloads a limited number of bytes ahead of time, and read |
//! | `worker`, `deadline` | a thread with a queue, and the time by which the work of an ending store must have its locks |
//! | `sweeper`, `clock_watch`, `events` | retention in the background, and the warnings about failures and a clock that is set |
//! | `backend` | applies batches of units, answers queries, prunes; one folder for each kind of storage |
//! | `retention` | plans which checkpoints a backend prunes |
//! | `cache` | keeps recent payloads in memory |
//! | `codec` | turns payloads into bytes and back; pure functions |
//! | `names` | what messages call a lineage and a checkpoint |
//! | `options`, `op`, `query`, `record`, `error` | the types that all layers share |

mod ahead;
pub mod backend;
pub mod cache;
pub mod check;
pub mod clock_watch;
pub mod codec;
pub mod contract;
pub mod copy;
mod deadline;
mod encoder;
pub mod error;
mod events;
mod message;
pub mod names;
pub mod op;
mod options;
mod pipeline;
pub mod query;
mod reader;
pub mod record;
pub mod retention;
pub mod store;
mod sweeper;
pub mod target;
mod worker;

pub use worker::Reply;
