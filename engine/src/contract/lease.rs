//! Leases of runs. A lease lets one process at a time work on a run, and expires unless the process renews it.
//!
//! A lineage is a run that can be leased (see [`Run`]). It has one checkpoint while the run is leased, and none
//! otherwise. The payload is empty, and `meta` is a [`Holding`] as JSON, with the lineages of the run ([`Owned`]).
//! Retention removes neither a lease nor the newest checkpoint of a leased run.
//!
//! A lease has a random id, which is its checkpoint's id, and a token, which is its lineage's position. Taking a lease
//! begins the lineage again, so each lease of a run has a greater token than all earlier ones, whether or not they were
//! released, and in all processes. A renewal keeps both.

mod request;
mod run;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

use self::request::{Asked, all, ask, found, query, remove};
pub use self::request::{REQUESTS, REQUESTS_ID};
pub use self::run::Run;
use self::run::name_of;
use super::call::{RawCall, Request};
use super::entry::{Contract, Shown};
use super::fields::exact;
use super::ids::{check_id, damaged};
use super::response::Response;
use super::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::events::Heard;
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{ContractId, Header};
use crate::retention::{LEASES, Owned, is_valid};

pub const CONTRACT: Contract = Contract {
    name_of,
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("lease", CONTRACT_ID, request, |_| Ok(Shown::default()))
};
pub const CONTRACT_ID: ContractId = LEASES;

/// The holder of a lease, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
pub struct Holding {
    /// Names the process that holds the lease, for people.
    pub holder: String,
    /// The time at which the lease expires, in ms since the epoch.
    pub until: i64,
    /// The id of the run's newest checkpoint when the lease was taken.
    #[ts(type = "null | string")]
    pub from: Option<String>,
    /// The number of consecutive leases from this checkpoint. A process that crashes does not release its lease.
    pub attempts: u32,
    /// True if the process recovered other runs at the same time. Its crash is then no evidence against this run, and
    /// the next lease does not count this one in `attempts`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// True if the lease only keeps other processes from taking one. Writes without a lease are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passive: bool,
    /// True if the work since `from` was rolled back, and is not undone yet. The next holder undoes it first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

/// Serializes what a listener has heard, as the type `Heard` of `ts/bridge/native.ts`.
pub fn heard_as_json(listener: u32, heard: Heard) -> String {
    let heard = match heard {
        Heard::Works(works) => json!({ "listener": listener, "works": works }),
        Heard::Changed(lineage) => json!({ "listener": listener, "of": lineage.map(Run::of_lineage) }),
    };
    heard.to_string()
}

pub(super) fn held_still(of: &Run, id: String) -> Expect {
    let message = format!("the lease of run {} was lost: stop working on the run", quote(&of.run));
    let otherwise = Error::new(Code::Conflict, message);
    Expect::Checkpoint { contract: CONTRACT_ID, id, must: Must::BeSavedSince(i64::MIN), otherwise }
}

/// The condition that no process holds the lease of the run of a checkpoint, whose lineage is its run.
pub(super) fn unleased_run_of(space: &str, contract: ContractId, id: String) -> Expect {
    Expect::UnleasedRunOf { contract, id, prefix: Run::prefix(space, ""), except: Vec::new() }
}

/// An expired lease that a process has read.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Expired {
    pub id: String,
    /// The time at which it was taken or renewed, in ms since the epoch.
    #[serde(deserialize_with = "exact")]
    pub saved_at: i64,
}

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads the lease of a run, and the requests about it.
    Read { of: Run },
    /// Reads the store's clock. The response is a time in ms since the epoch.
    Clock {},
    /// Reads the leases of runs of one contract. The response has one entry for each run, in the order of `runs`. Null:
    /// the run has no lease.
    Held { space: String, runs: Vec<String> },
    /// Takes the lease of a run, and replaces the lease `expired`. Fails with [`Code::Conflict`] if the run has another
    /// lease.
    /// Removes the requests `done`.
    Take { of: Run, id: String, expired: Option<Expired>, holding: Holding, saved_at: i64, done: Vec<String> },
    /// Writes a lease again with a later end. Fails with [`Code::Conflict`] if the lease was lost.
    Renew { of: Run, id: String, holding: Holding, saved_at: i64 },
    /// Ends a lease, and removes the requests `done`. Does nothing with a lease that was lost.
    Release { id: String, done: Vec<String> },
    /// Reads the requests about all runs, in the order of their arrival.
    Requests {},
    /// Stores a request about a run.
    Ask { of: Run, id: String, asked: Asked, saved_at: i64 },
    /// Sets the time of a request's last sign of life. Does nothing if the request does not exist.
    Wait { id: String, saved_at: i64 },
    /// Removes requests.
    Withdraw { ids: Vec<String> },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    read: FoundLease,
    clock: i64,
    held: Vec<Option<Held>>,
    take: (),
    renew: (),
    release: (),
    requests: Vec<request::Found>,
    ask: (),
    wait: (),
    withdraw: (),
}

