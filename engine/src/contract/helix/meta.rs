//! The content of [`Header::meta`] of checkpoints and of sessions' rows.

use serde_json::json;

use crate::contract::entry::Shown;
use crate::contract::ids::damaged;
use crate::error::Result;
use crate::record::Header;

/// The fields of a checkpoint that listings show, and how its messages are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointMeta {
    pub step_count: f64,
    pub stream_sequence: f64,
    /// `messageCount`, if the caller gave it. Otherwise it is the number of messages that the checkpoint names.
    pub message_count: Option<f64>,
    /// `state.status`. `None` if the state has none.
    pub status: Option<String>,
    /// True if `state.messages` are the messages that the checkpoint names. Otherwise the payload holds them, if the
    /// state has any.
    pub shares_messages: bool,
}

const SHARES_MESSAGES: u8 = 1;
const HAS_STATUS: u8 = 2;
const HAS_MESSAGE_COUNT: u8 = 4;

impl CheckpointMeta {
    /// The numbers are stored as 8 bytes each, little endian. The status ends the bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let flags = (u8::from(self.shares_messages) * SHARES_MESSAGES)
            | (u8::from(self.status.is_some()) * HAS_STATUS)
            | (u8::from(self.message_count.is_some()) * HAS_MESSAGE_COUNT);
        let mut bytes = vec![flags];
        for number in [self.step_count, self.stream_sequence, self.message_count.unwrap_or_default()] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.status.iter().flat_map(|status| status.bytes()));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (step_count, rest) = number(rest)?;
        let (stream_sequence, rest) = number(rest)?;
        let (message_count, status) = number(rest)?;
        let status = String::from_utf8(status.to_vec()).ok()?;
        Some(Self {
            step_count,
            stream_sequence,
            message_count: (flags & HAS_MESSAGE_COUNT != 0).then_some(message_count),
            status: (flags & HAS_STATUS != 0).then_some(status),
            shares_messages: flags & SHARES_MESSAGES != 0,
        })
    }
}

/// The fields of a session that listings show.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMeta {
    pub agent_type: String,
    pub status: String,
    pub step_count: f64,
    /// The time at which the session was created, in ms since the epoch.
    pub created_at: f64,
}

impl SessionMeta {
    /// The numbers are stored as 8 bytes each, little endian. The length of the status and the two texts follow.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + self.status.len() + self.agent_type.len());
        bytes.extend(self.step_count.to_le_bytes());
        bytes.extend(self.created_at.to_le_bytes());
        // A longer status is refused before.
        bytes.extend(u32::try_from(self.status.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(self.status.bytes());
        bytes.extend(self.agent_type.bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (step_count, rest) = number(bytes)?;
        let (created_at, rest) = number(rest)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (status, agent_type) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(Self { agent_type: text(agent_type)?, status: text(status)?, step_count, created_at })
    }
}

/// Reads the fields of a checkpoint from its header. Also returns its timestamp.
pub(super) fn read_meta(header: &Header) -> Result<(CheckpointMeta, f64)> {
    match (CheckpointMeta::decode(&header.meta), header.sort_key.split_f64()) {
        (Some(meta), Some((timestamp, _))) => Ok((meta, timestamp)),
        _ => Err(damaged(&header.id)),
    }
}

/// The status that all contracts share, of a status in Helix' words.
fn common_status(status: &str) -> &'static str {
    match status {
        "interrupted" | "paused" => "waiting",
        "failed" => "failed",
        "active" | "running" => "unfinished",
        "completed" => "finished",
        _ => "unknown",
    }
}

/// Reads the fields of a checkpoint that people see.
pub(super) fn show_checkpoint(header: &Header) -> Result<Shown> {
    let (meta, timestamp) = read_meta(header)?;
    let CheckpointMeta { step_count, stream_sequence, message_count, status, .. } = meta;
    let fields = json!({ "stepCount": step_count, "streamSequence": stream_sequence, "messageCount": message_count });
    let common = common_status(status.as_deref().unwrap_or_default());
    let at = Some(timestamp);
    Ok(Shown { label: status, group: None, at, meta: Some(fields), serialized: None, status: Some(common) })
}

/// Reads the fields of a session's row that people see.
pub(super) fn show_session(header: &Header) -> Result<Shown> {
    let Some(meta) = SessionMeta::decode(&header.meta) else { return Err(damaged(&header.id)) };
    let SessionMeta { agent_type, status, step_count, created_at } = meta;
    let fields = json!({ "agentType": agent_type, "stepCount": step_count, "createdAt": created_at });
    let common = Some(common_status(&status));
    Ok(Shown { label: Some(status), group: None, at: None, meta: Some(fields), serialized: None, status: common })
}

fn number(bytes: &[u8]) -> Option<(f64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((f64::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_checkpoint_s_fields_come_back(
            (step_count, stream_sequence) in (any::<u32>(), any::<u32>()),
            message_count in prop::option::of(any::<u32>()),
            status in prop::option::of(".*"),
            shares_messages in any::<bool>(),
        ) {
            let meta = CheckpointMeta {
                step_count: step_count.into(),
                stream_sequence: stream_sequence.into(),
                message_count: message_count.map(f64::from),
                status,
                shares_messages,
            };
            prop_assert_eq!(CheckpointMeta::decode(&meta.encode()), Some(meta));
        }

        #[test]
        fn a_session_s_fields_come_back(status in ".*", agent_type in ".*", step_count in any::<u32>(), at in any::<u32>()) {
            let meta = SessionMeta { agent_type, status, step_count: step_count.into(), created_at: at.into() };
            prop_assert_eq!(SessionMeta::decode(&meta.encode()), Some(meta));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(meta) = SessionMeta::decode(&bytes) {
                prop_assert_eq!(SessionMeta::decode(&meta.encode()).map(|meta| meta.status), Some(meta.status));
            }
            let _ = CheckpointMeta::decode(&bytes);
        }
    }
}
