//! Plans which checkpoints the rules remove, from the answers of a [`Catalog`].

use std::collections::BTreeSet;

use super::catalog::{Catalog, Entry};
use super::excess::Keep;
use super::known::Known;
use super::ledger::{Ledger, signed};
use super::limit::{By, Limit};
use super::policy::{BATCH, Cursor, LOOK, Prune, Pruned, Rule};
use super::together::Together;
use crate::error::Result;
use crate::record::{ContractId, Seq};

/// The number of checkpoints or lineages in the first portion of a batch. Each later portion is [`GROWTH`] times as
/// large. A rule may need only a small part of a batch, so planning asks in portions.
const PORTION: usize = 64;
/// The number of checkpoints in a batch of a preview. A preview holds no locks, and a server answers a few large
/// questions faster.
const PREVIEWED: usize = 64 * BATCH;
const GROWTH: usize = 4;

/// The plan of one batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The checkpoints to remove.
    pub victims: Vec<Seq>,
    /// The position of the next batch. The `total` of this cursor does not include the removals of this batch yet.
    pub next: Option<Cursor>,
    /// True if the batch has met checkpoints that the rule selects, even if all of them stay.
    pub met: bool,
    /// True if the batch was full of checkpoints that the rule selects.
    pub full: bool,
}

impl Plan {
    /// Returns the result of this batch. `bytes` is the number of freed bytes, and `lineages` the number of lineages
    /// that now have no checkpoints.
    pub fn done(self, bytes: i64, lineages: u64) -> Pruned {
        let left = |total: u64| u64::try_from(signed(total) - bytes).unwrap_or(0);
        let next = self.next.map(|next| Cursor { total: next.total.map(left), ..next });
        Pruned {
            checkpoints: self.victims.len() as u64,
            bytes,
            lineages,
            next,
            met: self.met || !self.victims.is_empty(),
            all_stay: self.full && self.victims.is_empty(),
        }
    }

    fn next_after(&mut self, after: i64) {
        self.next = Some(Cursor { after, total: None });
    }
}

/// Plans a batch.
///
/// Asks the catalog a small number of questions, which does not grow with the number of checkpoints and lineages. Asks
/// one more question for each level of [`depends_on_parent`](crate::record::Header::depends_on_parent) that leads out
/// of the batch, and for each level of bases below a payload that must be stored in full.
pub fn plan(catalog: &dyn Catalog, prune: &Prune) -> Result<Plan> {
    plan_with(&mut Known::new(catalog), prune, &mut Ledger::default())
}

/// The lineages from which a batch may remove checkpoints. A backend with concurrent writers locks these lineages
/// before it plans.
pub fn candidates(catalog: &dyn Catalog, prune: &Prune) -> Result<BTreeSet<i64>> {
    let (after, look) = (prune.cursor.after, prune.most.saturating_mul(LOOK));
    let keep = match prune.rule {
        Rule::KeepLast(keep) => usize::try_from(keep).unwrap_or(usize::MAX),
        Rule::SavedBefore(_) | Rule::AllSavedBefore(_) | Rule::MaxBytes(_) => {
            let entries = catalog.saved_after(prune.contract, after, prune.rule.before(), look)?.entries.into_iter();
            let may_go = |entry: &Entry| prune.rule.before().is_none_or(|time| entry.saved_at < time);
            return Ok(entries.filter(may_go).map(|entry| entry.lineage).collect());
        }
    };
    let lineages = catalog.lineages_after(prune.contract, after, look)?;
    let (mut wanted, mut certain) = (BTreeSet::new(), 0);
    for lineages in lineages.chunks(prune.most.max(1)) {
        let counts = catalog.counts(lineages)?.into_iter().map(|count| count.saturating_sub(keep));
        let (crowded, excess): (Vec<_>, Vec<_>) = lineages.iter().copied().zip(counts).filter(|of| of.1 > 0).unzip();
        let together = catalog.have_dependents(&crowded)?;
        for ((lineage, excess), together) in crowded.into_iter().zip(excess).zip(together) {
            if certain >= prune.most {
                return Ok(wanted);
            }
            wanted.insert(lineage);
            // In a lineage with dependents, some checkpoints may have to stay.
            certain += if together { 0 } else { excess };
        }
    }
    Ok(wanted)
}

