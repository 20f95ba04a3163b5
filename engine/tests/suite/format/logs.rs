//! The logs of a fixture: their records, their expected content, and a decoder of the log tables. The decoder is
//! written from docs/internals/format.md alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::prelude::*;
use rusqlite::{Connection, Row};
use serde_json::{Value as Json, json};

use super::{Bytes, CheckpointRow, Decoded, OTHER, Values, describe_bytes, open, parts, read, read_bytes, text};

/// A log with all of its records: either the present log, or the log as a checkpoint keeps it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Log {
    lineage: String,
    name: String,
    /// The id of the checkpoint that names the log. `None`: the present state of the log.
    at: Option<String>,
    records: Vec<(Option<String>, String, Vec<u8>)>,
}

impl Log {
    fn new(lineage: &str, name: &str, at: Option<&str>, records: &[&Record]) -> Self {
        let record = |record: &&Record| (record.key.clone(), record.tag.clone(), record.bytes.to_vec());
        let records = records.iter().map(record).collect();
        Self { lineage: lineage.to_owned(), name: name.to_owned(), at: at.map(str::to_owned), records }
    }
}

fn append(lineage: &str, log: &str, records: &[&Record]) -> Op {
    let records = records.iter().map(|record| (*record).clone()).collect();
    Op::Append { contract: OTHER, lineage: lineage.to_owned(), log: log.to_owned(), records, must: LogMust::BeAny }
}

fn cut(lineage: &str, log: &str, to: LogEnd) -> Op {
    Op::Truncate { contract: OTHER, lineage: lineage.to_owned(), log: log.to_owned(), to }
}

/// Returns the op that appends records to a lineage with checkpoints. The running totals count these records.
pub(crate) fn counted() -> Op {
    append("thread", "counted", &[&record("one"), &keyed("2", "two"), &record("three")])
}

