//! The calls of contracts whose checkpoints are rows: small values of a run, read one by one or in order. Such a contract
//! has no calls of its own: it chooses its name and its ids, and its TypeScript gives the rows a meaning.
//!
//! A row is a checkpoint with one part. Its id is random, so it is unique in the contract. Rows are ordered by a number,
//! then by id. Each save gives the row another random version. A change expects the rows that it read, with their
//! versions, so no change undoes another one.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::call::{PartName, RawCall, Request};
use super::entry::{Contract, Shown};
use super::ids::{check_id, damaged};
use super::response::{PackedPart, Response, ResponseBuilder};
use super::thread;
use super::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Of, Page, Query, RowOrder};
use crate::record::{Checkpoint, ContractId, Header, Seq, SortKey};

/// The name of these calls in TypeScript.
pub(super) const NAME: &str = "rows";
pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

/// The number of bytes after which a page ends.
const PAGE_BYTES: usize = 256 << 10;

/// A contract with these calls. A run has the row's first name and, for each namespace, the second one.
pub(super) const fn contract(name: &'static str, id: ContractId, request: Requester) -> Contract {
    Contract {
        name_of: thread::name_of,
        lineage_of: thread::lineage,
        ..Contract::new(name, id, request, |header| {
            #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
            let at = Some(header.saved_at as f64);
            Ok(Shown { label: Some(header.label.clone()), at, ..Shown::default() })
        })
    }
}

/// Calls [`request`] with the id of a contract.
type Requester = fn(RawCall<'_>) -> Result<Request>;

#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Saves a row, in place of the one with its id. The call has a buffer for the part. `lasting`: no limit on age or
    /// size removes the row.
    Put {
        run: String,
        ns: String,
        place: Place,
        expect: Expected,
        label: String,
        lasting: bool,
        saved_at: i64,
        part: PartName,
    },
    /// Reads a row.
    Get { id: String },
    /// Reads a page of the rows of a run, or of all runs.
    Page { run: Option<String>, ns: String, from: Option<From>, newest_first: bool, limit: usize },
    /// Removes rows, if none has changed since it was read.
    Remove { rows: Vec<Place> },
    /// Removes a run with all its namespaces.
    Clear { run: String },
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    put: (),
    get: Option<FoundRow>,
    page: FoundPage,
    remove: (),
    clear: (),
}

/// The place of a row in its run, and its version.
#[derive(Clone, Debug, Deserialize, Serialize, TS)]
struct Place {
    number: u64,
    id: String,
    version: u64,
}

impl Place {
    fn sort_key(&self) -> SortKey {
        begin(self.number, &self.id).then(&SortKey::from_version(self.version))
    }

    fn read(header: &Header) -> Option<Self> {
        let (number, rest) = header.sort_key.0.split_first_chunk()?;
        let (_, version) = rest.split_last_chunk()?;
        let [number, version] = [number, version].map(|bytes| u64::from_be_bytes(*bytes));
        Some(Self { number, id: header.id.clone(), version })
    }

    /// The condition that the row is as it was read.
    fn is_stored(&self, contract: ContractId) -> Expect {
        let (id, must) = (self.id.clone(), Must::HaveSortKey(self.sort_key()));
        let message = format!("row {} was changed by another writer: read it again and retry", quote(&self.id));
        Expect::Checkpoint { contract, id, must, otherwise: Error::new(Code::Conflict, message) }
    }
}

/// The beginning of a sort key.
fn begin(number: u64, text: &str) -> SortKey {
    SortKey::from_version(number).then(&SortKey(text.into()))
}

/// The rows that a save expects.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Expected {
    /// Any.
    Any,
    /// The run has no row.
    None,
    /// This is the newest row of the run.
    Newest(Place),
    /// The row to replace is still this one.
    Same(Place),
}

/// The first row of a page: the first one with this number or a greater one. With `id`, the one after this row.
#[derive(Deserialize, TS)]
struct From {
    number: u64,
    id: Option<String>,
}

