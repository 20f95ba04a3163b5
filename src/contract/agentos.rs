//! `AgentOS`' `ICheckpointStore` (`@framers/agentos/orchestration/checkpoint`): a lineage is a run, a group is a graph, a
//! label is a node, and a checkpoint's place in its run is its timestamp, then the save order.
//!
//! The payload has two parts: [`STATE`] and [`REST`]. The rest is the whole checkpoint with its ids and its state left
//! out, so that a fork shares every byte with its source.

use serde::{Deserialize, Serialize};

use super::call::{Call, Request, Tool, read_json};
use super::response::{PackedPart, Response, ResponseBuilder};
use super::{Contract, check_id};
use crate::error::{Code, Error, Result};
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{Checkpoint, Header, Part, Payload, Rank, Space};

/// The contract.
pub const CONTRACT: Contract = Contract { name: "agentos", space: SPACE, request, tool: Some(tool) };
/// Whose ids these are.
pub const SPACE: Space = Space::AGENTOS;
/// The part that holds `checkpoint.state`.
pub const STATE: &str = "state";
/// The part that holds everything else.
pub const REST: &str = "rest";

/// The calls, as `ts/agentos/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Method {
    /// Two buffers: the state, the rest.
    Save {
        id: String,
        run_id: String,
        graph_id: String,
        node_id: String,
        timestamp: f64,
        has_memory_snapshot: bool,
        parent: Option<String>,
        saved_at: i64,
        state_tag: String,
        rest_tag: String,
    },
    Delete {
        checkpoint_id: String,
    },
    Get {
        checkpoint_id: String,
    },
    Load {
        run_id: String,
        node_id: Option<String>,
    },
    /// One of the ids may be missing.
    List {
        graph_id: Option<String>,
        run_id: Option<String>,
        limit: Option<usize>,
    },
    /// `before` is the cursor of a run that an earlier call listed.
    Runs {
        graph_id_prefix: String,
        limit: usize,
        before: Option<i64>,
    },
}

fn request(call: Call<'_>) -> Result<Request> {
    let (method, mut buffers) = call.read()?;
    Ok(match method {
        Method::Save {
            id,
            run_id,
            graph_id,
            node_id,
            timestamp,
            has_memory_snapshot,
            parent,
            saved_at,
            state_tag,
            rest_tag,
        } => Request::Apply(save(Save {
            metadata: Metadata { id, run_id, graph_id, node_id, timestamp, state_size: 0, has_memory_snapshot },
            parent,
            state: Part { name: STATE.to_owned(), tag: state_tag, bytes: buffers.take()? },
            rest: Part { name: REST.to_owned(), tag: rest_tag, bytes: buffers.take()? },
            saved_at,
        })?),
        Method::Delete { checkpoint_id } => Request::Apply(delete(checkpoint_id)),
        Method::Get { checkpoint_id } => Request::Ask(get(checkpoint_id), found),
        Method::Load { run_id, node_id } => Request::Ask(load(run_id, node_id), found),
        Method::List { graph_id, run_id, limit } => {
            let of = match (graph_id, run_id) {
                (Some(group), Some(lineage)) => Of::LineageInGroup { lineage, group },
                (Some(group), None) => Of::Group(group),
                (None, run_id) => Of::Lineage(run_id.unwrap_or_default()),
            };
            Request::Ask(list(of, limit), listed)
        }
        Method::Runs { graph_id_prefix, limit, before } => Request::Ask(runs(graph_id_prefix, before, limit), run_list),
    })
}

fn found(answer: Answer) -> Result<Option<Response>> {
    #[derive(Serialize)]
    struct Found {
        metadata: Metadata,
        parts: Vec<PackedPart>,
    }
    let Some(checkpoint) = answer.into_checkpoint()? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let parts = response.parts(checkpoint.payload);
    response.finish(&Found { metadata: metadata(checkpoint.header)?, parts }).map(Some)
}

/// A listing in columns: JavaScript reads them twice as fast as an object a row.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Columns {
    id: Vec<String>,
    run_id: Vec<String>,
    graph_id: Vec<String>,
    node_id: Vec<String>,
    timestamp: Vec<f64>,
    state_size: Vec<u64>,
    has_memory_snapshot: Vec<bool>,
}

fn listed(answer: Answer) -> Result<Option<Response>> {
    let mut columns = Columns::default();
    for header in answer.into_headers()? {
        let Metadata { id, run_id, graph_id, node_id, timestamp, state_size, has_memory_snapshot } = metadata(header)?;
        columns.id.push(id);
        columns.run_id.push(run_id);
        columns.graph_id.push(graph_id);
        columns.node_id.push(node_id);
        columns.timestamp.push(timestamp);
        columns.state_size.push(state_size);
        columns.has_memory_snapshot.push(has_memory_snapshot);
    }
    Response::json(&columns).map(Some)
}

