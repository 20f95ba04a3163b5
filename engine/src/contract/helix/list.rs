//! Lists the checkpoints of a session, page by page.

use serde::Serialize;
use ts_rs::TS;

use super::meta::read_meta;
use super::ops::CONTRACT_ID;
use crate::contract::call::Request;
use crate::contract::response::Response;
use crate::error::Result;
use crate::query::{Answer, Of, Query};
use crate::record::{Header, SortKey};

/// The checkpoint after which a listing continues.
pub(super) struct Cursor {
    pub id: String,
    /// The checkpoint's timestamp, or the number by which the store sorts it.
    pub place: f64,
}

/// The range of a listing.
pub(super) struct Listing {
    pub alive_since: Option<i64>,
    pub offset: usize,
    pub limit: Option<usize>,
    pub cursor: Option<Cursor>,
}

pub(super) fn list(session_id: &str, listing: Listing) -> Request {
    let Listing { alive_since, offset, limit, cursor } = &listing;
    // Checkpoints at the cursor's place may be before or after the cursor, so list all of them.
    let before = cursor.as_ref().map(|cursor| SortKey::from_f64(cursor.place.next_up()));
    let enough = match (alive_since, cursor, limit) {
        (None, None, Some(limit)) => Some(limit.saturating_add(*offset)),
        // The number of checkpoints to skip is known only after listing them.
        _ => None,
    };
    // The total covers the entire session, so expired checkpoints must be listed too.
    let before = if alive_since.is_none() { before } else { None };
    let count = Query::Count { contract: CONTRACT_ID, of: Of::Lineage(session_id.to_owned()) };
    let of = Of::Lineage(session_id.to_owned());
    let list = Query::List { contract: CONTRACT_ID, of, before, limit: enough };
    Request::ask(Query::All(vec![count, list]), move |answer| summaries(answer, listing))
}

/// A checkpoint in a listing.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
struct Summary {
    id: String,
    step_count: f64,
    timestamp: f64,
    /// The store's sort number, if it differs: see [`Order::SaveOfNumber`](crate::record::Order::SaveOfNumber).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    place: Option<f64>,
    status: Option<String>,
}

/// A page of a listing.
#[derive(Serialize, TS)]
pub(super) struct Page {
    total: u64,
    /// The number of checkpoints after the page.
    rest: u64,
    items: Vec<Summary>,
}

fn summaries(answer: Answer, listing: Listing) -> Result<Option<Response>> {
    let Listing { alive_since, offset, limit, cursor } = listing;
    let [count, headers] = answer.into_all()?;
    let (mut total, mut headers) = (count.into_count()?, headers.into_headers()?);
    if let Some(alive_since) = alive_since {
        headers.retain(|header| header.saved_at >= alive_since);
        total = headers.len() as u64;
    }
    let counted = cursor.is_none() && alive_since.is_none();
    let skip = match &cursor {
        None => offset,
        Some(cursor) => after(&headers, cursor),
    };
    let take = limit.unwrap_or(usize::MAX);
    let rest = if counted {
        total.saturating_sub(offset as u64).saturating_sub(take as u64)
    } else {
        headers.len().saturating_sub(skip).saturating_sub(take) as u64
    };
    let items = headers.into_iter().skip(skip).take(take).map(|header| {
        let (meta, timestamp) = read_meta(&header)?;
        let place = header.sort_key.split_f64().filter(|(_, own)| !own.0.is_empty()).map(|(place, _)| place);
        Ok(Summary { id: header.id, step_count: meta.step_count, timestamp, place, status: meta.status })
    });
    Response::json(&Page { total, rest, items: items.collect::<Result<_>>()? }).map(Some)
}

/// Returns the number of headers up to the cursor. If the cursor's checkpoint was removed, the listing continues with
/// all checkpoints at its place and omits none.
fn after(headers: &[Header], cursor: &Cursor) -> usize {
    let SortKey(place) = SortKey::from_f64(cursor.place);
    let place_of = |header: &Header| header.sort_key.0.get(..place.len()).map(<[u8]>::to_vec);
    let first = headers.partition_point(|header| place_of(header).as_deref() > Some(&*place));
    let same = headers[first..].iter().take_while(|header| place_of(header).as_deref() == Some(&*place));
    match same.clone().position(|header| header.id == cursor.id) {
        Some(at) => first + at + 1,
        None => first,
    }
}
