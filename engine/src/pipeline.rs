//! The writer thread. It commits all queued units in one transaction if possible. It replies to each caller when the
//! caller's save is durable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::{Lazy, Limits, Open, PreEncode};
use crate::deadline::Deadline;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::message::{Closing, Work, WriterMessage, send};
use crate::op::{Applied, Commit, Op, Unit};
use crate::query::{Answer, Query};
use crate::reader::{Question, Reader};
use crate::record::Notice;
use crate::retention::Policy;
use crate::sweeper::Sweeper;
use crate::warnings::Warnings;
use crate::worker::{Reply, Task, Worker};

/// The writing side of a store.
pub(crate) struct Pipeline {
    // The encoder sends messages to the worker, so the encoder must be dropped before the worker. Fields are dropped in
    // the order of their declaration.
    encoder: Option<Encoder>,
    worker: Arc<Worker<WriterMessage>>,
    reader: Arc<Reader>,
    closing: Arc<Closing>,
    warnings: Arc<Warnings>,
    deadline: Arc<Deadline>,
    patience: Duration,
}

impl Pipeline {
    /// Starts the writer thread. When the store is closed or its process ends, all work that is left waits for locks no
    /// longer than `patience` together. `deadline` is the deadline of `reader` too.
    pub(crate) fn start(
        open: Open,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        reader: Arc<Reader>,
        policy: Policy,
        patience: Duration,
        deadline: Arc<Deadline>,
    ) -> Result<Self> {
        let sweeper = Sweeper::new(policy);
        let warnings = sweeper.warnings();
        let writing = Writing { backend: Lazy::new(open, Arc::clone(&deadline)), sweeper, reader: Arc::clone(&reader) };
        let worker = Arc::new(Worker::start("forkpoint-writer", writing)?);
        let encoder = pre_encoder.map(|pre_encoder| Encoder::start(pre_encoder, Arc::clone(&worker))).transpose()?;
        Ok(Self { encoder, worker, reader, closing: Arc::default(), warnings, deadline, patience })
    }

    /// Returns the receiver of background failures.
    pub(crate) fn warnings(&self) -> Arc<Warnings> {
        Arc::clone(&self.warnings)
    }

    /// Opens the backend now. Otherwise the first message opens it.
    pub(crate) fn open(&self, reply: Reply<Option<Notice>>) {
        self.send(WriterMessage::Open(reply));
    }

    /// Queues a unit. Units are saved in call order, with one exception: a unit may be saved before an unrelated large
    /// unit that was queued earlier.
    pub(crate) fn apply(&self, unit: Unit, reply: Reply<Applied>) {
        self.send(WriterMessage::Apply(unit, reply));
    }

    /// Queues a function that works on the backend. The function runs after every unit that was queued earlier.
    pub(crate) fn work(&self, work: Work) {
        self.send(WriterMessage::Work(work));
    }

    /// Answers a query. The query sees every unit that was queued before it.
    pub(crate) fn ask(&self, query: Query, reply: Reply<Answer>) {
        let question = Question { query, reply };
        // Check the encoder before the worker, because messages move from the encoder to the worker's queue.
        if self.encoder.as_ref().is_none_or(Encoder::idle) && self.worker.idle() {
            self.reader.ask(question);
        } else {
            self.send(WriterMessage::Ask(question));
        }
    }

    /// Verifies one page of the stored data.
    pub(crate) fn check(&self, query: Query, reply: Reply<Answer>) {
        self.reader.check(Question { query, reply });
    }

    /// Stops accepting messages. Replies when all work is done and the backend is closed. This function may be called
    /// more than once.
    pub(crate) fn close(&self, reply: Reply<()>) {
        if let Some(close) = self.closing.ask(reply) {
            self.ending();
            self.send(WriterMessage::Close(close));
            self.encoder.iter().for_each(Encoder::close);
        }
    }

    fn send(&self, message: WriterMessage) {
        let message = match &self.encoder {
            Some(encoder) => encoder.take(message),
            None => Some(message),
        };
        if let Some(message) = message {
            send(&self.worker, message);
        }
    }

    /// Announces that the store is being closed or that the process is ending. From now on, the queued work shares one
    /// deadline for its locks.
    pub(crate) fn ending(&self) {
        self.deadline.set(Instant::now() + self.patience);
    }

    /// Waits until everything queued so far is done.
    pub(crate) fn drain(&self) {
        self.encoder.iter().for_each(Encoder::drain);
        self.worker.drain();
        self.reader.drain();
    }

