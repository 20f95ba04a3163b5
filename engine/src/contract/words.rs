//! Names of runs and checkpoints for messages.

use super::effect;
use super::entry::Names;
use super::registry::contract_of;
use crate::error::quote;
use crate::record::ContractId;

/// Names a lineage, or a checkpoint and its run, in the users' words: see [`names`](crate::names).
pub fn words(contract: ContractId, lineage: Option<&str>, id: Option<&str>) -> String {
    let found = contract_of(contract);
    let noun = found.map_or("run", |contract| contract.noun);
    let (lineage, id) = (lineage.map(str::to_owned), id.map(str::to_owned));
    let Names { run, ns, id } = match found {
        Some(contract) => effect::names(contract, lineage, id),
        None => Names { run: lineage, ns: None, id },
    };
    let run = run.map(|run| match ns.as_deref() {
        None | Some("") => format!("{noun} {}", quote(&run)),
        Some(ns) => format!("{noun} {}, namespace {}", quote(&run), quote(ns)),
    });
    let id = id.map(|id| format!("{} {}", if contract.is_effects() { "effect" } else { "checkpoint" }, quote(&id)));
    match (id, run) {
        (Some(id), Some(run)) => format!("{id} of {run}"),
        (id, run) => id.or(run).unwrap_or_else(|| format!("a {noun}")),
    }
}
