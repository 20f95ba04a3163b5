//! The calls that are the same for every contract: opening and closing a store, retention, statistics, checks.

use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

use super::call::{RawCall, Request};
use super::effect;
use super::entry::{Contract, Names};
use super::registry::{contract_of, named};
use super::response::Response;
use super::types::CallTypes;
use crate::check::{CheckCursor, CheckPage, Counted, Finding};
use crate::error::{Result, quote};
use crate::query::Query;
use crate::record::{ContractId, Stats};
use crate::retention::{Cursor, Prune, Rule};

/// The name of the store's calls, instead of a contract's name.
pub(super) const NAME: &str = "store";
pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call>();

/// The calls: see `ts/bridge/wire.ts`. A call without a contract applies to all checkpoints.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Ready {},
    Close {},
    Vacuum {},
    /// Upgrades stored data of an older format.
    Migrate {},
    Prune {
        contract: Option<String>,
        rule: Rule,
        cursor: Option<Cursor>,
        most: usize,
    },
    Prunable {
        contract: Option<String>,
        rules: Vec<Rule>,
    },
    Stats {
        contract: Option<String>,
        largest: usize,
    },
    /// Checks the pages and the location of the store, in a second at most.
    QuickCheck {},
    Format {},
    /// Checks one page of the stored data. `cursor` is the `next` of the previous page.
    Check {
        cursor: Option<String>,
        limit: usize,
    },
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Ready {} => Request::Ready,
        Call::Close {} => Request::Close,
        Call::Migrate {} => Request::Migrate,
        Call::Vacuum {} => Request::Vacuum,
        Call::Prune { contract, rule, cursor, most } => {
            Request::Prune(Prune { contract: optional_id(contract)?, rule, cursor: cursor.unwrap_or_default(), most })
        }
        Call::Prunable { contract, rules } => {
            Request::ask(Query::Prunable { contract: optional_id(contract)?, rules }, |answer| {
                respond(&answer.into_pruned()?)
            })
        }
        Call::Stats { contract, largest } => {
            let contract = optional_id(contract)?;
            let query = Query::Stats { contract, largest, by_status: false };
            Request::ask(query, move |answer| stats(answer.into_stats()?, contract))
        }
        Call::Format {} => Request::ask(Query::Format, |answer| respond(&answer.into_format()?)),
        Call::QuickCheck {} => Request::ask(Query::QuickCheck, |answer| checked(answer.into_checked()?)),
        Call::Check { cursor, limit } => Request::Check(CheckCursor(cursor.unwrap_or_default()), limit, checked),
    })
}

fn optional_id(contract: Option<String>) -> Result<Option<ContractId>> {
    contract.map(|name| Ok(named(&name)?.id)).transpose()
}

fn respond(value: &impl Serialize) -> Result<Option<Response>> {
    Response::json(value).map(Some)
}

/// The response with the statistics of a store, or of one contract. Effects are counted separately.
fn stats(stats: Stats, contract: Option<ContractId>) -> Result<Option<Response>> {
    let (sizes, effects) = match contract {
        Some(contract) => (stats.of(contract), stats.of(contract.effects())),
        None => (stats.sum(|contract| !contract.is_effects()), stats.sum(ContractId::is_effects)),
    };
    let largest: Vec<_> = stats
        .largest
        .into_iter()
        .map(|of| {
            let contract = contract_of(of.contract);
            let names = contract.map(|contract| (contract.name_of)(Some(of.lineage.clone()), None)).unwrap_or_default();
            json!({
                "space": contract.map(|contract| contract.name),
                "run": names.run,
                "ns": names.ns,
                "lineage": of.lineage,
                "checkpoints": of.checkpoints,
                "logicalBytes": of.logical_bytes + of.record_bytes,
                "storedBytes": of.stored_bytes + of.record_bytes,
            })
        })
        .collect();
    respond(&json!({
        "checkpoints": sizes.checkpoints,
        "lineages": sizes.lineages,
        "logicalBytes": sizes.logical_bytes,
        "storedBytes": sizes.stored_bytes,
        "records": sizes.records,
        "recordBytes": sizes.record_bytes,
        "effects": effects.checkpoints,
        "effectBytes": effects.stored_bytes,
        "isEstimate": stats.is_estimate,
        "fileBytes": stats.file_bytes,
        "logBytes": stats.log_bytes,
        "freeBytes": stats.free_bytes,
        "largest": largest,
    }))
}

/// The response to a page of a check.
fn checked(page: CheckPage) -> Result<Option<Response>> {
    let CheckPage { counted, findings, done, of, next } = page;
    let Counted { checkpoints, payloads, writes, records } = counted;
    respond(&json!({
        "checked": { "checkpoints": checkpoints, "payloads": payloads, "writes": writes, "records": records },
        "findings": findings.into_iter().map(finding).collect::<Vec<_>>(),
        "done": done,
        "of": of,
        "next": next.map(|next| next.0),
    }))
}

fn finding(finding: Finding) -> serde_json::Value {
    let Finding { code, severity, message, remedy, contract, lineage, id } = finding;
    let known = contract.is_some() || lineage.is_some() || id.is_some();
    let contract = contract.and_then(contract_of);
    let stored_id = id.clone();
    let Names { run, ns, id } = match contract {
        Some(contract) => effect::names(contract, lineage, id),
        None => Names { run: lineage, ns: None, id },
    };
    let mut message = message;
    let mut reference = json!({ "space": contract.map(Contract::space), "run": run, "ns": ns, "id": id });
    if contract.is_some_and(|contract| contract.id.is_effects()) {
        reference["id"] = serde_json::Value::Null;
        reference["effect"] = json!(id);
        if let (Some(stored_id), Some(key), Some(run)) = (stored_id, id, run) {
            let named = format!("the effect {} of run {}", quote(&key), quote(&run));
            message = message.replace(&format!("checkpoint {stored_id:?}"), &named);
        }
    }
    json!({
        "code": code.name(),
        "severity": severity.name(),
        "message": message,
        "remedy": remedy,
        "ref": known.then_some(reference),
    })
}
