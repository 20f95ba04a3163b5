//! Fuzzes stored records. Checkpoints, writes and log records with any fields and bytes are put into a store in memory,
//! and every call of every contract reads them. Each call must get a reply or a typed error.
#![no_main]

mod reply;

use arbitrary::Arbitrary;
use bytes::Bytes;
use forkpoint_engine::contract::CONTRACTS;
use forkpoint_engine::contract::call::RawCall;
use forkpoint_engine::contract::fields::{Shape, Value};
use forkpoint_engine::error::Code;
use forkpoint_engine::op::{LogMust, Op, Unit};
use forkpoint_engine::record::{
    Draft, Header, Labels, LogPin, Order, Part, Payload, Record, SortKey, Status, TaskState, Write,
};
use forkpoint_engine::store::{Options, Store};
use forkpoint_engine::target::Target;
use libfuzzer_sys::fuzz_target;

use self::reply::outcome;

/// The names that contracts give to parts and logs, and two that they do not.
const NAMES: [&str; 9] = ["state", "rest", "metadata", "meta", "messages", "value", "", "a\0b", "[\"n\",\"c\"]"];

/// Ids of checkpoints and lineages, in the forms in which contracts put them together.
const IDS: [&str; 8] = ["a", "1:a", "1:a1:b", "1:a0:", "1:a0:1:b", "a\0b", "9:a", "agentos:a"];

#[derive(Arbitrary, Debug)]
struct Stored {
    name: u8,
    tag: u8,
    bytes: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
struct Checkpoint {
    contract: u8,
    lineage: u8,
    id: u8,
    parent: Option<u8>,
    label: u8,
    sort_key: Vec<u8>,
    age_offset: u8,
    depends_on_parent: bool,
    meta: Vec<u8>,
    parts: Vec<Stored>,
    writes: Vec<(u8, i8, Stored)>,
    records: Vec<Stored>,
}

fn pick<'a>(of: &[&'a str], which: u8) -> &'a str {
    of[usize::from(which) % of.len()]
}

fn part(from: &Stored) -> Part {
    Part {
        name: pick(&NAMES, from.name).to_owned(),
        tag: pick(&["v8", "json", "d:a", ""], from.tag).to_owned(),
        bytes: Bytes::copy_from_slice(&from.bytes).into(),
    }
}

fn ops(from: &Checkpoint) -> Vec<Op> {
    let contract = CONTRACTS[usize::from(from.contract) % CONTRACTS.len()].id;
    let id = pick(&IDS, from.id).to_owned();
    let lineage = pick(&IDS, from.lineage).to_owned();
    let mut ops = Vec::new();
    if !from.records.is_empty() {
        let record = |part: Part| Record { key: None, tag: part.tag, bytes: part.bytes.into_joined() };
        let records = from.records.iter().map(|bytes| record(part(bytes))).collect();
        ops.push(Op::Append {
            contract,
            lineage: lineage.clone(),
            log: "messages".to_owned(),
            records,
            must: LogMust::BeAny,
        });
    }
    if !from.writes.is_empty() {
        let write = |(task, index, bytes): &(u8, i8, Stored)| Write {
            task: pick(&IDS, *task).to_owned(),
            index: i64::from(*index),
            claimed_by: None,
            state: TaskState::default(),
            part: part(bytes),
        };
        let writes = from.writes.iter().map(write).collect();
        ops.push(Op::Write { contract, id: id.clone(), writes, replace: false, encoded: None });
    }
    let header = Header {
        contract,
        lineage,
        id,
        parent: from.parent.map(|parent| pick(&IDS, parent).to_owned()),
        group: String::new(),
        label: pick(&NAMES, from.label).to_owned(),
        sort_key: SortKey(from.sort_key.clone()),
        saved_at: 1,
        age_offset: from.age_offset % 16,
        depends_on_parent: from.depends_on_parent,
        exempt: false,
        status: Status::Unknown,
        meta: from.meta.clone(),
    };
    let logs = if from.records.is_empty() { vec![] } else { vec![LogPin { log: "messages".to_owned(), length: None }] };
    let payload = Payload { parts: from.parts.iter().map(part).collect() };
    ops.push(Op::Put(Box::new(Draft {
        header,
        payload,
        inherit: vec![],
        like: vec![],
        logs,
        labels: Labels::default(),
        order: Order::default(),
        encoded: None,
    })));
    ops
}

