//! Tests payloads that are stored raw while many saves wait, and compressed when the store rests. At every moment each
//! checkpoint must read back exactly, also after a kill, after removals and with a second connection.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::store;
use proptest::prelude::*;
use rusqlite::{Connection, OptionalExtension};

/// The number of units that is always enough for a hurry.
const MANY: usize = 40;

fn hurried(path: &Path) -> Options {
    Options { raw_in_a_hurry: true, ..Options::new(path) }
}

/// A text of about 10 KB that compresses to less than half. Different seeds give texts without common stretches.
fn text(seed: u64) -> Vec<u8> {
    noise(seed, 5000).iter().flat_map(|byte| [b'a' + byte % 16, b'a' + byte / 16]).collect()
}

/// A checkpoint in a lineage of its own.
fn single(id: &str) -> Draft {
    let seed = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    draft(&format!("run {id}"), id).group("all").parts(vec![part("state", "t", text(seed))])
}

fn units(drafts: impl IntoIterator<Item = Draft>) -> Vec<Unit> {
    drafts.into_iter().map(|draft| vec![draft.put()].into()).collect()
}

/// Saves checkpoints in one batch.
fn burst(backend: &mut Sqlite, drafts: impl IntoIterator<Item = Draft>) -> Vec<Applied> {
    backend.apply(&units(drafts)).into_iter().map(Result::unwrap).collect()
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("c{n}"))
}

fn rest(backend: &mut Sqlite) {
    while backend.rest(&|| false).unwrap() {}
}

/// The formats of all payloads (the first bytes of their envelopes) in save order, and the bytes that they take.
fn formats(path: &Path) -> (Vec<u8>, u64) {
    let rows = Connection::open(path).unwrap();
    let mut statement = rows.prepare("SELECT body FROM checkpoint ORDER BY seq").unwrap();
    let bodies: Vec<Vec<u8>> = statement.query_map([], |row| row.get(0)).unwrap().map(|body| body.unwrap()).collect();
    (bodies.iter().map(|body| body[0]).collect(), bodies.iter().map(|body| body.len() as u64).sum())
}

fn count(formats: &[u8], which: u8) -> usize {
    formats.iter().map(|format| usize::from(*format == which)).sum()
}

/// The save number from which payloads may be raw, as the file holds it. `None`: the file has no such note.
fn noted(path: &Path) -> Option<i64> {
    let rows = Connection::open(path).unwrap();
    let found = rows.query_row("SELECT value FROM setting WHERE name = 'raw_from'", [], |row| row.get(0)).optional();
    let value: Option<Vec<u8>> = found.unwrap_or_default();
    value.map(|value| i64::from_le_bytes(value[..8].try_into().unwrap()))
}

const PLAIN: u8 = 1;
const ZSTD: u8 = 2;

/// Verifies the content, the statistics and the whole file.
fn verify<'a>(path: &Path, expected: impl IntoIterator<Item = &'a Draft>) {
    let mut cold = Sqlite::open(&Options { cache_bytes: 0, ..Options::new(path) }).unwrap();
    let mut seen = BTreeSet::new();
    for Draft(checkpoint, _) in expected {
        assert!(get(&mut cold, &checkpoint.header.id).as_ref() == Some(checkpoint), "{}", checkpoint.header.id);
        seen.insert(checkpoint.header.id.clone());
    }
    assert_eq!(ids(&mut cold, group("all")).into_iter().collect::<BTreeSet<_>>(), seen);
    assert_eq!(findings(&mut cold), []);
    let told = stats(&mut cold, 0).total();
    assert_eq!((told.checkpoints, told.stored_bytes), (seen.len() as u64, formats(path).1), "the totals are right");
    drop(cold);
    assert_eq!(common::integrity(path), "ok");
}

#[test]
fn a_burst_is_stored_raw_and_compressed_when_the_store_rests() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    let all: Vec<Draft> = names(100).map(|id| single(&id)).collect();
    let applied = burst(&mut backend, all.clone());
    let told: u64 = applied.iter().map(|applied| applied.stored_bytes.unwrap()).sum();
    assert_eq!(formats(&path), (vec![PLAIN; 100], told));
    assert_eq!(noted(&path), Some(1));
    verify(&path, &all);

    // The totals then include the rows, so compressing them must correct the totals.
    backend.sweep().unwrap();
    rest(&mut backend);
    let (after, bytes) = formats(&path);
    assert_eq!((after, noted(&path)), (vec![ZSTD; 100], Some(0)));
    assert!(bytes < told * 6 / 10, "{bytes} of {told}");
    verify(&path, &all);

    // A second burst is noted again.
    let more: Vec<Draft> = names(150).skip(100).map(|id| single(&id)).collect();
    burst(&mut backend, more.clone());
    assert_eq!(noted(&path), Some(101));
    rest(&mut backend);
    assert_eq!(noted(&path), Some(0));
    verify(&path, all.iter().chain(&more));
}

