//! The workflow snapshots of Mastra.
//!
//! A run is a lineage, named by its workflow and its id. Each persisted snapshot is a checkpoint, and the newest one is
//! the run's snapshot. A save expects the newest checkpoint that its caller read, so two changes of a snapshot never
//! undo each other. The group is the workflow. The label is Mastra's status.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{PartName, RawCall, Request};
use crate::contract::entry::{Contract, Names, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response};
use crate::contract::thread;
use crate::contract::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::{Expect, Op, Unit};
use crate::query::{ActivityOrder, Answer, Query, Recent};
use crate::record::{ContractId, Header, Labels, Lineage, Seq, SortKey, Status};

pub const CONTRACT_ID: ContractId = ContractId(13);
pub const CONTRACT: Contract = Contract {
    name_of,
    lineage_of: |run, workflow| thread::lineage(workflow, run),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("mastra", CONTRACT_ID, request, show)
};

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Saves a snapshot. `newest` is the expected newest checkpoint, or `None`. The call has a buffer for each part.
    Save {
        of: Run,
        id: String,
        newest: Option<String>,
        label: String,
        meta: Meta,
        status: Status,
        parts: Vec<PartName>,
        saved_at: i64,
    },
    /// Reads the snapshots of runs. Runs that do not exist are left out.
    Snapshots { of: Vec<Run> },
    /// Lists the runs of a workflow, or all runs, the last begun first. `before` is the cursor of the last run on the
    /// previous page.
    Runs { workflow: Option<String>, before: Option<i64>, limit: usize },
    /// Checks `looks` runs of a workflow, or of all, the last begun first. Returns the number of matches, and the
    /// `most` matches that were created last. `before` is the `next` of the previous page.
    Select { workflow: Option<String>, filter: Filter, before: Option<i64>, looks: usize, most: Option<usize> },
    /// Lists the runs with an id, in all workflows. Scans the names of runs, and reads only the matches. `after` is the
    /// `next` of the previous page.
    Named { run: String, after: Option<Seq>, looks: usize },
    /// Removes a run. With `newest`, only if this is its newest checkpoint.
    Remove { of: Run, newest: Option<String> },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    snapshots: Vec<Snapshot>,
    runs: Vec<Listed<FoundRun>>,
    select: Selected,
    named: Selected,
    remove: (),
}

#[derive(Debug, Deserialize, TS)]
struct Run {
    workflow: String,
    run: String,
}

/// The runs of a list. Times are in ms since the epoch, and the list includes both.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filter {
    status: Option<String>,
    resource: Option<String>,
    from: Option<i64>,
    to: Option<i64>,
}

impl Filter {
    fn passes(&self, FoundRun { status, meta, .. }: &FoundRun) -> bool {
        self.status.as_ref().is_none_or(|wanted| wanted == status)
            && (self.resource.is_none() || self.resource == meta.resource)
            && self.from.is_none_or(|from| meta.created_at >= from)
            && self.to.is_none_or(|to| meta.created_at <= to)
    }
}

impl Run {
    fn lineage(&self) -> String {
        thread::lineage(&self.workflow, &self.run)
    }

    /// The condition that this is the newest checkpoint of the run.
    fn expect(&self, newest: Option<String>, or: String) -> Expect {
        Expect::Newest { contract: CONTRACT_ID, lineage: self.lineage(), newest, or }
    }
}

