//! The calls of the store, and their responses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::super::namespace::{Address, labels, name};
use super::filter::{Condition, Verdict, decide};
use super::item::{CONTRACT_ID, FoundItem, Meta, NewItem, VALUE};
use crate::contract::call::{RawCall, Request};
use crate::contract::cursor::{format_cursor, parse_cursor};
use crate::contract::ids::damaged;
use crate::contract::response::Response;
use crate::contract::types::CallTypes;
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op, Unit};
use crate::query::{Answer, MetaFilter, MetaTest, Of, Page, Query, RowOrder};
use crate::record::{Checkpoint, Header, Lineage, Seq, SortKey};

/// The maximum number of items that a filter checks for a page of one namespace.
const LOOKS: usize = 10_000;
/// The maximum number of bytes in a page of items.
const PAGE_BYTES: usize = 4 << 20;

/// The calls. Times are in ms since the epoch.
#[derive(Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Call {
    /// Reads items by their names, all from one snapshot. The response has null for an item that does not exist.
    Find { of: Vec<Address>, now: i64 },
    /// Saves and removes all items or none. The call has a buffer for each of `puts`.
    Save {
        puts: Vec<NewItem>,
        removed: Vec<Address>,
        /// Items whose time to live starts again.
        touched: Vec<Address>,
        saved_at: i64,
    },
    /// Reads a page of the items of all namespaces that begin with `prefix`, by their first save.
    Search {
        prefix: Vec<String>,
        /// Texts in the JSON of a wanted value.
        texts: Vec<String>,
        conditions: Vec<Condition>,
        /// The cursor after which the page begins.
        after: Option<String>,
        /// The number of wanted items to leave out.
        skip: usize,
        limit: usize,
        now: i64,
    },
    /// Lists the namespaces, the last begun first. `before` is the cursor of the previous page.
    Namespaces { matching: Vec<Match>, max_depth: Option<usize>, before: Option<i64>, limit: usize, now: i64 },
    /// Returns for each namespace whether it has an item that has not expired.
    Alive { of: Vec<Vec<String>>, now: i64 },
    /// Lists expired items that were first saved before a time.
    Expired {
        before: i64,
        /// The cursor after which the page begins.
        after: Option<String>,
        limit: usize,
        now: i64,
    },
    /// Removes items, except those that were saved again after they were listed.
    Expire { of: Vec<Listed> },
}

/// A condition on the labels of a namespace.
#[derive(Clone, Debug, Deserialize, TS)]
struct Match {
    suffix: bool,
    /// `None`: any label.
    labels: Vec<Option<String>>,
}

impl Match {
    fn is_of(&self, namespace: &[String]) -> bool {
        let Some(more) = namespace.len().checked_sub(self.labels.len()) else { return false };
        let own = &namespace[if self.suffix { more } else { 0 }..];
        self.labels.iter().zip(own).all(|(label, own)| label.as_ref().is_none_or(|label| label == own))
    }
}

/// An item that has expired.
#[derive(Debug, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(flatten)]
    address: Address,
    saved_at: i64,
}

/// A filter on the values of items.
fn filter(texts: Vec<String>, test: MetaTest) -> MetaFilter {
    let all = texts.into_iter().map(String::into_bytes).collect();
    // A meta that is not JSON contains a NUL. JSON ends with a brace.
    MetaFilter { all, or: vec![0], end: b"}".to_vec(), key: None, test: Some(test) }
}

/// Selects items that have not expired. Includes unreadable items, so that a caller finds their damage.
fn alive(now: i64) -> MetaTest {
    MetaTest::new(move |meta, saved_at| Meta::read(meta).is_none_or(|meta| !meta.has_expired(saved_at, now)))
}

fn page(of: Of, filter: Option<MetaFilter>, limit: usize) -> Page {
    let (contract, order, after, bytes) = (CONTRACT_ID, RowOrder::OldestFirst, None, PAGE_BYTES);
    Page { contract, of, order, after, skip: 0, filter, limit, bytes, looks: LOOKS, short_keys: false }
}

#[derive(TS)]
#[ts(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its type is used: see `CallTypes`")]
struct Responses {
    find: Vec<Option<FoundItem>>,
    save: (),
    search: SearchPage,
    namespaces: NamespacePage,
    alive: Vec<bool>,
    expired: ExpiredPage,
    expire: (),
}

pub(super) const CALL_TYPES: CallTypes = CallTypes::of::<Call, Responses>();

