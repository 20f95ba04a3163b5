//! A backend that keeps all data in memory. It is for tests and for data that need not outlive the process.

use super::interface::Backend;
use super::tables::{InMemory, Tables};
use crate::error::Result;
use crate::op::{Applied, Unit};
use crate::query::{Answer, Query};
use crate::retention::{self, Prune, Pruned};

/// A store in memory. Its maps are sorted in the order in which queries read them.
#[derive(Debug, Default)]
pub struct Memory(Tables<InMemory>);

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

/// All payloads are stored whole, so removing one payload never affects another.
impl Backend for Memory {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        batch.iter().map(|unit| self.0.unit(unit)).collect()
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        let plan = retention::plan(&self.0, prune)?;
        let (bytes, lineages) = self.0.remove_all(&plan.victims)?;
        Ok(plan.done(bytes, lineages))
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.0.answer(query)
    }
}
