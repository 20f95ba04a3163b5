//! Helpers for the test files. Each test file uses some of these helpers.
#![allow(dead_code, reason = "both test binaries compile all of this and use their part")]

#[cfg(all(feature = "postgres", unix))]
pub(crate) mod postgres;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use bytes::Bytes;
use forkpoint_engine::Reply;
use forkpoint_engine::backend::sqlite::{Journal, Options, Sqlite};
use forkpoint_engine::backend::{Backend, Durability};
use forkpoint_engine::check::{CheckCursor, Finding, FindingCode, Severity};
use forkpoint_engine::error::Result;
use forkpoint_engine::op::{Appended, Applied, Expect, Fork, LogEnd, LogMust, Op, Unit};
use forkpoint_engine::query::{Answer, LogRange, LogSide, Of, Query};
use forkpoint_engine::record::{
    Checkpoint, ContractId, Header, Labels, Lineage, LogMark, LogPage, LogPin, Part, Payload, Record, SortKey, Status,
};
use forkpoint_engine::store::Store;

/// The default contract of the tests.
pub(crate) const CONTRACT_ID: ContractId = ContractId(1);

/// Hostile or unlucky names. The engine must take each one literally.
pub(crate) const HOSTILE: [&str; 30] = [
    "' OR '1'='1",
    "x') OR '1'='1",
    "\"; DROP TABLE checkpoint; --",
    "%",
    "_",
    "a%",
    "a_b",
    "*",
    "?",
    "[a-z]*",
    "}) | (@",
    "$ne",
    "$.x",
    "a.b",
    "a\"b",
    "\\",
    "\0",
    "a\0b",
    "a\0",
    "a\nb",
    " ",
    "../../x",
    "C:\\CON",
    "\u{202e}rtl",
    "🜁 née ﷽",
    "e\u{301}",
    "é",
    "\u{feff}",
    "__proto__",
    ":step-1",
];

/// A builder of checkpoints with plain defaults and a unique payload. The first field is the checkpoint as it is read
/// back. If parts are inherited or logs are pinned at their live lengths, the checkpoint that is read back differs from
/// this field.
#[derive(Clone)]
pub(crate) struct Draft(pub(crate) Checkpoint, pub(crate) Beyond);

/// The fields of a put that are not part of the checkpoint itself.
#[derive(Clone, Default)]
pub(crate) struct Beyond {
    pub(crate) inherit: Vec<String>,
    pub(crate) like: Vec<Part>,
    pub(crate) pins: Vec<LogPin>,
}

impl From<Checkpoint> for Draft {
    fn from(checkpoint: Checkpoint) -> Self {
        Self(checkpoint, Beyond::default())
    }
}

/// Makes a draft of a checkpoint with this id in this lineage. The sort key is 0, and there is no group and no label.
pub(crate) fn draft(lineage: &str, id: &str) -> Draft {
    Draft::from(Checkpoint {
        header: Header {
            contract: CONTRACT_ID,
            lineage: lineage.to_owned(),
            id: id.to_owned(),
            parent: None,
            group: String::new(),
            label: String::new(),
            sort_key: SortKey::from_f64(0.0),
            saved_at: 0,
            age_offset: 0,
            depends_on_parent: false,
            exempt: false,
            status: Status::Unknown,
            meta: format!("meta of {id} in {lineage}").into_bytes(),
        },
        payload: Payload { parts: vec![part("state", "test", format!("state of {id} in {lineage}"))] },
        logs: Vec::new(),
    })
}

impl Draft {
    pub(crate) fn contract(mut self, contract: ContractId) -> Self {
        self.0.header.contract = contract;
        self
    }

    pub(crate) fn parent(mut self, parent: &str) -> Self {
        self.0.header.parent = Some(parent.to_owned());
        self
    }

    pub(crate) fn group(mut self, group: &str) -> Self {
        group.clone_into(&mut self.0.header.group);
        self
    }

