//! Tests that the format of the database file stays stable. The engine must read the files of earlier versions exactly.
//! A second decoder also checks the bytes of these files. This decoder follows docs/internals/format.md and does not use the
//! codec. `fixtures/format/README.md` explains how to make a fixture.

mod logs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::codec::envelope;
use forkpoint_engine::contract::call::PartName;
use forkpoint_engine::contract::{agentium, agentos, langgraph};
use logs::Log;
use rusqlite::{Connection, Row};
use serde_json::{Value as Json, json};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes that V8 of Node 20 wrote for
/// `{ input: { question }, scratch: { when: Date, seen: Set, by: Map, nan, minus: -0, none: undefined },
/// artifacts: { image: Uint8Array }, diagnostics: {} }`.
const V8_STATE: &str = "ff0f6f2205696e7075746f22087175657374696f6e00630c6e00e900650020003dd801df7b01220773637261746368\
    6f22047768656e4400008056febc784222047365656e27490249042c02220262793b2201615a1001000000000000003a0222036e616e4e0000\
    00000000f87f22056d696e75734e000000000000008022046e6f6e655f7b0622096172746966616374736f2205696d6167655c01030102037b\
    01220b646961676e6f73746963736f7b007b04";
/// The bytes that V8 of Node 20 wrote for the rest of the same checkpoint.
const V8_REST: &str = "ff0f6f220269643022076772617068496422056772617068220572756e49643022066e6f64654964220361736b220974\
    696d657374616d70302205737461746530220b6e6f6465526573756c74736f220361736b6f220b656666656374436c61737322047075726522\
    066f757470757422036ee965220a6475726174696f6e4d7349067b037b01220c766973697465644e6f6465734101220361736b240001220c70\
    656e64696e67456467657341002400007b09";

/// A contract id that no contract uses yet.
const OTHER: ContractId = ContractId(7);

fn agentos_save(run: &str, id: &str, timestamp: f64, parent: Option<&str>, state: Part, rest: Part) -> Draft {
    let save = agentos::Save {
        id: id.to_owned(),
        run_id: run.to_owned(),
        graph_id: "graph".to_owned(),
        node_id: if rest.tag == "v8" { "ask" } else { "answer" }.to_owned(),
        timestamp,
        has_memory_snapshot: rest.tag == "v8",
        status: if rest.tag == "v8" { Status::Failed } else { Status::Unknown },
        expected_newest: None,
        known: false,
        incarnation: None,
        parent: parent.map(str::to_owned),
        mark: None,
        saved_at: 1_700_000_000_123,
        state_tag: state.tag,
        rest_tag: rest.tag,
    };
    put_by(agentos::save(save, &mut vec![state.bytes, rest.bytes].into()).unwrap())
}

/// Returns the checkpoint that a unit puts.
fn put_by(unit: Unit) -> Draft {
    let put = unit.ops.into_iter().find_map(|op| match op {
        Op::Put(draft) => Some(*draft),
        _ => None,
    });
    let put = put.expect("a put");
    Draft::from(Checkpoint { header: put.header, payload: put.payload, logs: Vec::new() })
}

/// A step of an Agentium run. The last bytes of its sort key are its age.
fn agentium_save(step_index: f64) -> Draft {
    let save = agentium::Save {
        id: format!("step {step_index}"),
        run_id: "workflow".to_owned(),
        step_index,
        step_name: "schätzen".to_owned(),
        created_at: 1_700_000_000_000.0 - step_index,
        steps: None,
        shape: None,
        parent: None,
        rewind: false,
        expects_parent: false,
        expected_parent: None,
        stamp: None,
        follows: false,
        after_step: None,
        after_created_at: None,
        after_stamp: None,
        incarnation: None,
        saved_at: 7,
        state_tag: "json".to_owned(),
        rest_tag: "json".to_owned(),
    };
    let buffers = ["{\"n\":1}", "{}"].map(|text| part("", "json", text).bytes);
    put_by(agentium::save(save, &mut buffers.to_vec().into()).unwrap())
}

/// A LangGraph checkpoint. A checkpoint with a parent depends on the parent.
fn langgraph_put(id: &str, parent: Option<&str>, depends_on_parent: bool) -> Draft {
    let name = |name: &str| PartName { name: name.to_owned(), tag: "json".to_owned() };
    let put = langgraph::Put {
        thread_id: "thread".to_owned(),
        namespace: "ns".to_owned(),
        id: id.to_owned(),
        root: None,
        parent: parent.map(str::to_owned),
        parts: vec![name(""), name("messages\u{0}1")],
        inherit: None,
        like: None,
        metadata_tag: "json".to_owned(),
        mark: None,
        saved_at: 8,
        depends_on_parent,
        only_child: false,
        known: false,
        incarnation: None,
        effects: None,
        status: Status::Unfinished,
        claims: true,
        writes: None,
    };
    let buffers = ["{\"v\":4}", "[]", "{\"step\":0}"].map(|text| part("", "json", text).bytes);
    put_by(langgraph::put(put, &mut buffers.to_vec().into()).unwrap())
}

/// The id of the checkpoint that has the pending writes of [`writes`].
const WRITTEN_TO: &str = "several parts";

fn writes() -> [Write; 2] {
    let write = |task: &str, index, claimed_by: Option<&str>, state, bytes: Vec<u8>| {
        let (claimed_by, part) = (claimed_by.map(str::to_owned), part("канал", "json", bytes));
        Write { claimed_by, state, part, ..common::write(task, index, "") }
    };
    [
        write("t1", -1, Some("no parts"), TaskState::ASKS | TaskState::FAILED, b"null".to_vec()),
        write("t2", 3, None, TaskState::ENDED, "long and dull; ".repeat(99).into_bytes()),
    ]
}

/// Stores two pending writes and claims the first write. The second write is not claimed.
fn write(backend: &mut Sqlite) {
    let [owned, unclaimed] = writes();
    let contract = OTHER;
    let id = || WRITTEN_TO.to_owned();
    for write in [Write { claimed_by: None, ..owned.clone() }, unclaimed] {
        let claim = Op::Claim { contract, id: id(), claimed_by: owned.claimed_by.clone().unwrap() };
        let claim = (write.task == owned.task).then_some(claim);
        let write = Op::Write { contract, id: id(), writes: vec![write], replace: false, encoded: None };
        apply(backend, [write].into_iter().chain(claim).collect::<Vec<_>>()).unwrap();
    }
}

/// The run that has the labels of [`labels`].
const LABELLED: &str = "text";

