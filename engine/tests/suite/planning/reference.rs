//! A simple reference implementation of the rules. The reference plans one checkpoint after the other, and asks the
//! catalog each question only when the answer is needed.

use std::collections::{HashMap, HashSet};

use crate::common::prelude::*;
use forkpoint_engine::retention::{Catalog, Entry, SavedList, Stored};

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) gone: HashSet<Seq>,
    whole: HashMap<Seq, u64>,
    freed: i64,
}

impl Ledger {
    fn remove(&mut self, catalog: &dyn Catalog, seq: Seq) -> Result<()> {
        self.gone.insert(seq);
        let Some(stored) = self.stored(catalog, seq)? else { return Ok(()) };
        self.freed += stored.bytes.cast_signed();
        for (_, delta, bytes) in catalog.deltas_of(&[seq])? {
            if !self.gone.contains(&delta) {
                let whole = self.chain(catalog, stored)?;
                self.whole.insert(delta, whole + bytes);
                self.freed -= whole.cast_signed();
            }
        }
        self.whole.remove(&seq);
        Ok(())
    }

    fn stored(&self, catalog: &dyn Catalog, seq: Seq) -> Result<Option<Stored>> {
        match self.whole.get(&seq) {
            Some(bytes) => Ok(Some(Stored { base: None, bytes: *bytes })),
            None => Ok(catalog.stored(&[seq])?.first().map(|(_, stored)| *stored)),
        }
    }

    fn chain(&self, catalog: &dyn Catalog, mut link: Stored) -> Result<u64> {
        let mut bytes = link.bytes;
        while let Some(base) = link.base {
            let Some(next) = self.stored(catalog, base)? else { break };
            bytes += next.bytes;
            link = next;
        }
        Ok(bytes)
    }

    fn staying(&self, found: Vec<Entry>) -> Vec<Entry> {
        found.into_iter().filter(|entry| !self.gone.contains(&entry.seq)).collect()
    }

    /// Does the same as `Together::take`.
    fn with_dependents(
        &self,
        catalog: &dyn Catalog,
        entry: Entry,
        may_go: impl Fn(Entry) -> Result<bool>,
    ) -> Result<Option<Vec<Entry>>> {
        let mut all = vec![entry];
        let mut at = 0;
        while let Some(parent) = all.get(at).copied() {
            at += 1;
            let found = catalog.dependent_on(&[parent.seq])?.into_iter().map(|(_, child)| child).collect();
            for child in self.staying(found) {
                if !may_go(child)? {
                    return Ok(None);
                }
                all.push(child);
            }
        }
        all.reverse();
        Ok(Some(all))
    }

    fn beyond(&self, catalog: &dyn Catalog, lineage: i64, keep: u64, most: usize) -> Result<Vec<Entry>> {
        let all = self.staying(catalog.oldest_of(&[(lineage, usize::MAX)])?.concat());
        let excess = all.len().saturating_sub(usize::try_from(keep).unwrap());
        let found = &all[..excess];
        let mut going: Vec<Entry> = Vec::new();
        for entry in found {
            let with = self.with_dependents(catalog, *entry, |other| Ok(found.contains(&other)))?;
            for entry in with.into_iter().flatten() {
                if !going.contains(&entry) {
                    going.push(entry);
                }
            }
        }
        going.truncate(most);
        Ok(going)
    }
}

pub(super) fn plan(catalog: &dyn Catalog, prune: &Prune, ledger: &mut Ledger) -> Result<(Vec<Seq>, Option<Cursor>)> {
    let mut victims = Vec::new();
    let after = |after, total| Some(Cursor { after, total });
    let look = prune.most * 4;
    if let Rule::KeepLast(keep) = prune.rule {
        let lineages = catalog.lineages_after(prune.contract, prune.cursor.after, look)?;
        let more = lineages.last().filter(|_| lineages.len() == look).and_then(|last| after(*last, None));
        for lineage in lineages {
            for entry in ledger.beyond(catalog, lineage, keep, prune.most - victims.len())? {
                ledger.remove(catalog, entry.seq)?;
                victims.push(entry.seq);
            }
            if victims.len() == prune.most {
                return Ok((victims, after(lineage - 1, None)));
            }
        }
        return Ok((victims, more));
    }
    let mut total = None;
    if let Rule::MaxBytes(limit) = prune.rule {
        total = prune.cursor.total.or(catalog.total(prune.contract, limit)?);
    }
    let fits = |ledger: &Ledger| match (prune.rule, total) {
        (Rule::MaxBytes(limit), Some(total)) => total.cast_signed() - ledger.freed <= limit.cast_signed(),
        _ => false,
    };
    if fits(ledger) {
        return Ok((victims, None));
    }
    let SavedList { entries, next } = catalog.saved_after(prune.contract, prune.cursor.after, None, look)?;
    let more = next.and_then(|last| after(last, total));
    for entry in entries {
        if ledger.gone.contains(&entry.seq) {
            continue;
        }
        if fits(ledger) {
            return Ok((victims, after(entry.seq - 1, total)));
        }
        let goes = |entry: Entry| {
            let waits = catalog.lines(&[entry.lineage])?.iter().any(|line| line.status == Status::Waiting);
            match prune.rule {
                Rule::SavedBefore(time) if !waits || entry.saved_at >= time => return Ok(entry.saved_at < time),
                Rule::AllSavedBefore(time) => return Ok(entry.saved_at < time),
                _ => {}
            }
            let all = ledger.staying(catalog.newest_of(&[(entry.lineage, usize::MAX)])?.concat());
            Ok(all.first() != Some(&entry))
        };
        let group = if goes(entry)? { ledger.with_dependents(catalog, entry, goes)? } else { None };
        for victim in group.into_iter().flatten() {
            if victims.len() == prune.most {
                return Ok((victims, after(entry.seq - 1, total)));
            }
            ledger.remove(catalog, victim.seq)?;
            victims.push(victim.seq);
        }
        if victims.len() == prune.most {
            return Ok((victims, after(entry.seq, total)));
        }
    }
    Ok((victims, more))
}
