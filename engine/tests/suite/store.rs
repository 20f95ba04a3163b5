//! Tests `Store`: its order, what its queries see, closing, refused calls, and the errors of a failing backend.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::prelude::*;
use forkpoint_engine::store::Options;
use tempfile::TempDir;

/// Opens a store of each kind. The SQLite store has its own folder.
fn stores() -> [(Store, Option<TempDir>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let file = Target::Sqlite(folder.path().join("store.db"));
    let open = |target: &Target| Store::open(target, Options::default()).unwrap();
    [(open(&Target::Memory), None), (open(&file), Some(folder))]
}

fn put(id: &str) -> Unit {
    vec![draft("run", id).put()].into()
}

fn save(store: &Store, id: &str) -> Result<()> {
    call(|reply| store.apply(put(id), reply)).map(drop)
}

fn close(store: &Store) -> Result<()> {
    call(|reply| store.close(reply))
}

/// A call to a [`Double`]. The double reports each call before it handles the call.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// A batch was applied. Each inner list contains the ids of one unit.
    Batch(Vec<Vec<String>>),
    Question,
    Prune(Rule),
    /// No call waits for a lock after this time.
    Deadline(Instant),
    /// A backend was dropped.
    Dropped,
}

/// A backend that reports its calls. It handles a batch only when the test allows the batch. The two backends of a
/// store share their memory.
struct Double {
    memory: Arc<Mutex<Memory>>,
    seen: Sender<Seen>,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Backend for Double {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        let id = |op: &Op| match op {
            Op::Put(draft) => draft.header.id.clone(),
            Op::Fork(fork) => fork.id.clone(),
            Op::Remove { id, .. }
            | Op::Touch { id, .. }
            | Op::Write { id, .. }
            | Op::Claim { id, .. }
            | Op::Reopen { id, .. }
            | Op::RemoveFrom { lineage: id, .. }
            | Op::RemoveLineages { prefix: id, .. }
            | Op::Append { lineage: id, .. }
            | Op::Truncate { lineage: id, .. }
            | Op::RemoveLogs { lineage: id, .. }
            | Op::SetLabels { lineage: id, .. }
            | Op::RemoveWrites { prefix: id, .. }
            | Op::KeepLast { pinned: id, .. } => id.clone(),
        };
        let ids: Vec<Vec<String>> = batch.iter().map(|unit| unit.ops.iter().map(id).collect()).collect();
        let (panics, fails): (HashSet<_>, HashSet<_>) =
            ids.iter().flatten().cloned().partition(|id| id.starts_with("panic"));
        // A failed send is ignored, because the test may have dropped the receiver.
        let _ = self.seen.send(Seen::Batch(ids));
        // A message opens the gate for one batch. If the sender is dropped, the gate stays open.
        let _ = self.gate.lock().unwrap().recv();
        assert!(panics.is_empty(), "as the test wants");
        let fails: HashSet<String> = fails.into_iter().filter(|id| id.starts_with("fail")).collect();
        let mut memory = self.memory.lock().unwrap();
        let one = |unit: &Unit| match unit.ops.iter().map(id).find(|id| fails.contains(id)) {
            Some(id) => Err(Error::new(Code::Full, id)),
            None => memory.apply(std::slice::from_ref(unit)).remove(0),
        };
        batch.iter().map(one).collect()
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        let _ = self.seen.send(Seen::Question);
        assert!(*query != get_query("panic"), "as the test wants");
        if *query == get_query("slow") {
            let _ = self.gate.lock().unwrap().recv();
        }
        self.memory.lock().unwrap().answer(query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        let _ = self.seen.send(Seen::Prune(prune.rule));
        self.memory.lock().unwrap().prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn closing(&mut self, deadline: Instant) {
        let _ = self.seen.send(Seen::Deadline(deadline));
    }

    fn notice(&self) -> Option<&Notice> {
        Some(&NOTICE)
    }
}

/// The notice of every double.
static NOTICE: Notice = Notice { code: "FORKPOINT_A_DOUBLE", message: String::new() };

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.seen.send(Seen::Dropped);
    }
}

