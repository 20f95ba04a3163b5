//! The calls of sessions.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{Buffers, PackedRecords, RawCall, Request};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Fork, LogEnd, LogMust, Must, Op, Unit};
use crate::query::{Answer, LogRange, LogSide, Of, Query};
use crate::record::{Checkpoint, ContractId, Draft, Header, Labels, LogMark, Payload, Record, SortKey};

pub const SESSIONS_ID: ContractId = ContractId(11);
pub const SESSIONS: Contract = Contract {
    single: true,
    records_of: Some(|session, _, _| items(session.to_owned())),
    remove: Some(|session, _| delete(session.to_owned())),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("openai-agents", SESSIONS_ID, request, |header| Ok(show(header)))
};

pub const ITEMS: &str = "items";
const OPERATIONS: &str = "operations";

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Changes a session, and creates it if it does not exist. The steps are applied in the order of the fields. The
    /// buffer holds the items in order.
    Change {
        row: Row,
        /// Forgets the operations.
        forget: bool,
        /// Keeps only this number of first items.
        keep: Option<u64>,
        items: Option<PackedRecords>,
        operation: Option<Operation>,
    },
    /// Begins a session with the first `length` items of another one. `over` is the version of the session to replace.
    /// 0: the session must not exist.
    Fork { row: Row, length: u64, to: String, over: u64, version: u64, saved_at: i64 },
    /// Removes a session. With `seen`, only if its row still has this version.
    Remove { session: String, seen: Option<u64> },
    /// Reads the row of a session and its last items. Null if the session does not exist.
    Read { session: String, limit: Option<usize> },
    /// Reads the hash of an operation's transaction. Null if no such operation was applied.
    Applied { session: String, operation: String },
    /// Lists sessions, the last begun first. `before` is the cursor of the last session on the previous page.
    Sessions { before: Option<i64>, limit: usize },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    change: (),
    fork: (),
    remove: (),
    read: Option<FoundSession>,
    applied: Option<String>,
    sessions: Vec<Listed<FoundRow>>,
}

/// The row that a change stores.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    session: String,
    /// A random number, which differs after each change.
    version: u64,
    /// The version that the change is based on. 0: there is no row. `None`: any version.
    seen: Option<u64>,
    saved_at: i64,
}

/// An operation that must not have been applied.
#[derive(Debug, Deserialize, TS)]
struct Operation {
    id: String,
    /// The hash of its transaction.
    hash: String,
}

impl Row {
    fn header(&self) -> Header {
        let Self { session, version, saved_at, .. } = self;
        let sort_key = SortKey::from_version(*version);
        // Retention does not know that the items belong to the row. The store removes complete sessions.
        Header {
            sort_key,
            saved_at: *saved_at,
            exempt: true,
            ..Header::new(SESSIONS_ID, session.clone(), session.clone())
        }
    }

    fn expect(&self) -> impl Iterator<Item = Expect> {
        self.seen.map(|seen| has_version(&self.session, seen, "was changed by another writer: try again")).into_iter()
    }
}

