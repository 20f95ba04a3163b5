//! The addon: takes a call by its contract's name, hands it to the engine, and settles it. It knows Node and no contract.
//!
//! A call carries an id; its outcome goes to the [`completion`] queue, from which `ts/native.ts` settles the promise. A
//! store that answers at once returns the outcome from the call itself.

// napi's macros make items that no documentation or lint is meant for.
#![allow(missing_docs, clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref, unreachable_pub)]

mod completion;
mod store;
mod tool;
mod values;

/// A listing allocates hundreds of small texts on one thread, at which the C libraries of Linux are slow.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
