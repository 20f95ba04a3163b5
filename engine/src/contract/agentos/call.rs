//! The calls of `AgentOS`' checkpoint store, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::meta;
use super::ops::{CONTRACT_ID, Metadata, Save, fork, metadata, save};
use crate::contract::call::{RawCall, Request};
use crate::contract::lease::unleased_run_of;
use crate::contract::response::{PackedPart, Response};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, SortKey, Status};

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The buffers are the state, and the rest of the checkpoint.
    Save(Save),
    /// Forks a checkpoint without a patch. The engine makes the copy, with the ids `id` and `run_id`.
    Fork {
        checkpoint_id: String,
        id: String,
        run_id: String,
        timestamp: f64,
        saved_at: i64,
    },
    Delete {
        checkpoint_id: String,
    },
    Clear {
        run_id: String,
    },
    Get {
        checkpoint_id: String,
    },
    Load {
        run_id: String,
        node_id: Option<String>,
    },
    /// Lists the checkpoints of a graph, of a run, or of a run in a graph. At least one of the two ids must be given.
    List {
        graph_id: Option<String>,
        run_id: Option<String>,
        limit: Option<usize>,
    },
    /// Lists the runs that were forked from a checkpoint of this run.
    Forks {
        run_id: String,
    },
    /// `before` is the cursor of the last run on the previous page.
    Runs {
        graph_id_prefix: String,
        limit: usize,
        before: Option<i64>,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    fork: (),
    delete: (),
    clear: (),
    get: Option<Found>,
    load: Option<Found>,
    list: Columns<'static>,
    forks: Vec<FoundRun>,
    runs: Vec<FoundRun>,
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Save(given) => Request::Apply(save(given, &mut buffers)?),
        Call::Fork { checkpoint_id, id, run_id, timestamp, saved_at } => {
            Request::Apply(fork(checkpoint_id, id, run_id, timestamp, saved_at)?)
        }
        Call::Delete { checkpoint_id } => {
            let expect = vec![unleased_run_of("agentos", CONTRACT_ID, checkpoint_id.clone())];
            Request::Apply(Unit { expect, ops: vec![Op::Remove { contract, id: checkpoint_id }] })
        }
        Call::Clear { run_id } => {
            Request::Apply(vec![Op::RemoveFrom { contract, lineage: run_id, sort_key: SortKey::default() }].into())
        }
        Call::Get { checkpoint_id } => {
            Request::ask(Query::Get { contract, id: checkpoint_id }, |answer| found(answer, None))
        }
        Call::Load { run_id, node_id } => {
            let start = Query::Start { contract, lineage: run_id.clone() };
            let newest = Query::Newest { contract, lineage: run_id, label: node_id };
            Request::ask(Query::All(vec![newest, start]), |answer| {
                let [newest, start] = answer.into_all()?;
                found(newest, start.into_position()?)
            })
        }
        Call::List { graph_id, run_id, limit } => {
            let of = match (graph_id, run_id) {
                (Some(group), Some(lineage)) => Of::LineageInGroup { lineage, group },
                (Some(group), None) => Of::Group(group),
                (None, run_id) => Of::Lineage(run_id.unwrap_or_default()),
            };
            Request::ask(Query::List { contract, of, before: None, limit }, listed)
        }
        Call::Forks { run_id } => Request::ask(Query::Forks { contract, lineage: run_id }, run_list),
        Call::Runs { graph_id_prefix, limit, before } => {
            Request::ask(Query::Lineages { contract, group_prefix: graph_id_prefix, before, limit }, run_list)
        }
    })
}

/// A checkpoint.
#[derive(Serialize, TS)]
struct Found {
    #[serde(flatten)]
    metadata: Metadata,
    status: Status,
    /// The incarnation of the run. Missing if the checkpoint was found by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Exact")]
    incarnation: Option<i64>,
    /// The mark of the program that made the checkpoint: see `ts/store/mark.ts`. Missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    mark: Option<String>,
    parts: Vec<PackedPart>,
}

/// `incarnation` is the incarnation of the run, if it was read.
fn found(answer: Answer, incarnation: Option<i64>) -> Result<Option<Response>> {
    Response::one(answer.into_checkpoint()?, |checkpoint, response| {
        let Checkpoint { header, payload, .. } = *checkpoint;
        let (status, mark) = (header.status, meta::mark(&header.meta));
        Ok(Found { metadata: metadata(header)?, status, incarnation, mark, parts: response.parts(payload) })
    })
}

/// A listing as columns. JavaScript reads columns in half the time of a list with one object for each row.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Columns<'a> {
    /// The number of rows.
    count: usize,
    id: Column<&'a str>,
    run_id: Column<&'a str>,
    graph_id: Column<&'a str>,
    node_id: Column<&'a str>,
    timestamp: Column<f64>,
    state_size: Column<u64>,
    has_memory_snapshot: Column<bool>,
}

/// The values of one column. A value that all rows share is sent once, for example the graph's id in a listing of one
/// graph.
#[derive(Serialize, TS)]
#[serde(untagged)]
enum Column<T> {
    Same(T),
    Each(Vec<T>),
}

impl<T: PartialEq> Column<T> {
    fn of<'a>(rows: &'a [Metadata], value: impl Fn(&'a Metadata) -> T) -> Self {
        match rows.first().map(&value) {
            Some(first) if rows.iter().all(|row| value(row) == first) => Self::Same(first),
            _ => Self::Each(rows.iter().map(value).collect()),
        }
    }
}

fn listed(answer: Answer) -> Result<Option<Response>> {
    let rows: Vec<Metadata> = answer.into_headers()?.into_iter().map(metadata).collect::<Result<_>>()?;
    let columns = Columns {
        count: rows.len(),
        id: Column::of(&rows, |row| row.id.as_str()),
        run_id: Column::of(&rows, |row| row.run_id.as_str()),
        graph_id: Column::of(&rows, |row| row.graph_id.as_str()),
        node_id: Column::of(&rows, |row| row.node_id.as_str()),
        timestamp: Column::of(&rows, |row| row.timestamp),
        state_size: Column::of(&rows, |row| row.state_size),
        has_memory_snapshot: Column::of(&rows, |row| row.has_memory_snapshot),
    };
    Response::json(&columns).map(Some)
}

/// A run. `cursor` is the position from which the next page of the listing continues.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundRun {
    cursor: String,
    checkpoints: u64,
    latest: Metadata,
    status: Status,
    forked_from: Option<String>,
    /// The mark of the newest checkpoint: see `ts/store/mark.ts`. Missing if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    mark: Option<String>,
}

fn run_list(answer: Answer) -> Result<Option<Response>> {
    Response::list(answer.into_lineages()?, |run, _| {
        let (status, mark) = (run.status, meta::mark(&run.newest.meta));
        let (cursor, checkpoints, forked_from) = (run.position.to_string(), run.checkpoints, run.origin);
        Ok(FoundRun { cursor, checkpoints, latest: metadata(run.newest)?, status, forked_from, mark })
    })
}