#[test]
fn what_is_large_tiny_or_not_in_a_hurry_is_compressed_at_once() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    let of = |id: &str, state: Vec<u8>| draft(id, id).group("all").parts(vec![part("state", "t", state)]);
    let few: Vec<Draft> = names(7).map(|id| single(&id)).collect();
    burst(&mut backend, few);
    let large = (0..MANY as u64).map(|n| of(&format!("large {n}"), (0..4).flat_map(|k| text(4 * n + k)).collect()));
    burst(&mut backend, large);
    let tiny = (0..MANY).map(|n| of(&format!("tiny {n}"), b"the same word ".repeat(20 + n)));
    burst(&mut backend, tiny);
    assert!(!formats(&path).0.contains(&PLAIN));
    assert_eq!(noted(&path), None, "no note without a raw payload");
    assert!(!backend.rest(&|| panic!("nothing to do")).unwrap());
    drop(backend);

    // A backend that was not asked for it never stores a payload raw.
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    burst(&mut backend, names(MANY).map(|id| single(&format!("second {id}"))));
    assert!(!formats(&path).0.contains(&PLAIN));
}

#[test]
fn growing_runs_stay_deltas_in_a_hurry() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    let mut runs: Vec<Vec<u8>> = (0..MANY as u64).map(text).collect();
    let mut all = Vec::new();
    for step in 0..20_u64 {
        let drafts: Vec<Draft> = (0_u64..)
            .zip(&mut runs)
            .map(|(run, state)| {
                state.extend(text(1000 * (step + 1) + run).drain(..300));
                let draft = draft(&format!("run {run}"), &format!("{run} {step}")).group("all");
                draft.parts(vec![part("state", "t", state.as_slice())])
            })
            .collect();
        burst(&mut backend, drafts.clone());
        all.extend(drafts);
        if step == 10 {
            rest(&mut backend);
        }
    }
    let (formats, _) = formats(&path);
    let raw = count(&formats, PLAIN);
    let whole = raw + count(&formats, ZSTD);
    assert!(raw <= MANY && whole <= 3 * MANY, "{raw} of {whole} keyframes of {} payloads", formats.len());
    verify(&path, &all);
    rest(&mut backend);
    verify(&path, &all);
}

#[test]
fn a_rest_ends_when_somebody_waits_and_goes_on_later() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    let all: Vec<Draft> = names(100).map(|id| single(&id)).collect();
    burst(&mut backend, all.clone());
    let before = formats(&path);
    assert!(backend.rest(&|| true).unwrap(), "more is left");
    let asked = Cell::new(0);
    assert!(backend.rest(&|| asked.replace(asked.get() + 1) == 10).unwrap());
    assert_eq!(formats(&path), before, "a step that is interrupted changes nothing");
    assert!(backend.rest(&|| false).unwrap());
    let raw = count(&formats(&path).0, PLAIN);
    assert!((1..100).contains(&raw), "a step is bounded: {raw} are left");
    verify(&path, &all);
    rest(&mut backend);
    verify(&path, &all);
    assert!(!backend.rest(&|| panic!("nothing to do")).unwrap());
}

#[test]
fn a_rest_never_waits_for_a_lock() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    burst(&mut backend, names(MANY).map(|id| single(&id)));
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // With the busy timeout of 30 s the test would take this long.
    assert_eq!(backend.rest(&|| false).unwrap_err().code(), Code::Busy);
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    rest(&mut backend);
    assert_eq!(formats(&path).0, [ZSTD; MANY]);
}

#[test]
fn a_limit_on_bytes_counts_payloads_as_they_will_be() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    let drafts = |from: usize, to: usize| {
        let one = |n: usize| draft("run", &format!("c{n}")).group("all").parts(vec![part("s", "t", text(n as u64))]);
        (from..to).map(one).collect::<Vec<_>>()
    };
    let all = drafts(0, 80);
    burst(&mut backend, all.clone());
    let raw = formats(&path).1;
    let rule = Rule::MaxBytes(raw * 7 / 10);
    assert_eq!(backend.prune(&batch(rule, 1000)).unwrap().checkpoints, 0, "compressed, they are within the limit");
    verify(&path, &all);
    let rule = Rule::MaxBytes(formats(&path).1 / 2);
    let pruned = backend.prune(&batch(rule, 1000)).unwrap();
    assert!((30..50).contains(&pruned.checkpoints), "{pruned:?}");
    verify(&path, &all[usize::try_from(pruned.checkpoints).unwrap()..]);
}

