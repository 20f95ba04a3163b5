//! The on-disk format, held still: what earlier versions wrote is read back exactly, and the bytes are what
//! docs/format.md says, by a decoder that knows that page and nothing of the codec. `fixtures/format/README.md` says
//! how a fixture is made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Draft, apply, draft, headers, lineage, lineages, noise, part, save, try_get};
use forkpoint::backend::Backend;
use forkpoint::backend::sqlite::{Journal, Options, Sqlite};
use forkpoint::codec::envelope;
use forkpoint::contract::agentos;
use forkpoint::error::Code;
use forkpoint::op::Op;
use forkpoint::query::{Of, Pick, Query};
use forkpoint::record::{Checkpoint, Header, Part, Payload, Rank, Space, Write};
use rusqlite::{Connection, Row};
use xxhash_rust::xxh3::xxh3_64;

/// What V8 of Node 20 wrote of
/// `{ input: { question }, scratch: { when: Date, seen: Set, by: Map, nan, minus: -0, none: undefined },
/// artifacts: { image: Uint8Array }, diagnostics: {} }`.
const V8_STATE: &str = "ff0f6f2205696e7075746f22087175657374696f6e00630c6e00e900650020003dd801df7b01220773637261746368\
    6f22047768656e4400008056febc784222047365656e27490249042c02220262793b2201615a1001000000000000003a0222036e616e4e0000\
    00000000f87f22056d696e75734e000000000000008022046e6f6e655f7b0622096172746966616374736f2205696d6167655c01030102037b\
    01220b646961676e6f73746963736f7b007b04";
/// And of the rest of that checkpoint.
const V8_REST: &str = "ff0f6f220269643022076772617068496422056772617068220572756e49643022066e6f64654964220361736b220974\
    696d657374616d70302205737461746530220b6e6f6465526573756c74736f220361736b6f220b656666656374436c61737322047075726522\
    066f757470757422036ee965220a6475726174696f6e4d7349067b037b01220c766973697465644e6f6465734101220361736b240001220c70\
    656e64696e67456467657341002400007b09";

/// A space that belongs to no contract yet.
const OTHER: Space = Space(7);

fn agentos_save(run: &str, id: &str, timestamp: f64, parent: Option<&str>, state: Part, rest: Part) -> Draft {
    let metadata = agentos::Metadata {
        id: id.to_owned(),
        run_id: run.to_owned(),
        graph_id: "graph".to_owned(),
        node_id: if rest.tag == "v8" { "ask" } else { "answer" }.to_owned(),
        timestamp,
        state_size: 0,
        has_memory_snapshot: rest.tag == "v8",
    };
    let unit = agentos::save(agentos::Save {
        metadata,
        parent: parent.map(str::to_owned),
        state,
        rest,
        saved_at: 1_700_000_000_123,
    })
    .unwrap();
    let [forkpoint::op::Op::Put(checkpoint)] = <[_; 1]>::try_from(unit).unwrap() else { panic!("a put") };
    Draft::from(*checkpoint)
}

/// The checkpoint that has [`writes`], in files of schema 2.
const WRITTEN_TO: &str = "several parts";

