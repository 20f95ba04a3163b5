//! What an export reads, and what an import stores: checkpoints as they are stored, with the names that users know.

use serde::{Deserialize, Serialize};

use super::super::call::{Buffers, Request};
use super::super::entry::Contract;
use super::super::fields::exact;
use super::super::ids::check_id;
use super::super::registry::named;
use super::super::response::{PackedPart, Response, ResponseBuilder};
use super::super::{helix, langgraph, thread, tinyagents};
use super::show::{from_hex, hex};
use crate::error::{Error, Result};
use crate::op::{Expect, LogEnd, Op, Unit};
use crate::query::{LogRange, LogSide, Pick, Query};
use crate::record::{Checkpoint, Header, LogPin, LogRun, Part, Payload, Record, SortKey, Tuple, Write};

/// A run in the calls of this module.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    pub(super) space: String,
    pub(super) run: String,
    pub(super) ns: String,
}

impl Key {
    fn contract(&self) -> Result<&'static Contract> {
        named(&self.space)
    }

    fn lineage(&self, contract: &Contract) -> String {
        (contract.lineage_of)(&self.run, &self.ns)
    }

    fn id(&self, contract: &Contract, id: &str) -> String {
        (contract.id_of)(&self.run, &self.ns, id)
    }

    /// Returns the user's id of a checkpoint of this run, or of another run of the same contract.
    fn shown_id(contract: &Contract, id: String) -> String {
        if contract.id == tinyagents::CONTRACT_ID {
            return thread::split_key(&id).map_or(id, |(_, id)| id);
        }
        (contract.name_of)(None, Some(id.clone())).id.unwrap_or(id)
    }
}

/// The fields of a checkpoint as they are stored, apart from its parts.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stored {
    id: String,
    parent: Option<String>,
    group: String,
    label: String,
    /// The sort key, in hexadecimal digits.
    rank: String,
    #[serde(deserialize_with = "exact")]
    saved_at: i64,
    age_offset: u8,
    depends_on_parent: bool,
    exempt: bool,
    /// The logs that the checkpoint names, and how many of their records.
    logs: Vec<(String, u64)>,
}

/// A write, without its value.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredWrite {
    task: String,
    /// The slot. LangGraph's slot of a task's path is the lowest integer of 64 bits.
    #[serde(deserialize_with = "exact")]
    index: i64,
    owner: Option<String>,
}

/// Reads a checkpoint as it is stored.
pub(super) fn stored(key: &Key, id: &str) -> Result<Request> {
    let contract = key.contract()?;
    let query = Query::Tuple { contract: contract.id, pick: Pick::Id(key.id(contract, id)) };
    let lineage = key.lineage(contract);
    Ok(Request::ask(query, move |answer| {
        let Some(tuple) = answer.into_tuple()?.filter(|tuple| tuple.checkpoint.header.lineage == lineage) else {
            return Ok(None);
        };
        read(contract, *tuple).map(Some)
    }))
}

fn read(contract: &Contract, Tuple { checkpoint, writes }: Tuple) -> Result<Response> {
    #[derive(Serialize)]
    struct Found {
        stored: Stored,
        meta: PackedPart,
        parts: Vec<PackedPart>,
        writes: Vec<(StoredWrite, PackedPart)>,
    }
    let Checkpoint { header, payload, logs } = checkpoint;
    let mut response = ResponseBuilder::default();
    let meta = response.part(Part { name: String::new(), tag: String::new(), bytes: header.meta.into() });
    let stored = Stored {
        id: Key::shown_id(contract, header.id),
        parent: header.parent.map(|parent| Key::shown_id(contract, parent)),
        group: header.group,
        label: header.label,
        rank: hex(&header.sort_key.0),
        saved_at: header.saved_at,
        age_offset: header.age_offset,
        depends_on_parent: header.depends_on_parent,
        exempt: header.exempt,
        logs: logs.into_iter().map(|mark| (mark.log, mark.length)).collect(),
    };
    let parts = response.parts(payload);
    let write = |Write { task, index, claimed_by, part }: Write| {
        let owner = claimed_by.map(|key| Key::shown_id(contract, key));
        (StoredWrite { task, index, owner }, response.part(part))
    };
    let writes = writes.into_iter().map(write).collect();
    response.finish(&Found { stored, meta, parts, writes })
}