#[test]
fn a_damaged_payload_or_note_stops_nothing_else() {
    let (_folder, path) = temporary("a.db");
    let mut backend = Sqlite::open(&hurried(&path)).unwrap();
    burst(&mut backend, names(MANY).map(|id| single(&id)));
    let rows = Connection::open(&path).unwrap();
    let mut body: Vec<u8> =
        rows.query_row("SELECT body FROM checkpoint WHERE id = 'c5'", [], |row| row.get(0)).unwrap();
    body[3000] ^= 1;
    rows.execute("UPDATE checkpoint SET body = ? WHERE id = 'c5'", [&body]).unwrap();
    rest(&mut backend);
    let expected: Vec<u8> = (0..MANY).map(|n| if n == 5 { PLAIN } else { ZSTD }).collect();
    assert_eq!(formats(&path).0, expected);
    drop(backend);
    let mut cold = Sqlite::open(&hurried(&path)).unwrap();
    assert_eq!(try_get(&mut cold, "c5").unwrap_err().code(), Code::Corrupt);
    assert_eq!(findings(&mut cold).len(), 1);

    rows.execute("UPDATE setting SET value = x'0102030405060708090a0b0c0d0e0f10' WHERE name = 'raw_from'", []).unwrap();
    drop(rows);
    burst(&mut cold, names(MANY).map(|id| single(&format!("later {id}"))));
    assert_eq!(noted(&path), Some(1 + i64::try_from(MANY).unwrap()), "the next burst makes the note anew");
    rest(&mut cold);
    assert_eq!(formats(&path).0, [expected, vec![ZSTD; MANY]].concat());
}

fn open_store(path: &Path, retention: Policy) -> Store {
    let target = Target::Sqlite(path.to_path_buf());
    Store::open(&target, store::Options { retention, ..store::Options::default() }).unwrap()
}

/// Saves checkpoints through a store. Most of them wait while the store opens its file.
fn burst_of_store(store: &Store, drafts: &[Draft]) {
    let waiting: Vec<_> = drafts
        .iter()
        .map(|draft| common::pending(|reply| store.apply(vec![draft.clone().put()].into(), reply)))
        .collect();
    for outcome in waiting {
        outcome.recv().unwrap().unwrap();
    }
}

#[test]
fn a_store_compresses_when_it_is_idle_and_after_it_was_closed_in_between() {
    let (_folder, path) = temporary("a.db");
    let all: Vec<Draft> = names(400).map(|id| single(&id)).collect();
    let store = open_store(&path, Policy::default());
    burst_of_store(&store, &all);
    call(|reply| store.close(reply)).unwrap();
    let raw = count(&formats(&path).0, PLAIN);
    assert!(raw > 0, "closing waits for no compression");
    assert_eq!(store_get(&store, "c0").unwrap_err().code(), Code::Closed);

    // The next store goes on without a save.
    let store = open_store(&path, Policy::default());
    call(|reply| store.ready(reply)).unwrap();
    while noted(&path) != Some(0) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!formats(&path).0.contains(&PLAIN));
    assert_eq!(store_get(&store, "c7").unwrap().as_ref(), Some(&all[7].0));
    call(|reply| store.close(reply)).unwrap();
    verify(&path, &all);
}

#[test]
fn a_store_with_a_limit_on_bytes_stores_nothing_raw() {
    let (_folder, path) = temporary("a.db");
    let store = open_store(&path, Policy { max_bytes: Some(1 << 30), ..Policy::default() });
    let all: Vec<Draft> = names(200).map(|id| single(&id)).collect();
    burst_of_store(&store, &all);
    call(|reply| store.close(reply)).unwrap();
    assert!(!formats(&path).0.contains(&PLAIN));
    verify(&path, &all);
}

/// Saves bursts and compresses them until the parent kills the process.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let role = role().into_string().unwrap();
    let (cycle, path) = role.split_once('|').unwrap();
    let mut backend = Sqlite::open(&hurried(&PathBuf::from(path))).unwrap();
    for n in 0.. {
        let of = |k: usize| format!("{cycle}.{n}.{k}");
        burst(&mut backend, (0..MANY).map(|k| single(&of(k))));
        // The commit has returned, so all of them are acknowledged.
        say(&format!("{cycle}.{n}"));
        for _ in 0..n % 4 {
            backend.rest(&|| false).unwrap();
        }
    }
}