fn labels() -> Labels {
    Labels([("customer", "acme"), ("ключ", "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into())
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Makes a database with an example of everything in the format. Returns its checkpoints in save order, and its logs.
fn generate(path: &Path) -> (Vec<Checkpoint>, Vec<Log>) {
    let mut backend = Sqlite::open(&Options { journal: Some(Journal::Wal), ..Options::new(path) }).unwrap();
    // This checkpoint is saved many times, so that the running totals are stored.
    let often = draft("thread", "saved often").contract(OTHER).meta(b"often");
    let saves: Vec<Unit> = (0..520).map(|_| vec![often.clone().put()].into()).collect();
    assert!(backend.apply(&saves).iter().all(Result::is_ok));
    apply(&mut backend, vec![logs::counted()]).unwrap();
    backend.sweep().unwrap();
    let rest = || part("rest", "json", r#"{"id":null,"graphId":"graph","runId":null,"nodeId":"answer"}"#);
    let now = 1_700_000_000_000.25;

    // These payloads are small and stored whole: format 5. Their timestamps cover every kind of sort order.
    let v8 = || [part("state", "v8", hex(V8_STATE)), part("rest", "v8", hex(V8_REST))];
    let mut kept = Vec::new();
    for (id, timestamp) in [("née 🜁 \"1\"", now), ("c2", -1.5), ("c3", 0.0)] {
        let [state, rest] = v8();
        kept.push(agentos_save("run", id, timestamp, None, state, rest));
    }

    // These payloads are noise, which does not compress. The first payload is a keyframe of format 1. The next payloads
    // are a chain of deltas (format 3).
    let mut bytes = noise(1, 1300);
    let mut chain = Vec::new();
    for step in 0..6u8 {
        if step > 0 {
            let at = usize::from(step) * 150;
            bytes.splice(at..at + 20, noise(u64::from(step) + 1, 35));
            bytes[1200] ^= step;
        }
        let state = part("state", "own", bytes.clone());
        chain.push(agentos_save("chain", &format!("n{step}"), now + f64::from(step), None, state, rest()));
    }

    // These payloads are text, which compresses. They are a keyframe of format 2, a compressed delta (format 4), and a
    // small delta against that delta (format 6).
    let digits = (0..600u64).map(|n| format!("{:016x}", xxh3_64(&n.to_le_bytes()))).collect::<Vec<_>>().join(",");
    let more = "all work and no play makes Jack a dull boy; ".repeat(200);
    let little = "to be, or not to be; ".repeat(5);
    let texts = [
        format!("{{\"input\":\"{digits}\"}}"),
        format!("{{\"input\":\"{digits}\",\"scratch\":\"{more}\"}}"),
        format!("{{\"input\":\"{digits}\",\"scratch\":\"{more}\",\"diagnostics\":{{\"edited\":\"{little}\"}}}}"),
    ];
    let text = |step: usize, run: &str, id: &str, parent: Option<&str>| {
        let state = part("state", "json", texts[step].clone());
        #[expect(clippy::cast_precision_loss, reason = "below 3")]
        agentos_save(run, id, now + step as f64, parent, state, rest())
    };
    let text = [
        text(0, "text", "t0", None),
        text(1, "text", "t1", None),
        text(2, "text", "t2", None),
        // This checkpoint begins a run. Its parent is a checkpoint of another run.
        text(2, "fork", "f1", Some("t1")),
    ];
    // This checkpoint is the copy that the engine makes for a fork.
    let mut copy = text[1].clone();
    let Header { lineage, id, parent, sort_key, saved_at, .. } = &mut copy.0.header;
    (*lineage, *id, *parent) = ("copy".to_owned(), "f2".to_owned(), Some("t1".to_owned()));
    (*sort_key, *saved_at) = (SortKey::from_f64(now + 9.0), 1_700_000_000_999);

    // No current contract makes checkpoints like these: the parts and the sort keys are arbitrary, and there are no
    // labels.
    let other = [
        draft("thread", "several parts").contract(OTHER).parent("gone").meta(b"").parts(vec![
            part("", "", ""),
            part("ключ", "json", "{}"),
            part("ключ", "raw", [0, 255, 128]),
        ]),
        draft("thread", "no parts").contract(OTHER).group("g").label("l").parts(vec![]),
    ];
    let [first, mut second] = other;
    second.0.header.sort_key = SortKey(vec![0, 255, 7]);

    // These contracts use more fields of the header.
    let others = [
        agentium_save(-1.0),
        agentium_save(0.0),
        langgraph_put("1ef0-a", None, false),
        langgraph_put("1ef0-b", Some("1ef0-a"), true),
        langgraph_put("1ef0-c", Some("1ef0-b"), false),
    ];

    for draft in kept.iter().chain(&chain).chain(&text) {
        save(&mut backend, [draft.clone()]);
    }
    let Header { lineage, id, sort_key, saved_at, .. } = copy.0.header.clone();
    let (id, source) = (id, "t1".to_owned());
    let fork = agentos::fork(source, id, lineage, sort_key.split_f64().unwrap().0, saved_at).unwrap();
    apply(&mut backend, fork).unwrap();
    for draft in [&first, &second].into_iter().chain(&others) {
        save(&mut backend, [draft.clone()]);
    }
    let (logged, logs) = logs::generate(&mut backend);
    // A replaced checkpoint moves to the end of the save order. The dependants of a removed checkpoint can still be
    // read. If the last checkpoint is removed, the database still records its save number.
    let [state, _] = v8();
    let replaced = agentos_save("run", "c3", 1.0, None, state, part("rest", "v8", hex(V8_REST)));
    save(&mut backend, [replaced.clone()]);
    kept[2] = replaced;
    let [state, rest] = v8();
    save(&mut backend, [agentos_save("ended", "last", now, None, state, rest)]);
    for id in ["last", "n4"] {
        apply(&mut backend, vec![common::remove(id)]).unwrap();
    }
    chain.remove(4);
    write(&mut backend);
    let (contract, lineage) = (agentos::CONTRACT_ID, LABELLED.to_owned());
    apply(&mut backend, vec![Op::SetLabels { contract, lineage, changes: labels().changes() }]).unwrap();
    drop(backend);

    let connection = Connection::open(path).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    connection.close().unwrap();

    let replaced = kept.pop().unwrap();
    let all = [often].into_iter().chain(kept).chain(chain).chain(text).chain([copy, first, second]);
    let all = all.chain(others).map(|draft| draft.0).chain(logged).chain([replaced.0]);
    (all.collect(), logs)
}

// The expected content of a fixture, as JSON.

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |out, byte| format!("{out}{byte:02x}"))
}

/// The bytes of a part or a record, with its tag.
fn describe_bytes(tag: &str, bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) if tag == "json" => json!({ "tag": tag, "text": text }),
        _ => json!({ "tag": tag, "hex": to_hex(bytes) }),
    }
}

fn read_bytes(described: &Json) -> (String, Vec<u8>) {
    let bytes = described["hex"].as_str().map(hex);
    (text(&described["tag"]), bytes.unwrap_or_else(|| text(&described["text"]).into_bytes()))
}

fn text(json: &Json) -> String {
    json.as_str().unwrap().to_owned()
}

fn describe(path: &Path, (checkpoints, logs): &(Vec<Checkpoint>, Vec<Log>)) -> String {
    let rows = decode(path).checkpoints;
    let described = checkpoints.iter().map(|Checkpoint { header, payload, logs }| {
        let row = rows.values().find(|row| row.header.id == header.id).unwrap();
        let parts = payload.parts.iter().map(|part| {
            let mut described = describe_bytes(&part.tag, &part.bytes);
            described["name"] = json!(part.name);
            described
        });
        let mut described = json!({
            "id": header.id, "contract": header.contract.0, "lineage": header.lineage, "parent": header.parent,
            "group": header.group, "label": header.label, "sortKey": to_hex(&header.sort_key.0),
            "meta": to_hex(&header.meta), "savedAt": header.saved_at, "ageOffset": header.age_offset,
            "dependsOnParent": header.depends_on_parent, "status": header.status as u8, "format": row.body[0],
            "base": row.base.map(|base| rows[&base].header.id.clone()), "logs": logs::describe_marks(logs),
            "parts": parts.collect::<Vec<_>>(),
        });
        if header.contract == agentos::CONTRACT_ID {
            let metadata = agentos::metadata(header.clone()).unwrap();
            described["timestamp"] = json!(metadata.timestamp);
            described["hasMemorySnapshot"] = json!(metadata.has_memory_snapshot);
        }
        described
    });
    let all = json!({ "version": 1, "checkpoints": described.collect::<Vec<_>>(), "logs": logs::describe(logs) });
    serde_json::to_string_pretty(&all).unwrap()
}

/// One expected checkpoint.
struct Expected {
    checkpoint: Checkpoint,
    format: u8,
    base: Option<String>,
    /// The fields that `AgentOS` shows in listings: the timestamp, and true if there is a memory snapshot.
    agentos: Option<(f64, bool)>,
}

fn read_description(json: &str) -> (Vec<Expected>, Vec<Log>) {
    let all: Json = serde_json::from_str(json).unwrap();
    let read = |described: &Json| {
        let text = |name: &str| text(&described[name]);
        let number = |name: &str| u8::try_from(described[name].as_u64().unwrap()).unwrap();
        let optional = |name: &str| described[name].as_str().map(str::to_owned);
        let header = Header {
            contract: ContractId(number("contract")),
            lineage: text("lineage"),
            id: text("id"),
            parent: optional("parent"),
            group: text("group"),
            label: text("label"),
            sort_key: SortKey(hex(&text("sortKey"))),
            meta: hex(&text("meta")),
            saved_at: described["savedAt"].as_i64().unwrap(),
            age_offset: number("ageOffset"),
            depends_on_parent: described["dependsOnParent"].as_bool().unwrap(),
            exempt: false,
            status: Status::numbered(number("status")).unwrap(),
        };
        let parts = described["parts"].as_array().unwrap().iter().map(|described| {
            let (tag, bytes) = read_bytes(described);
            part(described["name"].as_str().unwrap(), &tag, bytes)
        });
        let (payload, logs) = (Payload { parts: parts.collect() }, logs::read_marks(&described["logs"]));
        Expected {
            checkpoint: Checkpoint { header, payload, logs },
            format: number("format"),
            base: optional("base"),
            agentos: described["timestamp"].as_f64().zip(described["hasMemorySnapshot"].as_bool()),
        }
    };
    let checkpoints: Vec<Expected> = all["checkpoints"].as_array().unwrap().iter().map(read).collect();
    assert!(!checkpoints.is_empty());
    (checkpoints, logs::read_description(&all["logs"]))
}

// Reading a fixture with the engine.

fn reads_back(path: &Path, (expected, logs): &(Vec<Expected>, Vec<Log>)) {
    // The backend has no cache, so it reads every payload from its rows.
    let mut backend = Sqlite::open(&Options { cache_bytes: 0, ..Options::new(path) }).unwrap();
    for contract in [agentos::CONTRACT_ID, agentium::CONTRACT_ID, langgraph::CONTRACT_ID, OTHER] {
        let mine =
            || expected.iter().map(|expected| &expected.checkpoint).filter(|one| one.header.contract == contract);
        for checkpoint in mine() {
            let query = Query::Get { contract, id: checkpoint.header.id.clone() };
            let found = backend.answer(&query).unwrap().into_checkpoint().unwrap();
            assert_eq!(found.as_deref(), Some(checkpoint), "{}", checkpoint.header.id);
        }
        let runs: BTreeSet<&str> = mine().map(|checkpoint| checkpoint.header.lineage.as_str()).collect();
        for run in runs {
            // The expected order is newest first: by the greatest sort key, and for equal keys by the last save. The
            // list of expected checkpoints is in save order.
            let mut order: Vec<&Header> = mine().map(|one| &one.header).filter(|one| one.lineage == run).collect();
            order.reverse();
            order.sort_by(|one, other| other.sort_key.cmp(&one.sort_key));
            let query = Query::List { contract, of: Of::Lineage(run.to_owned()), before: None, limit: None };
            let listed = backend.answer(&query).unwrap().into_headers().unwrap();
            assert_eq!(listed.iter().collect::<Vec<_>>(), order, "{run}");
        }
    }
    logs::read_back(&mut backend, logs);
    let query = Query::Tuple { contract: OTHER, pick: Pick::Id(WRITTEN_TO.to_owned()) };
    let written = backend.answer(&query).unwrap().into_tuple().unwrap().unwrap().writes;
    assert_eq!(written, writes());
    let query = Query::Start { contract: agentos::CONTRACT_ID, lineage: LABELLED.to_owned() };
    let start = backend.answer(&query).unwrap().into_starts().unwrap().pop().unwrap();
    assert_eq!(start.labels, labels());
    let query = Query::Forks { contract: agentos::CONTRACT_ID, lineage: "text".to_owned() };
    let forks = backend.answer(&query).unwrap().into_lineages().unwrap();
    let forks: Vec<_> = forks.into_iter().map(|fork| (fork.newest.lineage, fork.origin.unwrap())).collect();
    assert_eq!(forks, [("copy", "t1"), ("fork", "t1")].map(|(fork, origin)| (fork.to_owned(), origin.to_owned())));
    // The sizes of the stored records. A record that several logs share counts once.
    let records: Vec<i64> = decode(path).logs.records().map(|record| record.body.len().try_into().unwrap()).collect();
    let (counted, findings, _) = common::check(&mut backend, 10);
    let expected_counts = (expected.len() as u64, records.len() as u64);
    assert_eq!((counted.checkpoints, counted.records, findings), (expected_counts.0, expected_counts.1, vec![]));
    let stats = common::stats(&mut backend, 0).total();
    let raw = |one: &Expected| forkpoint_engine::codec::frame::length(&one.checkpoint.payload) as u64;
    assert_eq!((stats.checkpoints, stats.logical_bytes), (expected.len() as u64, expected.iter().map(raw).sum()));
    let bytes = records.iter().sum::<i64>().cast_unsigned();
    assert_eq!((stats.records, stats.record_bytes), (records.len() as u64, bytes));
    let names: BTreeSet<&str> = expected
        .iter()
        .filter(|expected| expected.checkpoint.header.contract == agentos::CONTRACT_ID)
        .map(|expected| expected.checkpoint.header.lineage.as_str())
        .collect();
    assert_eq!(lineages(&mut backend, "", None, usize::MAX).len(), names.len(), "no run beyond those");
    for expected in expected {
        if let Some((timestamp, has_memory_snapshot)) = expected.agentos {
            let metadata = agentos::metadata(expected.checkpoint.header.clone()).unwrap();
            let state_size = expected.checkpoint.payload.part(agentos::STATE).unwrap().bytes.len() as u64;
            assert_eq!(
                (metadata.timestamp.to_bits(), metadata.has_memory_snapshot, metadata.state_size),
                (timestamp.to_bits(), has_memory_snapshot, state_size)
            );
        }
    }
    // The engine can also save another checkpoint in each lineage that the fixture contains.
    let next = headers(&mut backend, lineage("chain"), Some(1)).remove(0);
    let mut again = try_get(&mut backend, &next.id).unwrap().unwrap();
    "written by this version".clone_into(&mut again.header.id);
    save(&mut backend, [Draft::from(again.clone())]);
    assert_eq!(try_get(&mut backend, &again.header.id).unwrap(), Some(again));
    uses(&mut backend);
    drop(backend);
    assert_eq!(format_of(path), VERSION);
    decode(path);
}

/// Changes columns that a later save may change.
fn uses(backend: &mut Sqlite) {
    let contract = OTHER;
    let begun = || draft("begun", "begun 1").contract(contract).status(Status::Waiting);
    save(backend, [begun()]);
    let write = |task: &str, state| Write { state, ..common::write(task, 0, "1") };
    let id = || "begun 1".to_owned();
    for task in ["asks", "asks too"] {
        let writes = vec![write(task, TaskState::ASKS)];
        apply(backend, vec![Op::Write { contract, id: id(), writes, replace: false, encoded: None }]).unwrap();
    }
    apply(backend, vec![Op::Claim { contract, id: id(), claimed_by: "begun 2".to_owned() }]).unwrap();
    save(backend, [draft("begun", "begun 2").contract(contract).status(Status::Failed)]);
    apply(backend, vec![Op::Reopen { contract, id: id() }]).unwrap();
    let changes = LabelChanges::from([("plan".to_owned(), Some("free".to_owned()))]);
    apply(backend, vec![Op::SetLabels { contract, lineage: "begun".to_owned(), changes }]).unwrap();
}

fn format_of(path: &Path) -> u8 {
    version(&Connection::open(path).unwrap()).try_into().unwrap()
}

// A decoder written from docs/internals/format.md. It panics on damage, where the engine would return CORRUPT.

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(usize::try_from(count).unwrap());
        self.0 = rest;
        taken
    }

    fn leb128(&mut self) -> u64 {
        let byte = u64::from(self.take(1)[0]);
        if byte < 128 { byte } else { byte - 128 + (self.leb128() << 7) }
    }

    fn text(&mut self) -> String {
        let length = self.leb128();
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }
}

