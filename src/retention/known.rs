//! What planning has learnt from a [`Catalog`] so far. A planner says which checkpoints it is going to deal with, and they are asked
//! for together, because a question to a server takes as long for five hundred as for one.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::{Catalog, Entry, Stored};
use crate::error::Result;
use crate::record::Seq;

/// No chain of bases is longer, unless the file is damaged.
pub(super) const LONGEST_CHAIN: usize = 1000;

/// A catalog and its answers. The functions that begin with `ask` put one question, or none if all is known. The others
/// return one answer, and put the question themselves if nobody has.
pub(super) struct Known<'a> {
    catalog: &'a dyn Catalog,
    dependents: HashMap<Seq, Vec<Entry>>,
    stored: HashMap<Seq, Option<Stored>>,
    deltas: HashMap<Seq, Vec<(Seq, u64)>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(catalog: &'a dyn Catalog) -> Self {
        Self { catalog, dependents: HashMap::new(), stored: HashMap::new(), deltas: HashMap::new() }
    }

    /// The catalog, for questions that are put once.
    pub(super) fn catalog(&self) -> &'a dyn Catalog {
        self.catalog
    }

    pub(super) fn ask_dependents(&mut self, parents: &[Seq]) -> Result<()> {
        let missing = missing(&self.dependents, parents.iter().copied());
        if missing.is_empty() {
            return Ok(());
        }
        let found = self.catalog.dependent_on(&missing)?;
        self.dependents.extend(missing.into_iter().map(|parent| (parent, Vec::new())));
        for (parent, child) in found {
            self.dependents.entry(parent).or_default().push(child);
        }
        Ok(())
    }

    /// Asks for the dependents of those checkpoints and for the dependents of these, one question a level. It goes on only from
    /// what `may_go`.
    pub(super) fn ask_all_dependents(&mut self, parents: Vec<Seq>, may_go: impl Fn(&Entry) -> bool) -> Result<()> {
        let mut seen: HashSet<Seq> = parents.iter().copied().collect();
        let mut level = parents;
        while !level.is_empty() {
            self.ask_dependents(&level)?;
            let children = level.iter().filter_map(|parent| self.dependents.get(parent)).flatten();
            let next = children.filter(|child| may_go(child)).map(|child| child.seq);
            level = next.filter(|child| seen.insert(*child)).collect();
        }
        Ok(())
    }

    /// The checkpoints that cannot be read without that one, which is their parent.
    pub(super) fn dependents(&mut self, parent: Seq) -> Result<&[Entry]> {
        self.ask_dependents(&[parent])?;
        Ok(self.dependents.get(&parent).map_or(&[], Vec::as_slice))
    }

    pub(super) fn ask_stored(&mut self, seqs: &[Seq]) -> Result<()> {
        let missing = missing(&self.stored, seqs.iter().copied());
        if missing.is_empty() {
            return Ok(());
        }
        let found = self.catalog.stored(&missing)?;
        self.stored.extend(missing.into_iter().map(|seq| (seq, None)));
        self.stored.extend(found.into_iter().map(|(seq, stored)| (seq, Some(stored))));
        Ok(())
    }

    /// How a payload is stored. `None`: it is gone, which only damage does.
    pub(super) fn stored(&mut self, seq: Seq) -> Result<Option<Stored>> {
        self.ask_stored(&[seq])?;
        Ok(self.stored.get(&seq).copied().flatten())
    }

    pub(super) fn ask_deltas(&mut self, bases: &[Seq]) -> Result<()> {
        let missing = missing(&self.deltas, bases.iter().copied());
        if missing.is_empty() {
            return Ok(());
        }
        let found = self.catalog.deltas_of(&missing)?;
        self.deltas.extend(missing.into_iter().map(|base| (base, Vec::new())));
        for (base, delta, bytes) in found {
            self.deltas.entry(base).or_default().push((delta, bytes));
        }
        Ok(())
    }

    /// The payloads that are deltas against that one, with their stored bytes.
    pub(super) fn deltas(&mut self, base: Seq) -> Result<&[(Seq, u64)]> {
        self.ask_deltas(&[base])?;
        Ok(self.deltas.get(&base).map_or(&[], Vec::as_slice))
    }

    /// Asks how those payloads are stored, and all that they are built on, one question a level. A payload that `whole` names
    /// has no base any more.
    pub(super) fn ask_bases(&mut self, mut level: Vec<Seq>, whole: &HashMap<Seq, u64>) -> Result<()> {
        let mut seen = HashSet::new();
        for _ in 0..LONGEST_CHAIN {
            level.retain(|seq| !whole.contains_key(seq) && seen.insert(*seq));
            if level.is_empty() {
                break;
            }
            self.ask_stored(&level)?;
            level = level.iter().filter_map(|seq| self.stored.get(seq)?.as_ref()?.base).collect();
        }
        Ok(())
    }
}

/// The keys that have no value yet, each once.
pub(super) fn missing<K: Copy + Eq + Hash, V>(known: &HashMap<K, V>, keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut seen = HashSet::new();
    keys.filter(|key| !known.contains_key(key) && seen.insert(*key)).collect()
}
