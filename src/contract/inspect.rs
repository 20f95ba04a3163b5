//! The calls that look into a store, for all contracts. Runs and checkpoints have the names that users know. [`transfer`]
//! has what exports and imports need.

mod transfer;

use serde::{Deserialize, Serialize};

use self::transfer::{Key, Restore};
use super::call::{RawCall, Request};
use super::response::{PackedPart, Response, ResponseBuilder};
use super::{CONTRACTS, Contract, Names, Shown, contract_of, helix, id_of, named};
use crate::error::{Error, Result};
use crate::query::{
    ActivityOrder, Answer, Feed, FeedWait, LogRange, LogSide, Pick, Query, Recent, RowOrder, Rows, RowsFrom,
};
use crate::record::{ContractId, FeedPage, Listed, LogPage, Part, RowPage, Seq, SortKey, Stats, Tuple};

/// Calls of the inspector use this name in place of a contract's name.
pub(super) const NAME: &str = "inspect";

/// The calls, as `ts/inspect/wire.ts` declares them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// How much each contract holds.
    Spaces {},
    /// Lists runs of several contracts, the last active first. `matching` is a part of the engine's name of the run.
    Recent { spaces: Vec<String>, matching: String, after: Option<Seq>, limit: usize },
    /// Lists runs, the last begun first.
    Began { space: String, group: String, before: Option<i64>, limit: usize },
    /// Lists the runs that began from a checkpoint of this run.
    Forks { space: String, run: String, ns: String },
    /// Pages of checkpoints of several runs, all from one snapshot.
    Rows { pages: Vec<Wanted> },
    /// What is saved, in save order.
    Feed { after: Seq, newest_first: bool, limit: usize, version: Option<i64>, wait: Option<Wait> },
    /// A checkpoint as it is stored, for an export.
    Stored { of: Key, id: String },
    /// The logs of a run, and their lengths.
    Logs { of: Key },
    /// The pieces of a log, or of the part that a checkpoint names.
    LogRuns { of: Key, log: String, at: Option<String> },
    /// Records of a log, or of the part that a checkpoint names.
    Records { of: Key, log: String, at: Option<String>, skip: u64, limit: usize },
    /// A step of an import.
    Restore { of: Key, step: Restore },
    /// Removes a run, or some of its checkpoints.
    Remove { of: Key, ids: Option<Vec<String>>, reopen: Vec<String> },
    /// A checkpoint with its parts and its writes. For Helix also with its messages.
    Read { space: String, run: String, ns: String, id: String },
}

/// A page of the checkpoints of a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    space: String,
    run: String,
    ns: String,
    from: From,
    newest_first: bool,
    limit: usize,
    sums: bool,
}

/// The first checkpoint of a page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum From {
    End,
    /// The checkpoint after the one with this place: see [`ShownRow::place`].
    After(String),
    Step(i64),
    Id(String),
}

/// See [`FeedWait`].
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Wait {
    transaction: i64,
    up_to: Seq,
}

/// Reads a call and returns the request to the engine.
pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Stored { of, id } => transfer::stored(&of, &id)?,
        Call::Logs { of } => transfer::logs(&of)?,
        Call::LogRuns { of, log, at } => transfer::log_runs(&of, log, at.as_deref())?,
        Call::Records { of, log, at, skip, limit } => transfer::records(&of, log, at.as_deref(), skip, limit)?,
        Call::Restore { of, step } => transfer::restore(&of, step, &mut buffers)?,
        Call::Remove { of, ids, reopen } => transfer::remove(&of, ids, reopen)?,
        Call::Spaces {} => {
            let of = |contract: &Contract| Query::Stats { contract: Some(contract.id), largest: 0 };
            Request::ask(Query::All(CONTRACTS.iter().map(of).collect()), spaces)
        }
        Call::Recent { spaces, matching, after, limit } => {
            let contracts = spaces.iter().map(|space| id_of(space)).collect::<Result<_>>()?;
            let order = ActivityOrder::LatestFirst;
            let recent = Recent { contracts, named_as_group: false, matching, order, after, limit };
            Request::ask(Query::Recent(recent), |answer| {
                let found = answer.into_recent()?.into_iter();
                runs(found.map(|active| (active.seq, active.lineage.newest.contract, active.lineage.newest.lineage)))
            })
        }
        Call::Began { space, group, before, limit } => {
            let query = Query::Lineages { contract: named(&space)?.id, group_prefix: group, before, limit };
            Request::ask(query, lineages)
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
        Call::Read { space, run, ns, id } => read(&space, &run, &ns, &id)?,
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
            From::After(place) => {
                let (sort_key, seq) =
                    parse_place(&place).ok_or_else(|| Error::invalid("this is no cursor of a listing"))?;
                RowsFrom::After(sort_key, seq)
            }
            From::Step(step) => RowsFrom::Step(step),
            From::Id(id) => RowsFrom::Id((contract.id_of)(&run, &ns, &id)),
        };
        let lineage = (contract.lineage_of)(&run, &ns);
        Ok(Query::Rows(Rows { contract: contract.id, lineage, from, order: order(newest_first), limit, sums }))
    }
}

