//! Groups of checkpoints that must be removed together: a checkpoint that depends on its parent cannot be read without
//! it.

use std::collections::HashSet;

use super::catalog::Entry;
use super::known::Known;
use crate::error::Result;
use crate::record::Seq;

/// The decisions about the checkpoints of one batch. They must not change while the batch is planned.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// The checkpoints that are already selected for removal.
    taken: HashSet<Seq>,
    /// The checkpoints that must stay, because a remaining checkpoint depends on them directly or indirectly.
    needed: HashSet<Seq>,
}

impl Together {
    /// Returns the checkpoint and all its direct and indirect dependents. Dependents come before their parents. Leaves
    /// out checkpoints that are already selected or in `gone`.
    ///
    /// Returns `None` if a dependent, and therefore the checkpoint, must stay.
    pub(super) fn take(
        &mut self,
        known: &mut Known<'_>,
        entry: Entry,
        gone: impl Fn(Seq) -> bool,
        mut stays: impl FnMut(Entry) -> Result<bool>,
    ) -> Result<Option<Vec<Entry>>> {
        if self.taken.contains(&entry.seq) {
            return Ok(Some(Vec::new()));
        }
        if self.needed.contains(&entry.seq) {
            return Ok(None);
        }
        // Each item is an entry and the index of its parent in the list.
        let mut all = vec![(entry, None)];
        let mut seen = HashSet::from([entry.seq]);
        let mut at = 0;
        while let Some((parent, _)) = all.get(at).copied() {
            for child in known.dependents(parent.seq)? {
                if gone(child.seq) || self.taken.contains(&child.seq) || !seen.insert(child.seq) {
                    continue;
                }
                if self.needed.contains(&child.seq) || stays(*child)? {
                    self.keep(&all, at);
                    return Ok(None);
                }
                all.push((*child, Some(at)));
            }
            at += 1;
        }
        self.taken.extend(seen);
        Ok(Some(all.into_iter().rev().map(|(entry, _)| entry).collect()))
    }

    /// Marks the checkpoint at index `at` and its ancestors in the list as needed.
    fn keep(&mut self, all: &[(Entry, Option<usize>)], at: usize) {
        let mut next = Some(at);
        while let Some((entry, parent)) = next.and_then(|at| all.get(at)) {
            self.needed.insert(entry.seq);
            next = *parent;
        }
    }
}
