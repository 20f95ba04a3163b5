//! Tests which units overtake a large unit that is encoded on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

/// A fake encoder for tests. It reports when it begins, and then waits at a gate instead of encoding.
struct Gated {
    entered: Sender<String>,
    gate: Mutex<Receiver<()>>,
}

impl PreEncode for Gated {
    fn size_if_long(&self, op: &Op) -> Option<usize> {
        let Op::Put(draft) = op else { return None };
        (draft.len() > 1000).then(|| draft.len())
    }

    fn encode(&self, op: &mut Op) {
        let Op::Put(draft) = op else { panic!("not what takes long") };
        self.entered.send(draft.header.id.clone()).unwrap();
        self.gate.lock().unwrap().recv().unwrap();
    }
}

fn put(lineage: &str, id: &str, parent: Option<&str>, length: usize) -> Op {
    let mut draft = draft(lineage, id).parts(vec![part("", "", vec![7; length])]);
    draft.0.header.parent = parent.map(str::to_owned);
    draft.put()
}

/// Opens a store whose encoder waits at a gate. Returns what the encoder enters, and the key of the gate.
fn gated(path: &std::path::Path) -> (Store, Receiver<String>, Sender<()>) {
    let options = sqlite::Options::new(path);
    let open = move || -> Result<Box<dyn Backend>> { Ok(Box::new(Sqlite::open_with(&options, PayloadCache::new(0))?)) };
    let (entered, begun) = channel();
    let (go, gate) = channel();
    let pre_encoder = Arc::new(Gated { entered, gate: Mutex::new(gate) });
    (Store::with_backend(open, Some(pre_encoder), Options::default()).unwrap(), begun, go)
}

#[test]
fn a_large_unit_is_overtaken_by_what_has_nothing_to_do_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, begun, go) = gated(&folder.path().join("a.db"));

    let (sender, replies) = channel::<&str>();
    let reply = |name: &'static str| {
        let sender = sender.clone();
        Reply::new(move |outcome: Result<Applied>| {
            outcome.unwrap();
            sender.send(name).unwrap();
        })
    };
    let apply = |name: &'static str, ops: Vec<Op>| store.apply(ops.into(), reply(name));
    let next = || replies.recv_timeout(Duration::from_secs(30)).unwrap();

    apply("large", vec![put("a", "large", None, 1 << 20)]);
    assert_eq!(begun.recv().unwrap(), "large");
    apply("other", vec![put("b", "other", None, 10)]);
    assert_eq!(next(), "other", "it has nothing to do with the large one");

    apply("its run", vec![put("a", "its run", None, 10)]);
    apply("its fork", vec![put("c", "its fork", Some("large"), 10)]);
    apply("its write", vec![write_to("large", true, vec![write("t", 0, [1])])]);
    apply("its cap", vec![keep_last("a", 9)]);
    // The truncated log and the checkpoint belong to different lineages. The engine cannot know the checkpoint's
    // lineage before the checkpoint is saved.
    let rewound_sender = sender.clone();
    let refused = Reply::new(move |outcome: Result<Applied>| {
        assert_eq!(outcome.unwrap_err().code(), Code::NotFound);
        rewound_sender.send("a rewind to it").unwrap();
    });
    store.apply(vec![rewind("e", "log", "large")].into(), refused);
    apply("what follows the fork", vec![put("c", "what follows the fork", None, 10)]);
    let question_sender = sender.clone();
    store.ask(
        list_query(lineage("a"), None),
        Reply::new(move |answer: Result<Answer>| {
            assert_eq!(answer.unwrap().into_headers().unwrap().len(), 2, "it sees what was handed in before it");
            question_sender.send("a question").unwrap();
        }),
    );
    apply("another", vec![put("b", "another", None, 10)]);
    assert_eq!(next(), "another", "a question lets others past");
    apply("a removal", vec![remove("of who knows which run")]);
    apply("behind it", vec![put("d", "behind it", None, 10)]);
    let closed_sender = sender.clone();
    store.close(Reply::new(move |outcome: Result<()>| {
        outcome.unwrap();
        closed_sender.send("closed").unwrap();
    }));
    let (refused, refusals) = channel();
    store.apply(vec![put("d", "too late", None, 10)].into(), Reply::new(move |outcome| refused.send(outcome).unwrap()));

    assert!(replies.recv_timeout(Duration::from_millis(50)).is_err(), "all of them come after the large one");
    go.send(()).unwrap();
    let mut outcomes: Vec<&str> = (0..10).map(|_| next()).collect();
    // The reader thread replies independently of the writer, so the test ignores the position of the reader's
    // reply.
    outcomes.retain(|name| *name != "a question");
    let expected = [
        "large",
        "its run",
        "its fork",
        "its write",
        "its cap",
        "a rewind to it",
        "what follows the fork",
        "a removal",
        "behind it",
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(next(), "closed");
    assert_eq!(refusals.recv().unwrap().unwrap_err().code(), Code::Closed);
    store.shutdown();

    let rows = rusqlite::Connection::open(folder.path().join("a.db")).unwrap();
    let mut statement = rows.prepare("SELECT id FROM checkpoint ORDER BY seq").unwrap();
    let order: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect();
    let expected = ["other", "another", "large", "its run", "its fork", "what follows the fork", "behind it"];
    assert_eq!(order, expected);
}