/// Makes a store over doubles. Also returns the calls that the doubles report, and the gate at which each batch waits.
fn doubles(options: Options) -> (Store, Receiver<Seen>, Sender<()>) {
    let memory = Arc::new(Mutex::new(Memory::new()));
    let (seen, log) = channel();
    let (go, gate) = channel();
    let gate = Arc::new(Mutex::new(gate));
    let open = move || -> Result<Box<dyn Backend>> {
        Ok(Box::new(Double { memory: Arc::clone(&memory), seen: seen.clone(), gate: Arc::clone(&gate) }))
    };
    (Store::with_backend(open, None, options).unwrap(), log, go)
}

fn batch<const N: usize>(ids: [&str; N]) -> Seen {
    Seen::Batch(ids.iter().map(|id| vec![(*id).to_owned()]).collect())
}

fn keeping(retention: Policy) -> Options {
    Options { retention, ..Options::default() }
}

#[test]
fn save_and_prune_are_one_unit() {
    let (store, log, go) = doubles(keeping(Policy { keep_last: Some(1), ..Policy::default() }));
    drop(go);
    save(&store, "a").unwrap();
    // A save adds the store's retention op to its own unit. A removal adds no retention op.
    assert_eq!(log.recv().unwrap(), Seen::Batch(vec![vec!["a".to_owned(), "a".to_owned()]]));
    save(&store, "b").unwrap();
    assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["b"]);
    call(|reply| store.apply(vec![remove("b"), draft("other", "c").put()].into(), reply)).unwrap();
    let unit = ["b", "c", "c"].map(str::to_owned).to_vec();
    assert!(log.try_iter().any(|seen| seen == Seen::Batch(vec![unit.clone()])));
    close(&store).unwrap();
}

#[test]
fn a_sweep_follows_a_commit() {
    let (store, log, go) = doubles(keeping(Policy { ttl: Some(1), ..Policy::default() }));
    drop(go);
    save(&store, "a").unwrap();
    assert_eq!(log.recv().unwrap(), batch(["a"]));
    let Seen::Prune(Rule::SavedBefore(time)) = log.recv().unwrap() else { panic!("by its age") };
    assert!(time > 1_600_000_000_000, "by the clock");
    close(&store).unwrap();
    assert_eq!(store_get(&store, "a").unwrap_err().code(), Code::Closed);
    // Without retention limits there are no sweeps.
    let (store, log, go) = doubles(Options::default());
    drop(go);
    save(&store, "a").unwrap();
    close(&store).unwrap();
    assert!(!log.try_iter().any(|seen| matches!(seen, Seen::Prune(_))));
}

#[test]
fn what_has_expired_is_gone_when_the_next_question_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Memory, Target::Sqlite(folder.path().join("store.db"))] {
        let store = Store::open(&target, keeping(Policy { ttl: Some(60_000), ..Policy::default() })).unwrap();
        save(&store, "from 1970").unwrap();
        assert_eq!(store_get(&store, "from 1970").unwrap(), None);
        close(&store).unwrap();
    }
}

#[test]
fn pruning_comes_after_what_was_handed_in_before_it() {
    for (store, _folder) in stores() {
        let saves: Vec<_> = (0..50).map(|n| pending(|reply| store.apply(put(&n.to_string()), reply))).collect();
        let pruned = call(|reply| store.prune(common::batch(Rule::KeepLast(1), 100), reply)).unwrap();
        assert_eq!(
            pruned,
            Pruned { checkpoints: 49, bytes: pruned.bytes, lineages: 0, next: None, met: true, all_stay: false }
        );
        for save in saves {
            save.recv().unwrap().unwrap();
        }
        call(|reply| store.vacuum(reply)).unwrap();
        assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["49"]);
        close(&store).unwrap();
        assert_eq!(
            call(|reply| store.prune(common::batch(Rule::KeepLast(1), 100), reply)).unwrap_err().code(),
            Code::Closed
        );
        assert_eq!(call(|reply| store.vacuum(reply)).unwrap_err().code(), Code::Closed);
    }
}

