//! Leases of runs: a lease lets one process at a time work on a run, and expires if the process does not renew it.
//!
//! A lineage is a run that can be leased (see [`Run`]). It has one checkpoint while the run is leased, and none otherwise.
//! The payload is empty, and `meta` is a [`Holding`] as JSON, with the lineages of the run ([`Owned`]). No retention rule removes a
//! lease, nor the newest checkpoint of a run that is leased.
//!
//! A lease has a random id, which is the id of its checkpoint, and a token, which is the position of its lineage. A lease
//! that is taken starts its lineage again, so each lease of a run has a greater token than all leases before it,
//! whatever was released and whichever process took them. A renewal keeps both.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::call::{RawCall, Request};
use super::entry::{Contract, Names, Shown};
use super::fields::exact;
use super::ids::{check_id, damaged};
use super::response::Response;
use super::thread;
use super::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Of, Query};
use crate::record::{ContractId, Header};
use crate::retention::{LEASES, Owned, is_valid};

pub const CONTRACT: Contract = Contract {
    name_of,
    call_types: CallTypes::of::<Call>(),
    ..Contract::new("lease", CONTRACT_ID, request, |_| Ok(Shown::default()))
};
pub const CONTRACT_ID: ContractId = LEASES;

/// Identifies a run of any contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Run {
    /// The name of the run's contract.
    pub space: String,
    /// The id of the run or thread.
    pub run: String,
    /// The namespace in the thread. Empty for the thread itself, and for contracts without namespaces.
    #[serde(default)]
    pub ns: String,
}

/// Ends the name of the contract in the lineage of a namespace. No contract has this text in its name.
const NAMESPACE: &str = "/ns";

impl Run {
    /// The lineage of the run's lease: the name of the contract, NUL, and the id of the run. A namespace has lineages of
    /// its own, which no id of a run can have.
    fn lineage(&self) -> Result<String> {
        check_id("the id of the run", &self.run)?;
        let Self { space, run, ns } = self;
        Ok(match &**ns {
            "" => format!("{space}\0{run}"),
            ns => format!("{space}{NAMESPACE}\0{}", thread::lineage(run, ns)),
        })
    }
}

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
    /// How often in a row the run was leased from this checkpoint. A process that crashes does not release its lease.
    pub attempts: u32,
    /// True if the process recovered other runs at the same time. Then its crash is no evidence against this run, and
    /// the next lease does not count this one in `attempts`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

/// The fence of a call: what must be true of the lease of a run, or else the call writes nothing and fails with
/// [`Code::Conflict`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Fence {
    /// The writer still holds this lease: no other process has taken it, and it was not released.
    Held { of: Run, id: String },
    /// Nobody has taken the lease since the caller has looked at it. So a call that removes a run asks who owns it.
    Unheld {
        of: Run,
        /// The id of the lease that the caller has seen. `None`: there was none.
        seen: Option<String>,
        /// True if the call ends this lease. Its holder can then write nothing more.
        ends: bool,
    },
}

impl Fence {
    /// Lets the unit fail unless the fence holds.
    pub(super) fn guard(self, unit: &mut Unit) {
        let expect = match self {
            Self::Held { of, id } => held_still(&of, id),
            Self::Unheld { of, seen, ends } => {
                // A run whose id no lease can have is not leased.
                let Ok(lineage) = of.lineage() else { return };
                if let Some(id) = seen.clone().filter(|_| ends) {
                    unit.ops.push(Op::Remove { contract: CONTRACT_ID, id });
                }
                let or = seen.clone().unwrap_or_default();
                Expect::Newest { contract: CONTRACT_ID, lineage, newest: seen, or }
            }
        };
        unit.expect.insert(0, expect);
    }
}

fn held_still(of: &Run, id: String) -> Expect {
    let message = format!("the lease of run {} was lost: stop working on the run", quote(&of.run));
    let otherwise = Error::new(Code::Conflict, message);
    Expect::Checkpoint { contract: CONTRACT_ID, id, must: Must::BeSavedSince(i64::MIN), otherwise }
}

/// A lease that has expired, as it was read.
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
    /// Reads the lease of a run. The response is a [`Found`].
    Read { of: Run },
    /// Reads the store's clock. The response is a time in ms since the epoch.
    Clock {},
    /// Reads the leases of runs of one contract. The response has one entry for each run, in the order of `runs`: a
    /// [`Held`] or null.
    Held { space: String, runs: Vec<String> },
    /// Takes the lease of a run. `expired` is the lease that it replaces. Fails with [`Code::Conflict`] if the run has
    /// another lease.
    Take { of: Run, id: String, expired: Option<Expired>, holding: Holding, saved_at: i64 },
    /// Writes a lease again with a later end. Fails with [`Code::Conflict`] if the lease was lost.
    Renew { of: Run, id: String, holding: Holding, saved_at: i64 },
    /// Ends a lease. Does nothing if the lease was lost.
    Release { id: String },
}

