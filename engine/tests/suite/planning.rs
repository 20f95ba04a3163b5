//! Tests the planning over a catalog in memory: the results, the number of questions to the catalog, and the agreement
//! with a reference implementation that plans one checkpoint after the other.

mod reference;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::common::prelude::*;
use forkpoint_engine::retention::{BATCH, Catalog, Entry, Leases, Line, Plan, SavedList, Stored, plan, preview};
use proptest::prelude::*;

/// The contract of all checkpoints of a [`FakeCatalog`], and the time on its clock.
const RUNS: ContractId = ContractId(3);
const NOW: i64 = 100;

/// A checkpoint of a [`FakeCatalog`].
#[derive(Clone, Debug, Default)]
struct Row {
    lineage: i64,
    sort_key: u8,
    saved_at: i64,
    /// The parent, if the checkpoint cannot be read without it.
    depends_on: Option<Seq>,
    base: Option<Seq>,
    bytes: u64,
}

/// A catalog in memory. Save numbers begin at 1. The catalog counts the questions that it answers.
#[derive(Debug, Default)]
struct FakeCatalog {
    rows: BTreeMap<Seq, Row>,
    leases: Vec<(i64, Vec<u8>)>,
    /// The lineages that wait.
    waiting: Vec<i64>,
    /// The contracts and names of lineages. Others belong to [`RUNS`], and their position is their name.
    names: BTreeMap<i64, (ContractId, String)>,
    questions: RefCell<BTreeMap<&'static str, usize>>,
}

impl FakeCatalog {
    fn new(rows: Vec<Row>) -> Self {
        Self { rows: (1..).zip(rows).collect(), ..Self::default() }
    }

    fn rows(&self) -> impl Iterator<Item = (Seq, &Row)> {
        self.rows.iter().map(|(seq, row)| (*seq, row))
    }

    fn bytes(&self) -> u64 {
        self.rows.values().map(|row| row.bytes).sum()
    }

    /// Removes checkpoints as a backend does: a payload that loses its base is stored as a whole. Returns the number of freed
    /// bytes.
    fn remove(&mut self, victims: &[Seq]) -> i64 {
        let before = self.bytes().cast_signed();
        for victim in victims {
            let removed = self.rows.remove(victim).unwrap();
            let (mut chain, mut link) = (removed.bytes, removed.base);
            while let Some(below) = link.and_then(|base| self.rows.get(&base)) {
                (chain, link) = (chain + below.bytes, below.base);
            }
            for row in self.rows.values_mut().filter(|row| row.base == Some(*victim)) {
                (row.base, row.bytes) = (None, row.bytes + chain);
            }
        }
        before - self.bytes().cast_signed()
    }

    fn ordered(&self, lineage: i64) -> Vec<Entry> {
        let mut all: Vec<_> = self.rows().filter(|(_, row)| row.lineage == lineage).collect();
        all.sort_by_key(|(seq, row)| (row.sort_key, *seq));
        all.into_iter().map(entry).collect()
    }

    fn status(&self, lineage: i64) -> Status {
        if self.waiting.contains(&lineage) { Status::Waiting } else { Status::Finished }
    }

    fn count_question(&self, what: &'static str) {
        *self.questions.borrow_mut().entry(what).or_default() += 1;
    }

    fn questions(&self) -> usize {
        std::mem::take(&mut *self.questions.borrow_mut()).into_values().sum()
    }
}

fn entry((seq, row): (Seq, &Row)) -> Entry {
    Entry { seq, lineage: row.lineage, saved_at: row.saved_at }
}