/// The response to [`Call::Read`].
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundLease {
    /// The time on the store's clock.
    now: i64,
    lease: Option<Lease>,
    /// The requests about the run, in the order of their arrival.
    requests: Vec<request::Found>,
}

/// A lease in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Lease {
    id: String,
    token: i64,
    saved_at: i64,
    /// False if the lease has expired.
    valid: bool,
    #[serde(flatten)]
    holding: Holding,
}

/// The holder of a lease, and the lease's end.
#[derive(Clone, Serialize, TS)]
struct Held {
    holder: String,
    until: i64,
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Read { of } => read(&of)?,
        Call::Clock {} => Request::ask(Query::Clock, |now| Response::json(&now.into_clock()?).map(Some)),
        Call::Held { space, runs } => held(&space, runs),
        Call::Take { of, id, expired, holding, saved_at, done } => {
            let mut unit = take(&of, id, expired, &holding, saved_at)?;
            unit.ops.extend(remove(done));
            Request::Apply(unit)
        }
        Call::Renew { of, id, holding, saved_at } => Request::Apply(renew(&of, id, &holding, saved_at)?),
        Call::Release { id, done } => {
            let release = Op::Remove { contract: CONTRACT_ID, id };
            Request::Apply([release].into_iter().chain(remove(done)).collect::<Vec<_>>().into())
        }
        Call::Requests {} => {
            let (query, respond) = all();
            Request::ask(query, respond)
        }
        Call::Ask { of, id, asked, saved_at } => Request::Apply(ask(&of, id, &asked, saved_at)?),
        Call::Wait { id, saved_at } => Request::Apply(vec![Op::Touch { contract: REQUESTS_ID, id, saved_at }].into()),
        Call::Withdraw { ids } => Request::Apply(remove(ids).collect::<Vec<_>>().into()),
    })
}

fn read(of: &Run) -> Result<Request> {
    let lineage = of.lineage()?;
    let start = Query::Start { contract: CONTRACT_ID, lineage: lineage.clone() };
    let lease = Query::Newest { contract: CONTRACT_ID, lineage: lineage.clone(), label: None };
    Ok(Request::ask(Query::All(vec![lease, start, Query::Clock, query(Some(lineage))]), |answer| {
        let [newest, start, now, requests] = answer.into_all()?;
        let token = start.into_starts()?.first().map_or(0, |start| start.position);
        let now = now.into_clock()?;
        let lease = newest.into_checkpoint()?.map(|checkpoint| {
            let Header { id, saved_at, meta, .. } = checkpoint.header;
            let holding = holding_in(&id, &meta)?;
            Ok::<_, Error>(Lease { valid: is_valid(saved_at, holding.until, now), holding, token, saved_at, id })
        });
        Response::json(&FoundLease { now, lease: lease.transpose()?, requests: found(requests, now)? }).map(Some)
    }))
}