/// The bytes that a checksum is computed from. docs/internals/format.md calls these bytes a list of values.
#[derive(Default)]
struct Values(Vec<u8>);

impl Values {
    fn int(mut self, number: i64) -> Self {
        self.0.push(1);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn text(self, text: &str) -> Self {
        self.lengthy(2, text.as_bytes())
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        self.lengthy(3, bytes)
    }

    fn nothing(mut self) -> Self {
        self.0.push(4);
        self
    }

    fn text_or_nothing(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.nothing(),
        }
    }

    fn int_or_nothing(self, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.int(number),
            None => self.nothing(),
        }
    }

    fn lengthy(mut self, kind: u8, bytes: &[u8]) -> Self {
        self.0.push(kind);
        let mut length = bytes.len();
        while length > 127 {
            self.0.push(u8::try_from(length % 128).unwrap() + 128);
            length /= 128;
        }
        self.0.push(u8::try_from(length).unwrap());
        self.0.extend(bytes);
        self
    }

    fn sum(&self) -> i64 {
        i64::from_ne_bytes(xxh3_64(&self.0).to_ne_bytes())
    }
}

/// The content of a database. The decoder has verified every checksum.
struct Decoded {
    /// The lineages, by their numbers.
    lineages: BTreeMap<i64, LineageRow>,
    /// The checkpoints, by their save numbers.
    checkpoints: BTreeMap<i64, CheckpointRow>,
    /// Pending writes, each with its contract and the id of its checkpoint.
    writes: Vec<(u8, String, Write)>,
    /// Settings without their checksums.
    settings: BTreeMap<String, Vec<u8>>,
    logs: logs::Tables,
}

