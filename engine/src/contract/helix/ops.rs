//! The units and queries of sessions and their checkpoints.

use serde::Deserialize;
use ts_rs::TS;

use super::meta::{CheckpointMeta, Session, common_status};
use crate::contract::call::{Buffers, PartName};
use crate::contract::ids::{MAX_ID_BYTES, check_id};
use crate::contract::incarnation::is_incarnation;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Fork, LogEnd, LogMust, Must, Op, Unit};
use crate::query::{LogRange, LogSide, Of, Query};
use crate::record::{
    Checkpoint, ContractId, Draft, Header, Labels, LogPin, Order, Part, Payload, Record, SortKey, TaskState, Write,
};

pub const CONTRACT_ID: ContractId = ContractId(5);

pub const SESSIONS_ID: ContractId = ContractId(6);

/// The log that holds a session's messages.
pub const MESSAGES: &str = "messages";

/// Creates or changes a session. The call has one buffer for each of `parts`.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Change {
    /// The session's new row, with the new version.
    pub(super) session: Session,
    /// If given, the session must not be alive since this time, and this change begins it. Otherwise the session must
    /// have the version before the new one.
    pub(super) begins: Option<i64>,
    /// The parts of the state to store, each named by its place in the state. Other parts stay.
    pub(super) parts: Vec<PartName>,
    /// The new end of the messages.
    pub(super) messages: Option<LogEnd>,
}

pub(super) fn change(change: Change, buffers: &mut Buffers) -> Result<Unit> {
    let Change { session, begins, parts, messages } = change;
    check_id("sessionId", &session.id)?;
    for (what, text) in [("agentType", &session.agent_type), ("status", &session.status)] {
        if text.len() > MAX_ID_BYTES {
            return Err(Error::invalid(format!(
                "session {}: {what} has {} bytes, but may have at most {MAX_ID_BYTES}: use a shorter one",
                quote(&session.id),
                text.len()
            )));
        }
    }
    let parts = buffers.parts(parts)?;
    let (must, why) = match begins {
        Some(alive_since) => (Must::NotBeSavedSince(alive_since), "already exists: use another id, or load it"),
        None => (
            Must::HaveSortKey(SortKey::from_version(session.version.wrapping_sub(1))),
            "was changed by another writer: load it again and retry",
        ),
    };
    let expect = expect(&session.id, must, Code::Conflict, why);
    let mut ops = Vec::new();
    if begins.is_some() {
        // Remove the remains of an expired session. Its checkpoints, which have expired too, stay until a sweep.
        ops.push(remove_row(&session.id));
        ops.push(Op::RemoveLogs { contract: CONTRACT_ID, lineage: session.id.clone() });
    }
    if let Some(to) = messages {
        let (lineage, log) = (session.id.clone(), MESSAGES.to_owned());
        ops.push(Op::Truncate { contract: CONTRACT_ID, lineage, log, to });
    }
    ops.push(put_row(&session));
    if !parts.is_empty() {
        let write = |part: Part| Write {
            task: part.name.clone(),
            index: 0,
            claimed_by: None,
            state: TaskState::default(),
            part,
        };
        let writes = parts.into_iter().map(write).collect();
        ops.push(Op::Write { contract: SESSIONS_ID, id: session.id, writes, replace: true, encoded: None });
    }
    Ok(Unit { expect: vec![expect], ops })
}

fn put_row(session: &Session) -> Op {
    let header = Header {
        sort_key: SortKey::from_version(session.version),
        saved_at: session.saved_at,
        // Retention does not know that the messages belong to the row. See `expire`.
        exempt: true,
        status: common_status(&session.status),
        meta: session.meta(),
        ..Header::new(SESSIONS_ID, session.id.clone(), session.id.clone())
    };
    Op::put(header, Vec::new())
}

fn remove_row(session_id: &str) -> Op {
    Op::RemoveFrom { contract: SESSIONS_ID, lineage: session_id.to_owned(), sort_key: SortKey::default() }
}

fn expect(session_id: &str, must: Must, code: Code, why: &str) -> Expect {
    let otherwise = Error::new(code, format!("session {} {why}", quote(session_id)));
    Expect::Checkpoint { contract: SESSIONS_ID, id: session_id.to_owned(), must, otherwise }
}

/// Appends messages to a session. The session must be alive.
pub(super) fn append(
    session_id: String,
    records: Vec<Record>,
    alive_since: i64,
    saved_at: i64,
    incarnation: Option<i64>,
) -> Result<Unit> {
    check_id("sessionId", &session_id)?;
    let alive = expect(
        &session_id,
        Must::BeSavedSince(alive_since),
        Code::NotFound,
        "not found: create it first, or check whether it has expired",
    );
    let incarnation = incarnation.map(|position| has_incarnation(&session_id, position));
    let ops = vec![
        Op::Append {
            contract: CONTRACT_ID,
            lineage: session_id.clone(),
            log: MESSAGES.to_owned(),
            records,
            must: LogMust::BeAny,
        },
        Op::Touch { contract: SESSIONS_ID, id: session_id, saved_at },
    ];
    Ok(Unit { expect: [alive].into_iter().chain(incarnation).collect(), ops })
}

fn has_incarnation(session_id: &str, position: i64) -> Expect {
    is_incarnation(SESSIONS_ID, session_id.to_owned(), position, "session", session_id)
}

/// Removes a session with its messages and its checkpoints.
pub fn delete(session_id: String) -> Unit {
    let row = remove_row(&session_id);
    let checkpoints =
        Op::RemoveFrom { contract: CONTRACT_ID, lineage: session_id.clone(), sort_key: SortKey::default() };
    vec![row, checkpoints, Op::RemoveLogs { contract: CONTRACT_ID, lineage: session_id }].into()
}

