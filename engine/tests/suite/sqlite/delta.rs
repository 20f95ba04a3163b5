//! Tests payloads that are stored as deltas. Checkpoints are replaced, removed and forked. Every remaining checkpoint
//! must read back exactly, both from the cache and from the rows alone.

use std::collections::BTreeMap;

use forkpoint_engine::backend::Backend;
use forkpoint_engine::backend::sqlite::{Options, Sqlite};
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::op::Op;
use forkpoint_engine::query::Query;
use forkpoint_engine::record::{Checkpoint, ContractId, Header, Part, Payload, SortKey, Status};
use forkpoint_engine::retention::{Cursor, Prune, Rule};
use proptest::prelude::*;
use tempfile::TempDir;

const CONTRACT_ID: ContractId = ContractId(1);

fn checkpoint(id: &str, lineage: &str, parent: Option<&str>, at: u32, bytes: &[u8]) -> Checkpoint {
    Checkpoint {
        header: Header {
            contract: CONTRACT_ID,
            lineage: lineage.to_owned(),
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            group: "graph".to_owned(),
            label: "node".to_owned(),
            sort_key: SortKey::from_f64(f64::from(at)),
            saved_at: i64::from(at),
            age_offset: 0,
            depends_on_parent: false,
            exempt: false,
            status: Status::Unknown,
            meta: Vec::new(),
        },
        payload: Payload {
            parts: vec![Part { name: "state".to_owned(), tag: "v8".to_owned(), bytes: bytes.to_vec().into() }],
        },
        logs: Vec::new(),
    }
}

fn put(backend: &mut Sqlite, checkpoint: &Checkpoint) {
    backend.apply(&[vec![Op::Put(Box::new(checkpoint.clone().into()))].into()]).pop().unwrap().unwrap();
}

fn get(backend: &mut Sqlite, id: &str) -> Option<Checkpoint> {
    let query = Query::Get { contract: CONTRACT_ID, id: id.to_owned() };
    backend.answer(&query).unwrap().into_checkpoint().unwrap().map(|found| *found)
}

fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

/// Opens two connections. One connection caches payloads. The other connection reads every payload from its rows.
fn connections(folder: &TempDir) -> (Sqlite, Sqlite) {
    let options = Options::new(folder.path().join("agent.db"));
    let cold = Options { cache_bytes: 0, ..options.clone() };
    (Sqlite::open(&options).unwrap(), Sqlite::open(&cold).unwrap())
}

#[test]
fn a_growing_run_is_stored_by_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let mut state = Vec::new();
    let mut whole = 0;
    for step in 0..300u32 {
        state.extend(noise(1000, step));
        whole += state.len();
        put(&mut warm, &checkpoint(&format!("c{step}"), "run", None, step, &state));
    }
    for step in [0, 1, 127, 128, 129, 200, 299] {
        let found = get(&mut cold, &format!("c{step}")).unwrap();
        assert_eq!(found.payload.parts[0].bytes, state[..1000 * (step + 1)]);
    }
    let pages: usize = cold.pragma("page_count").unwrap().parse().unwrap();
    assert!(pages * 4096 < whole / 20, "{} bytes for {whole}", pages * 4096);
}

#[test]
fn a_fork_is_stored_against_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let state = noise(500_000, 1);
    put(&mut warm, &checkpoint("source", "run", None, 1, &state));
    for fork in 0..20u32 {
        let mut patched = state.clone();
        patched[fork as usize * 1000] ^= 1;
        put(&mut warm, &checkpoint(&format!("fork{fork}"), &format!("run{fork}"), Some("source"), 2, &patched));
    }
    let pages: usize = cold.pragma("page_count").unwrap().parse().unwrap();
    assert!(pages * 4096 < 1_000_000, "{} bytes for 21 states of 500,000", pages * 4096);
    warm.apply(&[vec![Op::Remove { contract: CONTRACT_ID, id: "source".to_owned() }].into()]).pop().unwrap().unwrap();
    for fork in 0..20usize {
        let found = get(&mut cold, &format!("fork{fork}")).unwrap();
        assert_eq!(found.payload.parts[0].bytes[fork * 1000], state[fork * 1000] ^ 1);
        assert_eq!(found.payload.parts[0].bytes.len(), state.len());
    }
}

#[test]
fn another_connection_removes_the_base_that_this_one_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let mut state = noise(20_000, 1);
    put(&mut warm, &checkpoint("a", "run", None, 1, &state));
    cold.apply(&[vec![Op::Remove { contract: CONTRACT_ID, id: "a".to_owned() }].into()]).pop().unwrap().unwrap();
    state.extend(noise(100, 2));
    put(&mut warm, &checkpoint("b", "run", None, 2, &state));
    // The other connection saves a checkpoint. So the payload in this connection's cache is no longer the newest.
    state.extend(noise(100, 3));
    put(&mut cold, &checkpoint("c", "run", None, 3, &state));
    state.extend(noise(100, 4));
    put(&mut warm, &checkpoint("d", "run", None, 4, &state));
    assert_eq!(get(&mut cold, "a"), None);
    assert_eq!(get(&mut warm, "a"), None);
    for (id, length) in [("b", 20_100), ("c", 20_200), ("d", 20_300)] {
        assert_eq!(get(&mut cold, id).unwrap().payload.parts[0].bytes, state[..length]);
        assert_eq!(get(&mut warm, id).unwrap().payload.parts[0].bytes, state[..length]);
    }
}

