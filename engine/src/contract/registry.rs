//! The only list of contracts.

use super::effect;
use super::entry::{Contract, Names};
use super::{
    agentium, agentos, ai, claude_agent_sdk, helix, langgraph, lease, mastra, openai_agents, program, tinyagents,
};
use crate::error::{Error, Result, quote};
use crate::record::ContractId;

pub const CONTRACTS: [Contract; 22] = [
    agentos::CONTRACT,
    agentium::CONTRACT,
    agentium::storage::CONTRACT,
    langgraph::CONTRACT,
    langgraph::store::CONTRACT,
    langgraph::cache::CONTRACT,
    helix::CONTRACT,
    helix::SESSIONS,
    tinyagents::CONTRACT,
    lease::CONTRACT,
    program::CONTRACT,
    claude_agent_sdk::CONTRACT,
    openai_agents::SESSIONS,
    openai_agents::STATES,
    mastra::CONTRACT,
    mastra::MESSAGES,
    mastra::THREADS,
    mastra::RESOURCES,
    ai::CHATS,
    ai::ROWS,
    ai::APPROVALS,
    ai::STREAMS,
];

/// The contracts of the effects of runs: see `effect.rs`.
const OF_EFFECTS: [Contract; 7] = [
    agentos::CONTRACT.effects("agentos/effects"),
    agentium::CONTRACT.effects("agentium/effects"),
    langgraph::CONTRACT.effects("langgraph/effects"),
    helix::CONTRACT.effects("helix/effects"),
    tinyagents::CONTRACT.effects("tinyagents/effects"),
    openai_agents::EFFECTS,
    mastra::CONTRACT.effects("mastra/effects"),
];

/// Their ids.
pub const EFFECTS: [ContractId; OF_EFFECTS.len()] = {
    let mut ids = [ContractId(0); OF_EFFECTS.len()];
    let mut at = 0;
    while at < ids.len() {
        ids[at] = OF_EFFECTS[at].id;
        at += 1;
    }
    ids
};

pub const NAMES: [(ContractId, &str); CONTRACTS.len() + OF_EFFECTS.len()] = {
    let mut names = [(ContractId(0), ""); CONTRACTS.len() + OF_EFFECTS.len()];
    let mut at = 0;
    while at < names.len() {
        let contract = if at < CONTRACTS.len() { &CONTRACTS[at] } else { &OF_EFFECTS[at - CONTRACTS.len()] };
        names[at] = (contract.id, contract.name);
        at += 1;
    }
    names
};

/// The contracts whose data a copy of a store leaves out, because they belong to living processes.
pub const NOT_COPIED: [ContractId; 1] = [lease::CONTRACT_ID];

/// The lineage that holds a run of a contract: see [`Contract::lineage_of`].
pub fn lineage_of(contract: &str, run: &str, ns: &str) -> Result<(ContractId, String)> {
    let contract = named(contract)?;
    Ok((contract.id, (contract.lineage_of)(run, ns)))
}

/// Names a lineage, or a checkpoint with its run, as the users of the contract do: see [`names`](crate::names).
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

pub(super) fn contract_of(id: ContractId) -> Option<&'static Contract> {
    const { &CONTRACTS }.iter().chain(const { &OF_EFFECTS }).find(|contract| contract.id == id)
}

pub(super) fn named(name: &str) -> Result<&'static Contract> {
    const { &CONTRACTS }
        .iter()
        .chain(const { &OF_EFFECTS })
        .find(|contract| contract.name == name)
        .ok_or_else(|| Error::invalid(format!("there is no framework {name:?}: please report this")))
}
