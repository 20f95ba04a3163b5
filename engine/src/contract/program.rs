//! Descriptions of programs, and the runs that a program has ended permanently.
//!
//! A checkpoint's mark holds the hash of its program's description (see `ts/store/mark.ts`). The description is stored
//! once, as the only checkpoint of its own lineage, exempt from retention. Limits on the checkpoints of a run do not
//! remove it either, because they keep the newest one.
//!
//! An ended run has a lineage too, and so has a stopped run. Its only checkpoint, the *entry*, names the newest
//! checkpoint of the run at that time. If the run continues, its newest checkpoint has another name, and the run counts
//! as open again. The group of the entries is the name of the runs' contract and `ENDED`.
//!
//! The payloads are empty. `meta` is JSON that `ts/store/stored-programs.ts` and `ts/store/ended-runs.ts` write and
//! read.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::call::{RawCall, Request};
use super::entry::{Contract, Names, Shown};
use super::ids::{check_id, damaged};
use super::lease::{self, Run};
use super::response::Response;
use super::thread;
use super::types::CallTypes;
use crate::error::{Code, Error, Result};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{ContractId, Header};

pub const CONTRACT: Contract = Contract {
    name_of,
    lineage_of: |run, ns| lineage(ns, run),
    id_of: |run, ns, _| lineage(ns, run),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("program", CONTRACT_ID, request, |_| Ok(Shown::default()))
};
pub const CONTRACT_ID: ContractId = ContractId(9);

/// A suffix for the contract's name in the lineages of ended runs. No contract's name contains it.
const ENDED: &str = "/ended";
/// A further suffix for runs whose names have a namespace.
const NAMESPACE: &str = "/ns";

/// The lineage of a description, and the id of its checkpoint: the contract of its runs, NUL, and its hash.
fn lineage(space: &str, name: &str) -> String {
    format!("{space}\0{name}")
}

/// The lineage of the entry of an ended run, and the id of its checkpoint.
fn entry(space: &str, run: &str, ns: &str) -> String {
    match ns {
        "" => lineage(&format!("{space}{ENDED}"), run),
        ns => lineage(&format!("{space}{ENDED}{NAMESPACE}"), &thread::lineage(run, ns)),
    }
}

/// Removes the entry of an ended run.
pub(super) fn forget(space: &str, run: &str, ns: &str) -> Op {
    Op::Remove { contract: CONTRACT_ID, id: entry(space, run, ns) }
}

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Stores the description of a program. Fails with `CONFLICT` if it is stored already. `id` is its hash.
    Describe { space: String, id: String, description: String, saved_at: i64 },
    /// Reads descriptions. The response has one entry for each id, in the order of `ids`: a description or null.
    Read { space: String, ids: Vec<String> },
    /// Lists the descriptions of a contract's programs, in the order of their first save.
    List { space: String },
    /// Records that a run has ended permanently, or was stopped, at its newest checkpoint. Replaces an earlier entry of
    /// the run.
    End {
        space: String,
        run: String,
        #[serde(default)]
        #[ts(optional, as = "Option<String>")]
        ns: String,
        ended: String,
        saved_at: i64,
    },
    /// Reads the entries of [`Call::End`] for some runs. The response has one item for each run, in the order of `runs`.
    /// Null: the run has no entry.
    Ended { space: String, runs: Vec<Named> },
    /// Removes the entry of a run.
    Reopen {
        space: String,
        run: String,
        #[serde(default)]
        #[ts(optional, as = "Option<String>")]
        ns: String,
    },
}

/// The name of a run in its contract.
#[derive(Deserialize, TS)]
struct Named {
    run: String,
    #[serde(default)]
    #[ts(optional, as = "Option<String>")]
    ns: String,
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    describe: (),
    read: Vec<Option<String>>,
    list: Vec<Described>,
    end: (),
    ended: Vec<Option<Ended>>,
    reopen: (),
}

