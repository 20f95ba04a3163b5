//! Tests how many bytes the threads of a store hold for the saves that wait: what is encoded ahead of time, and what one
//! transaction takes.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::backend::Limits;
use forkpoint_engine::store::Options;
use rusqlite::Connection;

const MIB: usize = 1 << 20;
const WAIT: Duration = Duration::from_secs(60);

/// An encoder that says which checkpoint it begins to encode.
struct Told {
    encoder: PreEncoder,
    begins: Sender<String>,
}

impl PreEncode for Told {
    fn size_if_long(&self, op: &Op) -> Option<usize> {
        self.encoder.size_if_long(op)
    }

    fn encode(&self, op: &mut Op) {
        if let Op::Put(draft) = op {
            self.begins.send(draft.header.id.clone()).unwrap();
        }
        self.encoder.encode(op);
    }
}

/// A put of a new lineage that cannot be compressed.
fn put(number: usize, bytes: usize) -> Unit {
    let parts = vec![part("state", "v8", noise(number as u64 + 1, bytes))];
    vec![draft(&format!("run-{number}"), &format!("c-{number}")).parts(parts).put()].into()
}

fn apply(store: &Store, unit: Unit) -> Receiver<Result<Applied>> {
    pending(|reply| store.apply(unit, reply))
}

/// Opens a store with a checkpoint in it.
fn store_at(path: &Path, pre_encoder: impl FnOnce(PayloadCache) -> Option<Arc<dyn PreEncode>>) -> Store {
    let cache = PayloadCache::new(64 * MIB);
    let pre_encoder = pre_encoder(cache.clone());
    let options = sqlite::Options { busy_timeout: WAIT, ..sqlite::Options::new(path) };
    let open = move || Ok(Box::new(Sqlite::open_with(&options, cache.clone())?) as Box<dyn Backend>);
    let options = Options { max_payload_bytes: 256 * MIB, ..Options::default() };
    let store = Store::with_backend(open, pre_encoder, options).unwrap();
    apply(&store, put(0, 100)).recv().unwrap().unwrap();
    store
}

