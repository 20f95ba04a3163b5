//! Removes runs and checkpoints.

use serde::Deserialize;

use super::super::call::Request;
use super::super::registry::named;
use super::super::{ai, claude_agent_sdk, helix, langgraph, mastra, openai_agents, thread, tinyagents};
use crate::error::Result;
use crate::op::Op;
use crate::record::SortKey;

/// Names a run.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    space: String,
    run: String,
    ns: String,
}

/// Removes a run, or some of its checkpoints. The writes to the checkpoints in `reopen` become pending again.
pub(super) fn remove(key: &Key, ids: Option<Vec<String>>, reopen: Vec<String>) -> Result<Request> {
    let contract = named(&key.space)?;
    // The only checkpoint of a session is the session.
    let ids = ids.filter(|_| {
        ![ai::STREAMS_ID, claude_agent_sdk::CONTRACT_ID, openai_agents::SESSIONS_ID].contains(&contract.id)
    });
    let Some(ids) = ids else {
        return Ok(Request::Apply(match contract.id {
            ai::CHATS_ID => ai::delete(&key.run),
            ai::STREAMS_ID => ai::remove_stream(key.run.clone()),
            helix::CONTRACT_ID => helix::delete(key.run.clone()),
            claude_agent_sdk::CONTRACT_ID => claude_agent_sdk::delete((contract.lineage_of)(&key.run, &key.ns)),
            openai_agents::SESSIONS_ID => openai_agents::delete(key.run.clone()),
            id if id == mastra::MESSAGES.id => mastra::delete(&key.run),
            langgraph::CONTRACT_ID | tinyagents::CONTRACT_ID if key.ns.is_empty() => {
                thread::remove(contract.id, &key.run)
            }
            _ => {
                let (contract, lineage) = (contract.id, (contract.lineage_of)(&key.run, &key.ns));
                vec![Op::RemoveFrom { contract, lineage, sort_key: SortKey::default() }].into()
            }
        }));
    };
    let id = |id: String| (contract.id_of)(&key.run, &key.ns, &id);
    let removed = ids.into_iter().map(|one| Op::Remove { contract: contract.id, id: id(one) });
    let reopened = reopen.into_iter().map(|one| Op::Reopen { contract: contract.id, id: id(one) });
    Ok(Request::Apply(removed.chain(reopened).collect::<Vec<_>>().into()))
}
