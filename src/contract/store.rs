//! The calls that every store has, whatever the contract: opening, closing, and what concerns all checkpoints or those of
//! one contract.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::call::{RawCall, Request};
use super::response::Response;
use super::space_of;
use crate::error::Result;
use crate::query::{Answer, Query};
use crate::record::Space;
use crate::retention::{Cursor, Prune, Rule};

/// The name by which these calls go.
pub(super) const NAME: &str = "store";

/// The calls, as `ts/wire.ts` declares them. Without a contract they are about all checkpoints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Ready {},
    Close {},
    Vacuum {},
    Prune { contract: Option<String>, rule: Rule, cursor: Option<Cursor>, most: usize },
    Prunable { contract: Option<String>, rules: Vec<Rule> },
    Stats { contract: Option<String>, largest: usize },
}

/// What a call asks of the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Ready {} => Request::Ready,
        Call::Close {} => Request::Close,
        Call::Vacuum {} => Request::Vacuum,
        Call::Prune { contract, rule, cursor, most } => {
            Request::Prune(Prune { space: space(contract)?, rule, cursor: cursor.unwrap_or_default(), most })
        }
        Call::Prunable { contract, rules } => {
            Request::Ask(Query::Prunable { space: space(contract)?, rules }, |answer| respond(&answer.into_pruned()?))
        }
        Call::Stats { contract, largest } => Request::Ask(Query::Stats { space: space(contract)?, largest }, stats),
    })
}

fn space(contract: Option<String>) -> Result<Option<Space>> {
    contract.map(|name| space_of(&name)).transpose()
}

fn respond(value: &impl Serialize) -> Result<Option<Response>> {
    Response::json(value).map(Some)
}

fn stats(answer: Answer) -> Result<Option<Response>> {
    let stats = answer.into_stats()?;
    let largest: Vec<_> = stats
        .largest
        .into_iter()
        .map(|of| {
            json!({
                "lineage": of.lineage,
                "checkpoints": of.checkpoints,
                "logicalBytes": of.logical_bytes,
                "storedBytes": of.stored_bytes,
            })
        })
        .collect();
    respond(&json!({
        "checkpoints": stats.checkpoints,
        "lineages": stats.lineages,
        "logicalBytes": stats.logical_bytes,
        "storedBytes": stats.stored_bytes,
        "fileBytes": stats.file_bytes,
        "largest": largest,
    }))
}
