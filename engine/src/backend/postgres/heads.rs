//! The newest checkpoints that this store has seen, by lineage. They may be out of date: a statement that relies on one
//! also verifies it.

use std::collections::{HashMap, HashSet};

use super::key::{Name, name};
use crate::codec::plan::Base;
use crate::record::{ContractId, Header};

/// How many lineages are remembered. All of them are forgotten when there are more.
const MOST: usize = 16_384;

/// The newest checkpoint of a lineage.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) lin: i64,
    /// The random number of its row. With the save number, it tells the row from all others, also if the database goes back
    /// in time.
    pub(super) call: i64,
    /// The checkpoint's header, without its meta.
    pub(super) header: Header,
    /// The payload.
    pub(super) base: Base,
}

/// The heads of the lineages that this store writes.
#[derive(Debug, Default)]
pub(super) struct Heads {
    by_lineage: HashMap<Name, Head>,
    /// The lineages of the heads, by the heads' ids.
    lineages: HashMap<Name, Name>,
    /// Lineages that others write too. Nothing is assumed about them.
    shared: HashSet<Name>,
}

impl Heads {
    /// The head of a lineage, if the store has seen it and no other process writes the lineage.
    pub(super) fn of(&self, contract: ContractId, lineage: &str) -> Option<&Head> {
        let name = name(contract, lineage);
        self.by_lineage.get(&name).filter(|_| !self.shared.contains(&name))
    }

    /// True if others write the lineage too.
    pub(super) fn is_shared(&self, contract: ContractId, lineage: &str) -> bool {
        self.shared.contains(&name(contract, lineage))
    }

    /// The head with this id.
    pub(super) fn with_id(&self, contract: ContractId, id: &str) -> Option<&Head> {
        let lineage = self.lineages.get(&name(contract, id))?;
        self.by_lineage.get(lineage).filter(|_| !self.shared.contains(lineage))
    }

    /// Learns the head that the database had when the lineage was locked. If it is not the remembered one, others write
    /// the lineage too.
    pub(super) fn compare(&mut self, lineage: &Name, newest: Option<&Head>) {
        let Some(head) = self.by_lineage.get(lineage) else { return };
        if newest.is_some_and(|newest| (newest.base.key.seq, newest.call) == (head.base.key.seq, head.call)) {
            self.shared.remove(lineage);
        } else {
            self.shared.insert(lineage.clone());
        }
    }

    /// Others write the lineage, so nothing is assumed about it until [`Heads::compare`] has found otherwise.
    pub(super) fn doubt(&mut self, contract: ContractId, lineage: &str) {
        self.shared.insert(name(contract, lineage));
    }

    /// Forgets the head of a lineage that was removed, or has lost checkpoints.
    pub(super) fn forget(&mut self, lineage: &Name) {
        self.shared.remove(lineage);
        if let Some(old) = self.by_lineage.remove(lineage) {
            self.lineages.remove(&name(old.header.contract, &old.header.id));
        }
    }

    /// Remembers a head.
    pub(super) fn put(&mut self, head: Head) {
        if self.by_lineage.len() >= MOST {
            *self = Self::default();
        }
        let lineage = name(head.header.contract, &head.header.lineage);
        let id = name(head.header.contract, &head.header.id);
        if let Some(old) = self.by_lineage.insert(lineage.clone(), head) {
            let old = name(old.header.contract, &old.header.id);
            if old != id {
                self.lineages.remove(&old);
            }
        }
        self.lineages.insert(id, lineage);
    }
}
