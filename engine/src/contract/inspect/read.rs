//! Reads all stored data of a checkpoint.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::Request;
use crate::contract::entry::Contract;
use crate::contract::registry::named;
use crate::contract::response::{PackedPart, Response};
use crate::error::{Error, Result};
use crate::query::{Answer, Pick, Query};
use crate::record::{LogPage, Tuple};

/// A checkpoint of a run.
#[derive(Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    pub(super) space: String,
    pub(super) run: String,
    pub(super) ns: String,
    pub(super) id: String,
}

/// A checkpoint with its parts and its writes. `records` are its messages or entries.
#[derive(Serialize, TS)]
pub(super) struct FoundCheckpoint {
    parts: Vec<PackedPart>,
    writes: Vec<FoundWrite>,
    records: Option<Vec<PackedPart>>,
}

/// A write to a checkpoint.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundWrite {
    task: String,
    index: i64,
    /// The id of the checkpoint that was made from the write.
    claimed_by: Option<String>,
    path: Option<String>,
    part: PackedPart,
}

/// The queries for all data of a checkpoint: the checkpoint with its writes, then its records.
pub(super) fn everything(contract: &Contract, At { run, ns, id, .. }: &At) -> Vec<Query> {
    let key = (contract.id_of)(run, ns, id);
    let log = contract.records_of.map(|records_of| records_of(run, ns, &key));
    let checkpoint = Query::Tuple { contract: contract.id, pick: Pick::Id(key) };
    [checkpoint].into_iter().chain(log.map(Query::Log)).collect()
}

/// A checkpoint with its records, if it has any.
pub(super) struct Everything {
    pub(super) tuple: Tuple,
    pub(super) records: Option<LogPage>,
}

impl Everything {
    /// Reads the answers to the queries of [`everything`]. A checkpoint with the same id in another run does not count.
    pub(super) fn of(lineage: &str, answers: Vec<Answer>) -> Result<Option<Self>> {
        let mut answers = answers.into_iter();
        let tuple = answers.next().map(Answer::into_tuple).transpose()?.flatten();
        let records = answers.next().map(Answer::into_log).transpose()?.flatten();
        let tuple = tuple.filter(|tuple| tuple.checkpoint.header.lineage == lineage);
        Ok(tuple.map(|tuple| Self { tuple: *tuple, records }))
    }
}

pub(super) fn read(at: &At) -> Result<Request> {
    let contract = named(&at.space)?;
    let lineage = (contract.lineage_of)(&at.run, &at.ns);
    let respond = move |answer| {
        let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
        found(contract, Everything::of(&lineage, answers)?)
    };
    Ok(Request::ask(Query::All(everything(contract, at)), respond))
}

fn found(contract: &Contract, found: Option<Everything>) -> Result<Option<Response>> {
    Response::one(found, |Everything { tuple: Tuple { checkpoint, writes }, records }, response| {
        let parts = response.parts(checkpoint.payload);
        let writes = match contract.take_paths {
            Some(take_paths) => take_paths(writes),
            None => writes.into_iter().map(|write| (write, None)).collect(),
        };
        let writes = writes.into_iter().map(|(write, path)| {
            let claimed_by = write.claimed_by.map(|key| (contract.name_of)(None, Some(key.clone())).id.unwrap_or(key));
            FoundWrite { task: write.task, index: write.index, claimed_by, path, part: response.part(write.part) }
        });
        let writes = writes.collect();
        Ok(FoundCheckpoint { parts, writes, records: records.map(|page| response.records(page.records)) })
    })
}
