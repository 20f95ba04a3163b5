//! Approvals that were taken. Each is a checkpoint in the lineage of its chat.

use serde::Serialize;

use crate::contract::ids::{check_id, damaged};
use crate::contract::response::Response;
use crate::contract::thread;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Query};
use crate::record::{ContractId, Header};

/// It makes the checkpoints records: see [`ContractId::has_records`].
pub(super) const ID: ContractId = ContractId(85);

pub(super) fn id(chat: &str, approval: &str) -> String {
    thread::lineage(chat, approval)
}

/// Marks approvals as taken. `is_seen` is the condition that the chat is the one that was compared.
pub(super) fn take(chat: &str, is_seen: Expect, approvals: Vec<String>, by: &str, saved_at: i64) -> Result<Unit> {
    let mut unit = Unit { expect: vec![is_seen], ops: Vec::new() };
    for approval in approvals {
        let id = id(chat, &approval);
        check_id("the approval's id", &id)?;
        let message = format!("approval {} of chat {} was taken", quote(&approval), quote(chat));
        unit.expect.push(Expect::Checkpoint {
            contract: ID,
            id: id.clone(),
            must: Must::NotBeSavedSince(i64::MIN),
            otherwise: Error::new(Code::Conflict, message),
        });
        let meta = by.as_bytes().to_vec();
        let header = Header { saved_at, exempt: true, meta, ..Header::new(ID, chat, id) };
        unit.ops.push(Op::put(header, Vec::new()));
    }
    Ok(unit)
}

pub(super) fn query(chat: &str, approvals: Vec<String>) -> Query {
    let get = |approval: String| Query::Get { contract: ID, id: id(chat, &approval) };
    Query::All(approvals.into_iter().map(get).collect())
}

pub(super) fn respond(answer: Answer) -> Result<Option<Response>> {
    #[derive(Serialize)]
    struct Found {
        approval: String,
        /// In ms since the epoch.
        at: i64,
        by: String,
    }
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
    Response::list(found.into_iter().flatten().collect(), |found, _| {
        let Header { id, saved_at: at, meta, .. } = found.header;
        let (_, approval) = thread::split(&id).ok_or_else(|| damaged(&id))?;
        let by = String::from_utf8(meta).map_err(|_| damaged(&id))?;
        Ok(Found { approval: approval.to_owned(), at, by })
    })
}
