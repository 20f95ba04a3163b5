//! Converts checkpoints and pages to the names that users know.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::cursor::format_cursor;
use crate::contract::effect;
use crate::contract::entry::{Contract, Maker, Names, Shown};
use crate::contract::fields::exact;
use crate::contract::registry::contract_of;
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::{Error, Result};
use crate::query::Answer;
use crate::record::{
    FeedPage, FeedWait, Header, Labels, Listed, OpenLineage, OpenLineages, RowPage, RowSums, Seq, Status,
};

/// See [`FeedWait`].
#[derive(Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wait {
    #[serde(deserialize_with = "exact")]
    #[ts(type = "Exact")]
    pub(super) transaction: i64,
    #[serde(deserialize_with = "exact")]
    #[ts(type = "Exact")]
    pub(super) up_to: Seq,
}

/// A checkpoint in a listing. The feed also has effects.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct ShownRow {
    space: &'static str,
    /// True if it is an effect. The id is then its key, and `meta` is its stored entry.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    effect: bool,
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
    /// The hash of the shape of the program that made the checkpoint. `None`: unknown, or in the metadata.
    shape: Option<String>,
    /// The mark of the checkpoint, if it says more than `shape`: see `ts/store/mark.ts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    mark: Option<String>,
    #[ts(type = "Record<string, unknown> | null")]
    meta: Option<serde_json::Value>,
    /// The metadata as a serialized part, if only the contract's serializer can read it.
    metadata: Option<PackedPart>,
    depends_on_parent: bool,
    /// The cursor from which the next page continues.
    cursor: String,
}

/// The recorded parent of a checkpoint. `run` and `ns` are `None` if they equal the checkpoint's.
#[derive(Serialize, TS)]
struct Parent {
    id: String,
    run: Option<String>,
    ns: Option<String>,
}

/// The users' id of a checkpoint. If an id is put again, each checkpoint has its own id in the engine.
pub(super) fn shown_id(contract: &Contract, header: &Header) -> String {
    let id = match contract.shown_id {
        Some(shown_id) => shown_id(header),
        None => effect::names(contract, Some(header.lineage.clone()), Some(header.id.clone())).id,
    };
    id.unwrap_or_else(|| header.id.clone())
}

/// `origin` is the checkpoint that the run was forked from.
fn shown(row: Listed, origin: Option<&Parent>, response: &mut ResponseBuilder) -> Option<ShownRow> {
    let Listed { seq, step, header, logical_bytes: logical, stored_bytes: stored, chain } = row;
    let contract = contract_of(header.contract)?;
    let Shown { label, group, at, meta, serialized, maker, mark } =
        // Damaged metadata must not stop a listing. The checkpoint is shown without it, and `verify` reports it.
        (contract.show)(&header).unwrap_or_default();
    let id = shown_id(contract, &header);
    let Names { run, ns, .. } = effect::names(contract, Some(header.lineage.clone()), None);
    let parent = header.parent.map(|parent| {
        let Names { run: _, ns: _, id } = (contract.name_of)(None, Some(parent.clone()));
        let id = id.unwrap_or(parent);
        let from = origin.filter(|origin| origin.id == id);
        let (run, ns) = from.map_or((None, None), |from| (from.run.clone(), from.ns.clone()));
        Parent { id, run, ns }
    });
    Some(ShownRow {
        space: contract.space(),
        effect: contract.id.is_effects(),
        run: run.unwrap_or(header.lineage),
        ns,
        id,
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
        shape: maker.shape,
        mark,
        meta,
        metadata: serialized.map(|part| response.part(part)),
        depends_on_parent: header.depends_on_parent,
        cursor: format_cursor(&header.sort_key, seq),
    })
}

/// A page of the checkpoints of a run.
#[derive(Serialize, TS)]
pub(super) struct ShownPage {
    /// The number of all checkpoints of the run.
    checkpoints: u64,
    /// The checkpoint of another run from which the run began.
    origin: Option<Parent>,
    /// The status of the run.
    status: Status,
    labels: Labels,
    rows: Vec<ShownRow>,
    sums: Option<Sums>,
}

