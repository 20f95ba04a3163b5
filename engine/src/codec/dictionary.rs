//! The dictionary for compressing small contents.
//!
//! zstd compresses a small content badly, because nothing in it repeats. The dictionary is text that precedes every
//! such content, so that common names of frameworks and chat messages are known from the start. A message of 200 bytes
//! then takes about 50 bytes.
//!
//! **These bytes never change**, because stored payloads cannot be read without them. A new dictionary gets new format
//! numbers in [`envelope`](super::envelope). `docs/internals/format.md` lists the same bytes for other readers.

use std::sync::LazyLock;

use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Names that payloads often contain. The most frequent names come last, because zstd needs fewer bits to refer to near
/// bytes.
pub const DICTIONARY: &[u8] = concat!(
    r#""toolCallId":"toolName":"toolu_"input":{"result":"#,
    r#""type":"tool-call""type":"tool-result""type":"tool_use""tool_use_id":"type":"reasoning""type":"image_url""#,
    r#""usage":{"prompt_tokens":,"completion_tokens":"finish_reason":"stop","cache_read":0"model":"gpt-claude-"#,
    r#""query":"url":"path":"error":"message":"results":[{"title":"description":"summary":"source":"score":0."value":true"#,
    r#""createdAt":"2026-"updatedAt":"status":"completed","running""pending","stepIndex":"stepName":"attempts":1"#,
    "o\"\x04step\"\x05steps\"\x05count\"\x06result\"\x05items\"\x05error\"\x07history",
    r#"SystemMessage"AIMessageChunk"],"tool_call_chunks":[],"usage_metadata":{"input_tokens":"#,
    r#","output_tokens":,"total_tokens":,"input_token_details":{},"output_token_details":{},"status":"success","artifact":"#,
    r#"ToolMessage"],"kwargs":{"content":","tool_call_id":"call_","name":"tools"tool_calls":[{"name":"args":{"type":"tool_call"}"#,
    r#"{"id":"call_","type":"function","function":{"name":"search","arguments":"{\"query\":\"\"}"}}"#,
    "\"\x0ctool_call_id\"\ntool_callsA\x01o\"\x02id\"\x04type\"\x08function\"\x08functiono\"\x04name\"\targuments\"",
    "\"\x0cpendingEdgesA\0$\0\0\"\x0bnodeResultso\"\x0beffectClass\"\x04pure\"\x06output\"\ndurationMsI\"\x07graphId\"\x05runId0\"\x06nodeId",
    "\"\ttimestamp0\"\x0cvisitedNodesA\x01\"\rcurrentNodeId\"\titerationI\x02\"\x02id0",
    "\"\x0ftotalTokensUsedI\0\"\x0ftotalDurationMsI\0\"\x0bnodeTimingso{\0\"\x10discoveryResultso{\0\"\x10guardrailResultso{\0",
    "\"\x10checkpointsSavedI\0\"\x0bmemoryReadsI\0\"\x0cmemoryWritesI\0{\x08",
    "\x02\x05state\x02v8\x04rest\x04jsono\"\x05inputo\"\x06prompt\"\x07scratcho\"\tartifactso{\0\"\x0bdiagnosticso{\0{\x04",
    r#"[{"type":"text","text":"{"role":"tool","content":"{"role":"system","content":"{"role":"assistant","content":"{"role":"user","content":""#,
    "\"\x08messagesA\x02o\"\x04role\"\x06system\"\x07content\"\x04role\"\tassistant\"\x07content\"{\x02o\"\x04role\"\x04user\"\x07content\"",
    "~__pregel_pull, \x0b\x15-9223372036854775808 \0~__pregel_push, \x15-9223372036854775808 \0\x19~__pregel_pull, __start__",
    "json\n0 messages\x04json\r1 branch:to:agent\x04json\x04tools__end__null\0\x03\0\x04json\x01\rbranch:to:\02\x04json\x04\nmessages\02\x04json",
    r#""versions_seen":{"__input__":{},"__start__":{"__start__":1}},"channel_versions":{"__start__":2,"messages":2,"branch:to:"#,
    "\x02\0\x04json\x01\x0b__start__\01\x04json\x01",
    r#"{"v":4,"id":"1f1","ts":"2026-01-01T00:00:00.000Z","channel_versions":{"__start__":1},"versions_seen":{"__input__":{}}}"#,
    r#"{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":""#,
    r#"","tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"id":""#,
    r#"[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":""#,
    r#"","additional_kwargs":{},"response_metadata":{}}}]"#,
).as_bytes();

/// The fastest standard level of zstd. The next level slows commits down more than its smaller output is worth.
pub(super) const LEVEL: i32 = 1;

/// The dictionary for compression at the standard level.
pub(super) static STANDARD: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));

/// The dictionary for compression at a level that only refers to repeated bytes, without entropy coding. For 300 bytes,
/// it takes half the time of the standard level, and a fifth to decompress.
pub(super) static QUICK: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, -1));

/// The dictionary for decompression.
pub(super) static BACK: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));