    pub(crate) fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.0.header.label);
        self
    }

    pub(crate) fn sort_key(mut self, sort_key: f64) -> Self {
        self.0.header.sort_key = SortKey::from_f64(sort_key);
        self
    }

    pub(crate) fn saved_at(mut self, saved_at: i64) -> Self {
        self.0.header.saved_at = saved_at;
        self
    }

    pub(crate) fn status(mut self, status: Status) -> Self {
        self.0.header.status = status;
        self
    }

    pub(crate) fn meta(mut self, meta: &[u8]) -> Self {
        self.0.header.meta = meta.to_vec();
        self
    }

    pub(crate) fn parts(mut self, parts: Vec<Part>) -> Self {
        self.0.payload.parts = parts;
        self
    }

    pub(crate) fn age_offset(mut self, age_offset: u8) -> Self {
        self.0.header.age_offset = age_offset;
        self
    }

    pub(crate) fn depends_on_parent(mut self) -> Self {
        self.0.header.depends_on_parent = true;
        self
    }

    pub(crate) fn inherit(mut self, names: &[&str]) -> Self {
        self.1.inherit = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub(crate) fn like(mut self, parts: Vec<Part>) -> Self {
        self.1.like = parts;
        self
    }

    /// Pins the first `length` records of a log.
    pub(crate) fn pin(mut self, log: &str, length: u64) -> Self {
        self.0.logs.push(LogMark { log: log.to_owned(), length });
        self.1.pins.push(LogPin { log: log.to_owned(), length: Some(length) });
        self
    }

    /// Pins a log at the length that the log has when the put is applied.
    pub(crate) fn pin_live(mut self, log: &str) -> Self {
        self.1.pins.push(LogPin { log: log.to_owned(), length: None });
        self
    }

    pub(crate) fn put(self) -> Op {
        let Self(checkpoint, Beyond { inherit, like, pins }) = self;
        Op::Put(Box::new(forkpoint_engine::record::Draft {
            inherit,
            like,
            logs: pins,
            ..forkpoint_engine::record::Draft::from(checkpoint)
        }))
    }
}

pub(crate) fn part(name: &str, tag: &str, bytes: impl Into<Vec<u8>>) -> Part {
    Part { name: name.to_owned(), tag: tag.to_owned(), bytes: bytes.into().into() }
}

/// Appends a number as the stored formats encode numbers.
pub(crate) fn leb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Returns bytes that do not compress. Different seeds give different bytes.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(length);
    bytes
}

pub(crate) fn remove(id: &str) -> Op {
    Op::Remove { contract: CONTRACT_ID, id: id.to_owned() }
}

pub(crate) fn fork(source: &str, id: &str, lineage: &str) -> Op {
    Op::Fork(Box::new(Fork {
        contract: CONTRACT_ID,
        source: source.to_owned(),
        id: id.to_owned(),
        lineage: lineage.to_owned(),
        sort_key: SortKey::from_f64(0.0),
        saved_at: 0,
        labels: Labels::default(),
    }))
}

/// The condition that must hold before a unit is applied.
pub(crate) fn expect(lineage: &str, newest: Option<&str>, or: &str) -> Expect {
    Expect::Newest {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        newest: newest.map(str::to_owned),
        or: or.to_owned(),
    }
}

/// A record without a key.
pub(crate) fn record(bytes: impl Into<Vec<u8>>) -> Record {
    Record { key: None, tag: "t".to_owned(), bytes: bytes.into().into() }
}

/// A record with a key. The tests recognize the record by its content.
pub(crate) fn keyed(key: &str, bytes: impl Into<Vec<u8>>) -> Record {
    Record { key: Some(key.to_owned()), ..record(bytes) }
}