/// Lists the logs of a run, with their lengths.
pub(super) fn logs(key: &Key) -> Result<Request> {
    let contract = key.contract()?;
    let query = Query::Logs { contract: contract.id, lineage: key.lineage(contract) };
    Ok(Request::ask(query, |answer| {
        let logs: Vec<(String, u64)> = answer.into_logs()?.into_iter().map(|mark| (mark.log, mark.length)).collect();
        Response::json(&logs).map(Some)
    }))
}

/// Lists the pieces of a log, or of the part of it that a checkpoint names. Two logs share their pieces of one branch up
/// to the lower end.
pub(super) fn log_runs(key: &Key, log: String, at: Option<&str>) -> Result<Request> {
    let contract = key.contract()?;
    let at = at.map(|id| key.id(contract, id));
    let query = Query::LogRuns { contract: contract.id, lineage: key.lineage(contract), log, at };
    Ok(Request::ask(query, |answer| {
        let pieces = answer.into_log_runs()?.into_iter().map(|LogRun { branch, to }| (branch, to));
        Response::json(&pieces.collect::<Vec<_>>()).map(Some)
    }))
}

/// Reads records of a log, or of the part of it that a checkpoint names.
pub(super) fn records(key: &Key, log: String, at: Option<&str>, skip: u64, limit: usize) -> Result<Request> {
    let contract = key.contract()?;
    let at = at.map(|id| key.id(contract, id));
    let (lineage, from) = (key.lineage(contract), LogSide::First);
    let query = Query::Log(LogRange { contract: contract.id, lineage, log, at, from, skip, limit });
    Ok(Request::ask(query, |answer| {
        let records = answer.into_log()?.map(|page| page.records).unwrap_or_default();
        let mut response = ResponseBuilder::default();
        let found: Vec<(Option<String>, PackedPart)> = records
            .into_iter()
            .map(|Record { key, tag, bytes }| {
                (key, response.part(Part { name: String::new(), tag, bytes: bytes.into() }))
            })
            .collect();
        response.finish(&found).map(Some)
    }))
}

/// The name and the tag of a part, whose bytes are a buffer of the call.
#[derive(Deserialize)]
pub(super) struct Name {
    name: String,
    tag: String,
}

/// A step of an import. All of it is stored, or nothing. The buffers are: the records, the meta and the parts, the
/// values of the writes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Restore {
    /// True if the run must not exist yet.
    begins: bool,
    /// A log that becomes shorter, and gets records.
    log: Option<RestoredLog>,
    checkpoint: Option<RestoredCheckpoint>,
    writes: Vec<RestoredWrite>,
}

#[derive(Deserialize)]
struct RestoredLog {
    name: String,
    length: u64,
    /// The key and the tag of each record.
    records: Vec<(Option<String>, String)>,
}

#[derive(Deserialize)]
struct RestoredCheckpoint {
    stored: Stored,
    parts: Vec<Name>,
}

#[derive(Deserialize)]
struct RestoredWrite {
    /// The id of the checkpoint that has the write.
    checkpoint: String,
    write: StoredWrite,
    part: Name,
}