struct LineageRow {
    contract: u8,
    name: String,
    group: String,
    age_offset: u8,
    origin: Option<(String, i64)>,
    labels: Labels,
}

struct CheckpointRow {
    lin: i64,
    header: Header,
    base: Option<i64>,
    /// The numbers that follow the base in the column `chain`: depth, budget, size, first dependant, next sibling.
    chain: [i64; 5],
    body: Vec<u8>,
    /// The logs that the checkpoint names.
    marks: Vec<logs::Mark>,
}

fn decode(path: &Path) -> Decoded {
    let connection = Connection::open(path).unwrap();
    let lineages = lineage_rows(&connection);
    let checkpoints = checkpoint_rows(&connection, &lineages);
    let (writes, settings, logs) = (write_rows(&connection), settings(&connection), logs::tables(&connection));
    Decoded { lineages, checkpoints, writes, settings, logs }
}

/// Runs a query and converts each row with `row`.
fn read<T>(connection: &Connection, sql: &str, row: impl Fn(&Row<'_>) -> T) -> Vec<T> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |found| Ok(row(found))).unwrap().map(Result::unwrap).collect()
}

fn lineage_rows(connection: &Connection) -> BTreeMap<i64, LineageRow> {
    let sql =
        "SELECT lin, contract, name, grp, age_offset, origin, origin_lin, sum, status, labels FROM lineage NOT INDEXED";
    let row = |row: &Row<'_>| {
        let (lin, contract, name): (i64, u8, String) = (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2));
        let (group, age_offset): (String, u8) = (row.get_unwrap(3), row.get_unwrap(4));
        let (origin, origin_lin): (Option<String>, Option<i64>) = (row.get_unwrap(5), row.get_unwrap(6));
        let values = Values::default().int(lin).int(contract.into()).text(&name).text(&group).int(age_offset.into());
        let values = values.text_or_nothing(origin.as_deref()).int_or_nothing(origin_lin);
        assert_eq!(values.sum(), row.get_unwrap::<_, i64>(7), "lineage {lin}");
        assert_eq!(origin.is_some(), origin_lin.is_some());
        let status: i64 = row.get_unwrap(8);
        let sum = Values::default().int(lin).int(status & 7).sum();
        assert_eq!(status, sum & !7 | status & 7, "the status of lineage {lin}");
        let mut labels = Labels::default();
        if let Some(column) = row.get_unwrap::<_, Option<Vec<u8>>>(9) {
            let (pairs, sum) = column.split_last_chunk().unwrap();
            assert_eq!(Values::default().int(lin).bytes(pairs).sum().to_le_bytes(), *sum, "the labels of {name:?}");
            let mut rest = Bytes(pairs);
            while !rest.0.is_empty() {
                let key = rest.text();
                labels.0.insert(key, rest.text());
            }
        }
        (lin, LineageRow { contract, name, group, age_offset, origin: origin.zip(origin_lin), labels })
    };
    read(connection, sql, row).into_iter().collect()
}