#[test]
fn call_order_is_save_order_across_callers() {
    for (store, _folder) in stores() {
        let called = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for caller in 0..4 {
                let (store, called) = (&store, &called);
                scope.spawn(move || {
                    let saves: Vec<_> = (0..50)
                        .map(|n| {
                            // The lock records the order of the calls. No thread holds the lock while it waits for an
                            // outcome.
                            let mut called = called.lock().unwrap();
                            let id = format!("{caller}.{n}");
                            called.push(id.clone());
                            pending(|reply| store.apply(put(&id), reply))
                        })
                        .collect();
                    for saved in saves {
                        saved.recv().unwrap().unwrap();
                    }
                });
            }
        });
        let mut called = called.into_inner().unwrap();
        called.reverse();
        assert_eq!(store_ids(&store, lineage("run")).unwrap(), called);
        store.shutdown();
    }
}

#[test]
fn a_question_waits_for_the_save_before_it() {
    let (store, log, go) = doubles(Options::default());
    let saved = pending(|reply| store.apply(put("a"), reply));
    assert_eq!(log.recv().unwrap(), batch(["a"]));
    let asked = pending(|reply| store.ask(get_query("a"), reply));
    assert_eq!(log.recv_timeout(Duration::from_millis(30)), Err(RecvTimeoutError::Timeout), "nobody is asked yet");
    go.send(()).unwrap();
    assert_eq!(log.recv().unwrap(), Seen::Question);
    assert_eq!(
        asked.recv().unwrap().unwrap().into_checkpoint().unwrap().map(|found| *found),
        Some(draft("run", "a").0)
    );
    saved.recv().unwrap().unwrap();
    // If no save is pending, the answer does not depend on the writer.
    let asked = call(|reply| store.ask(get_query("a"), reply)).unwrap();
    assert!(asked.into_checkpoint().unwrap().is_some());
    store.shutdown();
}

#[test]
fn what_waits_becomes_one_batch() {
    let (store, log, go) = doubles(Options::default());
    let first = pending(|reply| store.apply(put("first"), reply));
    assert_eq!(log.recv().unwrap(), batch(["first"]));
    // 64 callers save while the first save is still in progress.
    let (done, outcomes) = channel();
    std::thread::scope(|scope| {
        for n in 0..64 {
            let (store, done) = (&store, done.clone());
            scope.spawn(move || {
                store.apply(put(&n.to_string()), Reply::new(move |outcome| done.send((n, outcome)).unwrap()));
            });
        }
    });
    drop(done);
    go.send(()).unwrap();
    first.recv().unwrap().unwrap();
    let Seen::Batch(units) = log.recv().unwrap() else { panic!("a batch comes next") };
    assert_eq!(units.len(), 64);
    assert!(outcomes.try_recv().is_err(), "nobody is told before it is done");
    go.send(()).unwrap();
    let mut told: Vec<i32> = Vec::new();
    for (n, outcome) in outcomes {
        outcome.unwrap();
        told.push(n);
    }
    let batched: Vec<String> = units.into_iter().flatten().collect();
    assert_eq!(told.iter().map(ToString::to_string).collect::<Vec<_>>(), batched, "each once, in the batch's order");
    let mut saved = store_ids(&store, lineage("run")).unwrap();
    saved.reverse();
    assert_eq!(saved[1..], batched);
    store.shutdown();
}

#[test]
fn close_waits_for_what_was_handed_in() {
    let (store, log, go) = doubles(Options::default());
    let (told, order) = channel();
    let tell = |what: &'static str| {
        let told = told.clone();
        move |failed: bool| told.send((what, failed)).unwrap()
    };
    let (first, second, asked, closed) = (tell("first"), tell("second"), tell("asked"), tell("closed"));
    store.apply(put("first"), Reply::new(move |outcome| first(outcome.is_err())));
    assert_eq!(log.recv().unwrap(), batch(["first"]));
    store.apply(put("second"), Reply::new(move |outcome| second(outcome.is_err())));
    store.ask(
        get_query("second"),
        Reply::new(move |outcome: Result<Answer>| {
            asked(outcome.and_then(Answer::into_checkpoint).is_ok_and(|found| found.is_none()));
        }),
    );
    store.close(Reply::new(move |outcome| closed(outcome.is_err())));
    // The store now refuses new calls, although the earlier calls are not done.
    assert_eq!(save(&store, "late").unwrap_err().code(), Code::Closed);
    assert_eq!(store_get(&store, "first").unwrap_err().code(), Code::Closed);
    assert_eq!(call(|reply| store.ready(reply)).unwrap_err().code(), Code::Closed);
    assert!(order.try_recv().is_err());
    drop(go);
    let order: Vec<_> = order.iter().take(4).collect();
    assert_eq!(order, [("first", false), ("second", false), ("asked", false), ("closed", false)]);
}

