//! Mastra: the snapshots of workflows, and the memory of agents.

mod memory;
mod workflows;

pub use self::memory::{MESSAGES, RESOURCES, THREADS, delete};
pub use self::workflows::{CONTRACT, CONTRACT_ID};