/// The version of the tables.
const VERSION: u8 = 1;

/// Reads the version, which is in the lowest 8 bits.
fn version(connection: &Connection) -> i64 {
    connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap() & 255
}

fn checkpoint_rows(connection: &Connection, lineages: &BTreeMap<i64, LineageRow>) -> BTreeMap<i64, CheckpointRow> {
    let sql =
        "SELECT seq, lin, id_hash, saved_at, flags, chain, sum, id, parent, grp, label, sort_key, meta, logs, body
               FROM checkpoint NOT INDEXED";
    let row = |row: &Row<'_>| {
        let (seq, lin, saved_at, flags): (i64, i64, i64, i64) =
            (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(3), row.get_unwrap(4));
        let lineage = &lineages[&lin];
        let (group, sort_key): (String, Vec<u8>) = (row.get_unwrap(9), row.get_unwrap(11));
        let (mut id, mut parent): (String, Option<String>) = (row.get_unwrap(7), row.get_unwrap(8));
        // What the group and the sort key have of the ids is left out of their columns.
        if flags & 32 != 0 {
            id.insert_str(0, &group);
        }
        if flags & 64 != 0 {
            id.push_str(std::str::from_utf8(&sort_key).unwrap());
        }
        if flags & 128 != 0 {
            parent.as_mut().unwrap().insert_str(0, &group);
        }
        let flags = flags & 31;
        let header = Header {
            contract: ContractId(lineage.contract),
            lineage: lineage.name.clone(),
            id,
            parent,
            group,
            label: row.get_unwrap(10),
            sort_key: SortKey(sort_key),
            saved_at,
            age_offset: lineage.age_offset,
            depends_on_parent: flags & 1 == 1,
            exempt: false,
            status: Status::numbered(u8::try_from(flags >> 2).unwrap()).unwrap(),
            meta: row.get_unwrap(12),
        };
        assert_eq!(flags & 2, 0, "nothing is exempt here");
        let hash = Values([&[lineage.contract], header.id.as_bytes()].concat()).sum();
        assert_eq!(hash, row.get_unwrap::<_, i64>(2), "the hash of {:?}", header.id);
        let logs: Option<Vec<u8>> = row.get_unwrap(13);
        let values = Values::default()
            .int(seq)
            .int(lineage.contract.into())
            .text(&header.lineage)
            .text(&header.id)
            .text_or_nothing(header.parent.as_deref())
            .text(&header.group)
            .text(&header.label)
            .bytes(&header.sort_key.0)
            .int(saved_at)
            .int(lineage.age_offset.into())
            .int(flags)
            .bytes(&header.meta)
            .bytes(logs.as_deref().unwrap_or_default());
        assert_eq!(values.sum(), row.get_unwrap::<_, i64>(6), "the header of {:?}", header.id);

        let column: Vec<u8> = row.get_unwrap(5);
        let numbers = common::chain_of(seq, &column);
        let number = |at: usize| numbers[at];
        let values = (0..6).map(number).fold(Values::default().int(seq), Values::int);
        assert_eq!(values.sum(), number(6), "the chain of {:?}", header.id);
        let base = (number(0) != 0).then_some(number(0));
        let chain = std::array::from_fn(|at| number(at + 1));
        let marks = logs::marks(logs.as_deref());
        (seq, CheckpointRow { lin, header, base, chain, body: row.get_unwrap(14), marks })
    };
    read(connection, sql, row).into_iter().collect()
}