/// Lists the leases of a contract, and answers with the valid leases of some runs. There are only as many leases as
/// running processes, so listing them is cheaper than a query for each run.
fn held(space: &str, runs: Vec<String>) -> Request {
    let prefix = Run::prefix(space, "");
    let of = Of::Lineages(prefix.clone());
    let list = Query::List { contract: CONTRACT_ID, of, before: None, limit: None };
    Request::ask(Query::All(vec![list, Query::Clock]), move |answer| {
        let [headers, now] = answer.into_all()?;
        let now = now.into_clock()?;
        let mut found = HashMap::new();
        for Header { lineage, id, saved_at, meta, .. } in headers.into_headers()? {
            // A damaged lease must not make a listing of runs fail.
            let Ok(Holding { holder, until, .. }) = holding_in(&id, &meta) else { continue };
            if is_valid(saved_at, until, now) {
                found.insert(lineage, Held { holder, until });
            }
        }
        let leases: Vec<_> = runs.into_iter().map(|run| found.get(&(prefix.clone() + &run))).collect();
        Response::json(&leases).map(Some)
    })
}

/// The queries for the leases of a contract's runs, whether or not they have expired.
pub(super) fn all_of(space: &str) -> impl Iterator<Item = Query> {
    let of = [Run::prefix(space, ""), Run::prefix(space, "ns")].map(Of::Lineages);
    of.into_iter().map(|of| Query::List { contract: CONTRACT_ID, of, before: None, limit: None })
}

/// Reads the answers to [`all_of`]: the ids of the leases, by their lineages.
pub(super) fn ids_in(answers: Vec<Answer>) -> Result<HashMap<String, String>> {
    let mut ids = HashMap::new();
    for answer in answers {
        ids.extend(answer.into_headers()?.into_iter().map(|Header { lineage, id, .. }| (lineage, id)));
    }
    Ok(ids)
}

fn holding_in(id: &str, meta: &[u8]) -> Result<Holding> {
    serde_json::from_slice(meta).map_err(|_| damaged(id))
}

/// Takes the lease of a run that has no lease, or whose lease `expired` has expired.
fn take(of: &Run, id: String, expired: Option<Expired>, holding: &Holding, saved_at: i64) -> Result<Unit> {
    let newest = expired.as_ref().map(|expired| expired.id.clone());
    let mut unit = Unit::from(vec![put(of, id.clone(), holding, saved_at)?]);
    unit.expect.push(Expect::Newest { contract: CONTRACT_ID, lineage: of.lineage()?, newest, or: id });
    if let Some(Expired { id, saved_at }) = expired {
        // End the lineage before beginning it again: its position is the token, which must grow.
        unit.ops.insert(0, Op::Remove { contract: CONTRACT_ID, id: id.clone() });
        unit.expect.push(Expect::Checkpoint {
            contract: CONTRACT_ID,
            id,
            must: Must::NotBeSavedSince(saved_at.saturating_add(1)),
            otherwise: Error::new(Code::Conflict, "the lease was renewed in the meantime"),
        });
    }
    Ok(unit)
}

fn renew(of: &Run, id: String, holding: &Holding, saved_at: i64) -> Result<Unit> {
    let mut unit = Unit::from(vec![put(of, id.clone(), holding, saved_at)?]);
    unit.expect.push(held_still(of, id));
    Ok(unit)
}

fn put(of: &Run, id: String, holding: &Holding, saved_at: i64) -> Result<Op> {
    check_id("the id of a lease", &id)?;
    let lineage = of.lineage()?;
    let header = Header { saved_at, exempt: true, meta: written(holding)?, ..Header::new(CONTRACT_ID, lineage, id) };
    Ok(Op::put(header, Vec::new()))
}

/// The stored form of a lease.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    holding: Holding,
    owned: Vec<Owned>,
}

/// Adds the lineages of their runs to the leases that a unit takes or renews. `owned` returns the lineages for a
/// contract's name, a run and a namespace.
pub(super) fn own(unit: &mut Unit, owned: impl Fn(&str, &str, &str) -> Vec<Owned>) -> Result<()> {
    for op in &mut unit.ops {
        let Op::Put(draft) = op else { continue };
        let header = &mut draft.header;
        if header.contract != CONTRACT_ID {
            continue;
        }
        let Run { space, run, ns } = Run::of_lineage(header.lineage.clone());
        let owned = owned(&space, &run, &ns);
        let stored = Stored { holding: holding_in(&header.id, &header.meta)?, owned };
        header.meta = written(&stored)?;
    }
    Ok(())
}

fn written(stored: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(stored).map_err(|error| Error::invalid(format!("a lease cannot be written: {error}")))
}
