//! Encodes payloads as bytes and decodes them. The functions do no I/O and read no clock.
//!
//! For any input bytes, decoding returns the saved payload or an error, in bounded time and memory.
//!
//! - [`frame`] joins a payload's parts into one byte string.
//! - `plan` decides whether the payload is stored in full or as a delta against another payload.
//! - [`delta`] encodes and restores deltas.
//! - [`dictionary`] has the text with which small contents are compressed.
//! - `largest` limits the memory that opening a payload takes.
//! - [`envelope`] wraps the bytes that a row holds: format, checksum, length, compression.

pub(crate) mod checksum;
pub mod delta;
pub mod dictionary;
pub mod envelope;
pub mod frame;
pub(crate) mod largest;
pub(crate) mod plan;
pub(crate) mod varint;
