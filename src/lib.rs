//! Durable checkpoints and time travel: the engine behind the `forkpoint` package.
//!
//! # Layout
//!
//! Each layer uses only layers below it, from the top down:
//!
//! | module | what it does |
//! |---|---|
//! | `node` (feature `node`) | converts between Node.js and the engine; nothing else knows Node.js |
//! | `contract` | turns a framework's calls into ops and queries; nothing else knows a framework |
//! | `store` | opens a store, and is what a contract calls |
//! | `pipeline`, `encoder`, `reader` | the threads that write, encode large payloads ahead of time, and read; each is a `worker` |
//! | `sweeper`, `warnings` | retention in the background, and what is said when it keeps failing |
//! | `backend` | applies batches of units, answers queries, prunes; one folder for each kind of storage |
//! | `retention` | plans what a backend prunes |
//! | `cache`, `pre_encoder` | recent payloads in memory, and what is encoded against them ahead of time |
//! | `codec` | turns payloads into bytes and back; pure functions |
//! | `op`, `query`, `record`, `error` | the types that all of them share |

pub mod backend;
pub mod cache;
pub mod check;
pub mod codec;
pub mod contract;
mod encoder;
pub mod error;
mod message;
// Under `cfg(test)` napi registers nothing, so everything in there looks unused.
#[cfg(feature = "node")]
#[cfg_attr(test, allow(dead_code))]
mod node;
pub mod op;
mod pipeline;
pub mod pre_encoder;
pub mod query;
mod reader;
pub mod record;
pub mod retention;
pub mod store;
mod sweeper;
pub mod target;
mod warnings;
mod worker;

pub use worker::Reply;
