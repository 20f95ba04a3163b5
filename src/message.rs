//! What is queued for the writer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::reader::Question;
use crate::worker::{Reply, Worker};

/// A queue heavier than this makes callers wait: bytes of payload that are not on disk yet.
pub(crate) const QUEUE_BYTES: usize = 256 << 20;

/// Work with the backend, or with the reason why there is none.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Box<dyn Backend>>) + Send>;

/// Something for the writer to do.
pub(crate) enum WriterMessage {
    /// Opens the backend and says what the user should hear about it.
    Open(Reply<Option<String>>),
    Apply(Unit, Reply<Applied>),
    /// Work that needs the backend to itself.
    Work(Work),
    /// A question that must see everything queued before it.
    Ask(Question),
    /// The last message: ends the reader, closes the backend.
    Close(Close),
}

impl WriterMessage {
    /// What it weighs in a queue.
    pub(crate) fn weight(&self) -> usize {
        match self {
            WriterMessage::Apply(unit, _) => unit.ops.iter().map(Op::weight).sum(),
            _ => 0,
        }
    }

    /// Tells whoever waits that it will not be done.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            WriterMessage::Open(reply) => reply.send(Err(error)),
            WriterMessage::Apply(_, reply) => reply.send(Err(error)),
            WriterMessage::Work(work) => work(Err(error)),
            WriterMessage::Ask(question) => question.reply.send(Err(error)),
            // Dropping it is all there is to do.
            WriterMessage::Close(_) => {}
        }
    }
}

/// Queues a message. After one that closes, nothing more is accepted.
pub(crate) fn send(worker: &Worker<WriterMessage>, message: WriterMessage) {
    let last = matches!(message, WriterMessage::Close(_));
    let weight = message.weight();
    if let Err((message, error)) = worker.push(message, weight) {
        message.refuse(error);
    }
    if last {
        worker.close();
    }
}

/// Whether a store is closed, and who waits for that.
#[derive(Default)]
pub(crate) struct Closing(Mutex<State>);

#[derive(Default)]
struct State {
    closed: bool,
    waiting: Vec<Reply<()>>,
}

impl Closing {
    /// Replies when the store is closed. The first who asks gets the message that closes it.
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

/// The closing of a store, as a message: tells everyone who waits when it is dropped, be it done or lost in a panic.
pub(crate) struct Close(Arc<Closing>);

impl Drop for Close {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for reply in waiting {
            reply.send(Ok(()));
        }
    }
}