#[test]
fn a_closed_store_says_so_and_may_be_closed_again() {
    for (store, _folder) in stores() {
        save(&store, "a").unwrap();
        assert!(store_get(&store, "a").unwrap().is_some());
        for _ in 0..3 {
            close(&store).unwrap();
            let errors = [
                save(&store, "b").unwrap_err(),
                store_get(&store, "a").map(drop).unwrap_err(),
                call(|reply| store.ready(reply)).map(drop).unwrap_err(),
            ];
            for error in errors {
                assert_eq!((error.code(), error.retryable(), error.outcome_unknown()), (Code::Closed, false, false));
            }
        }
        store.drain();
        store.shutdown();
        store.shutdown();
        close(&store).unwrap();
    }
}

/// Other threads may call a store while it closes. What comes behind the close opens nothing again.
#[test]
fn calls_that_meet_the_close_are_done_before_it_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..200 {
        let path = folder.path().join(format!("{round}.db"));
        let store = Arc::new(Store::open(&Target::Sqlite(path.clone()), Options::default()).unwrap());
        save(&store, "a").unwrap();
        let (asking, saving) = (Arc::clone(&store), Arc::clone(&store));
        let asking = std::thread::spawn(move || {
            loop {
                if let Err(error) = store_get(&asking, "a") {
                    return error;
                }
            }
        });
        let saving =
            std::thread::spawn(move || (0..).find_map(|n: usize| save(&saving, &n.to_string()).err()).unwrap());
        close(&store).unwrap();
        for error in [asking.join().unwrap(), saving.join().unwrap()] {
            assert_eq!(error.code(), Code::Closed, "{error}");
        }
        store.shutdown();
        assert!(!path.with_extension("db-wal").exists(), "nothing has opened the file again");
    }
}

#[test]
fn a_closed_file_can_be_opened_by_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Sqlite(folder.path().join("store.db"));
    for n in 0..3 {
        let store = Store::open(&target, Options::default()).unwrap();
        assert_eq!(store_ids(&store, lineage("run")).unwrap().len(), n);
        let saved = pending(|reply| store.apply(put(&n.to_string()), reply));
        close(&store).unwrap();
        assert!(saved.try_recv().unwrap().is_ok(), "told before the store was closed");
        // A closed store leaves only the database file. It leaves no write-ahead log and no shared memory file.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn dropping_a_store_still_does_what_was_queued() {
    let (store, log, go) = doubles(Options::default());
    let first = pending(|reply| store.apply(put("first"), reply));
    assert_eq!(log.recv().unwrap(), batch(["first"]));
    let second = pending(|reply| store.apply(put("second"), reply));
    let asked = pending(|reply| store.ask(get_query("second"), reply));
    drop(store);
    drop(go);
    first.recv().unwrap().unwrap();
    second.recv().unwrap().unwrap();
    assert!(asked.recv().unwrap().unwrap().into_checkpoint().unwrap().is_some());
    // The channel ends when both threads have dropped their backends.
    let seen: Vec<Seen> = log.iter().collect();
    assert_eq!(seen[0], batch(["second"]));
    assert_eq!(seen.iter().filter(|seen| **seen == Seen::Question).count(), 1);
    assert_eq!(seen.iter().filter(|seen| **seen == Seen::Dropped).count(), 2);
    assert_eq!(seen.len(), 4);
}

