//! The shapes that cross the border. `ts/native.ts` declares the same ones.

use bytes::Bytes;
use napi::bindgen_prelude::{ArrayBuffer, Buffer, BufferSlice, Either5, Env, Null, ToNapiValue, TypeName};
use napi::{ValueType, sys};
use napi_derive::napi;

use crate::contract::agentos;
use crate::error::{Code, Error, Result};
use crate::query::Answer;
use crate::record::{self, Checkpoint, Header, Lineage, Part, Payload};
use crate::retention;

/// What a call resolves to.
pub type Value = Either5<Null, String, Parcel, Pruned, Stats>;

/// Gives a buffer's memory back now. It counts for V8's collector, which would run for the sake of what nobody uses any more.
/// Nobody may be reading it, on any thread.
#[napi]
pub fn release(buffer: ArrayBuffer) -> napi::Result<()> {
    buffer.detach()
}

/// `undefined`, and "there is none".
pub const NOTHING: Value = Either5::A(Null);

/// What a call rejects with: `ts/errors.ts` makes a `ForkpointError` of it.
#[napi(object, object_from_js = false)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
    pub outcome_unknown: bool,
    pub cause: Option<Cause>,
}

/// What is beneath a failure: `error.cause` in JavaScript.
#[napi(object, object_from_js = false)]
pub struct Cause {
    pub message: String,
    pub code: Option<&'static str>,
    pub errno: Option<i32>,
}

impl Failure {
    /// An error to be thrown from the call itself, whose `failure` says what it is.
    pub fn thrown(self, env: &Env) -> napi::Error {
        let make = || {
            let mut error = env.create_error(napi::Error::from_reason(self.message.clone()))?;
            error.set("failure", self)?;
            Ok(error.into_unknown(env)?.into())
        };
        make().unwrap_or_else(|error| error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            code: error.code().name(),
            message: error.message().to_owned(),
            retryable: error.retryable(),
            outcome_unknown: error.outcome_unknown(),
            cause: error.cause().map(|cause| Cause {
                message: cause.to_string(),
                code: cause.code(),
                errno: cause.number(),
            }),
        }
    }
}

// Outcomes cross as arrays: setting an element costs Node-API a fraction of setting a named property.

/// The outcome of one call: the ticket, then the value or the error.
#[napi(array, object_from_js = false)]
pub struct Settled(pub u32, pub Option<Value>, pub Option<Failure>);

impl Settled {
    pub fn new(ticket: u32, outcome: Result<Value>) -> Self {
        match outcome {
            Ok(value) => Self(ticket, Some(value), None),
            Err(error) => Self(ticket, None, Some(error.into())),
        }
    }
}

/// Checkpoints and the like: a text in JSON that says of each part where its bytes are, and the bytes of all parts. V8 reads
/// a text several times faster than Node-API hands over what is in it, and one buffer costs what each of many does.
#[napi(array, object_from_js = false)]
pub struct Parcel(pub String, pub Vec<Blob>);

/// Where a part is: its name and tag, which of the parcel's buffers it is in, from where, and how long it is.
pub type Packed = (String, String, usize, usize, usize);

/// A buffer takes up parts until it has so many bytes.
const FULL: usize = 256 << 20;

/// A parcel in the making. Runs on the thread that has the bytes: only pointers are left for JavaScript's.
#[derive(Default)]
pub struct Packing {
    bytes: Vec<Bytes>,
    /// How long each buffer is.
    buffers: Vec<usize>,
}

impl Packing {
    pub fn part(&mut self, Part { name, tag, bytes }: Part) -> Packed {
        if self.buffers.last().is_none_or(|length| *length >= FULL) {
            self.buffers.push(0);
        }
        let buffer = self.buffers.len() - 1;
        let (start, length) = (self.buffers[buffer], bytes.len());
        self.buffers[buffer] += length;
        self.bytes.push(bytes);
        (name, tag, buffer, start, length)
    }

    pub fn parts(&mut self, payload: Payload) -> Vec<Packed> {
        payload.parts.into_iter().map(|part| self.part(part)).collect()
    }

    /// The parcel with that text, in which the parts are.
    pub fn close(self, text: serde_json::Result<String>) -> Result<Value> {
        let mut bytes = self.bytes.into_iter();
        let mut fill = |length: usize| {
            let mut buffer: Vec<u8> = Vec::new();
            while buffer.len() < length
                && let Some(part) = bytes.next()
            {
                if part.len() == length {
                    return part.into();
                }
                buffer.reserve_exact(length - buffer.len());
                buffer.extend_from_slice(&part);
            }
            buffer
        };
        let blobs = self.buffers.into_iter().map(|length| Blob(fill(length))).collect();
        Ok(Either5::C(Parcel(told(text)?, blobs)))
    }
}

/// `AgentOS`' `CheckpointMetadata`: id, run id, graph id, node id, timestamp, state size, has a memory snapshot.
type Metadata = (String, String, String, String, f64, u64, bool);