/// A run in a listing. The next page continues from `position`.
#[derive(Serialize)]
struct Run {
    position: i64,
    space: &'static str,
    run: String,
    ns: Option<String>,
}

fn spaces(answer: Answer) -> Result<Option<Response>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Space {
        space: &'static str,
        runs: u64,
        checkpoints: u64,
        logical_bytes: u64,
        stored_bytes: u64,
    }
    let Answer::All(all) = answer else { return Err(Error::poisoned()) };
    let spaces = all.into_iter().zip(&CONTRACTS).map(|(stats, contract)| {
        let Stats { lineages: runs, checkpoints, logical_bytes, stored_bytes, .. } = stats.into_stats()?;
        Ok(Space { space: contract.name, runs, checkpoints, logical_bytes, stored_bytes })
    });
    Response::json(&spaces.collect::<Result<Vec<_>>>()?).map(Some)
}

fn lineages(answer: Answer) -> Result<Option<Response>> {
    let found = answer.into_lineages()?.into_iter();
    runs(found.map(|lineage| (lineage.position, lineage.newest.contract, lineage.newest.lineage)))
}

fn runs(found: impl Iterator<Item = (i64, ContractId, String)>) -> Result<Option<Response>> {
    let run = |(position, contract, lineage)| {
        let contract = contract_of(contract)?;
        let Names { run, ns, .. } = (contract.name_of)(Some(lineage), None);
        Some(Run { position, space: contract.name, run: run?, ns })
    };
    Response::json(&found.filter_map(run).collect::<Vec<_>>()).map(Some)
}

/// A checkpoint in a listing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownRow {
    space: &'static str,
    run: String,
    ns: Option<String>,
    id: String,
    parent: Option<Parent>,
    seq: Seq,
    step: u64,
    label: Option<String>,
    group: Option<String>,
    at: Option<f64>,
    saved_at: i64,
    logical: u64,
    stored: u64,
    chain: u64,
    status: Option<&'static str>,
    meta: Option<serde_json::Value>,
    metadata: Option<PackedPart>,
    depends_on_parent: bool,
    /// The place in the order of the contract, from which the next page continues.
    place: String,
}

/// The recorded parent of a checkpoint. The run and the namespace are missing if they are those of the checkpoint.
#[derive(Serialize)]
struct Parent {
    id: String,
    run: Option<String>,
    ns: Option<String>,
}

/// `origin` is the checkpoint of another run from which the run began.
fn shown(row: Listed, origin: Option<&Parent>, response: &mut ResponseBuilder) -> Result<Option<ShownRow>> {
    let Listed { seq, step, header, logical_bytes: logical, stored_bytes: stored, chain } = row;
    let Some(contract) = contract_of(header.contract) else { return Ok(None) };
    let Shown { label, group, at, meta, serialized, status } = (contract.show)(&header)?;
    let Names { run, ns, id } = (contract.name_of)(Some(header.lineage.clone()), Some(header.id.clone()));
    // A checkpoint that was put again has an id of its own.
    let id = if contract.id == super::tinyagents::CONTRACT_ID {
        super::thread::split_key(&header.id).map(|(_, id)| id)
    } else {
        id
    };
    let parent = header.parent.map(|parent| {
        let Names { run: _, ns: _, id } = (contract.name_of)(None, Some(parent.clone()));
        let id = id.unwrap_or(parent);
        let from = origin.filter(|origin| origin.id == id);
        let (run, ns) = from.map_or((None, None), |from| (from.run.clone(), from.ns.clone()));
        Parent { id, run, ns }
    });
    Ok(Some(ShownRow {
        space: contract.name,
        run: run.unwrap_or(header.lineage),
        ns,
        id: id.unwrap_or(header.id),
        parent,
        seq,
        step,
        label,
        group,
        at,
        saved_at: header.saved_at,
        logical,
        stored,
        chain,
        status,
        meta,
        metadata: serialized.map(|part| response.part(part)),
        depends_on_parent: header.depends_on_parent,
        place: place(&header.sort_key, seq),
    }))
}

/// Writes a place in the order of a run as text.
fn place(sort_key: &SortKey, seq: Seq) -> String {
    format!("{seq}.{}", hex(&sort_key.0))
}

fn parse_place(text: &str) -> Option<(SortKey, Seq)> {
    let (seq, digits) = text.split_once('.')?;
    Some((SortKey(from_hex(digits)?), seq.parse().ok()?))
}

/// Writes bytes in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(digit(pair.first()?)? * 16 + digit(pair.get(1)?)?).ok();
    text.as_bytes().chunks(2).map(byte).collect()
}

/// A page of the checkpoints of a run.
#[derive(Serialize)]
struct ShownPage {
    checkpoints: u64,
    origin: Option<Parent>,
    rows: Vec<ShownRow>,
    sums: Option<Sums>,
}

/// Sums over all checkpoints of a run.
#[derive(Serialize)]
struct Sums {
    logical: u64,
    stored: u64,
    began: i64,
}

