//! The shapes that cross the border. `ts/native.ts` declares the same ones.

use napi::bindgen_prelude::{Buffer, BufferSlice, Either12, Env, Null, ToNapiValue, TypeName};
use napi::{ValueType, sys};
use napi_derive::napi;

use super::langgraph::{FoundThread, FoundTuple, Listed};
use crate::contract::agentos;
use crate::error::{Code, Error, Result};
use crate::query::Answer;
use crate::record::{self, Checkpoint, Header, Lineage, Part, Payload};
use crate::retention;

/// What a call resolves to.
pub type Value = Either12<
    Null,
    String,
    Found,
    Vec<Run>,
    Pruned,
    Stats,
    Named,
    Vec<FoundThread>,
    FoundTuple,
    Vec<Listed>,
    Vec<Named>,
    Vec<FoundTuple>,
>;

/// `undefined`, and "there is none".
pub const NOTHING: Value = Either12::A(Null);

/// What a call rejects with: `ts/errors.ts` makes a `ForkpointError` of it.
#[napi(object, object_from_js = false)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
    pub outcome_unknown: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            code: error.code().name(),
            message: error.message().to_owned(),
            retryable: error.retryable(),
            outcome_unknown: error.outcome_unknown(),
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

/// A checkpoint as it is stored.
#[napi(array, object_from_js = false)]
pub struct Found(pub Metadata, pub Vec<FoundPart>);

/// A part: name, tag, bytes.
#[napi(array, object_from_js = false)]
pub struct FoundPart(pub String, pub String, pub Blob);

/// A checkpoint of which only some names matter, in an order of its contract's.
#[napi(array, object_from_js = false)]
pub struct Named(pub Vec<String>, pub Vec<FoundPart>);

/// `AgentOS`' `CheckpointMetadata`: id, run id, graph id, node id, timestamp, state size, has a memory snapshot.
#[napi(array, object_from_js = false)]
pub struct Metadata(pub String, pub String, pub String, pub String, pub f64, pub f64, pub bool);

impl From<agentos::Metadata> for Metadata {
    fn from(metadata: agentos::Metadata) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "no state has 2^53 bytes")]
        let state_size = metadata.state_size as f64;
        Self(
            metadata.id,
            metadata.run_id,
            metadata.graph_id,
            metadata.node_id,
            metadata.timestamp,
            state_size,
            metadata.has_memory_snapshot,
        )
    }
}

/// A listing as JSON, an array of what [`Metadata`] is: V8 parses hundreds of small strings several times faster than
/// Node-API hands them over one by one. Runs on the thread that has the headers.
pub fn listing(headers: Vec<Header>) -> Result<Value> {
    let listed: Vec<_> = headers
        .into_iter()
        .map(|header| {
            let agentos::Metadata { id, run_id, graph_id, node_id, timestamp, state_size, has_memory_snapshot } =
                agentos::metadata(header)?;
            Ok((id, run_id, graph_id, node_id, timestamp, state_size, has_memory_snapshot))
        })
        .collect::<Result<_>>()?;
    json(serde_json::to_string(&listed))
}

/// What `serde_json` made of a listing.
pub fn json(written: serde_json::Result<String>) -> Result<Value> {
    written.map(Either12::B).map_err(|error| Error::new(Code::Corrupt, format!("the listing cannot be told: {error}")))
}

/// A run in a listing: where a listing goes on behind it, how many checkpoints it has, the newest of them.
#[napi(array, object_from_js = false)]
pub struct Run(pub String, pub f64, pub Metadata);

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

/// Runs on the thread that has the bytes: only pointers are left for JavaScript's.
pub fn found(checkpoint: Option<Box<Checkpoint>>) -> Result<Value> {
    let Some(checkpoint) = checkpoint else { return Ok(NOTHING) };
    let Checkpoint { header, payload } = *checkpoint;
    Ok(Either12::C(Found(agentos::metadata(header)?.into(), parts(payload))))
}

pub fn parts(payload: Payload) -> Vec<FoundPart> {
    payload.parts.into_iter().map(part).collect()
}

pub fn part(part: Part) -> FoundPart {
    FoundPart(part.name, part.tag, Blob(part.bytes.into()))
}

pub fn run(lineage: Lineage) -> Result<Run> {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 checkpoints")]
    let checkpoints = lineage.checkpoints as f64;
    Ok(Run(lineage.position.to_string(), checkpoints, agentos::metadata(lineage.newest)?.into()))
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
    Ok(Either12::E(Pruned { removed: float(pruned.checkpoints), bytes, lineages: float(pruned.lineages), next }))
}

pub fn stats(answer: Answer) -> Result<Value> {
    let stats = answer.into_stats()?;
    let lineage = |of: record::LineageStats| LineageStats {
        lineage: of.lineage,
        checkpoints: float(of.checkpoints),
        logical_bytes: float(of.logical_bytes),
        stored_bytes: float(of.stored_bytes),
    };
    Ok(Either12::F(Stats {
        checkpoints: float(stats.checkpoints),
        lineages: float(stats.lineages),
        logical_bytes: float(stats.logical_bytes),
        stored_bytes: float(stats.stored_bytes),
        file_bytes: stats.file_bytes.map(float),
        largest: stats.largest.into_iter().map(lineage).collect(),
    }))
}
