//! The thread that reads, with a connection of its own: a reader does not wait for somebody else's commit.

use crate::error::Error;
use crate::lane::{Lane, Reply};
use crate::query::{Answer, Query};
use crate::writer::{Lazy, Open};

/// A query and who waits for its answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) reply: Reply<Answer>,
}

/// The reading side of a store.
pub(crate) struct Reader {
    lane: Lane<Question>,
}

impl Reader {
    pub(crate) fn start(open: Open) -> Result<Self, Error> {
        let mut backend = Lazy::new(open);
        // Questions weigh nothing: their answers are what takes memory, and those wait in no queue.
        let lane = Lane::start("forkpoint-reader", usize::MAX, move |batch: Vec<Question>| {
            for Question { query, reply } in batch {
                reply.send(backend.get().and_then(|backend| backend.answer(&query)));
            }
        })?;
        Ok(Self { lane })
    }

    pub(crate) fn ask(&self, question: Question) {
        if let Err((question, error)) = self.lane.push(question, 0) {
            question.reply.send(Err(error));
        }
    }

    pub(crate) fn drain(&self) {
        self.lane.drain();
    }

    pub(crate) fn join(&self) {
        self.lane.join();
    }
}
