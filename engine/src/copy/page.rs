//! The ops of a page. They are applied together with the progress mark as one unit.

use std::collections::HashMap;

use super::mark::Mark;
use super::shared::{Shared, changed};
use crate::error::Result;
use crate::op::Op;
use crate::record::ContractId;

#[derive(Default)]
pub(super) struct Page {
    ops: Vec<Op>,
    bytes: usize,
    /// The lineages of the checkpoints that the ops put.
    lineages: HashMap<(ContractId, String), String>,
}

impl Page {
    pub(super) fn push(&mut self, op: Op) {
        self.bytes += op.weight();
        self.ops.push(op);
    }

    /// Remembers that an op of the page puts a checkpoint.
    pub(super) fn puts(&mut self, contract: ContractId, id: &str, lineage: &str) {
        self.lineages.insert((contract, id.to_owned()), lineage.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Returns true if the page should be applied.
    pub(super) fn is_full(&self, shared: &Shared) -> bool {
        self.bytes >= shared.options.page_bytes
    }

    /// The name of the lineage that a checkpoint has in the destination after the ops of the page.
    pub(super) fn lineage_of(&self, shared: &Shared, contract: ContractId, id: &str) -> Result<Option<String>> {
        match self.lineages.get(&(contract, id.to_owned())) {
            Some(lineage) => Ok(Some(lineage.clone())),
            None => shared.to.lineage_of(contract, id),
        }
    }

    /// Applies the ops and the mark.
    pub(super) fn flush(&mut self, shared: &Shared, mark: &mut Mark) -> Result<()> {
        let Self { ops, .. } = std::mem::take(self);
        let applied = shared.to.apply(mark.advance(ops)?)?;
        if applied.appended.iter().any(|appended| !appended.left_out.is_empty()) {
            return Err(changed("a log"));
        }
        Ok(())
    }
}
