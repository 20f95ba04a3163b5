//! A call on a store: what JavaScript asks for by name, what that asks of the engine, and what the caller hears.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fields::{Fields, Shape, Value};
use super::response::Response;
use crate::check::CheckCursor;
use crate::error::{Error, Result};
use crate::op::{Applied, Unit};
use crate::query::{Answer, Query};
use crate::retention::Prune;
use crate::store::Store;
use crate::worker::Reply;

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
    /// Verifies a page of what is stored, which looks at about so many rows.
    Check(CheckCursor, usize),
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
            Self::Apply(unit) => store.apply(unit, then(reply, |_: Applied| Ok(None))),
            Self::Ask(query, respond) => store.ask(query, then(reply, respond)),
            Self::Prune(prune) => store.prune(prune, then(reply, |pruned| Response::json(&pruned).map(Some))),
            Self::Check(cursor, limit) => store.check(cursor, limit, then(reply, super::store::checked)),
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

/// A call as it crosses the border, until its contract has read it.
pub struct RawCall<'a> {
    fields: Fields<'a>,
    buffers: Buffers,
}

impl<'a> RawCall<'a> {
    /// A call of that shape.
    pub fn new(shape: &'a Shape, values: Vec<Value>, buffers: Vec<Bytes>) -> Self {
        Self { fields: Fields { shape, values }, buffers: Buffers(buffers.into_iter()) }
    }

    /// The contract that it is a call of.
    pub fn contract(&self) -> &'a str {
        &self.fields.shape.contract
    }

    /// Reads the fields: the contract's enum, and the buffers that its variant takes.
    pub fn read<T: DeserializeOwned>(self) -> Result<(T, Buffers)> {
        let fields = T::deserialize(self.fields).map_err(|error| unreadable(&error))?;
        Ok((fields, self.buffers))
    }
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

/// Something of a contract's that works without a store: a state machine, or the reader of another store's file.
pub trait Tool: Send {
    /// Answers a call, which is a text in JSON. May take its time only where the contract says that it is called on
    /// Node's thread pool.
    fn call(&mut self, call: &str) -> Result<Response>;
}

/// Reads the JSON of a tool's call.
pub fn read_json<'a, T: Deserialize<'a>>(call: &'a str) -> Result<T> {
    serde_json::from_str(call).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    let why = error.to_string();
    // JSON.stringify writes half of a surrogate pair as an escape that no text in UTF-8 can hold.
    if why.contains("hex escape") {
        return Error::invalid("a text in the call holds half of a surrogate pair, which cannot be stored exactly");
    }
    Error::invalid(format!("the call cannot be read: {why}: please report this"))
}