/// Runs a full check. The check includes the lists of dependants.
fn check(backend: &mut Sqlite) {
    let mut cursor = Some(CheckCursor::default());
    while let Some(from) = cursor {
        let page = backend.answer(&Query::Check { cursor: from, limit: 1000 }).unwrap().into_checked().unwrap();
        assert_eq!(page.findings, []);
        cursor = page.next;
    }
}

#[test]
fn a_rule_removes_some_of_many_that_are_built_on_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let state = noise(20_000, 1);
    // `saved_at` depends on the fork's number. So the rule selects checkpoints at any place in the list of dependants.
    let forked = |fork: u32| {
        let bytes = [&state[..], &noise(10, fork)].concat();
        checkpoint(&format!("fork{fork}"), &format!("run{fork}"), Some("source"), fork * 37 % 100, &bytes)
    };
    put(&mut warm, &checkpoint("source", "run", None, 1000, &state));
    (0..100).for_each(|fork| put(&mut warm, &forked(fork)));
    for limit in [1, 40, 41, 90] {
        let prune = Prune { contract: None, rule: Rule::SavedBefore(limit), cursor: Cursor::default(), most: 1000 };
        cold.prune(&prune).unwrap();
        check(&mut cold);
    }
    warm.apply(&[vec![Op::Remove { contract: CONTRACT_ID, id: "source".to_owned() }].into()]).pop().unwrap().unwrap();
    check(&mut cold);
    for fork in 0..100 {
        let expected = Some(forked(fork)).filter(|fork| fork.header.saved_at >= 90);
        assert_eq!(get(&mut cold, &format!("fork{fork}")), expected);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Saves or replaces a checkpoint of a run. Its state is an edit of the run's last state.
    Save {
        id: u8,
        run: u8,
        at: prop::sample::Index,
        removed: usize,
        inserted: usize,
        seed: u32,
    },
    /// Begins a run with the state of a checkpoint.
    Fork {
        from: u8,
        id: u8,
        run: u8,
    },
    Remove {
        id: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let save = (0..30u8, 0..3u8, any::<prop::sample::Index>(), 0..3000usize, 0..3000usize, any::<u32>())
        .prop_map(|(id, run, at, removed, inserted, seed)| Step::Save { id, run, at, removed, inserted, seed });
    let fork = (0..30u8, 0..30u8, 3..6u8).prop_map(|(from, id, run)| Step::Fork { from, id, run });
    let remove = (0..30u8).prop_map(|id| Step::Remove { id });
    prop::collection::vec(prop_oneof![6 => save, 1 => fork, 2 => remove], 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_checkpoint_that_is_left_reads_back_exactly(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut warm, mut cold) = connections(&folder);
        let mut states: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut stored: BTreeMap<u8, Checkpoint> = BTreeMap::new();
        for (at_step, step) in (0u32..).zip(steps) {
            match step {
                Step::Save { id, run, at, removed, inserted, seed } => {
                    let state = states.entry(run).or_insert_with(|| noise(8000, u32::from(run) + 1));
                    let at = at.index(state.len() + 1);
                    let end = (at + removed).min(state.len());
                    state.splice(at..end, noise(inserted, seed));
                    let saved = checkpoint(&id.to_string(), &run.to_string(), None, at_step, state);
                    put(&mut warm, &saved);
                    stored.insert(id, saved);
                }
                Step::Fork { from, id, run } => {
                    let Some(source) = stored.get(&from) else { continue };
                    let bytes = source.payload.parts[0].bytes.to_vec();
                    let forked = checkpoint(&id.to_string(), &run.to_string(), Some(&from.to_string()), at_step, &bytes);
                    put(&mut warm, &forked);
                    stored.insert(id, forked);
                }
                Step::Remove { id } => {
                    let unit = vec![Op::Remove { contract: CONTRACT_ID, id: id.to_string() }];
                    // Each connection removes some of the checkpoints. So both connections must handle a removed base.
                    let by = if id % 2 == 0 { &mut warm } else { &mut cold };
                    by.apply(&[unit.into()]).pop().unwrap().unwrap();
                    stored.remove(&id);
                }
            }
        }
        for id in 0..30u8 {
            let expected = stored.get(&id);
            let from_rows = get(&mut cold, &id.to_string());
            let from_memory = get(&mut warm, &id.to_string());
            prop_assert_eq!(from_rows.as_ref(), expected);
            prop_assert_eq!(from_memory.as_ref(), expected);
        }
        check(&mut cold);
    }
}
