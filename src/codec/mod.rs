//! Payloads as bytes. Pure functions: no I/O, no clock. Any bytes in: an error or the truth, in bounded time and memory.
//!
//! A payload's parts become one byte string ([`frame`]), that becomes what a row holds
//! ([`envelope`]), whole or as a delta against another payload ([`delta`]). [`plan`] decides which, and [`chain`] rebuilds a payload
//! from its rows.

pub mod chain;
pub(crate) mod checksum;
pub mod delta;
pub mod envelope;
pub mod frame;
pub mod plan;
pub(crate) mod varint;