impl Catalog for FakeCatalog {
    fn saved_after(&self, _: Option<ContractId>, after: Seq, _: Option<i64>, most: usize) -> Result<SavedList> {
        self.count_question("saved_after");
        Ok(SavedList::new(self.rows().filter(|(seq, _)| *seq > after).take(most).map(entry).collect(), most))
    }
    fn lineages_after(&self, _: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>> {
        self.count_question("lineages_after");
        let all: std::collections::BTreeSet<i64> = self.rows.values().map(|row| row.lineage).collect();
        Ok(all.into_iter().filter(|lineage| *lineage > after).take(most).collect())
    }
    fn lines(&self, lineages: &[i64]) -> Result<Vec<Line>> {
        self.count_question("lines");
        let line = |lineage: &i64| {
            let (contract, name) = self.names.get(lineage).cloned().unwrap_or((RUNS, lineage.to_string()));
            Line { lineage: *lineage, contract, name, status: self.status(*lineage) }
        };
        Ok(lineages.iter().map(line).collect())
    }
    fn waiting_among(&self, runs: &[(ContractId, String)]) -> Result<Vec<(ContractId, String)>> {
        self.count_question("waiting_among");
        let waits = |(lineage, _): &(&i64, _)| self.status(**lineage) == Status::Waiting;
        let waiting: Vec<_> = self.names.iter().filter(waits).map(|(_, run)| run).collect();
        Ok(runs.iter().filter(|run| waiting.contains(run)).cloned().collect())
    }
    fn leases(&self) -> Result<Leases> {
        self.count_question("leases");
        Ok(Leases { now: NOW, all: self.leases.clone() })
    }
    fn named(&self, contract: ContractId, name: &str, all: bool) -> Result<Vec<i64>> {
        self.count_question("named");
        // The name of a lineage is its position.
        let is_of = |lineage: &i64| lineage.to_string() == name || (all && lineage.to_string().starts_with(name));
        let lineages: std::collections::BTreeSet<i64> = self.rows.values().map(|row| row.lineage).collect();
        Ok(lineages.into_iter().filter(|lineage| contract == RUNS && is_of(lineage)).collect())
    }
    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        self.count_question("counts");
        Ok(lineages.iter().map(|lineage| self.ordered(*lineage).len()).collect())
    }
    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        self.count_question("oldest_of");
        let of = |(lineage, most): &(i64, usize)| self.ordered(*lineage).into_iter().take(*most).collect();
        Ok(lineages.iter().map(of).collect())
    }
    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        self.count_question("newest_of");
        let of = |(lineage, most): &(i64, usize)| self.ordered(*lineage).into_iter().rev().take(*most).collect();
        Ok(lineages.iter().map(of).collect())
    }
    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        self.count_question("have_dependents");
        let depends = |of: i64| self.rows.values().any(|row| row.lineage == of && row.depends_on.is_some());
        Ok(lineages.iter().map(|lineage| depends(*lineage)).collect())
    }
    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
        self.count_question("dependent_on");
        let of = |(seq, row): (Seq, &Row)| {
            let parent = row.depends_on.filter(|parent| parents.contains(parent))?;
            Some((parent, entry((seq, row))))
        };
        Ok(self.rows().filter_map(of).collect())
    }
    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>> {
        self.count_question("stored");
        let of = |seq: &Seq| self.rows.get(seq).map(|row| (*seq, Stored { base: row.base, bytes: row.bytes }));
        Ok(seqs.iter().filter_map(of).collect())
    }
    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
        self.count_question("deltas_of");
        let of = |(seq, row): (Seq, &Row)| Some((row.base.filter(|base| bases.contains(base))?, seq, row.bytes));
        Ok(self.rows().filter_map(of).collect())
    }
    fn total(&self, _: Option<ContractId>, _: u64) -> Result<Option<u64>> {
        self.count_question("total");
        Ok(Some(self.bytes()))
    }
}

fn chain() -> FakeCatalog {
    // There are two chains: payloads 1 <- 2 <- 3, and payloads 4 <- 5, where payload 4 is a keyframe. Payload 6 is a
    // delta against payload 2.
    let rows = [(None, 100), (Some(1), 10), (Some(2), 10), (None, 100), (Some(4), 10), (Some(2), 10)];
    FakeCatalog::new(rows.map(|(base, bytes)| Row { lineage: 1, base, bytes, ..Row::default() }).into())
}

/// Plans the removal of all checkpoints of [`chain`] that a rule selects. Returns their number, the bytes that the removal
/// frees, and the bytes that they take, which a preview tells.
fn bytes(rule: Rule) -> (u64, i64, i64) {
    let catalog = chain();
    let planned = plan(&catalog, &batch(rule, Cursor::default(), 500)).unwrap();
    let pruned = preview(&catalog, None, &[rule]).unwrap();
    assert_eq!(planned.victims.len() as u64, pruned.checkpoints);
    // The planner counts the same bytes: a limit that follows the rule removes nothing more if these bytes fit. The newest
    // checkpoint always stays.
    let also = |limit| preview(&catalog, None, &[rule, Rule::MaxBytes(limit)]).unwrap().checkpoints;
    let freed = chain().remove(&planned.victims);
    let left = u64::try_from(chain().bytes().cast_signed() - freed).unwrap();
    assert_eq!(also(left), pruned.checkpoints);
    assert!(pruned.checkpoints >= 5 || also(left - 1) > pruned.checkpoints);
    (pruned.checkpoints, freed, pruned.bytes)
}