fn run_list(answer: Answer) -> Result<Option<Response>> {
    /// The cursor is where a listing goes on behind it.
    #[derive(Serialize)]
    struct Run {
        cursor: String,
        checkpoints: u64,
        latest: Metadata,
    }
    let runs = answer.into_lineages()?.into_iter().map(|run| {
        let latest = metadata(run.newest)?;
        Ok(Run { cursor: run.position.to_string(), checkpoints: run.checkpoints, latest })
    });
    Response::json(&runs.collect::<Result<Vec<_>>>()?).map(Some)
}

/// What a listing shows of a checkpoint: the contract's `CheckpointMetadata`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// `id`.
    pub id: String,
    /// `runId`.
    pub run_id: String,
    /// `graphId`.
    pub graph_id: String,
    /// `nodeId`.
    pub node_id: String,
    /// `timestamp`, in ms since the Unix epoch; any finite number.
    pub timestamp: f64,
    /// The serialised size of `state` alone, in bytes.
    pub state_size: u64,
    /// Whether `memorySnapshot` is there and not `undefined`.
    pub has_memory_snapshot: bool,
}

/// A checkpoint to save.
#[derive(Clone, Debug)]
pub struct Save {
    /// Its ids; `state_size` is ignored, the payload says it.
    pub metadata: Metadata,
    /// The checkpoint that it was forked from.
    pub parent: Option<String>,
    /// `state`, serialised.
    pub state: Part,
    /// The rest, serialised.
    pub rest: Part,
    /// When the store was given it, in ms since the epoch.
    pub saved_at: i64,
}

/// `save`: stores the checkpoint, replacing the one with its id.
pub fn save(save: Save) -> Result<Unit> {
    let Save { metadata, parent, state, rest, saved_at } = save;
    for (what, id) in [
        ("checkpoint.id", &metadata.id),
        ("checkpoint.runId", &metadata.run_id),
        ("checkpoint.graphId", &metadata.graph_id),
        ("checkpoint.nodeId", &metadata.node_id),
    ] {
        check_id(what, id)?;
    }
    if !metadata.timestamp.is_finite() {
        return Err(Error::invalid("checkpoint.timestamp is not finite: give milliseconds since the epoch"));
    }
    let state_size = state.bytes.len() as u64;
    let header = Header {
        space: SPACE,
        lineage: metadata.run_id,
        id: metadata.id,
        parent,
        group: metadata.graph_id,
        label: metadata.node_id,
        rank: Rank::from_f64(metadata.timestamp),
        saved_at,
        meta: meta::encode(metadata.timestamp, state_size, metadata.has_memory_snapshot),
    };
    let payload = Payload { parts: vec![state, rest], ..Payload::default() };
    Ok(vec![Op::Put(Box::new(Checkpoint { header, payload }))])
}

/// `delete`.
pub fn delete(checkpoint_id: String) -> Unit {
    vec![Op::Remove { space: SPACE, id: checkpoint_id }]
}

/// `get`.
pub fn get(checkpoint_id: String) -> Query {
    Query::Get { space: SPACE, id: checkpoint_id }
}

/// `load`, and without a node `latest`.
pub fn load(run_id: String, node_id: Option<String>) -> Query {
    Query::Newest { space: SPACE, lineage: run_id, label: node_id }
}

/// `list`, and `listByRun` without a graph.
pub fn list(of: Of, limit: Option<usize>) -> Query {
    Query::List { space: SPACE, of, before: None, limit }
}

/// `runs`.
pub fn runs(graph_id_prefix: String, before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { space: SPACE, group_prefix: graph_id_prefix, before, limit }
}