fn metadata(header: Header) -> Result<Metadata> {
    let agentos::Metadata { id, run_id, graph_id, node_id, timestamp, state_size, has_memory_snapshot } =
        agentos::metadata(header)?;
    Ok((id, run_id, graph_id, node_id, timestamp, state_size, has_memory_snapshot))
}

/// A listing as JSON, an array of what [`Metadata`] is. Runs on the thread that has the headers.
pub fn listing(headers: Vec<Header>) -> Result<Value> {
    let listed: Vec<Metadata> = headers.into_iter().map(metadata).collect::<Result<_>>()?;
    json(serde_json::to_string(&listed))
}

/// Runs as JSON: where a listing goes on behind each, how many checkpoints it has, the newest of them.
pub fn runs(lineages: Vec<Lineage>) -> Result<Value> {
    let run = |of: Lineage| Ok((of.position.to_string(), of.checkpoints, metadata(of.newest)?));
    let listed: Vec<_> = lineages.into_iter().map(run).collect::<Result<_>>()?;
    json(serde_json::to_string(&listed))
}

/// A checkpoint: its metadata, its parts.
pub fn found(checkpoint: Option<Box<Checkpoint>>) -> Result<Value> {
    let Some(checkpoint) = checkpoint else { return Ok(NOTHING) };
    let Checkpoint { header, payload } = *checkpoint;
    let mut packing = Packing::default();
    let parts = packing.parts(payload);
    packing.close(serde_json::to_string(&(metadata(header)?, parts)))
}

/// What `serde_json` made of a listing.
pub fn json(written: serde_json::Result<String>) -> Result<Value> {
    told(written).map(Either5::B)
}

fn told(written: serde_json::Result<String>) -> Result<String> {
    written.map_err(|error| {
        Error::new(Code::Corrupt, format!("the answer cannot be written as JSON ({error}): please report this"))
    })
}

/// Bytes for JavaScript: small ones are copied into its heap, large ones are handed over.
pub struct Blob(pub Vec<u8>);

/// Up to here a copy costs less than what the collector does for memory that is not its own.
const COPIED: usize = 32 << 10;

impl TypeName for Blob {
    fn type_name() -> &'static str {
        "Buffer"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Blob {
    #[expect(
        unsafe_code,
        reason = "the trait's own signature: env is the one of the call under way, which napi passes on"
    )]
    unsafe fn to_napi_value(env: sys::napi_env, Self(bytes): Self) -> napi::Result<sys::napi_value> {
        if bytes.len() > COPIED {
            return unsafe { Buffer::to_napi_value(env, bytes.into()) };
        }
        let copy = BufferSlice::copy_from(&Env::from_raw(env), bytes)?;
        unsafe { <&BufferSlice>::to_napi_value(env, &copy) }
    }
}

/// What a prune has removed, or would.
#[napi(object, object_from_js = false)]
pub struct Pruned {
    pub removed: f64,
    pub bytes: f64,
    pub lineages: f64,
    /// Where the next batch goes on; null: the rule holds.
    pub next: Option<Cursor>,
}

/// Where a batch goes on.
#[napi(object)]
pub struct Cursor {
    pub after: i64,
    pub total: Option<i64>,
}

/// What a store holds and takes.
#[napi(object, object_from_js = false)]
pub struct Stats {
    pub checkpoints: f64,
    pub lineages: f64,
    pub logical_bytes: f64,
    pub stored_bytes: f64,
    pub file_bytes: Option<f64>,
    pub largest: Vec<LineageStats>,
}

/// What a lineage holds and takes.
#[napi(object, object_from_js = false)]
pub struct LineageStats {
    pub lineage: String,
    pub checkpoints: f64,
    pub logical_bytes: f64,
    pub stored_bytes: f64,
}

#[expect(clippy::cast_precision_loss, reason = "no store has 2^53 bytes or checkpoints")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a conversion")]
pub fn pruned(pruned: retention::Pruned) -> Result<Value> {
    let next = pruned.next.map(|next| Cursor {
        after: next.after,
        total: next.total.map(|total| i64::try_from(total).unwrap_or(i64::MAX)),
    });
    #[expect(clippy::cast_precision_loss, reason = "no store has 2^53 bytes")]
    let bytes = pruned.bytes as f64;
    Ok(Either5::D(Pruned { removed: float(pruned.checkpoints), bytes, lineages: float(pruned.lineages), next }))
}

pub fn stats(answer: Answer) -> Result<Value> {
    let stats = answer.into_stats()?;
    let lineage = |of: record::LineageStats| LineageStats {
        lineage: of.lineage,
        checkpoints: float(of.checkpoints),
        logical_bytes: float(of.logical_bytes),
        stored_bytes: float(of.stored_bytes),
    };
    Ok(Either5::E(Stats {
        checkpoints: float(stats.checkpoints),
        lineages: float(stats.lineages),
        logical_bytes: float(stats.logical_bytes),
        stored_bytes: float(stats.stored_bytes),
        file_bytes: stats.file_bytes.map(float),
        largest: stats.largest.into_iter().map(lineage).collect(),
    }))
}