#[test]
fn drain_waits_and_the_store_goes_on() {
    for (store, _folder) in stores() {
        store.drain();
        let saves: Vec<_> = (0..50).map(|n| pending(|reply| store.apply(put(&n.to_string()), reply))).collect();
        let asked = pending(|reply| store.ask(get_query("49"), reply));
        store.drain();
        assert!(saves.iter().all(|saved| saved.try_recv().unwrap().is_ok()));
        assert!(asked.try_recv().unwrap().unwrap().into_checkpoint().unwrap().is_some());
        save(&store, "more").unwrap();
        store.shutdown();
    }
}

thread_local! {
    /// This value reports the end of its thread, because a thread drops its thread-local values last.
    static LIFE: RefCell<Option<Life>> = const { RefCell::new(None) };
}

struct Life(Arc<AtomicUsize>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn shutdown_leaves_no_thread_and_no_backend() {
    let threads = Arc::new(AtomicUsize::new(0));
    let memory = Arc::new(Mutex::new(Memory::new()));
    let (seen, log) = channel();
    let (go, gate) = channel();
    let gate = Arc::new(Mutex::new(gate));
    let alive = Arc::clone(&threads);
    let open = move || -> Result<Box<dyn Backend>> {
        alive.fetch_add(1, Ordering::SeqCst);
        LIFE.with(|life| *life.borrow_mut() = Some(Life(Arc::clone(&alive))));
        Ok(Box::new(Double { memory: Arc::clone(&memory), seen: seen.clone(), gate: Arc::clone(&gate) }))
    };
    let store = Store::with_backend(open, None, Options::default()).unwrap();
    assert!(!store.is_inline());
    go.send(()).unwrap();
    save(&store, "a").unwrap();
    assert!(store_get(&store, "a").unwrap().is_some());
    assert_eq!(threads.load(Ordering::SeqCst), 1, "one thread saves and reads, as long as no call waits for another");
    let first = pending(|reply| store.apply(put("b"), reply));
    while log.recv().unwrap() != batch(["b"]) {}
    let asked = pending(|reply| store.ask(get_query("b"), reply));
    let second = pending(|reply| store.apply(put("c"), reply));
    drop(go);
    assert!([first, second].into_iter().all(|saved| saved.recv().unwrap().is_ok()));
    assert!(asked.recv().unwrap().unwrap().into_checkpoint().unwrap().is_some());
    assert_eq!(threads.load(Ordering::SeqCst), 2, "one that writes and one that reads");
    let last = pending(|reply| store.apply(put("last"), reply));
    store.shutdown();
    assert_eq!(threads.load(Ordering::SeqCst), 0);
    assert!(last.try_recv().unwrap().is_ok());
    assert_eq!(log.try_iter().filter(|seen| *seen == Seen::Dropped).count(), 2);
}

/// Large units are encoded on a thread of their own first.
#[test]
fn the_bytes_of_a_unit_are_free_when_its_caller_has_the_reply() {
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Sqlite(folder.path().join("store.db")), Target::Jsonl(folder.path().join("store"))] {
        let store = Store::open(&target, Options::default()).unwrap();
        let users = Arc::new(());
        for (n, length) in [10, 5_000, 3 << 20, 3 << 20, 20 << 20].into_iter().enumerate() {
            let part = Part { bytes: lent(noise(1, length), &users).into(), ..part("state", "t", "") };
            let put = draft("run", &n.to_string()).parent(&n.wrapping_sub(1).to_string()).parts(vec![part]).put();
            call(|reply| {
                let users = Arc::clone(&users);
                let counted = move |outcome: Result<Applied>| {
                    // This function has one of the references.
                    reply.send(outcome.map(|_| Arc::strong_count(&users)));
                };
                store.apply(vec![put].into(), Reply::new(counted));
            })
            .map(|count| assert_eq!(count, 2, "{target:?} {length}"))
            .unwrap();
        }
        assert_eq!(store_ids(&store, lineage("run")).unwrap().len(), 5);
        store.shutdown();
    }
}