fn write_rows(connection: &Connection) -> Vec<(u8, String, Write)> {
    let sql = "SELECT num, contract, id, task, sum, claimed, claim_sum, body FROM write NOT INDEXED ORDER BY num";
    let row = |row: &Row<'_>| {
        let (num, contract): (i64, u8) = (row.get_unwrap(0), row.get_unwrap(1));
        let (id, task, claimed): (String, String, Option<String>) =
            (row.get_unwrap(2), row.get_unwrap(3), row.get_unwrap(5));
        let values = Values::default().int(num).int(contract.into()).text(&id).text(&task);
        assert_eq!(values.sum(), row.get_unwrap::<_, i64>(4), "write {num}");
        let values = Values::default().int(num).text_or_nothing(claimed.as_deref());
        let column: i64 = row.get_unwrap(6);
        let state = column & 15;
        assert_eq!(values.int(state).sum() & !15 | state, column, "whose write {num} is");
        let written = parts(&open(&row.get_unwrap::<_, Vec<u8>>(7), None)).into_iter().map(|named| {
            let (index, name) = named.name.split_once(' ').unwrap();
            let part = part(name, &named.tag, named.bytes.to_vec());
            let write = Write {
                task: task.clone(),
                index: index.parse().unwrap(),
                claimed_by: claimed.clone(),
                state: TaskState::numbered(u8::try_from(state).unwrap()),
                part,
            };
            (contract, id.clone(), write)
        });
        written.collect::<Vec<_>>()
    };
    read(connection, sql, row).into_iter().flatten().collect()
}

fn settings(connection: &Connection) -> BTreeMap<String, Vec<u8>> {
    let row = |row: &Row<'_>| {
        let (name, mut value): (String, Vec<u8>) = (row.get_unwrap(0), row.get_unwrap(1));
        let stored = value.split_off(value.len() - 8);
        let sum = Values::default().text(&name).bytes(&value).sum();
        assert_eq!(sum.to_le_bytes(), stored[..], "setting {name}");
        (name, value)
    };
    read(connection, "SELECT name, value FROM setting", row).into_iter().collect()
}

/// The raw bytes of a payload, restored from its chain.
fn raw(rows: &BTreeMap<i64, CheckpointRow>, seq: i64) -> Vec<u8> {
    let CheckpointRow { base, chain: [depth, _, size, ..], body, .. } = &rows[&seq];
    assert!(base.is_none_or(|base| base < seq), "a base is older");
    assert!(base.is_some() || *depth == 0);
    assert!(base.is_none_or(|base| rows[&base].chain[0] < *depth && *depth <= 256), "no more deltas than its depth");
    let raw = open(body, base.map(|base| raw(rows, base)).as_deref());
    assert_eq!(i64::try_from(raw.len()), Ok(*size));
    raw
}

/// Opens an envelope and returns its payload.
/// The dictionary, as the page about the format prints it.
fn dictionary() -> Vec<u8> {
    let page = include_str!("../../../docs/internals/format.md").replace('\r', "");
    let (_, block) = page.split_once("```json\n").unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    block.lines().map(|line| serde_json::from_str::<String>(line).unwrap()).collect::<String>().into_bytes()
}

fn open(sealed: &[u8], base: Option<&[u8]>) -> Vec<u8> {
    let mut envelope = Bytes(sealed);
    let format = envelope.take(1)[0];
    let checksum = u64::from_le_bytes(envelope.take(8).try_into().unwrap());
    let length = envelope.leb128();
    let content_length = if matches!(format, 3 | 4 | 6) { envelope.leb128() } else { length };
    let content = match format {
        1 | 3 => envelope.0.to_vec(),
        2 | 4 => zstd::decode_all(envelope.0).unwrap(),
        5 | 6 => {
            let mut decoder = zstd::stream::read::Decoder::with_dictionary(envelope.0, &dictionary()).unwrap();
            let mut content = Vec::new();
            decoder.read_to_end(&mut content).unwrap();
            assert!(content.len() < 8192, "the content is small");
            content
        }
        _ => panic!("format {format}"),
    };
    assert_eq!(content.len() as u64, content_length);
    let raw = match base {
        None => {
            assert!(matches!(format, 1 | 2 | 5), "a keyframe");
            content
        }
        Some(base) => {
            assert!(matches!(format, 3 | 4 | 6), "a delta");
            patch(base, &content)
        }
    };
    assert_eq!((raw.len() as u64, xxh3_64(&raw)), (length, checksum));
    raw
}

fn patch(base: &[u8], delta: &[u8]) -> Vec<u8> {
    let mut delta = Bytes(delta);
    let steps: Vec<[u64; 3]> = (0..delta.leb128()).map(|_| [delta.leb128(), delta.leb128(), delta.leb128()]).collect();
    let (mut out, mut base) = (Vec::new(), Bytes(base));
    for [literal, skip, copy] in steps {
        out.extend_from_slice(delta.take(literal));
        base.take(skip);
        out.extend_from_slice(base.take(copy));
    }
    assert!(delta.0.is_empty());
    out
}

fn parts(raw: &[u8]) -> Vec<Part> {
    let mut raw = Bytes(raw);
    let heads: Vec<(String, String, u64)> = (0..raw.leb128()).map(|_| (raw.text(), raw.text(), raw.leb128())).collect();
    let parts = heads.into_iter().map(|(name, tag, length)| part(&name, &tag, raw.take(length))).collect();
    assert!(raw.0.is_empty());
    parts
}

