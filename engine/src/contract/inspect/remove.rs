//! Removes runs and checkpoints.

use serde::Deserialize;
use ts_rs::TS;

use super::super::registry::named;
use super::super::thread;
use crate::error::Result;
use crate::op::{Op, Unit};
use crate::record::SortKey;

/// Names a run.
#[derive(Clone, Debug, Deserialize, TS)]
pub(super) struct Key {
    space: String,
    run: String,
    ns: String,
}

/// Removes a run, or some of its checkpoints. The writes to the checkpoints in `reopen` become pending again.
pub(super) fn remove(key: &Key, ids: Option<Vec<String>>, reopen: Vec<String>) -> Result<Unit> {
    let contract = named(&key.space)?;
    // A session's only checkpoint is the session itself.
    let Some(ids) = ids.filter(|_| !contract.single) else {
        return Ok(match contract.remove {
            Some(remove) => remove(&key.run, &key.ns),
            None if contract.subgraphs && key.ns.is_empty() => thread::remove(contract.id, &key.run),
            None => {
                let (contract, lineage) = (contract.id, (contract.lineage_of)(&key.run, &key.ns));
                vec![Op::RemoveFrom { contract, lineage, sort_key: SortKey::default() }].into()
            }
        });
    };
    let id = |id: String| (contract.id_of)(&key.run, &key.ns, &id);
    let removed = ids.into_iter().map(|one| Op::Remove { contract: contract.id, id: id(one) });
    let reopened = reopen.into_iter().map(|one| Op::Reopen { contract: contract.id, id: id(one) });
    Ok(removed.chain(reopened).collect::<Vec<_>>().into())
}
