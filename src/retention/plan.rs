//! What the rules remove, worked out over a [`Catalog`].

use std::collections::HashMap;

use super::ledger::{Ledger, signed};
use super::{BATCH, Catalog, Cursor, Entry, Prune, Pruned, Rule};
use crate::error::Result;
use crate::record::{Seq, Space};

/// A batch looks at so many checkpoints for each that it may remove.
const LOOK: usize = 4;

/// What a rule that goes in save order says of a checkpoint.
enum Verdict {
    Goes,
    Stays,
    /// The rule holds now.
    Enough,
}

/// What a batch removes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Which checkpoints.
    pub victims: Vec<Seq>,
    /// Where the next batch goes on, as if nothing of this one had been removed yet.
    pub next: Option<Cursor>,
}

impl Plan {
    /// What came of it: so many bytes fewer, so many lineages ended.
    pub fn done(self, bytes: i64, lineages: u64) -> Pruned {
        let left = |total: u64| u64::try_from(signed(total) - bytes).unwrap_or(0);
        let next = self.next.map(|next| Cursor { total: next.total.map(left), ..next });
        Pruned { checkpoints: self.victims.len() as u64, bytes, lineages, next }
    }
}

/// Plans a batch on top of what is planned already.
pub fn plan(catalog: &dyn Catalog, prune: &Prune, ledger: &mut Ledger) -> Result<Plan> {
    match prune.rule {
        Rule::SavedBefore(time) => {
            let goes = |entry: &Entry| entry.saved_at < time;
            let verdict = |entry| if goes(&entry) { Verdict::Goes } else { Verdict::Stays };
            in_save_order(catalog, prune, ledger, goes, |_, entry| Ok(verdict(entry)))
        }
        Rule::MaxBytes(limit) => {
            let counted = match prune.cursor.total {
                Some(total) => Some(total),
                None => catalog.total(prune.space, limit)?,
            };
            let Some(total) = counted else { return Ok(Plan::default()) };
            let fits = |ledger: &Ledger| signed(total) - ledger.freed <= signed(limit);
            if fits(ledger) {
                return Ok(Plan::default());
            }
            let mut kept: HashMap<i64, Option<Seq>> = HashMap::new();
            let mut plan = in_save_order(
                catalog,
                prune,
                ledger,
                |_| true,
                |ledger, entry| {
                    if fits(ledger) {
                        return Ok(Verdict::Enough);
                    }
                    let newest = match kept.get(&entry.lineage) {
                        Some(newest) => *newest,
                        // It stays the newest: this rule does not remove it.
                        None => *kept.entry(entry.lineage).or_insert(ledger.newest(catalog, entry.lineage)?),
                    };
                    Ok(if newest == Some(entry.seq) { Verdict::Stays } else { Verdict::Goes })
                },
            )?;
            if let Some(next) = &mut plan.next {
                next.total = Some(total);
            }
            Ok(plan)
        }
        Rule::KeepLast(keep) => by_lineage(catalog, prune, ledger, keep),
    }
}

fn in_save_order(
    catalog: &dyn Catalog,
    prune: &Prune,
    ledger: &mut Ledger,
    likely: impl Fn(&Entry) -> bool,
    mut goes: impl FnMut(&Ledger, Entry) -> Result<Verdict>,
) -> Result<Plan> {
    let look = prune.most.saturating_mul(LOOK);
    let entries = catalog.saved_after(prune.space, prune.cursor.after, look)?;
    ledger.learn(catalog, entries.iter().copied().filter(likely).take(prune.most))?;
    let mut plan = Plan::default();
    if entries.len() == look {
        plan.next = entries.last().map(|last| Cursor { after: last.seq, total: None });
    }
    for entry in entries {
        if ledger.gone.contains(&entry.seq) {
            continue;
        }
        match goes(ledger, entry)? {
            Verdict::Goes => {}
            Verdict::Stays => continue,
            Verdict::Enough => {
                // By the estimate: the next batch looks again, from here.
                plan.next = Some(Cursor { after: entry.seq - 1, total: None });
                break;
            }
        }
        let all = ledger.with_dependents(catalog, &ledger.known, entry, |other| {
            Ok(!matches!(goes(ledger, other)?, Verdict::Stays))
        })?;
        for victim in all.into_iter().flatten() {
            if plan.victims.len() == prune.most {
                // The rest of what goes with it is looked for again.
                plan.next = Some(Cursor { after: entry.seq - 1, total: None });
                return Ok(plan);
            }
            ledger.remove(catalog, victim)?;
            plan.victims.push(victim.seq);
        }
        if plan.victims.len() == prune.most {
            plan.next = Some(Cursor { after: entry.seq, total: None });
            break;
        }
    }
    Ok(plan)
}

fn by_lineage(catalog: &dyn Catalog, prune: &Prune, ledger: &mut Ledger, keep: u64) -> Result<Plan> {
    let look = prune.most.saturating_mul(LOOK);
    let lineages = catalog.lineages_after(prune.space, prune.cursor.after, look)?;
    let mut plan = Plan::default();
    if lineages.len() == look {
        plan.next = lineages.last().map(|last| Cursor { after: *last, total: None });
    }
    for lineage in lineages {
        let beyond = ledger.beyond(catalog, lineage, keep, None, prune.most - plan.victims.len())?;
        ledger.learn(catalog, beyond.iter().copied())?;
        for entry in beyond {
            ledger.remove(catalog, entry)?;
            plan.victims.push(entry.seq);
        }
        if plan.victims.len() == prune.most {
            // It may have more.
            plan.next = Some(Cursor { after: lineage - 1, total: None });
            break;
        }
    }
    Ok(plan)
}

