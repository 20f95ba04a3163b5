//! The calls of the saved states of runs.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{Buffers, PartName, RawCall, Request};
use crate::contract::effect::stored as effect;
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::lease::Run;
use crate::contract::response::{PackedPart, Response};
use crate::contract::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::{Op, Unit};
use crate::query::{ActivityOrder, Query, Recent};
use crate::record::{ContractId, Header, Labels, SortKey, Status};

pub const STATES_ID: ContractId = ContractId(12);
pub const STATES: Contract = Contract {
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("openai-agents-states", STATES_ID, request, show)
};
/// The contract for the taking of states.
pub const EFFECTS: Contract = STATES.effects("openai-agents-states/effects");

/// The calls. [`Call::Save`] and [`Call::Remove`] fail with
/// [`Code::Conflict`](crate::error::Code::Conflict) if another process has taken the state `taken`.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Saves a state. The buffer is the part. `taken` is stored as ended.
    Save {
        run: String,
        id: String,
        meta: Meta,
        status: Status,
        part: PartName,
        saved_at: i64,
        taken: Option<effect::Write>,
    },
    /// Reads the last saved state of a run, and the effects of the run.
    Newest { run: String },
    /// Removes a run.
    Remove { run: String, taken: Option<effect::Write> },
    /// Lists the runs, the last saved first. `before` is the cursor of the last run on the previous page.
    Runs { before: Option<i64>, limit: usize },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    newest: Option<FoundState>,
    remove: (),
    runs: Vec<FoundRun>,
}

/// A saved state.
#[derive(Serialize, TS)]
struct FoundState {
    id: String,
    session: Option<String>,
    parts: Vec<PackedPart>,
    /// The effects of the run, and the time on the store's clock.
    #[serde(flatten)]
    effects: effect::Effects,
}

/// A run in a listing.
#[derive(Serialize, TS)]
struct FoundRun {
    /// The position after which the next page begins.
    cursor: String,
    run: String,
    session: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(deny_unknown_fields)]
struct Meta {
    /// The id of the session that the run belongs to.
    session: Option<String>,
}

impl Meta {
    fn read(header: &Header) -> Result<Self> {
        serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))
    }
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = STATES_ID;
    Ok(match call {
        Call::Save { run, id, meta, status, part, saved_at, taken } => {
            check_id("runId", &run)?;
            let mut unit = taken
                .map(|taken| taken.unit(&EFFECTS, &mut Buffers::from(Vec::new())))
                .transpose()?
                .unwrap_or_default();
            let meta = serde_json::to_vec(&meta)
                .map_err(|error| Error::invalid(format!("the state cannot be written: {error}")))?;
            let header = Header { saved_at, status, meta, ..Header::new(contract, run, id) };
            unit.ops.push(Op::put(header, buffers.parts(vec![part])?));
            Request::Apply(unit)
        }
        Call::Newest { run } => {
            let of = Run { space: STATES.name.to_owned(), run: run.clone(), ns: String::new() };
            let newest = Query::Newest { contract, lineage: run, label: None };
            Request::ask(Query::All(vec![newest, effect::list_query(&EFFECTS, &of)]), |answer| {
                let [newest, effects] = answer.into_all()?;
                Response::one(newest.into_checkpoint()?, |found, response| {
                    let session = Meta::read(&found.header)?.session;
                    let (parts, effects) = (response.parts(found.payload), effect::listed(effects)?);
                    Ok(FoundState { id: found.header.id, session, parts, effects })
                })
            })
        }
        Call::Remove { run, taken } => {
            let taken = taken
                .map(|taken| taken.unit(&EFFECTS, &mut Buffers::from(Vec::new())))
                .transpose()?
                .unwrap_or_default();
            let removed = Op::RemoveFrom { contract, lineage: run, sort_key: SortKey::default() };
            Request::Apply(Unit { expect: taken.expect, ops: vec![removed] })
        }
        Call::Runs { before, limit } => {
            let recent = Recent {
                contracts: vec![contract],
                named_as_group: false,
                matching: String::new(),
                statuses: Vec::new(),
                labels: Labels::default(),
                order: ActivityOrder::LatestFirst,
                after: before,
                limit,
            };
            Request::ask(Query::Recent(recent), |answer| {
                Response::list(answer.into_recent()?, |found, _| {
                    let newest = found.newest;
                    let session = Meta::read(&newest)?.session;
                    Ok(FoundRun { cursor: found.seq.to_string(), run: newest.lineage, session })
                })
            })
        }
    })
}

/// A session is the group of its runs.
fn show(header: &Header) -> Result<Shown> {
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    Ok(Shown { group: Meta::read(header)?.session, at, ..Shown::default() })
}