    /// Waits until all threads have ended. Call [`Pipeline::close`] first.
    pub(crate) fn join(&self) {
        self.encoder.iter().for_each(Encoder::join);
        self.worker.join();
        self.reader.join();
    }
}

/// The state of the writer thread.
struct Writing {
    backend: Lazy,
    sweeper: Sweeper,
    reader: Arc<Reader>,
}

impl Task<WriterMessage> for Writing {
    fn work(&mut self, batch: Vec<WriterMessage>) {
        let (mut units, mut replies) = (Vec::new(), Vec::new());
        let mut after = Vec::new();
        for message in batch {
            match message {
                WriterMessage::Apply(unit, reply) => {
                    units.push(unit);
                    replies.push(reply);
                }
                other => after.push(other),
            }
        }
        self.apply(units, replies);
        for message in after {
            match message {
                WriterMessage::Open(reply) => {
                    reply.send(self.backend.get().map(|backend| backend.notice().cloned()));
                }
                // The query may also see later saves of this batch, which is harmless.
                WriterMessage::Ask(question) => self.reader.ask(question),
                WriterMessage::Work(work) => work(self.backend.get()),
                WriterMessage::Close(closing) => {
                    self.reader.join();
                    closing.end(self.backend.close());
                }
                WriterMessage::Apply(..) => {}
            }
        }
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> bool {
        // Nobody waits for the outcome. After an error, the backend rests again when it has done its next work.
        self.backend.opened().is_some_and(|backend| backend.rest(wanted).unwrap_or(false))
    }
}

impl Writing {
    /// Applies the units in batches of the size that the backend accepts, and replies to each caller.
    fn apply(&mut self, mut units: Vec<Unit>, replies: Vec<Reply<Applied>>) {
        let mut replies = replies.into_iter();
        while !units.is_empty() {
            let backend = match self.backend.get() {
                Ok(backend) => backend,
                Err(error) => return replies.for_each(|reply| reply.send(Err(error.clone()))),
            };
            let rest = units.split_off(fitting(&units, backend.limits()));
            let began = Instant::now();
            let mut outcomes = backend.apply(&units);
            let commit = Commit { began, took: began.elapsed(), units: units.len() };
            outcomes.iter_mut().flatten().for_each(|applied| applied.commit = Some(commit));
            // Free the payloads before replying, because a caller may detach its buffers after the reply.
            drop(std::mem::replace(&mut units, rest));
            outcomes.into_iter().zip(&mut replies).for_each(|(outcome, reply)| reply.send(outcome));
            // Sweep only now, because every caller of this batch has its reply.
            self.sweeper.after_commit(&mut **backend);
        }
    }
}

/// Returns the number of units that fit into one batch. The result is at least one.
fn fitting(units: &[Unit], limits: Limits) -> usize {
    let weight = |unit: &Unit| unit.ops.iter().map(Op::weight).sum::<usize>();
    let mut bytes = 0_usize;
    let fits = |unit: &&Unit| {
        bytes = bytes.saturating_add(if limits.bytes == usize::MAX { 0 } else { weight(unit) });
        bytes <= limits.bytes
    };
    units.iter().take(limits.units).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::backend::Backend;
    use crate::backend::sqlite::{Options, Sqlite};
    use crate::cache::PayloadCache;
    use crate::op::LogEnd;
    use crate::query::Of;
    use crate::record::{ContractId, Header, Part, Write};

    const CONTRACT_ID: ContractId = ContractId(1);

    /// A fake encoder for tests. It reports when it begins, and then waits at a gate instead of encoding.
    struct Gated {
        entered: Sender<String>,
        gate: Mutex<Receiver<()>>,
    }

    impl PreEncode for Gated {
        fn takes_long(&self, op: &Op) -> bool {
            matches!(op, Op::Put(draft) if draft.len() > 1000)
        }

        fn encode(&self, op: &mut Op) {
            let Op::Put(draft) = op else { panic!("not what takes long") };
            self.entered.send(draft.header.id.clone()).unwrap();
            self.gate.lock().unwrap().recv().unwrap();
        }
    }

    fn put(lineage: &str, id: &str, parent: Option<&str>, length: usize) -> Op {
        let header = Header { parent: parent.map(str::to_owned), ..Header::new(CONTRACT_ID, lineage, id) };
        let part = Part { name: String::new(), tag: String::new(), bytes: vec![7; length].into() };
        Op::put(header, vec![part])
    }

    /// Starts a pipeline whose encoder waits at a gate. Returns what the encoder enters, and the key of the gate.
    fn gated(path: &std::path::Path) -> (Pipeline, Receiver<String>, Sender<()>) {
        let options = Options::new(path);
        let open =
            move || -> Result<Box<dyn Backend>> { Ok(Box::new(Sqlite::open_with(&options, PayloadCache::new(0))?)) };
        let (entered, begun) = channel();
        let (go, gate) = channel();
        let deadline = Arc::new(Deadline::default());
        let reader = Reader::start(Box::new(open.clone()), Box::new(open.clone()), Arc::clone(&deadline)).unwrap();
        let pre_encoder = Arc::new(Gated { entered, gate: Mutex::new(gate) });
        let patience = Duration::from_secs(30);
        let (open, policy) = (Box::new(open), Policy::default());
        let writer = Pipeline::start(open, Some(pre_encoder), Arc::new(reader), policy, patience, deadline).unwrap();
        (writer, begun, go)
    }

    #[test]
    fn a_large_unit_is_overtaken_by_what_has_nothing_to_do_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, begun, go) = gated(&folder.path().join("a.db"));

