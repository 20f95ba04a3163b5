//! The messages in the writer's queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::ahead::Lead;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::{Applied, Unit};
use crate::reader::Question;
use crate::worker::{Reply, Worker};

/// A function that works on the backend. If the backend cannot be opened, the function receives the error.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Box<dyn Backend>>) + Send>;

/// A unit that waits to be applied.
pub(crate) struct Apply {
    pub(crate) unit: Unit,
    pub(crate) reply: Reply<Applied>,
    /// The bytes that the encoder has reserved for the unit. `None`: the unit was not encoded ahead of time.
    pub(crate) lead: Option<Lead>,
}

impl Apply {
    pub(crate) fn new(unit: Unit, reply: Reply<Applied>) -> Self {
        Self { unit, reply, lead: None }
    }
}

/// A message to the writer thread.
pub(crate) enum WriterMessage {
    Apply(Apply),
    /// A function to run on the backend, and the time of its call. No unit is applied while the function runs.
    Work(Work, Instant),
    /// A query that must see every message that was queued earlier.
    Ask(Question),
    /// The last message. It ends the reader and closes the backend.
    Close(Close),
}

impl WriterMessage {
    /// Returns the time of the call. `None`: the message has no time limit.
    pub(crate) fn asked(&self) -> Option<Instant> {
        match self {
            WriterMessage::Apply(apply) => Some(apply.reply.asked()),
            WriterMessage::Work(_, asked) => Some(*asked),
            WriterMessage::Ask(question) => Some(question.reply.asked()),
            WriterMessage::Close(_) => None,
        }
    }

    /// Replies with the error, because the message will not be processed.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            WriterMessage::Apply(apply) => apply.reply.send(Err(error)),
            WriterMessage::Work(work, _) => work(Err(error)),
            WriterMessage::Ask(question) => question.reply.send(Err(error)),
            // Dropping the message sends its replies.
            WriterMessage::Close(_) => {}
        }
    }
}

/// Queues a message. After [`WriterMessage::Close`], the worker accepts no more messages.
pub(crate) fn send(worker: &Worker<WriterMessage>, message: WriterMessage) {
    let queued = match message {
        WriterMessage::Close(_) => worker.push_last(message),
        _ => worker.push(message),
    };
    if let Err((message, error)) = queued {
        message.refuse(error);
    }
}

/// The replies to send when the store is closed. `None`: the store is closed.
pub(crate) struct Closing(Mutex<Option<Vec<Reply<()>>>>);

impl Closing {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Vec::new()))))
    }

    /// Adds a reply that is sent when the store is closed. The first call returns the message that closes the store.
    pub(crate) fn ask(self: &Arc<Self>, reply: Reply<()>) -> Option<Close> {
        let mut state = self.state();
        let Some(waiting) = &mut *state else {
            drop(state);
            reply.send(Ok(()));
            return None;
        };
        waiting.push(reply);
        (waiting.len() == 1).then(|| Close(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, Option<Vec<Reply<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a store. If it is dropped without a call of `end`, because a thread panics, all waiting replies are sent.
pub(crate) struct Close(Arc<Closing>);

impl Close {
    /// Sends the outcome of closing to all waiting replies.
    pub(crate) fn end(&self, outcome: &Result<()>) {
        let waiting = self.0.state().take();
        waiting.into_iter().flatten().for_each(|reply| reply.send(outcome.clone()));
    }
}

impl Drop for Close {
    fn drop(&mut self) {
        self.end(&Ok(()));
    }
}
