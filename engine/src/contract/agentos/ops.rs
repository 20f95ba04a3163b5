//! The units and queries of `AgentOS`' checkpoints.

use super::meta::{self, Status};
use crate::contract::entry::Shown;
use crate::contract::ids::{check_id, damaged};
use crate::error::{Error, Result};
use crate::op::{Expect, Fork, Op, Unit};
use crate::query::{Of, Query};
use crate::record::{ContractId, Header, Part, SortKey};
use serde::Serialize;
use serde_json::json;

pub const CONTRACT_ID: ContractId = ContractId(1);

/// The part that holds `checkpoint.state`.
pub const STATE: &str = "state";

/// The part that holds the rest of the checkpoint.
pub const REST: &str = "rest";

/// A checkpoint as listings show it: the contract's `CheckpointMetadata`.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

#[derive(Clone, Debug)]
pub struct Save {
    /// The ids and the timestamp. `state_size` is ignored: the size comes from the payload.
    pub metadata: Metadata,
    /// The status of the run at this checkpoint. `None`: unknown.
    pub status: Option<Status>,
    /// If given, the newest checkpoint of the run must have this id. Otherwise the save fails with
    /// [`Code::Conflict`](crate::error::Code::Conflict).
    pub expected_newest: Option<String>,
    /// The id of the checkpoint that this checkpoint was forked from.
    pub parent: Option<String>,
    /// Says who made the checkpoint. `ts/store/mark.ts` writes and reads it.
    pub mark: Option<String>,
    pub state: Part,
    /// The rest of the checkpoint, serialized.
    pub rest: Part,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
}

/// `save`: stores a checkpoint. It replaces a checkpoint with the same id.
pub fn save(save: Save) -> Result<Unit> {
    let Save { metadata, status, expected_newest, parent, mark, state, rest, saved_at } = save;
    for (what, id) in [
        ("checkpoint.id", &metadata.id),
        ("checkpoint.runId", &metadata.run_id),
        ("checkpoint.graphId", &metadata.graph_id),
        ("checkpoint.nodeId", &metadata.node_id),
    ] {
        check_id(what, id)?;
    }
    if !metadata.timestamp.is_finite() {
        return Err(Error::invalid(format!(
            "checkpoint {:?}: checkpoint.timestamp is not finite: give milliseconds since the epoch",
            metadata.id
        )));
    }
    let state_size = state.bytes.len() as u64;
    let expect = expected_newest.map(|newest| Expect::Newest {
        contract: CONTRACT_ID,
        lineage: metadata.run_id.clone(),
        newest: Some(newest),
        or: metadata.id.clone(),
    });
    let header = Header {
        parent,
        group: metadata.graph_id,
        label: metadata.node_id,
        sort_key: SortKey::from_f64(metadata.timestamp),
        saved_at,
        meta: meta::encode(state_size, metadata.has_memory_snapshot, metadata.timestamp, status, mark.as_deref()),
        ..Header::new(CONTRACT_ID, metadata.run_id, metadata.id)
    };
    Ok(Unit { expect: expect.into_iter().collect(), ops: vec![Op::put(header, vec![state, rest])] })
}

/// `fork` without a patch: stores a copy of a checkpoint under a new id, as the first checkpoint of a new run.
pub fn fork(source: String, id: String, run_id: String, timestamp: f64, saved_at: i64) -> Result<Unit> {
    check_id("the fork's id", &id)?;
    check_id("the fork's runId", &run_id)?;
    if !timestamp.is_finite() {
        return Err(Error::invalid("the fork's timestamp is not finite: give milliseconds since the epoch"));
    }
    let sort_key = SortKey::from_f64(timestamp);
    let fork = Fork { contract: CONTRACT_ID, source, id, lineage: run_id, sort_key, saved_at };
    Ok(vec![Op::Fork(Box::new(fork))].into())
}

/// `delete`: removes a checkpoint.
pub fn delete(checkpoint_id: String) -> Unit {
    vec![Op::Remove { contract: CONTRACT_ID, id: checkpoint_id }].into()
}

/// `clear`: removes all checkpoints of a run.
pub fn clear(run_id: String) -> Unit {
    vec![Op::RemoveFrom { contract: CONTRACT_ID, lineage: run_id, sort_key: SortKey::default() }].into()
}

/// `get`: reads a checkpoint by its id.
pub fn get(checkpoint_id: String) -> Query {
    Query::Get { contract: CONTRACT_ID, id: checkpoint_id }
}

/// `load`: reads the newest checkpoint of a node in a run. Without a node, this is `latest`: it reads the newest
/// checkpoint of the run.
pub fn load(run_id: String, node_id: Option<String>) -> Query {
    Query::Newest { contract: CONTRACT_ID, lineage: run_id, label: node_id }
}

