//! A backend that keeps all data in memory, for tests and for data that need not outlive the process.

use super::interface::Backend;
use super::tables::{InMemory, Tables};
use crate::error::Result;
use crate::op::{Applied, Unit};
use crate::query::{Answer, Query};
use crate::retention::{Prune, Pruned};

/// A store in memory. Its maps are in the order in which queries read them.
#[derive(Debug, Default)]
pub struct Memory(Tables<InMemory>);

impl Memory {
    pub fn new() -> Self {
        Self::default()
    }
}

/// All payloads are stored in full, so removing one payload never affects another.
impl Backend for Memory {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        batch.iter().map(|unit| self.0.unit(unit)).collect()
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.0.prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.0.answer(query)
    }
}