/// Appends to logs, pins logs, cuts them and forks them. Returns the checkpoints in save order, and all logs.
pub(crate) fn generate(backend: &mut Sqlite) -> (Vec<Checkpoint>, Vec<Log>) {
    let json = |key: &str, text: &str| Record { tag: "json".to_owned(), ..keyed(key, text) };
    let r = [
        json("m0", r#"{"role":"user","content":"née 🜁"}"#),
        Record { tag: "v8".to_owned(), ..keyed("ключ", [0xff, 0x0f, 0x49, 0x02]) },
        // The next three records are special. One is text, which compresses. One is noise, which does not compress, and
        // has no tag. One has no bytes.
        record("all work and no play makes Jack a dull boy; ".repeat(20)),
        Record { tag: String::new(), key: Some(String::new()), ..record(noise(40, 200)) },
        record(""),
    ];
    // The keys of these records are also the keys of records that were truncated away. The content of these records is
    // different.
    let sibling = [json("m0", "[]"), json("ключ", "[1]"), record("sibling"), record("of the sibling")];
    let put = |draft: &Draft| draft.clone().put();
    let talk =
        |n: u8| draft("talk", &format!("talk {n}")).contract(OTHER).group("talks").label("said").sort_key(f64::from(n));
    let fork = |n: u8| Fork {
        contract: OTHER,
        source: "talk 1".to_owned(),
        id: format!("talk 1 again {n}"),
        lineage: format!("talk fork {n}"),
        sort_key: SortKey::from_f64(0.5),
        saved_at: 9,
        labels: Labels::default(),
    };

    let drafts = [
        talk(0).pin("messages", 3).pin("none", 0),
        talk(1).pin("messages", 4).pin("ключи", 1).parent("talk 0"),
        talk(2).pin("messages", 4).parent("talk 0"),
        talk(3).pin("messages", 2).parent("talk 2"),
    ];
    let units = [
        // A log begins the lineage. Its first checkpoint comes later.
        vec![append("talk", "messages", &[&r[0], &r[1], &r[2]])],
        vec![put(&drafts[0])],
        vec![append("talk", "messages", &[&r[3], &r[4]]), append("talk", "ключи", &[&r[4]]), put(&drafts[1])],
        // The log is cut after its first record and continues on another branch. Then the log is cut and continues a
        // second time.
        vec![
            cut("talk", "messages", LogEnd::Length(1)),
            append("talk", "messages", &[&sibling[0], &sibling[1], &sibling[2], &sibling[3]]),
            put(&drafts[2]),
        ],
        vec![cut("talk", "messages", LogEnd::Length(2)), append("talk", "messages", &[&r[4]])],
        vec![put(&drafts[3])],
        // The forks continue independently. Later, one fork is rewound to its first checkpoint.
        vec![Op::Fork(Box::new(fork(0))), append("talk fork 0", "messages", &[&r[2]])],
        vec![Op::Fork(Box::new(fork(1))), append("talk fork 1", "messages", &[&sibling[3], &r[4]])],
        vec![Op::Fork(Box::new(fork(2))), append("talk fork 2", "ключи", &[&r[0]])],
        vec![cut("talk fork 2", "ключи", LogEnd::Checkpoint("talk 1 again 2".to_owned()))],
        // These logs are in a lineage without checkpoints. One log is cut. The other log is cut to no records, which
        // removes this log.
        vec![append("cut", "log", &[&r[0], &r[1], &r[2]]), append("cut", "gone", &[&r[3]])],
        vec![cut("cut", "log", LogEnd::Length(2)), cut("cut", "gone", LogEnd::Length(0))],
    ];
    for unit in units {
        apply(backend, unit).unwrap();
    }

    let copies = (0..3).map(|n| {
        let (Fork { id, lineage, sort_key, saved_at, .. }, mut copy) = (fork(n), drafts[1].0.clone());
        let header = &mut copy.header;
        (header.parent, header.id, header.lineage) = (Some("talk 1".to_owned()), id, lineage);
        (header.sort_key, header.saved_at) = (sort_key, saved_at);
        copy
    });
    let checkpoints = drafts.iter().map(|draft| draft.0.clone()).chain(copies).collect();
    let first = [&r[0], &r[1], &r[2], &r[3]];
    let second = [&r[0], &sibling[1], &sibling[2], &sibling[3]];
    // The first log lists all records that `counted` appends.
    let mut logs = vec![
        Log::new("thread", "counted", None, &[&record("one"), &keyed("2", "two"), &record("three")]),
        Log::new("talk", "messages", None, &[&r[0], &sibling[1], &r[4]]),
        Log::new("talk", "ключи", None, &[&r[4]]),
        Log::new("talk", "messages", Some("talk 0"), &first[..3]),
        Log::new("talk", "none", Some("talk 0"), &[]),
        Log::new("talk", "messages", Some("talk 1"), &first),
        Log::new("talk", "ключи", Some("talk 1"), &[&r[4]]),
        Log::new("talk", "messages", Some("talk 2"), &second),
        Log::new("talk", "messages", Some("talk 3"), &second[..2]),
        Log::new("talk fork 0", "messages", None, &[&r[0], &r[1], &r[2], &r[3], &r[2]]),
        Log::new("talk fork 1", "messages", None, &[&r[0], &r[1], &r[2], &r[3], &sibling[3], &r[4]]),
        Log::new("talk fork 2", "messages", None, &first),
        Log::new("cut", "log", None, &[&r[0], &r[1]]),
    ];
    for n in 0..3 {
        let (lineage, id) = (format!("talk fork {n}"), format!("talk 1 again {n}"));
        logs.push(Log::new(&lineage, "ключи", None, &[&r[4]]));
        logs.push(Log::new(&lineage, "messages", Some(&id), &first));
        logs.push(Log::new(&lineage, "ключи", Some(&id), &[&r[4]]));
    }
    logs.sort();
    (checkpoints, logs)
}

// The expected content of a fixture, as JSON.

pub(crate) fn describe_marks(marks: &[LogMark]) -> Vec<Json> {
    marks.iter().map(|mark| json!({ "log": mark.log, "length": mark.length })).collect()
}

pub(crate) fn describe(logs: &[Log]) -> Vec<Json> {
    let record = |(key, tag, bytes): &(Option<String>, String, Vec<u8>)| {
        let mut described = describe_bytes(tag, bytes);
        described["key"] = json!(key);
        described
    };
    let log = |Log { lineage, name, at, records }: &Log| {
        let records: Vec<Json> = records.iter().map(record).collect();
        json!({ "lineage": lineage, "log": name, "at": at, "records": records })
    };
    logs.iter().map(log).collect()
}

pub(crate) fn read_marks(described: &Json) -> Vec<LogMark> {
    let mark = |mark: &Json| LogMark { log: text(&mark["log"]), length: mark["length"].as_u64().unwrap() };
    described.as_array().unwrap().iter().map(mark).collect()
}

pub(crate) fn read_description(described: &Json) -> Vec<Log> {
    let optional = |json: &Json| json.as_str().map(str::to_owned);
    let record = |described: &Json| {
        let (tag, bytes) = read_bytes(described);
        (optional(&described["key"]), tag, bytes)
    };
    let log = |described: &Json| Log {
        lineage: text(&described["lineage"]),
        name: text(&described["log"]),
        at: optional(&described["at"]),
        records: described["records"].as_array().unwrap().iter().map(record).collect(),
    };
    let found: Vec<Log> = described.as_array().unwrap().iter().map(log).collect();
    assert!(found.is_sorted() && !found.is_empty());
    found
}

// Reading the logs with the engine.

pub(crate) fn read_back(backend: &mut Sqlite, expected: &[Log]) {
    for Log { lineage, name, at, records } in expected {
        let asked = LogRange { contract: OTHER, ..log_range(lineage, name, at.as_deref()) };
        let page = backend.answer(&Query::Log(asked)).unwrap().into_log().unwrap().unwrap();
        assert_eq!((page.length, page.start), (records.len() as u64, 0));
        let found: Vec<_> =
            page.records.into_iter().map(|found| (found.key, found.tag, found.bytes.to_vec())).collect();
        assert_eq!(found, *records, "{name:?} of {lineage:?} at {at:?}");
    }
    let lineages: BTreeSet<&String> = expected.iter().map(|log| &log.lineage).collect();
    for lineage in lineages {
        let live = expected.iter().filter(|log| log.at.is_none() && log.lineage == *lineage);
        let live = live.map(|log| LogMark { log: log.name.clone(), length: log.records.len() as u64 });
        let asked = Query::Logs { contract: OTHER, lineage: lineage.clone() };
        assert_eq!(backend.answer(&asked).unwrap().into_logs().unwrap(), live.collect::<Vec<_>>());
    }
}

// The decoder, written from docs/internals/format.md.

/// The decoded log tables. Every checksum is verified.
#[derive(Default)]
pub(crate) struct Tables {
    /// The branch and the length of each log, by lineage and name.
    logs: BTreeMap<(i64, String), (i64, u64)>,
    branches: BTreeMap<i64, Branch>,
    /// Records by branch and position.
    records: BTreeMap<(i64, u64), StoredRecord>,
    /// The branch and the length of each mark, and the save number of the checkpoint.
    marks: BTreeSet<(i64, u64, i64)>,
}

struct Branch {
    contract: u8,
    parent: Option<i64>,
    start: u64,
}

pub(crate) struct StoredRecord {
    pub(crate) num: i64,
    pub(crate) contract: u8,
    pub(crate) body: Vec<u8>,
    key: Option<String>,
}

/// A log mark of a checkpoint: the log, the number of records, and the branch of the last record.
pub(crate) type Mark = (String, u64, Option<i64>);

pub(crate) fn marks(column: Option<&[u8]>) -> Vec<Mark> {
    let mut column = Bytes(column.unwrap_or(&[0]));
    let mark = |column: &mut Bytes<'_>| {
        let (name, length) = (column.text(), column.leb128());
        (name, length, (length > 0).then(|| i64::try_from(column.leb128()).unwrap()))
    };
    let marks = (0..column.leb128()).map(|_| mark(&mut column)).collect();
    assert!(column.0.is_empty());
    marks
}