pub(super) fn request(call: RawCall<'_>) -> Result<Request> {
    let (call, mut buffers) = call.read()?;
    let contract = CONTRACT_ID;
    Ok(match call {
        Call::Find { of, now } => {
            let get = |address: Address| Query::Get { contract, id: address.id() };
            Request::ask(Query::All(of.into_iter().map(get).collect()), move |answer| {
                let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
                let found = answers.into_iter().map(Answer::into_checkpoint).collect::<Result<Vec<_>>>()?;
                Response::list(found, |found, response| {
                    found.map(|found| FoundItem::read(*found, now, response)).transpose()
                })
            })
        }
        Call::Save { puts, removed, touched, saved_at } => {
            let expect = puts.iter().map(NewItem::expect).collect();
            let puts = puts.into_iter().map(|put| put.put(saved_at, &mut buffers)).collect::<Result<Vec<_>>>()?;
            let removed = removed.into_iter().map(|address| Op::Remove { contract, id: address.id() });
            let touched = touched.into_iter().map(|address| Op::Touch { contract, id: address.id(), saved_at });
            Request::Apply(Unit { expect, ops: puts.into_iter().chain(removed).chain(touched).collect() })
        }
        Call::Search { prefix, texts, conditions, after, skip, limit, now } => {
            let after = after.map(|after| parse_cursor(&after).ok_or_else(Error::poisoned)).transpose()?;
            let wanted = conditions.clone();
            let test = MetaTest::new(move |meta, saved_at| {
                let Some(meta) = Meta::read(meta) else { return true };
                let is_wanted = |json| decide(&wanted, json) != Verdict::No;
                !meta.has_expired(saved_at, now) && meta.value.is_none_or(is_wanted)
            });
            let filter = (!conditions.is_empty()).then(|| filter(texts, test));
            let page = Page { after, ..page(Of::Lineages(name(&prefix)), filter, limit) };
            Request::ask(Query::Page(page), move |answer| search(answer, &conditions, skip, now))
        }
        Call::Namespaces { matching, max_depth, before, limit, now } => {
            let query = Query::Lineages { contract, group_prefix: String::new(), before, limit };
            Request::ask(query, move |answer| namespaces(answer, &matching, max_depth, limit, now))
        }
        Call::Alive { of, now } => {
            let one = |namespace: Vec<String>| {
                let filter = Some(filter(Vec::new(), alive(now)));
                Query::Page(Page { looks: usize::MAX, ..page(Of::Lineage(name(&namespace)), filter, 1) })
            };
            Request::ask(Query::All(of.iter().cloned().map(one).collect()), |answer| {
                let Answer::All(answers) = answer else { return Err(Error::poisoned()) };
                let any = |answer: Answer| Ok(!answer.into_page()?.tuples.is_empty());
                Response::json(&answers.into_iter().map(any).collect::<Result<Vec<_>>>()?).map(Some)
            })
        }
        Call::Expired { before, after, limit, now } => {
            let is_expired = MetaTest::new(move |meta, saved_at| {
                Meta::read(meta).is_some_and(|meta| meta.has_expired(saved_at, now))
            });
            // The newest items come first, so the page begins after those that are too new.
            #[expect(clippy::cast_precision_loss, reason = "a time in ms")]
            let first = (SortKey::from_f64(before as f64), Seq::MIN);
            let after = after.map(|after| parse_cursor(&after).ok_or_else(Error::poisoned)).transpose()?;
            let after = after.or(Some(first));
            let filter = Some(filter(Vec::new(), is_expired));
            let page = Page { order: RowOrder::NewestFirst, after, ..page(Of::Lineages(String::new()), filter, limit) };
            Request::ask(Query::Page(page), expired)
        }
        Call::Expire { of } => {
            let expect = |Listed { address, saved_at }: &Listed| {
                let must = Must::NotBeSavedSince(saved_at.saturating_add(1));
                let message = format!("item {} was saved again: try again", quote(&address.key));
                let otherwise = Error::new(Code::Conflict, message);
                Expect::Checkpoint { contract, id: address.id(), must, otherwise }
            };
            let removed = |listed: &Listed| Op::Remove { contract, id: listed.address.id() };
            Request::Apply(Unit { expect: of.iter().map(expect).collect(), ops: of.iter().map(removed).collect() })
        }
    })
}

