//! Stores the answers of a [`Catalog`] during planning. The planner announces the checkpoints that it will examine, so
//! that one question covers all of them. This saves time, because a server answers a question about five hundred
//! checkpoints as fast as a question about one.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::catalog::{Catalog, Entry, Stored};
use crate::error::Result;
use crate::record::Seq;

/// The maximum length of a chain of bases. Only a damaged file has longer chains.
pub(super) const LONGEST_CHAIN: usize = 1000;

/// A catalog and its answers.
///
/// A function whose name begins with `ask` asks the catalog at most one question, for all answers that are not stored
/// yet. Every other function returns one answer, and asks the catalog if necessary.
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

    /// Returns the catalog itself, for questions that are asked only once.
    pub(super) fn catalog(&self) -> &'a dyn Catalog {
        self.catalog
    }

    pub(super) fn ask_dependents(&mut self, parents: &[Seq]) -> Result<()> {
        ask(&mut self.dependents, parents, |parents| self.catalog.dependent_on(parents), Vec::push)
    }

    /// Loads the dependents of these checkpoints, their dependents, and so on. Each level takes one question. Goes on
    /// only from checkpoints for which `may_go` returns true.
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

    /// The checkpoints that cannot be read without this parent.
    pub(super) fn dependents(&mut self, parent: Seq) -> Result<&[Entry]> {
        self.ask_dependents(&[parent])?;
        Ok(self.dependents.get(&parent).map_or(&[], Vec::as_slice))
    }

    pub(super) fn ask_stored(&mut self, seqs: &[Seq]) -> Result<()> {
        ask(&mut self.stored, seqs, |seqs| self.catalog.stored(seqs), |known, stored| *known = Some(stored))
    }

    /// Returns how a payload is stored, or `None` if the payload is lost because the store is damaged.
    pub(super) fn stored(&mut self, seq: Seq) -> Result<Option<Stored>> {
        self.ask_stored(&[seq])?;
        Ok(self.stored.get(&seq).copied().flatten())
    }

    pub(super) fn ask_deltas(&mut self, bases: &[Seq]) -> Result<()> {
        let question = |bases: &[Seq]| {
            let found = self.catalog.deltas_of(bases)?;
            Ok(found.into_iter().map(|(base, delta, bytes)| (base, (delta, bytes))).collect())
        };
        ask(&mut self.deltas, bases, question, Vec::push)
    }

    /// Returns the payloads that are deltas against `base`, each with its stored size in bytes.
    pub(super) fn deltas(&mut self, base: Seq) -> Result<&[(Seq, u64)]> {
        self.ask_deltas(&[base])?;
        Ok(self.deltas.get(&base).map_or(&[], Vec::as_slice))
    }

    /// Loads how these payloads and all their bases are stored. Each level of bases takes one question. A payload in
    /// `whole` counts as one without a base.
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

/// Asks one question about the save numbers without an answer, if there are any. `add` adds an item to the answer for
/// its number.
fn ask<A: Default, T>(
    answers: &mut HashMap<Seq, A>,
    seqs: &[Seq],
    question: impl FnOnce(&[Seq]) -> Result<Vec<(Seq, T)>>,
    add: impl Fn(&mut A, T),
) -> Result<()> {
    let missing = missing(answers, seqs.iter().copied());
    if missing.is_empty() {
        return Ok(());
    }
    let found = question(&missing)?;
    answers.extend(missing.into_iter().map(|seq| (seq, A::default())));
    for (seq, item) in found {
        add(answers.entry(seq).or_default(), item);
    }
    Ok(())
}

/// Returns the keys that have no value in the map. Each key is returned once.
pub(super) fn missing<K: Copy + Eq + Hash, V>(known: &HashMap<K, V>, keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut seen = HashSet::new();
    keys.filter(|key| !known.contains_key(key) && seen.insert(*key)).collect()
}
