//! Leases of runs: a lease lets one process at a time work on a run, and expires if the process does not renew it.
//!
//! A lineage is a run that can be leased: the name of its contract, NUL, and the id of the run. It has one checkpoint while the run is leased, and none
//! otherwise. The id of the checkpoint is the lease's token. The payload is empty, and `meta` is a [`Holding`] as JSON.
//! No retention rule removes a lease.

use serde::{Deserialize, Serialize};

use super::call::{RawCall, Request};
use super::response::Response;
use super::{Contract, Names, check_id, damaged};
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Query};
use crate::record::{Checkpoint, ContractId, Header, Payload, SortKey};

/// The contract.
pub const CONTRACT: Contract = Contract { name: "lease", id: CONTRACT_ID, request, tool: None, name_of };
/// The contract's id.
pub const CONTRACT_ID: ContractId = ContractId(8);

/// Identifies a run of any contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The name of the run's contract.
    pub space: String,
    /// The id of the run or thread.
    pub run: String,
}

impl Run {
    fn lineage(&self) -> Result<String> {
        check_id("the id of the run", &self.run)?;
        Ok(format!("{}\0{}", self.space, self.run))
    }
}

/// What a lease says about its holder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// Names the process that holds the lease, for people.
    pub holder: String,
    /// The time at which the lease expires, in ms since the epoch.
    pub until: i64,
    /// The id of the run's newest checkpoint when the lease was taken.
    pub from: Option<String>,
    /// How often in a row the run was leased from this checkpoint. A process that crashes does not release its lease.
    pub attempts: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads the lease of a run. The response is a [`Lease`] or null.
    Read { of: Run },
    /// Takes the lease of a run. `expired` is the token of the expired lease that it replaces. Fails with
    /// [`Code::Conflict`] if the run has another lease.
    Take { of: Run, token: String, expired: Option<String>, holding: Holding, saved_at: i64 },
    /// Writes a lease again with a later end. Fails with [`Code::Conflict`] if the lease was lost.
    Renew { of: Run, token: String, holding: Holding, saved_at: i64 },
    /// Ends a lease. Does nothing if the lease was lost.
    Release { token: String },
}

/// A lease as it is read.
#[derive(Serialize)]
struct Lease {
    token: String,
    #[serde(flatten)]
    holding: Holding,
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Read { of } => {
            Request::ask(Query::Newest { contract: CONTRACT_ID, lineage: of.lineage()?, label: None }, found)
        }
        Call::Take { of, token, expired, holding, saved_at } => {
            Request::Apply(take(&of, token, expired, &holding, saved_at)?)
        }
        Call::Renew { of, token, holding, saved_at } => Request::Apply(renew(&of, token, &holding, saved_at)?),
        Call::Release { token } => Request::Apply(vec![Op::Remove { contract: CONTRACT_ID, id: token }].into()),
    })
}

/// Takes the lease of a run that has no lease, or whose lease `expired` has expired.
pub fn take(of: &Run, token: String, expired: Option<String>, holding: &Holding, saved_at: i64) -> Result<Unit> {
    let lineage = of.lineage()?;
    let expect = Expect::Newest { contract: CONTRACT_ID, lineage, newest: expired.clone(), or: token.clone() };
    let mut ops = vec![put(of, token, holding, saved_at)?];
    ops.extend(expired.map(|id| Op::Remove { contract: CONTRACT_ID, id }));
    Ok(Unit { expect: vec![expect], ops })
}

/// Extends a lease.
pub fn renew(of: &Run, token: String, holding: &Holding, saved_at: i64) -> Result<Unit> {
    let expect = Expect::Checkpoint {
        contract: CONTRACT_ID,
        id: token.clone(),
        must: Must::BeSavedSince(i64::MIN),
        otherwise: Error::new(
            Code::Conflict,
            format!("the lease of run {} was lost, because it expired: stop working on the run", quote(&of.run)),
        ),
    };
    Ok(Unit { expect: vec![expect], ops: vec![put(of, token, holding, saved_at)?] })
}

fn put(of: &Run, token: String, holding: &Holding, saved_at: i64) -> Result<Op> {
    check_id("the token of a lease", &token)?;
    let header = Header {
        contract: CONTRACT_ID,
        lineage: of.lineage()?,
        id: token,
        parent: None,
        group: String::new(),
        label: String::new(),
        sort_key: SortKey::default(),
        saved_at,
        age_offset: 0,
        depends_on_parent: false,
        exempt: true,
        meta: serde_json::to_vec(holding)
            .map_err(|error| Error::invalid(format!("a lease cannot be written: {error}")))?,
    };
    let checkpoint = Checkpoint { header, payload: Payload { parts: Vec::new() }, logs: Vec::new() };
    Ok(Op::Put(Box::new(checkpoint.into())))
}

fn found(answer: Answer) -> Result<Option<Response>> {
    let Some(checkpoint) = answer.into_checkpoint()? else { return Ok(None) };
    let Header { id: token, meta, .. } = checkpoint.header;
    let holding = serde_json::from_slice(&meta).map_err(|_| damaged(&token))?;
    Response::json(&Lease { token, holding }).map(Some)
}

fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let run = lineage.map(|lineage| match lineage.split_once('\0') {
        Some((_, run)) => run.to_owned(),
        None => lineage,
    });
    Names { run, ns: None, id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::backend::memory::Memory;

    fn run() -> Run {
        Run { space: "agentos".to_owned(), run: "run\0with NUL".to_owned() }
    }

    fn holding(until: i64) -> Holding {
        Holding { holder: "a process".to_owned(), until, from: None, attempts: 1 }
    }

    fn apply(backend: &mut Memory, unit: Unit) -> Result<()> {
        backend.apply(&[unit]).remove(0).map(|_| ())
    }

    fn held(backend: &mut Memory) -> Option<String> {
        let query = Query::Newest { contract: CONTRACT_ID, lineage: run().lineage().unwrap(), label: None };
        let found = backend.answer(&query).unwrap().into_checkpoint().unwrap()?;
        Some(found.header.id)
    }

    #[test]
    fn one_of_two_takes_a_lease_and_the_loser_is_told() {
        let mut backend = Memory::default();
        apply(&mut backend, take(&run(), "one".to_owned(), None, &holding(10), 0).unwrap()).unwrap();
        let error = apply(&mut backend, take(&run(), "two".to_owned(), None, &holding(10), 0).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Conflict);
        assert_eq!(held(&mut backend).as_deref(), Some("one"));
    }

    #[test]
    fn an_expired_lease_is_replaced_once_and_its_holder_cannot_renew_it() {
        let mut backend = Memory::default();
        apply(&mut backend, take(&run(), "one".to_owned(), None, &holding(10), 0).unwrap()).unwrap();
        apply(&mut backend, renew(&run(), "one".to_owned(), &holding(20), 1).unwrap()).unwrap();
        let expired = || Some("one".to_owned());
        apply(&mut backend, take(&run(), "two".to_owned(), expired(), &holding(30), 2).unwrap()).unwrap();
        let error =
            apply(&mut backend, take(&run(), "three".to_owned(), expired(), &holding(30), 2).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Conflict);
        let error = apply(&mut backend, renew(&run(), "one".to_owned(), &holding(40), 3).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Conflict);
        assert_eq!(held(&mut backend).as_deref(), Some("two"));
    }

    #[test]
    fn a_lease_has_the_name_of_its_run() {
        let names = name_of(Some(run().lineage().unwrap()), Some("token".to_owned()));
        assert_eq!(names, Names { run: Some(run().run), ns: None, id: Some("token".to_owned()) });
    }
}