/// The answer to [`Call::Read`].
#[derive(Serialize)]
struct Found {
    /// The time on the store's clock.
    now: i64,
    lease: Option<Lease>,
}

/// A lease as it is read.
#[derive(Serialize)]
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

/// Who holds a lease, and until when.
#[derive(Clone, Serialize)]
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
        Call::Take { of, id, expired, holding, saved_at } => {
            Request::Apply(take(&of, id, expired, &holding, saved_at)?)
        }
        Call::Renew { of, id, holding, saved_at } => Request::Apply(renew(&of, id, &holding, saved_at)?),
        Call::Release { id } => Request::Apply(vec![Op::Remove { contract: CONTRACT_ID, id }].into()),
    })
}

fn read(of: &Run) -> Result<Request> {
    let lineage = of.lineage()?;
    let start = Query::Start { contract: CONTRACT_ID, lineage: lineage.clone() };
    let newest = Query::Newest { contract: CONTRACT_ID, lineage, label: None };
    Ok(Request::ask(Query::All(vec![newest, start, Query::Clock]), |answer| {
        let [newest, start, now] = answer.into_all()?;
        let token = start.into_starts()?.first().map_or(0, |start| start.position);
        let now = now.into_clock()?;
        let lease = newest.into_checkpoint()?.map(|checkpoint| {
            let Header { id, saved_at, meta, .. } = checkpoint.header;
            let holding = holding_in(&id, &meta)?;
            Ok::<_, Error>(Lease { valid: is_valid(saved_at, holding.until, now), holding, token, saved_at, id })
        });
        Response::json(&Found { now, lease: lease.transpose()? }).map(Some)
    }))
}

/// Lists the leases of a contract, and answers with those of some runs that have not expired. Their number is the number
/// of the processes that are at work, so listing them is cheaper than a query for each run.
fn held(space: &str, runs: Vec<String>) -> Request {
    let prefix = format!("{space}\0");
    let of = Of::Lineages(prefix.clone());
    let list = Query::List { contract: CONTRACT_ID, of, before: None, limit: None };
    Request::ask(Query::All(vec![list, Query::Clock]), move |answer| {
        let [headers, now] = answer.into_all()?;
        let now = now.into_clock()?;
        let mut found = HashMap::new();
        for Header { lineage, id, saved_at, meta, .. } in headers.into_headers()? {
            // A listing of runs must not fail because of one lease.
            let Ok(Holding { holder, until, .. }) = holding_in(&id, &meta) else { continue };
            if is_valid(saved_at, until, now) {
                found.insert(lineage, Held { holder, until });
            }
        }
        let leases: Vec<_> = runs.into_iter().map(|run| found.get(&(prefix.clone() + &run))).collect();
        Response::json(&leases).map(Some)
    })
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
        // The lineage ends before it begins again, because the token is its position.
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

/// Extends a lease.
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

/// What a lease stores.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    holding: Holding,
    owned: Vec<Owned>,
}

/// Writes into the leases that a unit takes or renews which lineages their runs have. `owned` knows the contracts, and gets the name
/// of one, a run and a namespace.
pub(super) fn own(unit: &mut Unit, owned: impl Fn(&str, &str, &str) -> Vec<Owned>) -> Result<()> {
    for op in &mut unit.ops {
        let Op::Put(draft) = op else { continue };
        let header = &mut draft.header;
        if header.contract != CONTRACT_ID {
            continue;
        }
        let space = header.lineage.split(['/', '\0']).next().unwrap_or_default();
        let Names { run, ns, .. } = name_of(Some(header.lineage.clone()), None);
        let owned = owned(space, &run.unwrap_or_default(), &ns.unwrap_or_default());
        let stored = Stored { holding: holding_in(&header.id, &header.meta)?, owned };
        header.meta = written(&stored)?;
    }
    Ok(())
}

fn written(stored: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(stored).map_err(|error| Error::invalid(format!("a lease cannot be written: {error}")))
}

fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let of = lineage.map(|lineage| match lineage.split_once('\0') {
        Some((space, of)) if space.ends_with(NAMESPACE) => match thread::split(of) {
            Some((thread, namespace)) => (thread.to_owned(), Some(namespace.to_owned())),
            None => (of.to_owned(), None),
        },
        Some((_, run)) => (run.to_owned(), None),
        None => (lineage, None),
    });
    let (run, ns) = of.map_or((None, None), |(run, ns)| (Some(run), ns));
    Names { run, ns, id }
}
