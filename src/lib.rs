//! The Node.js addon: takes calls from JavaScript, hands them to the engine, and returns their outcomes.
//!
//! The addon contains no logic of a contract: each call names its contract, and has an id. The outcome goes to the
//! `completion` queue, and `ts/bridge/native.ts` then settles the promise of the call. A store in memory may answer
//! immediately: then the call itself returns the outcome.

// The macros of napi generate items without documentation, and items that these lints reject.
#![allow(missing_docs, clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref, unreachable_pub)]
// In test builds napi registers no functions, so the compiler would report all of them as unused.
#![cfg_attr(test, allow(dead_code))]

#[cfg(target_os = "linux")]
mod allocator;
mod backup;
mod chunks;
mod clock;
mod completion;
mod copy;
mod options;
mod pool;
mod server;
mod store;
mod tool;
#[cfg(debug_assertions)]
mod types;
mod values;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;
