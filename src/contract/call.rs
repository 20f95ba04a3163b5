//! A call on a store: what JavaScript asks for by name, what that asks of the engine, and what the caller hears.

use bytes::Bytes;
use serde::Deserialize;

use super::response::Response;
use crate::error::{Error, Result};
use crate::lane::Reply;
use crate::op::Unit;
use crate::query::{Answer, Query};
use crate::retention::Prune;
use crate::store::Store;

/// Makes a response of an answer, on the thread that has the answer. `None` reaches JavaScript as null.
pub type Respond = fn(Answer) -> Result<Option<Response>>;

/// What a call asks of the engine.
#[derive(Debug)]
pub enum Request {
    /// Applies a unit; the response is null.
    Apply(Unit),
    /// Asks a question.
    Ask(Query, Respond),
    /// Removes one batch of what a rule names; the response is a [`Pruned`](crate::retention::Pruned).
    Prune(Prune),
    /// Gives back what removed checkpoints took; the response is null.
    Vacuum,
    /// Waits until the target is open; the response is what the user should hear about it, or null.
    Ready,
    /// Closes the store; the response is null.
    Close,
}

impl Request {
    /// Hands the request to the store.
    pub fn run(self, store: &Store, reply: Reply<Option<Response>>) {
        match self {
            Self::Apply(unit) => store.apply(unit, then(reply, |()| Ok(None))),
            Self::Ask(query, respond) => store.ask(query, then(reply, respond)),
            Self::Prune(prune) => store.prune(prune, then(reply, |pruned| Response::json(&pruned).map(Some))),
            Self::Vacuum => store.vacuum(then(reply, |()| Ok(None))),
            Self::Ready => store.ready(then(reply, |notice| notice.map(|text| Response::json(&text)).transpose())),
            Self::Close => store.close(then(reply, |()| Ok(None))),
        }
    }
}

/// A reply that responds with what `respond` makes of an outcome.
fn then<T: 'static>(reply: Reply<Option<Response>>, respond: fn(T) -> Result<Option<Response>>) -> Reply<T> {
    Reply::new(move |outcome: Result<T>| reply.send(outcome.and_then(respond)))
}

/// The buffers of a call, which its variant takes in their order.
#[derive(Debug)]
pub struct Buffers(std::vec::IntoIter<Bytes>);

impl Buffers {
    /// Takes the next one.
    pub fn take(&mut self) -> Result<Bytes> {
        self.0.next().ok_or_else(|| Error::invalid("a call has fewer buffers than parts: please report this"))
    }
}

impl From<Vec<Bytes>> for Buffers {
    fn from(buffers: Vec<Bytes>) -> Self {
        Self(buffers.into_iter())
    }
}

/// Something of a contract's that works without a store: a state machine, or the reader of another store's file.
pub trait Tool: Send {
    /// Answers a call, which is a text in JSON. May take its time only where the contract says that it is called on
    /// Node's thread pool.
    fn call(&mut self, call: &str) -> Result<Response>;
}

/// Reads the JSON of a call.
pub fn read<'a, T: Deserialize<'a>>(call: &'a str) -> Result<T> {
    serde_json::from_str(call).map_err(|error| {
        // JSON.stringify writes half of a surrogate pair as an escape that no text in UTF-8 can hold.
        if error.to_string().contains("hex escape") {
            return Error::invalid("a text in the call holds half of a surrogate pair, which cannot be stored exactly");
        }
        Error::invalid(format!("the call cannot be read: {error}: please report this"))
    })
}
