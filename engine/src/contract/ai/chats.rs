//! The calls of chats.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::approvals::{self, FoundApproval};
use super::rows::{self, ALL, FoundRow, NewRow, Revision, has_revision};
use super::streams;
use crate::contract::call::{Buffers, PackedRecords, RawCall, Request};
use crate::contract::cursor::{format_cursor, parse_cursor};
use crate::contract::entry::{Contract, Names, Shown};
use crate::contract::ids::damaged;
use crate::contract::response::{PackedPart, Response};
use crate::contract::thread;
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Fork, LogEnd, LogMust, Op, Unit};
use crate::query::{Answer, LogRange, MetaFilter, MetaKey, Of, Page, Pick, Query, RowOrder};
use crate::record::{Checkpoint, ContractId, Draft, Header, Labels, LogMark, Payload, SortKey, Status};

pub const CHATS_ID: ContractId = ContractId(19);
pub const CHATS: Contract = Contract {
    noun: "chat",
    name_of: |lineage, id| match id.as_deref().and_then(thread::split) {
        Some((chat, version)) => Names { run: Some(chat.to_owned()), ns: None, id: Some(version.to_owned()) },
        None => Names { run: lineage, ns: None, id },
    },
    id_of: |chat, _, version| thread::lineage(chat, version),
    records_of: Some(|chat, _, key| LogRange::kept(CHATS_ID, chat, MESSAGES, key)),
    remove: Some(|chat, _| delete(chat)),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("ai", CHATS_ID, request, show)
};
pub const ROWS: Contract = Contract::new("ai/rows", rows::ID, request, |_| Ok(Shown::default()));
pub const APPROVALS: Contract = Contract::new("ai/approvals", approvals::ID, request, |_| Ok(Shown::default()));

pub const MESSAGES: &str = "messages";
/// The maximum number of bytes in a page of rows.
const PAGE_BYTES: usize = 4 << 20;
/// The maximum number of rows that a filter checks for a page.
const LOOKS: usize = 1_000;

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Changes a chat, and creates it if it does not exist. The buffers are the metadata and the records, if given.
    Save {
        row: NewRow,
        version: Option<NewVersion>,
        /// The number of versions to keep.
        keep: Option<u64>,
    },
    /// Begins the chat of `row` with the messages of a version of the chat `from`.
    Fork {
        from: String,
        version: u64,
        row: NewRow,
    },
    /// Reads a chat with the messages of a version. Default: the newest version.
    Read {
        chat: String,
        version: Option<u64>,
    },
    /// Reads the row of a chat.
    Row {
        chat: String,
    },
    /// Lists the versions of a chat, the newest first.
    Versions {
        chat: String,
        before: Option<u64>,
        limit: usize,
    },
    /// Lists the rows of chats, the last saved first. The page begins after the cursor `after`.
    Rows {
        after: Option<String>,
        /// Texts that the index of the metadata must contain.
        texts: Option<Vec<String>>,
        /// A key of the index, and its value in JSON.
        key: Option<IndexedKey>,
        limit: usize,
    },
    /// Removes a chat with these streams. With `seen`, only if its row still has this revision.
    Remove {
        chat: String,
        seen: Option<Revision>,
        streams: Vec<String>,
    },
    /// Marks approvals as taken. The row of the chat has the revision `seen`.
    Take {
        chat: String,
        seen: Revision,
        approvals: Vec<approvals::Approval>,
        by: String,
        saved_at: i64,
    },
    /// Reads the marks of approvals. Approvals that were not taken are left out.
    Taken {
        chat: String,
        approvals: Vec<String>,
    },
    Release {
        chat: String,
        approval: String,
        by: String,
        saved_at: i64,
    },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    fork: (),
    read: Option<FoundChat>,
    row: Option<FoundRow>,
    versions: Vec<FoundVersion>,
    rows: FoundRows,
    remove: (),
    take: (),
    taken: Vec<FoundApproval>,
    release: (),
}

#[derive(Debug, Deserialize, TS)]
struct IndexedKey {
    key: String,
    value: String,
}

/// A version to store. The log keeps its first `keep` records, and the new records follow.
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewVersion {
    version: u64,
    /// The version that the change is based on. `None`: the chat has none.
    from: Option<u64>,
    keep: u64,
    records: Option<PackedRecords>,
    /// The number of messages of the version.
    messages: u64,
    /// True if the version ends with a request for an approval.
    asks: bool,
}