#[test]
fn a_save_that_has_waited_for_a_read_waits_for_no_other() {
    let (store, log, go) = doubles(Options::default());
    let first = pending(|reply| store.ask(get_query("slow"), reply));
    assert_eq!(log.recv().unwrap(), Seen::Question);
    let waiting = pending(|reply| store.apply(put("a"), reply));
    go.send(()).unwrap();
    first.recv().unwrap().unwrap();
    go.send(()).unwrap();
    waiting.recv().unwrap().unwrap();
    assert_eq!(log.recv().unwrap(), batch(["a"]));
    let second = pending(|reply| store.ask(get_query("slow"), reply));
    assert_eq!(log.recv().unwrap(), Seen::Question);
    let saved = pending(|reply| store.apply(put("b"), reply));
    assert_eq!(log.recv().unwrap(), batch(["b"]), "it has begun, although the read goes on");
    drop(go);
    second.recv().unwrap().unwrap();
    saved.recv().unwrap().unwrap();
    store.shutdown();
    assert_eq!(log.try_iter().filter(|seen| *seen == Seen::Dropped).count(), 2);
}

#[test]
fn a_payload_that_is_too_large_is_refused_before_anything_is_written() {
    let options = Options { max_payload_bytes: 10, ..Options::default() };
    let sized =
        |id: &str, bytes: usize| draft("run", id).parts(vec![part("a", "t", "x"), part("b", "t", vec![0; bytes])]);
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Memory, Target::Sqlite(folder.path().join("store.db"))] {
        let store = Store::open(&target, options.clone()).unwrap();
        let unit = vec![sized("small", 1).put(), sized("the large one", 10).put(), remove("x")];
        let error = call(|reply| store.apply(unit.into(), reply)).unwrap_err();
        assert_eq!((error.code(), error.retryable()), (Code::InvalidArgument, false));
        for part in ["\"the large one\"", "11 bytes", "maxPayloadBytes (10)"] {
            assert!(error.message().contains(part), "{error}");
        }
        assert!(store_ids(&store, lineage("run")).unwrap().is_empty(), "not even the small one of that unit");
        call(|reply| store.apply(vec![sized("just so", 9).put()].into(), reply)).unwrap();
        assert!(store_get(&store, "just so").unwrap().is_some());
        store.shutdown();
    }
    let (store, log, _go) = doubles(options);
    let error = call(|reply| store.apply(vec![sized("x", 10).put()].into(), reply)).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    store.shutdown();
    assert!(log.try_iter().next().is_none(), "no backend has heard of it");
}

#[test]
fn a_target_that_cannot_be_opened_is_told_to_everyone_until_it_can() {
    let (_folder, missing) = temporary("missing");
    let store = Store::open(&Target::Sqlite(missing.join("store.db")), Options::default()).unwrap();
    for _ in 0..2 {
        let saves: Vec<_> = (0..5).map(|n| pending(|reply| store.apply(put(&n.to_string()), reply))).collect();
        let mut errors = vec![
            call(|reply| store.ready(reply)).map(drop).unwrap_err(),
            store_get(&store, "0").map(drop).unwrap_err(),
        ];
        errors.extend(saves.into_iter().map(|saved| saved.recv().unwrap().unwrap_err()));
        for error in errors {
            assert_eq!((error.code(), error.retryable(), error.outcome_unknown()), (Code::Unavailable, true, false));
            assert!(error.message().contains("missing"), "it names the place: {error}");
            assert_eq!(error.cause().unwrap().code(), Some("ENOENT"));
        }
    }
    std::fs::create_dir(&missing).unwrap();
    assert_eq!(store_get(&store, "0"), Ok(None), "nothing that failed came later");
    save(&store, "0").unwrap();
    assert_eq!(call(|reply| store.ready(reply)), Ok(None));
    assert!(store_get(&store, "0").unwrap().is_some());
    store.shutdown();
}

