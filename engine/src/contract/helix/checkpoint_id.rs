//! Checkpoint ids of the form `cpv1-{sessionId}-s{stepCount}-t{timestamp}-{6 hex digits}`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use uuid::Uuid;

use crate::contract::call::{Tool, read_json};
use crate::contract::entry::ToolMaker;
use crate::contract::response::Response;
use crate::contract::types::CallTypes;
use crate::error::Result;

#[derive(Clone, Debug, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct CheckpointId<'a> {
    /// The version of the form. It is always 1.
    version: u32,
    /// The id of the session. It may itself look like the end of a checkpoint id.
    session_id: &'a str,
    step_count: f64,
    /// The time in ms since the epoch.
    timestamp: f64,
    /// Six hexadecimal digits.
    random: &'a str,
}

/// Makes a new id. The last six digits are random.
fn generate(session_id: &str, step_count: u64, timestamp: u64) -> String {
    let [a, b, c, ..] = Uuid::new_v4().into_bytes();
    format!("cpv1-{session_id}-s{step_count}-t{timestamp}-{a:02x}{b:02x}{c:02x}")
}

/// Splits an id into its parts. Returns `None` if the text has another form.
///
/// Splits from the end, because a session id may contain anything. Equals the regular expression
/// `/^cpv1-([\s\S]+)-s(\d+)-t(\d+)-([0-9a-f]{6})$/`.
fn parse(id: &str) -> Option<CheckpointId<'_>> {
    let rest = id.strip_prefix("cpv1-")?;
    let (rest, random) = rest.rsplit_once('-')?;
    let is_hex = random.len() == 6 && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (rest, timestamp) = rest.rsplit_once("-t")?;
    let (session_id, step_count) = rest.rsplit_once("-s")?;
    if !is_hex || session_id.is_empty() {
        return None;
    }
    let (step_count, timestamp) = (number(step_count)?, number(timestamp)?);
    Some(CheckpointId { version: 1, session_id, step_count, timestamp, random })
}

/// Reads decimal digits like JavaScript's `Number()`. Returns `None` for other texts, and for numbers that JavaScript
/// cannot represent.
fn number(digits: &str) -> Option<f64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

/// The tools of the contract.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Which {
    CheckpointIds {},
}

pub(super) const TOOL: ToolMaker = ToolMaker { make: tool, types: CallTypes::tool::<Which, Call, CheckpointId>() };

fn tool(which: &str) -> Result<Box<dyn Tool>> {
    let Which::CheckpointIds {} = read_json(which)?;
    Ok(Box::new(CheckpointIds))
}

struct CheckpointIds;

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    Generate { session_id: String, step_count: u64, timestamp: u64 },
    Parse { id: String },
}

impl Tool for CheckpointIds {
    fn call(&mut self, call: &str) -> Result<Response> {
        match read_json(call)? {
            Call::Generate { session_id, step_count, timestamp } => {
                Response::json(&generate(&session_id, step_count, timestamp))
            }
            Call::Parse { id } => Response::json(&parse(&id)),
        }
    }
}
