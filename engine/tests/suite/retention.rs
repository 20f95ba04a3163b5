//! Retention never removes data that a kept checkpoint needs. The tests prune chains of deltas with forks.
//! Every kept checkpoint must read back exactly, both from the cache and from the rows alone. Only checkpoints whose
//! base is removed may be rewritten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use proptest::prelude::*;
use tempfile::TempDir;

struct Stores {
    _folder: TempDir,
    path: PathBuf,
    /// A connection that caches payloads.
    warm: Sqlite,
    /// A connection without a cache, which reads every payload from its rows.
    cold: Sqlite,
}

fn stores() -> Stores {
    let (folder, path) = temporary("agent.db");
    let options = Options { durability: Durability::Off, ..Options::new(&path) };
    let cold = Options { cache_bytes: 0, ..options.clone() };
    let (warm, cold) = (Sqlite::open(&options).unwrap(), Sqlite::open(&cold).unwrap());
    Stores { _folder: folder, path, warm, cold }
}

fn pruned(backend: &mut dyn Backend, rule: Rule, most: usize) -> Vec<Pruned> {
    prune(backend, Prune { contract: Some(CONTRACT_ID), ..batch(rule, most) })
}

/// Saves a run that grows a little at each step: the first payload is whole, the others are deltas.
fn grow(backend: &mut dyn Backend, run: &str, steps: usize) -> Vec<Checkpoint> {
    let mut state = noise(run.len() as u64, 40_000);
    let step = |n: usize| {
        state.extend(noise(n as u64 + 7, 20));
        let made = draft(run, &format!("{run}{n}")).parts(vec![part("state", "t", state.clone())]).0;
        apply(backend, vec![Op::Put(Box::new(made.clone().into()))]).unwrap();
        made
    };
    (0..steps).map(step).collect()
}

#[test]
fn only_what_stays_behind_a_removed_base_is_written_anew() {
    let mut stores = stores();
    let kept = grow(&mut stores.warm, "run", 100);
    let before = stored(&stores.path);
    assert_eq!(before.values().filter(|row| row.base.is_none()).count(), 1, "one chain");
    let batches = pruned(&mut stores.warm, Rule::KeepLast(10), 500);
    assert_eq!((batches.len(), batches[0].checkpoints), (1, 90));
    let after = stored(&stores.path);
    assert_eq!(after.len(), 10);
    let (first, row) = after.first_key_value().unwrap();
    assert_eq!((*first, row.base), (91, None), "the oldest that stays is whole now");
    for (seq, row) in after.iter().skip(1) {
        assert_eq!(row, &before[seq], "and no other was touched");
    }
    for made in &kept[90..] {
        assert_eq!(get(&mut stores.cold, &made.header.id).as_ref(), Some(made));
    }
}

#[test]
fn a_save_that_prunes_removes_no_more_than_it_must() {
    let mut stores = stores();
    let mut state = noise(1, 40_000);
    for n in 0..30_u64 {
        state.extend(noise(n + 5, 20));
        let id = n.to_string();
        let made = draft("run", &id).parts(vec![part("state", "t", state.clone())]);
        apply(&mut stores.warm, vec![made.clone().put(), keep_last("run", 4)]).unwrap();
        assert_eq!(get(&mut stores.cold, &id), Some(made.0));
    }
    assert_eq!(ids(&mut stores.cold, lineage("run")), ["29", "28", "27", "26"]);
    assert_eq!(stored(&stores.path).values().filter(|row| row.base.is_none()).count(), 1);
}

#[test]
fn a_dry_run_tells_what_is_removed_and_a_prune_what_is_freed() {
    let mut stores = stores();
    grow(&mut stores.warm, "a", 50);
    grow(&mut stores.warm, "bb", 50);
    let before = stats(&mut stores.cold, 0).total().stored_bytes;
    // Each run is a keyframe of 40,000 bytes with small deltas. The space of a keyframe is freed only when its whole
    // run is removed.
    let limit = before - 2_000;
    let all = stored(&stores.path);
    let asked = Query::Prunable { contract: None, rules: vec![Rule::MaxBytes(limit)] };
    let planned = stores.cold.answer(&asked).unwrap().into_pruned().unwrap();
    let done = pruned(&mut stores.warm, Rule::MaxBytes(limit), 500);
    let bytes: i64 = done.iter().map(|batch| batch.bytes).sum();
    let after = stats(&mut stores.cold, 0).total().stored_bytes;
    assert_eq!(i64::try_from(before).unwrap() - i64::try_from(after).unwrap(), bytes, "the truth");
    // A dry run tells what the removed checkpoints took. Those that stay are stored again where it is needed.
    let left = stored(&stores.path);
    let taken: usize = all.iter().filter(|(seq, _)| !left.contains_key(seq)).map(|(_, row)| row.body.len()).sum();
    assert_eq!(planned.bytes, i64::try_from(taken).unwrap());
    assert!(bytes <= planned.bytes, "{planned:?} {bytes}");
    assert_eq!(stats(&mut stores.cold, 0).total().lineages, 2, "each run keeps its newest");
}

