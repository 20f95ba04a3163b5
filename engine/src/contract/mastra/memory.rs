//! The memory of agents: threads with their messages, and resources, which are the users of an application.
//!
//! There are three tables. Each row is a checkpoint with the row's id. A message's lineage is its thread. A thread or a
//! resource is alone in its lineage. The group of a message or a thread is its resource.
//!
//! The sort key of a row is its [`Position`]: its creation time, a number that orders rows of the same time, and a
//! version, which differs after each change. A change expects the position that it read, so none undoes another. The
//! save time of a thread or a resource is the time of its last change. A new message updates it without reading the
//! thread.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::contract::call::{Buffers, PartName, RawCall, Request};
use crate::contract::cursor::{format_cursor, parse_cursor};
use crate::contract::entry::{Contract, Shown};
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{Listed, PackedPart, Response, ResponseBuilder};
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, Of, Page, Query, RowOrder, Rows, RowsFrom};
use crate::record::{Checkpoint, ContractId, Header, Seq, SortKey};

/// The messages of threads. The id makes them records: see [`ContractId::has_records`].
pub const MESSAGES: Contract = Contract {
    remove: Some(|thread, _| delete(thread)),
    call_types: CallTypes::of::<Call, Responses>(),
    ..Contract::new("mastra-threads", ContractId(78), request, show_message)
};
pub const THREADS: Contract = Contract::new("mastra-threads/rows", ContractId(15), request, |_| Ok(Shown::default()));
pub const RESOURCES: Contract =
    Contract { single: true, ..Contract::new("mastra-resources", ContractId(16), request, show_resource) };

/// The maximum number of bytes in a page of rows.
const PAGE_BYTES: usize = 4 << 20;

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Saves all rows or none. The call has a buffer for each row.
    Save {
        rows: Vec<NewRow>,
        /// Threads whose last change becomes `saved_at`. They need not exist.
        touch: Vec<String>,
        /// Threads that must have a row. Otherwise, fails with [`Code::NotFound`].
        stored: Vec<String>,
        saved_at: i64,
    },
    /// Removes all rows or none.
    Remove {
        /// Removes all rows of these lineages.
        clear: Vec<Lineage>,
        rows: Vec<Named>,
        touch: Vec<String>,
        saved_at: i64,
    },
    /// Reads rows by their ids. Rows that do not exist are left out.
    Find { table: Table, ids: Vec<String> },
    /// Reads rows in an order. With `count`, the response has the number of all rows of the listing.
    List {
        table: Table,
        thread: Option<String>,
        resource: Option<String>,
        newest_first: bool,
        /// The cursor after which the page begins.
        after: Option<String>,
        /// Without `after`, the page begins at this time, in ms since the epoch. A row of exactly this time is included
        /// only if the oldest rows come first.
        from: Option<f64>,
        skip: usize,
        limit: usize,
        count: bool,
    },
    /// Reads the ids of rows that were created before a time, the newest first.
    Older { table: Table, lineage: String, than: f64, limit: usize },
    /// Reads the ids of the messages around a message, in order: `before` older and `after` newer ones.
    Around { thread: String, id: String, before: usize, after: usize },
    /// Lists lineages, the last begun first. `before` is the cursor of the last lineage on the previous page.
    Lineages { table: Table, before: Option<i64>, limit: usize },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    save: (),
    remove: (),
    find: Vec<FoundRow>,
    list: List,
    older: Vec<String>,
    around: (Vec<Neighbour>, Vec<Neighbour>),
    lineages: Vec<Listed<FoundLineage>>,
}

#[derive(Clone, Copy, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Table {
    Messages,
    Threads,
    Resources,
}

impl Table {
    fn contract(self) -> ContractId {
        match self {
            Self::Messages => MESSAGES.id,
            Self::Threads => THREADS.id,
            Self::Resources => RESOURCES.id,
        }
    }

    /// Mastra's name for the id.
    fn id_name(self) -> &'static str {
        match self {
            Self::Messages => "message id",
            Self::Threads => "thread id",
            Self::Resources => "resourceId",
        }
    }
}

#[derive(Debug, Deserialize, TS)]
struct Lineage {
    table: Table,
    lineage: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Position {
    /// In ms since the epoch.
    created_at: f64,
    /// Orders rows that were created at the same time.
    number: u64,
    version: u64,
}

impl Position {
    fn sort_key(self) -> SortKey {
        let [number, version] = [self.number, self.version].map(SortKey::from_version);
        SortKey::from_f64(self.created_at).then(&number).then(&version)
    }

