//! The calls of Helix' session store, and their responses.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::list::{Cursor, Listing, list};
use super::meta::{CheckpointMeta, SessionMeta, read_meta};
use super::ops::{
    Branch, CONTRACT_ID, Change, MESSAGES, Save, Session, append, branch, change, checkpoint, delete, expire, messages,
    save, session, sessions,
};
use crate::contract::call::{Buffers, RawCall, Request};
use crate::contract::response::{PackedPart, Response, ResponseBuilder};
use crate::error::{Error, Result};
use crate::op::LogEnd;
use crate::query::{Answer, LogRange, Of, Pick, Query};
use crate::record::{Checkpoint, Header, LogPage, Logged, Part, Record};

/// The calls, as `ts/contracts/helix/wire.ts` declares them. A session is alive if its last write was at or after `alive_since`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Creates or changes a session. The call has one buffer for each of `parts`.
    Change {
        session: Row,
        /// If given, the session must not be alive since this time.
        begins: Option<i64>,
        parts: Vec<Name>,
        messages: Option<End>,
    },
    /// Creates a session from a checkpoint. The call has one buffer for each of `parts`.
    Branch {
        session: Row,
        alive_since: i64,
        parts: Vec<Name>,
        checkpoint_id: String,
        copy_id: String,
        timestamp: f64,
    },
    /// The buffer holds all messages, one after the other.
    Append {
        session_id: String,
        messages: Packed,
        alive_since: i64,
        saved_at: i64,
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
    /// Compares messages with those of a session from `offset` on. The buffer holds all messages, one after the other.
    ///
    /// `since` is the session's newest checkpoint, which shares its messages up to `offset`. The response says whether it is
    /// still there: if not, the database went back in time, and the messages before `offset` may be others.
    Compare {
        session_id: String,
        offset: u64,
        since: Option<Since>,
        messages: Packed,
    },
    /// The call has one buffer for each of `parts`.
    Save {
        id: String,
        session_id: String,
        timestamp: f64,
        step_count: f64,
        stream_sequence: f64,
        message_count: Option<f64>,
        status: Option<String>,
        shares_messages: bool,
        messages: Option<u64>,
        version: Option<u64>,
        touches: bool,
        parts: Vec<Name>,
        saved_at: i64,
    },
    Load {
        checkpoint_id: String,
    },
    Latest {
        session_id: String,
    },
    /// Lists the checkpoints that were saved at or after `alive_since`. With a cursor, continues after the checkpoint
    /// that the cursor names. Otherwise skips `offset` checkpoints.
    List {
        session_id: String,
        alive_since: Option<i64>,
        offset: usize,
        limit: Option<usize>,
        cursor_id: Option<String>,
        cursor_timestamp: Option<f64>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    id: String,
    version: u64,
    saved_at: i64,
    agent_type: String,
    status: String,
    step_count: f64,
    created_at: f64,
}

impl From<Row> for Session {
    fn from(row: Row) -> Self {
        let Row { id, version, saved_at, agent_type, status, step_count, created_at } = row;
        Self { id, version, saved_at, meta: SessionMeta { agent_type, status, step_count, created_at } }
    }
}

/// The new end of a session's messages.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum End {
    Length(u64),
    Checkpoint(String),
}

impl From<End> for LogEnd {
    fn from(end: End) -> Self {
        match end {
            End::Length(length) => Self::Length(length),
            End::Checkpoint(id) => Self::Checkpoint(id),
        }
    }
}

/// The name and the tag of a part.
#[derive(Deserialize)]
struct Name {
    name: String,
    tag: String,
}

/// The tags and the lengths of messages in one buffer.
#[derive(Deserialize)]
struct Packed {
    tags: Vec<String>,
    lengths: Vec<usize>,
}

impl Packed {
    fn records(self, buffers: &mut Buffers) -> Result<Vec<Record>> {
        let mut rest = buffers.take()?.into_joined();
        let take = |(tag, length): (String, usize)| {
            let bytes = (length <= rest.len()).then(|| rest.split_to(length))?;
            Some(Record { key: None, tag, bytes })
        };
        let records: Option<Vec<Record>> = self.tags.into_iter().zip(self.lengths).map(take).collect();
        records.ok_or_else(|| Error::invalid("a call has fewer bytes than messages: please report this"))
    }
}