fn batch(rule: Rule, cursor: Cursor, most: usize) -> Prune {
    Prune { contract: None, rule, cursor, most }
}

#[test]
fn what_must_be_stored_whole_takes_what_its_chain_took() {
    assert_eq!(bytes(Rule::KeepLast(5)), (1, 0, 100), "2 takes 110 where 1 and 2 took 110");
    assert_eq!(bytes(Rule::KeepLast(4)), (2, -110, 110), "3 and 6 take 120 each");
    assert_eq!(bytes(Rule::KeepLast(3)), (3, 10, 120), "6 alone");
    assert_eq!(bytes(Rule::KeepLast(1)), (5, 120, 230));
    assert_eq!(bytes(Rule::KeepLast(0)), (6, 240, 240));
}

#[test]
fn bytes_are_freed_until_they_are_enough() {
    assert_eq!(bytes(Rule::MaxBytes(240)), (0, 0, 0));
    assert_eq!(bytes(Rule::MaxBytes(239)), (3, 10, 120), "the first two free nothing");
    assert_eq!(bytes(Rule::MaxBytes(0)), (5, 120, 230), "the newest stays");
}

#[test]
fn a_batch_goes_on_where_the_last_one_ended() {
    let first = plan(&chain(), &batch(Rule::SavedBefore(1), Cursor::default(), 2)).unwrap();
    assert_eq!(
        first,
        Plan { victims: vec![1, 2], next: Some(Cursor { after: 2, total: None }), met: true, full: false }
    );
    let done = first.done(7, 0);
    assert_eq!((done.checkpoints, done.bytes), (2, 7));
    let second = plan(&chain(), &batch(Rule::SavedBefore(1), done.next.unwrap(), 2)).unwrap();
    assert_eq!(second.victims, [3, 4]);
    let bytes = plan(&chain(), &batch(Rule::MaxBytes(0), Cursor::default(), 2)).unwrap();
    assert_eq!(bytes.next, Some(Cursor { after: 2, total: Some(240) }));
    assert_eq!(bytes.done(-110, 0).next.unwrap().total, Some(350), "what is left, as it was measured");
}

#[test]
fn what_depends_on_a_checkpoint_goes_before_it_or_keeps_it() {
    let row = |saved_at, depends_on| Row { lineage: 1, saved_at, depends_on, ..Row::default() };
    // There are two chains of checkpoints: 1 <- 2 <- 3 <- 4 and 5 <- 6. Checkpoint 4 is too new to be removed.
    let rows = [row(0, None), row(0, Some(1)), row(0, Some(2)), row(9, Some(3)), row(0, None), row(0, Some(5))];
    let planned = plan(&FakeCatalog::new(rows.into()), &batch(Rule::SavedBefore(5), Cursor::default(), 500));
    assert_eq!(planned.unwrap().victims, [6, 5]);
}