#[test]
fn a_kill_between_raw_and_compressed_loses_nothing() {
    let (_folder, path) = temporary("killed.db");
    let mut acknowledged: Vec<String> = Vec::new();
    for cycle in 0..8 {
        let mut process = Process::start(module_path!(), "child", format!("{cycle}|{}", path.display()));
        let mut heard: Vec<String> = std::iter::from_fn(|| process.line()).take(cycle * 2 + 1).collect();
        assert_eq!(heard.len(), cycle * 2 + 1, "the child saves until it is killed: {heard:?}");
        process.kill();
        heard.extend(std::iter::from_fn(|| process.line()));
        acknowledged.extend(heard);

        let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
        let found: BTreeSet<String> = ids(&mut backend, group("all")).into_iter().collect();
        for burst in &acknowledged {
            assert!((0..MANY).all(|k| found.contains(&format!("{burst}.{k}"))), "{burst} is gone");
        }
        if cycle % 2 == 1 {
            rest(&mut backend);
            assert!(!formats(&path).0.contains(&PLAIN), "whatever the killed process left is compressed");
        }
        drop(backend);
        verify(&path, &found.iter().map(|id| single(id)).collect::<Vec<_>>());
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Saves the next state of some runs in one batch. Some states begin anew.
    Burst {
        runs: Vec<(u8, bool)>,
        first: bool,
    },
    /// Rests, until the backend has asked this often whether somebody waits.
    Rest {
        until: u32,
        first: bool,
    },
    Remove {
        at: prop::sample::Index,
    },
    Prune {
        most: usize,
        keep: u64,
    },
    Fold,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (prop::collection::vec((0..12u8, prop::bool::weighted(0.4)), 1..20), any::<bool>())
            .prop_map(|(runs, first)| Step::Burst { runs, first }),
        3 => (0..60u32, any::<bool>()).prop_map(|(until, first)| Step::Rest { until, first }),
        2 => any::<prop::sample::Index>().prop_map(|at| Step::Remove { at }),
        1 => (1..20usize, 1..4u64).prop_map(|(most, keep)| Step::Prune { most, keep }),
        1 => Just(Step::Fold),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_happens_in_between_every_checkpoint_reads_back(steps in steps()) {
        let (_folder, path) = temporary("a.db");
        let mut first = Sqlite::open(&hurried(&path)).unwrap();
        let mut second = Sqlite::open(&Options { cache_bytes: 0, ..hurried(&path) }).unwrap();
        let mut states: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut expected: BTreeMap<String, Draft> = BTreeMap::new();
        let mut saves = 0_u64;
        for step in steps {
            match step {
                Step::Burst { runs, first: by_first } => {
                    let drafts: Vec<Draft> = runs
                        .into_iter()
                        .map(|(run, anew)| {
                            saves += 1;
                            let state = states.entry(run).or_default();
                            if anew {
                                state.clear();
                            }
                            state.extend(if state.is_empty() { text(saves) } else { noise(saves, 200) });
                            // A later save replaces an earlier one, which others may be built on.
                            let draft = draft(&run.to_string(), &(saves % 50).to_string()).group("all");
                            draft.parts(vec![part("state", "t", state.as_slice())])
                        })
                        .collect();
                    burst(if by_first { &mut first } else { &mut second }, drafts.clone());
                    expected.extend(drafts.into_iter().map(|draft| (draft.0.header.id.clone(), draft)));
                }
                Step::Rest { until, first: by_first } => {
                    let asked = Cell::new(0);
                    let wanted = || asked.replace(asked.get() + 1) >= until;
                    (if by_first { &mut first } else { &mut second }).rest(&wanted).unwrap();
                }
                Step::Remove { at } => {
                    let Some(id) = (!expected.is_empty()).then(|| expected.keys().nth(at.index(expected.len())).unwrap().clone())
                    else { continue };
                    expected.remove(&id);
                    first.apply(&[vec![remove(&id)].into()]).remove(0).unwrap();
                }
                Step::Prune { most, keep } => {
                    second.prune(&batch(Rule::KeepLast(keep), most)).unwrap();
                    let left = ids(&mut second, group("all"));
                    expected.retain(|id, _| left.contains(id));
                }
                Step::Fold => drop(first.sweep().unwrap()),
            }
        }
        verify(&path, expected.values());
        while first.rest(&|| false).unwrap() | second.rest(&|| false).unwrap() {}
        prop_assert!(matches!(noted(&path), None | Some(0)));
        prop_assert!(!formats(&path).0.contains(&PLAIN));
        verify(&path, expected.values());
    }
}
