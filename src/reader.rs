//! The thread that reads, with a connection of its own: a reader does not wait for somebody else's commit.

use crate::error::Error;
use crate::lane::{Lane, Reply};
use crate::query::{Answer, Query};
use crate::backend::{Lazy, Open};

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