        let (sender, replies) = channel::<&str>();
        let reply = |name: &'static str| {
            let sender = sender.clone();
            Reply::new(move |outcome: Result<Applied>| {
                outcome.unwrap();
                sender.send(name).unwrap();
            })
        };
        let apply = |name: &'static str, ops: Vec<Op>| writer.apply(ops.into(), reply(name));
        let next = || replies.recv_timeout(Duration::from_secs(30)).unwrap();

        apply("large", vec![put("a", "large", None, 1 << 20)]);
        assert_eq!(begun.recv().unwrap(), "large");
        apply("other", vec![put("b", "other", None, 10)]);
        assert_eq!(next(), "other", "it has nothing to do with the large one");

        apply("its run", vec![put("a", "its run", None, 10)]);
        apply("its fork", vec![put("c", "its fork", Some("large"), 10)]);
        let part = Part { name: String::new(), tag: String::new(), bytes: vec![1].into() };
        let write = Write { task: "t".to_owned(), index: 0, claimed_by: None, part };
        apply(
            "its write",
            vec![Op::Write {
                contract: CONTRACT_ID,
                id: "large".to_owned(),
                writes: vec![write],
                replace: true,
                encoded: None,
            }],
        );
        apply(
            "its cap",
            vec![Op::KeepLast { contract: CONTRACT_ID, lineage: "a".to_owned(), keep: 9, pinned: String::new() }],
        );
        // The truncated log and the checkpoint belong to different lineages. The engine cannot know the checkpoint's
        // lineage before the checkpoint is saved.
        let (log, to) = ("log".to_owned(), LogEnd::Checkpoint("large".to_owned()));
        let rewound_sender = sender.clone();
        let refused = Reply::new(move |outcome: Result<Applied>| {
            assert_eq!(outcome.unwrap_err().code(), crate::error::Code::NotFound);
            rewound_sender.send("a rewind to it").unwrap();
        });
        writer.apply(vec![Op::Truncate { contract: CONTRACT_ID, lineage: "e".to_owned(), log, to }].into(), refused);
        apply("what follows the fork", vec![put("c", "what follows the fork", None, 10)]);
        let question_sender = sender.clone();
        let list = Query::List { contract: CONTRACT_ID, of: Of::Lineage("a".to_owned()), before: None, limit: None };
        writer.ask(
            list,
            Reply::new(move |answer: Result<Answer>| {
                assert_eq!(answer.unwrap().into_headers().unwrap().len(), 2, "it sees what was handed in before it");
                question_sender.send("a question").unwrap();
            }),
        );
        apply("another", vec![put("b", "another", None, 10)]);
        assert_eq!(next(), "another", "a question lets others past");
        apply("a removal", vec![Op::Remove { contract: CONTRACT_ID, id: "of who knows which run".to_owned() }]);
        apply("behind it", vec![put("d", "behind it", None, 10)]);
        let closed_sender = sender.clone();
        writer.close(Reply::new(move |outcome: Result<()>| {
            outcome.unwrap();
            closed_sender.send("closed").unwrap();
        }));
        let (refused, refusals) = channel();
        writer.apply(
            vec![put("d", "too late", None, 10)].into(),
            Reply::new(move |outcome| refused.send(outcome).unwrap()),
        );

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
        assert_eq!(refusals.recv().unwrap().unwrap_err().code(), crate::error::Code::Closed);
        writer.join();

        let rows = rusqlite::Connection::open(folder.path().join("a.db")).unwrap();
        let mut statement = rows.prepare("SELECT id FROM checkpoint ORDER BY seq").unwrap();
        let order: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect();
        let expected = ["other", "another", "large", "its run", "its fork", "what follows the fork", "behind it"];
        assert_eq!(order, expected);
    }
}