/// Returns the statuses of AgentOS' checkpoints: whether a checkpoint has a memory snapshot, and the number of its status.
fn is_as_documented(path: &Path, (expected, logs): &(Vec<Expected>, Vec<Log>)) -> BTreeSet<(bool, u8)> {
    let header = fs::read(path).unwrap();
    assert_eq!(header[68..72], *b"Fkpt", "the application id");
    assert_eq!(header[63], VERSION, "the version is in the lowest bits");
    let decoded = decode(path);
    for row in decoded.lineages.values() {
        let expected = if row.name == LABELLED { labels() } else { Labels::default() };
        assert_eq!(row.labels, expected, "{}", row.name);
    }
    assert_eq!(decoded.writes, writes().map(|write| (OTHER.0, WRITTEN_TO.to_owned(), write)));
    lineages_are_as_documented(&decoded);
    chains_are_as_documented(&decoded.checkpoints);
    settings_are_as_documented(&decoded);
    logs::are_as_documented(&decoded, logs);

    let rows = &decoded.checkpoints;
    assert_eq!(rows.len(), expected.len());
    let mut formats = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    // Both lists are in save order.
    for ((seq, row), Expected { checkpoint, format, base, agentos }) in rows.iter().zip(expected) {
        let Checkpoint { header, payload, logs } = checkpoint;
        assert_eq!((&row.header, row.body[0]), (header, *format));
        let marks: Vec<_> = row.marks.iter().map(|(log, length, _)| (log, *length)).collect();
        assert_eq!(marks, logs.iter().map(|mark| (&mark.log, mark.length)).collect::<Vec<_>>());
        assert_eq!(row.base.map(|base| &rows[&base].header.id), base.as_ref());
        assert_eq!(parts(&raw(rows, *seq)), payload.parts, "{}", header.id);
        formats.insert(*format);
        if let Some((timestamp, has_memory_snapshot)) = agentos {
            assert_eq!(header.sort_key.0, sortable(*timestamp));
            let size = payload.parts[0].bytes.len() as u64;
            let (flags, sizes) = header.meta.split_last().unwrap();
            assert_eq!((sizes, flags & 3), (&size.to_le_bytes()[..], u8::from(*has_memory_snapshot)));
            // Version 1 kept the status in the meta.
            statuses.insert((*has_memory_snapshot, (flags >> 2).max(header.status as u8)));
            assert_eq!(payload.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["state", "rest"]);
        }
    }
    assert_eq!(formats.into_iter().collect::<Vec<_>>(), (1..=6).collect::<Vec<u8>>(), "every format is in it");
    other_contracts_are_as_documented(rows);
    let across = rows.values().filter_map(|row| Some((&row.header.id, &rows[&row.base?].header.id)));
    assert!(across.clone().any(|(fork, source)| (fork.as_str(), source.as_str()) == ("f1", "t1")), "and a fork");
    let mut links = vec!["n3"];
    while let Some((_, base)) = across.clone().find(|(id, _)| id == links.last().unwrap()) {
        links.push(base);
    }
    assert_eq!(links, ["n3", "n2", "n1", "n0"], "and a chain");
    let most = rows.keys().map(|base| rows.values().filter(|row| row.base == Some(*base)).count()).max();
    assert!(most >= Some(3), "and a list of dependants");
    statuses
}

/// The bytes of a number in a sort key.
fn sortable(number: f64) -> [u8; 8] {
    let bits = number.to_bits();
    (if number.is_sign_negative() { !bits } else { bits ^ 1 << 63 }).to_be_bytes()
}

fn lineages_are_as_documented(decoded: &Decoded) {
    let Decoded { lineages, checkpoints, logs, .. } = decoded;
    let groups = BTreeMap::from([(agentos::CONTRACT_ID, "graph"), (langgraph::CONTRACT_ID, "6:thread")]);
    for (lin, lineage) in lineages {
        let has_checkpoints = checkpoints.values().any(|row| row.lin == *lin);
        assert!(has_checkpoints || logs.has(*lin), "no lineage is without checkpoints and logs");
        let talks = (has_checkpoints && lineage.name.starts_with("talk")).then_some("talks");
        let group = groups.get(&ContractId(lineage.contract)).copied().or(talks);
        assert_eq!(lineage.group, group.unwrap_or_default(), "the group of its first checkpoint");
    }
    let named = |name: &str| lineages.iter().find(|(_, lineage)| lineage.name == name).unwrap();
    let (source, _) = named("text");
    for fork in ["fork", "copy"] {
        assert_eq!(named(fork).1.origin, Some(("t1".to_owned(), *source)), "{fork}");
    }
    let (talk, _) = named("talk");
    for fork in ["talk fork 0", "talk fork 1", "talk fork 2"] {
        assert_eq!(named(fork).1.origin, Some(("talk 1".to_owned(), *talk)), "{fork}");
    }
    assert!(checkpoints.values().all(|row| row.lin != *named("cut").0), "logs alone");
    assert_eq!(named("workflow").1.age_offset, 8);
    assert_eq!(lineages.values().filter(|lineage| lineage.origin.is_some() || lineage.age_offset > 0).count(), 6);
}

/// Checks each base's list of dependants. The list must contain all dependants, the newest first, and no other entry.
fn chains_are_as_documented(rows: &BTreeMap<i64, CheckpointRow>) {
    for (seq, CheckpointRow { base, chain: [_, budget, _, first, next], body, .. }) in rows {
        let after = |seq: &i64| Some(rows[seq].chain[4]).filter(|next| *next != 0);
        let listed: Vec<i64> = std::iter::successors(Some(*first).filter(|first| *first != 0), after).collect();
        let built: Vec<i64> =
            rows.iter().rev().filter(|(_, row)| row.base == Some(*seq)).map(|(seq, _)| *seq).collect();
        assert_eq!(listed, built, "what is built on row {seq}");
        assert!(base.is_some() || *next == 0, "a keyframe has no siblings");
        if base.is_none() {
            let length = i64::try_from(body.len()).unwrap();
            assert!(*budget == length || *budget == length.max(512), "{budget}");
        }
        assert!(*budget >= 0);
    }
}

fn settings_are_as_documented(decoded: &Decoded) {
    let Decoded { lineages, checkpoints, settings, logs, .. } = decoded;
    assert_eq!(settings.keys().collect::<Vec<_>>(), ["lin_floor", "seq_floor", "totals"]);
    let number = |name: &str| i64::from_le_bytes(settings[name][..].try_into().unwrap());
    let (last_seq, last_lin) = (*checkpoints.keys().last().unwrap(), *lineages.keys().last().unwrap());
    assert!(number("seq_floor") > last_seq && number("lin_floor") > last_lin, "the last ones were removed");

    let mut totals = Bytes(&settings["totals"]);
    let mut next = || i64::try_from(totals.leb128()).unwrap();
    let (seq, lin, record) = (next(), next(), next());
    assert!(seq >= 520 && lin >= 1 && record >= 3, "{seq} {lin} {record}");
    let mut counted = BTreeMap::new();
    while !totals.0.is_empty() {
        let mut next = || i64::try_from(totals.leb128()).unwrap();
        let [contract, numbers @ ..]: [i64; 7] = std::array::from_fn(|_| next());
        counted.insert(u8::try_from(contract).unwrap(), numbers);
    }
    let mut expected: BTreeMap<u8, [i64; 6]> = BTreeMap::new();
    for row in checkpoints.range(..=seq).map(|(_, row)| row) {
        let counts = expected.entry(row.header.contract.0).or_default();
        counts[0] += 1;
        counts[2] += row.chain[2];
        counts[3] += i64::try_from(row.body.len()).unwrap();
    }
    for lineage in lineages.range(..=lin).map(|(_, lineage)| lineage) {
        expected.entry(lineage.contract).or_default()[1] += 1;
    }
    for stored in logs.records().filter(|stored| stored.num <= record) {
        let counts = expected.entry(stored.contract).or_default();
        counts[4] += 1;
        counts[5] += i64::try_from(stored.body.len()).unwrap();
    }
    assert_eq!(counted, expected);
}

