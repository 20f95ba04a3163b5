//! The reader thread. The reader thread has its own database connection, so that a read does not wait for a commit.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::backend::{Lazy, Open};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::query::{Answer, Query};
use crate::worker::{Reply, Worker};

/// A query and the reply for its answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) reply: Reply<Answer>,
}

/// The reading side of a store.
pub(crate) struct Reader {
    // The worker sends questions to the slow reader, so the worker must end first. Fields are dropped in the order of
    // their declaration.
    worker: Worker<Question>,
    slow: Arc<SlowReader>,
}

impl Reader {
    /// Starts the reader thread. `open` runs on the reader thread, and `open_for_long` on the thread for what takes long.
    pub(crate) fn start(open: Open, open_for_long: Open, deadline: Arc<Deadline>) -> Result<Self> {
        let (open_once, worker) = (Mutex::new(Some(open_for_long)), OnceLock::new());
        let slow = Arc::new(SlowReader { open: open_once, worker, deadline: Arc::clone(&deadline) });
        let worker = answering("forkpoint-reader", open, deadline, Some(Arc::clone(&slow)))?;
        Ok(Self { worker, slow })
    }

    pub(crate) fn ask(&self, question: Question) {
        send(&self.worker, question);
    }

    /// Verifies one page of a check.
    pub(crate) fn check(&self, question: Question) {
        self.slow.ask(question);
    }

    pub(crate) fn drain(&self) {
        self.worker.drain();
        if let Some(Ok(slow)) = self.slow.worker.get() {
            slow.drain();
        }
    }

    pub(crate) fn join(&self) {
        self.worker.join();
        // A thread that was not started yet is not started any more.
        if let Ok(slow) = self.slow.worker.get_or_init(|| Err(Error::closed())) {
            slow.join();
        }
    }
}

/// The thread for checks and for queries that take long, with its own connection. Other reads must not wait for them.
struct SlowReader {
    /// Opens the backend of the thread. The first question that takes long starts the thread.
    open: Mutex<Option<Open>>,
    worker: OnceLock<Result<Worker<Question>>>,
    deadline: Arc<Deadline>,
}

impl SlowReader {
    fn ask(&self, question: Question) {
        let started = self.worker.get_or_init(|| {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(Error::poisoned)?;
            answering("forkpoint-slow-reader", open, Arc::clone(&self.deadline), None)
        });
        match started {
            Ok(worker) => send(worker, question),
            Err(error) => question.reply.send(Err(error.clone())),
        }
    }
}

/// Starts a thread that answers queries with its own backend. If `slow` is given, that thread answers the queries that take long.
fn answering(
    name: &str,
    open: Open,
    deadline: Arc<Deadline>,
    slow: Option<Arc<SlowReader>>,
) -> Result<Worker<Question>> {
    let mut lazy = Lazy::new(open, deadline);
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

fn send(worker: &Worker<Question>, question: Question) {
    if let Err((question, error)) = worker.push(question) {
        question.reply.send(Err(error));
    }
}