/// What these rules would remove, one after the other. The bytes are an estimate where payloads must be stored whole.
pub fn preview(catalog: &dyn Catalog, space: Option<Space>, rules: &[Rule]) -> Result<Pruned> {
    let mut ledger = Ledger::default();
    for rule in rules {
        let mut next = Some(Cursor::default());
        while let Some(cursor) = next {
            next = plan(catalog, &Prune { space, rule: *rule, cursor, most: BATCH }, &mut ledger)?.next;
        }
    }
    let mut lineages = 0;
    for (lineage, gone) in &ledger.by_lineage {
        lineages += u64::from(catalog.count(*lineage)? == *gone);
    }
    Ok(Pruned { checkpoints: ledger.gone.len() as u64, bytes: ledger.freed, lineages, next: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::Stored;

    /// Payloads of one lineage by save number from 1 on, as base and bytes; all were saved at 0.
    struct Shelf(Vec<(Option<Seq>, u64)>);

    impl Shelf {
        fn entries(&self) -> impl DoubleEndedIterator<Item = Entry> {
            (1..).zip(&self.0).map(|(seq, _)| Entry { seq, lineage: 1, saved_at: 0 }).collect::<Vec<_>>().into_iter()
        }
    }

    impl Catalog for Shelf {
        fn saved_after(&self, _: Option<Space>, after: Seq, most: usize) -> Result<Vec<Entry>> {
            Ok(self.entries().filter(|entry| entry.seq > after).take(most).collect())
        }
        fn lineages_after(&self, _: Option<Space>, after: i64, _: usize) -> Result<Vec<i64>> {
            Ok(if after < 1 { vec![1] } else { Vec::new() })
        }
        fn count(&self, _: i64) -> Result<usize> {
            Ok(self.0.len())
        }
        fn oldest(&self, _: i64, most: usize) -> Result<Vec<Entry>> {
            Ok(self.entries().take(most).collect())
        }
        fn has_dependent(&self, _: i64) -> Result<bool> {
            Ok(false)
        }
        fn dependent_on(&self, _: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
            Ok(Vec::new())
        }
        fn newest(&self, _: i64, most: usize) -> Result<Vec<Entry>> {
            Ok(self.entries().rev().take(most).collect())
        }
        fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>> {
            let rows = (1..).zip(&self.0).filter(|(at, _)| seqs.contains(at));
            Ok(rows.map(|(at, (base, bytes))| (at, Stored { base: *base, bytes: *bytes })).collect())
        }
        fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
            let delta = |(at, (base, bytes)): (Seq, &(Option<Seq>, u64))| Some(((*base)?, at, *bytes));
            Ok((1..).zip(&self.0).filter_map(delta).filter(|(base, ..)| bases.contains(base)).collect())
        }
        fn total(&self, _: Option<Space>, _: u64) -> Result<Option<u64>> {
            Ok(Some(self.0.iter().map(|row| row.1).sum()))
        }
    }

    fn chain() -> Shelf {
        // 1 <- 2 <- 3, a new keyframe 4 <- 5, and 6 that was made from 2.
        Shelf(vec![(None, 100), (Some(1), 10), (Some(2), 10), (None, 100), (Some(4), 10), (Some(2), 10)])
    }

    fn bytes(rule: Rule) -> (u64, i64) {
        let pruned = preview(&chain(), None, &[rule]).unwrap();
        (pruned.checkpoints, pruned.bytes)
    }

    #[test]
    fn what_must_be_stored_whole_takes_what_its_chain_took() {
        assert_eq!(bytes(Rule::KeepLast(5)), (1, 0), "2 takes 110 where 1 and 2 took 110");
        assert_eq!(bytes(Rule::KeepLast(4)), (2, -110), "3 and 6 take 120 each");
        assert_eq!(bytes(Rule::KeepLast(3)), (3, 10), "6 alone");
        assert_eq!(bytes(Rule::KeepLast(1)), (5, 120));
        assert_eq!(bytes(Rule::KeepLast(0)), (6, 240));
    }

    #[test]
    fn bytes_are_freed_until_they_are_enough() {
        assert_eq!(bytes(Rule::MaxBytes(240)), (0, 0));
        assert_eq!(bytes(Rule::MaxBytes(239)), (3, 10), "the first two free nothing");
        assert_eq!(bytes(Rule::MaxBytes(0)), (5, 120), "the newest stays");
    }

    #[test]
    fn a_batch_goes_on_where_the_last_one_ended() {
        let prune = |rule, cursor| Prune { space: None, rule, cursor, most: 2 };
        let mut ledger = Ledger::default();
        let first = plan(&chain(), &prune(Rule::SavedBefore(1), Cursor::default()), &mut ledger).unwrap();
        assert_eq!(first, Plan { victims: vec![1, 2], next: Some(Cursor { after: 2, total: None }) });
        let done = first.done(7, 0);
        assert_eq!((done.checkpoints, done.bytes), (2, 7));
        let second = plan(&chain(), &prune(Rule::SavedBefore(1), done.next.unwrap()), &mut ledger).unwrap();
        assert_eq!(second.victims, [3, 4]);
        let bytes = plan(&chain(), &prune(Rule::MaxBytes(0), Cursor::default()), &mut Ledger::default()).unwrap();
        assert_eq!(bytes.next, Some(Cursor { after: 2, total: Some(240) }));
        assert_eq!(bytes.done(-110, 0).next.unwrap().total, Some(350), "what is left, as it was measured");
    }
}
