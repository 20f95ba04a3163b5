//! The reader thread. The reader thread has its own database connection, so that a read does not wait for a commit. It is used
//! from the first time on that a read and other work want the storage together. Until then, the writer thread answers.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::backend::{Backend, Health, Lazy, Open, Replica, Turn};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::query::{Answer, Query};
use crate::worker::{Reply, Worker};

/// A query and the reply for its answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) reply: Reply<Answer>,
    /// True if a replica may answer.
    pub(crate) may_lag: bool,
    /// True if the thread for what takes long answers, beside the other one.
    pub(crate) beside: bool,
}

/// The replica, for the two threads that use it.
pub(crate) struct Replicas {
    pub(crate) health: Arc<Health>,
    pub(crate) often: Box<dyn Replica>,
    pub(crate) for_long: Box<dyn Replica>,
}

/// The reading side of a store.
pub(crate) struct Reader {
    // The replica's thread sends questions to the worker, and the worker to the slow reader, so they must end in this order.
    // Fields are dropped in the order of their declaration.
    replica: Option<ReplicaReader>,
    often: Arc<Thread>,
    /// For checks and for queries that take long. Other reads must not wait for them.
    slow: Arc<Thread>,
    is_needed: AtomicBool,
}

impl Reader {
    /// `open` runs on the reader thread, and `open_for_long` on the thread for what takes long.
    pub(crate) fn new(
        open: Open,
        open_for_long: Open,
        replicas: Option<Replicas>,
        deadline: Arc<Deadline>,
    ) -> Result<Self> {
        let (replica, for_long) = match replicas {
            Some(Replicas { health, often, for_long }) => (Some((health, often)), Some(for_long)),
            None => (None, None),
        };
        let slow = Start { name: "forkpoint-slow-reader", open: open_for_long, replica: for_long, slow: None };
        let slow = Arc::new(Thread::new(slow, Arc::clone(&deadline)));
        let often = Start { name: "forkpoint-reader", open, replica: None, slow: Some(Arc::clone(&slow)) };
        let often = Arc::new(Thread::new(often, deadline));
        let replica =
            replica.map(|(health, replica)| ReplicaReader::start(health, replica, Arc::clone(&often))).transpose()?;
        let is_needed = AtomicBool::new(replica.is_some());
        Ok(Self { replica, often, slow, is_needed })
    }

    /// Returns true if the reader thread answers all queries from now on.
    pub(crate) fn is_needed(&self) -> bool {
        self.is_needed.load(Ordering::Relaxed)
    }

    /// Lets the reader thread answer all queries from now on.
    pub(crate) fn need(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }

    /// Answers a question with the backend of the calling thread, unless it takes long. Returns when the answer was there, and its
    /// error.
    pub(crate) fn answer(&self, backend: &mut Box<dyn Backend>, question: Question) -> (Instant, Option<Error>) {
        let queries = if backend.takes_long(&question.query) { &[] } else { slice::from_ref(&question.query) };
        let mut found = None;
        backend.answer_all(queries, &mut |answer| found = Some(answer));
        let done = Instant::now();
        let failed = found.as_ref().and_then(|answer| answer.as_ref().err().cloned());
        match found {
            Some(answer) => question.reply.send(answer),
            None => self.slow.ask(question),
        }
        (done, failed)
    }

    /// Lets the thread for what takes long answer.
    pub(crate) fn ask_slow(&self, question: Question) {
        self.slow.ask(question);
    }

    pub(crate) fn ask(&self, question: Question) {
        match &self.replica {
            _ if question.beside => self.slow.ask(question),
            Some(replica) if question.may_lag => replica.ask(question),
            _ => {
                self.need();
                self.often.ask(question);
            }
        }
    }

    pub(crate) fn drain(&self) {
        self.replica.iter().for_each(|replica| replica.worker.drain());
        self.often.drain();
        self.slow.drain();
    }

    pub(crate) fn join(&self) {
        self.replica.iter().for_each(|replica| replica.worker.join());
        self.often.join();
        self.slow.join();
    }
}

/// What a thread starts with.
struct Start {
    name: &'static str,
    open: Open,
    /// Asked first.
    replica: Option<Box<dyn Replica>>,
    /// Answers the queries that take long.
    slow: Option<Arc<Thread>>,
}

