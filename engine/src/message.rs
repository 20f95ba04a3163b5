//! The messages in the writer's queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::{Applied, Unit};
use crate::reader::Question;
use crate::worker::{Reply, Worker};

/// A function that works on the backend. If the backend cannot be opened, the function receives the error.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Box<dyn Backend>>) + Send>;

/// A message to the writer thread.
pub(crate) enum WriterMessage {
    Apply(Unit, Reply<Applied>),
    /// A function to run on the backend. No unit is applied while the function runs.
    Work(Work),
    /// A query that must see every message that was queued earlier.
    Ask(Question),
    /// The last message. It ends the reader and closes the backend.
    Close(Close),
}

impl WriterMessage {
    /// Replies with the error, because the message will not be processed.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            WriterMessage::Apply(_, reply) => reply.send(Err(error)),
            WriterMessage::Work(work) => work(Err(error)),
            WriterMessage::Ask(question) => question.reply.send(Err(error)),
            // Dropping the message sends its replies.
            WriterMessage::Close(_) => {}
        }
    }
}

/// Queues a message. After [`WriterMessage::Close`], the worker accepts no more messages.
pub(crate) fn send(worker: &Worker<WriterMessage>, message: WriterMessage) {
    let last = matches!(message, WriterMessage::Close(_));
    if let Err((message, error)) = worker.push(message) {
        message.refuse(error);
    }
    if last {
        worker.close();
    }
}

/// The closing state of a store: whether the store is closed, and the replies to send when the store is closed.
#[derive(Default)]
pub(crate) struct Closing(Mutex<State>);

#[derive(Default)]
struct State {
    closed: bool,
    error: Option<Error>,
    waiting: Vec<Reply<()>>,
}

impl Closing {
    /// Adds a reply that is sent when the store is closed. The first call returns the message that closes the store.
    pub(crate) fn ask(self: &Arc<Self>, reply: Reply<()>) -> Option<Close> {
        let mut state = self.state();
        if state.closed {
            drop(state);
            reply.send(Ok(()));
            return None;
        }
        state.waiting.push(reply);
        (state.waiting.len() == 1).then(|| Close(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message that closes a store. Dropping the message sends all waiting replies. The message is dropped after the
/// store was closed. If a thread panics, the message is dropped too.
pub(crate) struct Close(Arc<Closing>);

impl Close {
    /// Sends the outcome of closing to all waiting replies.
    pub(crate) fn end(self, outcome: Result<()>) {
        self.0.state().error = outcome.err();
    }
}

impl Drop for Close {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        let error = state.error.take();
        drop(state);
        for reply in waiting {
            reply.send(error.clone().map_or(Ok(()), Err));
        }
    }
}
