//! Which checkpoints go together: one whose parent has gone could not be read any more (D9).

use std::collections::HashSet;

use super::Entry;
use super::known::Known;
use crate::error::Result;
use crate::record::Seq;

/// What has been found out about the checkpoints of a batch. Whether a checkpoint stays must not change meanwhile.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Those that go already.
    taken: HashSet<Seq>,
    /// Those that a checkpoint that stays depends on, directly or through others.
    needed: HashSet<Seq>,
}

impl Together {
    /// A checkpoint, and before it what depends on it, step by step, without what goes already. `None`: something that depends
    /// on it stays, and so does the checkpoint.
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
        // Each with the position of its parent here.
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

    /// Keeps a checkpoint and its parents.
    fn keep(&mut self, all: &[(Entry, Option<usize>)], at: usize) {
        let mut next = Some(at);
        while let Some((entry, parent)) = next.and_then(|at| all.get(at)) {
            self.needed.insert(entry.seq);
            next = *parent;
        }
    }
}