/// The condition that the row of a session has this version. 0: the session must not exist.
fn has_version(session: &str, version: u64, why: &str) -> Expect {
    let must = match version {
        0 => Must::NotBeSavedSince(i64::MIN),
        version => Must::HaveSortKey(SortKey::from_version(version)),
    };
    let otherwise = Error::new(Code::Conflict, format!("session {} {why}", quote(session)));
    Expect::Checkpoint { contract: SESSIONS_ID, id: session.to_owned(), must, otherwise }
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = SESSIONS_ID;
    Ok(match call {
        Call::Change { row, forget, keep, items, operation } => {
            Request::Apply(change(&row, forget, keep, items, operation, &mut buffers)?)
        }
        Call::Fork { row, length, to, over, version, saved_at } => {
            check_id("newSessionId", &to)?;
            let taken = has_version(&to, over, "already has items: fork into a new session");
            let removed = if over == 0 { Vec::new() } else { delete(to.clone()).ops };
            // The source's row names the items of the fork. The next change of the source drops the name.
            let logs = vec![LogMark { log: ITEMS.to_owned(), length }];
            let named = Draft::from(Checkpoint { header: row.header(), payload: Payload::default(), logs });
            let (source, sort_key, labels) = (row.session.clone(), SortKey::from_version(version), Labels::default());
            let fork = Fork { contract, source, id: to.clone(), lineage: to, sort_key, saved_at, labels };
            let ops = removed.into_iter().chain([Op::Put(Box::new(named)), Op::Fork(Box::new(fork))]).collect();
            Request::Apply(Unit { expect: row.expect().chain([taken]).collect(), ops })
        }
        Call::Remove { session, seen } => {
            let expect = seen.map(|version| has_version(&session, version, "was changed")).into_iter().collect();
            Request::Apply(Unit { expect, ..delete(session) })
        }
        Call::Read { session, limit } => {
            let of = Of::Lineage(session.clone());
            let row = Query::List { contract, of, before: None, limit: Some(1) };
            let (from, limit) = (LogSide::Last, limit.unwrap_or(usize::MAX));
            let log = Query::Log(LogRange { from, limit, ..items(session) });
            Request::ask(Query::All(vec![row, log]), read)
        }
        Call::Applied { session, operation } => {
            let log = OPERATIONS.to_owned();
            Request::ask(Query::Log(LogRange { log, ..items(session) }), move |answer| {
                let page = answer.into_log()?.unwrap_or_default();
                let found = page.records.into_iter().find(|record| record.key.as_ref() == Some(&operation));
                let hash =
                    found.map(|record| String::from_utf8(record.bytes.to_vec()).map_err(|_| damaged(&operation)));
                hash.transpose()?.map(|hash| Response::json(&hash)).transpose()
            })
        }
        Call::Sessions { before, limit } => {
            let group_prefix = String::new();
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, FoundRow::read)
            })
        }
    })
}

fn change(
    row: &Row,
    forget: bool,
    keep: Option<u64>,
    items: Option<PackedRecords>,
    operation: Option<Operation>,
    buffers: &mut Buffers,
) -> Result<Unit> {
    check_id("sessionId", &row.session)?;
    let contract = SESSIONS_ID;
    let truncate = |log: &str, length| {
        let (lineage, log, to) = (row.session.clone(), log.to_owned(), LogEnd::Length(length));
        Op::Truncate { contract, lineage, log, to }
    };
    let append = |log: &str, records, must| {
        let (lineage, log) = (row.session.clone(), log.to_owned());
        Op::Append { contract, lineage, log, records, must }
    };
    let mut ops: Vec<Op> = forget.then(|| truncate(OPERATIONS, 0)).into_iter().collect();
    ops.extend(keep.map(|length| truncate(ITEMS, length)));
    if let Some(items) = items {
        ops.push(append(ITEMS, items.records(buffers)?, LogMust::BeAny));
    }
    if let Some(Operation { id, hash }) = operation {
        check_id("operationId", &id)?;
        let record = Record { key: Some(id), tag: "sha256".to_owned(), bytes: hash.into_bytes().into() };
        ops.push(append(OPERATIONS, vec![record], LogMust::LackTheKeys));
    }
    ops.push(Op::put(row.header(), Vec::new()));
    Ok(Unit { expect: row.expect().collect(), ops })
}

pub fn delete(session: String) -> Unit {
    let contract = SESSIONS_ID;
    let row = Op::RemoveFrom { contract, lineage: session.clone(), sort_key: SortKey::default() };
    vec![row, Op::RemoveLogs { contract, lineage: session }].into()
}

pub fn items(session: String) -> LogRange {
    LogRange::whole(SESSIONS_ID, session, ITEMS)
}

/// A row in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundRow {
    session: String,
    version: u64,
    saved_at: i64,
}

impl FoundRow {
    fn read(header: Header) -> Result<Self> {
        let version = header.sort_key.version().ok_or_else(|| damaged(&header.id))?;
        Ok(Self { session: header.id, version, saved_at: header.saved_at })
    }
}

/// A session with its last items.
#[derive(Serialize, TS)]
struct FoundSession {
    #[serde(flatten)]
    row: FoundRow,
    /// The number of all items of the session.
    total: u64,
    items: Vec<PackedPart>,
}

fn read(answer: Answer) -> Result<Option<Response>> {
    let [row, log] = answer.into_all()?;
    let page = log.into_log()?.unwrap_or_default();
    Response::one(row.into_headers()?.pop(), |header, response: &mut ResponseBuilder| {
        let items = response.records(page.records);
        Ok(FoundSession { row: FoundRow::read(header)?, total: page.length, items })
    })
}

fn show(header: &Header) -> Shown {
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    Shown { at, ..Shown::default() }
}