pub(crate) fn tables(connection: &Connection) -> Tables {
    let number = |row: &Row<'_>, at: usize| -> u64 { u64::try_from(row.get_unwrap::<_, i64>(at)).unwrap() };
    let log = |row: &Row<'_>| {
        let (lin, name, branch, length): (i64, String, i64, i64) =
            (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2), row.get_unwrap(3));
        let values = Values::default().text("log").int(lin).text(&name).int(branch).int(length);
        assert_eq!(values.sum(), row.get_unwrap::<_, i64>(4), "log {name:?}");
        ((lin, name), (branch, number(row, 3)))
    };
    if read(connection, "SELECT name FROM sqlite_schema WHERE name = 'log'", |_| ()).is_empty() {
        return Tables::default();
    }
    let logs = read(connection, "SELECT lin, name, branch, length, sum FROM log NOT INDEXED", log);
    let branch = |row: &Row<'_>| {
        let (branch, contract, parent, start): (i64, u8, Option<i64>, i64) =
            (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2), row.get_unwrap(3));
        let values = Values::default().text("log_branch").int(branch).int(contract.into()).int_or_nothing(parent);
        assert_eq!(values.int(start).sum(), row.get_unwrap::<_, i64>(4), "branch {branch}");
        assert_eq!(parent.is_none(), start == 0, "from the beginning");
        (branch, Branch { contract, parent, start: number(row, 3) })
    };
    let sql = "SELECT branch, contract, parent, start, sum FROM log_branch NOT INDEXED";
    let branches: BTreeMap<i64, Branch> = read(connection, sql, branch).into_iter().collect();
    let record = |row: &Row<'_>| {
        let (num, branch, position): (i64, i64, i64) = (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2));
        let (key, body): (Option<String>, Vec<u8>) = (row.get_unwrap(4), row.get_unwrap(6));
        let values = Values::default().text("record").int(branch).int(position);
        let values = values.text_or_nothing(key.as_deref()).bytes(&body);
        assert_eq!(values.sum(), row.get_unwrap::<_, i64>(5), "record {num}");
        let hash = key.as_deref().map(|key| Values(key.as_bytes().to_vec()).sum());
        assert_eq!(row.get_unwrap::<_, Option<i64>>(3), hash, "the hash of {key:?}");
        let contract = branches[&branch].contract;
        ((branch, number(row, 2)), StoredRecord { num, contract, body, key })
    };
    let records = read(connection, "SELECT num, branch, pos, key_hash, key, sum, body FROM record NOT INDEXED", record);
    let mark = |row: &Row<'_>| (row.get_unwrap(0), number(row, 1), row.get_unwrap(2));
    let marks = read(connection, "SELECT branch, length, seq FROM log_mark", mark).into_iter().collect();
    Tables { logs: logs.into_iter().collect(), records: records.into_iter().collect(), branches, marks }
}

