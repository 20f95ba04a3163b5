//! Durable checkpoints and time travel: the engine behind the `forkpoint` package.
//!
//! # Layout
//!
//! One direction; each floor uses only floors below it. `node` (behind the feature of that name) is the only one that knows
//! Node.js; `contract` puts a framework's calls and semantics into ops and queries; `store` is the engine's front door;
//! `writer`, `encoder` and `reader` are its threads, each a `lane`; `sweeper` has removed in the background what limits ask
//! for, and tells `warnings` what keeps failing; a `backend` applies batches, prunes and answers queries; `retention` plans what a
//! backend prunes; `cache` holds recent payloads, which `pre_encoder` compares large ones with ahead of time;
//! `codec` turns payloads into bytes; `op`, `query`, `record` and `error` are the words that all of them speak.

pub mod backend;
pub mod cache;
pub mod check;
pub mod codec;
pub mod contract;
mod encoder;
pub mod error;
mod lane;
// Under `cfg(test)` napi registers nothing, so everything in there looks unused.
#[cfg(feature = "node")]
#[cfg_attr(test, allow(dead_code))]
mod node;
pub mod op;
pub mod pre_encoder;
pub mod query;
mod reader;
pub mod record;
pub mod retention;
pub mod store;
mod sweeper;
pub mod target;
mod task;
mod warnings;
mod writer;

pub use lane::Reply;
