//! The reader thread. It has its own database connection, so that reads do not wait for commits. The writer thread
//! answers all queries until a read and other work first overlap. From then on, the reader thread answers.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::backend::{Backend, Lazy, Open};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::query::{Answer, Query};
use crate::worker::{Reply, Worker};

/// A query and the reply for its answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) reply: Reply<Answer>,
    /// True if the thread for slow queries answers, beside the reader thread.
    pub(crate) beside: bool,
}

/// The reading side of a store.
pub(crate) struct Reader {
    // The reader thread sends questions to the slow one, so it must end first. Fields are dropped in declaration order.
    often: Thread,
    /// For checks and slow queries, so that other reads do not wait for them.
    slow: Arc<Thread>,
    is_needed: AtomicBool,
}

impl Reader {
    /// Creates the reader. `open` runs on the reader thread, and `open_for_long` on the thread for slow queries.
    pub(crate) fn new(open: Open, open_for_long: Open, deadline: Arc<Deadline>) -> Self {
        let slow = Start { name: "forkpoint-slow-reader", open: open_for_long, slow: None };
        let slow = Arc::new(Thread::new(slow, Arc::clone(&deadline)));
        let often = Start { name: "forkpoint-reader", open, slow: Some(Arc::clone(&slow)) };
        Self { often: Thread::new(often, deadline), slow, is_needed: AtomicBool::new(false) }
    }

    /// Returns true if the reader thread answers all queries from now on.
    pub(crate) fn is_needed(&self) -> bool {
        self.is_needed.load(Ordering::Relaxed)
    }

    /// Lets the reader thread answer all queries from now on.
    pub(crate) fn need(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }

    /// Answers a question on the calling thread, with its backend. Passes a slow query on to the slow thread. Returns
    /// the time of the answer, and its error.
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

    pub(crate) fn ask(&self, question: Question) {
        if question.beside {
            self.slow.ask(question);
        } else {
            self.need();
            self.often.ask(question);
        }
    }

    pub(crate) fn drain(&self) {
        self.often.drain();
        self.slow.drain();
    }

    pub(crate) fn join(&self) {
        self.often.join();
        self.slow.join();
    }
}

/// The parameters of a thread.
struct Start {
    name: &'static str,
    open: Open,
    /// The thread for slow queries. `None` for that thread itself.
    slow: Option<Arc<Thread>>,
}

/// A thread that answers queries with its own connection. It starts with the first question.
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

    /// Ends the thread. A thread that was not started can no longer start.
    fn join(&self) {
        if let Ok(worker) = self.worker.get_or_init(|| Err(Error::closed())) {
            worker.join();
        }
    }
}

/// Starts a thread that answers queries.
fn answering(start: Start, deadline: Arc<Deadline>) -> Result<Worker<Question>> {
    let Start { name, mut open, slow } = start;
    let open_for_reading = move || {
        let mut backend = open()?;
        backend.only_reads()?;
        Ok(backend)
    };
    let mut lazy = Lazy::new(Box::new(open_for_reading), deadline);
    Worker::start(name, move |questions: Vec<Question>| {
        let mut batch = Vec::with_capacity(questions.len());
        for question in questions {
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
