//! The calls of Helix' session store, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::list::{Cursor, Listing, Page, list};
use super::meta::{Session, read_meta};
use super::ops::{
    Branch, CONTRACT_ID, Change, MESSAGES, SESSIONS_ID, Save, append, branch, change, delete, expire, messages, save,
};
use crate::contract::call::{PackedRecords, RawCall, Request};
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::Result;
use crate::query::{Answer, LogRange, Of, Pick, Query};
use crate::record::{Checkpoint, LogPage, Logged, Record};

/// The calls. A session is alive if its last write was at or after `alive_since`.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Change(Change),
    Branch(Branch),
    /// The buffer holds all messages, one after the other.
    Append {
        session_id: String,
        messages: PackedRecords,
        alive_since: i64,
        saved_at: i64,
        /// If given, the session must have this incarnation.
        #[serde(default)]
        #[ts(type = "Exact | undefined")]
        incarnation: Option<i64>,
    },
    Delete {
        session_id: String,
    },
    /// Removes a session that is not alive.
    Expire {
        session_id: String,
        alive_since: i64,
    },
    Session {
        session_id: String,
    },
    /// `before` is the cursor of the last session on the previous page.
    Sessions {
        before: Option<i64>,
        limit: usize,
    },
    Messages {
        session_id: String,
        offset: u64,
        limit: usize,
    },
    /// Compares messages with those of a session from `offset` on. The buffer holds them in order.
    ///
    /// `since` is the session's newest checkpoint, which shares its messages up to `offset`. The response says whether
    /// it still exists. If not, the database went back in time, and the messages before `offset` may differ.
    Compare {
        session_id: String,
        offset: u64,
        #[ts(optional)]
        since: Option<Since>,
        messages: PackedRecords,
    },
    Save(Save),
    Load {
        checkpoint_id: String,
    },
    Latest {
        session_id: String,
    },
    /// Lists the checkpoints that were saved at or after `alive_since`. Continues after the cursor's checkpoint or,
    /// without a cursor, skips `offset` checkpoints.
    List {
        session_id: String,
        alive_since: Option<i64>,
        offset: usize,
        limit: Option<usize>,
        cursor_id: Option<String>,
        cursor_timestamp: Option<f64>,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    change: (),
    branch: (),
    append: (),
    delete: (),
    expire: (),
    session: Option<FoundSession>,
    sessions: Vec<ListedSession>,
    messages: Option<FoundMessages>,
    compare: Option<Compared>,
    save: (),
    load: Option<FoundCheckpoint>,
    latest: Option<FoundCheckpoint>,
    list: Page,
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let buffers = &mut buffers;
    Ok(match call {
        Call::Change(given) => Request::Apply(change(given, buffers)?),
        Call::Branch(given) => Request::Apply(branch(given, buffers)?),
        Call::Append { session_id, messages, alive_since, saved_at, incarnation } => {
            Request::Apply(append(session_id, messages.records(buffers)?, alive_since, saved_at, incarnation)?)
        }
        Call::Delete { session_id } => Request::Apply(delete(session_id)),
        Call::Expire { session_id, alive_since } => Request::Apply(expire(session_id, alive_since)),
        Call::Session { session_id } => {
            let start = start(&session_id);
            let session = Query::Tuple { contract: SESSIONS_ID, pick: Pick::Id(session_id) };
            Request::ask(Query::All(vec![session, start]), found_session)
        }
        Call::Sessions { before, limit } => {
            let group_prefix = String::new();
            Request::ask(Query::Lineages { contract: SESSIONS_ID, group_prefix, before, limit }, session_list)
        }
        Call::Messages { session_id, offset, limit } => {
            Request::ask(messages(session_id, offset, limit), found_messages)
        }
        Call::Compare { session_id, offset, since, messages: given } => {
            let given = given.records(buffers)?;
            let named = since.as_ref().map_or_else(Vec::new, |since| since.look(&session_id));
            let start = start(&session_id);
            let query = Query::All(vec![messages(session_id, offset, given.len()), Query::All(named), start]);
            Request::ask(query, move |answer| compared(answer, offset, since.as_ref(), &given))
        }
        Call::Save(given) => Request::Apply(save(given, buffers)?),
        Call::Load { checkpoint_id } => checkpoint(Pick::Id(checkpoint_id)),
        Call::Latest { session_id } => checkpoint(Pick::Newest(session_id)),
        Call::List { session_id, alive_since, offset, limit, cursor_id, cursor_timestamp } => {
            let cursor = cursor_id.zip(cursor_timestamp).map(|(id, place)| Cursor { id, place });
            list(&session_id, Listing { alive_since, offset, limit, cursor })
        }
    })
}

/// Finds the incarnation of a session.
fn start(session_id: &str) -> Query {
    Query::Start { contract: SESSIONS_ID, lineage: session_id.to_owned() }
}

/// A session with its state.
#[derive(Serialize, TS)]
struct FoundSession {
    #[serde(flatten)]
    session: Session,
    #[ts(type = "Exact | null")]
    incarnation: Option<i64>,
    parts: Vec<PackedPart>,
}