fn writes() -> [Write; 2] {
    let write = |task: &str, index, owner: Option<&str>, bytes: Vec<u8>| Write {
        task: task.to_owned(),
        index,
        owner: owner.map(str::to_owned),
        part: part("канал", "json", bytes),
    };
    [
        write("t1", -1, Some("no parts"), b"null".to_vec()),
        write("t2", 3, None, "long and dull; ".repeat(99).into_bytes()),
    ]
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A database with a bit of everything that the format knows. Returns what is in it, in the order in which it was
/// saved.
fn generate(path: &Path) -> Vec<Checkpoint> {
    let mut backend = Sqlite::open(&Options { journal: Some(Journal::Wal), ..Options::new(path) }).unwrap();
    let rest = || part("rest", "json", r#"{"id":null,"graphId":"graph","runId":null,"nodeId":"answer"}"#);
    let now = 1_700_000_000_000.25;

    // Small and whole: format 1. Its timestamps are of every kind that orders differently.
    let v8 = || [part("state", "v8", hex(V8_STATE)), part("rest", "v8", hex(V8_REST))];
    let mut kept = Vec::new();
    for (id, timestamp) in [("née 🜁 \"1\"", now), ("c2", -1.5), ("c3", 0.0)] {
        let [state, rest] = v8();
        kept.push(agentos_save("run", id, timestamp, None, state, rest));
    }

    // Noise does not compress: a keyframe of format 1, and a chain of format 3 over it.
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

    // Text does: format 2, an addition that compresses as well (format 4), and a small one over that.
    let digits = (0..110u64).map(|n| format!("{:016x}", xxh3_64(&n.to_le_bytes()))).collect::<Vec<_>>().join(",");
    let more = "all work and no play makes Jack a dull boy; ".repeat(20);
    let texts = [
        format!("{{\"input\":\"{digits}\"}}"),
        format!("{{\"input\":\"{digits}\",\"scratch\":\"{more}\"}}"),
        format!("{{\"input\":\"{digits}\",\"scratch\":\"{more}\",\"diagnostics\":{{\"edited\":true}}}}"),
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
        // A fork: of the second, in a run of its own.
        text(2, "fork", "f1", Some("t1")),
    ];

    // What no contract of today makes: any parts, no labels, any rank.
    let other = [
        draft("thread", "several parts").space(OTHER).parent("gone").meta(b"").parts(vec![
            part("", "", ""),
            part("ключ", "json", "{}"),
            part("ключ", "raw", [0, 255, 128]),
        ]),
        draft("thread", "no parts").space(OTHER).group("g").label("l").parts(vec![]),
    ];
    let [first, mut second] = other;
    second.0.header.rank = Rank(vec![0, 255, 7]);

    for draft in kept.iter().chain(&chain).chain(&text).chain([&first, &second]) {
        save(&mut backend, [draft.clone()]);
    }
    // A replaced checkpoint goes to the end of the order; one that is removed leaves what is built on it whole; the
    // last one that is removed leaves its number behind.
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
    let [owned, unowned] = writes();
    let space = OTHER;
    let id = || WRITTEN_TO.to_owned();
    for write in [Write { owner: None, ..owned.clone() }, unowned] {
        let claim = Op::Claim { space, id: id(), owner: owned.owner.clone().unwrap() };
        let claim = (write.task == owned.task).then_some(claim);
        let write = Op::Write { space, id: id(), writes: vec![write], replace: false, prepared: None };
        apply(&mut backend, [write].into_iter().chain(claim).collect()).unwrap();
    }
    drop(backend);

    let connection = Connection::open(path).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    connection.close().unwrap();

    let replaced = kept.pop().unwrap();
    let all = kept.into_iter().chain(chain).chain(text).chain([first, second, replaced]);
    all.map(|draft| draft.0).collect()
}

// What a fixture is expected to hold, as JSON. SQLite reads it: it needs no more than that.

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(out, "\\{letter}").unwrap(),
            letter if letter < ' ' => write!(out, "\\u{:04x}", u32::from(letter)).unwrap(),
            letter => out.push(letter),
        }
    }
    out + "\""
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |out, byte| format!("{out}{byte:02x}"))
}

fn describe(path: &Path, checkpoints: &[Checkpoint]) -> String {
    let rows = rows(path);
    let mut out = String::from("{\n  \"schema\": 1,\n  \"checkpoints\": [");
    for (at, Checkpoint { header, payload }) in checkpoints.iter().enumerate() {
        let row = rows.values().find(|row| row.id == header.id).unwrap();
        let base = row.base.map_or("null".to_owned(), |base| quoted(&rows[&base].id));
        let parent = header.parent.as_deref().map_or("null".to_owned(), quoted);
        write!(out, "{}\n    {{\n", if at > 0 { "," } else { "" }).unwrap();
        let fields = [
            ("id", quoted(&header.id)),
            ("space", header.space.0.to_string()),
            ("lineage", quoted(&header.lineage)),
            ("parent", parent),
            ("group", quoted(&header.group)),
            ("label", quoted(&header.label)),
            ("rank", quoted(&to_hex(&header.rank.0))),
            ("meta", quoted(&to_hex(&header.meta))),
            ("savedAt", header.saved_at.to_string()),
            ("format", row.body[0].to_string()),
            ("base", base),
        ];
        for (name, value) in fields {
            writeln!(out, "      \"{name}\": {value},").unwrap();
        }
        if header.space == agentos::SPACE {
            let metadata = agentos::metadata(header.clone()).unwrap();
            writeln!(out, "      \"timestamp\": {:?},", metadata.timestamp).unwrap();
            writeln!(out, "      \"hasMemorySnapshot\": {},", metadata.has_memory_snapshot).unwrap();
        }
        let parts = payload.parts.iter().map(|part| {
            let bytes = match std::str::from_utf8(&part.bytes) {
                Ok(text) if part.tag == "json" => format!("\"text\": {}", quoted(text)),
                _ => format!("\"hex\": {}", quoted(&to_hex(&part.bytes))),
            };
            format!("\n        {{ \"name\": {}, \"tag\": {}, {bytes} }}", quoted(&part.name), quoted(&part.tag))
        });
        write!(out, "      \"parts\": [{}\n      ]\n    }}", parts.collect::<Vec<_>>().join(",")).unwrap();
    }
    out + "\n  ]\n}\n"
}

