//! The tool that makes a resume plan for the nodes of a checkpoint.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{Tool, read_json};
use crate::contract::entry::ToolMaker;
use crate::contract::response::Response;
use crate::contract::types::CallTypes;
use crate::error::{Error, Result};

struct ResumePlanner;

/// The tools of the contract.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Which {
    ResumePlanner {},
}

pub(super) const TOOL: ToolMaker = ToolMaker { make: tool, types: CallTypes::tool::<Which, Nodes, ResumePlan>() };

fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::ResumePlanner {} = read_json(which)?;
    Ok(Box::new(ResumePlanner))
}

/// The nodes of a checkpoint. If a node is in several lists, the order `visited`, `skipped`, `recorded` decides.
#[derive(Deserialize, TS)]
#[serde(deny_unknown_fields)]
struct Nodes {
    /// `nodeResults`, as pairs of a node and its effect class.
    recorded: Vec<(String, String)>,
    /// `visitedNodes`.
    visited: Vec<String>,
    /// `skippedNodes`.
    skipped: Vec<String>,
}

/// The nodes of a checkpoint, sorted by the runtime's action on resume.
///
/// Each list is in the order of the checkpoint. A node in no list has never begun, and runs on resume.
/// when the run is resumed.
#[derive(Default, Serialize, TS)]
struct ResumePlan {
    /// Completed nodes. They do not run again: the state contains their results.
    completed: Vec<String>,
    /// Nodes that the routing bypassed. They do not run.
    skipped: Vec<String>,
    /// Recorded nodes with an effect that must not happen twice. They do not run: the runtime uses their recorded
    /// output.
    replay: Vec<String>,
    /// Recorded nodes that are safe to repeat. These nodes run again.
    reexecute: Vec<String>,
}

impl Tool for ResumePlanner {
    fn call(&mut self, call: &str) -> Result<Response> {
        let Nodes { recorded, visited, skipped } = read_json(call)?;
        // Check every effect class, even if it does not affect the plan: an unknown class is always an error.
        let recorded: Vec<_> =
            recorded.into_iter().map(|(node, class)| Ok((is_once(&node, &class)?, node))).collect::<Result<_>>()?;
        let mut seen = HashSet::new();
        let mut plan = ResumePlan::default();
        plan.completed.extend(visited.into_iter().filter(|node| seen.insert(node.clone())));
        plan.skipped.extend(skipped.into_iter().filter(|node| seen.insert(node.clone())));
        for (once, node) in recorded {
            if seen.insert(node.clone()) {
                if once { plan.replay.push(node) } else { plan.reexecute.push(node) }
            }
        }
        Response::json(&plan)
    }
}

/// Returns true if the effect of a node must not happen twice.
fn is_once(node: &str, class: &str) -> Result<bool> {
    match class {
        "write" | "external" | "human" => Ok(true),
        "pure" | "read" => Ok(false),
        other => Err(Error::invalid(format!(
            "nodeResults[{node:?}].effectClass is {other:?}: it must be \"pure\", \"read\", \"write\", \"external\" or \
             \"human\""
        ))),
    }
}