/// The calls that read, with their fields. `@` stands for an id.
const READS: &[(&str, &str, &[(&str, &str)])] = &[
    ("agentos", "get", &[("checkpointId", "@")]),
    ("agentos", "load", &[("runId", "@")]),
    ("agentos", "list", &[("graphId", ""), ("runId", "@")]),
    ("agentos", "forks", &[("runId", "@")]),
    ("agentos", "runs", &[("graphIdPrefix", ""), ("limit", "5")]),
    ("agentium", "load", &[("checkpointId", "@")]),
    ("agentium", "latest", &[("runId", "@")]),
    ("agentium", "list", &[("runId", "@")]),
    ("agentium", "timeline", &[("runId", "@")]),
    ("agentium", "runs", &[("limit", "5")]),
    ("langgraph", "get", &[("threadId", "@"), ("namespace", "")]),
    ("langgraph", "outline", &[("threadId", "@"), ("namespace", "")]),
    ("langgraph", "list", &[("threadId", "@"), ("limit", "5")]),
    ("langgraph", "page", &[("threadId", "@"), ("limit", "5"), ("looks", "5")]),
    ("langgraph", "threads", &[("latestFirst", "true"), ("limit", "5")]),
    ("tinyagents", "get", &[("threadId", "@"), ("namespace", "")]),
    ("tinyagents", "list", &[("threadId", "@"), ("namespace", "")]),
    ("tinyagents", "namespaces", &[("limit", "5")]),
    ("helix", "session", &[("sessionId", "@")]),
    ("helix", "sessions", &[("limit", "5")]),
    ("helix", "messages", &[("sessionId", "@"), ("offset", "0"), ("limit", "5")]),
    ("helix", "load", &[("checkpointId", "@")]),
    ("helix", "latest", &[("sessionId", "@")]),
    ("helix", "list", &[("sessionId", "@"), ("limit", "5"), ("offset", "0"), ("aliveSince", "0")]),
    ("lease", "read", &[("of", r#"{"space":"agentos","run":"a"}"#)]),
    ("storage", "get", &[("namespace", "@"), ("key", "@")]),
    ("storage", "list", &[("namespace", "@"), ("prefix", "")]),
    ("store", "stats", &[("largest", "5")]),
];

fuzz_target!(|checkpoints: Vec<Checkpoint>| {
    let store = Store::open(&Target::Memory, Options::default()).unwrap();
    for checkpoint in checkpoints.iter().take(8) {
        for op in ops(checkpoint) {
            let _ = outcome(|reply| store.apply(Unit::from(vec![op]), reply));
        }
    }
    for (contract, call, fields) in READS {
        let names = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        let shape = Shape { contract: (*contract).to_owned(), call: (*call).to_owned(), names };
        for id in ["a", "b", "agentos:a"] {
            let value = |(_, text): &(&str, &str)| match *text {
                "@" => Value::Text(id.to_owned()),
                "true" => Value::Bool(true),
                "5" => Value::Number(5.0),
                "0" => Value::Number(0.0),
                other => Value::Text(other.to_owned()),
            };
            let call = RawCall::new(&shape, fields.iter().map(value).collect(), vec![]);
            if let Err(error) = outcome(|reply| forkpoint_engine::contract::run(&store, call, true, reply)) {
                let ours = matches!(error.code(), Code::Unavailable | Code::Closed | Code::InvalidArgument);
                assert!(!ours, "{shape:?}: {error}");
            }
        }
    }
});