/// An item that a search has found.
#[derive(Serialize, TS)]
struct SearchedItem {
    /// True if TypeScript must filter the value again.
    unsure: bool,
    #[serde(flatten)]
    item: FoundItem,
}

/// A page of a search.
#[derive(Serialize, TS)]
struct SearchPage {
    items: Vec<SearchedItem>,
    /// The number of items that were left out: see the call's `skip`.
    skipped: usize,
    /// The next page begins after this cursor. `None` on the last page.
    next: Option<String>,
}

fn search(answer: Answer, conditions: &[Condition], mut skip: usize, now: i64) -> Result<Option<Response>> {
    Response::one(Some(answer.into_page()?), |page, response| {
        let (mut items, mut skipped) = (Vec::new(), 0);
        for checkpoint in page.tuples.into_iter().map(|tuple| tuple.checkpoint) {
            let verdict = verdict_on(&checkpoint, conditions, now)?;
            if verdict == Verdict::No {
                continue;
            }
            let unsure = verdict == Verdict::Unsure;
            if unsure {
                // TypeScript must decide first whether to skip this item, so stop skipping.
                skip = 0;
            } else if skip > 0 {
                skip -= 1;
                skipped += 1;
                continue;
            }
            items.push(SearchedItem { unsure, item: FoundItem::read(checkpoint, now, response)? });
        }
        // An updated item keeps its sort key and gets another save number.
        let next = page.next.map(|(sort_key, _)| format_cursor(&sort_key, Seq::MAX));
        Ok(SearchPage { items, skipped, next })
    })
}

fn verdict_on(Checkpoint { header, payload, .. }: &Checkpoint, conditions: &[Condition], now: i64) -> Result<Verdict> {
    let meta = Meta::read(&header.meta).ok_or_else(|| damaged(&header.id))?;
    if meta.has_expired(header.saved_at, now) {
        return Ok(Verdict::No);
    }
    if conditions.is_empty() {
        return Ok(Verdict::Yes);
    }
    let part = payload.part(VALUE).filter(|part| part.tag == "json");
    Ok(match meta.value.or(part.map(|part| &part.bytes[..])) {
        Some(json) => decide(conditions, json),
        None => Verdict::Unsure,
    })
}

/// A page of namespaces.
#[derive(Default, Serialize, TS)]
struct NamespacePage {
    /// The namespaces, cut to at most `max_depth` labels.
    found: Vec<Vec<String>>,
    /// Namespaces whose newest item has expired.
    unsure: Vec<Vec<String>>,
    /// The cursor of the next page. `None` on the last page.
    next: Option<String>,
}

fn namespaces(
    answer: Answer,
    matching: &[Match],
    max_depth: Option<usize>,
    limit: usize,
    now: i64,
) -> Result<Option<Response>> {
    let lineages = answer.into_lineages()?;
    let next = lineages.last().filter(|_| lineages.len() >= limit).map(|last| last.position.to_string());
    let mut listing = NamespacePage { next, ..NamespacePage::default() };
    for Lineage { newest, .. } in lineages {
        let read = || Some((labels(&newest.lineage)?, Meta::read(&newest.meta)?));
        let (mut namespace, meta) = read().ok_or_else(|| damaged(&newest.id))?;
        if !matching.iter().all(|one| one.is_of(&namespace)) {
            continue;
        }
        if meta.has_expired(newest.saved_at, now) {
            listing.unsure.push(namespace);
            continue;
        }
        namespace.truncate(max_depth.unwrap_or(usize::MAX));
        if listing.found.last() != Some(&namespace) {
            listing.found.push(namespace);
        }
    }
    Response::json(&listing).map(Some)
}

/// A page of expired items.
#[derive(Serialize, TS)]
struct ExpiredPage {
    items: Vec<Listed>,
    /// The next page begins after this cursor. `None` on the last page.
    next: Option<String>,
}

fn expired(answer: Answer) -> Result<Option<Response>> {
    let listed = |Header { id, saved_at, .. }: Header| {
        let address = Address::read(&id).ok_or_else(|| damaged(&id))?;
        Ok(Listed { address, saved_at })
    };
    let page = answer.into_page()?;
    let items = page.tuples.into_iter().map(|tuple| listed(tuple.checkpoint.header)).collect::<Result<_>>()?;
    let next = page.next.map(|(sort_key, seq)| format_cursor(&sort_key, seq));
    Response::json(&ExpiredPage { items, next }).map(Some)
}
