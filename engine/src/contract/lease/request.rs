//! Requests about a leased run: a process waits for the lease, or asks its holder to stop.
//!
//! A request is a checkpoint in a lineage with the name of the lease's lineage. Requests are ordered by their save order,
//! which is the order of their arrival. `meta` is an [`Asked`] as JSON. A request of a process that has ended expires.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::run::{Run, name_of};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::Response;
use crate::error::{Error, Result};
use crate::op::{Op, Unit};
use crate::query::{Answer, Of, Query};
use crate::record::{ContractId, Header};
use crate::retention::{self, is_valid};

pub const REQUESTS: Contract = Contract {
    name_of,
    ..Contract::new(
        "lease/requests",
        REQUESTS_ID,
        |_| Err(Error::invalid("requests have no calls of this name: please report this")),
        |_| Ok(Shown::default()),
    )
};
pub const REQUESTS_ID: ContractId = retention::REQUESTS;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum What {
    /// The lease, when the processes before it have had it.
    Enqueue,
    /// The lease. Its holder must stop.
    Interrupt,
    /// The lease. Its holder must stop, and its work is undone.
    Rollback,
    /// That the holder stops.
    Stop,
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked {
    what: What,
    /// Names the process that asks, for people.
    holder: String,
    /// How long the request is valid after its last sign of life, in ms.
    ttl: i64,
    /// The id of the lease whose holder must stop. `None`: any.
    #[ts(type = "null | string")]
    lease: Option<String>,
    /// The author of the request: a person or a program.
    #[ts(type = "null | string")]
    by: Option<String>,
    #[ts(type = "null | string")]
    reason: Option<String>,
}

/// A request in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    id: String,
    of: Run,
    /// The time of its last sign of life, in ms since the epoch.
    saved_at: i64,
    /// False if the request has expired.
    valid: bool,
    #[serde(flatten)]
    asked: Asked,
}

/// The query for the requests about a run. `None`: about all runs.
pub(super) fn query(lineage: Option<String>) -> Query {
    let of = lineage.map_or(Of::Contract, Of::Lineage);
    Query::List { contract: REQUESTS_ID, of, before: None, limit: None }
}

/// Reads the answer to [`query`]: the requests in the order of their arrival.
pub(super) fn found(answer: Answer, now: i64) -> Result<Vec<Found>> {
    let headers = answer.into_headers()?.into_iter().rev();
    headers.map(|header| found_in(header, now)).collect()
}

fn found_in(header: Header, now: i64) -> Result<Found> {
    let Header { id, lineage, saved_at, meta, .. } = header;
    let asked: Asked = serde_json::from_slice(&meta).map_err(|_| damaged(&id))?;
    let of = Run::of_lineage(lineage);
    Ok(Found { id, of, saved_at, valid: is_valid(saved_at, saved_at.saturating_add(asked.ttl), now), asked })
}

/// Answers with all requests of the store.
pub(super) fn all() -> (Query, impl FnOnce(Answer) -> Result<Option<Response>> + Send + 'static) {
    (Query::All(vec![query(None), Query::Clock]), |answer| {
        let [requests, now] = answer.into_all()?;
        Response::json(&found(requests, now.into_clock()?)?).map(Some)
    })
}

/// Stores a request.
pub(super) fn ask(of: &Run, id: String, asked: &Asked, saved_at: i64) -> Result<Unit> {
    check_id("the id of a request", &id)?;
    let meta =
        serde_json::to_vec(asked).map_err(|error| Error::invalid(format!("a request cannot be written: {error}")))?;
    let header = Header { saved_at, exempt: true, meta, ..Header::new(REQUESTS_ID, of.lineage()?, id) };
    Ok(vec![Op::put(header, Vec::new())].into())
}

/// Removes requests.
pub(super) fn remove(ids: Vec<String>) -> impl Iterator<Item = Op> {
    ids.into_iter().map(|id| Op::Remove { contract: REQUESTS_ID, id })
}