/// `list` and `listByRun`: lists checkpoints. The newest checkpoint comes first.
pub fn list(of: Of, limit: Option<usize>) -> Query {
    Query::List { contract: CONTRACT_ID, of, before: None, limit }
}

/// `runs`: lists runs. The run that began last comes first. Only runs whose graph id begins with the prefix are listed.
pub fn runs(graph_id_prefix: String, before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { contract: CONTRACT_ID, group_prefix: graph_id_prefix, before, limit }
}

/// Lists the runs that were forked from a checkpoint of this run. The fork that was made last comes first.
pub fn forks(run_id: String) -> Query {
    Query::Forks { contract: CONTRACT_ID, lineage: run_id }
}

/// Converts a header into the metadata that listings show.
pub fn metadata(header: Header) -> Result<Metadata> {
    let ordered = header.sort_key.split_f64().map(|(timestamp, _)| timestamp);
    let Some((ordered, (state_size, has_memory_snapshot, negative_zero))) = ordered.zip(meta::decode(&header.meta))
    else {
        return Err(damaged(&header.id));
    };
    // 0 and -0 have the same sort key. So `meta` stores whether the timestamp is 0 or -0.
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
    let status = status(header).map(|status| match status {
        Status::Waiting => "waiting",
        Status::Failed => "failed",
        Status::Unfinished => "unfinished",
        Status::Finished => "finished",
    });
    let Metadata { graph_id, node_id, timestamp, state_size, has_memory_snapshot, .. } = metadata(header.clone())?;
    let meta = json!({ "stateSize": state_size, "hasMemorySnapshot": has_memory_snapshot });
    let (label, group) = (Some(node_id), Some(graph_id));
    Ok(Shown { label, group, at: Some(timestamp), meta: Some(meta), serialized: None, status })
}

/// Returns the status of the run at a checkpoint. `None`: the checkpoint does not tell it.
pub fn status(header: &Header) -> Option<Status> {
    meta::status(&header.meta)
}

/// Returns what a checkpoint says about who made it.
pub fn mark(header: &Header) -> Option<String> {
    meta::mark(&header.meta)
}

/// The nodes of a checkpoint, sorted by what the runtime does with each node when it resumes the run.
///
/// The nodes of each list are in the order of the checkpoint. A node that is in no list has never begun, and it runs
/// when the run is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResumePlan {
    /// Completed nodes. They do not run again: the state contains their results.
    pub completed: Vec<String>,
    /// Nodes that a routing decision bypassed. They do not run.
    pub skipped: Vec<String>,
    /// Recorded nodes with an effect that must not happen twice. These nodes do not run, and the runtime uses their
    /// recorded output.
    pub replay: Vec<String>,
    /// Recorded nodes that are safe to repeat. These nodes run again.
    pub reexecute: Vec<String>,
}

/// Sorts the nodes of a checkpoint into a resume plan.
///
/// `recorded` is `nodeResults`, as pairs of node and effect class. `visited` is `visitedNodes`, and `skipped` is
/// `skippedNodes`. If a node is in several of these lists, the first list that contains the node decides. The order of
/// the lists is: `visited`, `skipped`, `recorded`.
pub fn resume_plan(recorded: Vec<(String, String)>, visited: Vec<String>, skipped: Vec<String>) -> Result<ResumePlan> {
    let mut seen = std::collections::HashSet::new();
    let mut plan = ResumePlan::default();
    // Every effect class is checked, even if the class does not affect the plan, because an unknown class is always an
    // error.
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
    /// The effect must not happen twice.
    Once,
    /// The node may run again.
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
    use crate::error::Code;

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
    fn the_status_stands_beside_the_other_flags() {
        let statuses = [Status::Waiting, Status::Failed, Status::Unfinished, Status::Finished].map(Some);
        for status in statuses.into_iter().chain([None]) {
            let mark = status.map(|_| "{\"program\":\"\u{e9}\"}");
            let meta = meta::encode(7, true, -0.0, status, mark);
            assert_eq!(meta::mark(&meta).as_deref(), mark);
            assert_eq!(meta::status(&meta), status);
            assert_eq!(meta::decode(&meta), Some((7, true, true)));
        }
        assert_eq!(meta::status(b"short"), None);
    }

    #[test]
    fn an_unknown_effect_is_refused_and_not_guessed() {
        let recorded = vec![("node".to_owned(), "Write".to_owned())];
        let error = resume_plan(recorded, strings(["node"]), Vec::new()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("\"node\""), "{error}");
    }
}
