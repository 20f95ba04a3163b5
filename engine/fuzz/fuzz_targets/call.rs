//! Fuzzes the calls that arrive from JavaScript, on a store in memory. For any calls, each call must get a reply, no error
//! may report a bug of the engine, and the store must be undamaged afterwards.
#![no_main]

mod reply;

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use bytes::Bytes;
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::contract::call::RawCall;
use forkpoint_engine::contract::fields::{Shape, Value};
use forkpoint_engine::error::Code;
use forkpoint_engine::store::{Options, Store};
use forkpoint_engine::target::Target;
use libfuzzer_sys::fuzz_target;

use self::reply::outcome;

use self::Kind::{Bool, Id, Json, Number, Status};

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Id,
    Number,
    Bool,
    Json,
    /// The status of a run.
    Status,
}

/// Every call with its fields.
#[rustfmt::skip]
const CALLS: &[(&str, &str, &[(&str, Kind)])] = &[
    ("agentos", "save", &[("id", Id), ("runId", Id), ("graphId", Id), ("nodeId", Id), ("timestamp", Number), ("hasMemorySnapshot", Bool), ("status", Status), ("expectedNewest", Id), ("known", Bool), ("parent", Id), ("savedAt", Number), ("stateTag", Id), ("restTag", Id)]),
    ("agentos", "fork", &[("checkpointId", Id), ("id", Id), ("runId", Id), ("timestamp", Number), ("savedAt", Number)]),
    ("agentos", "delete", &[("checkpointId", Id)]),
    ("agentos", "clear", &[("runId", Id)]),
    ("agentos", "get", &[("checkpointId", Id)]),
    ("agentos", "load", &[("runId", Id), ("nodeId", Id)]),
    ("agentos", "list", &[("graphId", Id), ("runId", Id), ("limit", Number)]),
    ("agentos", "forks", &[("runId", Id)]),
    ("agentos", "runs", &[("graphIdPrefix", Id), ("limit", Number), ("before", Number)]),
    ("agentium", "save", &[("id", Id), ("runId", Id), ("stepIndex", Number), ("stepName", Id), ("createdAt", Number), ("steps", Number), ("parent", Id), ("rewind", Bool), ("expectsParent", Bool), ("expectedParent", Id), ("stamp", Number), ("follows", Bool), ("afterStep", Number), ("afterCreatedAt", Number), ("afterStamp", Number), ("savedAt", Number), ("stateTag", Id), ("restTag", Id)]),
    ("agentium", "delete", &[("checkpointId", Id)]),
    ("agentium", "clear", &[("runId", Id)]),
    ("agentium", "load", &[("checkpointId", Id)]),
    ("agentium", "latest", &[("runId", Id)]),
    ("agentium", "list", &[("runId", Id)]),
    ("agentium", "timeline", &[("runId", Id)]),
    ("agentium", "runs", &[("limit", Number), ("before", Number)]),
    ("langgraph", "put", &[("threadId", Id), ("namespace", Id), ("id", Id), ("parent", Id), ("parts", Json), ("inherit", Json), ("like", Json), ("metadataTag", Id), ("mark", Id), ("savedAt", Number), ("dependsOnParent", Bool), ("status", Status), ("onlyChild", Bool), ("known", Bool), ("claims", Bool)]),
    ("langgraph", "copy", &[("threadId", Id), ("namespace", Id), ("id", Id), ("parent", Id), ("parts", Json), ("inherit", Json), ("like", Json), ("metadataTag", Id), ("mark", Id), ("savedAt", Number), ("dependsOnParent", Bool), ("status", Status), ("onlyChild", Bool), ("known", Bool), ("claims", Bool)]),
    ("langgraph", "putWrites", &[("threadId", Id), ("namespace", Id), ("id", Id), ("task", Id), ("path", Id), ("writes", Json), ("replace", Bool)]),
    ("langgraph", "import", &[("threadId", Id), ("expect", Json), ("replace", Bool), ("writes", Json), ("puts", Json)]),
    ("langgraph", "get", &[("threadId", Id), ("namespace", Id), ("id", Id)]),
    ("langgraph", "outline", &[("threadId", Id), ("namespace", Id)]),
    ("langgraph", "ancestors", &[("checkpoint", Json), ("channels", Json), ("limit", Number)]),
    ("langgraph", "list", &[("threadId", Id), ("before", Id), ("limit", Number)]),
    ("langgraph", "place", &[("threadId", Id), ("namespace", Id), ("or", Id), ("id", Id)]),
    ("langgraph", "page", &[("threadId", Id), ("namespace", Id), ("beforeKey", Id), ("beforeSeq", Number), ("texts", Json), ("index", Json), ("limit", Number), ("looks", Number)]),
    ("langgraph", "threads", &[("statuses", Json), ("latestFirst", Bool), ("after", Number), ("limit", Number)]),
    ("langgraph", "deleteThread", &[("threadId", Id)]),
    ("langgraph", "delete", &[("remove", Json), ("reopen", Json)]),
    ("tinyagents", "put", &[("threadId", Id), ("namespace", Id), ("id", Id), ("again", Id), ("parent", Id), ("parentKey", Id), ("parts", Json), ("metadataTag", Id), ("savedAt", Number), ("dependsOnParent", Bool), ("expectsParent", Bool), ("status", Status)]),
    ("tinyagents", "putWrites", &[("threadId", Id), ("namespace", Id), ("id", Id), ("writes", Json)]),
    ("tinyagents", "get", &[("threadId", Id), ("namespace", Id), ("id", Id)]),
    ("tinyagents", "last", &[("threadId", Id), ("id", Id)]),
    ("tinyagents", "load", &[("key", Id)]),
    ("tinyagents", "list", &[("threadId", Id), ("namespace", Id)]),
    ("tinyagents", "namespaces", &[("before", Number), ("limit", Number)]),
    ("tinyagents", "deleteThread", &[("threadId", Id)]),
    ("tinyagents", "delete", &[("keys", Json)]),
    ("helix", "change", &[("session", Json), ("begins", Number), ("parts", Json), ("messages", Json)]),
    ("helix", "branch", &[("session", Json), ("aliveSince", Number), ("parts", Json), ("checkpointId", Id), ("copyId", Id), ("timestamp", Number)]),
    ("helix", "append", &[("sessionId", Id), ("messages", Json), ("aliveSince", Number), ("savedAt", Number)]),
    ("helix", "delete", &[("sessionId", Id)]),
    ("helix", "expire", &[("sessionId", Id), ("aliveSince", Number)]),
    ("helix", "session", &[("sessionId", Id)]),
    ("helix", "sessions", &[("before", Number), ("limit", Number)]),
    ("helix", "messages", &[("sessionId", Id), ("offset", Number), ("limit", Number)]),
    ("helix", "compare", &[("sessionId", Id), ("offset", Number), ("messages", Json)]),
    ("helix", "save", &[("id", Id), ("sessionId", Id), ("known", Bool), ("timestamp", Number), ("stepCount", Number), ("streamSequence", Number), ("messageCount", Number), ("status", Id), ("lastRole", Id), ("sharesMessages", Bool), ("messages", Number), ("version", Number), ("touches", Bool), ("parts", Json), ("savedAt", Number)]),
    ("helix", "load", &[("checkpointId", Id)]),
    ("helix", "latest", &[("sessionId", Id)]),
    ("helix", "list", &[("sessionId", Id), ("aliveSince", Number), ("offset", Number), ("limit", Number), ("cursorId", Id), ("cursorTimestamp", Number)]),
    ("ai", "save", &[("row", Json), ("version", Json), ("keep", Number)]),
    ("ai", "fork", &[("from", Id), ("version", Number), ("row", Json)]),
    ("ai", "read", &[("chat", Id), ("version", Number)]),
    ("ai", "row", &[("chat", Id)]),
    ("ai", "versions", &[("chat", Id), ("before", Number), ("limit", Number)]),
    ("ai", "rows", &[("after", Id), ("texts", Json), ("key", Json), ("limit", Number)]),
    ("ai", "remove", &[("chat", Id), ("seen", Json)]),
    ("ai", "take", &[("chat", Id), ("seen", Json), ("approvals", Json), ("by", Id), ("savedAt", Number)]),
    ("ai", "taken", &[("chat", Id), ("approvals", Json)]),
    ("ai", "release", &[("chat", Id), ("approval", Id), ("by", Id), ("savedAt", Number)]),
    ("ai-streams", "begin", &[("stream", Id), ("savedAt", Number)]),
    ("ai-streams", "append", &[("stream", Id), ("chunks", Json), ("head", Json), ("note", Json), ("savedAt", Number)]),
    ("ai-streams", "head", &[("stream", Id)]),
    ("ai-streams", "read", &[("stream", Id), ("skip", Number), ("limit", Number)]),
    ("ai-streams", "remove", &[("stream", Id)]),
    ("ai-streams", "streams", &[("before", Number), ("limit", Number)]),
    ("claude-agent-sdk", "append", &[("of", Json), ("subpath", Id), ("entries", Json), ("row", Json), ("known", Bool)]),
    ("claude-agent-sdk", "truncate", &[("of", Json), ("subpath", Id), ("length", Number), ("row", Json)]),
    ("claude-agent-sdk", "remove", &[("of", Json), ("seen", Number)]),
    ("claude-agent-sdk", "removeSubpath", &[("of", Json), ("subpath", Id)]),
    ("claude-agent-sdk", "entries", &[("of", Json), ("subpath", Id), ("skip", Number), ("limit", Number)]),
    ("claude-agent-sdk", "session", &[("of", Json)]),
    ("claude-agent-sdk", "sessions", &[("project", Id), ("before", Number), ("limit", Number)]),
    ("claude-agent-sdk", "subpaths", &[("of", Json)]),
    ("langgraph-store", "find", &[("of", Json), ("now", Number)]),
    ("langgraph-store", "save", &[("puts", Json), ("removed", Json), ("touched", Json), ("savedAt", Number)]),
    ("langgraph-store", "search", &[("prefix", Json), ("texts", Json), ("conditions", Json), ("after", Id), ("skip", Number), ("limit", Number), ("now", Number)]),
    ("langgraph-store", "namespaces", &[("matching", Json), ("maxDepth", Number), ("before", Number), ("limit", Number), ("now", Number)]),
    ("langgraph-store", "alive", &[("of", Json), ("now", Number)]),
    ("langgraph-store", "expired", &[("before", Number), ("after", Id), ("limit", Number), ("now", Number)]),
    ("langgraph-store", "expire", &[("of", Json)]),
    ("langgraph-cache", "find", &[("of", Json), ("now", Number)]),
    ("langgraph-cache", "save", &[("entries", Json), ("savedAt", Number)]),
    ("langgraph-cache", "clear", &[("of", Json)]),
    ("langgraph-cache", "namespaces", &[("before", Number), ("limit", Number)]),
    ("langgraph-cache", "expired", &[("limit", Number), ("now", Number)]),
    ("langgraph-cache", "remove", &[("of", Json)]),
    ("mastra", "save", &[("of", Json), ("id", Id), ("newest", Id), ("label", Id), ("meta", Json), ("status", Status), ("parts", Json), ("savedAt", Number)]),
    ("mastra", "snapshots", &[("of", Json)]),
    ("mastra", "runs", &[("workflow", Id), ("before", Number), ("limit", Number)]),
    ("mastra", "remove", &[("of", Json), ("newest", Id)]),
    ("mastra-threads", "save", &[("rows", Json), ("touch", Json), ("savedAt", Number)]),
    ("mastra-threads", "remove", &[("clear", Json), ("rows", Json), ("touch", Json), ("savedAt", Number)]),
    ("mastra-threads", "find", &[("table", Id), ("ids", Json)]),
    ("mastra-threads", "list", &[("table", Id), ("thread", Id), ("resource", Id), ("newestFirst", Bool), ("after", Id), ("from", Number), ("skip", Number), ("limit", Number), ("count", Bool)]),
    ("mastra-threads", "older", &[("table", Id), ("lineage", Id), ("than", Number), ("limit", Number)]),
    ("mastra-threads", "around", &[("thread", Id), ("id", Id), ("before", Number), ("after", Number)]),
    ("mastra-threads", "lineages", &[("table", Id), ("before", Number), ("limit", Number)]),
    ("openai-agents", "change", &[("row", Json), ("forget", Bool), ("keep", Number), ("items", Json), ("operation", Json)]),
    ("openai-agents", "fork", &[("row", Json), ("length", Number), ("to", Id), ("over", Number), ("version", Number), ("savedAt", Number)]),
    ("openai-agents", "remove", &[("session", Id), ("seen", Number)]),
    ("openai-agents", "read", &[("session", Id), ("limit", Number)]),
    ("openai-agents", "applied", &[("session", Id), ("operation", Id)]),
    ("openai-agents", "sessions", &[("before", Number), ("limit", Number)]),
    ("openai-agents-states", "save", &[("run", Id), ("id", Id), ("meta", Json), ("status", Status), ("part", Json), ("savedAt", Number), ("taken", Json)]),
    ("openai-agents-states", "newest", &[("run", Id)]),
    ("openai-agents-states", "remove", &[("run", Id), ("taken", Json)]),
    ("openai-agents-states", "runs", &[("before", Number), ("limit", Number)]),
    ("store", "ready", &[]),
    ("store", "close", &[]),
    ("store", "vacuum", &[]),
    ("store", "prune", &[("contract", Id), ("rule", Json), ("cursor", Json), ("most", Number)]),
    ("store", "prunable", &[("contract", Id), ("rules", Json)]),
    ("store", "stats", &[("contract", Id), ("largest", Number)]),
    ("store", "check", &[("cursor", Id), ("limit", Number)]),
    ("lease", "read", &[("of", Json)]),
    (
        "lease",
        "take",
        &[("of", Json), ("id", Id), ("expired", Json), ("holding", Json), ("savedAt", Number), ("done", Json)],
    ),
    ("lease", "renew", &[("of", Json), ("id", Id), ("holding", Json), ("savedAt", Number)]),
    ("lease", "release", &[("id", Id), ("done", Json)]),
    ("lease", "requests", &[]),
    ("lease", "ask", &[("of", Json), ("id", Id), ("asked", Json), ("savedAt", Number)]),
    ("lease", "wait", &[("id", Id), ("savedAt", Number)]),
    ("lease", "withdraw", &[("ids", Json)]),
    ("program", "describe", &[("space", Id), ("id", Id), ("description", Id), ("savedAt", Number)]),
    ("program", "read", &[("space", Id), ("ids", Json)]),
    ("program", "list", &[("space", Id)]),
    ("program", "end", &[("space", Id), ("run", Id), ("ns", Id), ("ended", Id), ("savedAt", Number)]),
    ("program", "ended", &[("space", Id), ("runs", Json)]),
    ("program", "reopen", &[("space", Id), ("run", Id), ("ns", Id)]),
    ("storage", "set", &[("namespace", Id), ("key", Id), ("savedAt", Number), ("tag", Id)]),
    ("storage", "delete", &[("namespace", Id), ("key", Id)]),
    ("storage", "get", &[("namespace", Id), ("key", Id)]),
    ("storage", "list", &[("namespace", Id), ("prefix", Id)]),
];

