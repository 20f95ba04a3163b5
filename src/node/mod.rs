//! The addon: takes JavaScript's arguments, delegates to the engine, and settles what it asked for. Nothing is decided here.
//!
//! A call carries a ticket; its outcome goes to the [`mailbox`], from which `ts/native.ts` settles the promise. A store
//! that answers at once returns the outcome from the call itself.

// napi's macros make items that no documentation or lint is meant for.
#![allow(missing_docs, clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref, unreachable_pub)]

mod agentium;
mod agentos;
mod import;
mod langgraph;
mod mailbox;
mod store;
mod values;
mod workflow;