/// One checkpoint of a description.
struct Expected {
    checkpoint: Checkpoint,
    format: u8,
    base: Option<String>,
    /// What `AgentOS` shows: the timestamp, and whether there is a memory snapshot.
    agentos: Option<(f64, bool)>,
}

fn read_description(json: &str) -> Vec<Expected> {
    let connection = Connection::open_in_memory().unwrap();
    let checkpoint = |row: &Row<'_>| {
        let header = Header {
            space: Space(row.get("space")?),
            lineage: row.get("lineage")?,
            id: row.get("id")?,
            parent: row.get("parent")?,
            group: row.get("group")?,
            label: row.get("label")?,
            rank: Rank(row.get("rank")?),
            meta: row.get("meta")?,
            saved_at: row.get("saved_at")?,
        };
        let timestamp: Option<f64> = row.get("timestamp")?;
        let expected = Expected {
            checkpoint: Checkpoint { header, payload: Payload::default() },
            format: row.get("format")?,
            base: row.get("base")?,
            agentos: timestamp.map(|timestamp| (timestamp, row.get_unwrap("snapshot"))),
        };
        Ok((expected, row.get::<_, String>("parts")?))
    };
    let mut checkpoints = connection
        .prepare(
            "SELECT value ->> 'space' AS space, value ->> 'lineage' AS lineage, value ->> 'id' AS id,
                    value ->> 'parent' AS parent, value ->> 'group' AS \"group\", value ->> 'label' AS label,
                    unhex(value ->> 'rank') AS rank, unhex(value ->> 'meta') AS meta, value ->> 'savedAt' AS saved_at,
                    value ->> 'format' AS format,
                    value ->> 'base' AS base, value ->> 'timestamp' AS timestamp,
                    value ->> 'hasMemorySnapshot' AS snapshot, value -> 'parts' AS parts
             FROM json_each(?, '$.checkpoints') ORDER BY key",
        )
        .unwrap();
    let mut parts = connection
        .prepare(
            "SELECT value ->> 'name', value ->> 'tag',
                    coalesce(unhex(value ->> 'hex'), CAST(value ->> 'text' AS BLOB))
             FROM json_each(?) ORDER BY key",
        )
        .unwrap();
    let mut read = Vec::new();
    for found in checkpoints.query_map([json], checkpoint).unwrap() {
        let (mut expected, json) = found.unwrap();
        let found = parts
            .query_map([json], |row| {
                Ok(part(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?))
            })
            .unwrap();
        expected.checkpoint.payload.parts = found.map(Result::unwrap).collect();
        read.push(expected);
    }
    assert!(!read.is_empty());
    read
}

// The engine reads it.

