//! An entry of the list of contracts, and the users' names of stored data.

use serde::Deserialize;

use super::call::{RawCall, Request, Tool};
use super::ids::damaged;
use super::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::Unit;
use crate::query::LogRange;
use crate::record::{ContractId, Header, Part, Write};

/// A contract, for the code that all contracts share.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The name of the contract in calls.
    pub name: &'static str,
    /// The users' word for a run.
    pub noun: &'static str,
    /// The id that is stored with the contract's checkpoints.
    pub id: ContractId,
    /// The contract with the lineage that a run has from beginning to end. Its position is the run's incarnation.
    pub(super) anchor: ContractId,
    /// Reads a call and returns the request to the engine.
    pub request: fn(RawCall<'_>) -> Result<Request>,
    /// The TypeScript types of its calls.
    pub(super) call_types: CallTypes,
    /// The contract's tool, which works without a store.
    pub tool: Option<ToolMaker>,
    /// Converts the engine's names of a lineage and a checkpoint into the users' names. A name is `None` if it is not
    /// known.
    pub name_of: fn(Option<String>, Option<String>) -> Names,
    /// Converts the users' names of a run into the engine's name of the lineage. The namespace is empty if the contract
    /// has none.
    pub lineage_of: fn(run: &str, ns: &str) -> String,
    /// Converts the users' names of a run and a checkpoint into the engine's id of the checkpoint.
    pub id_of: fn(run: &str, ns: &str, id: &str) -> String,
    /// Reads the fields of a header that people see.
    pub show: fn(&Header) -> Result<Shown>,
    /// Returns the users' name of a checkpoint, if `name_of` cannot.
    pub(super) shown_id: Option<fn(&Header) -> Option<String>>,
    /// True if a run has a namespace for each of its subgraphs. The run itself has the empty one.
    pub(super) subgraphs: bool,
    /// True if the only checkpoint of a run is the run itself.
    pub(super) single: bool,
    /// Returns the records of a checkpoint by its engine id. `None`: the contract has no records.
    pub(super) records_of: Option<fn(run: &str, ns: &str, key: &str) -> LogRange>,
    /// Separates the paths of tasks from the writes that hold them. `None`: there are no paths.
    pub(super) take_paths: Option<TakePaths>,
    /// Removes a run with all its data. `None`: the run has only checkpoints.
    pub(super) remove: Option<fn(run: &str, ns: &str) -> Unit>,
}

impl Contract {
    /// A contract without tools that uses the engine's names unchanged.
    pub(super) const fn new(
        name: &'static str,
        id: ContractId,
        request: fn(RawCall<'_>) -> Result<Request>,
        show: fn(&Header) -> Result<Shown>,
    ) -> Self {
        Self {
            name,
            noun: "run",
            id,
            anchor: id,
            request,
            call_types: CallTypes::NONE,
            tool: None,
            name_of: |lineage, id| Names { run: lineage, ns: None, id },
            lineage_of: |run, _| run.to_owned(),
            id_of: |_, _, id| id.to_owned(),
            show,
            shown_id: None,
            subgraphs: false,
            single: false,
            records_of: None,
            take_paths: None,
            remove: None,
        }
    }

    /// The contract for the effects of this contract's runs. `name` is its name in calls and in folders.
    pub(super) const fn effects(&self, name: &'static str) -> Self {
        Self {
            noun: self.noun,
            anchor: self.anchor,
            name_of: self.name_of,
            lineage_of: self.lineage_of,
            id_of: self.id_of,
            ..Self::new(
                name,
                self.id.effects(),
                |_| Err(Error::invalid("effects have no calls of this name: please report this")),
                shown_effect,
            )
        }
    }

    /// The name of the framework that the checkpoints belong to.
    pub fn space(&self) -> &'static str {
        // The name of a contract for data of runs begins with the name of the runs' contract.
        self.name.split_once('/').map_or(self.name, |(space, _)| space)
    }

    /// True if the checkpoints are other data of another contract's runs: neither the runs' checkpoints nor effects.
    pub(super) fn is_beside(&self) -> bool {
        self.name != self.space() && !self.id.is_effects()
    }
}

/// Shows an effect in a listing: its `meta` is JSON.
fn shown_effect(header: &Header) -> Result<Shown> {
    let meta = serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))?;
    Ok(Shown { meta: Some(meta), ..Shown::default() })
}

/// The visible fields of a checkpoint. Reading them needs no payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// A name of the checkpoint: the node, the step or the status.
    pub label: Option<String>,
    /// The group of the run: its graph.
    pub group: Option<String>,
    /// The contract's own time, in ms since the epoch.
    pub at: Option<f64>,
    /// The contract's metadata, as a JSON object.
    pub meta: Option<serde_json::Value>,
    /// The metadata, if only the contract's serializer can read it.
    pub serialized: Option<Part>,
    /// The program that made the checkpoint.
    pub maker: Maker,
    /// The mark of the checkpoint, if it says more than the shape: see `ts/store/mark.ts`.
    pub mark: Option<String>,
}

/// The program of a checkpoint, if the checkpoint records it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Maker {
    /// Its name.
    pub program: Option<String>,
    /// The hash of its shape, from `ts/store/compare-programs.ts`.
    pub shape: Option<String>,
}

impl Maker {
    /// Reads a mark, which `ts/store/mark.ts` writes.
    pub(super) fn in_mark(mark: &str) -> Self {
        serde_json::from_str(mark).unwrap_or_default()
    }
}

/// The users' names of a run, its namespace and a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The id of the run, thread or session.
    pub run: Option<String>,
    /// The namespace in the run, if the contract has namespaces.
    pub ns: Option<String>,
    pub id: Option<String>,
}

/// Returns the writes of tasks, each with its task's path.
pub(super) type TakePaths = fn(Vec<Write>) -> Vec<(Write, Option<String>)>;

/// Makes a contract's tools.
#[derive(Clone, Copy, Debug)]
pub struct ToolMaker {
    /// Makes a tool. The argument, in JSON, selects the tool.
    pub(super) make: fn(&str) -> Result<Box<dyn Tool>>,
    /// The TypeScript types of the selecting argument, of the tool's calls and of its answers.
    pub(super) types: CallTypes,
}
