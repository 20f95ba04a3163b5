//! The only list of contracts.

use super::entry::Contract;
use super::{
    agentium, agentos, ai, claude_agent_sdk, helix, langgraph, lease, mastra, mcp, openai_agents, program, tinyagents,
};
use crate::error::{Error, Result};
use crate::record::ContractId;

pub const CONTRACTS: [Contract; 26] = [
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
    lease::REQUESTS,
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
    mcp::EVENTS,
    mcp::TASKS,
    mcp::QUEUES,
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

/// The ids of these contracts.
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

/// The contracts that a copy of a store leaves out, because their data belongs to running processes.
pub const NOT_COPIED: [ContractId; 2] = [lease::CONTRACT_ID, lease::REQUESTS_ID];

/// The lineage of a run: see [`Contract::lineage_of`].
pub fn lineage_of(contract: &str, run: &str, ns: &str) -> Result<(ContractId, String)> {
    let contract = named(contract)?;
    Ok((contract.id, (contract.lineage_of)(run, ns)))
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

#[cfg(test)]
mod tests {
    use super::CONTRACTS;
    use crate::contract::thread;

    #[test]
    fn retention_knows_whose_lineages_are_namespaces() {
        for contract in CONTRACTS {
            assert_eq!(contract.id.has_namespaces(), contract.subgraphs, "{}", contract.name);
            if contract.subgraphs {
                assert_eq!((contract.lineage_of)("a:1", ""), thread::prefix("a:1"));
                assert_eq!((contract.lineage_of)("a:1", "node"), thread::prefix("a:1") + "node");
            }
        }
    }
}