fn parts(names: Vec<Name>, buffers: &mut Buffers) -> Result<Vec<Part>> {
    names.into_iter().map(|Name { name, tag }| Ok(Part { name, tag, bytes: buffers.take()? })).collect()
}

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let buffers = &mut buffers;
    Ok(match call {
        Call::Change { session, begins, parts: names, messages } => Request::Apply(change(Change {
            session: session.into(),
            begins,
            parts: parts(names, buffers)?,
            messages: messages.map(LogEnd::from),
        })?),
        Call::Branch { session, alive_since, parts: names, checkpoint_id, copy_id, timestamp } => {
            let parts = parts(names, buffers)?;
            let begin = Change { session: session.into(), begins: Some(alive_since), parts, messages: None };
            Request::Apply(branch(Branch { checkpoint_id, copy_id, timestamp }, begin)?)
        }
        Call::Append { session_id, messages, alive_since, saved_at } => {
            Request::Apply(append(session_id, messages.records(buffers)?, alive_since, saved_at)?)
        }
        Call::Delete { session_id } => Request::Apply(delete(session_id)),
        Call::Expire { session_id, alive_since } => Request::Apply(expire(session_id, alive_since)),
        Call::Session { session_id } => Request::ask(session(session_id), found_session),
        Call::Sessions { before, limit } => Request::ask(sessions(before, limit), session_list),
        Call::Messages { session_id, offset, limit } => {
            Request::ask(messages(session_id, offset, limit), found_messages)
        }
        Call::Compare { session_id, offset, since, messages: given } => {
            let given = given.records(buffers)?;
            let named = since.as_ref().map_or_else(Vec::new, |since| since.look(&session_id));
            let query = Query::All(vec![messages(session_id, offset, given.len()), Query::All(named)]);
            Request::ask(query, move |answer| compared(answer, offset, since.as_ref(), &given))
        }
        Call::Save {
            id,
            session_id,
            timestamp,
            step_count,
            stream_sequence,
            message_count,
            status,
            shares_messages,
            messages,
            version,
            touches,
            parts: names,
            saved_at,
        } => {
            let meta = CheckpointMeta { step_count, stream_sequence, message_count, status, shares_messages };
            let parts = parts(names, buffers)?;
            Request::Apply(save(Save { id, session_id, timestamp, meta, messages, version, touches, parts, saved_at })?)
        }
        Call::Load { checkpoint_id } => Request::ask(checkpoint(Pick::Id(checkpoint_id)), found_checkpoint),
        Call::Latest { session_id } => Request::ask(checkpoint(Pick::Newest(session_id)), found_checkpoint),
        Call::List { session_id, alive_since, offset, limit, cursor_id, cursor_timestamp } => {
            let cursor = cursor_id.zip(cursor_timestamp).map(|(id, timestamp)| Cursor { id, timestamp });
            list(&session_id, Listing { alive_since, offset, limit, cursor })
        }
    })
}

/// A session in a response. `cursor` is the position from which the next page of a listing continues.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundSession {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    id: String,
    version: u64,
    saved_at: i64,
    agent_type: String,
    status: String,
    step_count: f64,
    created_at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<PackedPart>>,
}

fn shown(header: Header, cursor: Option<i64>, parts: Option<Vec<PackedPart>>) -> Result<FoundSession> {
    let Session { id, version, saved_at, meta } = Session::read(header)?;
    let SessionMeta { agent_type, status, step_count, created_at } = meta;
    let cursor = cursor.map(|position| position.to_string());
    Ok(FoundSession { cursor, id, version, saved_at, agent_type, status, step_count, created_at, parts })
}

fn found_session(answer: Answer) -> Result<Option<Response>> {
    let Some(found) = answer.into_tuple()? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let parts = found.writes.into_iter().map(|write| response.part(write.part)).collect();
    let session = shown(found.checkpoint.header, None, Some(parts))?;
    response.finish(&session).map(Some)
}

