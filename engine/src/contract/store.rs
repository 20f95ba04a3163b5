//! The calls that are the same for every contract: opening and closing a store, retention, statistics, checks.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::call::{RawCall, Request};
use super::effect;
use super::entry::{Contract, Names};
use super::registry::{contract_of, named};
use super::response::Response;
use super::types::CallTypes;
use crate::check::{CheckCursor, CheckPage, Counted, Finding, Severity};
use crate::error::{Result, quote};
use crate::query::{Query, RowOrder, Rows, RowsFrom};
use crate::record::{ContractId, Formats, Notice, Stats, Status};
use crate::retention::{Cursor, Prune, Pruned, Rule};

/// The name of the store's calls, instead of a contract's name.
pub(super) const NAME: &str = "store";
pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

/// The calls. A call without a contract applies to all checkpoints.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Waits until the target is open.
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
    /// Whether a run waits for a person.
    Waits {
        contract: String,
        run: String,
    },
    /// Checks the pages and the location of the store, in a second at most.
    QuickCheck {},
    /// The format of the stored data. Null for a store in memory.
    Format {},
    /// Checks one page of the stored data. `cursor` is the `next` of the previous page.
    Check {
        cursor: Option<String>,
        limit: usize,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    ready: Option<Notice>,
    close: (),
    vacuum: (),
    migrate: (),
    prune: Pruned,
    prunable: Pruned,
    stats: FoundStats,
    waits: bool,
    quick_check: FoundPage,
    format: Option<Formats>,
    check: FoundPage,
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
        Call::Waits { contract, run } => {
            let contract = named(&contract)?;
            let (contract, lineage) = (contract.id, (contract.lineage_of)(&run, ""));
            let (from, order) = (RowsFrom::End, RowOrder::NewestFirst);
            let newest = Query::Rows(Rows { contract, lineage, from, order, limit: 1, sums: false });
            Request::ask(newest, |answer| respond(&(answer.into_rows()?.status == Status::Waiting)))
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

/// The statistics of a store, or of one contract. The sizes of payloads and of records are separate.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundStats {
    checkpoints: u64,
    effect_bytes: u64,
    effects: u64,
    file_bytes: Option<u64>,
    /// The unused space in the file.
    free_bytes: Option<u64>,
    is_estimate: bool,
    largest: Vec<FoundLineage>,
    lineages: u64,
    /// The size of the log of a `SQLite` database.
    log_bytes: Option<u64>,
    logical_bytes: u64,
    record_bytes: u64,
    records: u64,
    stored_bytes: u64,
}

/// The size of a lineage, with its records. `space`, `run` and `ns` are the users' names.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundLineage {
    checkpoints: u64,
    lineage: String,
    logical_bytes: u64,
    ns: Option<String>,
    run: Option<String>,
    space: Option<&'static str>,
    stored_bytes: u64,
}

/// The response with the statistics of a store, or of one contract. Effects are counted separately.
fn stats(stats: Stats, contract: Option<ContractId>) -> Result<Option<Response>> {
    let (sizes, effects) = match contract {
        Some(contract) => (stats.of(contract), stats.of(contract.effects())),
        None => (stats.sum(|contract| !contract.is_effects()), stats.sum(ContractId::is_effects)),
    };
    let largest = stats
        .largest
        .into_iter()
        .map(|of| {
            let contract = contract_of(of.contract);
            let names = contract.map(|contract| (contract.name_of)(Some(of.lineage.clone()), None)).unwrap_or_default();
            FoundLineage {
                checkpoints: of.checkpoints,
                lineage: of.lineage,
                logical_bytes: of.logical_bytes + of.record_bytes,
                ns: names.ns,
                run: names.run,
                space: contract.map(|contract| contract.name),
                stored_bytes: of.stored_bytes + of.record_bytes,
            }
        })
        .collect();
    respond(&FoundStats {
        checkpoints: sizes.checkpoints,
        effect_bytes: effects.stored_bytes,
        effects: effects.checkpoints,
        file_bytes: stats.file_bytes,
        free_bytes: stats.free_bytes,
        is_estimate: stats.is_estimate,
        largest,
        lineages: sizes.lineages,
        log_bytes: stats.log_bytes,
        logical_bytes: sizes.logical_bytes,
        record_bytes: sizes.record_bytes,
        records: sizes.records,
        stored_bytes: sizes.stored_bytes,
    })
}

/// A page of a check.
#[derive(Serialize, TS)]
struct FoundPage {
    checked: Counted,
    /// The number of rows that all pages have verified so far.
    done: u64,
    findings: Vec<FoundFinding>,
    /// The position at which the next page begins. `None` on the last page.
    next: Option<String>,
    /// The approximate total number of rows.
    of: u64,
}

/// A problem that a check found.
#[derive(Serialize, TS)]
struct FoundFinding {
    code: &'static str,
    message: String,
    /// The place of the damage.
    #[serde(rename = "ref")]
    place: Option<FoundRef>,
    /// What the user should do about the problem.
    remedy: &'static str,
    severity: Severity,
}

/// The place of damage, with the users' names. A name is `None` if it is not known.
#[derive(Serialize, TS)]
struct FoundRef {
    /// The key of the effect, if the damage is in an effect. `id` is then `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "string | null")]
    #[expect(clippy::option_option, reason = "missing, null or a key")]
    effect: Option<Option<String>>,
    id: Option<String>,
    ns: Option<String>,
    run: Option<String>,
    space: Option<&'static str>,
}

/// The response to a page of a check.
fn checked(page: CheckPage) -> Result<Option<Response>> {
    let CheckPage { counted, findings, done, of, next } = page;
    let findings = findings.into_iter().map(finding).collect();
    respond(&FoundPage { checked: counted, done, findings, next: next.map(|next| next.0), of })
}

fn finding(finding: Finding) -> FoundFinding {
    let Finding { code, severity, message, remedy, contract, lineage, id } = finding;
    let known = contract.is_some() || lineage.is_some() || id.is_some();
    let contract = contract.and_then(contract_of);
    let stored_id = id.clone();
    let Names { run, ns, id } = match contract {
        Some(contract) => effect::names(contract, lineage, id),
        None => Names { run: lineage, ns: None, id },
    };
    let mut message = message;
    let is_effect = contract.is_some_and(|contract| contract.id.is_effects());
    if is_effect && let (Some(stored_id), Some(key), Some(run)) = (stored_id, &id, &run) {
        let named = format!("the effect {} of run {}", quote(key), quote(run));
        message = message.replace(&format!("checkpoint {stored_id:?}"), &named);
    }
    let (effect, id) = if is_effect { (Some(id), None) } else { (None, id) };
    let place = known.then(|| FoundRef { effect, id, ns, run, space: contract.map(Contract::space) });
    FoundFinding { code: code.name(), message, place, remedy, severity }
}
