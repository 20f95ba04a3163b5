//! The inspector's calls, for all contracts. Runs and checkpoints have the names that users know.

mod read;
mod remove;
mod show;
mod sift;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use self::read::{At, FoundCheckpoint, read};
use self::remove::{Key, remove};
use self::show::{ShownFeed, ShownOpen, ShownPage, Wait, shown_feed, shown_id, shown_open, shown_pages};
use self::sift::{Sieve, Sifted, sift};
use super::call::{RawCall, Request};
use super::cursor::parse_cursor;
use super::entry::Names;
use super::registry::{CONTRACTS, contract_of, named};
use super::response::Response;
use super::types::CallTypes;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::query::{ActivityOrder, Answer, Feed, Query, Recent, RowOrder, Rows, RowsFrom};
use crate::record::{FeedWait, LabelChanges, Labels, Lineage, Seq, Sizes, Status};

/// The name of the inspector's calls, instead of a contract's name.
pub(super) const NAME: &str = "inspect";
pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// The size of each contract's data.
    Spaces {},
    /// Lists runs of several contracts, the last active first. `matching` is a part of the run's name in the engine.
    Recent {
        spaces: Vec<String>,
        matching: String,
        statuses: Option<Vec<Status>>,
        labels: Option<Labels>,
        after: Option<Seq>,
        limit: usize,
    },
    /// The open runs of each of these contracts. If there are more than `most`, an even sample of them.
    Open {
        #[ts(type = "readonly string[]")]
        spaces: Vec<String>,
        most: usize,
    },
    /// Changes the labels of a run. `spaces` are the contracts that have it. Null removes a label.
    SetLabels { spaces: Vec<String>, run: String, ns: String, changes: LabelChanges },
    /// Lists runs, the last begun first.
    Began { space: String, group: String, before: Option<i64>, limit: usize },
    /// The names of the namespaces of a thread, the last begun first.
    Namespaces { space: String, run: String },
    /// Lists the runs that were forked from a checkpoint of this run.
    Forks { space: String, run: String, ns: String },
    /// Pages of checkpoints of several runs, all from one snapshot.
    Rows { pages: Vec<Wanted> },
    /// The checkpoints of all runs, in save order.
    Feed { after: Seq, newest_first: bool, limit: usize, version: Option<i64>, wait: Option<Wait> },
    /// Removes a run, or some of its checkpoints.
    Remove { of: Key, ids: Option<Vec<String>>, reopen: Vec<String> },
    /// Removes the checkpoints of a run, and keeps its effects: its work was undone.
    Undo { of: Key },
    /// A checkpoint with its parts and its writes. For a session, also its messages.
    Read(At),
    /// Finds the checkpoints whose values may contain a text.
    ///
    /// Bytes that a checkpoint shares with the previous one in its run are not searched again. `before` precedes the
    /// first checkpoint. With `beside`, a separate thread reads them.
    Sift { checkpoints: Vec<At>, before: Option<At>, sieve: Sieve, beside: bool },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    spaces: Vec<Holding>,
    recent: Vec<ShownRun>,
    open: Vec<ShownOpen>,
    set_labels: (),
    began: Vec<ShownRun>,
    namespaces: Vec<String>,
    forks: Vec<ShownRun>,
    rows: Vec<ShownPage>,
    feed: ShownFeed,
    remove: (),
    undo: (),
    read: Option<FoundCheckpoint>,
    sift: Sifted,
}

/// A page of the checkpoints of a run.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    space: String,
    run: String,
    ns: String,
    from: From,
    newest_first: bool,
    limit: usize,
    /// True if the page has sums, which take time in proportion to the run's checkpoints.
    sums: bool,
}

