//! A delta describes a payload by its base: which bytes are copied from the base, and which bytes are new (literals).
//!
//! ```text
//! count  { literal length, skip, copy length } * count  { literal bytes }      (numbers: LEB128)
//! ```
//!
//! Each step appends its literal bytes, skips bytes of the base, and copies the bytes that follow in the base. Copies
//! only go forward. An edit at any position costs only a few bytes. The result of a delta, even of a damaged delta,
//! is never longer than the base and the literals together.

mod anchors;
mod encode;
mod restore;
mod short;
mod stretch;

pub(super) use encode::SMALLEST;
pub use encode::encode;
pub use restore::{restore, weight};
