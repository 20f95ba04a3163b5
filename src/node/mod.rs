//! The Node.js addon: takes calls from JavaScript, hands them to the engine, and returns their outcomes.
//!
//! The addon contains no contract's logic: a call names its contract. Each call also has an id. The outcome goes to the
//! [`completion`] queue, and `ts/native.ts` settles the call's promise from there. A store that answers at once (in
//! memory) returns the outcome from the call itself.

// napi's macros generate items without documentation, and items that these lints reject.
#![allow(missing_docs, clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref, unreachable_pub)]

mod completion;
mod store;
mod tool;
mod values;

/// mimalloc, because a listing allocates hundreds of small texts on one thread, and Linux's C libraries do that slowly.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
