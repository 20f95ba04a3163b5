//! Payloads as bytes. Pure functions: no I/O, no clock. Any bytes in: an error or the truth, in bounded time and memory.
//!
//! A payload's parts become one byte string ([`frame`]), and that becomes what a row holds ([`envelope`]).

pub mod delta;
pub mod envelope;
pub mod frame;
mod varint;