/// The entry of an ended run.
#[derive(Serialize, TS)]
struct Ended {
    /// The text that [`Call::End`] has stored.
    text: String,
    /// The id of the run's lease, even if it has expired. `None`: there is none, or it was released.
    lease: Option<String>,
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Describe { space, id, description, saved_at } => {
            check_id("the hash of a program", &id)?;
            let key = lineage(&space, &id);
            let otherwise = Error::new(Code::Conflict, "the program is described already");
            let must = Must::NotBeSavedSince(i64::MIN);
            let expect = Expect::Checkpoint { contract: CONTRACT_ID, id: key.clone(), must, otherwise };
            Request::Apply(Unit { expect: vec![expect], ops: vec![put(key, description, saved_at, true)] })
        }
        Call::Read { space, ids } => {
            let get = |id: &String| Query::Get { contract: CONTRACT_ID, id: lineage(&space, id) };
            Request::ask(Query::All(ids.iter().map(get).collect()), |answer| {
                let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
                let found = answers
                    .into_iter()
                    .map(|answer| answer.into_checkpoint()?.map(|it| text_of(it.header)).transpose());
                Response::json(&found.collect::<Result<Vec<_>>>()?).map(Some)
            })
        }
        Call::List { space } => {
            let of = Of::Lineages(lineage(&space, ""));
            Request::ask(Query::List { contract: CONTRACT_ID, of, before: None, limit: None }, |answer| {
                let mut headers = answer.into_headers()?;
                headers.reverse();
                let described = headers.into_iter().map(|header| {
                    let (id, saved_at) = (hash_in(&header.lineage).to_owned(), header.saved_at);
                    Ok(Described { id, saved_at, description: text_of(header)? })
                });
                Response::json(&described.collect::<Result<Vec<_>>>()?).map(Some)
            })
        }
        Call::End { space, run, ns, ended, saved_at } => {
            check_id("the id of the run", &run)?;
            let mut entry = put(entry(&space, &run, &ns), ended, saved_at, false);
            if let Op::Put(draft) = &mut entry {
                draft.header.group = space.clone() + ENDED;
            }
            // Begin the lineage anew, so that a listing of the group has the last entry first.
            Request::Apply(vec![forget(&space, &run, &ns), entry].into())
        }
        Call::Ended { space, runs } => ended(&space, &runs),
        Call::Reopen { space, run, ns } => Request::Apply(vec![forget(&space, &run, &ns)].into()),
    })
}

fn ended(space: &str, runs: &[Named]) -> Request {
    let get = |Named { run, ns }: &Named| Query::Get { contract: CONTRACT_ID, id: entry(space, run, ns) };
    let leases = |Named { run, ns }: &Named| {
        let of = |ns: &str| Run { space: space.to_owned(), run: run.clone(), ns: ns.to_owned() }.lineage().ok();
        // A lease without a namespace covers all of them.
        [of(ns), of("")]
    };
    let leases: Vec<_> = runs.iter().map(leases).collect();
    let queries = runs.iter().map(get).chain(lease::all_of(space)).collect();
    Request::ask(Query::All(queries), |answer| {
        let Answer::All(mut answers) = answer else { return Err(Error::poisoned()) };
        let held = lease::ids_in(answers.split_off(leases.len()))?;
        let found = answers.into_iter().zip(leases).map(|(answer, names)| {
            let Some(checkpoint) = answer.into_checkpoint()? else { return Ok(None) };
            let lease = names.into_iter().flatten().find_map(|name| held.get(&name).cloned());
            Ok(Some(Ended { text: text_of(checkpoint.header)?, lease }))
        });
        Response::json(&found.collect::<Result<Vec<_>>>()?).map(Some)
    })
}

/// A description in a listing.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Described {
    id: String,
    saved_at: i64,
    description: String,
}

fn put(key: String, text: String, saved_at: i64, exempt: bool) -> Op {
    let header = Header { saved_at, exempt, meta: text.into_bytes(), ..Header::new(CONTRACT_ID, key.clone(), key) };
    Op::put(header, Vec::new())
}

fn text_of(header: Header) -> Result<String> {
    String::from_utf8(header.meta).map_err(|_| damaged(&header.id))
}

fn hash_in(lineage: &str) -> &str {
    lineage.split_once('\0').map_or(lineage, |(_, name)| name)
}

fn name_of(lineage: Option<String>, id: Option<String>) -> Names {
    let split = lineage.map(|lineage| match lineage.split_once('\0') {
        Some((space, name)) => (name.to_owned(), Some(space.to_owned())),
        None => (lineage, None),
    });
    let (run, ns) = split.map_or((None, None), |(run, ns)| (Some(run), ns));
    Names { run, ns, id: id.map(|id| hash_in(&id).to_owned()) }
}