/// Plans a batch. Removals that are already in the ledger are treated as done.
fn plan_with(known: &mut Known<'_>, prune: &Prune, ledger: &mut Ledger) -> Result<Plan> {
    match prune.rule {
        Rule::SavedBefore(time) => in_save_order(known, prune, ledger, &mut Limit::by_time(time, true)),
        Rule::AllSavedBefore(time) => in_save_order(known, prune, ledger, &mut Limit::by_time(time, false)),
        Rule::MaxBytes(limit) => {
            let counted = match prune.cursor.total {
                Some(total) => Some(total),
                None => known.catalog().total(prune.contract, limit)?,
            };
            let Some(total) = counted else { return Ok(Plan::default()) };
            let mut bytes = Limit::new(By::Bytes { total, limit });
            if bytes.holds(known, ledger)? {
                return Ok(Plan::default());
            }
            let mut plan = in_save_order(known, prune, ledger, &mut bytes)?;
            if let Some(next) = &mut plan.next {
                next.total = Some(total);
            }
            Ok(plan)
        }
        Rule::KeepLast(keep) => by_lineage(known, prune, ledger, keep),
    }
}

fn in_save_order(known: &mut Known<'_>, prune: &Prune, ledger: &mut Ledger, limit: &mut Limit) -> Result<Plan> {
    let look = prune.most.saturating_mul(LOOK);
    let saved = known.catalog().saved_after(prune.contract, prune.cursor.after, prune.rule.before(), look)?;
    let (mut entries, mut plan) = (saved.entries, Plan::default());
    saved.next.into_iter().for_each(|after| plan.next_after(after));
    entries.retain(|entry| !ledger.is_gone(entry.seq) && limit.may_take(entry));
    plan.met = !entries.is_empty();
    plan.full = entries.len() == look;
    // Ask one question for all entries. It also covers a long chain of dependents, as far as the chain is in the batch.
    known.ask_dependents(&seqs(&entries))?;
    let mut together = Together::default();
    let mut rest = &entries[..];
    let mut portion = PORTION;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(wanted(portion, prune.most - plan.victims.len()).min(rest.len()));
        let groups = groups(known, ledger, limit, &mut together, now)?;
        if take_groups(known, prune.most, ledger, limit, &groups, &mut plan)? {
            break;
        }
        (rest, portion) = (later, portion.saturating_mul(GROWTH));
    }
    Ok(plan)
}

/// A checkpoint that a rule examines, and the checkpoints to remove together with it, in the order of removal and
/// including itself. The list is empty if the checkpoint stays.
type Group = (Entry, Vec<Entry>);

/// Returns the groups of these checkpoints, in save order.
fn groups(
    known: &mut Known<'_>,
    ledger: &Ledger,
    limit: &mut Limit,
    together: &mut Together,
    entries: &[Entry],
) -> Result<Vec<Group>> {
    let catalog = known.catalog();
    known.ask_all_dependents(seqs(entries), |entry| !ledger.is_gone(entry.seq) && limit.may_take(entry))?;
    limit.ask(catalog, ledger, entries.iter().map(|entry| entry.lineage))?;
    let mut groups = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut all = None;
        if limit.takes(catalog, ledger, *entry)? {
            let stays = |other| Ok(!limit.takes(catalog, ledger, other)?);
            all = together.take(known, *entry, |seq| ledger.is_gone(seq), stays)?;
        }
        groups.push((*entry, all.unwrap_or_default()));
    }
    Ok(groups)
}

