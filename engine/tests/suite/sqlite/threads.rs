//! Tests several stores and threads of one process on one file. No save is lost, the save order is kept, and no reader
//! sees only a part of a unit.

use std::sync::Barrier;

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

const STORES: usize = 3;
const THREADS: usize = 2;
const SAVES: usize = 40;

#[test]
fn stores_and_threads_share_one_file() {
    let (_folder, path) = temporary("shared.db");
    let target = Target::Sqlite(path.clone());
    let start = Barrier::new(STORES * THREADS);
    std::thread::scope(|scope| {
        for store_number in 0..STORES {
            let (target, start) = (&target, &start);
            scope.spawn(move || {
                let store = Store::open(target, Options::default()).unwrap();
                std::thread::scope(|scope| {
                    for thread in 0..THREADS {
                        let store = &store;
                        scope.spawn(move || {
                            start.wait();
                            save_and_look(store, &format!("{store_number}.{thread}"));
                        });
                    }
                });
                store.shutdown();
            });
        }
    });
    let store = Store::open(&target, Options::default()).unwrap();
    let saved = store_ids(&store, group("all")).unwrap();
    assert_eq!(saved.len(), STORES * THREADS * SAVES * 2);
    for name in (0..STORES).flat_map(|store| (0..THREADS).map(move |thread| format!("{store}.{thread}"))) {
        let own: Vec<&str> = saved.iter().filter_map(|id| id.strip_prefix(&format!("{name} "))).collect();
        let expected: Vec<String> = (0..SAVES).rev().flat_map(|n| [format!("{n} b"), format!("{n} a")]).collect();
        assert_eq!(own, expected);
    }
    store.shutdown();
}

fn save_and_look(store: &Store, name: &str) {
    for n in 0..SAVES {
        let unit = vec![
            draft(name, &format!("{name} {n} a")).group("all").put(),
            draft(name, &format!("{name} {n} b")).group("all").put(),
        ];
        let saved = pending(|reply| store.apply(unit.into(), reply));
        // The thread does not wait for the save. The query is made after the save, so its answer must contain the save.
        let answer = call(|reply| store.ask(list_query(group("all"), None), reply)).unwrap();
        let ids: Vec<String> = answer.into_headers().unwrap().into_iter().map(|header| header.id).collect();
        saved.recv().unwrap().unwrap();
        assert!(ids.contains(&format!("{name} {n} b")));
        for pair in ids.chunks(2) {
            let [b, a] = pair else { panic!("half of a unit: {pair:?}") };
            assert_eq!(b.strip_suffix(" b"), a.strip_suffix(" a"), "a unit is seen whole, and in one place");
        }
    }
}