#[test]
fn a_store_that_was_never_opened_is_closed_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Target::Sqlite(folder.path().join("store.db")), Options::default()).unwrap();
    store.shutdown();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn readiness_tells_what_the_user_should_hear() {
    let (store, _log, _go) = doubles(Options::default());
    assert_eq!(call(|reply| store.ready(reply)), Ok(Some(NOTICE.clone())));
    store.shutdown();
    let [(memory, _), (file, folder)] = stores();
    assert!(memory.is_inline() && !file.is_inline());
    assert_eq!(call(|reply| memory.ready(reply)), Ok(None));
    assert_eq!(call(|reply| file.ready(reply)), Ok(None));
    assert!(folder.unwrap().path().join("store.db").exists(), "it was opened before anything was saved");
}

#[test]
fn a_failed_unit_is_told_to_its_caller_only() {
    let (store, log, go) = doubles(Options::default());
    let first = pending(|reply| store.apply(put("first"), reply));
    assert_eq!(log.recv().unwrap(), batch(["first"]));
    let saves: Vec<_> = ["a", "fail", "b"].into_iter().map(|id| pending(|reply| store.apply(put(id), reply))).collect();
    drop(go);
    first.recv().unwrap().unwrap();
    let outcomes: Vec<Result<()>> = saves.into_iter().map(|saved| saved.recv().unwrap().map(|_| ())).collect();
    assert_eq!(outcomes, [Ok(()), Err(Error::new(Code::Full, "fail")), Ok(())]);
    assert_eq!(store_ids(&store, lineage("run")).unwrap(), ["b", "a", "first"]);
    save(&store, "after").unwrap();
    store.shutdown();
}

#[test]
fn a_backend_that_panics_poisons_the_store_and_everyone_is_answered() {
    let (store, log, go) = doubles(Options::default());
    let first = pending(|reply| store.apply(put("panic"), reply));
    assert_eq!(log.recv().unwrap(), batch(["panic"]));
    let waiting: Vec<_> = (0..5).map(|n| pending(|reply| store.apply(put(&n.to_string()), reply))).collect();
    let asked = pending(|reply| store.ask(get_query("panic"), reply));
    drop(go);
    let mut errors = vec![first.recv().unwrap().unwrap_err(), asked.recv().unwrap().unwrap_err()];
    errors.extend(waiting.into_iter().map(|saved| saved.recv().unwrap().unwrap_err()));
    for error in errors {
        assert_eq!((error.code(), error.retryable()), (Code::Unavailable, false), "{error}");
        assert!(error.message().contains("panicked"), "{error}");
        assert!(error.outcome_unknown(), "it may have got as far as the disk");
    }
    // A save that was made after the panic was certainly not done.
    let error = save(&store, "later").unwrap_err();
    assert_eq!(error, Error::poisoned());
    assert!(!error.outcome_unknown());
    assert!(error.message().contains("open it again"), "it says what to do: {error}");
    assert_eq!(call(|reply| store.ready(reply)).unwrap_err(), Error::poisoned());
    store.drain();
    close(&store).unwrap();
    store.shutdown();
    assert_eq!(log.try_iter().filter(|seen| matches!(seen, Seen::Batch(_))).count(), 0, "no batch after the panic");
}

#[test]
fn a_reader_that_panics_answers_everyone_and_saves_nothing_wrong() {
    let (store, _log, go) = doubles(Options::default());
    drop(go);
    save(&store, "a").unwrap();
    let first = call(|reply| store.ask(get_query("panic"), reply)).unwrap_err();
    assert_eq!((first.code(), first.retryable()), (Code::Unavailable, false));
    // The reading thread has ended. The call must fail, because waiting would never end.
    assert_eq!(store_get(&store, "a").unwrap_err().code(), Code::Unavailable);
    store.shutdown();
}

/// A backend that tells what it does. It rests three times after each batch, the last time until it is wanted.
struct Resting {
    told: Sender<&'static str>,
    rests: usize,
}

impl Backend for Resting {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.rests = 0;
        self.told.send("batch").unwrap();
        batch.iter().map(|_| Ok(Applied::default())).collect()
    }

    fn answer(&mut self, _: &Query) -> Result<Answer> {
        Ok(Answer::Checkpoint(None))
    }

    fn prune(&mut self, _: &Prune) -> Result<Pruned> {
        Ok(Pruned::default())
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Result<bool> {
        self.rests += 1;
        self.told.send("rest").unwrap();
        while self.rests == 3 && !wanted() {
            std::thread::yield_now();
        }
        Ok(self.rests < 3)
    }
}

