//! Tests [`Store::answer_at_once`]: it gives the answer of the store's threads, or none.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

fn open(path: &Path, options: Options) -> Store {
    Store::open(&Target::Sqlite(path.to_owned()), options).unwrap()
}

fn save(store: &Store, op: Op) {
    call(|reply| store.apply(vec![op].into(), reply)).unwrap();
    store.drain();
}

fn ask(store: &Store, query: &Query) -> Result<Answer> {
    let answer = call(|reply| store.ask(query.clone(), reply));
    store.drain();
    answer
}

/// Asks at once. A store that has tried in vain leaves out up to 63 tries.
fn at_once(store: &Store, query: &Query) -> Option<Answer> {
    (0..64).find_map(|_| store.answer_at_once(query))
}

/// Asks at once until there is an answer. The writer's thread may rest, and the system may have dropped bytes from its memory: a
/// thread brings them back.
pub(crate) fn soon(store: &Store, query: &Query) -> Answer {
    let begun = Instant::now();
    loop {
        if let Some(answer) = store.answer_at_once(query) {
            return answer;
        }
        let asked = ask(store, query);
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{query:?} is never answered at once, and {asked:?} if it is asked"
        );
    }
}

#[test]
fn small_queries_are_answered_as_the_threads_answer_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("a.db"), Options::default());
    let queries = [
        get_query("c 2"),
        get_query("missing"),
        newest_query("run", None),
        newest_query("run", Some("final")),
        newest_query("missing", None),
        list_query(lineage("run"), None),
        list_query(lineage("run"), Some(2)),
        list_query(group("group"), None),
        list_query(both("run", "group"), None),
        Query::Count { contract: crate::common::CONTRACT_ID, of: lineage("run") },
        Query::Logs { contract: crate::common::CONTRACT_ID, lineage: "run".to_owned() },
        Query::All(vec![get_query("c 1"), newest_query("run", None)]),
    ];
    assert_eq!(store.answer_at_once(&queries[0]), None, "the file is not open yet");
    for n in 0..5 {
        let draft = draft("run", &format!("c {n}")).group("group").sort_key(f64::from(n));
        save(&store, if n == 3 { draft.label("final") } else { draft }.put());
    }
    save(&store, texts("run", "log", &["one", "two"]));
    for query in queries {
        let found = ask(&store, &query).unwrap();
        assert_eq!(soon(&store, &query), found, "{query:?}");
    }
    store.shutdown();
    assert_eq!(store.answer_at_once(&get_query("c 2")), None, "the store is closed");
}

#[test]
fn what_takes_much_work_is_left_to_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("a.db"), Options { cache_bytes: 0, ..Options::default() });
    for n in 0..2_000_u32 {
        call(|reply| store.apply(vec![draft("long", &format!("c {n}")).sort_key(f64::from(n)).put()].into(), reply))
            .unwrap();
    }
    save(&store, draft("large", "large").parts(vec![part("p", "json", noise(1, 100_000))]).put());
    save(&store, draft("small", "small").parts(vec![part("p", "json", noise(2, 10_000))]).put());
    for query in [list_query(lineage("long"), None), get_query("large"), list_query(Of::Contract, None)] {
        assert!(ask(&store, &query).is_ok());
        assert_eq!(at_once(&store, &query), None, "{query:?}");
    }
    for query in [list_query(lineage("long"), Some(3)), get_query("small")] {
        let found = ask(&store, &query).unwrap();
        assert_eq!(soon(&store, &query), found, "{query:?}");
    }
    for query in [stats_query(0), Query::QuickCheck, Query::Clock] {
        assert_eq!(at_once(&store, &query), None, "{query:?}");
    }
    store.shutdown();
}