#[test]
fn vacuum_gives_the_room_back() {
    let mut stores = stores();
    for run in 0..20 {
        grow(&mut stores.warm, &"x".repeat(run + 1), 3);
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    stores.warm.vacuum().unwrap();
    let before = size(&stores.path);
    pruned(&mut stores.warm, Rule::KeepLast(0), 7);
    stores.warm.vacuum().unwrap();
    assert!(size(&stores.path) < before / 5, "{} of {before}", size(&stores.path));
    assert_eq!(common::integrity(&stores.path), "ok");
    // The file keeps the numbers that identify it as a Forkpoint database.
    drop(stores.warm);
    assert!(Sqlite::open(&Options::new(&stores.path)).is_ok());
}

#[derive(Clone, Debug)]
enum Step {
    Save { run: u8, at: prop::sample::Index, removed: usize, inserted: usize, seed: u64 },
    Fork { from: prop::sample::Index, run: u8 },
    Prune { rule: Rule, most: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let save = (0..3u8, any::<prop::sample::Index>(), 0..2000usize, 0..2000usize, any::<u64>())
        .prop_map(|(run, at, removed, inserted, seed)| Step::Save { run, at, removed, inserted, seed });
    let fork = (any::<prop::sample::Index>(), 3..6u8).prop_map(|(from, run)| Step::Fork { from, run });
    let rule = prop_oneof![
        (0..60i64).prop_map(Rule::SavedBefore),
        (1..8u64).prop_map(Rule::KeepLast),
        (1..60_000u64).prop_map(Rule::MaxBytes),
    ];
    let prune = (rule, 1..20usize).prop_map(|(rule, most)| Step::Prune { rule, most });
    prop::collection::vec(prop_oneof![10 => save, 2 => fork, 1 => prune], 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_pruned_what_is_kept_reads_back_exactly(steps in steps()) {
        let mut stores = stores();
        let mut states: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        // The model lists checkpoints in save order, which is also the order of the ids.
        let mut kept: Vec<Checkpoint> = Vec::new();
        let mut logs: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut logs_kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (n, step) in (0..100i64).zip(steps) {
            match step {
                Step::Save { run, at, removed, inserted, seed } => {
                    let state = states.entry(run).or_insert_with(|| noise(u64::from(run) + 1, 6000));
                    let at = at.index(state.len() + 1);
                    state.splice(at..(at + removed).min(state.len()), noise(seed, inserted));
                    let made = draft(&run.to_string(), &format!("{n:03}")).saved_at(n);
                    // Some steps cut the log before they append, so that the log has branches.
                    let log = logs.entry(run.to_string()).or_default();
                    let from = if seed % 4 == 0 { log.len() / 2 } else { log.len() };
                    log.truncate(from);
                    log.extend((0..3).map(|record| format!("{n} {record}")));
                    let records: Vec<&str> = log[from..].iter().map(String::as_str).collect();
                    let made = made.parts(vec![part("state", "t", state.clone())]).pin("log", log.len() as u64);
                    let unit = vec![
                        truncate(&run.to_string(), "log", from as u64),
                        texts(&run.to_string(), "log", &records),
                        made.clone().put(),
                    ];
                    apply(&mut stores.warm, unit).unwrap();
                    logs_kept.insert(made.0.header.id.clone(), log.clone());
                    kept.push(made.0);
                }
                Step::Fork { from, run } => {
                    if kept.is_empty() {
                        continue;
                    }
                    let source = &kept[from.index(kept.len())];
                    let id = format!("{n:03}");
                    let of = source.header.id.clone();
                    let new = !logs.contains_key(&run.to_string()) && kept.iter().all(|row| row.header.lineage != run.to_string());
                    let mut made = draft(&run.to_string(), &id).saved_at(n).parent(&of).parts(source.payload.parts.clone()).0;
                    if new {
                        (made.header.meta, made.logs) = (source.header.meta.clone(), source.logs.clone());
                        let Op::Fork(mut fork) = common::fork(&of, &id, &run.to_string()) else { unreachable!() };
                        fork.saved_at = n;
                        apply(&mut stores.warm, vec![Op::Fork(fork)]).unwrap();
                        logs.extend(logs_kept.get(&of).map(|log| (run.to_string(), log.clone())));
                        logs_kept.extend(logs_kept.get(&of).cloned().map(|log| (id.clone(), log)));
                    } else {
                        apply(&mut stores.warm, vec![Op::Put(Box::new(made.clone().into()))]).unwrap();
                    }
                    kept.push(made);
                }
                Step::Prune { rule, most } => {
                    let before = stats(&mut stores.cold, 0).total();
                    let listed = common::names(&mut stores.cold, "").len();
                    let batches = pruned(if n % 2 == 0 { &mut stores.warm } else { &mut stores.cold }, rule, most);
                    let after = stats(&mut stores.cold, 0).total();
                    let sum = |of: fn(&Pruned) -> i64| batches.iter().map(of).sum::<i64>();
                    let fewer = |before: u64, after: u64| before.cast_signed() - after.cast_signed();
                    prop_assert!(batches.iter().all(|batch| batch.checkpoints <= most as u64));
                    prop_assert_eq!(sum(|of| of.checkpoints.cast_signed()), fewer(before.checkpoints, after.checkpoints));
                    // A lineage that has only logs exists, but is not listed.
                    let unlisted = listed - common::names(&mut stores.cold, "").len();
                    prop_assert_eq!(batches.iter().map(|batch| batch.lineages).sum::<u64>(), unlisted as u64);
                    prop_assert_eq!(sum(|of| of.bytes), fewer(before.stored_bytes, after.stored_bytes));
                    let ids: BTreeSet<String> = stored(&stores.path).into_values().map(|row| row.id).collect();
                    let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
                    newest.extend(kept.iter().map(|row| (row.header.lineage.as_str(), row.header.id.as_str())));
                    let is_newest = |row: &Checkpoint| newest.values().any(|id| *id == row.header.id);
                    match rule {
                        Rule::SavedBefore(time) | Rule::AllSavedBefore(time) => {
                            let expected = kept.iter().filter(|row| row.header.saved_at >= time);
                            prop_assert_eq!(&ids, &expected.map(|row| row.header.id.clone()).collect());
                        }
                        Rule::KeepLast(keep) => {
                            for row in &kept {
                                let later = kept.iter().filter(|other| {
                                    other.header.lineage == row.header.lineage && other.header.id > row.header.id
                                });
                                prop_assert_eq!(ids.contains(&row.header.id), (later.count() as u64) < keep);
                            }
                        }
                        Rule::MaxBytes(limit) => {
                            prop_assert!(newest.values().all(|id| ids.contains(*id)), "each lineage keeps its newest");
                            let others: Vec<bool> = kept.iter().filter(|row| !is_newest(row))
                                .map(|row| ids.contains(&row.header.id)).collect();
                            prop_assert!(others.is_sorted(), "the first saved went first");
                            prop_assert!(after.stored_bytes <= limit || others.iter().all(|stays| !stays));
                            prop_assert!(before.stored_bytes > limit || !others.contains(&false), "for a reason");
                        }
                    }
                    kept.retain(|row| ids.contains(&row.header.id));
                    logs_kept.retain(|id, _| ids.contains(id));
                    let named: BTreeSet<&String> = logs.values().chain(logs_kept.values()).flatten().collect();
                    prop_assert_eq!(after.records, named.len() as u64, "what nothing names is freed");
                }
            }
        }
        pruned(&mut stores.warm, Rule::KeepLast(3), 4);
        let ids: BTreeSet<String> = stored(&stores.path).into_values().map(|row| row.id).collect();
        for row in kept {
            let expected = ids.contains(&row.header.id).then_some(&row);
            let (cold, warm) = (get(&mut stores.cold, &row.header.id), get(&mut stores.warm, &row.header.id));
            prop_assert!(cold.as_ref() == expected && warm.as_ref() == expected, "{:?}", row.header.id);
        }
        for (run, records) in &logs {
            prop_assert_eq!(&log(&mut stores.cold, run, "log"), records);
        }
        for (id, records) in logs_kept.iter().filter(|(id, _)| ids.contains(*id)) {
            let row = get(&mut stores.cold, id).unwrap();
            prop_assert_eq!(&row.logs, &[LogMark { log: "log".to_owned(), length: records.len() as u64 }]);
            let found = log_at(&mut stores.warm, &row.header.lineage, "log", id);
            prop_assert_eq!(found.as_ref(), Some(records));
        }
        prop_assert_eq!(common::integrity(&stores.path), "ok");
    }
}
