//! The units and queries of sessions and their checkpoints.

use super::meta::{CheckpointMeta, SessionMeta};
use crate::contract::ids::{MAX_ID_BYTES, check_id, damaged};
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Fork, LogEnd, Must, Op, Unit};
use crate::query::{LogRange, LogSide, Of, Pick, Query};
use crate::record::{Checkpoint, ContractId, Draft, Header, LogPin, Part, Payload, Record, SortKey, Write};

pub const CONTRACT_ID: ContractId = ContractId(5);

pub const SESSIONS_ID: ContractId = ContractId(6);

/// The log that holds a session's messages.
pub const MESSAGES: &str = "messages";

/// A session's row, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: String,
    /// The number of the row's version. The first version is random, so that a session that was deleted and created
    /// again has another one.
    pub version: u64,
    /// The time of the session's last write, in ms since the epoch.
    pub saved_at: i64,
    /// The fields that listings show.
    pub meta: SessionMeta,
}

impl Session {
    /// Reads a row.
    pub fn read(header: Header) -> Result<Self> {
        let version = <[u8; 8]>::try_from(&header.sort_key.0[..]).map(u64::from_be_bytes);
        match (version, SessionMeta::decode(&header.meta)) {
            (Ok(version), Some(meta)) => Ok(Self { id: header.id, version, saved_at: header.saved_at, meta }),
            _ => Err(damaged(&header.id)),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Change {
    /// The session's new row. Its version is the version that the change stores.
    pub session: Session,
    /// If given, the session must not be alive since this time, and begins with this change. Otherwise the session must
    /// have the version before the new one.
    pub begins: Option<i64>,
    /// The parts of the state to store. The name of a part is its place in the state. The other parts stay.
    pub parts: Vec<Part>,
    /// The new end of the messages.
    pub messages: Option<LogEnd>,
}

/// Creates or changes a session.
pub fn change(change: Change) -> Result<Unit> {
    let Change { session, begins, parts, messages } = change;
    check_id("sessionId", &session.id)?;
    for (what, text) in [("agentType", &session.meta.agent_type), ("status", &session.meta.status)] {
        if text.len() > MAX_ID_BYTES {
            return Err(Error::invalid(format!(
                "session {}: {what} has {} bytes, and may have at most {MAX_ID_BYTES}: give a shorter one",
                quote(&session.id),
                text.len()
            )));
        }
    }
    let sort_key = |version: u64| SortKey(version.to_be_bytes().to_vec());
    let (must, why) = match begins {
        Some(alive_since) => (Must::NotBeSavedSince(alive_since), "exists already: use another id, or load it"),
        None => (
            Must::HaveSortKey(sort_key(session.version.wrapping_sub(1))),
            "was changed by another writer: load it again and decide again",
        ),
    };
    let expect = expect(&session.id, must, Code::Conflict, why);
    let mut ops = Vec::new();
    if begins.is_some() {
        // Remove what is left of an expired session. Its checkpoints have expired too, and stay until they are swept.
        ops.push(remove_row(&session.id));
        ops.push(Op::RemoveLogs { contract: CONTRACT_ID, lineage: session.id.clone() });
    }
    if let Some(to) = messages {
        let (lineage, log) = (session.id.clone(), MESSAGES.to_owned());
        ops.push(Op::Truncate { contract: CONTRACT_ID, lineage, log, to });
    }
    ops.push(put_row(&session));
    if !parts.is_empty() {
        let write = |part: Part| Write { task: part.name.clone(), index: 0, claimed_by: None, part };
        let writes = parts.into_iter().map(write).collect();
        ops.push(Op::Write { contract: SESSIONS_ID, id: session.id, writes, replace: true, encoded: None });
    }
    Ok(Unit { expect: vec![expect], ops })
}

fn put_row(session: &Session) -> Op {
    let header = Header {
        sort_key: SortKey(session.version.to_be_bytes().to_vec()),
        saved_at: session.saved_at,
        // Retention cannot know that the messages go together with the row. See `expire`.
        exempt: true,
        meta: session.meta.encode(),
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
pub fn append(session_id: String, records: Vec<Record>, alive_since: i64, saved_at: i64) -> Result<Unit> {
    check_id("sessionId", &session_id)?;
    let alive = expect(
        &session_id,
        Must::BeSavedSince(alive_since),
        Code::NotFound,
        "not found: create it first, or check whether it has expired",
    );
    let ops = vec![
        Op::Append {
            contract: CONTRACT_ID,
            lineage: session_id.clone(),
            log: MESSAGES.to_owned(),
            records,
            expect: None,
        },
        Op::Touch { contract: SESSIONS_ID, id: session_id, saved_at },
    ];
    Ok(Unit { expect: vec![alive], ops })
}

/// Removes a session with its messages and its checkpoints.
pub fn delete(session_id: String) -> Unit {
    let row = remove_row(&session_id);
    let checkpoints =
        Op::RemoveFrom { contract: CONTRACT_ID, lineage: session_id.clone(), sort_key: SortKey::default() };
    vec![row, checkpoints, Op::RemoveLogs { contract: CONTRACT_ID, lineage: session_id }].into()
}

/// Removes a session that is not alive, as [`delete`] does. Fails with [`Code::Conflict`] if the session is alive.
pub fn expire(session_id: String, alive_since: i64) -> Unit {
    let expired = expect(&session_id, Must::NotBeSavedSince(alive_since), Code::Conflict, "is alive");
    Unit { expect: vec![expired], ..delete(session_id) }
}

#[derive(Clone, Debug)]
pub struct Save {
    pub id: String,
    /// The session that the checkpoint belongs to. It need not exist.
    pub session_id: String,
    /// The checkpoint's `timestamp`.
    pub timestamp: f64,
    /// The fields that listings show, and the fields that say how the messages are stored.
    pub meta: CheckpointMeta,
    /// The number of messages that the checkpoint names. `None` names all messages that the session has.
    pub messages: Option<u64>,
    /// The version of the session that `messages` was counted in. `None` expects nothing.
    pub version: Option<u64>,
    /// True if the save refreshes the session. A session that is not alive must not be refreshed.
    pub touches: bool,
    pub parts: Vec<Part>,
    /// The time at which the store received the checkpoint, in ms since the epoch.
    pub saved_at: i64,
}

/// `saveCheckpoint`: stores a checkpoint, and replaces a checkpoint of the session with the same id.
pub fn save(save: Save) -> Result<Unit> {
    let Save { id, session_id, timestamp, meta, messages, version, touches, parts, saved_at } = save;
    check_id("checkpoint.id", &id)?;
    check_id("checkpoint.sessionId", &session_id)?;
    let otherwise = Error::new(
        Code::Conflict,
        format!("checkpoint {}: another session has a checkpoint of this id: use another id", quote(&id)),
    );
    let must = Must::BelongTo(session_id.clone());
    let mut conditions = vec![Expect::Checkpoint { contract: CONTRACT_ID, id: id.clone(), must, otherwise }];
    if let Some(version) = version {
        let must = Must::HaveSortKey(SortKey(version.to_be_bytes().to_vec()));
        conditions.push(expect(&session_id, must, Code::Conflict, "was changed by another writer: try again"));
    }
    let header = Header {
        sort_key: SortKey::from_f64(timestamp),
        saved_at,
        meta: meta.encode(),
        ..Header::new(CONTRACT_ID, session_id.clone(), id)
    };
    let mut draft = Draft::from(Checkpoint { header, payload: Payload { parts }, logs: Vec::new() });
    draft.logs = vec![LogPin { log: MESSAGES.to_owned(), length: messages }];
    let touch = touches.then_some(Op::Touch { contract: SESSIONS_ID, id: session_id, saved_at });
    Ok(Unit { expect: conditions, ops: [Op::Put(Box::new(draft))].into_iter().chain(touch).collect() })
}

/// A copy of a checkpoint that begins a new session.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The id of the checkpoint to copy.
    pub checkpoint_id: String,
    /// The id of the copy.
    pub copy_id: String,
    pub timestamp: f64,
}

/// Begins a new session with a copy of a checkpoint. The new session has the messages that the checkpoint names.
/// `begin` is the change that creates the session.
pub fn branch(branch: Branch, begin: Change) -> Result<Unit> {
    let Branch { checkpoint_id, copy_id, timestamp } = branch;
    check_id("checkpoint.id", &copy_id)?;
    let fork = Fork {
        contract: CONTRACT_ID,
        source: checkpoint_id,
        id: copy_id,
        lineage: begin.session.id.clone(),
        sort_key: SortKey::from_f64(timestamp),
        saved_at: begin.session.saved_at,
    };
    let mut unit = change(begin)?;
    unit.ops.push(Op::Fork(Box::new(fork)));
    Ok(unit)
}

/// Reads the row of a session and the parts of its state.
pub fn session(session_id: String) -> Query {
    Query::Tuple { contract: SESSIONS_ID, pick: Pick::Id(session_id) }
}

/// Lists the rows of sessions. The session that was created last comes first.
pub fn sessions(before: Option<i64>, limit: usize) -> Query {
    Query::Lineages { contract: SESSIONS_ID, group_prefix: String::new(), before, limit }
}

/// Reads messages of a session, and the session's row. The answer is [`Answer::All`](crate::query::Answer::All) of the
/// row's header and the log.
pub fn messages(session_id: String, offset: u64, limit: usize) -> Query {
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

/// Reads a checkpoint with its messages.
pub fn checkpoint(pick: Pick) -> Query {
    Query::Logged { contract: CONTRACT_ID, pick, log: MESSAGES.to_owned() }
}

/// Lists the checkpoints of a session and counts them. The checkpoint with the greatest timestamp comes first. The
/// answer is [`Answer::All`](crate::query::Answer::All) of a number and of headers.
pub fn checkpoints(session_id: &str, before: Option<SortKey>, limit: Option<usize>) -> Query {
    let of = Of::Lineage(session_id.to_owned());
    let count = Query::Count { contract: CONTRACT_ID, lineage: session_id.to_owned() };
    Query::All(vec![count, Query::List { contract: CONTRACT_ID, of, before, limit }])
}