/// Times are in ms since the epoch.
#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Meta {
    created_at: i64,
    updated_at: i64,
    #[ts(type = "null | string | undefined")]
    resource: Option<String>,
    /// The current step of the run.
    #[ts(type = "null | string | undefined")]
    step: Option<String>,
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Save { of, id, newest, label, meta, status, parts, saved_at } => {
            check_id("workflowName", &of.workflow)?;
            check_id("runId", &of.run)?;
            let lineage = of.lineage();
            check_id("workflowName and runId together", &lineage)?;
            let meta = serde_json::to_vec(&meta)
                .map_err(|error| Error::invalid(format!("the snapshot cannot be written: {error}")))?;
            let expect = vec![of.expect(newest, id.clone())];
            let header = Header {
                group: thread::prefix(&of.workflow),
                label,
                saved_at,
                status,
                meta,
                ..Header::new(contract, lineage, id)
            };
            Request::Apply(Unit { expect, ops: vec![Op::put(header, buffers.parts(parts)?)] })
        }
        Call::Snapshots { of } => {
            let newest = |of: Run| Query::Newest { contract, lineage: of.lineage(), label: None };
            Request::ask(Query::All(of.into_iter().map(newest).collect()), snapshots)
        }
        Call::Runs { workflow, before, limit } => {
            let group_prefix = workflow.as_deref().map_or_else(String::new, thread::prefix);
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, FoundRun::read)
            })
        }
        Call::Select { workflow, filter, before, looks, most } => {
            let group_prefix = workflow.as_deref().map_or_else(String::new, thread::prefix);
            let query = Query::Lineages { contract, group_prefix, before, limit: looks };
            Request::ask(query, move |answer| select(answer.into_lineages()?, &filter, looks, most))
        }
        Call::Named { run, after, looks } => {
            let recent = Recent {
                contracts: vec![contract],
                named_as_group: false,
                matching: run.clone(),
                statuses: Vec::new(),
                labels: Labels::default(),
                order: ActivityOrder::LatestFirst,
                after,
                limit: looks,
            };
            Request::ask(Query::Recent(recent), move |answer| {
                let lineages = answer.into_recent()?;
                let next = lineages.last().filter(|_| lineages.len() >= looks).map(|last| last.seq);
                let runs = lineages.into_iter().map(|lineage| FoundRun::read(lineage.newest));
                let runs = runs.filter(|found| found.as_ref().is_ok_and(|found| found.run == run));
                let runs: Vec<_> = runs.collect::<Result<_>>()?;
                Response::json(&Selected { total: runs.len(), runs, next }).map(Some)
            })
        }
        Call::Remove { of, newest } => {
            let expect = newest.map(|newest| of.expect(Some(newest.clone()), newest)).into_iter().collect();
            let removed = Op::RemoveFrom { contract, lineage: of.lineage(), sort_key: SortKey::default() };
            Request::Apply(Unit { expect, ops: vec![removed] })
        }
    })
}

/// A run in a response.
#[derive(Serialize, TS)]
struct FoundRun {
    workflow: String,
    run: String,
    /// The id of the newest checkpoint.
    id: String,
    /// The status in Mastra's words.
    status: String,
    #[serde(flatten)]
    meta: Meta,
}

impl FoundRun {
    fn read(header: Header) -> Result<Self> {
        let read = || {
            let (workflow, run) = thread::split(&header.lineage)?;
            Some((workflow.to_owned(), run.to_owned(), serde_json::from_slice(&header.meta).ok()?))
        };
        let (workflow, run, meta) = read().ok_or_else(|| damaged(&header.id))?;
        Ok(Self { workflow, run, id: header.id, status: header.label, meta })
    }
}

/// The runs that match a filter.
#[derive(Serialize, TS)]
struct Selected {
    /// The number of matching runs.
    total: usize,
    /// The last created run comes first. Runs created at the same time are ordered by their beginning, the last first.
    runs: Vec<FoundRun>,
    /// The next page begins after this run. `None` on the last page.
    next: Option<i64>,
}

fn select(lineages: Vec<Lineage>, filter: &Filter, looks: usize, most: Option<usize>) -> Result<Option<Response>> {
    let next = lineages.last().filter(|_| lineages.len() >= looks).map(|last| last.position);
    let mut runs = Vec::new();
    for lineage in lineages {
        runs.extend(Some(FoundRun::read(lineage.newest)?).filter(|run| filter.passes(run)));
    }
    let total = runs.len();
    runs.sort_by_key(|run| Reverse(run.meta.created_at));
    runs.truncate(most.unwrap_or(usize::MAX));
    Response::json(&Selected { total, runs, next }).map(Some)
}

/// A run with its snapshot.
#[derive(Serialize, TS)]
struct Snapshot {
    #[serde(flatten)]
    run: FoundRun,
    parts: Vec<PackedPart>,
}

fn snapshots(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
    Response::list(found.into_iter().flatten().collect(), |found, response| {
        Ok(Snapshot { parts: response.parts(found.payload), run: FoundRun::read(found.header)? })
    })
}

/// The namespace of a run is its workflow.
#[expect(clippy::needless_pass_by_value, reason = "the shape that every contract has")]
fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let (workflow, run) = lineage.as_deref().and_then(thread::split).unzip();
    Names { run: run.map(str::to_owned), ns: workflow.map(str::to_owned), id }
}

fn show(header: &Header) -> Result<Shown> {
    let FoundRun { workflow, status, meta, .. } = FoundRun::read(header.clone())?;
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(meta.updated_at as f64);
    let shown = serde_json::json!({ "status": status, "resourceId": meta.resource, "createdAt": meta.created_at });
    let label = meta.step.or_else(|| (!status.is_empty()).then_some(status));
    Ok(Shown { label, group: Some(workflow), at, meta: Some(shown), ..Shown::default() })
}
