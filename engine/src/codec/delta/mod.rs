//! A delta describes a payload by its base: the bytes that are copied from the base, and the new bytes (literals).
//!
//! ```text
//! count  { literal length, skip, copy length } * count  { literal bytes }      (numbers: LEB128)
//! ```
//!
//! Each step appends its literal bytes, skips bytes of the base, and copies the next bytes of the base. Copies only go
//! forward. An edit at any position costs only a few bytes. The result of a delta, even of a damaged one, is never
//! longer than the base and the literals together.

mod anchors;
mod encode;
mod restore;
mod short;
mod stretch;

pub(super) use encode::SMALLEST;
pub use encode::encode;
pub use restore::{restore, weight};
