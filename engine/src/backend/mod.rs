//! Backends store checkpoints. A backend applies batches of units and answers queries. The rest of the engine uses
//! backends for all storage.
//!
//! A backend's folder holds only its storage code. The logic that every backend needs is in the modules beside the
//! folders: `inherit` (parts that a put takes from other checkpoints), `rebase` (deltas whose base is removed), `chain`
//! (payloads from their rows), `writes` (pending writes), `logs` (persistent lists of records) and `ancestors` (walks
//! from child to parent). [`crate::codec`] plans payloads. [`crate::retention`] plans which checkpoints
//! are removed.

mod ancestors;
mod batch;
mod chain;
mod clock;
pub(crate) mod disk;
mod header;
mod inherit;
mod interface;
pub mod jsonl;
mod lazy;
mod listening;
mod log_findings;
mod logs;
mod marks;
pub mod memory;
mod number;
mod open;
mod page;
#[cfg(feature = "postgres")]
pub mod postgres;
mod pre_encoder;
mod rebase;
mod rows;
mod spread;
pub mod sqlite;
mod stages;
mod tables;
mod top_k;
mod writes;

pub(crate) use self::clock::machine_clock;
pub(crate) use self::interface::read_only;
pub use self::interface::{Backend, Limits, PreEncode};
pub(crate) use self::lazy::{Lazy, Open, Opener};
pub(crate) use self::listening::Listener;
pub(crate) use self::open::{Access, open};
pub use self::pre_encoder::PreEncoder;
pub use crate::options::{BUSY_TIMEOUT, Durability};
