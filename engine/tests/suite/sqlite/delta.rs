//! Tests what payloads cost that are stored as deltas. `kill_chains.rs`, `retention.rs` and the model remove, replace and fork
//! payloads that others are built on.

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use tempfile::TempDir;

/// Opens two connections. One connection caches payloads. The other connection reads every payload from its rows.
fn connections(folder: &TempDir) -> (Sqlite, Sqlite) {
    let options = Options::new(folder.path().join("agent.db"));
    let cold = Options { cache_bytes: 0, ..options.clone() };
    (Sqlite::open(&options).unwrap(), Sqlite::open(&cold).unwrap())
}

fn size(backend: &Sqlite) -> usize {
    4096 * backend.pragma("page_count").unwrap().parse::<usize>().unwrap()
}

#[test]
fn a_growing_run_is_stored_by_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let (mut state, mut whole) = (Vec::new(), 0);
    for step in 0..300_u32 {
        state.extend(noise(u64::from(step), 1000));
        whole += state.len();
        let parts = vec![part("state", "v8", state.clone())];
        save(&mut warm, [draft("run", &format!("c{step}")).sort_key(f64::from(step)).parts(parts)]);
    }
    for step in [0, 1, 127, 128, 129, 200, 299] {
        let found = get(&mut cold, &format!("c{step}")).unwrap();
        assert_eq!(found.payload.parts[0].bytes, state[..1000 * (step + 1)]);
    }
    assert!(size(&cold) < whole / 20, "{} bytes for {whole}", size(&cold));
}

#[test]
fn forks_are_stored_against_their_source_and_outlast_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, mut cold) = connections(&folder);
    let state = noise(1, 500_000);
    save(&mut warm, [draft("run", "source").saved_at(1000).parts(vec![part("state", "v8", state.clone())])]);
    // `saved_at` depends on the fork's number. So a rule selects checkpoints at any place in the list of dependants.
    let forked = |fork: usize| {
        let mut patched = state.clone();
        patched[fork * 1000] ^= 1;
        let made = draft(&format!("run{fork}"), &format!("fork{fork}")).parent("source");
        made.saved_at((fork * 37 % 100).try_into().unwrap()).parts(vec![part("state", "v8", patched)])
    };
    (0..100).for_each(|fork| save(&mut warm, [forked(fork)]));
    crate::common::apply(&mut warm, vec![fork("source", "copy", "copied")]).unwrap();
    assert!(size(&cold) < 1_000_000, "{} bytes for 102 states of 500,000", size(&cold));
    for limit in [1, 40, 41, 90] {
        prune(&mut cold, batch(Rule::SavedBefore(limit), 1000));
        assert_eq!(findings(&mut cold), []);
    }
    crate::common::apply(&mut warm, vec![remove("source")]).unwrap();
    assert_eq!(findings(&mut cold), []);
    for fork in 0..100 {
        let expected = Some(forked(fork).0).filter(|fork| fork.header.saved_at >= 90);
        assert!(get(&mut cold, &format!("fork{fork}")) == expected, "{fork}");
    }
}
