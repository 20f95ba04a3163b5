//! A call on a store: its fields from JavaScript, and its request to the engine.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ts_rs::TS;

use super::fields::{Fields, Shape, Value};
use super::response::Response;
use crate::check::{CheckCursor, CheckPage};
use crate::error::{Error, Result};
use crate::op::Unit;
use crate::query::{Answer, Query};
use crate::record::{Content, Part, Record};
use crate::retention::Prune;

/// Converts the engine's answer into a response, on the thread that has the answer. `None` becomes null.
pub(crate) type Respond = Box<dyn FnOnce(Answer) -> Result<Option<Response>> + Send>;

/// Takes the answers of several queries, one by one.
pub trait Collect: Send {
    /// Takes the answer to the query with this index. The answers arrive in any order. An error ends the call.
    fn take(&mut self, index: usize, answer: Result<Answer>) -> Result<()>;

    /// Makes the response, when all answers were taken.
    fn finish(&mut self) -> Result<Response>;
}

/// The request of a call to the engine.
pub enum Request {
    /// Applies a unit. The response is null.
    Apply(Unit),
    /// Applies a unit with checkpoints that were saved before: see [`Store::apply_saved`](crate::store::Store).
    Import(Unit),
    /// Applies a unit that removes the checkpoints of runs, and keeps their effects.
    Undo(Unit),
    /// Runs a query, and converts the answer into a response.
    Ask(Query, Respond),
    /// Runs several queries. If the storage reads answers one by one, each is dropped before the next is read. True: a
    /// separate thread reads them.
    LookAtEach(Vec<Query>, Box<dyn Collect>, bool),
    /// Removes one batch of the checkpoints that a rule selects. The response is a
    /// [`Pruned`](crate::retention::Pruned).
    Prune(Prune),
    /// Verifies one page of the stored data, and converts it into a response. The page has about this many rows.
    Check(CheckCursor, usize, fn(CheckPage) -> Result<Option<Response>>),
    /// Frees the space of removed checkpoints. The response is null.
    Vacuum,
    /// Upgrades stored data of an older format. The response is null.
    Migrate,
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
}

/// A call as it arrives from JavaScript, before its contract has read it.
pub struct RawCall<'a> {
    fields: Fields<'a>,
    buffers: Buffers,
}

impl<'a> RawCall<'a> {
    pub fn new(shape: &'a Shape, values: Vec<Value>, buffers: Vec<Content>) -> Self {
        Self { fields: Fields { shape, values }, buffers: buffers.into() }
    }

    /// The name of the contract that the call belongs to.
    pub fn contract(&self) -> &'a str {
        &self.fields.shape.contract
    }

    /// Returns a common field, which every call may have in addition to the fields of its contract.
    pub(super) fn common(&self, name: &str) -> Option<&Value> {
        let at = self.fields.shape.names.iter().position(|known| known == name)?;
        self.fields.values.get(at)
    }

    /// Reads the fields into the contract's enum. Returns the buffers too.
    pub fn read<T: DeserializeOwned>(self) -> Result<(T, Buffers)> {
        let fields = T::deserialize(self.fields).map_err(|error| unreadable(&error))?;
        Ok((fields, self.buffers))
    }
}

/// The buffers of a call, taken in order.
#[derive(Debug)]
pub struct Buffers(std::vec::IntoIter<Content>);

impl From<Vec<Content>> for Buffers {
    fn from(buffers: Vec<Content>) -> Self {
        Self(buffers.into_iter())
    }
}

impl Buffers {
    /// Takes the next buffer.
    pub fn take(&mut self) -> Result<Content> {
        self.0.next().ok_or_else(|| Error::invalid("a call has fewer buffers than parts: please report this"))
    }

    /// Takes the next buffer as the bytes of a part.
    pub(super) fn part(&mut self, name: impl Into<String>, tag: String) -> Result<Part> {
        Ok(Part { name: name.into(), tag, bytes: self.take()? })
    }

    /// Takes a buffer for each of these parts.
    pub(super) fn parts(&mut self, names: Vec<PartName>) -> Result<Vec<Part>> {
        names.into_iter().map(|PartName { name, tag }| self.part(name, tag)).collect()
    }
}

/// The name and the tag of a part. Its bytes are in a buffer of the call.
#[derive(Clone, Debug, Deserialize, TS)]
pub struct PartName {
    pub name: String,
    pub tag: String,
}

/// The tags, lengths and keys of the records in one buffer.
#[derive(Debug, Deserialize, TS)]
pub(super) struct PackedRecords {
    tags: Vec<String>,
    lengths: Vec<usize>,
    /// The key of each record. Empty: no record has a key.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<Option<String>>>")]
    keys: Vec<Option<String>>,
}

impl PackedRecords {
    /// Splits the next buffer into records.
    pub(super) fn records(self, buffers: &mut Buffers) -> Result<Vec<Record>> {
        let mut rest = buffers.take()?.into_joined();
        let mut keys = self.keys.into_iter();
        let take = |(tag, length): (String, usize)| {
            let bytes = (length <= rest.len()).then(|| rest.split_to(length))?;
            Some(Record { key: keys.next().flatten(), tag, bytes })
        };
        let records: Option<Vec<Record>> = self.tags.into_iter().zip(self.lengths).map(take).collect();
        records.ok_or_else(|| Error::invalid("a call has fewer bytes than records: please report this"))
    }
}

/// A part of a contract that works without a store, such as a state machine or a reader of another store's file.
pub trait Tool: Send {
    /// Answers a call in JSON. Must be fast, unless the tool is documented to run on Node's thread pool.
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
