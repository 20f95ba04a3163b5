//! Taken approvals. Each is a checkpoint in the lineage of its chat.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::ids::{check_id, damaged};
use crate::contract::response::Response;
use crate::contract::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Query};
use crate::record::{ContractId, Header, SortKey};

/// The id makes the checkpoints records: see [`ContractId::has_records`].
pub(super) const ID: ContractId = ContractId(85);

pub(super) fn id(chat: &str, approval: &str) -> String {
    thread::lineage(chat, approval)
}

/// The sort key of a released approval. A taken approval has an empty sort key.
fn released() -> SortKey {
    SortKey::from_version(1)
}

/// An approval to take.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    id: String,
    /// True if the approval was taken and released before.
    released: bool,
}

fn put(chat: &str, approval: &str, sort_key: SortKey, by: &str, saved_at: i64) -> Result<Op> {
    let id = id(chat, approval);
    check_id("the approval's id", &id)?;
    let meta = by.as_bytes().to_vec();
    let header = Header { sort_key, saved_at, exempt: true, meta, ..Header::new(ID, chat, id) };
    Ok(Op::put(header, Vec::new()))
}

/// The condition that an approval has not changed since the caller read it.
fn is_as_seen(chat: &str, Approval { id: approval, released: is_released }: &Approval) -> Expect {
    let message = format!("approval {} of chat {} was taken", quote(approval), quote(chat));
    let must = if *is_released { Must::HaveSortKey(released()) } else { Must::NotBeSavedSince(i64::MIN) };
    Expect::Checkpoint { contract: ID, id: id(chat, approval), must, otherwise: Error::new(Code::Conflict, message) }
}

/// Marks approvals as taken. `is_seen` is the condition that the chat has not changed.
pub(super) fn take(chat: &str, is_seen: Expect, approvals: &[Approval], by: &str, saved_at: i64) -> Result<Unit> {
    let expect = std::iter::once(is_seen).chain(approvals.iter().map(|approval| is_as_seen(chat, approval))).collect();
    let ops = approvals.iter().map(|approval| put(chat, &approval.id, SortKey::default(), by, saved_at));
    Ok(Unit { expect, ops: ops.collect::<Result<_>>()? })
}

/// Marks an approval as released.
pub(super) fn release(chat: &str, approval: &str, by: &str, saved_at: i64) -> Result<Unit> {
    Ok(vec![put(chat, approval, released(), by, saved_at)?].into())
}

pub(super) fn query(chat: &str, approvals: Vec<String>) -> Query {
    let get = |approval: String| Query::Get { contract: ID, id: id(chat, &approval) };
    Query::All(approvals.into_iter().map(get).collect())
}

/// The mark of an approval.
#[derive(Serialize, TS)]
pub(super) struct FoundApproval {
    approval: String,
    /// In ms since the epoch.
    at: i64,
    by: String,
    released: bool,
}

pub(super) fn respond(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
    Response::list(found.into_iter().flatten().collect(), |found, _| {
        let Header { id, saved_at: at, meta, sort_key, .. } = found.header;
        let (_, approval) = thread::split(&id).ok_or_else(|| damaged(&id))?;
        let by = String::from_utf8(meta).map_err(|_| damaged(&id))?;
        Ok(FoundApproval { approval: approval.to_owned(), at, by, released: sort_key == released() })
    })
}