/// Plans the removal of groups until the limit is reached or the batch is full. Returns true if the batch ends here.
fn take_groups(
    known: &mut Known<'_>,
    most: usize,
    ledger: &mut Ledger,
    limit: &Limit,
    groups: &[Group],
    plan: &mut Plan,
) -> Result<bool> {
    if matches!(limit.by, By::Bytes { .. }) {
        let all = groups.iter().flat_map(|(_, group)| group).map(|entry| entry.seq);
        let all: Vec<Seq> = all.take(most - plan.victims.len()).collect();
        ledger.ask_payloads(known, &all)?;
    }
    for (entry, group) in groups {
        // The checkpoint may already be planned for removal in another group.
        if ledger.is_gone(entry.seq) {
            continue;
        }
        if limit.holds(known, ledger)? {
            // The limit is reached by estimate. The next batch continues from this checkpoint and measures the stored
            // bytes again.
            plan.next_after(entry.seq - 1);
            return Ok(true);
        }
        for victim in group {
            if plan.victims.len() == most {
                // The next batch finds the rest of this group again.
                plan.next_after(entry.seq - 1);
                return Ok(true);
            }
            ledger.remove(*victim);
            plan.victims.push(victim.seq);
        }
        if plan.victims.len() == most {
            plan.next_after(entry.seq);
            return Ok(true);
        }
    }
    Ok(false)
}

fn by_lineage(known: &mut Known<'_>, prune: &Prune, ledger: &mut Ledger, keep: u64) -> Result<Plan> {
    let look = prune.most.saturating_mul(LOOK);
    let lineages = known.catalog().lineages_after(prune.contract, prune.cursor.after, look)?;
    let mut plan = Plan::default();
    if lineages.len() == look
        && let Some(last) = lineages.last()
    {
        plan.next_after(*last);
    }
    let keep = Keep { last: keep, pinned: None };
    let mut rest = &lineages[..];
    let mut portion = PORTION;
    while !rest.is_empty() {
        let now = &rest[..wanted(portion, prune.most - plan.victims.len()).min(rest.len())];
        let (found, looked_at) = ledger.beyond_each(known, now, keep, prune.most - plan.victims.len())?;
        for (lineage, entries) in found {
            for entry in entries.into_iter().take(prune.most - plan.victims.len()) {
                ledger.remove(entry);
                plan.victims.push(entry.seq);
            }
            if plan.victims.len() == prune.most {
                // The lineage may have more checkpoints to remove.
                plan.next_after(lineage - 1);
                return Ok(plan);
            }
        }
        (rest, portion) = (&rest[looked_at..], looked_at.saturating_mul(GROWTH));
    }
    Ok(plan)
}

/// Returns the size of the next portion: at most the number of removals left, unless most checkpoints of the previous
/// portion had to stay.
fn wanted(portion: usize, left: usize) -> usize {
    portion.min(left.max(portion / GROWTH))
}

fn seqs(entries: &[Entry]) -> Vec<Seq> {
    entries.iter().map(|entry| entry.seq).collect()
}

/// Counts the checkpoints that these rules would remove if applied one after the other. The number of bytes is their
/// stored size. Removing them frees less if other payloads must then be stored in full.
pub fn preview(catalog: &dyn Catalog, contract: Option<ContractId>, rules: &[Rule]) -> Result<Pruned> {
    let mut ledger = Ledger::default();
    // Only a rule about bytes needs the bytes that earlier removals free.
    let is_about_bytes = rules.iter().any(|rule| matches!(rule, Rule::MaxBytes(_)));
    for rule in rules {
        let mut next = Some(Cursor::default());
        while let Some(cursor) = next {
            // Use an empty `Known` for each batch, because the answers for all batches might not fit into memory.
            let mut known = Known::new(catalog);
            next = plan_with(&mut known, &Prune { contract, rule: *rule, cursor, most: PREVIEWED }, &mut ledger)?.next;
            if is_about_bytes {
                ledger.freed(&mut known)?;
            }
        }
    }
    let lineages = ledger.lineages();
    let ended =
        lineages.iter().zip(catalog.counts(&lineages)?).filter(|(lineage, count)| ledger.gone_of(**lineage) == *count);
    let gone = ledger.gone();
    let bytes = signed(catalog.bytes_of(&gone)?);
    Ok(Pruned {
        checkpoints: gone.len() as u64,
        bytes,
        lineages: ended.count() as u64,
        next: None,
        met: !gone.is_empty(),
        all_stay: false,
    })
}