#[test]
fn a_backend_rests_while_there_is_more_and_until_it_is_wanted() {
    let (told, heard) = channel();
    let open = move || -> Result<Box<dyn Backend>> { Ok(Box::new(Resting { told: told.clone(), rests: 0 })) };
    let store = Store::with_backend(open, None, Options::default()).unwrap();
    let next = || heard.recv_timeout(Duration::from_secs(30)).unwrap();
    for id in ["first", "second"] {
        save(&store, id).unwrap();
        assert_eq!([next(), next(), next(), next()], ["batch", "rest", "rest", "rest"]);
    }
    // The backend now rests until it is wanted. A read need not wait for it.
    assert_eq!(store_get(&store, "first").unwrap(), None);
    store.drain();
    save(&store, "third").unwrap();
    assert_eq!([next(), next(), next(), next()], ["batch", "rest", "rest", "rest"]);
    store.shutdown();
    assert_eq!(heard.try_iter().count(), 0);
}

#[test]
fn closing_twice_at_once_takes_nothing_from_what_was_handed_in() {
    let (store, log, go) = doubles(Options::default());
    let saved = pending(|reply| store.apply(put("a"), reply));
    assert_eq!(log.recv().unwrap(), batch(["a"]));
    let asked = pending(|reply| store.ask(get_query("a"), reply));
    let first = pending(|reply| store.close(reply));
    let second = pending(|reply| store.close(reply));
    let early = second.try_recv();
    drop(go);
    saved.recv().unwrap().unwrap();
    let asked = asked.recv().unwrap();
    first.recv().unwrap().unwrap();
    assert!(early.is_err(), "the second close was answered while a save was still under way: {early:?}");
    asked.expect("handed in before any close");
}
#[test]
fn shutdown_after_close_loses_no_earlier_call() {
    let (store, log, go) = doubles(Options::default());
    let _saved = pending(|reply| store.apply(put("a"), reply));
    assert_eq!(log.recv().unwrap(), batch(["a"]));
    let asked = pending(|reply| store.ask(get_query("a"), reply));
    let closed = pending(|reply| store.close(reply));
    // When the shutdown begins, the save is still waiting at the gate or has just passed the gate. The save must not be
    // lost.
    let release = std::thread::spawn(move || drop(go));
    store.shutdown();
    release.join().unwrap();
    closed.recv().unwrap().unwrap();
    asked.recv().unwrap().expect("handed in before any close");
}

#[test]
fn all_work_that_is_left_when_the_process_ends_shares_one_deadline() {
    let patience = Duration::from_secs(600);
    let (store, log, go) = doubles(Options { busy_timeout: patience, ..Options::default() });
    let first = pending(|reply| store.apply(put("first"), reply));
    assert_eq!(log.recv().unwrap(), batch(["first"]), "before the end there is no deadline");
    let saved = pending(|reply| store.apply(put("left"), reply));
    let pruned = pending(|reply| store.prune(common::batch(Rule::KeepLast(1), 100), reply));
    let vacuumed = pending(|reply| store.vacuum(reply));
    let before = Instant::now();
    store.ending();
    store.ending();
    let after = Instant::now();
    (0..2).for_each(|_| go.send(()).unwrap());
    first.recv().unwrap().unwrap();
    saved.recv().unwrap().unwrap();
    pruned.recv().unwrap().unwrap();
    vacuumed.recv().unwrap().unwrap();
    store.shutdown();
    let deadlines: Vec<Instant> =
        log.try_iter().filter_map(|seen| if let Seen::Deadline(at) = seen { Some(at) } else { None }).collect();
    assert_eq!(deadlines.len(), 3, "before the save, the prune and the vacuum");
    assert!(deadlines.iter().all(|at| *at == deadlines[0]));
    assert!(deadlines[0] >= before + patience && deadlines[0] <= after + patience);
}