/// The first checkpoint of a page.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum From {
    End,
    /// The checkpoint after the one with this cursor: see `ShownRow::cursor`.
    After(String),
    /// The checkpoint at this position. Negative numbers count from the end.
    Step(i64),
    Id(String),
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, _) = call.read()?;
    Ok(match call {
        Call::Remove { of, ids, reopen } => Request::Apply(remove(&of, ids, reopen)?),
        Call::Undo { of } => Request::Undo(remove(&of, None, Vec::new())?),
        Call::Spaces {} => Request::ask(Query::Stats { contract: None, largest: 0, by_status: true }, spaces),
        Call::SetLabels { spaces, run, ns, changes } => {
            let op = |space: &String| {
                let contract = named(space)?;
                let (lineage, changes) = ((contract.lineage_of)(&run, &ns), changes.clone());
                Ok(Op::SetLabels { contract: contract.id, lineage, changes })
            };
            Request::Apply(spaces.iter().map(op).collect::<Result<Vec<_>>>()?.into())
        }
        Call::Recent { spaces, matching, statuses, labels, after, limit } => {
            let contracts = spaces.iter().map(|space| Ok(named(space)?.id)).collect::<Result<_>>()?;
            let (order, statuses) = (ActivityOrder::LatestFirst, statuses.unwrap_or_default());
            let labels = labels.unwrap_or_default();
            let recent = Recent { contracts, named_as_group: false, matching, statuses, labels, order, after, limit };
            Request::ask(Query::Recent(recent), |answer| {
                let found = answer.into_recent()?.into_iter();
                runs(found.map(|lineage| Found { position: lineage.seq, lineage }))
            })
        }
        Call::Open { spaces, most } => {
            let ask = |space: &String| Ok(Query::Open { contract: named(space)?.id, most });
            Request::ask(Query::All(spaces.iter().map(ask).collect::<Result<_>>()?), shown_open)
        }
        Call::Began { space, group, before, limit } => {
            let query = Query::Lineages { contract: named(&space)?.id, group_prefix: group, before, limit };
            Request::ask(query, lineages)
        }
        Call::Namespaces { space, run } => {
            let contract = named(&space)?;
            // All namespaces of a thread share the thread's prefix.
            let prefix = (contract.lineage_of)(&run, "");
            Request::ask(Query::Names { contract: contract.id, prefix }, move |answer| {
                let names = answer.into_names()?.into_iter();
                let ns = |name| (contract.name_of)(Some(name), None).ns;
                Response::json(&names.filter_map(ns).collect::<Vec<_>>()).map(Some)
            })
        }
        Call::Forks { space, run, ns } => {
            let contract = named(&space)?;
            let lineage = (contract.lineage_of)(&run, &ns);
            Request::ask(Query::Forks { contract: contract.id, lineage }, lineages)
        }
        Call::Rows { pages } => {
            let queries = pages.into_iter().map(Wanted::query).collect::<Result<_>>()?;
            Request::ask(Query::All(queries), shown_pages)
        }
        Call::Feed { after, newest_first, limit, version, wait } => {
            let wait = wait.map(|Wait { transaction, up_to }| FeedWait { transaction, up_to });
            let feed = Feed { after, order: order(newest_first), limit, version, wait };
            Request::ask(Query::Feed(feed), |answer| shown_feed(answer.into_feed()?))
        }
        Call::Read(at) => read(&at)?,
        Call::Sift { checkpoints, before, sieve, beside } => sift(&checkpoints, before.as_ref(), &sieve, beside)?,
    })
}

fn order(newest_first: bool) -> RowOrder {
    if newest_first { RowOrder::NewestFirst } else { RowOrder::OldestFirst }
}

impl Wanted {
    fn query(self) -> Result<Query> {
        let Self { space, run, ns, from, newest_first, limit, sums } = self;
        let contract = named(&space)?;
        let from = match from {
            From::End => RowsFrom::End,
            From::After(cursor) => {
                let (sort_key, seq) =
                    parse_cursor(&cursor).ok_or_else(|| Error::invalid("this is not a cursor of a listing"))?;
                RowsFrom::After(sort_key, seq)
            }
            From::Step(step) => RowsFrom::Step(step),
            From::Id(id) => RowsFrom::Id((contract.id_of)(&run, &ns, &id)),
        };
        let lineage = (contract.lineage_of)(&run, &ns);
        Ok(Query::Rows(Rows { contract: contract.id, lineage, from, order: order(newest_first), limit, sums }))
    }
}

/// A lineage in a listing, with its position in the order.
struct Found {
    position: i64,
    lineage: Lineage,
}

/// A run in a listing. The next page continues from `position`.
#[derive(Serialize, TS)]
struct ShownRun {
    position: i64,
    space: &'static str,
    run: String,
    ns: Option<String>,
    /// The id of the newest checkpoint.
    id: String,
    status: Status,
}

/// The size of a contract's data.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Holding {
    space: &'static str,
    runs: u64,
    /// The number of runs with each status.
    #[ts(type = "Record<Status, number>")]
    statuses: BTreeMap<Status, u64>,
    checkpoints: u64,
    logical_bytes: u64,
    stored_bytes: u64,
    /// The number of effects of these runs.
    effects: u64,
    is_estimate: bool,
}

fn spaces(answer: Answer) -> Result<Option<Response>> {
    let stats = answer.into_stats()?;
    let spaces = CONTRACTS.iter().map(|contract| {
        let Sizes { lineages: runs, checkpoints, logical_bytes, stored_bytes, record_bytes, statuses, .. } =
            stats.of(contract.id);
        let (logical_bytes, stored_bytes) = (logical_bytes + record_bytes, stored_bytes + record_bytes);
        let statuses = Status::ALL.into_iter().zip(statuses).collect();
        let effects = stats.of(contract.id.effects()).checkpoints;
        let is_estimate = stats.is_estimate;
        Holding { space: contract.name, runs, statuses, checkpoints, logical_bytes, stored_bytes, effects, is_estimate }
    });
    Response::json(&spaces.collect::<Vec<_>>()).map(Some)
}

fn lineages(answer: Answer) -> Result<Option<Response>> {
    let found = answer.into_lineages()?.into_iter();
    runs(found.map(|lineage| Found { position: lineage.position, lineage }))
}

fn runs(found: impl Iterator<Item = Found>) -> Result<Option<Response>> {
    let run = |Found { position, lineage: Lineage { newest, status, .. } }| {
        let contract = contract_of(newest.contract)?;
        let id = shown_id(contract, &newest);
        let Names { run, ns, .. } = (contract.name_of)(Some(newest.lineage), None);
        Some(ShownRun { position, space: contract.name, run: run?, ns, id, status })
    };
    Response::json(&found.filter_map(run).collect::<Vec<_>>()).map(Some)
}
