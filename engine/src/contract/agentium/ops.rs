//! The units and queries of Agentium's workflow checkpoints.

use super::meta;
use crate::contract::entry::Shown;
use crate::contract::ids::{MAX_ID_BYTES, check_id, damaged};
use crate::error::{Error, Result};
use crate::op::{Expect, Op, Unit};
use crate::query::{Of, Query};
use crate::record::{ContractId, Header, Part, SortKey};
use serde::Serialize;
use serde_json::json;

pub const CONTRACT_ID: ContractId = ContractId(2);

/// The index of the byte in the sort key at which `createdAt` begins. The bytes before this index are the step index.
const AGE_OFFSET: u8 = 8;

/// The part that holds `checkpoint.state`.
pub const STATE: &str = "state";

/// The part that holds the rest of the checkpoint.
pub const REST: &str = "rest";

/// The fields of a checkpoint that listings show without reading its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub id: String,
    pub run_id: String,
    /// `stepIndex`: any finite number. -1 stands for the state before the first step.
    pub step_index: f64,
    pub step_name: String,
    /// `createdAt`, in ms since the epoch. If it is missing, this is the framework's `timestamp`. `keepLastN` removes
    /// the checkpoints with the lowest `createdAt` first.
    pub created_at: f64,
    /// The serialized size of `state` alone, in bytes.
    pub state_size: u64,
    /// How many steps the workflow had when it stored the checkpoint. `None` if the writer did not say it.
    pub steps: Option<u32>,
}

impl Step {
    /// Returns the status of a run whose latest checkpoint is this one.
    pub fn status(&self) -> Status {
        match self.steps {
            None => Status::Unknown,
            Some(steps) if self.step_index + 1.0 >= f64::from(steps) => Status::Finished,
            Some(_) => Status::Unfinished,
        }
    }
}

/// How far a run has come, as far as a store can know it. A store cannot know whether a run is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// Some steps of the run are not stored.
    Unfinished,
    /// All steps of the run are stored.
    Finished,
    /// The latest checkpoint does not say how many steps the workflow has.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Save {
    /// The ids, the step and the time. `state_size` is ignored: the size comes from the payload.
    pub step: Step,
    /// The id of the checkpoint that this checkpoint's run was forked from.
    pub parent: Option<String>,
    /// True if the save also removes the run's other checkpoints with this step index or a greater step index. The
    /// removal is in the same transaction.
    pub rewind: bool,
    /// The id of the checkpoint that the caller expects to be the run's latest (D7). `None`: the caller expects
    /// nothing. `Some(None)`: the caller expects that the run has no checkpoint.
    pub expected_parent: Option<Option<String>>,
    pub state: Part,
    /// The rest of the checkpoint, serialized.
    pub rest: Part,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
}

/// `save` and `rewind`: stores a checkpoint. `rewind` also removes other checkpoints of the run: see [`Save::rewind`].
pub fn save(save: Save) -> Result<Unit> {
    let Save { step, parent, rewind, expected_parent, state, rest, saved_at } = save;
    check_id("checkpoint.id", &step.id)?;
    check_id("checkpoint.runId", &step.run_id)?;
    if step.step_name.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.stepName has {} bytes, and may have at most {MAX_ID_BYTES}: give a shorter one",
            step.id,
            step.step_name.len()
        )));
    }
    if !step.step_index.is_finite() || !step.created_at.is_finite() {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.stepIndex and checkpoint.createdAt must be finite numbers",
            step.id
        )));
    }
    let sort_key = SortKey::from_f64(step.step_index);
    let clear = rewind.then(|| Op::RemoveFrom {
        contract: CONTRACT_ID,
        lineage: step.run_id.clone(),
        sort_key: sort_key.clone(),
    });
    let expect = expected_parent.map(|newest| Expect::Newest {
        contract: CONTRACT_ID,
        lineage: step.run_id.clone(),
        newest,
        or: step.id.clone(),
    });
    let header = Header {
        parent,
        sort_key: sort_key.then(&SortKey::from_f64(step.created_at)),
        saved_at,
        age_offset: AGE_OFFSET,
        meta: meta::encode(state.bytes.len() as u64, step.steps, &step.step_name),
        ..Header::new(CONTRACT_ID, step.run_id, step.id)
    };
    Ok(Unit {
        expect: expect.into_iter().collect(),
        ops: clear.into_iter().chain([Op::put(header, vec![state, rest])]).collect(),
    })
}

/// `delete`: removes a checkpoint.
pub fn delete(checkpoint_id: String) -> Unit {
    vec![Op::Remove { contract: CONTRACT_ID, id: checkpoint_id }].into()
}

/// `clear`: removes all checkpoints of a run.
pub fn clear(run_id: String) -> Unit {
    vec![Op::RemoveFrom { contract: CONTRACT_ID, lineage: run_id, sort_key: SortKey::default() }].into()
}

/// `load`: reads a checkpoint by its id.
pub fn load(checkpoint_id: String) -> Query {
    Query::Get { contract: CONTRACT_ID, id: checkpoint_id }
}

/// `latest`: reads the last checkpoint of a run.
pub fn latest(run_id: String) -> Query {
    Query::Newest { contract: CONTRACT_ID, lineage: run_id, label: None }
}

/// `list`: reads all checkpoints of a run with their payloads.
pub fn list(run_id: String) -> Query {
    Query::Whole { contract: CONTRACT_ID, of: Of::Lineage(run_id), prefix: Vec::new() }
}

/// `timeline`: lists the steps of a run without their payloads. The last step comes first.
pub fn timeline(run_id: String) -> Query {
    Query::List { contract: CONTRACT_ID, of: Of::Lineage(run_id), before: None, limit: None }
}

/// `runs`: lists the runs. The run that began last comes first.
pub fn runs(before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { contract: CONTRACT_ID, group_prefix: String::new(), before, limit }
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let step = step(header.clone())?;
    let status = match step.status() {
        Status::Unfinished => "unfinished",
        Status::Finished => "finished",
        Status::Unknown => "unknown",
    };
    let meta = json!({ "stepIndex": step.step_index, "stateSize": step.state_size, "steps": step.steps });
    let (label, at) = (Some(step.step_name), Some(step.created_at));
    Ok(Shown { label, group: None, at, meta: Some(meta), serialized: None, status: Some(status) })
}

/// Converts a header into the fields that listings show.
pub fn step(header: Header) -> Result<Step> {
    let sort_key = header.sort_key.split_f64().and_then(|(step, rest)| Some((step, rest.split_f64()?.0)));
    let (Some((step_index, created_at)), Some((state_size, steps, step_name))) = (sort_key, meta::decode(&header.meta))
    else {
        return Err(damaged(&header.id));
    };
    Ok(Step { id: header.id, run_id: header.lineage, step_index, step_name, created_at, state_size, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_finished_when_all_of_its_steps_are_stored() {
        let status = |step_index, steps| {
            let (id, run_id, step_name) = (String::new(), String::new(), String::new());
            Step { id, run_id, step_index, step_name, created_at: 0.0, state_size: 0, steps }.status()
        };
        assert_eq!(status(2.0, None), Status::Unknown);
        assert_eq!([-1.0, 1.0].map(|index| status(index, Some(3))), [Status::Unfinished; 2]);
        assert_eq!([2.0, 7.0].map(|index| status(index, Some(3))), [Status::Finished; 2]);
        assert_eq!(status(-1.0, Some(0)), Status::Finished);
    }
}