fn shown_pages(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(pages) = answer else { return Err(Error::poisoned()) };
    let mut response = ResponseBuilder::default();
    let mut all = Vec::with_capacity(pages.len());
    for page in pages {
        let RowPage { checkpoints, origin, rows, sums } = page.into_rows()?;
        let contract = rows.first().and_then(|row| contract_of(row.header.contract));
        let origin = origin.zip(contract).map(|((id, lineage), contract)| {
            let Names { run, ns, id: known } = (contract.name_of)(lineage, Some(id.clone()));
            Parent { id: known.unwrap_or(id), run, ns }
        });
        let rows = rows.into_iter().filter_map(|row| shown(row, origin.as_ref(), &mut response).transpose());
        let rows = rows.collect::<Result<_>>()?;
        let sums = sums.map(|sums| Sums { logical: sums.logical_bytes, stored: sums.stored_bytes, began: sums.began });
        all.push(ShownPage { checkpoints, origin, rows, sums });
    }
    response.finish(&all).map(Some)
}

fn shown_feed(page: FeedPage) -> Result<Option<Response>> {
    #[derive(Serialize)]
    struct ShownFeed {
        rows: Vec<ShownRow>,
        next: Seq,
        wait: Option<Wait>,
        checkpoints: Option<u64>,
        removals: Option<i64>,
        version: Option<i64>,
    }
    let FeedPage { rows, next, wait, checkpoints, removals, version } = page;
    let mut response = ResponseBuilder::default();
    let rows = rows.into_iter().filter_map(|row| shown(row, None, &mut response).transpose());
    let rows = rows.collect::<Result<_>>()?;
    let wait = wait.map(|FeedWait { transaction, up_to }| Wait { transaction, up_to });
    response.finish(&ShownFeed { rows, next, wait, checkpoints, removals, version }).map(Some)
}

/// A write in a response.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundWrite {
    task: String,
    index: i64,
    /// The id of the checkpoint that was made from the write.
    claimed_by: Option<String>,
    path: Option<String>,
    part: PackedPart,
}

fn read(space: &str, run: &str, ns: &str, id: &str) -> Result<Request> {
    let contract = named(space)?;
    let key = (contract.id_of)(run, ns, id);
    let mut queries = vec![Query::Tuple { contract: contract.id, pick: Pick::Id(key.clone()) }];
    match contract.id {
        helix::CONTRACT_ID => {
            let (contract, log) = (contract.id, helix::MESSAGES.to_owned());
            queries.push(Query::Log(LogRange::kept(contract, run, &log, &key)));
        }
        helix::SESSIONS_ID => queries.push(Query::Log(LogRange {
            contract: helix::CONTRACT_ID,
            lineage: run.to_owned(),
            log: helix::MESSAGES.to_owned(),
            at: None,
            from: LogSide::First,
            skip: 0,
            limit: usize::MAX,
        })),
        _ => {}
    }
    let lineage = (contract.lineage_of)(run, ns);
    Ok(Request::ask(Query::All(queries), move |answer| found(contract, &lineage, answer)))
}

fn found(contract: &Contract, lineage: &str, answer: Answer) -> Result<Option<Response>> {
    #[derive(Serialize)]
    struct Found {
        parts: Vec<PackedPart>,
        writes: Vec<FoundWrite>,
        records: Option<Vec<PackedPart>>,
    }
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let mut answers = answers.into_iter();
    let tuple = answers.next().map(Answer::into_tuple).transpose()?.flatten();
    let records = answers.next().map(Answer::into_log).transpose()?.flatten();
    // A checkpoint of another run with the same id is not the one that was asked for.
    let Some(tuple) = tuple.filter(|tuple| tuple.checkpoint.header.lineage == lineage) else { return Ok(None) };
    let Tuple { checkpoint, writes } = *tuple;
    let mut response = ResponseBuilder::default();
    let parts = response.parts(checkpoint.payload);
    let writes = if contract.id == super::langgraph::CONTRACT_ID {
        super::langgraph::take_paths(writes)
    } else {
        writes.into_iter().map(|write| (write, None)).collect()
    };
    let writes = writes.into_iter().map(|(write, path)| {
        let claimed_by = write.claimed_by.map(|key| (contract.name_of)(None, Some(key.clone())).id.unwrap_or(key));
        FoundWrite { task: write.task, index: write.index, claimed_by, path, part: response.part(write.part) }
    });
    let writes = writes.collect();
    let records = records.map(|LogPage { records, .. }| {
        let part = |record: crate::record::Record| Part { name: String::new(), tag: record.tag, bytes: record.bytes };
        records.into_iter().map(|record| response.part(part(record))).collect()
    });
    response.finish(&Found { parts, writes, records }).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back() {
        for sort_key in [vec![], vec![0], b"\x00\xff\x7f".to_vec()] {
            let sort_key = SortKey(sort_key);
            assert_eq!(parse_place(&place(&sort_key, 70)), Some((sort_key, 70)));
        }
        for wrong in ["", "7", ".00", "7.0", "7.zz", "x.00", "7.é"] {
            assert_eq!(parse_place(wrong), None, "{wrong}");
        }
    }
}