fn other_contracts_are_as_documented(rows: &BTreeMap<i64, CheckpointRow>) {
    let header = |contract: u8, at: usize| {
        let headers = rows.values().map(|row| &row.header).filter(|header| header.contract.0 == contract);
        headers.clone().nth(at).unwrap()
    };
    let step = header(2, 1);
    assert_eq!(step.sort_key.0, [sortable(0.0), sortable(1_700_000_000_000.0)].concat());
    assert_eq!(step.meta, [&7_u64.to_le_bytes()[..], "schätzen".as_bytes()].concat());
    for (at, id) in ["1ef0-a", "1ef0-b"].into_iter().enumerate() {
        let found = header(4, at);
        let texts = [&found.group, &found.lineage, &found.id, &found.label].map(String::as_str);
        assert_eq!(texts, ["6:thread", "6:threadns", &format!("6:thread2:ns{id}"), ""]);
        assert_eq!(found.sort_key.0, id.as_bytes());
        assert_eq!(found.meta, b"json\0{\"step\":0}");
        assert_eq!(found.depends_on_parent, at == 1);
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/format")
}

#[test]
fn what_earlier_versions_wrote_is_read_back_exactly() {
    let temporary = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let fixture = entry.unwrap().path();
        if fixture.extension().is_none_or(|extension| extension != "sqlite") {
            continue;
        }
        let name = fixture.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected = read_description(&fs::read_to_string(fixture.with_extension("json")).unwrap());
        // The test opens a copy, because reading may write into the file and create files next to it.
        let copy = temporary.path().join(&name);
        fs::copy(&fixture, &copy).unwrap();
        let statuses = is_as_documented(&copy, &expected);
        assert_eq!(statuses, BTreeSet::from([(false, 0), (true, 2)]), "0: unknown. 2: failed");
        reads_back(&copy, &expected);
        assert_eq!(common::integrity(&copy), "ok");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["v1"], "after a release, a fixture is never removed; a new one is named here");
}

/// If `FORKPOINT_FIXTURE` is set to a name, this test also writes a new fixture with that name.
#[test]
fn what_this_version_writes_is_as_documented() {
    let temporary = tempfile::tempdir().unwrap();
    let made = temporary.path().join("made");
    let json = describe(&made, &generate(&made));
    if let Ok(name) = std::env::var("FORKPOINT_FIXTURE") {
        let fixture = folder().join(name).with_extension("sqlite");
        assert!(!fixture.exists(), "a fixture is never changed: choose another name");
        fs::copy(&made, &fixture).unwrap();
        fs::write(fixture.with_extension("json"), &json).unwrap();
    }
    let expected = read_description(&json);
    let statuses = is_as_documented(&made, &expected);
    let rows = Connection::open(&made).unwrap();
    let count = |sql: &str| rows.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM checkpoint WHERE length(chain) <> 30"), 0, "all have the short form");
    let short = "SELECT group_concat(flags >> 5) FROM (SELECT flags FROM checkpoint WHERE flags >= 32 ORDER BY seq)";
    let short: String = rows.query_row(short, [], |row| row.get(0)).unwrap();
    assert_eq!(short, "3,3,7", "LangGraph's have no whole ids, but for a parent on which one depends");
    assert_eq!(statuses, BTreeSet::from([(false, 0), (true, 2)]), "2: failed");
    reads_back(&made, &expected);
}

/// Tests the example in docs/internals/format.md.
#[test]
fn checksums_match_the_example_in_the_document() {
    let values = Values::default().int(-1).text("run").nothing().bytes(&[0, 255]);
    assert_eq!(values.0, hex("01ffffffffffffffff020372756e04030200ff"));
    assert_eq!(values.sum(), 1_709_278_139_221_932_405);
}

/// Reads bytes that were written by hand from docs/internals/format.md.
#[test]
fn envelopes_written_by_hand_are_read() {
    // The constant for the hash of empty input comes from the tests of XXH3-64 itself.
    let nothing = hex("01c294d3380580062d00");
    assert_eq!(envelope::seal(b""), nothing);
    assert_eq!(envelope::open(&[nothing]).unwrap(), b"");

    let sealed = |format: u8, raw: &[u8], lengths: &[u8], body: &[u8]| {
        [&[format][..], &xxh3_64(raw).to_le_bytes(), lengths, body].concat()
    };
    let plain = sealed(1, b"abcdefgh", &[8], b"abcdefgh");
    assert_eq!(envelope::open(std::slice::from_ref(&plain)).unwrap(), b"abcdefgh");
    // The delta has two steps. The first step appends "XY", skips "a" and copies "bcd". The second step appends
    // nothing, skips "ef" and copies "g". The literal bytes follow the steps.
    let steps = [&[2, 2, 1, 3, 0, 2, 1][..], b"XY"].concat();
    let delta = sealed(3, b"XYbcdg", &[6, 9], &steps);
    assert_eq!(envelope::open(&[delta, plain.clone()]).unwrap(), b"XYbcdg");
    let compressed = zstd::encode_all(&steps[..], 19).unwrap();
    let delta = sealed(4, b"XYbcdg", &[6, 9], &compressed);
    assert_eq!(envelope::open(&[delta, plain]).unwrap(), b"XYbcdg");

    // The length takes two bytes, and the compression level is one that this version does not use.
    let long = b"abc".repeat(100);
    let compressed = sealed(2, &long, &[0xac, 0x02], &zstd::encode_all(&long[..], 19).unwrap());
    assert_eq!(envelope::open(&[compressed]).unwrap(), long);

    // Small contents are compressed with the dictionary.
    let small =
        |content: &[u8]| zstd::bulk::Compressor::with_dictionary(19, &dictionary()).unwrap().compress(content).unwrap();
    let message = br#"{"role":"user","content":"Hi"}"#;
    let keyframe = sealed(5, message, &[30], &small(message));
    assert_eq!(envelope::open(std::slice::from_ref(&keyframe)).unwrap(), message);
    let steps = [&[1, 2, 0, 29][..], b"XY"].concat();
    let changed = [b"XY", &message[..29]].concat();
    let delta = sealed(6, &changed, &[31, 6], &small(&steps));
    assert_eq!(envelope::open(&[delta, keyframe]).unwrap(), changed);

    assert_eq!(envelope::open(&[sealed(7, b"", &[0], b"")]).unwrap_err().code(), Code::Unsupported);
}
