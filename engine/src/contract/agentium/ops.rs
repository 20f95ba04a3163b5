//! Stores Agentium's workflow checkpoints, and reads the fields of their headers.

use super::meta::{self, Meta, SHAPE_BYTES};
use crate::contract::call::Buffers;
use crate::contract::entry::{Maker, Shown};
use crate::contract::ids::{MAX_ID_BYTES, check_id, damaged};
use crate::contract::incarnation::is_incarnation;
use crate::error::{Error, Result};
use crate::op::{Expect, Op, Unit};
use crate::record::{ContractId, Header, SortKey, Status};
use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

pub const CONTRACT_ID: ContractId = ContractId(2);

/// Retention by number goes by save order, because a restarted run counts its steps again: see [`Header::age_offset`].
const AGE_OFFSET: u8 = 8;

/// The part that holds `checkpoint.state`.
pub const STATE: &str = "state";

pub const REST: &str = "rest";

/// The fields of a checkpoint that listings show without reading its payload.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the contract")]
pub(super) struct Step {
    id: String,
    /// `stepIndex`: any finite number. -1 is the state before the first step.
    step_index: f64,
    step_name: String,
    /// `createdAt`, in ms since the epoch. Default: the framework's `timestamp`.
    created_at: f64,
    /// The serialized size of `state` alone, in bytes.
    state_size: u64,
    /// The number of steps of the workflow that stored the checkpoint. `None` if the writer gave none.
    #[serde(skip)]
    steps: Option<u32>,
    /// The hash of the shape of the workflow that stored the checkpoint. `None` if the writer gave none.
    #[serde(skip)]
    pub(super) shape: Option<String>,
    /// The random number of the save. `None` if the writer gave none.
    #[serde(skip)]
    stamp: Option<u64>,
}

impl Step {
    /// The save that stored this step, as the next save refers to it: see [`Save::follows`].
    pub(super) fn saved(&self) -> Saved {
        Saved { step_index: self.step_index, created_at: self.created_at, stamp: self.stamp }
    }
}

/// Identifies a save. A restarted run uses its ids again, but never a stamp.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    step_index: f64,
    created_at: f64,
    /// A random number. `None`: the writer gave none.
    stamp: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Save {
    pub id: String,
    pub run_id: String,
    /// Any finite number. -1 is the state before the first step.
    pub step_index: f64,
    pub step_name: String,
    /// In ms since the epoch. `keepLastN` removes the checkpoints with the lowest `created_at` first.
    pub created_at: f64,
    /// The number of steps of the workflow. `None`: the status of the run is unknown.
    pub steps: Option<u32>,
    /// The hash of the workflow's shape, from `ts/store/compare-programs.ts`.
    pub shape: Option<String>,
    /// The id of the checkpoint that this checkpoint's run was forked from.
    pub parent: Option<String>,
    /// True if the save also removes the run's other checkpoints with this step index or a greater one, in the same
    /// transaction.
    pub rewind: bool,
    /// True if `expected_parent` must be the run's latest checkpoint. If `expected_parent` is null, the run must have
    /// no checkpoint.
    #[serde(default)]
    pub expects_parent: bool,
    pub expected_parent: Option<String>,
    /// If given, the run must have this incarnation.
    #[serde(default)]
    #[ts(type = "Exact | undefined")]
    pub incarnation: Option<i64>,
    /// A random number that identifies this save, because a restarted run uses ids again.
    #[serde(default)]
    pub stamp: Option<u64>,
    /// True if the run's newest checkpoint must be the save `after`. `None`: the run must have no checkpoint.
    #[serde(default)]
    pub follows: bool,
    #[serde(default)]
    pub after_step: Option<f64>,
    #[serde(default)]
    pub after_created_at: Option<f64>,
    #[serde(default)]
    pub after_stamp: Option<u64>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
    pub state_tag: String,
    pub rest_tag: String,
}