#[test]
fn a_rule_about_age_leaves_the_newest_checkpoint_of_a_leased_run() {
    let row = |lineage, saved_at| Row { lineage, saved_at, ..Row::default() };
    // Three runs: 7, 17 and 18.
    let rows = [row(7, 0), row(7, 0), row(17, 0), row(17, 0), row(18, 0), row(18, 9)];
    let lease = |saved_at: i64, until: i64, owned: &str| {
        (saved_at, format!(r#"{{"holder":"h","until":{until},"owned":[{owned}]}}"#).into_bytes())
    };
    let victims = |leases: Vec<(i64, Vec<u8>)>, rule| {
        let catalog = FakeCatalog { leases, ..FakeCatalog::new(rows.to_vec()) };
        plan(&catalog, &batch(rule, Cursor::default(), 500)).unwrap().victims
    };
    let old = Rule::SavedBefore(5);
    let (seven, from_one) = (r#"{"contract":3,"name":"7"}"#, r#"{"contract":3,"name":"1","all":true}"#);
    assert_eq!(victims(vec![], old), [1, 2, 3, 4, 5]);
    assert_eq!(victims(vec![lease(90, 110, seven)], old), [1, 3, 4, 5], "the newest one of 7 stays");
    assert_eq!(victims(vec![lease(90, 110, from_one)], old), [1, 2, 3, 5], "and of each namespace");
    assert_eq!(victims(vec![lease(90, 110, seven), lease(90, 110, from_one)], old), [1, 3, 5]);
    assert_eq!(victims(vec![lease(70, 100, seven)], old), [1, 2, 3, 4, 5], "the lease has expired");
    assert_eq!(victims(vec![lease(900, 910, seven)], old), [1, 2, 3, 4, 5], "the clock was set back");
    let damaged = vec![(90, b"{".to_vec()), (90, br#"{"until":110}"#.to_vec()), lease(90, 110, seven)];
    assert_eq!(victims(damaged, old), [1, 3, 4, 5]);
    assert_eq!(
        victims(vec![lease(90, 110, seven)], Rule::KeepLast(1)),
        [1, 3, 5],
        "a rule that keeps the newest anyway"
    );
}

#[test]
fn a_rule_about_age_leaves_what_a_waiting_run_goes_on_from() {
    let row = |lineage, saved_at| Row { lineage, saved_at, ..Row::default() };
    let threads = ContractId(4);
    // A thread (1) with a namespace (2), effects of both (3 and 4), another thread (5), and a run of another contract (6)
    // with effects (7).
    let names = [
        (1, (threads, "1:a")),
        (2, (threads, "1:anode")),
        (3, (threads.effects(), "1:a")),
        (4, (threads.effects(), "1:anode")),
        (5, (threads, "2:ab")),
        (6, (RUNS, "1:anode")),
        (7, (RUNS.effects(), "1:anode")),
    ];
    let names: BTreeMap<_, _> = names.map(|(lin, (of, name))| (lin, (of, name.to_owned()))).into();
    // Each has two old checkpoints.
    let rows: Vec<_> = (1..=7).flat_map(|lineage| [row(lineage, 0), row(lineage, 0)]).collect();
    let stay = |waiting: &[i64], rule| {
        let (waiting, names) = (waiting.to_vec(), names.clone());
        let catalog = FakeCatalog { waiting, names, ..FakeCatalog::new(rows.clone()) };
        let victims = plan(&catalog, &batch(rule, Cursor::default(), 500)).unwrap().victims;
        assert!(catalog.questions() <= 7);
        (1..=14).filter(|seq| !victims.contains(seq)).collect::<Vec<Seq>>()
    };
    let old = Rule::SavedBefore(5);
    assert_eq!(stay(&[], old), [0; 0]);
    assert_eq!(stay(&[1], old), [2, 4, 5, 6, 7, 8], "the newest of each namespace, and all effects");
    assert_eq!(stay(&[2], old), [0; 0], "a question that the thread has left behind");
    assert_eq!(stay(&[5], old), [10]);
    assert_eq!(stay(&[6], old), [12, 13, 14]);
    assert_eq!(stay(&[1, 5, 6], Rule::AllSavedBefore(5)), [0; 0]);
    let kept = stay(&[], Rule::KeepLast(1));
    assert_eq!(stay(&[1, 6], Rule::KeepLast(1)), kept, "a rule that keeps the newest anyway");
}

/// Interleaved chains of deltas. If `dependent` is true, each checkpoint also depends on the previous checkpoint in
/// its chain.
fn chains(chains: i64, length: i64, dependent: bool) -> FakeCatalog {
    let row = |seq: i64| {
        let before = (seq > chains).then(|| seq - chains);
        let depends_on = before.filter(|_| dependent);
        Row { lineage: 1 + seq % chains, base: before, depends_on, bytes: 10, ..Row::default() }
    };
    FakeCatalog::new((1..=chains * length).map(row).collect())
}

#[test]
fn a_batch_asks_a_handful_of_questions() {
    // A few long chains and many short ones. Some rules keep the last checkpoints of each chain. The payloads of these
    // checkpoints must be stored as a whole.
    for (lineages, length) in [(6, 300_i64), (600, 3)] {
        for rule in [Rule::SavedBefore(1), Rule::KeepLast(length.cast_unsigned() - 1), Rule::MaxBytes(9_000)] {
            for dependent in [false, true] {
                let catalog = chains(lineages, length, dependent);
                let planned = plan(&catalog, &batch(rule, Cursor::default(), 500)).unwrap();
                let case = format!("{rule:?}, {lineages} chains, dependent: {dependent}");
                let questions = catalog.questions();
                assert!(questions <= 20, "{questions} questions: {case}");
                // If checkpoints depend on their parents and the newest checkpoint of a lineage stays, all checkpoints
                // of the lineage stay.
                let goes = !dependent || rule == Rule::SavedBefore(1);
                assert_eq!(!planned.victims.is_empty(), goes, "{case}");
                preview(&catalog, None, &[rule]).unwrap();
                let questions = catalog.questions();
                assert!(questions <= 64, "{questions} questions of a preview: {case}");
            }
        }
    }
}

#[test]
fn bases_below_what_goes_are_asked_for_level_by_level() {
    // One chain of 1,000 payloads. Payload 501 and all later payloads are removed. Payload 501 is built on 500 other
    // payloads.
    let row = |seq: i64| {
        let (base, saved_at) = ((seq > 1).then(|| seq - 1), i64::from(seq <= 500));
        Row { lineage: 1, base, bytes: 10, saved_at, ..Row::default() }
    };
    // The last payload stays, and must be stored as a whole.
    let last = Row { lineage: 2, base: Some(1000), bytes: 10, saved_at: 1, ..Row::default() };
    let catalog = FakeCatalog::new((1..=1000).map(row).chain([last]).collect());
    plan(&catalog, &batch(Rule::SavedBefore(1), Cursor::default(), 500)).unwrap();
    assert!(catalog.questions() <= 4, "planning does not look up the bytes below a removed payload");
    let pruned = preview(&catalog, None, &[Rule::SavedBefore(1)]).unwrap();
    assert_eq!((pruned.checkpoints, pruned.bytes), (500, 5_000));
    assert!(catalog.questions() <= 500 + 12);
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = |lineages: i64| (0..lineages, 0..4u8, 0..10i64, 0..4usize, 0..4usize, 1..100u64);
    // Some cases have more checkpoints and more lineages than one portion.
    let few = prop::collection::vec(row(3), 1..60);
    let many = prop::collection::vec(row(3), 100..200);
    let lineages = prop::collection::vec(row(120), 200..300);
    prop_oneof![4 => few, 1 => many, 1 => lineages].prop_map(|drawn| {
        let mut rows: Vec<Row> = Vec::new();
        for (lineage, sort_key, saved_at, parent, base, bytes) in drawn {
            let before = |back: usize, of: fn(&Row, i64) -> bool| {
                let found = (1..).zip(&rows).filter(|(_, row)| of(row, lineage)).map(|(seq, _)| seq);
                (back > 0).then(|| found.collect::<Vec<Seq>>().into_iter().rev().nth(back - 1)).flatten()
            };
            let depends_on = before(parent, |row, lineage| row.lineage == lineage && lineage > 0);
            let base = before(base, |_, _| true);
            rows.push(Row { lineage, sort_key, saved_at, depends_on, base, bytes });
        }
        rows
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        (0..12i64).prop_map(Rule::SavedBefore),
        (0..12i64).prop_map(Rule::AllSavedBefore),
        (0..3u64).prop_map(Rule::KeepLast),
        (0..20u64).prop_map(Rule::KeepLast),
        (0..9000u64).prop_map(Rule::MaxBytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn planning_in_bulk_is_planning_one_by_one(
        rows in rows(),
        rules in prop::collection::vec((rule(), prop_oneof![1..30usize, 30..80usize]), 1..4),
        waiting in prop::collection::vec(0..4i64, 0..3),
    ) {
        let mut catalog = FakeCatalog { waiting, ..FakeCatalog::new(rows) };
        let mut expected = reference::Ledger::default();
        for (rule, _) in &rules {
            let mut next = Some(Cursor::default());
            while let Some(cursor) = next {
                next = reference::plan(&catalog, &batch(*rule, cursor, BATCH), &mut expected).unwrap().1;
            }
        }
        let together: Vec<Rule> = rules.iter().map(|(rule, _)| *rule).collect();
        let pruned = preview(&catalog, None, &together).unwrap();
        let bytes: u64 = expected.gone.iter().map(|seq| catalog.rows[seq].bytes).sum();
        prop_assert_eq!((pruned.checkpoints, pruned.bytes), (expected.gone.len() as u64, bytes.cast_signed()));
        for (rule, most) in rules {
            let mut next = Some(Cursor::default());
            while let Some(cursor) = next {
                let prune = batch(rule, cursor, most);
                let planned = plan(&catalog, &prune).unwrap();
                let (victims, after) =
                    reference::plan(&catalog, &prune, &mut reference::Ledger::default()).unwrap();
                prop_assert_eq!(&planned.victims, &victims);
                prop_assert_eq!(planned.next, after);
                next = planned.done(catalog.remove(&victims), 0).next;
            }
        }
    }
}
