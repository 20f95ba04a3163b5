//! Finds the excess checkpoints of lineages: the checkpoints beyond the number that a lineage keeps.

use std::collections::HashSet;

use super::catalog::{Catalog, Entry};
use super::known::Known;
use super::ledger::Ledger;
use super::policy::LOOK;
use super::together::Together;
use crate::error::Result;
use crate::record::Seq;

/// The position of a lineage, and its checkpoints to remove.
pub(super) type Excess = (i64, Vec<Entry>);

/// The checkpoints that each lineage keeps.
#[derive(Clone, Copy)]
pub(super) struct Keep {
    /// The number of newest checkpoints to keep.
    pub(super) last: u64,
    /// A checkpoint that is never removed. This checkpoint counts toward `last`.
    pub(super) pinned: Option<Seq>,
}

/// A lineage that has more checkpoints than the rule allows.
struct Crowded {
    lineage: i64,
    /// The number of checkpoints beyond the number to keep.
    excess: usize,
    /// True if some checkpoints of the lineage depend on their parents. Planning must then examine all candidates
    /// together.
    together: bool,
}

/// Returns the checkpoints of a lineage beyond the number to keep, the oldest first. Never returns `pinned` or a
/// checkpoint on which a remaining checkpoint depends.
pub fn beyond(catalog: &dyn Catalog, lineage: i64, keep: u64, pinned: Option<Seq>) -> Result<Vec<Seq>> {
    let keep = Keep { last: keep, pinned };
    let (found, _) = Ledger::default().beyond_each(&mut Known::new(catalog), &[lineage], keep, usize::MAX)?;
    Ok(found.into_iter().flat_map(|(_, entries)| entries).map(|entry| entry.seq).collect())
}

impl Ledger {
    /// Like [`beyond`], for several lineages in order. Stops when `most` checkpoints are selected, or when they would
    /// take too much memory. Also returns the number of examined lineages.
    ///
    /// Lineages without checkpoints to remove are not in the result. For a lineage with dependents, the result may
    /// exceed `most`.
    pub(super) fn beyond_each(
        &self,
        known: &mut Known<'_>,
        lineages: &[i64],
        keep: Keep,
        most: usize,
    ) -> Result<(Vec<Excess>, usize)> {
        let (crowded, looked_at) = self.crowded(known.catalog(), lineages, keep, most)?;
        let pinned = usize::from(keep.pinned.is_some());
        let wanted: Vec<_> =
            crowded.iter().map(|line| (line.lineage, line.excess + self.gone_of(line.lineage) + pinned)).collect();
        if wanted.is_empty() {
            return Ok((Vec::new(), looked_at));
        }
        let oldest = known.catalog().oldest_of(&wanted)?;
        let stays = |entry: &Entry| Some(entry.seq) == keep.pinned || self.is_gone(entry.seq);
        let found = crowded.iter().zip(oldest).map(|(line, entries)| {
            entries.into_iter().filter(|entry| !stays(entry)).take(line.excess).collect::<Vec<_>>()
        });
        let found: Vec<_> = found.collect();
        let dependent = crowded.iter().zip(&found).filter(|(line, _)| line.together).flat_map(|(_, entries)| entries);
        known.ask_dependents(&dependent.map(|entry| entry.seq).collect::<Vec<_>>())?;
        let with = crowded.into_iter().zip(found).map(|(line, entries)| {
            let entries = if line.together { self.with_dependents(known, &entries)? } else { entries };
            Ok((line.lineage, entries))
        });
        Ok((with.collect::<Result<_>>()?, looked_at))
    }

    /// Returns the first lineages with too many checkpoints, and the number of examined lineages: see
    /// [`Ledger::beyond_each`].
    fn crowded(
        &self,
        catalog: &dyn Catalog,
        lineages: &[i64],
        keep: Keep,
        most: usize,
    ) -> Result<(Vec<Crowded>, usize)> {
        let last = usize::try_from(keep.last).unwrap_or(usize::MAX);
        let counts = lineages.iter().zip(catalog.counts(lineages)?);
        let excess = |(lineage, count): (&i64, usize)| {
            (*lineage, count.saturating_sub(self.gone_of(*lineage)).saturating_sub(last))
        };
        let crowded: Vec<_> = counts.map(excess).enumerate().filter(|(_, (_, excess))| *excess > 0).collect();
        if crowded.is_empty() {
            return Ok((Vec::new(), lineages.len()));
        }
        let names: Vec<_> = crowded.iter().map(|(_, (lineage, _))| *lineage).collect();
        // The numbers of checkpoints that this call may still select: `certain` in lineages without dependents, where a
        // selected checkpoint is always removed, and `uncertain` in lineages with dependents, where some selected
        // checkpoints may have to stay. The second limit is therefore higher.
        let (mut certain, mut uncertain) = (most, most.saturating_mul(LOOK));
        let mut all = Vec::new();
        for ((at, (lineage, excess)), together) in crowded.into_iter().zip(catalog.have_dependents(&names)?) {
            let left = if together { &mut uncertain } else { &mut certain };
            let taken = excess.min(*left);
            *left -= taken;
            let ends = *left == 0;
            all.push(Crowded { lineage, excess: if together { excess } else { taken }, together });
            if ends {
                return Ok((all, at + 1));
            }
        }
        Ok((all, lineages.len()))
    }

    /// Returns the entries on which no remaining checkpoint depends. Dependents come before their parents.
    fn with_dependents(&self, known: &mut Known<'_>, entries: &[Entry]) -> Result<Vec<Entry>> {
        let going: HashSet<Seq> = entries.iter().map(|entry| entry.seq).collect();
        let (mut together, mut all) = (Together::default(), Vec::new());
        for entry in entries {
            let stays = |other: Entry| Ok(!going.contains(&other.seq));
            let with = together.take(known, *entry, |seq| self.is_gone(seq), stays)?;
            all.extend(with.into_iter().flatten());
        }
        Ok(all)
    }
}