#[test]
fn what_others_save_and_restore_is_seen() {
    let (_folder, path) = temporary("a.db");
    let store = open(&path, Options::default());
    save(&store, draft("run", "mine").sort_key(1.0).put());
    let newest = || soon(&store, &newest_query("run", None)).into_checkpoint().unwrap().unwrap().header.id;
    assert_eq!(newest(), "mine");
    let mut other = sqlite(&path, Journal::Wal, Durability::Off).unwrap();
    apply(&mut other, vec![draft("run", "theirs").sort_key(2.0).put()]).unwrap();
    assert_eq!(newest(), "theirs");
    apply(&mut other, vec![crate::common::remove("theirs")]).unwrap();
    assert_eq!(newest(), "mine");
    // Another process that writes, also for long, keeps nobody from reading.
    let writing = rusqlite::Connection::open(&path).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(newest(), "mine");
    drop((writing, other));
    store.shutdown();
}

#[test]
fn a_lost_file_and_a_rollback_journal_give_no_answer() {
    let (folder, path) = temporary("a.db");
    let store = open(&path, Options::default());
    save(&store, draft("run", "c").put());
    soon(&store, &get_query("c"));
    fs::rename(&path, folder.path().join("b.db")).unwrap();
    // Reads look at the files a moment later.
    let begun = Instant::now();
    while at_once(&store, &get_query("c")).is_some() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody looks at the file");
    }
    assert_eq!(ask(&store, &get_query("c")).unwrap_err().code(), Code::Unavailable);
    store.shutdown();

    let mut rollback = sqlite(&folder.path().join("c.db"), Journal::Rollback, Durability::Off).unwrap();
    apply(&mut rollback, vec![draft("run", "c").put()]).unwrap();
    assert_eq!(rollback.answer_at_once(&get_query("c")), None);
    let mut wal = sqlite(&folder.path().join("d.db"), Journal::Wal, Durability::Off).unwrap();
    apply(&mut wal, vec![draft("run", "c").put()]).unwrap();
    assert!(wal.answer_at_once(&get_query("c")).is_some());
}

/// A backend that answers everything at once. It waits before each batch until the test lets it go on.
struct Double {
    memory: Arc<Mutex<Memory>>,
    began: Sender<()>,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Backend for Double {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.began.send(()).unwrap();
        let _ = self.gate.lock().unwrap().recv();
        self.memory.lock().unwrap().apply(batch)
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.memory.lock().unwrap().answer(query)
    }

    fn answer_at_once(&mut self, query: &Query) -> Option<Answer> {
        assert!(*query != get_query("panic"), "as the test wants");
        self.memory.lock().unwrap().answer(query).ok()
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.memory.lock().unwrap().prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A store over doubles, what tells that a batch has begun, and the gate.
fn doubles() -> (Store, Receiver<()>, Sender<()>) {
    let memory = Arc::new(Mutex::new(Memory::new()));
    let ((began, begins), (go, gate)) = (channel(), channel());
    let gate = Arc::new(Mutex::new(gate));
    let open = move || -> Result<Box<dyn Backend>> {
        Ok(Box::new(Double { memory: Arc::clone(&memory), began: began.clone(), gate: Arc::clone(&gate) }))
    };
    (Store::with_backend(open, None, Options::default()).unwrap(), begins, go)
}

#[test]
fn nothing_is_answered_before_what_was_queued() {
    let (store, begins, go) = doubles();
    let first = pending(|reply| store.apply(vec![draft("run", "a").put()].into(), reply));
    begins.recv().unwrap();
    let second = pending(|reply| store.apply(vec![draft("run", "b").put()].into(), reply));
    assert_eq!(store.answer_at_once(&get_query("a")), None, "a save is under way");
    drop(go);
    first.recv().unwrap().unwrap();
    second.recv().unwrap().unwrap();
    store.drain();
    let found = soon(&store, &get_query("b")).into_checkpoint().unwrap();
    assert_eq!(found.unwrap().header.id, "b");
    store.shutdown();
}

#[test]
fn a_panic_poisons_the_store() {
    let (store, _begins, go) = doubles();
    drop(go);
    save(&store, draft("run", "a").put());
    assert_eq!(store.answer_at_once(&get_query("panic")), None);
    assert_eq!(call(|reply| store.apply(vec![draft("run", "b").put()].into(), reply)).unwrap_err(), Error::poisoned());
    assert_eq!(store.answer_at_once(&get_query("a")), None);
    store.drain();
    store.shutdown();
}