    fn read(sort_key: &SortKey) -> Option<Self> {
        let (created_at, rest) = sort_key.split_f64()?;
        let (number, version) = rest.0.split_at_checked(8)?;
        let [number, version] = [number, version].map(|bytes| SortKey(bytes.to_vec()).version());
        Some(Self { created_at, number: number?, version: version? })
    }
}

#[derive(Debug, Deserialize, TS)]
struct Named {
    table: Table,
    id: String,
}

/// The expected state of a row before a change.
#[derive(Clone, Copy, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Seen {
    /// No expectation.
    Any,
    /// The row does not exist.
    None,
    /// The row has this position.
    At(Position),
}

#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewRow {
    table: Table,
    id: String,
    /// The thread of a message. For other rows, the id.
    lineage: String,
    /// The resource of a message or a thread. Empty: none.
    group: String,
    position: Position,
    seen: Seen,
    /// JSON for the inspector.
    meta: String,
    /// The time of the change, in ms since the epoch.
    saved_at: i64,
    part: PartName,
}

impl NewRow {
    fn expect(&self) -> Option<Expect> {
        let Self { table, id, seen, .. } = self;
        let must = match seen {
            Seen::Any => return None,
            Seen::None => Must::NotBeSavedSince(i64::MIN),
            Seen::At(position) => Must::HaveSortKey(position.sort_key()),
        };
        let message = format!("{} {} was changed by another writer: try again", table.id_name(), quote(id));
        let (contract, id, otherwise) = (table.contract(), id.clone(), Error::new(Code::Conflict, message));
        Some(Expect::Checkpoint { contract, id, must, otherwise })
    }

    fn put(self, buffers: &mut Buffers) -> Result<Op> {
        let Self { table, id, lineage, group, position, meta, saved_at, part, .. } = self;
        check_id(table.id_name(), &id)?;
        check_id("threadId", &lineage)?;
        let header = Header {
            group,
            sort_key: position.sort_key(),
            saved_at,
            exempt: true,
            meta: meta.into_bytes(),
            ..Header::new(table.contract(), lineage, id)
        };
        Ok(Op::put(header, buffers.parts(vec![part])?))
    }
}

/// Removes a thread with its messages.
pub fn delete(thread: &str) -> Unit {
    let removed = |contract: &Contract| {
        let (lineage, sort_key) = (thread.to_owned(), SortKey::default());
        Op::RemoveFrom { contract: contract.id, lineage, sort_key }
    };
    vec![removed(&MESSAGES), removed(&THREADS)].into()
}

fn is_stored(thread: String) -> Expect {
    let message = format!("thread {} was deleted, so nothing was saved", quote(&thread));
    let otherwise = Error::new(Code::NotFound, message);
    Expect::Stored { contract: THREADS.id, id: Some(thread), lineage: None, otherwise }
}

fn touched(threads: Vec<String>, saved_at: i64) -> impl Iterator<Item = Op> {
    threads.into_iter().map(move |id| Op::Touch { contract: THREADS.id, id, saved_at })
}

fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Save { rows, touch, stored, saved_at } => {
            let expect = stored.into_iter().map(is_stored).chain(rows.iter().filter_map(NewRow::expect)).collect();
            let rows: Vec<Op> = rows.into_iter().map(|row| row.put(&mut buffers)).collect::<Result<_>>()?;
            Request::Apply(Unit { expect, ops: rows.into_iter().chain(touched(touch, saved_at)).collect() })
        }
        Call::Remove { clear, rows, touch, saved_at } => {
            let cleared = clear.into_iter().map(|Lineage { table, lineage }| Op::RemoveFrom {
                contract: table.contract(),
                lineage,
                sort_key: SortKey::default(),
            });
            let removed = rows.into_iter().map(|Named { table, id }| Op::Remove { contract: table.contract(), id });
            let ops: Vec<Op> = cleared.chain(removed).chain(touched(touch, saved_at)).collect();
            Request::Apply(ops.into())
        }
        Call::Find { table, ids } => {
            let get = |id| Query::Get { contract: table.contract(), id };
            Request::ask(Query::All(ids.into_iter().map(get).collect()), |answer| {
                let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
                let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
                Response::list(found.into_iter().flatten().collect(), |found, response| {
                    FoundRow::read(*found, response)
                })
            })
        }
        Call::List { table, thread, resource, newest_first, after, from, skip, limit, count } => {
            let contract = table.contract();
            let of = match (thread, resource) {
                (Some(lineage), Some(group)) => Of::LineageInGroup { lineage, group },
                (Some(lineage), None) => Of::Lineage(lineage),
                (None, Some(group)) => Of::Group(group),
                (None, None) => Of::Contract,
            };
            let count = count.then(|| Query::Count { contract, of: of.clone() });
            let after = after.map(|after| parse_cursor(&after).ok_or_else(Error::poisoned)).transpose()?;
            let after = after.or_else(|| from.map(|from| (SortKey::from_f64(from), Seq::MIN)));
            let order = if newest_first { RowOrder::NewestFirst } else { RowOrder::OldestFirst };
            let page = Page {
                contract,
                of,
                order,
                after,
                skip,
                filter: None,
                limit,
                bytes: PAGE_BYTES,
                looks: usize::MAX,
                short_keys: false,
            };
            Request::ask(Query::All([Query::Page(page)].into_iter().chain(count).collect()), list)
        }
        Call::Older { table, lineage, than, limit } => {
            let (contract, of, before) = (table.contract(), Of::Lineage(lineage), Some(SortKey::from_f64(than)));
            Request::ask(Query::List { contract, of, before, limit: Some(limit) }, |answer| {
                let ids = answer.into_headers()?.into_iter().map(|header| header.id);
                Response::json(&ids.collect::<Vec<_>>()).map(Some)
            })
        }
        Call::Around { thread, id, before, after } => {
            let rows = |order, limit: usize| {
                let (lineage, from) = (thread.clone(), RowsFrom::Id(id.clone()));
                let limit = limit.saturating_add(1);
                Query::Rows(Rows { contract: MESSAGES.id, lineage, from, order, limit, sums: false })
            };
            let both = vec![rows(RowOrder::NewestFirst, before), rows(RowOrder::OldestFirst, after)];
            Request::ask(Query::All(both), around)
        }
        Call::Lineages { table, before, limit } => {
            let (contract, group_prefix) = (table.contract(), String::new());
            Request::ask(Query::Lineages { contract, group_prefix, before, limit }, |answer| {
                Response::lineages(answer, |newest| Ok(FoundLineage { lineage: newest.lineage }))
            })
        }
    })
}