/// What a listing shows of that header.
pub fn metadata(header: Header) -> Result<Metadata> {
    let Some((timestamp, state_size, has_memory_snapshot)) = meta::decode(&header.meta) else {
        return Err(Error::new(Code::Corrupt, format!("checkpoint {:?}: its metadata is damaged", header.id)));
    };
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

/// What [`Header::meta`] holds: the timestamp (8 bytes), the state's size (8 bytes), flags (1 byte); little endian.
mod meta {
    const MEMORY_SNAPSHOT: u8 = 1;

    pub(super) fn encode(timestamp: f64, state_size: u64, has_memory_snapshot: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(17);
        out.extend_from_slice(&timestamp.to_le_bytes());
        out.extend_from_slice(&state_size.to_le_bytes());
        out.push(if has_memory_snapshot { MEMORY_SNAPSHOT } else { 0 });
        out
    }

    pub(super) fn decode(meta: &[u8]) -> Option<(f64, u64, bool)> {
        let (timestamp, rest) = meta.split_first_chunk()?;
        let (state_size, flags) = rest.split_first_chunk()?;
        let &[flags] = flags else { return None };
        Some((f64::from_le_bytes(*timestamp), u64::from_le_bytes(*state_size), flags & MEMORY_SNAPSHOT != 0))
    }
}

/// Says what a runtime does with the nodes of a checkpoint.
struct ResumePlanner;

fn tool(which: &str) -> Result<Box<dyn Tool>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Which {
        ResumePlanner {},
    }
    let Which::ResumePlanner {} = read_json(which)?;
    Ok(Box::new(ResumePlanner))
}

impl Tool for ResumePlanner {
    fn call(&mut self, call: &str) -> Result<Response> {
        /// `recorded` has pairs of a node and its effect class.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nodes {
            recorded: Vec<(String, String)>,
            visited: Vec<String>,
            skipped: Vec<String>,
        }
        let Nodes { recorded, visited, skipped } = read_json(call)?;
        Response::json(&resume_plan(recorded, visited, skipped)?)
    }
}

/// What a runtime does with the nodes of a checkpoint when it resumes. Every list is in the checkpoint's own order; a node
/// that is in none of them never began and simply runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResumePlan {
    /// Completed: they never run again, and what they did is in the state.
    pub completed: Vec<String>,
    /// Bypassed by a routing decision: they do not run.
    pub skipped: Vec<String>,
    /// Recorded with an effect that must not happen twice: their recorded output stands in for a run.
    pub replay: Vec<String>,
    /// Recorded without such an effect: they run again.
    pub reexecute: Vec<String>,
}

/// Sorts the nodes of a checkpoint. `recorded` is `nodeResults` as (node, effect class), `visited` and `skipped` are
/// `visitedNodes` and `skippedNodes`. A node that is several of these is the first of: completed, skipped, recorded.
pub fn resume_plan(recorded: Vec<(String, String)>, visited: Vec<String>, skipped: Vec<String>) -> Result<ResumePlan> {
    let mut seen = std::collections::HashSet::new();
    let mut plan = ResumePlan::default();
    // Every class is checked, also where it decides nothing: a wrong one is a wrong one.
    for (node, class) in &recorded {
        effect(node, class)?;
    }
    plan.completed.extend(visited.into_iter().filter(|node| seen.insert(node.clone())));
    plan.skipped.extend(skipped.into_iter().filter(|node| seen.insert(node.clone())));
    for (node, class) in recorded {
        if seen.insert(node.clone()) {
            match effect(&node, &class)? {
                Effect::Once => plan.replay.push(node),
                Effect::Repeatable => plan.reexecute.push(node),
            }
        }
    }
    Ok(plan)
}

enum Effect {
    Once,
    Repeatable,
}

fn effect(node: &str, class: &str) -> Result<Effect> {
    match class {
        "write" | "external" | "human" => Ok(Effect::Once),
        "pure" | "read" => Ok(Effect::Repeatable),
        other => Err(Error::invalid(format!(
            "nodeResults[{node:?}].effectClass is {other:?}: it must be \"pure\", \"read\", \"write\", \"external\" or \
             \"human\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn recorded_effects_are_replayed_once_and_the_others_run_again() {
        let recorded = ["pure", "read", "write", "external", "human"].map(|class| (class.to_owned(), class.to_owned()));
        let plan = resume_plan(recorded.to_vec(), strings(["start", "start"]), strings(["start", "other"])).unwrap();
        assert_eq!(
            plan,
            ResumePlan {
                completed: strings(["start"]),
                skipped: strings(["other"]),
                replay: strings(["write", "external", "human"]),
                reexecute: strings(["pure", "read"]),
            }
        );
        let plan = resume_plan(recorded.to_vec(), strings(["write"]), strings(["human"])).unwrap();
        assert_eq!((plan.replay, plan.reexecute), (strings(["external"]), strings(["pure", "read"])));
    }

    #[test]
    fn an_unknown_effect_is_refused_and_not_guessed() {
        let recorded = vec![("node".to_owned(), "Write".to_owned())];
        let error = resume_plan(recorded, strings(["node"]), Vec::new()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("\"node\""), "{error}");
    }
}
