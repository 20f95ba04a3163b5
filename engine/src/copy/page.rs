//! The ops of a page, which are applied as one unit.

use std::collections::HashMap;

use super::shared::{Counts, Shared, changed};
use super::side::Name;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::op::{Expect, Must, Op, Unit};
use crate::record::{ContractId, Header, LabelChanges, Labels, Start};

#[derive(Default)]
pub(super) struct Page {
    ops: Vec<Op>,
    bytes: usize,
    expect: Vec<Expect>,
    /// True if an op puts a checkpoint that is missing in the destination.
    has_new: bool,
    /// The lineages of the checkpoints that the ops put.
    lineages: HashMap<Name, String>,
    /// The counts of all pages so far.
    pub(super) counts: Counts,
}

impl Page {
    pub(super) fn push(&mut self, op: Op) {
        self.bytes += op.weight();
        self.ops.push(op);
    }

    /// Records that an op of the page puts a checkpoint. `is_new`: it is missing in the destination.
    pub(super) fn puts(&mut self, shared: &Shared, header: &Header, is_new: bool) {
        let Header { contract, id, lineage, .. } = header;
        let (contract, id) = (*contract, id.clone());
        let expect = |must, message: &str| {
            let (id, otherwise) = (id.clone(), Error::new(Code::Conflict, message));
            Expect::Checkpoint { contract, id, must, otherwise }
        };
        if shared.only.is_some() {
            let message = format!(
                "the destination already has {}, in another run: remove that run from the destination, or copy to another \
                 one",
                names::checkpoint_of(header)
            );
            self.expect.push(expect(Must::BelongTo(lineage.clone()), &message));
        }
        // All copies put checkpoints in the same order, so another copy that is ahead has put the first new checkpoint
        // of the page.
        if is_new && !self.has_new {
            self.has_new = true;
            let message = "another copy to this destination is under way: wait until it ends";
            self.expect.push(expect(Must::NotBeSavedSince(i64::MIN), message));
        }
        self.lineages.insert((contract, id), lineage.clone());
    }

    /// Changes the labels of a lineage from those of the destination to those of the source.
    pub(super) fn label(&mut self, start: &Start, there: &Labels) {
        if start.labels == *there {
            return;
        }
        let removed = there.iter().map(|(key, _)| (key.to_owned(), None));
        let mut changes: LabelChanges = removed.collect();
        changes.extend(start.labels.changes());
        self.push(Op::SetLabels { contract: start.contract, lineage: start.name.clone(), changes });
    }

    /// Returns true if the page should be applied.
    pub(super) fn is_full(&self, shared: &Shared) -> bool {
        self.bytes >= shared.options.page_bytes
    }

    /// The name of a checkpoint's lineage in the destination after the ops of the page.
    pub(super) fn lineage_of(&self, shared: &Shared, contract: ContractId, id: &str) -> Result<Option<String>> {
        match self.lineages.get(&(contract, id.to_owned())) {
            Some(lineage) => Ok(Some(lineage.clone())),
            None => shared.to.lineage_of(contract, id),
        }
    }

    /// Applies the ops.
    pub(super) fn flush(&mut self, shared: &Shared) -> Result<()> {
        if self.ops.is_empty() {
            return Ok(());
        }
        let next = Self { counts: self.counts, ..Self::default() };
        let Self { ops, expect, .. } = std::mem::replace(self, next);
        let applied = shared.to.apply(Unit { expect, ops })?;
        if applied.appended.iter().any(|appended| !appended.left_out.is_empty()) {
            return Err(changed("a log"));
        }
        Ok(())
    }
}
