//! The newest checkpoints that this store has seen, by lineage. They may be out of date: a statement that relies on one
//! must also verify it.

use std::collections::{BTreeMap, HashMap};

use super::key::{Name, name};
use crate::codec::plan::Base;
use crate::record::{ContractId, Header};

/// The maximum number of remembered lineages. The least recently saved lineage is forgotten first.
const MOST: usize = 16_384;

/// The newest checkpoint of a lineage.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) lin: i64,
    /// The random number of its row. Together with the save number, it identifies the row, even if the database goes
    /// back in time.
    pub(super) call: i64,
    /// The checkpoint's header, without its meta.
    pub(super) header: Header,
    /// The payload.
    pub(super) base: Base,
}

#[derive(Debug)]
struct Remembered {
    head: Head,
    /// True if others write the lineage too, so that nothing is assumed about it.
    shared: bool,
    /// The time of its last save: see [`Heads::clock`].
    saved: u64,
}

/// The heads of the lineages that this store writes.
#[derive(Debug, Default)]
pub(super) struct Heads {
    by_lineage: HashMap<Name, Remembered>,
    /// For each head's id, its lineage.
    lineages: HashMap<Name, Name>,
    /// The lineages in the order of their last save.
    by_time: BTreeMap<u64, Name>,
    /// The number of heads that were put so far.
    clock: u64,
}

impl Heads {
    /// The head of a lineage, if the store has seen it and no other process writes the lineage.
    pub(super) fn of(&self, contract: ContractId, lineage: &str) -> Option<&Head> {
        self.unshared(&name(contract, lineage))
    }

    /// True if others write the lineage too.
    pub(super) fn is_shared(&self, contract: ContractId, lineage: &str) -> bool {
        self.by_lineage.get(&name(contract, lineage)).is_some_and(|known| known.shared)
    }

    pub(super) fn with_id(&self, contract: ContractId, id: &str) -> Option<&Head> {
        self.unshared(self.lineages.get(&name(contract, id))?)
    }

    fn unshared(&self, lineage: &Name) -> Option<&Head> {
        self.by_lineage.get(lineage).filter(|known| !known.shared).map(|known| &known.head)
    }

    /// Compares the remembered head with the head that the database had when the lineage was locked. If they differ,
    /// others write the lineage too.
    pub(super) fn compare(&mut self, lineage: &Name, newest: Option<&Head>) {
        let Some(Remembered { head, shared, .. }) = self.by_lineage.get_mut(lineage) else { return };
        let key = |head: &Head| (head.base.key.seq, head.call);
        *shared = newest.map(key) != Some(key(head));
    }

    /// Marks a lineage as written by others. Nothing is assumed about it until [`Heads::compare`] finds it unchanged.
    pub(super) fn doubt(&mut self, contract: ContractId, lineage: &str) {
        if let Some(known) = self.by_lineage.get_mut(&name(contract, lineage)) {
            known.shared = true;
        }
    }

    /// Forgets the head of a lineage that was removed, or has lost checkpoints.
    pub(super) fn forget(&mut self, lineage: &Name) {
        if let Some(Remembered { head, saved, .. }) = self.by_lineage.remove(lineage) {
            self.lineages.remove(&name(head.header.contract, &head.header.id));
            self.by_time.remove(&saved);
        }
    }

    /// Remembers a head.
    pub(super) fn put(&mut self, head: Head) {
        let lineage = name(head.header.contract, &head.header.lineage);
        let shared = self.by_lineage.get(&lineage).is_some_and(|known| known.shared);
        self.forget(&lineage);
        self.clock += 1;
        self.lineages.insert(name(head.header.contract, &head.header.id), lineage.clone());
        self.by_time.insert(self.clock, lineage.clone());
        self.by_lineage.insert(lineage, Remembered { head, shared, saved: self.clock });
        if self.by_lineage.len() > MOST
            && let Some((_, oldest)) = self.by_time.pop_first()
        {
            self.forget(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PayloadKey;

    const CONTRACT: ContractId = ContractId(1);

    fn head(lineage: usize, save: i64) -> Head {
        let header = Header::new(CONTRACT, format!("run-{lineage}"), format!("c-{lineage}-{save}"));
        let base = Base { key: PayloadKey { seq: save, sum: 0 }, depth: 0, budget: 0 };
        Head { lin: save, call: save, header, base }
    }

    fn knows(heads: &Heads, lineage: usize, save: i64) -> bool {
        let by_name = heads.of(CONTRACT, &format!("run-{lineage}"));
        let by_id = heads.with_id(CONTRACT, &format!("c-{lineage}-{save}"));
        assert_eq!(by_name.is_some(), by_id.is_some());
        by_name.is_some()
    }

    #[test]
    fn the_lineage_that_was_saved_least_recently_is_forgotten() {
        let mut heads = Heads::default();
        for lineage in 0..MOST {
            heads.put(head(lineage, 1));
        }
        // After another save, the first lineage is the newest, and its old id is forgotten.
        heads.put(head(0, 2));
        assert!(heads.with_id(CONTRACT, "c-0-1").is_none());
        heads.doubt(CONTRACT, "run-1");
        for lineage in MOST..MOST + 1000 {
            heads.put(head(lineage, 1));
        }
        assert!(knows(&heads, 0, 2));
        assert!((1..=1000).all(|lineage| !knows(&heads, lineage, 1)));
        assert!((1001..MOST + 1000).all(|lineage| knows(&heads, lineage, 1)));
        assert!(!heads.is_shared(CONTRACT, "run-1"), "nothing of it is left");
        assert_eq!((heads.by_lineage.len(), heads.lineages.len(), heads.by_time.len()), (MOST, MOST, MOST));
    }

    #[test]
    fn nothing_is_assumed_about_a_shared_lineage_until_its_head_is_seen_again() {
        let mut heads = Heads::default();
        heads.put(head(1, 1));
        heads.doubt(CONTRACT, "run-1");
        heads.put(head(1, 2));
        assert!(!knows(&heads, 1, 2) && heads.is_shared(CONTRACT, "run-1"));
        let lineage = name(CONTRACT, "run-1");
        heads.compare(&lineage, Some(&head(1, 1)));
        assert!(!knows(&heads, 1, 2));
        heads.compare(&lineage, Some(&head(1, 2)));
        assert!(knows(&heads, 1, 2) && !heads.is_shared(CONTRACT, "run-1"));
        heads.forget(&lineage);
        assert!(!knows(&heads, 1, 2) && heads.by_time.is_empty());
    }
}