/// Sums over all checkpoints of a run and the records of its logs.
#[derive(Serialize, TS)]
struct Sums {
    logical: u64,
    stored: u64,
    began: i64,
}

pub(super) fn shown_pages(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(pages) = answer else { return Err(Error::poisoned()) };
    let mut response = ResponseBuilder::default();
    let mut all = Vec::with_capacity(pages.len());
    for page in pages {
        let RowPage { checkpoints, origin, status, labels, rows, sums } = page.into_rows()?;
        let contract = rows.first().and_then(|row| contract_of(row.header.contract));
        let origin = origin.zip(contract).map(|((id, lineage), contract)| {
            let Names { run, ns, id: known } = (contract.name_of)(lineage, Some(id.clone()));
            Parent { id: known.unwrap_or(id), run, ns }
        });
        let rows = rows.into_iter().filter_map(|row| shown(row, origin.as_ref(), &mut response)).collect();
        // The content of a session is in its logs.
        let sums = sums.map(|RowSums { logical_bytes, stored_bytes, record_bytes, began }| Sums {
            logical: logical_bytes + record_bytes,
            stored: stored_bytes + record_bytes,
            began,
        });
        all.push(ShownPage { checkpoints, origin, status, labels, rows, sums });
    }
    response.finish(&all).map(Some)
}

/// The open runs of a contract, or a sample of them.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownOpen {
    /// The number of open runs.
    count: u64,
    /// True if `count` is an estimate.
    is_estimate: bool,
    /// At most the requested number of runs, an even sample of all.
    runs: Vec<OpenRun>,
}

/// An open run, from its newest checkpoint.
#[derive(Serialize, TS)]
struct OpenRun {
    run: String,
    ns: Option<String>,
    /// The id of the newest checkpoint.
    id: String,
    status: Status,
    /// The name of the program that made the checkpoint. `None`: unknown, or in the metadata.
    program: Option<String>,
    /// The hash of the shape of this program. `None`: unknown, or in the metadata.
    shape: Option<String>,
    /// The metadata with the shape, if only the contract's serializer can read it.
    metadata: Option<PackedPart>,
}

/// The open runs of each contract, or a sample of them, with the programs that made them.
pub(super) fn shown_open(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    Response::list(answers, |answer, response| {
        let OpenLineages { count, is_estimate, some } = answer.into_open()?;
        let run = |OpenLineage { newest, status }: OpenLineage| {
            let contract = contract_of(newest.contract)?;
            let Shown { maker: Maker { program, shape }, serialized, .. } =
                (contract.show)(&newest).unwrap_or_default();
            let metadata = serialized.filter(|_| shape.is_none());
            let id = shown_id(contract, &newest);
            let Names { run, ns, .. } = (contract.name_of)(Some(newest.lineage), None);
            Some(OpenRun {
                run: run?,
                ns,
                id,
                status,
                program,
                shape,
                metadata: metadata.map(|part| response.part(part)),
            })
        };
        Ok(ShownOpen { count, is_estimate, runs: some.into_iter().filter_map(run).collect() })
    })
}

/// A page of the feed. See [`FeedPage`].
#[derive(Serialize, TS)]
pub(super) struct ShownFeed {
    rows: Vec<ShownRow>,
    next: Seq,
    wait: Option<Wait>,
    checkpoints: Option<u64>,
    removals: Option<i64>,
    version: Option<i64>,
}

pub(super) fn shown_feed(page: FeedPage) -> Result<Option<Response>> {
    let FeedPage { rows, next, wait, checkpoints, removals, version } = page;
    let mut response = ResponseBuilder::default();
    let is_beside = |row: &Listed| contract_of(row.header.contract).is_some_and(Contract::is_beside);
    let rows = rows.into_iter().filter(|row| !is_beside(row));
    let rows = rows.filter_map(|row| shown(row, None, &mut response)).collect();
    let wait = wait.map(|FeedWait { transaction, up_to }| Wait { transaction, up_to });
    response.finish(&ShownFeed { rows, next, wait, checkpoints, removals, version }).map(Some)
}
