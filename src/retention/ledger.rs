//! What is planned so far, and what that does to the bytes.

use std::collections::{HashMap, HashSet};

use super::{Catalog, Entry, Stored};
use crate::error::Result;
use crate::record::Seq;

/// No chain of bases is longer, unless the file is damaged.
const LONGEST_CHAIN: usize = 1000;

/// What a catalog says of some checkpoints, asked for together: over a network, a question for each would take a round trip each.
#[derive(Debug, Default)]
pub(super) struct Known {
    seqs: HashSet<Seq>,
    stored: HashMap<Seq, Stored>,
    /// By base: the payloads that are deltas against it, and what they take.
    deltas: HashMap<Seq, Vec<(Seq, u64)>>,
    /// By parent: the checkpoints that cannot be read without it.
    dependents: HashMap<Seq, Vec<Entry>>,
}

impl Known {
    fn ask(catalog: &dyn Catalog, seqs: &[Seq]) -> Result<Self> {
        let mut known = Self::dependents(catalog, seqs)?;
        if !seqs.is_empty() {
            known.stored.extend(catalog.stored(seqs)?);
            for (base, seq, bytes) in catalog.deltas_of(seqs)? {
                known.deltas.entry(base).or_default().push((seq, bytes));
            }
        }
        Ok(known)
    }

    /// Only what depends on them.
    fn dependents(catalog: &dyn Catalog, seqs: &[Seq]) -> Result<Self> {
        let mut known = Self { seqs: seqs.iter().copied().collect(), ..Self::default() };
        if !seqs.is_empty() {
            for (parent, entry) in catalog.dependent_on(seqs)? {
                known.dependents.entry(parent).or_default().push(entry);
            }
        }
        Ok(known)
    }

    fn stored(&self, catalog: &dyn Catalog, seq: Seq) -> Result<Option<Stored>> {
        if self.seqs.contains(&seq) {
            return Ok(self.stored.get(&seq).copied());
        }
        Ok(catalog.stored(&[seq])?.first().map(|(_, stored)| *stored))
    }

    fn deltas_of(&self, catalog: &dyn Catalog, base: Seq) -> Result<Vec<(Seq, u64)>> {
        if self.seqs.contains(&base) {
            return Ok(self.deltas.get(&base).cloned().unwrap_or_default());
        }
        Ok(catalog.deltas_of(&[base])?.into_iter().map(|(_, seq, bytes)| (seq, bytes)).collect())
    }

    /// Those that depend on any of the parents.
    fn dependent_on(&self, catalog: &dyn Catalog, parents: &[Seq]) -> Result<Vec<Entry>> {
        let (known, unknown): (Vec<Seq>, Vec<Seq>) = parents.iter().partition(|seq| self.seqs.contains(seq));
        let mut found: Vec<Entry> =
            known.iter().filter_map(|seq| self.dependents.get(seq)).flatten().copied().collect();
        if !unknown.is_empty() {
            found.extend(catalog.dependent_on(&unknown)?.into_iter().map(|(_, entry)| entry));
        }
        Ok(found)
    }
}

/// What is planned so far to be removed, and what that does to the bytes: a delta whose base goes is stored whole, which
/// takes about what its chain takes.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) gone: HashSet<Seq>,
    pub(super) by_lineage: HashMap<i64, usize>,
    whole: HashMap<Seq, u64>,
    pub(super) freed: i64,
    pub(super) known: Known,
}

impl Ledger {
    /// Asks for these checkpoints, which are likely to go, together.
    pub(super) fn learn(&mut self, catalog: &dyn Catalog, entries: impl Iterator<Item = Entry>) -> Result<()> {
        let seqs: Vec<Seq> = entries.map(|entry| entry.seq).filter(|seq| !self.gone.contains(seq)).collect();
        self.known = Known::ask(catalog, &seqs)?;
        Ok(())
    }

    pub(super) fn remove(&mut self, catalog: &dyn Catalog, entry: Entry) -> Result<()> {
        if !self.gone.insert(entry.seq) {
            return Ok(());
        }
        *self.by_lineage.entry(entry.lineage).or_default() += 1;
        let Some(stored) = self.stored(catalog, entry.seq)? else { return Ok(()) };
        self.freed += signed(stored.bytes);
        let mut staying = self.known.deltas_of(catalog, entry.seq)?;
        staying.retain(|(seq, _)| !self.gone.contains(seq));
        if !staying.is_empty() {
            let whole = self.chain(catalog, stored)?;
            for (seq, bytes) in staying {
                self.whole.insert(seq, whole + bytes);
                self.freed -= signed(whole);
            }
        }
        self.whole.remove(&entry.seq);
        Ok(())
    }

