//! Failed calls. One call of a kind fails, or all calls of a kind fail from one on. Every call of the store then succeeds or
//! rejects with a code that names the storage. Everything acknowledged survives. Afterwards the same store works.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

use crate::seed::{Random, Seed, number};
use crate::vfs::{Call, Disk, Fault};
use crate::work::open;

/// How long a call waits for a lock.
const BUSY: Duration = Duration::from_millis(100);
/// No call may take longer. A call that waits for locks without end never settles.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Saved,
    Removed,
    /// The outcome of a call is unknown.
    Either,
}

struct Run<'a> {
    store: Store,
    known: BTreeMap<String, Known>,
    which: &'a str,
    slowest: Duration,
    errors: u64,
}

impl Run<'_> {
    fn call<T: Send + 'static>(&mut self, what: &str, hand_in: impl FnOnce(&Store, Reply<T>)) -> Result<T> {
        let begun = Instant::now();
        let outcome = pending(|reply| hand_in(&self.store, reply)).recv_timeout(PATIENCE);
        let Ok(outcome) = outcome else { panic!("{}: {what} does not settle", self.which) };
        self.slowest = self.slowest.max(begun.elapsed());
        outcome.inspect_err(|error| {
            self.errors += 1;
            self.typed(what, error);
        })
    }

    fn typed(&self, what: &str, error: &Error) {
        let expected = matches!(error.code(), Code::Busy | Code::Full | Code::Unavailable);
        assert!(expected, "{}: {what}: {error}", self.which);
    }

    /// Applies a unit that saves or removes the checkpoint `id`.
    fn change(&mut self, id: &str, to: Known, ops: Vec<Op>) {
        match self.call(id, |store, reply| store.apply(ops.into(), reply)) {
            Ok(_) => drop(self.known.insert(id.to_owned(), to)),
            Err(error) if error.outcome_unknown() => drop(self.known.insert(id.to_owned(), Known::Either)),
            Err(_) => {}
        }
    }

    fn save(&mut self, id: &str) {
        let parts = vec![part("same", "t", noise(1, 3000)), part("new", "t", noise(id.len() as u64, 100))];
        self.change(id, Known::Saved, vec![draft("run", id).group("g").parts(parts).put()]);
    }

    fn ask(&mut self, query: Query) -> Result<forkpoint_engine::query::Answer> {
        self.call("a query", |store, reply| store.ask(query, reply))
    }

    fn work(&mut self) {
        drop(self.call("open", Store::ready));
        for id in ["1", "2", "3"] {
            self.save(id);
        }
        drop(self.ask(get_query("2")));
        if self.known.get("2") == Some(&Known::Saved) {
            self.change("copy", Known::Saved, vec![fork("2", "copy", "a fork")]);
        }
        drop(self.ask(list_query(group("g"), None)));
        drop(
            self.call("a log", |store, reply| store.apply(vec![append("run", "log", vec![record("r")])].into(), reply)),
        );
        drop(self.ask(Query::Logs { contract: CONTRACT_ID, lineage: "run".to_owned() }));
        self.change("1", Known::Removed, vec![remove("1")]);
        drop(self.call("prune", |store, reply| store.prune(batch(Rule::KeepLast(9), 100), reply)));
        drop(self.call("check", |store, reply| store.check(CheckCursor::default(), 100, reply)));
        drop(self.call("vacuum", Store::vacuum));
        self.save("4");
        drop(self.ask(list_query(lineage("run"), None)));
    }
}

fn store(path: &Path, journal: Journal) -> Store {
    let sqlite =
        sqlite::Options { journal: Some(journal), busy_timeout: BUSY, cache_bytes: 0, ..sqlite::Options::new(path) };
    let open = move || {
        Ok(Box::new(Sqlite::open_with(&sqlite, PayloadCache::new(0))?) as Box<dyn forkpoint_engine::backend::Backend>)
    };
    Store::with_backend(open, None, Options { busy_timeout: BUSY, ..Options::default() }).unwrap()
}

/// Runs the workload with a fault. Returns the number of calls of each kind, how many failed, and the slowest call.
fn run(which: &str, journal: Journal, fault: Option<Fault>) -> ([u64; Call::ALL.len()], u64, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("calls.db");
    let disk = Disk::under(folder.path());
    disk.inject(fault);
    let mut run =
        Run { store: store(&path, journal), known: BTreeMap::new(), which, slowest: Duration::ZERO, errors: 0 };
    run.work();
    let (counts, hits) = (Call::ALL.map(|call| disk.calls(call)), disk.hits());
    disk.inject(None);

    if fault.is_some_and(|fault| fault.for_good) {
        // A lock whose unlock failed until now is given back by the next call of its connection.
        run.save("now");
        drop(run.ask(get_query("now")));
        drop(run.call("check", |store, reply| store.check(CheckCursor::default(), 100, reply)));
    }
    let before = run.errors;
    run.save("after");
    drop(run.ask(get_query("after")));
    drop(run.ask(list_query(lineage("run"), None)));
    run.change("3", Known::Removed, vec![remove("3")]);
    drop(run.call("check", |store, reply| store.check(CheckCursor::default(), 100, reply)));
    // A connection that could not be opened has lost the locks that it could not give back. If unlocks fail for good,
    // the file is free again when the store is closed.
    let lost = fault.is_some_and(|fault| fault.for_good && matches!(fault.call, Call::Unlock | Call::UnlockIndex));
    assert!(lost || run.errors == before, "{which}: the store does not work again");
    run.store.shutdown();

    let mut again = open(&path, journal, Durability::Full).unwrap();
    let mut found = ids(&mut again, lineage("run"));
    found.extend(ids(&mut again, lineage("a fork")));
    for (id, known) in &run.known {
        let there = found.contains(id);
        assert!(
            *known == Known::Either || there == (*known == Known::Saved),
            "{which}: {id:?} {known:?} and {found:?}"
        );
    }
    for id in &found {
        assert!(run.known.contains_key(id), "{which}: {id:?} was refused and is there");
        assert!(crate::common::get(&mut again, id).is_some());
    }
    let damage = findings(&mut again);
    assert!(damage.is_empty(), "{which}: {damage:?}");
    (counts, hits, run.slowest)
}

fn every_call_fails(journal: Journal, share: u64) {
    let seed = Seed::or(5000);
    let mut random = Random(seed.0);
    let share = number("FORKPOINT_FAULTS").unwrap_or(share);
    let (counts, ..) = run("no fault", journal, None);
    let (mut faults, mut hits, mut slowest) = (0, 0, (Duration::ZERO, String::new()));
    for call in Call::ALL {
        let count = counts[call as usize];
        for at in 1..=count {
            for for_good in [false, true] {
                if count > 4 && !random.one_in(usize::try_from(share).unwrap()) {
                    continue;
                }
                let which = format!("seed {}, {journal:?}, {call:?} {at} of {count}, for good: {for_good}", seed.0);
                let (_, hit, slow) = run(&which, journal, Some(Fault { call, at, for_good }));
                faults += 1;
                hits += hit;
                if slow > slowest.0 {
                    slowest = (slow, which);
                }
            }
        }
    }
    println!("{journal:?}, seed {}: {faults} faults, {hits} failed calls, the slowest call took {slowest:?}", seed.0);
}

#[test]
fn with_a_log_every_call_may_fail() {
    every_call_fails(Journal::Wal, 8);
}

#[test]
fn with_a_rollback_journal_every_call_may_fail() {
    every_call_fails(Journal::Rollback, 8);
}
