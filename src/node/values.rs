//! The shapes that cross the border. `ts/native.ts` declares the same ones.

use napi::bindgen_prelude::{Buffer, Either7, Null};
use napi_derive::napi;

use crate::contract::agentos;
use crate::error::{Error, Result};
use crate::query::Answer;
use crate::record::{self, Checkpoint, Lineage};
use crate::retention;

/// What a call resolves to.
pub type Value = Either7<Null, String, Found, Vec<Metadata>, Vec<Run>, Pruned, Stats>;

/// `undefined`, and "there is none".
pub const NOTHING: Value = Either7::A(Null);

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

/// The outcome of one call.
#[napi(object, object_from_js = false)]
pub struct Settled {
    pub ticket: u32,
    pub value: Option<Value>,
    pub error: Option<Failure>,
}

impl Settled {
    pub fn new(ticket: u32, outcome: Result<Value>) -> Self {
        match outcome {
            Ok(value) => Self { ticket, value: Some(value), error: None },
            Err(error) => Self { ticket, value: None, error: Some(error.into()) },
        }
    }
}

/// A checkpoint as it is stored.
#[napi(object, object_from_js = false)]
pub struct Found {
    pub metadata: Metadata,
    pub parts: Vec<FoundPart>,
}

#[napi(object, object_from_js = false)]
pub struct FoundPart {
    pub name: String,
    pub tag: String,
    pub bytes: Buffer,
}

/// `AgentOS`' `CheckpointMetadata`.
#[napi(object, object_from_js = false)]
pub struct Metadata {
    pub id: String,
    pub run_id: String,
    pub graph_id: String,
    pub node_id: String,
    pub timestamp: f64,
    pub state_size: f64,
    pub has_memory_snapshot: bool,
}

impl From<agentos::Metadata> for Metadata {
    fn from(metadata: agentos::Metadata) -> Self {
        Self {
            id: metadata.id,
            run_id: metadata.run_id,
            graph_id: metadata.graph_id,
            node_id: metadata.node_id,
            timestamp: metadata.timestamp,
            #[expect(clippy::cast_precision_loss, reason = "no state has 2^53 bytes")]
            state_size: metadata.state_size as f64,
            has_memory_snapshot: metadata.has_memory_snapshot,
        }
    }
}

/// A run in a listing.
#[napi(object, object_from_js = false)]
pub struct Run {
    /// Where a listing goes on behind it.
    pub cursor: String,
    pub checkpoints: f64,
    pub newest: Metadata,
}

/// Runs on the thread that has the bytes: only pointers are left for JavaScript's.
pub fn found(checkpoint: Option<Box<Checkpoint>>) -> Result<Value> {
    let Some(checkpoint) = checkpoint else { return Ok(NOTHING) };
    let Checkpoint { header, payload } = *checkpoint;
    let parts = payload
        .parts
        .into_iter()
        .map(|part| FoundPart { name: part.name, tag: part.tag, bytes: part.bytes.to_vec().into() })
        .collect();
    Ok(Either7::C(Found { metadata: agentos::metadata(header)?.into(), parts }))
}

pub fn run(lineage: Lineage) -> Result<Run> {
    Ok(Run {
        cursor: lineage.position.to_string(),
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 checkpoints")]
        checkpoints: lineage.checkpoints as f64,
        newest: agentos::metadata(lineage.newest)?.into(),
    })
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
    Ok(Either7::F(Pruned { removed: float(pruned.checkpoints), bytes, lineages: float(pruned.lineages), next }))
}

pub fn stats(answer: Answer) -> Result<Value> {
    let stats = answer.into_stats()?;
    let lineage = |of: record::LineageStats| LineageStats {
        lineage: of.lineage,
        checkpoints: float(of.checkpoints),
        logical_bytes: float(of.logical_bytes),
        stored_bytes: float(of.stored_bytes),
    };
    Ok(Either7::G(Stats {
        checkpoints: float(stats.checkpoints),
        lineages: float(stats.lineages),
        logical_bytes: float(stats.logical_bytes),
        stored_bytes: float(stats.stored_bytes),
        file_bytes: stats.file_bytes.map(float),
        largest: stats.largest.into_iter().map(lineage).collect(),
    }))
}
