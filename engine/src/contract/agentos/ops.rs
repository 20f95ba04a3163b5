//! Stores `AgentOS`' checkpoints, and reads the fields of their headers.

use super::meta;
use crate::contract::call::Buffers;
use crate::contract::entry::{Maker, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::incarnation::is_incarnation;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Fork, Op, Unit};
use crate::record::{ContractId, Header, Labels, Order, SortKey, Status};
use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

pub const CONTRACT_ID: ContractId = ContractId(1);

/// The part with `checkpoint.state`.
pub const STATE: &str = "state";

/// The part that holds the rest of the checkpoint.
pub const REST: &str = "rest";

/// A checkpoint as listings show it: the contract's `CheckpointMetadata`.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub id: String,
    pub run_id: String,
    pub graph_id: String,
    pub node_id: String,
    /// `timestamp`, in ms since the Unix epoch. Any finite number.
    pub timestamp: f64,
    /// The serialized size of `state` alone, in bytes.
    pub state_size: u64,
    /// True if the checkpoint has a `memorySnapshot` that is not `undefined`.
    pub has_memory_snapshot: bool,
}

#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Save {
    pub id: String,
    pub run_id: String,
    pub graph_id: String,
    pub node_id: String,
    /// In ms since the epoch.
    pub timestamp: f64,
    pub has_memory_snapshot: bool,
    pub status: Status,
    /// If given, the newest checkpoint of the run must have this id. Otherwise the save fails with
    /// [`Code::Conflict`].
    pub expected_newest: Option<String>,
    /// True if the caller has seen a checkpoint of the run. If the run has none, it was deleted, and the save fails
    /// with [`Code::Conflict`].
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub known: bool,
    /// If given, the run must have this incarnation.
    #[serde(default)]
    #[ts(optional, type = "Exact | undefined")]
    pub incarnation: Option<i64>,
    /// The id of the checkpoint that this checkpoint was forked from.
    pub parent: Option<String>,
    /// Identifies the program that made the checkpoint. `ts/store/mark.ts` writes and reads it.
    pub mark: Option<String>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
    pub state_tag: String,
    pub rest_tag: String,
}

/// `save`: stores a checkpoint, and replaces one with the same id. The buffers are the state and the rest of the
/// checkpoint.
pub fn save(save: Save, buffers: &mut Buffers) -> Result<Unit> {
    for (what, id) in [
        ("checkpoint.id", &save.id),
        ("checkpoint.runId", &save.run_id),
        ("checkpoint.graphId", &save.graph_id),
        ("checkpoint.nodeId", &save.node_id),
    ] {
        check_id(what, id)?;
    }
    if !save.timestamp.is_finite() {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.timestamp is not finite: pass milliseconds since the epoch",
            save.id
        )));
    }
    let parts = vec![buffers.part(STATE, save.state_tag)?, buffers.part(REST, save.rest_tag)?];
    let expect = save.expected_newest.map(|newest| Expect::Newest {
        contract: CONTRACT_ID,
        lineage: save.run_id.clone(),
        newest: Some(newest),
        or: save.id.clone(),
    });
    let incarnation = save
        .incarnation
        .map(|position| is_incarnation(CONTRACT_ID, save.run_id.clone(), position, "run", &save.run_id));
    let known = (save.known && incarnation.is_none()).then(|| {
        let (run, id) = (quote(&save.run_id), quote(&save.id));
        let message =
            format!("run {run} was deleted while it ran, so its checkpoint {id} was not stored: stop the run");
        let (lineage, otherwise) = (Some(save.run_id.clone()), Error::new(Code::Conflict, message));
        Expect::Stored { contract: CONTRACT_ID, id: None, lineage, otherwise }
    });
    let size = parts[0].bytes.len() as u64;
    let header = Header {
        parent: save.parent,
        group: save.graph_id,
        label: save.node_id,
        sort_key: SortKey::from_f64(save.timestamp),
        saved_at: save.saved_at,
        status: save.status,
        meta: meta::encode(size, save.has_memory_snapshot, save.timestamp, save.mark.as_deref()),
        ..Header::new(CONTRACT_ID, save.run_id, save.id)
    };
    Ok(Unit {
        expect: expect.into_iter().chain(known).chain(incarnation).collect(),
        ops: vec![Op::put_in(Order::SaveOfNumber, header, parts)],
    })
}

/// `fork` without a patch: stores a copy of a checkpoint under a new id, as the first checkpoint of a new run.
pub fn fork(source: String, id: String, run_id: String, timestamp: f64, saved_at: i64) -> Result<Unit> {
    check_id("the fork's id", &id)?;
    check_id("the fork's runId", &run_id)?;
    if !timestamp.is_finite() {
        return Err(Error::invalid("the fork's timestamp is not finite: pass milliseconds since the epoch"));
    }
    let sort_key = SortKey::from_f64(timestamp);
    let fork =
        Fork { contract: CONTRACT_ID, source, id, lineage: run_id, sort_key, saved_at, labels: Labels::default() };
    Ok(vec![Op::Fork(Box::new(fork))].into())
}

/// Converts a header into the metadata that listings show.
pub fn metadata(header: Header) -> Result<Metadata> {
    let Some((ordered, (state_size, has_memory_snapshot, negative_zero))) =
        header.sort_key.own_f64().zip(meta::decode(&header.meta))
    else {
        return Err(damaged(&header.id));
    };
    // 0 and -0 have the same sort key. `meta` distinguishes them.
    let timestamp = if negative_zero && ordered == 0.0 { -0.0 } else { ordered };
    Ok(Metadata {
        id: header.id,
        run_id: header.lineage,
        graph_id: header.group,
        node_id: header.label,
        timestamp,
        state_size,
        has_memory_snapshot,
    })
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let Metadata { graph_id, node_id, timestamp, state_size, has_memory_snapshot, .. } = metadata(header.clone())?;
    let shown = json!({ "stateSize": state_size, "hasMemorySnapshot": has_memory_snapshot });
    let (label, group) = (Some(node_id), Some(graph_id));
    let maker = meta::mark(&header.meta).as_deref().map(Maker::in_mark).unwrap_or_default();
    Ok(Shown { label, group, at: Some(timestamp), meta: Some(shown), maker, ..Shown::default() })
}