/// Ids that meet again in later calls. Some have the parts that contracts put ids together from.
const IDS: [&str; 10] = ["a", "b", "c", "", "1:a", "8:thread-0x", "a:step-1", "a\0b", "__proto__", "🜁"];

/// JSON texts of structured fields.
const TEXTS: [&str; 30] = [
    "[]",
    "{}",
    "null",
    r#"[{"name":"","tag":"json"}]"#,
    r#"[{"name":"state","tag":"v8"},{"name":"rest","tag":"json"}]"#,
    r#"["a","b"]"#,
    r#"[{"index":0,"channel":"c","tag":"json"}]"#,
    r#"[{"index":-3,"channel":"c","tag":"json","claimedBy":"b"}]"#,
    r#"[{"task":"t","index":0,"name":"[\"n\",\"c\"]","tag":"json"}]"#,
    r#"{"threadId":"a","namespace":"","id":"a"}"#,
    r#"[{"threadId":"a","namespace":"","id":"b"}]"#,
    r#"{"tags":["json","json"],"lengths":[1,2]}"#,
    r#"{"id":"a","version":1,"savedAt":1,"agentType":"x","status":"active","stepCount":0,"createdAt":1}"#,
    r#"{"keepLast":1}"#,
    r#"{"length":1}"#,
    r#"{"space":"agentos","run":"a"}"#,
    r#"[{"namespace":"","newest":"a"},{"namespace":"b"}]"#,
    r#"[{"threadId":"a","namespace":"","id":"a","task":"t","writes":[{"index":0,"channel":"c","tag":"json"}],"replace":false}]"#,
    r#"[{"threadId":"a","namespace":"","id":"b","parent":"a","parts":[],"metadataTag":"json","savedAt":1,"dependsOnParent":false,"onlyChild":false,"claims":true}]"#,
    r#"{"project":"a","session":"b"}"#,
    r#"{"seen":1,"version":2,"mtime":1,"summary":"{}"}"#,
    r#"{"session":"a","version":1,"seen":0,"savedAt":1}"#,
    r#"{"session":"a"}"#,
    r#"{"id":"a","hash":"b"}"#,
    r#"{"workflow":"a","run":"b"}"#,
    r#"[{"workflow":"a","run":"b"},{"workflow":"","run":""}]"#,
    r#"[{"run":"a"},{"run":"b","ns":"a"},{"run":"","ns":""}]"#,
    r#"{"createdAt":1,"updatedAt":2,"resource":"u","step":null}"#,
    r#"{"name":"state","tag":"json"}"#,
    r#"{"effect":{"of":{"space":"openai-agents-states","run":"a","ns":""},"key":"a","branch":0},"token":1,"entry":{},"savedAt":1}"#,
];