impl NewVersion {
    fn ops(self, chat: &str, saved_at: i64, keep_versions: Option<u64>, buffers: &mut Buffers) -> Result<Vec<Op>> {
        let contract = CHATS_ID;
        let (lineage, log) = (chat.to_owned(), MESSAGES.to_owned());
        let truncate = |to| Op::Truncate { contract, lineage: lineage.clone(), log: log.clone(), to };
        // If a version was removed, the log may still be that of another version. Return to the log of `from`.
        let mut ops: Vec<Op> = self.from.map(|from| truncate(LogEnd::Checkpoint(id(chat, from)))).into_iter().collect();
        ops.push(truncate(LogEnd::Length(self.keep)));
        let records = self.records.map(|records| records.records(buffers)).transpose()?.unwrap_or_default();
        let length = self.keep + records.len() as u64;
        if !records.is_empty() {
            ops.push(Op::Append { contract, lineage, log: log.clone(), records, must: LogMust::HaveLength(self.keep) });
        }
        let status = if self.asks { Status::Waiting } else { Status::Unknown };
        let header = Header { status, ..header(chat, self.version, saved_at, &Meta { messages: self.messages })? };
        let pinned = header.id.clone();
        let logs = vec![LogMark { log, length }];
        ops.push(Op::Put(Box::new(Draft::from(Checkpoint { header, payload: Payload::default(), logs }))));
        ops.extend(keep_versions.map(|keep| Op::KeepLast { contract, lineage: chat.to_owned(), keep, pinned }));
        Ok(ops)
    }
}

/// The meta of a version.
#[derive(Debug, Deserialize, Serialize)]
struct Meta {
    messages: u64,
}

impl Meta {
    fn read(header: &Header) -> Result<Self> {
        serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))
    }
}

fn header(chat: &str, version: u64, saved_at: i64, meta: &Meta) -> Result<Header> {
    let meta =
        serde_json::to_vec(&meta).map_err(|error| Error::invalid(format!("the version cannot be written: {error}")))?;
    // Retention by age removes chats only as a whole. Only the contract's store can do this.
    let (sort_key, exempt) = (SortKey::from_version(version), true);
    Ok(Header { sort_key, saved_at, exempt, meta, ..Header::new(CHATS_ID, chat, id(chat, version)) })
}

fn id(chat: &str, version: u64) -> String {
    thread::lineage(chat, &version.to_string())
}