/// `save` and `rewind`: stores a checkpoint. `rewind` also removes other checkpoints of the run: see [`Save::rewind`].
/// The buffers are the state and the rest of the checkpoint.
pub fn save(save: Save, buffers: &mut Buffers) -> Result<Unit> {
    check_id("checkpoint.id", &save.id)?;
    check_id("checkpoint.runId", &save.run_id)?;
    if save.step_name.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.stepName has {} bytes, but may have at most {MAX_ID_BYTES}: use a shorter one",
            save.id,
            save.step_name.len()
        )));
    }
    if !save.step_index.is_finite() || !save.created_at.is_finite() {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.stepIndex and checkpoint.createdAt must be finite numbers",
            save.id
        )));
    }
    if save.shape.as_ref().is_some_and(|shape| shape.len() != SHAPE_BYTES) {
        return Err(Error::invalid("the hash of a workflow's shape has another length: please report this"));
    }
    let parts = vec![buffers.part(STATE, save.state_tag)?, buffers.part(REST, save.rest_tag)?];
    let meta = Meta {
        state_size: parts[0].bytes.len() as u64,
        steps: save.steps,
        shape: save.shape,
        step_name: save.step_name,
    };
    let (contract, lineage) = (CONTRACT_ID, save.run_id.clone());
    let mut unit = Unit::default();
    if save.expects_parent {
        let (lineage, newest, or) = (lineage.clone(), save.expected_parent, save.id.clone());
        unit.expect.push(Expect::Newest { contract, lineage, newest, or });
    }
    let of_run = |position| is_incarnation(contract, lineage.clone(), position, "run", &lineage);
    unit.expect.extend(save.incarnation.map(of_run));
    let sort_key = sort_key_of(save.step_index, save.created_at, save.stamp);
    if save.follows {
        let after = save.after_step.zip(save.after_created_at);
        let newest = after.map(|(step, created_at)| sort_key_of(step, created_at, save.after_stamp));
        unit.expect.push(Expect::NewestSave { contract, lineage: lineage.clone(), newest, or: sort_key.clone() });
    }
    if save.rewind {
        if save.step_index < 0.0 {
            // The run begins again. Its effects belong to an earlier run, so remove them.
            let (contract, lineage) = (contract.effects(), lineage.clone());
            unit.ops.push(Op::RemoveFrom { contract, lineage, sort_key: SortKey::default() });
        }
        unit.ops.push(Op::RemoveFrom { contract, lineage, sort_key: SortKey::from_f64(save.step_index) });
    }
    let header = Header {
        parent: save.parent,
        sort_key,
        saved_at: save.saved_at,
        age_offset: AGE_OFFSET,
        status: match save.steps {
            None => Status::Unknown,
            Some(steps) if save.step_index + 1.0 >= f64::from(steps) => Status::Finished,
            Some(_) => Status::Unfinished,
        },
        meta: meta::encode(&meta),
        ..Header::new(contract, save.run_id, save.id)
    };
    unit.ops.push(Op::put(header, parts));
    Ok(unit)
}

/// The sort key of a step: its index, its time, and the random number of its save.
fn sort_key_of(step_index: f64, created_at: f64, stamp: Option<u64>) -> SortKey {
    let time = SortKey::from_f64(step_index).then(&SortKey::from_f64(created_at));
    stamp.map(SortKey::from_version).iter().fold(time, SortKey::then)
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let step = step(header.clone())?;
    let meta = json!({ "stepIndex": step.step_index, "stateSize": step.state_size, "steps": step.steps });
    let (label, at) = (Some(step.step_name), Some(step.created_at));
    let maker = Maker { program: None, shape: step.shape };
    Ok(Shown { label, at, meta: Some(meta), maker, ..Shown::default() })
}

/// Converts a header into the fields that listings show.
pub(super) fn step(header: Header) -> Result<Step> {
    let sort_key = header.sort_key.split_f64().and_then(|(step, rest)| Some((step, rest.split_f64()?)));
    let (Some((step_index, (created_at, stamp))), Some(meta)) = (sort_key, meta::decode(&header.meta)) else {
        return Err(damaged(&header.id));
    };
    let Meta { state_size, steps, shape, step_name } = meta;
    let stamp = stamp.version();
    Ok(Step { id: header.id, step_index, step_name, created_at, state_size, steps, shape, stamp })
}