const NUMBERS: [f64; 10] = [0.0, -0.0, 1.0, 2.0, 100.0, -1.0, 1.5, 9.007_199_254_740_993e15, f64::NAN, f64::INFINITY];

#[derive(Debug)]
struct Call {
    shape: Shape,
    values: Vec<Value>,
    buffers: Vec<Bytes>,
}

impl<'a> Arbitrary<'a> for Call {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (contract, call, fields) = u.choose(CALLS)?;
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (name, kind) in *fields {
            match u.int_in_range(0..=15)? {
                0 => continue,
                1 => values.push(any(u)?),
                2 => values.push(Value::Null),
                _ => values.push(value(u, *kind)?),
            }
            names.push((*name).to_owned());
        }
        let shape = Shape { contract: (*contract).to_owned(), call: (*call).to_owned(), names };
        let count = u.int_in_range(0..=3)?;
        let buffers = (0..count).map(|_| <&[u8]>::arbitrary(u).map(Bytes::copy_from_slice)).collect::<Result<_>>()?;
        Ok(Self { shape, values, buffers })
    }
}

const STATUSES: [&str; 5] = ["unknown", "waiting", "failed", "unfinished", "finished"];

fn value(u: &mut Unstructured<'_>, kind: Kind) -> Result<Value> {
    Ok(match kind {
        Id => Value::Text((*u.choose(&IDS)?).to_owned()),
        Number => Value::Number(*u.choose(&NUMBERS)?),
        Bool => Value::Bool(u.arbitrary()?),
        Json => Value::Text((*u.choose(&TEXTS)?).to_owned()),
        Status => Value::Text((*u.choose(&STATUSES)?).to_owned()),
    })
}

/// A value of any kind.
fn any(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=2)? {
        0 => Value::Text(u.arbitrary()?),
        1 => Value::Number(u.arbitrary()?),
        _ => Value::Bool(u.arbitrary()?),
    })
}

fuzz_target!(|calls: Vec<Call>| {
    let store = Arc::new(Store::open(&Target::Memory, Options::default()).unwrap());
    for Call { shape, values, buffers } in calls.into_iter().take(24) {
        // A closed store answers nothing more.
        if shape.call == "close" {
            continue;
        }
        let call = RawCall::new(&shape, values, buffers.into_iter().map(Into::into).collect());
        if let Err(error) = outcome(|reply| forkpoint_engine::contract::run(&store, call, true, reply)) {
            assert!(!matches!(error.code(), Code::Unavailable | Code::Corrupt | Code::Closed), "{shape:?}: {error}");
        }
    }
    let page = outcome(|reply| store.check(CheckCursor::default(), 10_000, reply)).unwrap();
    assert_eq!(page.findings, []);
});