fn session_list(answer: Answer) -> Result<Option<Response>> {
    let found = answer.into_lineages()?.into_iter().map(|found| shown(found.newest, Some(found.position), None));
    Response::json(&found.collect::<Result<Vec<_>>>()?).map(Some)
}

/// Splits the answer to [`messages`].
fn row_and_log(answer: Answer) -> Result<(Option<Session>, LogPage)> {
    let [row, log] = answer.into_all()?;
    let row = row.into_headers()?.pop().map(Session::read).transpose()?;
    Ok((row, log.into_log()?.unwrap_or_default()))
}

fn found_messages(answer: Answer) -> Result<Option<Response>> {
    /// Messages of a session. `saved_at` is the time of the session's last write.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Found {
        saved_at: i64,
        total: u64,
        messages: Vec<PackedPart>,
    }
    let (Some(session), page) = row_and_log(answer)? else { return Ok(None) };
    let mut response = ResponseBuilder::default();
    let messages = packed(page.records, &mut response);
    response.finish(&Found { saved_at: session.saved_at, total: page.length, messages }).map(Some)
}

fn packed(records: Vec<Record>, response: &mut ResponseBuilder) -> Vec<PackedPart> {
    let part =
        |Record { tag, bytes, .. }: Record| response.part(Part { name: String::new(), tag, bytes: bytes.into() });
    records.into_iter().map(part).collect()
}

/// A checkpoint, as the store that saved it knows it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Since {
    id: String,
    saved_at: i64,
}

impl Since {
    /// The queries that [`Since::holds`] needs.
    fn look(&self, session_id: &str) -> Vec<Query> {
        let of = Of::Lineage(session_id.to_owned());
        let named = LogRange { limit: 0, ..LogRange::kept(CONTRACT_ID, session_id, MESSAGES, &self.id) };
        vec![Query::List { contract: CONTRACT_ID, of, before: None, limit: Some(1) }, Query::Log(named)]
    }

    /// Returns true if the checkpoint is the session's newest, and shares its messages up to `offset`. The id alone could be
    /// that of a later checkpoint, because a caller chooses it.
    fn holds(&self, answers: Answer, offset: u64) -> Result<bool> {
        let [newest, named] = answers.into_all()?;
        let is_newest = newest
            .into_headers()?
            .first()
            .is_some_and(|newest| (&newest.id, newest.saved_at) == (&self.id, self.saved_at));
        Ok(is_newest && named.into_log()?.is_some_and(|named| named.length >= offset))
    }
}

fn compared(answer: Answer, offset: u64, since: Option<&Since>, given: &[Record]) -> Result<Option<Response>> {
    /// Compares messages with those of a session. `same` is true if they are the session's from the offset on. `since` is
    /// false if the given checkpoint does not share the messages before the offset.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Compared {
        saved_at: i64,
        version: u64,
        total: u64,
        same: bool,
        since: bool,
    }
    let [session, named] = answer.into_all()?;
    let (Some(session), page) = row_and_log(session)? else { return Ok(None) };
    let since = since.map_or(Ok(true), |since| since.holds(named, offset))?;
    let content = |record: &Record| -> (String, Bytes) { (record.tag.clone(), record.bytes.clone()) };
    let same = page.records.iter().map(content).eq(given.iter().map(content));
    let Session { saved_at, version, .. } = session;
    Response::json(&Compared { saved_at, version, total: page.length, same, since }).map(Some)
}

fn found_checkpoint(answer: Answer) -> Result<Option<Response>> {
    /// A checkpoint. `messages` are the messages of its session that it shares.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Found {
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
        messages: Option<Vec<PackedPart>>,
    }
    let Some(found) = answer.into_logged()? else { return Ok(None) };
    let Logged { checkpoint: Checkpoint { header, payload, logs }, records } = *found;
    let (meta, timestamp) = read_meta(&header)?;
    let mut response = ResponseBuilder::default();
    let parts = response.parts(payload);
    let messages = meta.shares_messages.then(|| packed(records, &mut response));
    #[expect(clippy::cast_precision_loss, reason = "no log has 2^53 records")]
    let named = logs.first().map_or(0.0, |log| log.length as f64);
    let found = Found {
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
    };
    response.finish(&found).map(Some)
}