/// Removes a session that is not alive, as [`delete`] does. Fails with [`Code::Conflict`] if the session is alive.
pub(super) fn expire(session_id: String, alive_since: i64) -> Unit {
    let expired = expect(&session_id, Must::NotBeSavedSince(alive_since), Code::Conflict, "is alive");
    Unit { expect: vec![expired], ..delete(session_id) }
}

/// The call has one buffer for each of `parts`.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Save {
    id: String,
    /// The session that the checkpoint belongs to. It need not exist, unless it is `known`.
    session_id: String,
    /// True if the caller has seen the session. If it is gone, the save fails with [`Code::Conflict`].
    #[serde(default)]
    known: bool,
    /// If given, the session must have this incarnation.
    #[serde(default)]
    #[ts(type = "Exact | undefined")]
    incarnation: Option<i64>,
    timestamp: f64,
    step_count: f64,
    stream_sequence: f64,
    message_count: Option<f64>,
    status: Option<String>,
    /// The role of the state's last message, if it is a short text.
    last_role: Option<String>,
    shares_messages: bool,
    /// The number of messages that the checkpoint names. `None` names all messages that the session has.
    messages: Option<u64>,
    /// The version of the session in which `messages` was counted. `None`: no condition.
    version: Option<u64>,
    /// True if the save refreshes the session. A session that is not alive cannot be refreshed.
    touches: bool,
    parts: Vec<PartName>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    saved_at: i64,
}

/// `saveCheckpoint`: stores a checkpoint, and replaces a checkpoint of the session with the same id.
pub(super) fn save(save: Save, buffers: &mut Buffers) -> Result<Unit> {
    let Save { id, session_id, known, timestamp, messages, version, touches, parts, saved_at, .. } = save;
    let Save { step_count, stream_sequence, message_count, status, last_role, shares_messages, .. } = save;
    let meta = CheckpointMeta { step_count, stream_sequence, message_count, status, last_role, shares_messages };
    check_id("checkpoint.id", &id)?;
    check_id("checkpoint.sessionId", &session_id)?;
    let otherwise = Error::new(
        Code::Conflict,
        format!("checkpoint {}: another session has a checkpoint of this id: use another id", quote(&id)),
    );
    let must = Must::BelongTo(session_id.clone());
    let mut conditions = vec![Expect::Checkpoint { contract: CONTRACT_ID, id: id.clone(), must, otherwise }];
    conditions.extend(save.incarnation.map(|position| has_incarnation(&session_id, position)));
    if known {
        let must = Must::BeSavedSince(i64::MIN);
        conditions.push(expect(&session_id, must, Code::Conflict, "was deleted while it ran: nothing was stored"));
    }
    if let Some(version) = version {
        let must = Must::HaveSortKey(SortKey::from_version(version));
        conditions.push(expect(&session_id, must, Code::Conflict, "was changed by another writer: try again"));
    }
    let header = Header {
        sort_key: SortKey::from_f64(timestamp),
        saved_at,
        status: common_status(meta.status.as_deref().unwrap_or_default()),
        meta: meta.encode(),
        ..Header::new(CONTRACT_ID, session_id.clone(), id)
    };
    let mut draft =
        Draft::from(Checkpoint { header, payload: Payload { parts: buffers.parts(parts)? }, logs: Vec::new() });
    draft.order = Order::SaveOfNumber;
    draft.logs = vec![LogPin { log: MESSAGES.to_owned(), length: messages }];
    let touch = touches.then_some(Op::Touch { contract: SESSIONS_ID, id: session_id, saved_at });
    Ok(Unit { expect: conditions, ops: [Op::Put(Box::new(draft))].into_iter().chain(touch).collect() })
}

/// Begins a new session with a copy of a checkpoint and the messages that it names. The call has one buffer for each of
/// `parts`.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Branch {
    session: Session,
    /// The new session must not be alive since this time.
    alive_since: i64,
    parts: Vec<PartName>,
    /// The id of the checkpoint to copy.
    checkpoint_id: String,
    /// The id of the copy.
    copy_id: String,
    timestamp: f64,
}

pub(super) fn branch(branch: Branch, buffers: &mut Buffers) -> Result<Unit> {
    let Branch { session, alive_since, parts, checkpoint_id, copy_id, timestamp } = branch;
    check_id("checkpoint.id", &copy_id)?;
    let fork = Fork {
        contract: CONTRACT_ID,
        source: checkpoint_id,
        id: copy_id,
        lineage: session.id.clone(),
        sort_key: SortKey::from_f64(timestamp),
        saved_at: session.saved_at,
        labels: Labels::default(),
    };
    let mut unit = change(Change { session, begins: Some(alive_since), parts, messages: None }, buffers)?;
    unit.ops.push(Op::Fork(Box::new(fork)));
    Ok(unit)
}

/// Reads messages of a session, and the session's row. The answer is [`Answer::All`](crate::query::Answer::All) of the
/// row's header and the log.
pub(super) fn messages(session_id: String, offset: u64, limit: usize) -> Query {
    let row = Query::List { contract: SESSIONS_ID, of: Of::Lineage(session_id.clone()), before: None, limit: Some(1) };
    let log = Query::Log(LogRange {
        contract: CONTRACT_ID,
        lineage: session_id,
        log: MESSAGES.to_owned(),
        at: None,
        from: LogSide::First,
        skip: offset,
        limit,
    });
    Query::All(vec![row, log])
}