/// A thread that answers queries with its own connection. The first question starts it.
struct Thread {
    start: Mutex<Option<Start>>,
    worker: OnceLock<Result<Worker<Question>>>,
    deadline: Arc<Deadline>,
}

impl Thread {
    fn new(start: Start, deadline: Arc<Deadline>) -> Self {
        Self { start: Mutex::new(Some(start)), worker: OnceLock::new(), deadline }
    }

    fn ask(&self, question: Question) {
        let started = self.worker.get_or_init(|| {
            let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
            answering(start.ok_or_else(Error::poisoned)?, Arc::clone(&self.deadline))
        });
        match started {
            Ok(worker) => {
                if let Err((question, error)) = worker.push(question) {
                    question.reply.send(Err(error));
                }
            }
            Err(error) => question.reply.send(Err(error.clone())),
        }
    }

    fn drain(&self) {
        if let Some(Ok(worker)) = self.worker.get() {
            worker.drain();
        }
    }

    /// Ends the thread. One that was not started yet is not started any more.
    fn join(&self) {
        if let Ok(worker) = self.worker.get_or_init(|| Err(Error::closed())) {
            worker.join();
        }
    }
}

/// The thread for queries that a replica may answer. It waits for the replica, so that no other read does.
struct ReplicaReader {
    health: Arc<Health>,
    worker: Worker<Option<Question>>,
    primary: Arc<Thread>,
}

impl ReplicaReader {
    /// `primary` answers what the replica does not answer.
    fn start(health: Arc<Health>, mut replica: Box<dyn Replica>, primary: Arc<Thread>) -> Result<Self> {
        let others = Arc::clone(&primary);
        let worker = Worker::start("forkpoint-replica", move |questions: Vec<Option<Question>>| {
            for question in questions {
                match question {
                    Some(question) => {
                        if let Some(question) = looked(&mut replica, question) {
                            others.ask(question);
                        }
                    }
                    None => replica.try_again(),
                }
            }
        })?;
        Ok(Self { health, worker, primary })
    }

    fn ask(&self, question: Question) {
        let turn = self.health.turn();
        let asked = match turn {
            Turn::Ask => self.worker.push(Some(question)),
            Turn::Skip | Turn::SkipAndTry => {
                self.primary.ask(question);
                if turn == Turn::Skip { Ok(()) } else { self.worker.push(None) }
            }
        };
        if let Err((Some(question), error)) = asked {
            question.reply.send(Err(error));
        }
    }
}

/// Lets a replica answer. Returns the question if the storage itself must answer it.
fn looked(replica: &mut Box<dyn Replica>, question: Question) -> Option<Question> {
    match replica.look(&question.query) {
        Some(answer) => {
            question.reply.send(Ok(answer));
            None
        }
        None => Some(question),
    }
}

/// Starts a thread that answers queries.
fn answering(start: Start, deadline: Arc<Deadline>) -> Result<Worker<Question>> {
    let Start { name, mut open, mut replica, slow } = start;
    let open_for_reading = move || {
        let mut backend = open()?;
        backend.only_reads()?;
        Ok(backend)
    };
    let mut lazy = Lazy::new(Box::new(open_for_reading), deadline);
    Worker::start(name, move |questions: Vec<Question>| {
        let mut batch = Vec::with_capacity(questions.len());
        for question in questions {
            let left = match &mut replica {
                Some(replica) if question.may_lag => looked(replica, question),
                _ => Some(question),
            };
            let Some(question) = left else { continue };
            match lazy.missed(question.reply.asked()) {
                Some(error) => question.reply.send(Err(error)),
                None => batch.push(question),
            }
        }
        if batch.is_empty() {
            return;
        }
        let backend = match lazy.get() {
            Ok(backend) => backend,
            Err(error) => return batch.into_iter().for_each(|question| question.reply.send(Err(error.clone()))),
        };
        let began = Instant::now();
        let (mut queries, mut replies) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for question in batch {
            match &slow {
                Some(slow) if backend.takes_long(&question.query) => slow.ask(question),
                _ => {
                    queries.push(question.query);
                    replies.push(question.reply);
                }
            }
        }
        let (mut replies, mut failed) = (replies.into_iter(), None);
        backend.answer_all(&queries, &mut |answer| {
            failed = answer.as_ref().err().cloned();
            if let Some(reply) = replies.next() {
                reply.send(answer);
            }
        });
        lazy.note(began, failed.as_ref());
    })
}
