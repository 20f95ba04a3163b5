//! The calls of Agentium's checkpoint store, and their responses.

use serde::{Deserialize, Serialize};

use super::ops::{REST, STATE, Save, Status, Step, clear, delete, latest, list, load, runs, save, step, timeline};
use crate::contract::call::{RawCall, Request};
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::Result;
use crate::query::Answer;
use crate::record::{Checkpoint, Part};

/// The calls, as `ts/contracts/agentium/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The buffers are the state, then the rest of the checkpoint.
    Save {
        id: String,
        run_id: String,
        step_index: f64,
        step_name: String,
        created_at: f64,
        /// How many steps the workflow has.
        #[serde(default)]
        steps: Option<u32>,
        parent: Option<String>,
        rewind: bool,
        /// True if the store must check that `expected_parent` is the run's latest checkpoint. If `expected_parent` is
        /// null, the run must have no checkpoint.
        #[serde(default)]
        expects_parent: bool,
        expected_parent: Option<String>,
        saved_at: i64,
        state_tag: String,
        rest_tag: String,
    },
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
    Timeline {
        run_id: String,
    },
    /// `before` is the cursor of the last run on the previous page.
    Runs {
        limit: usize,
        before: Option<i64>,
    },
}

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Save {
            id,
            run_id,
            step_index,
            step_name,
            created_at,
            steps,
            parent,
            rewind,
            expects_parent,
            expected_parent,
            saved_at,
            state_tag,
            rest_tag,
        } => Request::Apply(save(Save {
            step: Step { id, run_id, step_index, step_name, created_at, state_size: 0, steps },
            parent,
            rewind,
            expected_parent: expects_parent.then_some(expected_parent),
            state: Part { name: STATE.to_owned(), tag: state_tag, bytes: buffers.take()? },
            rest: Part { name: REST.to_owned(), tag: rest_tag, bytes: buffers.take()? },
            saved_at,
        })?),
        Call::Delete { checkpoint_id } => Request::Apply(delete(checkpoint_id)),
        Call::Clear { run_id } => Request::Apply(clear(run_id)),
        Call::Load { checkpoint_id } => Request::ask(load(checkpoint_id), found),
        Call::Latest { run_id } => Request::ask(latest(run_id), found),
        Call::List { run_id } => Request::ask(list(run_id), all),
        Call::Timeline { run_id } => Request::ask(timeline(run_id), summaries),
        Call::Runs { limit, before } => Request::ask(runs(before, limit), run_list),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    id: String,
    run_id: String,
    parts: Vec<PackedPart>,
}

fn entry(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Found {
    Found { id: header.id, run_id: header.lineage, parts: response.parts(payload) }
}

fn found(answer: Answer) -> Result<Option<Response>> {
    let Some(found) = answer.into_checkpoint()? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let found = entry(*found, &mut response);
    response.finish(&found).map(Some)
}

fn all(answer: Answer) -> Result<Option<Response>> {
    let mut response = ResponseBuilder::default();
    let found: Vec<_> = answer.into_checkpoints()?.into_iter().map(|found| entry(found, &mut response)).collect();
    response.finish(&found).map(Some)
}

/// A step in a listing of its run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    id: String,
    step_index: f64,
    step_name: String,
    created_at: f64,
    state_size: u64,
}

fn summary(step: Step) -> Summary {
    let Step { id, step_index, step_name, created_at, state_size, .. } = step;
    Summary { id, step_index, step_name, created_at, state_size }
}

fn summaries(answer: Answer) -> Result<Option<Response>> {
    let summaries = answer.into_headers()?.into_iter().map(|header| step(header).map(summary));
    Response::json(&summaries.collect::<Result<Vec<_>>>()?).map(Some)
}

fn run_list(answer: Answer) -> Result<Option<Response>> {
    /// A run. `cursor` is the position from which the next page of the listing continues.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FoundRun {
        cursor: String,
        run_id: String,
        checkpoints: u64,
        latest: Summary,
        status: Status,
    }
    let runs = answer.into_lineages()?.into_iter().map(|run| {
        let run_id = run.newest.lineage.clone();
        let latest = step(run.newest)?;
        let status = latest.status();
        let (cursor, latest) = (run.position.to_string(), summary(latest));
        Ok(FoundRun { cursor, run_id, checkpoints: run.checkpoints, latest, status })
    });
    Response::json(&runs.collect::<Result<Vec<_>>>()?).map(Some)
}