fn lock(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn the_encoder_stays_32_mib_ahead_of_the_writer() {
    let (_folder, path) = temporary("agent.db");
    let (begins, begun) = channel();
    let store = store_at(&path, |cache| Some(Arc::new(Told { encoder: PreEncoder::new(cache), begins })));
    let lock = lock(&path);
    // A payload takes its size twice: joined and encoded. The last one is larger than the limit, and so goes alone.
    let saves: Vec<_> = (1..8).map(|number| apply(&store, put(number, 5 * MIB))).collect();
    let large = apply(&store, put(8, 20 * MIB));
    let first: Vec<String> = (0..3).map(|_| begun.recv_timeout(WAIT).unwrap()).collect();
    assert_eq!(first, ["c-1", "c-2", "c-3"]);
    assert!(begun.recv_timeout(Duration::from_millis(300)).is_err(), "a fourth one exceeds the limit");
    // A small save does not wait for the encoder.
    let small = apply(&store, put(9, 100));
    lock.execute_batch("ROLLBACK").unwrap();
    for save in saves.into_iter().chain([large, small]) {
        save.recv_timeout(WAIT).unwrap().unwrap();
    }
    assert_eq!(begun.try_iter().collect::<Vec<_>>(), ["c-4", "c-5", "c-6", "c-7", "c-8"]);
    store.shutdown();
}

#[test]
fn a_store_that_ends_does_not_wait_for_its_encoder_forever() {
    let (_folder, path) = temporary("agent.db");
    let (begins, begun) = channel();
    let store = store_at(&path, |cache| Some(Arc::new(Told { encoder: PreEncoder::new(cache), begins })));
    let lock = lock(&path);
    let saves: Vec<_> = (1..8).map(|number| apply(&store, put(number, 5 * MIB))).collect();
    (0..3).for_each(|_| drop(begun.recv_timeout(WAIT).unwrap()));
    let closed = pending(|reply| store.close(reply));
    lock.execute_batch("ROLLBACK").unwrap();
    closed.recv_timeout(WAIT).unwrap().unwrap();
    assert!(saves.into_iter().all(|save| save.try_recv().unwrap().is_ok()));
    store.shutdown();
}

#[test]
fn a_transaction_takes_32_mib() {
    let (_folder, path) = temporary("agent.db");
    let store = store_at(&path, |_| None);
    let lock = lock(&path);
    let mut saves: Vec<_> = (1..25).map(|number| apply(&store, put(number, 3 * MIB))).collect();
    saves.push(apply(&store, put(25, 40 * MIB)));
    saves.push(apply(&store, put(26, 100)));
    lock.execute_batch("ROLLBACK").unwrap();
    let commits: Vec<_> =
        saves.into_iter().map(|save| save.recv_timeout(WAIT).unwrap().unwrap().commit.unwrap()).collect();
    // Ten payloads of 3 MiB with their headers have less than 32 MiB, and eleven have more.
    assert!(commits.iter().all(|commit| commit.units <= 10), "{commits:?}");
    assert!(commits.iter().any(|commit| commit.units == 10), "{commits:?}");
    assert_eq!(commits[24].units, 1, "a larger save goes alone");
    assert!(commits.iter().map(|commit| commit.began).collect::<HashSet<_>>().len() >= 5);
    store.shutdown();
}

/// What is inherited does not count in a batch, so the transaction forgets payloads and reads them again.
#[test]
fn a_transaction_that_inherits_more_than_it_keeps_stores_the_right_payloads() {
    let (_folder, path) = temporary("agent.db");
    let store = store_at(&path, |_| None);
    let lock = lock(&path);
    let heir = |run: usize, step: u8| {
        let parent = format!("{run}-{}", step - 1);
        let draft = draft(&format!("run {run}"), &format!("{run}-{step}")).parent(&parent);
        let Op::Put(mut draft) = draft.parts(vec![part("step", "v8", [step])]).put() else { unreachable!() };
        draft.inherit = vec!["state".to_owned()];
        Unit::from(vec![Op::Put(draft)])
    };
    let state = |run: usize| noise(run as u64 + 100, 3 * MIB);
    let first = |run: usize| {
        let parts = vec![part("state", "v8", state(run)), part("step", "v8", [0])];
        Unit::from(vec![draft(&format!("run {run}"), &format!("{run}-0")).parts(parts).put()])
    };
    let mut saves: Vec<_> = (0..4).map(|run| apply(&store, first(run))).collect();
    for step in 1..5 {
        saves.extend((0..4).map(|run| apply(&store, heir(run, step))));
    }
    lock.execute_batch("ROLLBACK").unwrap();
    for save in saves {
        save.recv_timeout(WAIT).unwrap().unwrap();
    }
    for run in 0..4 {
        let found = store_get(&store, &format!("{run}-4")).unwrap().unwrap();
        assert_eq!(found.payload.part("state").unwrap().bytes.joined()[..], state(run)[..]);
        assert_eq!(found.payload.part("step").unwrap().bytes.joined()[..], [4]);
    }
    store.shutdown();
}

/// A backend whose only lock another process holds. It takes one unit at a time, counts its batches, and waits at a gate.
struct Locked {
    memory: Memory,
    batches: Arc<Mutex<usize>>,
    entered: Sender<()>,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Backend for Locked {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        *self.batches.lock().unwrap() += 1;
        self.entered.send(()).unwrap();
        self.gate.lock().unwrap().recv().unwrap();
        batch.iter().map(|_| Err(Error::new(Code::Busy, "another process holds the lock"))).collect()
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.memory.answer(query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.memory.prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits { units: 1, bytes: usize::MAX }
    }

    fn has_one_lock(&self) -> bool {
        true
    }
}

#[test]
fn saves_that_wait_for_one_lock_wait_together() {
    let (entered, begun) = channel();
    let (go, gate) = channel();
    let (batches, gate) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(gate)));
    let counted = Arc::clone(&batches);
    let open = move || -> Result<Box<dyn Backend>> {
        let (batches, entered, gate) = (Arc::clone(&counted), entered.clone(), Arc::clone(&gate));
        Ok(Box::new(Locked { memory: Memory::new(), batches, entered, gate }))
    };
    let store = Store::with_backend(open, None, Options::default()).unwrap();
    let first = apply(&store, put(0, 100));
    begun.recv_timeout(WAIT).unwrap();
    // These wait while the first batch waits for the lock, so the second batch gives up for all of them.
    let others: Vec<_> = (1..6).map(|number| apply(&store, put(number, 100))).collect();
    go.send(()).unwrap();
    begun.recv_timeout(WAIT).unwrap();
    let late = apply(&store, put(6, 100));
    go.send(()).unwrap();
    // The store has received this one after the second batch had begun, so it gets its own time.
    begun.recv_timeout(WAIT).unwrap();
    for save in [first].into_iter().chain(others) {
        assert_eq!(save.recv_timeout(WAIT).unwrap().unwrap_err().code(), Code::Busy);
    }
    assert!(late.try_recv().is_err());
    go.send(()).unwrap();
    assert_eq!(late.recv_timeout(WAIT).unwrap().unwrap_err().code(), Code::Busy);
    assert_eq!(*batches.lock().unwrap(), 3);
    store.shutdown();
}