impl From {
    fn sort_key(&self) -> SortKey {
        // A version begins with a NUL byte, so each version of the row comes before this key.
        begin(self.number, &self.id.as_ref().map(|id| format!("{id}~")).unwrap_or_default())
    }
}

pub(super) fn request(contract: ContractId, call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    Ok(match call {
        Call::Put { run, ns, place, expect, label, lasting: exempt, saved_at, part } => {
            let (lineage, id, sort_key) = (thread::lineage(&run, &ns), place.id.clone(), place.sort_key());
            check_id("the name of a run, with its namespace,", &lineage)?;
            let newest = |newest: Option<&Place>| {
                let (lineage, newest, or) = (lineage.clone(), newest.map(Place::sort_key), sort_key.clone());
                Some(Expect::NewestSave { contract, lineage, newest, or })
            };
            let expect = match &expect {
                Expected::Any => None,
                Expected::None => newest(None),
                Expected::Newest(place) => newest(Some(place)),
                Expected::Same(place) => Some(place.is_stored(contract)),
            };
            let header = Header { label, sort_key, saved_at, exempt, ..Header::new(contract, lineage, id) };
            let put = Op::put(header, buffers.parts(vec![part])?);
            Request::Apply(Unit { expect: expect.into_iter().collect(), ops: vec![put] })
        }
        Call::Get { id } => Request::ask(Query::Get { contract, id }, |answer| {
            Response::one(answer.into_checkpoint()?, |found, response| FoundRow::read(*found, response))
        }),
        Call::Page { run, ns, from, newest_first, limit } => {
            let of = run.map_or_else(|| Of::Lineages(String::new()), |run| Of::Lineage(thread::lineage(&run, &ns)));
            let order = if newest_first { RowOrder::NewestFirst } else { RowOrder::OldestFirst };
            let (after, bytes) = (from.map(|from| (from.sort_key(), Seq::MIN)), PAGE_BYTES);
            let (skip, filter, looks, short_keys) = (0, None, limit, false);
            let page = Page { contract, of, order, after, skip, filter, limit, bytes, looks, short_keys };
            Request::ask(Query::Page(page), |answer| {
                Response::one(Some(answer.into_page()?), |page, response| {
                    let read = |tuple: crate::record::Tuple| FoundRow::read(tuple.checkpoint, response);
                    let more = page.next.is_some();
                    Ok(FoundPage { rows: page.tuples.into_iter().map(read).collect::<Result<_>>()?, more })
                })
            })
        }
        Call::Remove { rows } => {
            let expect = rows.iter().map(|place| place.is_stored(contract)).collect();
            let remove = |Place { id, .. }: Place| Op::Remove { contract, id };
            Request::Apply(Unit { expect, ops: rows.into_iter().map(remove).collect() })
        }
        Call::Clear { run } => Request::Apply(clear(contract, &run)),
    })
}

/// Removes a run with all its namespaces.
pub(super) fn clear(contract: ContractId, run: &str) -> Unit {
    vec![Op::RemoveLineages { contract, prefix: thread::prefix(run) }].into()
}

/// A row in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct FoundRow {
    run: String,
    ns: String,
    place: Place,
    parts: Vec<PackedPart>,
}

impl FoundRow {
    fn read(Checkpoint { header, payload, .. }: Checkpoint, response: &mut ResponseBuilder) -> Result<Self> {
        let read = || Some((thread::split(&header.lineage)?, Place::read(&header)?));
        let ((run, ns), place) = read().ok_or_else(|| damaged(&header.id))?;
        Ok(Self { run: run.to_owned(), ns: ns.to_owned(), place, parts: response.parts(payload) })
    }
}

/// A page of rows.
#[derive(Serialize, TS)]
struct FoundPage {
    rows: Vec<FoundRow>,
    /// True if the next page has rows.
    more: bool,
}
