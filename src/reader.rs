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
    worker: Worker<Question>,
    checks: Mutex<Checks>,
    deadline: Arc<Deadline>,
}

/// The thread for checks, with its own connection. Verifying a page takes a long time, and other reads must not wait
/// for the verification.
enum Checks {
    /// No check was requested yet. The first check starts the thread.
    NotStarted(Open),
    Started(Arc<Worker<Question>>),
    Closed,
}

impl Reader {
    /// Starts the reader thread. `open` runs on the reader thread, and `open_for_checks` on the thread for checks.
    pub(crate) fn start(open: Open, open_for_checks: Open, deadline: Arc<Deadline>) -> Result<Self> {
        let worker = answering("forkpoint-reader", open, Arc::clone(&deadline))?;
        Ok(Self { worker, checks: Mutex::new(Checks::NotStarted(open_for_checks)), deadline })
    }

    pub(crate) fn ask(&self, question: Question) {
        send(&self.worker, question);
    }

    /// Verifies one page of a check.
    pub(crate) fn check(&self, question: Question) {
        match self.checker() {
            Ok(worker) => send(&worker, question),
            Err(error) => question.reply.send(Err(error)),
        }
    }

    fn checker(&self) -> Result<Arc<Worker<Question>>> {
        let mut checks = self.checks();
        // If the thread cannot be started, later checks fail in the same way as on a closed store.
        let worker = match std::mem::replace(&mut *checks, Checks::Closed) {
            Checks::NotStarted(open) => Arc::new(answering("forkpoint-checker", open, Arc::clone(&self.deadline))?),
            Checks::Started(worker) => worker,
            Checks::Closed => return Err(Error::closed()),
        };
        *checks = Checks::Started(Arc::clone(&worker));
        Ok(worker)
    }

    pub(crate) fn drain(&self) {
        self.worker.drain();
        // Release the lock before draining, because the code that receives a page may request the next page.
        let checker = match &*self.checks() {
            Checks::Started(worker) => Some(Arc::clone(worker)),
            _ => None,
        };
        if let Some(worker) = checker {
            worker.drain();
        }
    }

    pub(crate) fn join(&self) {
        self.worker.join();
        let checks = std::mem::replace(&mut *self.checks(), Checks::Closed);
        if let Checks::Started(worker) = checks {
            worker.join();
        }
    }

    fn checks(&self) -> MutexGuard<'_, Checks> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that answers queries with its own backend.
fn answering(name: &str, open: Open, deadline: Arc<Deadline>) -> Result<Worker<Question>> {
    let mut backend = Lazy::new(open, deadline);
    Worker::start(name, move |batch: Vec<Question>| {
        let (queries, replies): (Vec<Query>, Vec<Reply<Answer>>) =
            batch.into_iter().map(|question| (question.query, question.reply)).unzip();
        match backend.get() {
            Ok(backend) => {
                let mut replies = replies.into_iter();
                backend.answer_all(&queries, &mut |answer| {
                    if let Some(reply) = replies.next() {
                        reply.send(answer);
                    }
                });
            }
            Err(error) => replies.into_iter().for_each(|reply| reply.send(Err(error.clone()))),
        }
    })
}

fn send(worker: &Worker<Question>, question: Question) {
    if let Err((question, error)) = worker.push(question) {
        question.reply.send(Err(error));
    }
}
