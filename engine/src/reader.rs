//! The reader thread. The reader thread has its own database connection, so that a read does not wait for a commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        let thread = Mutex::new(Thread::NotStarted(open_for_long));
        let slow = Arc::new(SlowReader { thread, deadline: Arc::clone(&deadline) });
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
        // Release the lock before draining, because the code that receives a page may request the next page.
        let worker = match &*self.slow.thread() {
            Thread::Started(worker) => Some(Arc::clone(worker)),
            _ => None,
        };
        if let Some(worker) = worker {
            worker.drain();
        }
    }

    pub(crate) fn join(&self) {
        self.worker.join();
        let thread = std::mem::replace(&mut *self.slow.thread(), Thread::Closed);
        if let Thread::Started(worker) = thread {
            worker.join();
        }
    }
}

/// The thread for checks and for queries that take long, with its own connection. Other reads must not wait for them.
struct SlowReader {
    thread: Mutex<Thread>,
    deadline: Arc<Deadline>,
}

enum Thread {
    /// Nothing that takes long was asked yet. The first such question starts the thread.
    NotStarted(Open),
    Started(Arc<Worker<Question>>),
    Closed,
}

impl SlowReader {
    fn ask(&self, question: Question) {
        match self.worker() {
            Ok(worker) => send(&worker, question),
            Err(error) => question.reply.send(Err(error)),
        }
    }

    fn worker(&self) -> Result<Arc<Worker<Question>>> {
        let mut thread = self.thread();
        // If the thread cannot be started, later questions fail in the same way as on a closed store.
        let worker = match std::mem::replace(&mut *thread, Thread::Closed) {
            Thread::NotStarted(open) => {
                Arc::new(answering("forkpoint-slow-reader", open, Arc::clone(&self.deadline), None)?)
            }
            Thread::Started(worker) => worker,
            Thread::Closed => return Err(Error::closed()),
        };
        *thread = Thread::Started(Arc::clone(&worker));
        Ok(worker)
    }

    fn thread(&self) -> MutexGuard<'_, Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that answers queries with its own backend. If `slow` is given, it answers what takes long.
fn answering(
    name: &str,
    open: Open,
    deadline: Arc<Deadline>,
    slow: Option<Arc<SlowReader>>,
) -> Result<Worker<Question>> {
    let mut backend = Lazy::new(open, deadline);
    Worker::start(name, move |batch: Vec<Question>| {
        let backend = match backend.get() {
            Ok(backend) => backend,
            Err(error) => return batch.into_iter().for_each(|question| question.reply.send(Err(error.clone()))),
        };
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
        let mut replies = replies.into_iter();
        backend.answer_all(&queries, &mut |answer| {
            if let Some(reply) = replies.next() {
                reply.send(answer);
            }
        });
    })
}

fn send(worker: &Worker<Question>, question: Question) {
    if let Err((question, error)) = worker.push(question) {
        question.reply.send(Err(error));
    }
}
