//! Payloads as bytes. Pure functions: no I/O, no clock. Any bytes in: an error or the truth, in bounded time and memory.
//!
//! A payload's parts become one byte string ([`frame`]), that becomes what a row holds
//! ([`envelope`]), by itself or as the difference to another payload ([`delta`]); [`heads`] keeps the likely ones.

pub(crate) mod checksum;
pub mod delta;
pub mod envelope;
pub mod frame;
pub mod heads;
pub(crate) mod varint;