impl Tables {
    pub(crate) fn records(&self) -> impl Iterator<Item = &StoredRecord> {
        self.records.values()
    }

    /// Returns true if a lineage has logs.
    pub(crate) fn has(&self, lin: i64) -> bool {
        self.logs.keys().any(|(of, _)| *of == lin)
    }

    /// Reads the first `length` records of a log. The last of these records is in `branch`.
    fn read(&self, branch: i64, length: u64, contract: u8) -> Vec<(Option<String>, String, Vec<u8>)> {
        let Branch { contract: whose, parent, start } = self.branches[&branch];
        assert!(whose == contract && start < length);
        let mut found = parent.map_or_else(Vec::new, |parent| self.read(parent, start, contract));
        for position in start..length {
            let StoredRecord { key, body, .. } = &self.records[&(branch, position)];
            assert!(matches!(body[0], 1 | 2 | 5), "a keyframe");
            let [part] = parts(&open(body, None)).try_into().unwrap_or_else(|_| panic!("one part"));
            assert_eq!(part.name, "");
            found.push((key.clone(), part.tag, part.bytes.to_vec()));
        }
        found
    }
}

pub(crate) fn are_as_documented(decoded: &Decoded, expected: &[Log]) {
    let Decoded { lineages, checkpoints, logs: tables, .. } = decoded;
    let mut found = Vec::new();
    for ((lin, name), (branch, length)) in &tables.logs {
        let of = &lineages[lin];
        let records = tables.read(*branch, *length, of.contract);
        found.push(Log { lineage: of.name.clone(), name: name.clone(), at: None, records });
    }
    let mut named = BTreeSet::new();
    for (seq, CheckpointRow { header, marks, .. }) in checkpoints {
        for (name, length, branch) in marks {
            named.extend(branch.map(|branch| (branch, *length, *seq)));
            let records = branch.map_or_else(Vec::new, |branch| tables.read(branch, *length, header.contract.0));
            let (lineage, at) = (header.lineage.clone(), Some(header.id.clone()));
            found.push(Log { lineage, name: name.clone(), at, records });
        }
    }
    found.sort();
    assert_eq!(found, expected);
    for Log { records, name, .. } in &found {
        let keys: Vec<_> = records.iter().filter_map(|(key, ..)| key.as_ref()).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "keys are unique in {name:?}");
    }
    assert_eq!(tables.marks, named, "log_mark repeats what checkpoints name");
    nothing_is_left_over(tables);

    let parents = tables.branches.values().filter_map(|branch| branch.parent);
    assert!(parents.clone().any(|parent| tables.branches[&parent].parent.is_some()), "a branch of a branch");
    assert!(parents.collect::<BTreeSet<_>>().len() < tables.branches.len() - 1, "and siblings");
    let formats: BTreeSet<u8> = tables.records().map(|record| record.body[0]).collect();
    assert!(formats.contains(&1) && formats.len() > 1, "whole and compressed: {formats:?}");
}

/// Checks every branch: it has no gaps, it has an end, and no records follow its last end.
fn nothing_is_left_over(tables: &Tables) {
    let of_parents = tables.branches.values().filter_map(|branch| Some((branch.parent?, branch.start)));
    let ends: Vec<(i64, u64)> = tables.logs.values().copied().chain(of_parents).collect();
    let ends = || ends.iter().copied().chain(tables.marks.iter().map(|(branch, length, _)| (*branch, *length)));
    for (id, Branch { start, .. }) in &tables.branches {
        let last = ends().filter(|(branch, _)| branch == id).map(|(_, length)| length).max();
        let positions: Vec<u64> = tables.records.range((*id, 0)..(*id + 1, 0)).map(|((_, at), _)| *at).collect();
        assert_eq!(positions, (*start..last.unwrap()).collect::<Vec<_>>(), "branch {id}");
    }
}
