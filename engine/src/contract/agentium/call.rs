//! The calls of Agentium's checkpoint store, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ops::{CONTRACT_ID, Save, Saved, Step, save, step};
use crate::contract::call::{RawCall, Request};
use crate::contract::lease::unleased_run_of;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, SortKey, Status};

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The buffers are the state, and the rest of the checkpoint.
    Save(Box<Save>),
    Delete {
        checkpoint_id: String,
    },
    Clear {
        run_id: String,
    },
    Load {
        checkpoint_id: String,
    },
    Latest {
        run_id: String,
    },
    List {
        run_id: String,
    },
    /// Lists the steps of a run without their payloads. The last step comes first.
    Timeline {
        run_id: String,
    },
    /// `before` is the cursor of the last run on the previous page.
    Runs {
        limit: usize,
        before: Option<i64>,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    delete: (),
    clear: (),
    load: Option<Found>,
    latest: Option<Found>,
    list: Vec<Found>,
    timeline: Vec<Step>,
    runs: Vec<FoundRun>,
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Save(given) => Request::Apply(save(*given, &mut buffers)?),
        Call::Delete { checkpoint_id } => {
            let expect = vec![unleased_run_of("agentium", CONTRACT_ID, checkpoint_id.clone())];
            Request::Apply(Unit { expect, ops: vec![Op::Remove { contract, id: checkpoint_id }] })
        }
        Call::Clear { run_id } => {
            Request::Apply(vec![Op::RemoveFrom { contract, lineage: run_id, sort_key: SortKey::default() }].into())
        }
        Call::Load { checkpoint_id } => {
            Request::ask(Query::Get { contract, id: checkpoint_id }, |answer| found(answer, None))
        }
        Call::Latest { run_id } => {
            let start = Query::Start { contract, lineage: run_id.clone() };
            let newest = Query::Newest { contract, lineage: run_id, label: None };
            Request::ask(Query::All(vec![newest, start]), |answer| {
                let [newest, start] = answer.into_all()?;
                found(newest, start.into_position()?)
            })
        }
        Call::List { run_id } => {
            let query = Query::Whole { contract, of: Of::Lineage(run_id), prefix: Vec::new() };
            Request::ask(query, |answer| Response::list(answer.into_checkpoints()?, entry))
        }
        Call::Timeline { run_id } => {
            let query = Query::List { contract, of: Of::Lineage(run_id), before: None, limit: None };
            Request::ask(query, |answer| Response::list(answer.into_headers()?, |header, _| step(header)))
        }
        Call::Runs { limit, before } => {
            Request::ask(Query::Lineages { contract, group_prefix: String::new(), before, limit }, run_list)
        }
    })
}

/// A checkpoint.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Found {
    id: String,
    run_id: String,
    /// The hash of the shape of the workflow that stored the checkpoint. `None`: unknown.
    shape: Option<String>,
    saved: Saved,
    /// The incarnation of the run. Missing if the checkpoint was found by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
    parts: Vec<PackedPart>,
}

fn entry(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Result<Found> {
    let (id, run_id) = (header.id.clone(), header.lineage.clone());
    let mut step = step(header)?;
    let shape = step.shape.take();
    Ok(Found { id, run_id, shape, saved: step.saved(), incarnation: None, parts: response.parts(payload) })
}

fn found(answer: Answer, incarnation: Option<i64>) -> Result<Option<Response>> {
    Response::one(answer.into_checkpoint()?, |found, response| Ok(Found { incarnation, ..entry(*found, response)? }))
}

/// A run. `cursor` is the position from which the next page of the listing continues.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundRun {
    cursor: String,
    run_id: String,
    checkpoints: u64,
    latest: Step,
    status: Status,
    shape: Option<String>,
}

fn run_list(answer: Answer) -> Result<Option<Response>> {
    Response::list(answer.into_lineages()?, |run, _| {
        let run_id = run.newest.lineage.clone();
        let mut latest = step(run.newest)?;
        let (cursor, shape) = (run.position.to_string(), latest.shape.take());
        Ok(FoundRun { cursor, run_id, checkpoints: run.checkpoints, latest, status: run.status, shape })
    })
}