/// Bytes that refer to `users` until nothing refers to them.
pub(crate) fn lent(bytes: Vec<u8>, users: &Arc<()>) -> Bytes {
    struct Lent {
        bytes: Vec<u8>,
        _user: Arc<()>,
    }

    impl AsRef<[u8]> for Lent {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    Bytes::from_owner(Lent { bytes, _user: Arc::clone(users) })
}

/// Returns the op that appends these records.
pub(crate) fn append(lineage: &str, log: &str, records: Vec<Record>) -> Op {
    Op::Append {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        log: log.to_owned(),
        records,
        must: LogMust::BeAny,
    }
}

/// Returns the op that appends one record without a key for each of these texts.
pub(crate) fn texts(lineage: &str, log: &str, texts: &[&str]) -> Op {
    append(lineage, log, texts.iter().map(|text| record(*text)).collect())
}

/// Returns the op that appends these texts. The op succeeds only if the log contains exactly `length` records.
pub(crate) fn texts_at(lineage: &str, log: &str, length: u64, contents: &[&str]) -> Op {
    let Op::Append { contract, lineage, log, records, .. } = texts(lineage, log, contents) else { unreachable!() };
    Op::Append { contract, lineage, log, records, must: LogMust::HaveLength(length) }
}

pub(crate) fn truncate(lineage: &str, log: &str, length: u64) -> Op {
    let to = LogEnd::Length(length);
    Op::Truncate { contract: CONTRACT_ID, lineage: lineage.to_owned(), log: log.to_owned(), to }
}

pub(crate) fn rewind(lineage: &str, log: &str, checkpoint: &str) -> Op {
    let to = LogEnd::Checkpoint(checkpoint.to_owned());
    Op::Truncate { contract: CONTRACT_ID, lineage: lineage.to_owned(), log: log.to_owned(), to }
}

/// Applies a unit and returns the outcomes of its appends.
pub(crate) fn appended(backend: &mut dyn Backend, unit: impl Into<Unit>) -> Vec<Appended> {
    apply(backend, unit).unwrap().appended
}

/// The range of a whole log: either the present log, or the log as the checkpoint `at` keeps it.
pub(crate) fn log_range(lineage: &str, log: &str, at: Option<&str>) -> LogRange {
    LogRange {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        log: log.to_owned(),
        at: at.map(str::to_owned),
        from: LogSide::First,
        skip: 0,
        limit: usize::MAX,
    }
}

pub(crate) fn page(backend: &mut dyn Backend, range: LogRange) -> Option<LogPage> {
    backend.answer(&Query::Log(range)).unwrap().into_log().unwrap()
}

/// Returns the contents of all records of a log.
pub(crate) fn log(backend: &mut dyn Backend, lineage: &str, log: &str) -> Vec<String> {
    contents(&page(backend, log_range(lineage, log, None)).unwrap())
}

/// Returns the contents of the records of a log that a checkpoint keeps.
pub(crate) fn log_at(backend: &mut dyn Backend, lineage: &str, log: &str, checkpoint: &str) -> Option<Vec<String>> {
    page(backend, log_range(lineage, log, Some(checkpoint))).as_ref().map(contents)
}

/// Returns the contents of a page's records. The page must hold the whole log.
fn contents(page: &LogPage) -> Vec<String> {
    assert_eq!((page.start, page.length), (0, page.records.len() as u64));
    page.records.iter().map(|record| String::from_utf8(record.bytes.to_vec()).unwrap()).collect()
}

/// The logs of a lineage.
pub(crate) fn logs(backend: &mut dyn Backend, lineage: &str) -> Vec<(String, u64)> {
    let query = Query::Logs { contract: CONTRACT_ID, lineage: lineage.to_owned() };
    let found = backend.answer(&query).unwrap().into_logs().unwrap();
    found.into_iter().map(|mark| (mark.log, mark.length)).collect()
}

/// Applies one unit.
pub(crate) fn apply(backend: &mut dyn Backend, unit: impl Into<Unit>) -> Result<Applied> {
    let mut outcomes = backend.apply(&[unit.into()]);
    assert_eq!(outcomes.len(), 1, "one result per unit");
    outcomes.remove(0)
}

/// Saves checkpoints. Each checkpoint has a unit of its own.
pub(crate) fn save<const N: usize>(backend: &mut dyn Backend, drafts: [Draft; N]) {
    for draft in drafts {
        apply(backend, vec![draft.put()]).unwrap();
    }
}

pub(crate) fn get_query(id: &str) -> Query {
    Query::Get { contract: CONTRACT_ID, id: id.to_owned() }
}

pub(crate) fn get(backend: &mut dyn Backend, id: &str) -> Option<Checkpoint> {
    try_get(backend, id).unwrap()
}

pub(crate) fn try_get(backend: &mut dyn Backend, id: &str) -> Result<Option<Checkpoint>> {
    Ok(backend.answer(&get_query(id))?.into_checkpoint()?.map(|found| *found))
}

pub(crate) fn newest_query(lineage: &str, label: Option<&str>) -> Query {
    Query::Newest { contract: CONTRACT_ID, lineage: lineage.to_owned(), label: label.map(str::to_owned) }
}

/// Returns the id of the newest checkpoint.
pub(crate) fn newest(backend: &mut dyn Backend, lineage: &str, label: Option<&str>) -> Option<String> {
    let answer = backend.answer(&newest_query(lineage, label)).unwrap();
    answer.into_checkpoint().unwrap().map(|found| found.header.id)
}

pub(crate) fn lineage(name: &str) -> Of {
    Of::Lineage(name.to_owned())
}

pub(crate) fn group(name: &str) -> Of {
    Of::Group(name.to_owned())
}

pub(crate) fn both(lineage: &str, group: &str) -> Of {
    Of::LineageInGroup { lineage: lineage.to_owned(), group: group.to_owned() }
}

pub(crate) fn list_query(of: Of, limit: Option<usize>) -> Query {
    Query::List { contract: CONTRACT_ID, of, before: None, limit }
}

pub(crate) fn headers(backend: &mut dyn Backend, of: Of, limit: Option<usize>) -> Vec<Header> {
    backend.answer(&list_query(of, limit)).unwrap().into_headers().unwrap()
}

/// Returns the ids of a whole listing, in the order of the listing.
pub(crate) fn ids(backend: &mut dyn Backend, of: Of) -> Vec<String> {
    headers(backend, of, None).into_iter().map(|header| header.id).collect()
}

pub(crate) fn lineages(
    backend: &mut dyn Backend,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) -> Vec<Lineage> {
    let query = Query::Lineages { contract: CONTRACT_ID, group_prefix: group_prefix.to_owned(), before, limit };
    backend.answer(&query).unwrap().into_lineages().unwrap()
}

/// Returns the names of all lineages whose group begins with this prefix, in the order of the listing.
pub(crate) fn names(backend: &mut dyn Backend, group_prefix: &str) -> Vec<String> {
    lineages(backend, group_prefix, None, usize::MAX).into_iter().map(|lineage| lineage.newest.lineage).collect()
}

/// False for writes whose checkpoint has not come, which is no damage.
pub(crate) fn is_damage(found: &Finding) -> bool {
    (found.code, found.severity) != (FindingCode::Orphan, Severity::Note)
}

/// Runs a full check and returns the damage that it has found.
pub(crate) fn findings(backend: &mut dyn Backend) -> Vec<Finding> {
    let (mut cursor, mut found) = (CheckCursor::default(), Vec::new());
    loop {
        let page = backend.answer(&Query::Check { cursor, limit: 1000 }).unwrap().into_checked().unwrap();
        found.extend(page.findings.into_iter().filter(is_damage));
        let Some(next) = page.next else { return found };
        cursor = next;
    }
}

/// Makes an asynchronous call and does not wait for the outcome. The channel receives the outcome.
pub(crate) fn pending<T: Send + 'static>(hand_in: impl FnOnce(Reply<T>)) -> Receiver<Result<T>> {
    let (sent, outcome) = channel();
    // A failed send is ignored, because the test may have dropped the receiver.
    hand_in(Reply::new(move |outcome| drop(sent.send(outcome))));
    outcome
}

