//! The content of [`Header::meta`] of checkpoints and of sessions' rows.

use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

use crate::contract::entry::Shown;
use crate::contract::ids::damaged;
use crate::error::Result;
use crate::record::{Header, Status};

/// The listed fields of a checkpoint, and the way in which its messages are stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckpointMeta {
    pub(super) step_count: f64,
    pub(super) stream_sequence: f64,
    /// `messageCount`, if given. Otherwise the number of messages that the checkpoint names is used.
    pub(super) message_count: Option<f64>,
    /// `state.status`, if the state has one.
    pub(super) status: Option<String>,
    /// The role of the last message of the state, if it is short.
    pub(super) last_role: Option<String>,
    /// True if the checkpoint names the messages of `state.messages`. Otherwise they are in the payload, if the state
    /// has any.
    pub(super) shares_messages: bool,
}

const SHARES_MESSAGES: u8 = 1;
const HAS_STATUS: u8 = 2;
const HAS_MESSAGE_COUNT: u8 = 4;
const HAS_LAST_ROLE: u8 = 8;

impl CheckpointMeta {
    /// Numbers are 8 bytes each, little endian. Then come the role, after its length, and the status.
    pub(super) fn encode(&self) -> Vec<u8> {
        // A role that is too long for a length byte is left out.
        let role = self.last_role.as_deref().and_then(|role| Some((u8::try_from(role.len()).ok()?, role)));
        let flags = (u8::from(self.shares_messages) * SHARES_MESSAGES)
            | (u8::from(self.status.is_some()) * HAS_STATUS)
            | (u8::from(self.message_count.is_some()) * HAS_MESSAGE_COUNT)
            | (u8::from(role.is_some()) * HAS_LAST_ROLE);
        let mut bytes = vec![flags];
        for number in [self.step_count, self.stream_sequence, self.message_count.unwrap_or_default()] {
            bytes.extend(number.to_le_bytes());
        }
        if let Some((length, role)) = role {
            bytes.push(length);
            bytes.extend(role.bytes());
        }
        bytes.extend(self.status.iter().flat_map(|status| status.bytes()));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (step_count, rest) = number(rest)?;
        let (stream_sequence, rest) = number(rest)?;
        let (message_count, rest) = number(rest)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (last_role, status) = if flags & HAS_LAST_ROLE == 0 {
            (None, rest)
        } else {
            let (length, rest) = rest.split_first()?;
            let (role, status) = rest.split_at_checked(usize::from(*length))?;
            (Some(text(role)?), status)
        };
        let status = text(status)?;
        Some(Self {
            step_count,
            stream_sequence,
            message_count: (flags & HAS_MESSAGE_COUNT != 0).then_some(message_count),
            status: (flags & HAS_STATUS != 0).then_some(status),
            last_role,
            shares_messages: flags & SHARES_MESSAGES != 0,
        })
    }
}

/// A session's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Session {
    pub(super) id: String,
    /// The version of the row. The first version is random, so that a session that was deleted and created again has
    /// another version.
    pub(super) version: u64,
    /// The time of the session's last write, in ms since the epoch.
    pub(super) saved_at: i64,
    pub(super) agent_type: String,
    pub(super) status: String,
    pub(super) step_count: f64,
    /// The time at which the session was created, in ms since the epoch.
    pub(super) created_at: f64,
}

impl Session {
    /// Encodes the meta of the row. Numbers are 8 bytes each, little endian. Then come the length of the status and the
    /// two texts.
    pub(super) fn meta(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + self.status.len() + self.agent_type.len());
        bytes.extend(self.step_count.to_le_bytes());
        bytes.extend(self.created_at.to_le_bytes());
        // Longer statuses were already rejected.
        bytes.extend(u32::try_from(self.status.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(self.status.bytes());
        bytes.extend(self.agent_type.bytes());
        bytes
    }

    pub(super) fn read(header: Header) -> Result<Self> {
        let read = || {
            let version = header.sort_key.version()?;
            let (step_count, rest) = number(&header.meta)?;
            let (created_at, rest) = number(rest)?;
            let (length, rest) = rest.split_first_chunk()?;
            let (status, agent_type) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            let (agent_type, status) = (text(agent_type)?, text(status)?);
            let (id, saved_at) = (String::new(), header.saved_at);
            Some(Self { id, version, saved_at, agent_type, status, step_count, created_at })
        };
        let session = read().ok_or_else(|| damaged(&header.id))?;
        Ok(Self { id: header.id, ..session })
    }
}

/// Reads the fields of a checkpoint from its header. Also returns its timestamp.
pub(super) fn read_meta(header: &Header) -> Result<(CheckpointMeta, f64)> {
    match (CheckpointMeta::decode(&header.meta), header.sort_key.own_f64()) {
        (Some(meta), Some(timestamp)) => Ok((meta, timestamp)),
        _ => Err(damaged(&header.id)),
    }
}

/// Converts Helix' status into the common status.
pub(super) fn common_status(status: &str) -> Status {
    match status {
        "interrupted" | "paused" => Status::Waiting,
        "failed" => Status::Failed,
        "active" | "running" => Status::Unfinished,
        "completed" => Status::Finished,
        _ => Status::Unknown,
    }
}

/// Reads the fields of a checkpoint that people see.
pub(super) fn show_checkpoint(header: &Header) -> Result<Shown> {
    let (meta, timestamp) = read_meta(header)?;
    let CheckpointMeta { step_count, stream_sequence, message_count, status, last_role, .. } = meta;
    let mut fields =
        json!({ "stepCount": step_count, "streamSequence": stream_sequence, "messageCount": message_count });
    if let Some(role) = last_role {
        fields["lastRole"] = role.into();
    }
    let at = Some(timestamp);
    Ok(Shown { label: status, at, meta: Some(fields), ..Shown::default() })
}

/// Reads the fields of a session's row that people see.
pub(super) fn show_session(header: &Header) -> Result<Shown> {
    let Session { agent_type, status, step_count, created_at, .. } = Session::read(header.clone())?;
    let fields = json!({ "agentType": agent_type, "stepCount": step_count, "createdAt": created_at });
    Ok(Shown { label: Some(status), meta: Some(fields), ..Shown::default() })
}

fn number(bytes: &[u8]) -> Option<(f64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((f64::from_le_bytes(*number), rest))
}
