//! The calls of streams.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{PackedRecords, RawCall, Request};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response};
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, LogMust, Must, Op, Unit};
use crate::query::{Answer, LogRange, Of, Query};
use crate::record::{ContractId, Header, SortKey};

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
    /// Appends the buffer to a stream. With `ended`, the stream then ends.
    Append {
        stream: String,
        chunks: Option<PackedRecords>,
        ended: bool,
        saved_at: i64,
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
    read: Option<FoundStream>,
    remove: (),
    streams: Vec<Listed<ListedStream>>,
}

/// The meta of a stream's checkpoint.
#[derive(Debug, Deserialize, Serialize)]
struct Meta {
    ended: bool,
}

impl Meta {
    fn read(header: &Header) -> Result<Self> {
        serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))
    }
}

fn put(stream: String, ended: bool, saved_at: i64) -> Result<Op> {
    let meta = serde_json::to_vec(&Meta { ended })
        .map_err(|error| Error::invalid(format!("the stream cannot be written: {error}")))?;
    // Retention does not know that the text belongs to the checkpoint. The store removes complete streams.
    let header = Header { saved_at, exempt: true, meta, ..Header::new(STREAMS_ID, stream.clone(), stream) };
    Ok(Op::put(header, Vec::new()))
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
            let expect = Expect::Checkpoint {
                contract,
                id: stream.clone(),
                must: Must::NotBeSavedSince(i64::MIN),
                otherwise: Error::new(Code::Conflict, message),
            };
            Request::Apply(Unit { expect: vec![expect], ops: vec![put(stream, false, saved_at)?] })
        }
        Call::Append { stream, chunks, ended, saved_at } => {
            let message = format!("stream {} does not exist any more", quote(&stream));
            let expect = Expect::Checkpoint {
                contract,
                id: stream.clone(),
                must: Must::BeSavedSince(i64::MIN),
                otherwise: Error::new(Code::NotFound, message),
            };
            let mut ops = Vec::new();
            if let Some(chunks) = chunks {
                let (lineage, log, records) = (stream.clone(), CHUNKS.to_owned(), chunks.records(&mut buffers)?);
                ops.push(Op::Append { contract, lineage, log, records, must: LogMust::BeAny });
            }
            if ended {
                ops.push(put(stream, true, saved_at)?);
            }
            Request::Apply(Unit { expect: vec![expect], ops })
        }
        Call::Read { stream, skip, limit } => {
            let of = Of::Lineage(stream.clone());
            let row = Query::List { contract, of, before: None, limit: Some(1) };
            let log = Query::Log(LogRange { skip, limit, ..chunks(stream) });
            Request::ask(Query::All(vec![row, log]), read)
        }
        Call::Remove { stream } => Request::Apply(remove(stream)),
        Call::Streams { before, limit } => {
            let group_prefix = String::new();
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, |header| {
                    let ended = Meta::read(&header)?.ended;
                    Ok(ListedStream { stream: header.id, saved_at: header.saved_at, ended })
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
    ended: bool,
}

/// A part of the text of a stream.
#[derive(Serialize, TS)]
struct FoundStream {
    ended: bool,
    /// The number of chunks in the log.
    total: u64,
    chunks: Vec<PackedPart>,
}

fn read(answer: Answer) -> Result<Option<Response>> {
    let [row, log] = answer.into_all()?;
    let page = log.into_log()?.unwrap_or_default();
    Response::one(row.into_headers()?.pop(), |header, response| {
        let Meta { ended } = Meta::read(&header)?;
        Ok(FoundStream { ended, total: page.length, chunks: response.records(page.records) })
    })
}

fn show(header: &Header) -> Result<Shown> {
    let Meta { ended } = Meta::read(header)?;
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    let label = Some(if ended { "ended" } else { "open" }.to_owned());
    Ok(Shown { label, at, ..Shown::default() })
}