/// Makes an asynchronous call, waits for the outcome, and returns it.
pub(crate) fn call<T: Send + 'static>(hand_in: impl FnOnce(Reply<T>)) -> Result<T> {
    pending(hand_in).recv().unwrap()
}

pub(crate) fn store_get(store: &Store, id: &str) -> Result<Option<Checkpoint>> {
    let answer: Answer = call(|reply| store.ask(get_query(id), reply))?;
    Ok(answer.into_checkpoint()?.map(|found| *found))
}

pub(crate) fn store_ids(store: &Store, of: Of) -> Result<Vec<String>> {
    let answer: Answer = call(|reply| store.ask(list_query(of, None), reply))?;
    Ok(answer.into_headers()?.into_iter().map(|header| header.id).collect())
}

/// Opens a SQLite backend on the file at `path`.
pub(crate) fn sqlite(path: &Path, journal: Journal, durability: Durability) -> Result<Sqlite> {
    Sqlite::open(&Options { journal: Some(journal), durability, ..Options::new(path) })
}

/// Returns the result of `PRAGMA integrity_check`. The connection does not use the engine.
pub(crate) fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

const ROLE: &str = "FORKPOINT_TEST_ROLE";

/// The first line of each child.
const BEGUN: &str = "the child has begun";

/// A child process of this test binary that runs a single test. The parent ignores this test, so it does not count as
/// passed there. The test reads its argument with [`role`]. The child sends lines to the parent through standard error,
/// because the test harness writes to standard output. The message of a panic also goes to standard error.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Process {
    /// Starts the test of a module (`module_path!()`) as a child, and waits until it has called [`role`].
    pub(crate) fn start(module: &str, test: &str, role: impl AsRef<OsStr>) -> Self {
        // The test harness leaves the name of the crate out.
        let test = &format!("{}::{test}", module.split_once("::").unwrap().1);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        let mut process = Self { child, lines };
        assert_eq!(process.line().as_deref(), Some(BEGUN), "there is no child {test}");
        process
    }

    /// Returns the next whole line, or `None` at the end. If a killed process has written a part of a line, that part
    /// is dropped. If the process has panicked, this function panics with the message of the process.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        if line == "\n" {
            let mut message = String::new();
            self.lines.read_to_string(&mut message).unwrap();
            panic!("the child panicked: {message}");
        }
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Wakes a child that waits in [`told`].
    pub(crate) fn tell(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Kills the process (SIGKILL on Unix). The lines that the process wrote before the kill can still be read.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the process ends. If the process failed, this function panics with the last lines of the process.
    pub(crate) fn finish(mut self) {
        let rest: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        assert!(self.child.wait().unwrap().success(), "the child failed: {rest:#?}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The child is killed, so that a failed test leaves no process running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Begins a child process. Returns its argument.
pub(crate) fn role() -> std::ffi::OsString {
    let role = std::env::var_os(ROLE).expect("only `Process::start` runs this test");
    say(BEGUN);
    role
}

/// Sends a line from a child to the parent. The line is sent in one write, so that a kill cannot leave a part of the
/// line that looks whole.
pub(crate) fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// In a child, waits until the parent calls [`Process::tell`].
pub(crate) fn told() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert_eq!(line, "go\n");
}

/// Reads the column `chain` of a row: base, depth, budget, size, first dependant, next sibling, and the checksum. 0 is no row.
pub(crate) fn chain_of(seq: i64, column: &[u8]) -> [i64; 7] {
    let number = |at: usize, bytes: usize| {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&column[at..at + bytes]);
        i64::from_le_bytes(number)
    };
    if column.len() == 56 {
        return std::array::from_fn(|at| number(8 * at, 8));
    }
    assert_eq!(column.len(), 30, "row {seq}");
    let older = |away: i64| if away == 0 { 0 } else { seq - away };
    let newer = |away: i64| if away == 0 { 0 } else { seq + away };
    let [base, first, next] = [older(number(0, 4)), newer(number(14, 4)), older(number(18, 4))];
    [base, number(4, 2), number(6, 4), number(10, 4), first, next, number(22, 8)]
}