/// A lineage in a response.
#[derive(Serialize, TS)]
struct FoundLineage {
    lineage: String,
}

/// A row in a response: see [`NewRow`].
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundRow {
    id: String,
    lineage: String,
    group: String,
    position: Position,
    meta: String,
    saved_at: i64,
    parts: Vec<PackedPart>,
}

impl FoundRow {
    fn read(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Result<Self> {
        let Header { id, lineage, group, sort_key, meta, saved_at, .. } = header;
        let position = Position::read(&sort_key).ok_or_else(|| damaged(&id))?;
        let meta = String::from_utf8(meta).map_err(|_| damaged(&id))?;
        Ok(Self { id, lineage, group, position, meta, saved_at, parts: response.parts(payload) })
    }
}

/// A page of a listing.
#[derive(Serialize, TS)]
struct List {
    rows: Vec<FoundRow>,
    /// The next page begins after this cursor. `None` on the last page.
    next: Option<String>,
    /// The number of the listing's rows, if requested.
    count: Option<u64>,
}

fn list(answer: Answer) -> Result<Option<Response>> {
    let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
    let mut answers = answers.into_iter();
    let page = answers.next().ok_or_else(Error::poisoned)?.into_page()?;
    let count = answers.next().map(Answer::into_count).transpose()?;
    Response::one(Some(page), |page, response| {
        let rows = page.tuples.into_iter().map(|tuple| FoundRow::read(tuple.checkpoint, response));
        let next = page.next.map(|(sort_key, seq)| format_cursor(&sort_key, seq));
        Ok(List { rows: rows.collect::<Result<_>>()?, next, count })
    })
}

/// A message near another one.
#[derive(Serialize, TS)]
struct Neighbour {
    id: String,
    group: String,
}

fn around(answer: Answer) -> Result<Option<Response>> {
    let [before, after] = answer.into_all()?;
    let rows = |answer: Answer| -> Result<Vec<Neighbour>> {
        // The first row is the message itself, so skip it.
        let rows = answer.into_rows()?.rows.into_iter().skip(1).map(|row| row.header);
        Ok(rows.map(|Header { id, group, .. }| Neighbour { id, group }).collect())
    };
    let (mut before, after) = (rows(before)?, rows(after)?);
    before.reverse();
    Response::json(&(before, after)).map(Some)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that every contract has")]
fn show_resource(header: &Header) -> Result<Shown> {
    #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
    let at = Some(header.saved_at as f64);
    Ok(Shown { at, ..Shown::default() })
}

fn show_message(header: &Header) -> Result<Shown> {
    #[derive(Deserialize)]
    struct Meta {
        role: String,
    }
    let Position { created_at, .. } = Position::read(&header.sort_key).ok_or_else(|| damaged(&header.id))?;
    let Meta { role } = serde_json::from_slice(&header.meta).map_err(|_| damaged(&header.id))?;
    let group = (!header.group.is_empty()).then(|| header.group.clone());
    Ok(Shown { label: Some(role), group, at: Some(created_at), ..Shown::default() })
}
