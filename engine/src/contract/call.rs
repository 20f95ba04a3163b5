//! A call on a store: its fields as they arrive from JavaScript, its request to the engine, and its response.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fields::{FENCE, Fields, MEASURE, Shape, Value};
use super::response::Response;
use crate::check::{CheckCursor, CheckPage};
use crate::error::{Error, Result};
use crate::op::{Applied, Expect, Unit};
use crate::query::{Answer, Query};
use crate::record::{Content, Notice};
use crate::retention::Prune;
use crate::store::Store;
use crate::worker::Reply;

/// Converts the engine's answer into a response. The function runs on the thread that has the answer. `None` becomes
/// null.
pub(crate) type Respond = Box<dyn FnOnce(Answer) -> Result<Option<Response>> + Send>;

/// The request of a call to the engine.
pub enum Request {
    /// Applies a unit. The response is null.
    Apply(Unit),
    /// Runs a query, and converts the answer into a response.
    Ask(Query, Respond),
    /// Removes one batch of the checkpoints that a rule selects. The response is a
    /// [`Pruned`](crate::retention::Pruned).
    Prune(Prune),
    /// Verifies one page of the stored data, and converts it into a response. The page has about this many rows.
    Check(CheckCursor, usize, fn(CheckPage) -> Result<Option<Response>>),
    /// Frees the space of removed checkpoints. The response is null.
    Vacuum,
    /// Waits until the target is open. The response is a notice for the user, or null.
    Ready,
    /// Closes the store. The response is null.
    Close,
}

impl Request {
    /// Runs a query, and converts the answer into a response.
    pub(crate) fn ask(query: Query, respond: impl FnOnce(Answer) -> Result<Option<Response>> + Send + 'static) -> Self {
        Self::Ask(query, Box::new(respond))
    }

    /// Adds a condition to a unit. It is checked before the unit's other conditions. A request that writes no unit stays
    /// as it is.
    pub(super) fn on_condition(mut self, condition: Expect) -> Self {
        if let Self::Apply(unit) = &mut self {
            unit.expect.insert(0, condition);
        }
        self
    }

    /// Hands the request to the store, which sends the reply. If `measure` is true, the response to a unit is what it has
    /// cost and not null.
    pub fn run(self, store: &Store, measure: bool, reply: Reply<Option<Response>>) {
        match self {
            Self::Apply(unit) if measure => {
                let queued = Instant::now();
                store.apply(unit, then(reply, move |applied| Response::json(&Cost::new(queued, &applied)).map(Some)));
            }
            Self::Apply(unit) => store.apply(unit, then(reply, |_: Applied| Ok(None))),
            Self::Ask(query, respond) => store.ask(query, then(reply, respond)),
            Self::Prune(prune) => store.prune(prune, then(reply, |pruned| Response::json(&pruned).map(Some))),
            Self::Check(cursor, limit, respond) => store.check(cursor, limit, then(reply, respond)),
            Self::Vacuum => store.vacuum(then(reply, |()| Ok(None))),
            Self::Ready => {
                store.ready(then(reply, |notice: Option<Notice>| notice.as_ref().map(Response::json).transpose()));
            }
            Self::Close => store.close(then(reply, |()| Ok(None))),
        }
    }
}

/// What a unit has cost.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    /// See [`Applied::stored_bytes`].
    stored_bytes: Option<u64>,
    /// The time in the queue, in ms.
    queue_ms: Option<f64>,
    /// The time until the batch was durable, in ms.
    commit_ms: Option<f64>,
    /// The number of units in the batch.
    batch: Option<usize>,
}

impl Cost {
    /// The cost of a unit that was queued at the time `queued`.
    fn new(queued: Instant, applied: &Applied) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Self {
            stored_bytes: applied.stored_bytes,
            queue_ms: applied.commit.map(|commit| ms(commit.began.saturating_duration_since(queued))),
            commit_ms: applied.commit.map(|commit| ms(commit.took)),
            batch: applied.commit.map(|commit| commit.units),
        }
    }
}

/// A reply that converts its outcome with `respond` and passes the result to `reply`.
fn then<T: 'static>(
    reply: Reply<Option<Response>>,
    respond: impl FnOnce(T) -> Result<Option<Response>> + Send + 'static,
) -> Reply<T> {
    Reply::new(move |outcome: Result<T>| reply.send(outcome.and_then(respond)))
}

/// A call as it arrives from JavaScript, before its contract has read it.
pub struct RawCall<'a> {
    fields: Fields<'a>,
    buffers: Buffers,
}

impl<'a> RawCall<'a> {
    pub fn new(shape: &'a Shape, values: Vec<Value>, buffers: Vec<Content>) -> Self {
        Self { fields: Fields { shape, values }, buffers: Buffers(buffers.into_iter()) }
    }

    /// The name of the contract that the call belongs to.
    pub fn contract(&self) -> &'a str {
        &self.fields.shape.contract
    }

    /// Reads the fence: the lease that must be held when the call's unit is applied. `None`: the call has no fence.
    pub(super) fn fence<F: DeserializeOwned>(&self) -> Result<Option<F>> {
        let Fields { shape, values } = &self.fields;
        let Some(at) = shape.names.iter().position(|name| name == FENCE) else { return Ok(None) };
        match values.get(at) {
            Some(Value::Text(fence)) => read_json(fence).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns true if the caller wants to know the cost of the call's unit.
    pub(super) fn is_measured(&self) -> bool {
        let Fields { shape, values } = &self.fields;
        shape.names.iter().zip(values).any(|(name, value)| name == MEASURE && *value == Value::Bool(true))
    }

    /// Reads the fields into the contract's enum. Also returns the buffers, for the enum's variant to take.
    pub fn read<T: DeserializeOwned>(self) -> Result<(T, Buffers)> {
        let fields = T::deserialize(self.fields).map_err(|error| unreadable(&error))?;
        Ok((fields, self.buffers))
    }
}

/// The buffers of a call. They are taken in their order.
#[derive(Debug)]
pub struct Buffers(std::vec::IntoIter<Content>);

impl Buffers {
    /// Takes the next buffer.
    pub fn take(&mut self) -> Result<Content> {
        self.0.next().ok_or_else(|| Error::invalid("a call has fewer buffers than parts: please report this"))
    }
}

/// A part of a contract that works without a store: for example, a state machine or the reader of another store's file.
pub trait Tool: Send {
    /// Answers a call, given in JSON. The answer must be fast, unless the documentation of the tool says that it runs
    /// on Node's thread pool.
    fn call(&mut self, call: &str) -> Result<Response>;
}

/// Reads the JSON of a tool's call.
pub(crate) fn read_json<'a, T: Deserialize<'a>>(call: &'a str) -> Result<T> {
    serde_json::from_str(call).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    let why = error.to_string();
    // JSON.stringify writes an unpaired surrogate as an escape. UTF-8 text cannot contain a surrogate.
    if why.contains("hex escape") {
        return Error::invalid(
            "a text in the call contains an unpaired surrogate (invalid Unicode), which cannot be stored exactly",
        );
    }
    Error::invalid(format!("the call cannot be read: {why}: please report this"))
}
