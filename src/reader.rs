//! The thread that reads, with a connection of its own: a reader does not wait for somebody else's commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::{Lazy, Open};
use crate::error::{Error, Result};
use crate::lane::{Lane, Reply};
use crate::query::{Answer, Query};

/// A query and who waits for its answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) reply: Reply<Answer>,
}

/// The reading side of a store.
pub(crate) struct Reader {
    lane: Lane<Question>,
    checks: Mutex<Checks>,
}

/// The thread for checks, with a connection of its own. A page of a check takes long, and other reads must not wait for it.
enum Checks {
    /// Nobody has asked for a check yet. The first one starts the thread.
    NotStarted(Open),
    Started(Arc<Lane<Question>>),
    Closed,
}

impl Reader {
    /// Starts the thread. `open` is called on it, and `open_for_checks` on the thread for checks.
    pub(crate) fn start(open: Open, open_for_checks: Open) -> Result<Self> {
        let lane = answering("forkpoint-reader", open)?;
        Ok(Self { lane, checks: Mutex::new(Checks::NotStarted(open_for_checks)) })
    }

    pub(crate) fn ask(&self, question: Question) {
        hand_in(&self.lane, question);
    }

    /// Asks for a page of a check.
    pub(crate) fn check(&self, question: Question) {
        match self.checker() {
            Ok(lane) => hand_in(&lane, question),
            Err(error) => question.reply.send(Err(error)),
        }
    }

    fn checker(&self) -> Result<Arc<Lane<Question>>> {
        let mut checks = self.checks();
        // If the thread cannot be started, checks stay closed.
        let lane = match std::mem::replace(&mut *checks, Checks::Closed) {
            Checks::NotStarted(open) => Arc::new(answering("forkpoint-checker", open)?),
            Checks::Started(lane) => lane,
            Checks::Closed => return Err(Error::closed()),
        };
        *checks = Checks::Started(Arc::clone(&lane));
        Ok(lane)
    }

    pub(crate) fn drain(&self) {
        self.lane.drain();
        // Not under the lock: whoever hears of a page may ask for the next one.
        let checker = match &*self.checks() {
            Checks::Started(lane) => Some(Arc::clone(lane)),
            _ => None,
        };
        if let Some(lane) = checker {
            lane.drain();
        }
    }

    pub(crate) fn join(&self) {
        self.lane.join();
        let checks = std::mem::replace(&mut *self.checks(), Checks::Closed);
        if let Checks::Started(lane) = checks {
            lane.join();
        }
    }

    fn checks(&self) -> MutexGuard<'_, Checks> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that answers questions with a backend of its own.
fn answering(name: &str, open: Open) -> Result<Lane<Question>> {
    let mut backend = Lazy::new(open);
    // Questions weigh nothing: their answers are what takes memory, and those wait in no queue.
    Lane::start(name, usize::MAX, move |batch: Vec<Question>| {
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

fn hand_in(lane: &Lane<Question>, question: Question) {
    if let Err((question, error)) = lane.push(question, 0) {
        question.reply.send(Err(error));
    }
}