/// Stores a step of an import.
pub(super) fn restore(key: &Key, restore: Restore, buffers: &mut Buffers) -> Result<Request> {
    let contract = key.contract()?;
    let lineage = key.lineage(contract);
    check_id("run", &key.run)?;
    let mut unit = Unit::default();
    if restore.begins {
        let or = String::new();
        let newest = None;
        unit.expect.push(Expect::Newest { contract: contract.id, lineage: lineage.clone(), newest, or });
    }
    if let Some(RestoredLog { name: log, length, records }) = restore.log {
        let to = LogEnd::Length(length);
        unit.ops.push(Op::Truncate { contract: contract.id, lineage: lineage.clone(), log: log.clone(), to });
        let record = |(key, tag)| Ok(Record { key, tag, bytes: buffers.take()?.into_joined() });
        let records = records.into_iter().map(record).collect::<Result<Vec<_>>>()?;
        if !records.is_empty() {
            let (contract, lineage, expect) = (contract.id, lineage.clone(), Some(length));
            unit.ops.push(Op::Append { contract, lineage, log, records, expect });
        }
    }
    if let Some(RestoredCheckpoint { stored, parts }) = restore.checkpoint {
        check_id("the id of a checkpoint", &stored.id)?;
        let rank = from_hex(&stored.rank)
            .ok_or_else(|| Error::invalid("\"rank\" has other characters than hexadecimal digits"))?;
        let header = Header {
            contract: contract.id,
            id: key.id(contract, &stored.id),
            parent: stored.parent.map(|parent| key.id(contract, &parent)),
            lineage,
            group: stored.group,
            label: stored.label,
            sort_key: SortKey(rank),
            saved_at: stored.saved_at,
            age_offset: stored.age_offset,
            depends_on_parent: stored.depends_on_parent,
            exempt: stored.exempt,
            meta: buffers.take()?.to_vec(),
        };
        let part = |Name { name, tag }| Ok(Part { name, tag, bytes: buffers.take()? });
        let parts = parts.into_iter().map(part).collect::<Result<_>>()?;
        // What lists show is read from these fields, so they must be readable.
        (contract.show)(&header)?;
        let checkpoint = Checkpoint { header, payload: Payload { parts }, logs: Vec::new() };
        let mut draft = crate::record::Draft::from(checkpoint);
        draft.logs = stored.logs.into_iter().map(|(log, length)| LogPin { log, length: Some(length) }).collect();
        unit.ops.push(Op::Put(Box::new(draft)));
    }
    for RestoredWrite { checkpoint, write: StoredWrite { task, index, owner }, part: Name { name, tag } } in
        restore.writes
    {
        let id = key.id(contract, &checkpoint);
        let claimed_by = owner.map(|owner| key.id(contract, &owner));
        let write = Write { task, index, claimed_by, part: Part { name, tag, bytes: buffers.take()? } };
        unit.ops.push(Op::Write { contract: contract.id, id, writes: vec![write], replace: true, encoded: None });
    }
    Ok(Request::Apply(unit))
}

/// Removes a run, or some of its checkpoints. The writes to the checkpoints in `reopen` become pending again.
pub(super) fn remove(key: &Key, ids: Option<Vec<String>>, reopen: Vec<String>) -> Result<Request> {
    let contract = key.contract()?;
    let Some(ids) = ids else {
        return Ok(Request::Apply(match contract.id {
            helix::CONTRACT_ID => helix::delete(key.run.clone()),
            langgraph::CONTRACT_ID if key.ns.is_empty() => langgraph::delete_thread(&key.run),
            tinyagents::CONTRACT_ID if key.ns.is_empty() => tinyagents::delete_thread(&key.run),
            _ => {
                let (contract, lineage) = (contract.id, key.lineage(contract));
                vec![Op::RemoveFrom { contract, lineage, sort_key: SortKey::default() }].into()
            }
        }));
    };
    let id = |id: String| key.id(contract, &id);
    let removed = ids.into_iter().map(|one| Op::Remove { contract: contract.id, id: id(one) });
    let reopened = reopen.into_iter().map(|one| Op::Reopen { contract: contract.id, id: id(one) });
    Ok(Request::Apply(removed.chain(reopened).collect::<Vec<_>>().into()))
}
