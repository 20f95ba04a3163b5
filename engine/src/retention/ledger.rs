//! The ledger records the planned removals and the number of bytes that they free.

use std::collections::{HashMap, HashSet};

use super::catalog::{Catalog, Entry, Stored};
use super::known::{Known, LONGEST_CHAIN};
use crate::error::Result;
use crate::record::Seq;

/// The planned removals so far, and their effect on the stored bytes. A payload that stays but loses its base is stored
/// in full. It then takes about as many bytes as its chain.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    gone: HashSet<Seq>,
    by_lineage: HashMap<i64, usize>,
    /// The checkpoints in `gone` whose freed bytes are not counted yet, in the order of removal.
    unsettled: Vec<Seq>,
    /// The payloads that stay but lose their base, with their number of bytes when stored in full.
    whole: HashMap<Seq, u64>,
    freed: i64,
}

impl Ledger {
    /// Plans the removal of a checkpoint. [`Ledger::freed`] counts the freed bytes later, because not all callers need
    /// them.
    pub(super) fn remove(&mut self, entry: Entry) {
        if self.gone.insert(entry.seq) {
            *self.by_lineage.entry(entry.lineage).or_default() += 1;
            self.unsettled.push(entry.seq);
        }
    }

    pub(super) fn is_gone(&self, seq: Seq) -> bool {
        self.gone.contains(&seq)
    }

    /// The checkpoints that are planned for removal, in save order.
    pub(super) fn gone(&self) -> Vec<Seq> {
        let mut gone: Vec<Seq> = self.gone.iter().copied().collect();
        gone.sort_unstable();
        gone
    }

    /// Returns the lineages of the checkpoints that are planned for removal.
    pub(super) fn lineages(&self) -> Vec<i64> {
        self.by_lineage.keys().copied().collect()
    }

    /// Loads the data that [`Ledger::freed`] needs if `victims` are removed next, in this order. Asks one question
    /// about how the victims are stored, one about the deltas against them, and one for each level of bases below
    /// payloads that must be stored in full.
    pub(super) fn ask_payloads(&self, known: &mut Known<'_>, victims: &[Seq]) -> Result<()> {
        known.ask_stored(victims)?;
        known.ask_deltas(victims)?;
        let all: HashSet<Seq> = victims.iter().copied().collect();
        let stays = |later: &HashSet<Seq>, seq| later.contains(&seq) || !(self.is_gone(seq) || all.contains(&seq));
        let (mut later, mut bases) = (all.clone(), Vec::new());
        for victim in victims {
            later.remove(victim);
            let stored = self.stored(known, *victim)?;
            // A payload that loses its base earlier in the plan is stored in full when it is removed.
            if let Some(base) = stored.and_then(|stored| stored.base)
                && (later.contains(&base) || !all.contains(&base))
                && known.deltas(*victim)?.iter().any(|(seq, _)| stays(&later, *seq))
            {
                bases.push(base);
            }
        }
        known.ask_bases(bases, &self.whole)
    }

    /// Returns the number of stored bytes that the removals free. It is negative if storing remaining payloads in full
    /// takes more bytes than that.
    pub(super) fn freed(&mut self, known: &mut Known<'_>) -> Result<i64> {
        let victims = std::mem::take(&mut self.unsettled);
        self.ask_payloads(known, &victims)?;
        let mut later: HashSet<Seq> = victims.iter().copied().collect();
        for victim in victims {
            later.remove(&victim);
            self.settle(known, victim, &later)?;
        }
        Ok(self.freed)
    }

    /// Counts the bytes of one removal. The checkpoints in `later` are still stored at this point.
    fn settle(&mut self, known: &mut Known<'_>, victim: Seq, later: &HashSet<Seq>) -> Result<()> {
        let Some(stored) = self.stored(known, victim)? else { return Ok(()) };
        self.freed += signed(stored.bytes);
        let staying = self.staying(known, victim, later)?;
        if !staying.is_empty() {
            let whole = self.chain(known, stored)?;
            for (seq, bytes) in staying {
                self.whole.insert(seq, whole + bytes);
                self.freed -= signed(whole);
            }
        }
        self.whole.remove(&victim);
        Ok(())
    }

    /// Returns the deltas against a payload that are still stored when it is removed, each with its save number and its
    /// stored size in bytes.
    fn staying(&self, known: &mut Known<'_>, base: Seq, later: &HashSet<Seq>) -> Result<Vec<(Seq, u64)>> {
        let stays = |seq: &Seq| !self.gone.contains(seq) || later.contains(seq);
        Ok(known.deltas(base)?.iter().copied().filter(|(seq, _)| stays(seq)).collect())
    }

    fn stored(&self, known: &mut Known<'_>, seq: Seq) -> Result<Option<Stored>> {
        match self.whole.get(&seq) {
            Some(bytes) => Ok(Some(Stored { base: None, bytes: *bytes })),
            None => known.stored(seq),
        }
    }

    /// Returns the total stored size, in bytes, of a payload and of all bases in its chain.
    fn chain(&self, known: &mut Known<'_>, mut link: Stored) -> Result<u64> {
        let mut bytes = link.bytes;
        for _ in 0..LONGEST_CHAIN {
            let Some(base) = link.base else { break };
            let Some(next) = self.stored(known, base)? else { break };
            bytes += next.bytes;
            link = next;
        }
        Ok(bytes)
    }

    /// The number of a lineage's checkpoints that are planned for removal.
    pub(super) fn gone_of(&self, lineage: i64) -> usize {
        self.by_lineage.get(&lineage).copied().unwrap_or(0)
    }

    /// Returns the newest remaining checkpoint of each lineage.
    pub(super) fn newest(&self, catalog: &dyn Catalog, lineages: &[i64]) -> Result<Vec<(i64, Option<Seq>)>> {
        let wanted: Vec<_> = lineages.iter().map(|lineage| (*lineage, self.gone_of(*lineage) + 1)).collect();
        let staying = |(lineage, found): (&i64, Vec<Entry>)| {
            (*lineage, found.into_iter().map(|entry| entry.seq).find(|seq| !self.is_gone(*seq)))
        };
        Ok(lineages.iter().zip(catalog.newest_of(&wanted)?).map(staying).collect())
    }
}

pub(super) fn signed(bytes: u64) -> i64 {
    // A store never contains 2^63 bytes, so the fallback is never used.
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