    fn stored(&self, catalog: &dyn Catalog, seq: Seq) -> Result<Option<Stored>> {
        match self.whole.get(&seq) {
            Some(bytes) => Ok(Some(Stored { base: None, bytes: *bytes })),
            None => self.known.stored(catalog, seq),
        }
    }

    /// The bytes of a payload and of all that it is built on.
    fn chain(&self, catalog: &dyn Catalog, mut link: Stored) -> Result<u64> {
        let mut bytes = link.bytes;
        for _ in 0..LONGEST_CHAIN {
            let Some(base) = link.base else { break };
            let Some(next) = self.stored(catalog, base)? else { break };
            bytes += next.bytes;
            link = next;
        }
        Ok(bytes)
    }

    fn gone_of(&self, lineage: i64) -> usize {
        self.by_lineage.get(&lineage).copied().unwrap_or(0)
    }

    /// The newest of a lineage that stays.
    pub(super) fn newest(&self, catalog: &dyn Catalog, lineage: i64) -> Result<Option<Seq>> {
        let found = catalog.newest(lineage, self.gone_of(lineage) + 1)?;
        Ok(found.into_iter().map(|entry| entry.seq).find(|seq| !self.gone.contains(seq)))
    }

    /// What a lineage has beyond so many checkpoints, the oldest first, but at most `most`, never `pinned`, and never the
    /// parent without which one that stays cannot be read.
    pub fn beyond(
        &self,
        catalog: &dyn Catalog,
        lineage: i64,
        keep: u64,
        pinned: Option<Seq>,
        most: usize,
    ) -> Result<Vec<Entry>> {
        let gone = self.gone_of(lineage);
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let excess = catalog.count(lineage)?.saturating_sub(gone).saturating_sub(keep);
        // Where some depend on their parents, all have to be known.
        let together = excess > 0 && catalog.has_dependent(lineage)?;
        let excess = if together { excess } else { excess.min(most) };
        if excess == 0 {
            return Ok(Vec::new());
        }
        let found = catalog.oldest(lineage, excess + gone + usize::from(pinned.is_some()))?;
        let stays = |entry: &Entry| Some(entry.seq) == pinned || self.gone.contains(&entry.seq);
        let found: Vec<Entry> = found.into_iter().filter(|entry| !stays(entry)).take(excess).collect();
        if !together {
            return Ok(found);
        }
        let seqs: Vec<Seq> = found.iter().map(|entry| entry.seq).collect();
        let known = Known::dependents(catalog, &seqs)?;
        let (mut taken, mut all) = (HashSet::new(), Vec::new());
        for entry in found {
            let with = self.with_dependents(catalog, &known, entry, |other| Ok(known.seqs.contains(&other.seq)))?;
            all.extend(with.into_iter().flatten().filter(|entry| taken.insert(entry.seq)));
        }
        all.truncate(most);
        Ok(all)
    }

    /// A checkpoint, and before it those that cannot be read without it, step by step. `None`: some of that must stay, and so
    /// must the checkpoint (D9).
    pub(super) fn with_dependents(
        &self,
        catalog: &dyn Catalog,
        known: &Known,
        entry: Entry,
        mut may_go: impl FnMut(Entry) -> Result<bool>,
    ) -> Result<Option<Vec<Entry>>> {
        let mut all = vec![entry];
        let mut seen = HashSet::from([entry.seq]);
        let mut parents = vec![entry.seq];
        while !parents.is_empty() {
            let children = known.dependent_on(catalog, &parents)?;
            parents.clear();
            for child in children {
                if self.gone.contains(&child.seq) || !seen.insert(child.seq) {
                    continue;
                }
                if !may_go(child)? {
                    return Ok(None);
                }
                parents.push(child.seq);
                all.push(child);
            }
        }
        all.reverse();
        Ok(Some(all))
    }
}

pub(super) fn signed(bytes: u64) -> i64 {
    // No store has 2^63 bytes.
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