fn found_session(answer: Answer) -> Result<Option<Response>> {
    let [session, start] = answer.into_all()?;
    let incarnation = start.into_position()?;
    Response::one(session.into_tuple()?, |found, response| {
        let parts = found.writes.into_iter().map(|write| response.part(write.part)).collect();
        Ok(FoundSession { session: Session::read(found.checkpoint.header)?, incarnation, parts })
    })
}

/// A session in a listing. The next page continues from `cursor`.
#[derive(Serialize, TS)]
struct ListedSession {
    cursor: String,
    #[serde(flatten)]
    session: Session,
}

fn session_list(answer: Answer) -> Result<Option<Response>> {
    Response::list(answer.into_lineages()?, |found, _| {
        Ok(ListedSession { cursor: found.position.to_string(), session: Session::read(found.newest)? })
    })
}

/// Splits the answer to [`messages`].
fn row_and_log(answer: Answer) -> Result<(Option<Session>, LogPage)> {
    let [row, log] = answer.into_all()?;
    let row = row.into_headers()?.pop().map(Session::read).transpose()?;
    Ok((row, log.into_log()?.unwrap_or_default()))
}

/// Messages of a session. `saved_at` is the time of the session's last write.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundMessages {
    saved_at: i64,
    /// The number of all messages of the session.
    total: u64,
    messages: Vec<PackedPart>,
}

fn found_messages(answer: Answer) -> Result<Option<Response>> {
    let (Some(session), page) = row_and_log(answer)? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let messages = response.records(page.records);
    response.finish(&FoundMessages { saved_at: session.saved_at, total: page.length, messages }).map(Some)
}

/// A checkpoint, with the data that its writer knows.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Since {
    id: String,
    saved_at: i64,
}

impl Since {
    /// The queries for [`Since::holds`].
    fn look(&self, session_id: &str) -> Vec<Query> {
        let of = Of::Lineage(session_id.to_owned());
        let named = LogRange { limit: 0, ..LogRange::kept(CONTRACT_ID, session_id, MESSAGES, &self.id) };
        vec![Query::List { contract: CONTRACT_ID, of, before: None, limit: Some(1) }, Query::Log(named)]
    }

    /// Returns true if the checkpoint is the session's newest and shares its messages up to `offset`. The id alone does
    /// not suffice: callers choose ids, so a later checkpoint could have it.
    fn holds(&self, answers: Answer, offset: u64) -> Result<bool> {
        let [newest, named] = answers.into_all()?;
        let is_newest = newest
            .into_headers()?
            .first()
            .is_some_and(|newest| (&newest.id, newest.saved_at) == (&self.id, self.saved_at));
        Ok(is_newest && named.into_log()?.is_some_and(|named| named.length >= offset))
    }
}

/// The result of a comparison.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Compared {
    saved_at: i64,
    version: u64,
    total: u64,
    /// True if the given messages equal the session's from the offset on.
    same: bool,
    /// False if the given checkpoint does not share the messages before the offset.
    since: bool,
    #[ts(type = "Exact | null")]
    incarnation: Option<i64>,
}

fn compared(answer: Answer, offset: u64, since: Option<&Since>, given: &[Record]) -> Result<Option<Response>> {
    let [session, named, start] = answer.into_all()?;
    let incarnation = start.into_position()?;
    let (Some(session), page) = row_and_log(session)? else { return Ok(None) };
    let since = since.map_or(Ok(true), |since| since.holds(named, offset))?;
    // Neither side has keys.
    let same = page.records == given;
    let Session { saved_at, version, .. } = session;
    Response::json(&Compared { saved_at, version, total: page.length, same, since, incarnation }).map(Some)
}

/// Reads a checkpoint with its messages.
fn checkpoint(pick: Pick) -> Request {
    Request::ask(Query::Logged { contract: CONTRACT_ID, pick, log: MESSAGES.to_owned() }, found_checkpoint)
}

/// A checkpoint.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundCheckpoint {
    id: String,
    session_id: String,
    saved_at: i64,
    step_count: f64,
    timestamp: f64,
    stream_sequence: f64,
    message_count: f64,
    /// True if `branchSession` made the checkpoint. Its state is then a copy of another session's state.
    copied: bool,
    parts: Vec<PackedPart>,
    /// The messages that the checkpoint shares with its session. `None`: its parts hold the messages.
    messages: Option<Vec<PackedPart>>,
}

fn found_checkpoint(answer: Answer) -> Result<Option<Response>> {
    Response::one(answer.into_logged()?, |found, response| {
        let Logged { checkpoint: Checkpoint { header, payload, logs }, records } = *found;
        let (meta, timestamp) = read_meta(&header)?;
        let parts = response.parts(payload);
        let messages = meta.shares_messages.then(|| response.records(records));
        #[expect(clippy::cast_precision_loss, reason = "no log has 2^53 records")]
        let named = logs.first().map_or(0.0, |log| log.length as f64);
        Ok(FoundCheckpoint {
            id: header.id,
            session_id: header.lineage,
            saved_at: header.saved_at,
            step_count: meta.step_count,
            timestamp,
            stream_sequence: meta.stream_sequence,
            message_count: meta.message_count.unwrap_or(named),
            copied: header.parent.is_some(),
            parts,
            messages,
        })
    })
}