pub fn delete(chat: &str) -> Unit {
    let removed = [&CHATS, &ROWS, &APPROVALS].map(|contract| {
        let (lineage, sort_key) = (chat.to_owned(), SortKey::default());
        Op::RemoveFrom { contract: contract.id, lineage, sort_key }
    });
    let logs = Op::RemoveLogs { contract: CHATS_ID, lineage: chat.to_owned() };
    removed.into_iter().chain([logs]).collect::<Vec<_>>().into()
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CHATS_ID;
    Ok(match call {
        Call::Save { row, version, keep } => {
            let (chat, saved_at, expect) = (row.chat.clone(), row.saved_at, vec![row.expect()]);
            let row = row.put(&mut buffers)?;
            let version = version.map(|version| version.ops(&chat, saved_at, keep, &mut buffers)).transpose()?;
            // The row comes last, because the chat's incarnation is that of its row: see `Applied::lineage`.
            Request::Apply(Unit { expect, ops: version.into_iter().flatten().chain([row]).collect() })
        }
        Call::Fork { from, version, row } => {
            let (chat, saved_at) = (row.chat.clone(), row.saved_at);
            let otherwise = Error::new(Code::Conflict, format!("chat {} already exists: use another id", quote(&chat)));
            let expect = match row.expect() {
                Expect::Checkpoint { contract, id, must, .. } => Expect::Checkpoint { contract, id, must, otherwise },
                newest => newest,
            };
            let mut ops = vec![row.put(&mut buffers)?];
            if version > 0 {
                let (source, new, sort_key) = (id(&from, version), id(&chat, 1), SortKey::from_version(1));
                let labels = Labels::default();
                let fork = Fork { contract, source, id: new, lineage: chat, sort_key, saved_at, labels };
                ops.push(Op::Fork(Box::new(fork)));
            }
            Request::Apply(Unit { expect: vec![expect], ops })
        }
        Call::Read { chat, version } => {
            let log = MESSAGES.to_owned();
            let pick = version.map_or_else(|| Pick::Newest(chat.clone()), |version| Pick::Id(id(&chat, version)));
            let messages = Query::Logged { contract, pick, log };
            let [row, start] = rows::row(chat);
            Request::ask(Query::All(vec![row, start, messages]), read)
        }
        Call::Row { chat } => Request::ask(Query::All(rows::row(chat).into()), |answer| {
            let [row, start] = answer.into_all()?;
            let incarnation = start.into_position()?;
            Response::one(row.into_checkpoint()?, |row, response| Ok(FoundRow::read(*row, response)?.of(incarnation)))
        }),
        Call::Versions { chat, before, limit } => {
            let (of, before) = (Of::Lineage(chat), before.map(SortKey::from_version));
            Request::ask(Query::List { contract, of, before, limit: Some(limit) }, |answer| {
                Response::list(answer.into_headers()?, |header, _| FoundVersion::read(&header))
            })
        }
        Call::Rows { after, texts, key, limit } => {
            let after = after.map(|after| parse_cursor(&after).ok_or_else(Error::poisoned)).transpose()?;
            // An index of a key covers all contracts. Without a key, the group finds the rows.
            let of = if key.is_some() { Of::Contract } else { Of::Group(ALL.to_owned()) };
            let key = key.map(|IndexedKey { key, value }| Box::new(MetaKey { begins: b"\0{".to_vec(), key, value }));
            let filter = texts.map(|texts| MetaFilter {
                all: texts.into_iter().map(String::into_bytes).collect(),
                // A backslash marks metadata that is not indexed. It also occurs in escapes.
                or: b"\\".to_vec(),
                end: b"}".to_vec(),
                key,
                test: None,
            });
            let (contract, order) = (ROWS.id, RowOrder::NewestFirst);
            let (bytes, looks, short_keys) = (PAGE_BYTES, LOOKS, true);
            let page = Page { contract, of, order, after, skip: 0, filter, limit, bytes, looks, short_keys };
            Request::ask(Query::Page(page), |answer| {
                Response::one(Some(answer.into_page()?), |page, response| {
                    let rows = page.tuples.into_iter().map(|tuple| FoundRow::read(tuple.checkpoint, response));
                    let next = page.next.map(|(sort_key, seq)| format_cursor(&sort_key, seq));
                    Ok(FoundRows { rows: rows.collect::<Result<_>>()?, next })
                })
            })
        }
        Call::Remove { chat, seen, streams } => {
            let expect = seen.map(|seen| has_revision(&chat, Some(seen))).into_iter().collect();
            let ops =
                [delete(&chat)].into_iter().chain(streams.into_iter().map(streams::remove)).flat_map(|unit| unit.ops);
            Request::Apply(Unit { expect, ops: ops.collect() })
        }
        Call::Take { chat, seen, approvals: taken, by, saved_at } => {
            let is_seen = has_revision(&chat, Some(seen));
            Request::Apply(approvals::take(&chat, is_seen, &taken, &by, saved_at)?)
        }
        Call::Taken { chat, approvals: taken } => Request::ask(approvals::query(&chat, taken), approvals::respond),
        Call::Release { chat, approval, by, saved_at } => {
            Request::Apply(approvals::release(&chat, &approval, &by, saved_at)?)
        }
    })
}

/// A page of rows.
#[derive(Serialize, TS)]
struct FoundRows {
    rows: Vec<FoundRow>,
    /// The next page begins after this cursor. `None` on the last page.
    next: Option<String>,
}

/// A version in a listing.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundVersion {
    version: u64,
    messages: u64,
    saved_at: i64,
}

impl FoundVersion {
    fn read(header: &Header) -> Result<Self> {
        let version = header.sort_key.version().ok_or_else(|| damaged(&header.id))?;
        Ok(Self { version, messages: Meta::read(header)?.messages, saved_at: header.saved_at })
    }
}

/// A chat with the messages of a version.
#[derive(Serialize, TS)]
struct FoundChat {
    row: FoundRow,
    /// The version that was read. `None` if it does not exist.
    version: Option<u64>,
    records: Vec<PackedPart>,
}

fn read(answer: Answer) -> Result<Option<Response>> {
    let [row, start, logged] = answer.into_all()?;
    let (incarnation, logged) = (start.into_position()?, logged.into_logged()?);
    Response::one(row.into_checkpoint()?, |row, response| {
        let row = FoundRow::read(*row, response)?.of(incarnation);
        let Some(logged) = logged else {
            return Ok(FoundChat { row, version: None, records: Vec::new() });
        };
        let version = Some(FoundVersion::read(&logged.checkpoint.header)?.version);
        Ok(FoundChat { row, version, records: response.records(logged.records) })
    })
}

fn show(header: &Header) -> Result<Shown> {
    let Meta { messages } = Meta::read(header)?;
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    Ok(Shown { at, meta: Some(serde_json::json!({ "messages": messages })), ..Shown::default() })
}