fn reads_back(path: &Path, expected: &[Expected], schema: u8) {
    // From the rows alone.
    let mut backend = Sqlite::open(&Options { head_bytes: 0, ..Options::new(path) }).unwrap();
    for space in [agentos::SPACE, OTHER] {
        let mine = || expected.iter().map(|expected| &expected.checkpoint).filter(|one| one.header.space == space);
        for checkpoint in mine() {
            let query = Query::Get { space, id: checkpoint.header.id.clone() };
            let found = backend.answer(&query).unwrap().into_checkpoint().unwrap();
            assert_eq!(found.as_deref(), Some(checkpoint), "{}", checkpoint.header.id);
        }
        let runs: BTreeSet<&str> = mine().map(|checkpoint| checkpoint.header.lineage.as_str()).collect();
        for run in runs {
            // Newest first: the greatest rank, and among equal ones the last saved, which the description names last.
            let mut order: Vec<&Header> = mine().map(|one| &one.header).filter(|one| one.lineage == run).collect();
            order.reverse();
            order.sort_by(|one, other| other.rank.cmp(&one.rank));
            let query = Query::List { space, of: Of::Lineage(run.to_owned()), before: None, limit: None };
            let listed = backend.answer(&query).unwrap().into_headers().unwrap();
            assert_eq!(listed.iter().collect::<Vec<_>>(), order, "{run}");
        }
    }
    let query = Query::Tuple { space: OTHER, pick: Pick::Id(WRITTEN_TO.to_owned()) };
    let written = backend.answer(&query).unwrap().into_tuple().unwrap().unwrap().writes;
    assert_eq!(written, if schema == 1 { Vec::new() } else { writes().to_vec() });
    let names: BTreeSet<&str> = expected
        .iter()
        .filter(|expected| expected.checkpoint.header.space == agentos::SPACE)
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
    // And goes on from it.
    let next = headers(&mut backend, lineage("chain"), Some(1)).remove(0);
    let mut again = try_get(&mut backend, &next.id).unwrap().unwrap();
    "written by this version".clone_into(&mut again.header.id);
    save(&mut backend, [Draft::from(again.clone())]);
    assert_eq!(try_get(&mut backend, &again.header.id).unwrap(), Some(again));
}

// A decoder made from docs/format.md. It panics where the engine says CORRUPT.

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

struct PayloadRow {
    id: String,
    base: Option<i64>,
    size: i64,
    body: Vec<u8>,
}

fn rows(path: &Path) -> BTreeMap<i64, PayloadRow> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT seq, id, base, size, body FROM payload JOIN checkpoint USING (seq)").unwrap();
    let row = |row: &Row<'_>| {
        let payload = PayloadRow { id: row.get(1)?, base: row.get(2)?, size: row.get(3)?, body: row.get(4)? };
        Ok((row.get(0)?, payload))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// How long the raw bytes of an envelope are.
fn length(body: &[u8]) -> u64 {
    let mut envelope = Bytes(body);
    envelope.take(9);
    envelope.leb128()
}

/// The raw bytes of a payload. In the document's words: an envelope.
fn raw(rows: &BTreeMap<i64, PayloadRow>, seq: i64) -> Vec<u8> {
    let row = &rows[&seq];
    let mut envelope = Bytes(&row.body);
    let format = envelope.take(1)[0];
    let checksum = u64::from_le_bytes(envelope.take(8).try_into().unwrap());
    let length = envelope.leb128();
    let content_length = if matches!(format, 3 | 4) { envelope.leb128() } else { length };
    let content = match format {
        1 | 3 => envelope.0.to_vec(),
        2 | 4 => zstd::decode_all(envelope.0).unwrap(),
        _ => panic!("format {format}"),
    };
    assert_eq!(content.len() as u64, content_length);
    let raw = match row.base {
        None => {
            assert!(matches!(format, 1 | 2), "a keyframe");
            content
        }
        Some(base) => {
            assert!(matches!(format, 3 | 4), "a delta");
            assert!(base < seq);
            patch(&raw(rows, base), &content)
        }
    };
    assert_eq!((raw.len() as u64, i64::try_from(raw.len()).unwrap(), xxh3_64(&raw)), (length, row.size, checksum));
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

fn is_as_documented(path: &Path, expected: &[Expected], schema: u8) {
    let header = fs::read(path).unwrap();
    assert_eq!(header[68..72], *b"Fkpt", "the application id");
    assert_eq!(header[60..64], [0, 0, 0, schema], "the schema's version");
    if schema > 1 {
        let connection = Connection::open(path).unwrap();
        let sql = "SELECT space, id, task, owner, body FROM write ORDER BY num";
        let written = |row: &Row<'_>| {
            let body: Vec<u8> = row.get(4)?;
            let size = i64::try_from(length(&body)).unwrap();
            let rows = BTreeMap::from([(1, PayloadRow { id: String::new(), base: None, size, body })]);
            let [named] = <[Part; 1]>::try_from(parts(&raw(&rows, 1))).unwrap();
            let (index, name) = named.name.split_once(' ').unwrap();
            let part = part(name, &named.tag, named.bytes.clone());
            let write = Write { task: row.get(2)?, index: index.parse().unwrap(), owner: row.get(3)?, part };
            Ok((row.get::<_, u8>(0)?, row.get::<_, String>(1)?, write))
        };
        let found: Vec<_> =
            connection.prepare(sql).unwrap().query_map([], written).unwrap().map(Result::unwrap).collect();
        assert_eq!(found, writes().map(|write| (OTHER.0, WRITTEN_TO.to_owned(), write)));
    }
    let rows = rows(path);
    assert_eq!(rows.len(), expected.len());
    let mut formats = BTreeSet::new();
    // Both are in save order.
    for ((seq, row), Expected { checkpoint, format, base, agentos }) in rows.iter().zip(expected) {
        let Checkpoint { header, payload } = checkpoint;
        assert_eq!((&row.id, row.body[0]), (&header.id, *format));
        assert_eq!(row.base.map(|base| &rows[&base].id), base.as_ref());
        assert_eq!(parts(&raw(&rows, *seq)), payload.parts, "{}", row.id);
        formats.insert(*format);
        if let Some((timestamp, has_memory_snapshot)) = agentos {
            let bits = timestamp.to_bits();
            let rank = if timestamp.is_sign_negative() { !bits } else { bits ^ 1 << 63 };
            assert_eq!(header.rank.0, rank.to_be_bytes());
            let size = payload.parts[0].bytes.len() as u64;
            let flags = [u8::from(*has_memory_snapshot)];
            assert_eq!(header.meta, [&timestamp.to_le_bytes()[..], &size.to_le_bytes(), &flags].concat());
            assert_eq!(payload.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["state", "rest"]);
        }
    }
    assert_eq!(formats.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4], "every format is in it");
    let across = rows.values().filter_map(|row| Some((&row.id, &rows[&row.base?].id)));
    assert!(across.clone().any(|(fork, source)| (fork.as_str(), source.as_str()) == ("f1", "t1")), "and a fork");
    let mut links = vec!["n3"];
    while let Some((_, base)) = across.clone().find(|(id, _)| id == links.last().unwrap()) {
        links.push(base);
    }
    assert_eq!(links, ["n3", "n2", "n1", "n0"], "and a chain");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/format")
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
        // A copy: reading may write beside the file, and into it.
        let copy = temporary.path().join(&name);
        fs::copy(&fixture, &copy).unwrap();
        let schema = name[1..].parse().unwrap();
        is_as_documented(&copy, &expected, schema);
        reads_back(&copy, &expected, schema);
        assert_eq!(common::integrity(&copy), "ok");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["v1", "v2"], "a fixture is never removed; a new one is named here");
}

