//! The calls of streams. The meta of a stream's checkpoint is its [`Head`], as JSON. Its only part is a note: who stopped
//! the stream and why, or the error of its source.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{PackedRecords, PartName, RawCall, Request};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, LogMust, Must, Op, Unit};
use crate::query::{Answer, LogRange, Of, Query};
use crate::record::{Checkpoint, ContractId, Header, Part, SortKey};

pub const STREAMS_ID: ContractId = ContractId(22);
pub const STREAMS: Contract = Contract {
    single: true,
    records_of: Some(|stream, _, _| chunks(stream.to_owned())),
    remove: Some(|stream, _| remove(stream.to_owned())),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("ai-streams", STREAMS_ID, request, show)
};

const CHUNKS: &str = "chunks";

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Begin {
        stream: String,
        saved_at: i64,
    },
    /// Appends text, and replaces the head and the note. Each is optional. The buffers are the text and the note.
    Append {
        stream: String,
        chunks: Option<PackedRecords>,
        head: Option<Head>,
        note: Option<PartName>,
        saved_at: i64,
    },
    /// Reads the head of a stream. Null if the stream does not exist.
    Head {
        stream: String,
    },
    /// Reads part of the text. Null if the stream does not exist.
    Read {
        stream: String,
        skip: u64,
        limit: usize,
    },
    Remove {
        stream: String,
    },
    /// Lists the streams whose heads name this chat.
    OfChat {
        chat: String,
    },
    /// Lists streams, the last begun first. `before` is the cursor of the last stream on the previous page.
    Streams {
        before: Option<i64>,
        limit: usize,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    begin: (),
    append: (),
    head: Option<FoundHead>,
    read: Option<FoundStream>,
    remove: (),
    of_chat: Vec<String>,
    streams: Vec<Listed<ListedStream>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, TS)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    /// Its source has ended.
    Ended,
    /// It was stopped.
    Stopped,
    /// Its source has failed.
    Failed,
}

/// What is known of a stream.
#[derive(Clone, Debug, Deserialize, Serialize, TS)]
#[serde(deny_unknown_fields)]
struct Head {
    state: State,
    /// Its chat, as soon as the maker knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional = nullable)]
    chat: Option<String>,
}

impl Head {
    fn read(header: &Header) -> Result<Self> {
        serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))
    }

    fn put(&self, stream: String, note: Vec<Part>, saved_at: i64) -> Result<Op> {
        let meta = serde_json::to_vec(self)
            .map_err(|error| Error::invalid(format!("the stream cannot be written: {error}")))?;
        // Retention does not know that the text belongs to the checkpoint. The store removes complete streams.
        // The group finds the streams of a chat.
        let group = self.chat.clone().unwrap_or_default();
        let header = Header { group, saved_at, exempt: true, meta, ..Header::new(STREAMS_ID, stream.clone(), stream) };
        Ok(Op::put(header, note))
    }
}

fn get(stream: String) -> Query {
    Query::Get { contract: STREAMS_ID, id: stream }
}

/// The text of a stream.
pub fn chunks(stream: String) -> LogRange {
    LogRange::whole(STREAMS_ID, stream, CHUNKS)
}

pub fn remove(stream: String) -> Unit {
    let contract = STREAMS_ID;
    let row = Op::RemoveFrom { contract, lineage: stream.clone(), sort_key: SortKey::default() };
    vec![row, Op::RemoveLogs { contract, lineage: stream }].into()
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = STREAMS_ID;
    Ok(match call {
        Call::Begin { stream, saved_at } => {
            check_id("streamId", &stream)?;
            let message = format!("stream {} already exists: use a new id for each stream", quote(&stream));
            let (id, must) = (stream.clone(), Must::NotBeSavedSince(i64::MIN));
            let is_new = Expect::Checkpoint { contract, id, must, otherwise: Error::new(Code::Conflict, message) };
            let head = Head { state: State::Open, chat: None };
            Request::Apply(Unit { expect: vec![is_new], ops: vec![head.put(stream, Vec::new(), saved_at)?] })
        }
        Call::Append { stream, chunks, head, note, saved_at } => {
            let message = format!("stream {} does not exist any more", quote(&stream));
            let (id, must) = (stream.clone(), Must::BeSavedSince(i64::MIN));
            let exists = Expect::Checkpoint { contract, id, must, otherwise: Error::new(Code::NotFound, message) };
            let mut ops = Vec::new();
            if let Some(chunks) = chunks {
                let (lineage, log, records) = (stream.clone(), CHUNKS.to_owned(), chunks.records(&mut buffers)?);
                ops.push(Op::Append { contract, lineage, log, records, must: LogMust::BeAny });
            }
            if let Some(head) = head {
                ops.push(head.put(stream, buffers.parts(note.into_iter().collect())?, saved_at)?);
            }
            Request::Apply(Unit { expect: vec![exists], ops })
        }
        Call::Head { stream } => Request::ask(get(stream), |answer| {
            Response::one(answer.into_checkpoint()?, |found, response| FoundHead::read(*found, response))
        }),
        Call::Read { stream, skip, limit } => {
            let log = Query::Log(LogRange { skip, limit, ..chunks(stream.clone()) });
            Request::ask(Query::All(vec![get(stream), log]), read)
        }
        Call::Remove { stream } => Request::Apply(remove(stream)),
        Call::OfChat { chat } => {
            let of = Of::Group(chat);
            Request::ask(Query::List { contract, of, before: None, limit: None }, |answer| {
                let ids = answer.into_headers()?.into_iter().map(|header| header.id);
                Response::json(&ids.collect::<Vec<_>>()).map(Some)
            })
        }
        Call::Streams { before, limit } => {
            let group_prefix = String::new();
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, |header| {
                    let Head { state, .. } = Head::read(&header)?;
                    Ok(ListedStream { stream: header.id, saved_at: header.saved_at, state })
                })
            })
        }
    })
}

/// A stream in a listing.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct ListedStream {
    stream: String,
    saved_at: i64,
    state: State,
}

/// What is known of a stream, and its note.
#[derive(Serialize, TS)]
struct FoundHead {
    #[serde(flatten)]
    head: Head,
    note: Vec<PackedPart>,
}

impl FoundHead {
    fn read(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Result<Self> {
        Ok(Self { head: Head::read(&header)?, note: response.parts(payload) })
    }
}

/// A part of the text of a stream.
#[derive(Serialize, TS)]
struct FoundStream {
    head: FoundHead,
    /// The number of chunks in the log.
    total: u64,
    chunks: Vec<PackedPart>,
}

fn read(answer: Answer) -> Result<Option<Response>> {
    let [row, log] = answer.into_all()?;
    let page = log.into_log()?.unwrap_or_default();
    Response::one(row.into_checkpoint()?, |row, response| {
        let head = FoundHead::read(*row, response)?;
        Ok(FoundStream { head, total: page.length, chunks: response.records(page.records) })
    })
}

fn show(header: &Header) -> Result<Shown> {
    let head = Head::read(header)?;
    let state = serde_json::to_value(head.state).ok();
    let label = state.as_ref().and_then(|state| state.as_str()).map(str::to_owned);
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    Ok(Shown { label, at, meta: serde_json::to_value(&head).ok(), ..Shown::default() })
}
