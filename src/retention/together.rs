//! Groups of checkpoints that must be removed together: a checkpoint that depends on its parent cannot be read
//! without it (D9).

use std::collections::HashSet;

use super::Entry;
use super::known::Known;
use crate::error::Result;
use crate::record::Seq;

/// The results for the checkpoints of one batch. While a batch is planned, the decision whether a checkpoint stays
/// must not change.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// The checkpoints that are already selected for removal.
    taken: HashSet<Seq>,
    /// The checkpoints that must stay, because a checkpoint that stays depends on them directly or indirectly.
    needed: HashSet<Seq>,
}

impl Together {
    /// Returns the checkpoint together with everything that depends on it, directly or indirectly. Dependents come
    /// before their parents. Checkpoints that are already selected or `gone` are left out.
    ///
    /// `None`: a dependent stays, so the checkpoint stays too.
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
        // Each entry has the index of its parent in this list.
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

    /// Marks a checkpoint and its ancestors in the list as needed.
    fn keep(&mut self, all: &[(Entry, Option<usize>)], at: usize) {
        let mut next = Some(at);
        while let Some((entry, parent)) = next.and_then(|at| all.get(at)) {
            self.needed.insert(entry.seq);
            next = *parent;
        }
    }
}