/// Set to a name, `FORKPOINT_FIXTURE` makes a new fixture of what this writes.
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
    is_as_documented(&made, &expected, 2);
    reads_back(&made, &expected, 2);
}

/// Bytes made with the document in one hand and a pencil in the other.
#[test]
fn envelopes_written_by_hand_are_read() {
    // XXH3-64 of nothing is a constant of that algorithm's own tests.
    let nothing = hex("01c294d3380580062d00");
    assert_eq!(envelope::seal(b""), nothing);
    assert_eq!(envelope::open(&[nothing]).unwrap(), b"");

    let sealed = |format: u8, raw: &[u8], lengths: &[u8], body: &[u8]| {
        [&[format][..], &xxh3_64(raw).to_le_bytes(), lengths, body].concat()
    };
    let plain = sealed(1, b"abcdefgh", &[8], b"abcdefgh");
    assert_eq!(envelope::open(std::slice::from_ref(&plain)).unwrap(), b"abcdefgh");
    // Two steps: "XY", skip "a", copy "bcd"; nothing new, skip "ef", copy "g". Then the literal bytes.
    let steps = [&[2, 2, 1, 3, 0, 2, 1][..], b"XY"].concat();
    let delta = sealed(3, b"XYbcdg", &[6, 9], &steps);
    assert_eq!(envelope::open(&[delta, plain.clone()]).unwrap(), b"XYbcdg");
    let compressed = zstd::encode_all(&steps[..], 19).unwrap();
    let delta = sealed(4, b"XYbcdg", &[6, 9], &compressed);
    assert_eq!(envelope::open(&[delta, plain]).unwrap(), b"XYbcdg");

    // A length of two bytes, and a level that this version does not use.
    let long = b"abc".repeat(100);
    let compressed = sealed(2, &long, &[0xac, 0x02], &zstd::encode_all(&long[..], 19).unwrap());
    assert_eq!(envelope::open(&[compressed]).unwrap(), long);
    assert_eq!(envelope::open(&[sealed(5, b"", &[0], b"")]).unwrap_err().code(), Code::Unsupported);
}
