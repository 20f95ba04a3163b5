//! Builds checkpoints from their rows and their payloads.

use super::payloads;
use super::row::HeaderRow;
use super::transaction::Transaction;
use crate::backend::logs::Mark;
use crate::backend::marks::decode_marks;
use crate::cache::{CachedPayload, PayloadCache};
use crate::codec::frame;
use crate::error::Result;
use crate::names;
use crate::record::{Checkpoint, Header};

/// The maximum number of payloads that one statement reads.
const MOST_AT_ONCE: usize = 128;

pub(super) fn load(open: &Transaction<'_>, cache: &PayloadCache, row: HeaderRow) -> Result<Checkpoint> {
    let payload = payloads::load_row(open, cache, &row);
    whole(row.header, payload, row.logs.as_deref())
}

pub(super) fn load_all(open: &Transaction<'_>, cache: &PayloadCache, rows: &[HeaderRow]) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::with_capacity(rows.len());
    for rows in rows.chunks(MOST_AT_ONCE) {
        let payloads = payloads::load_all(open, cache, &rows.iter().collect::<Vec<_>>())?;
        for (row, payload) in rows.iter().zip(payloads) {
            found.push(whole(row.header.clone(), payload, row.logs.as_deref())?);
        }
    }
    Ok(found)
}

/// A checkpoint from its row and its payload.
pub(super) fn whole(header: Header, payload: Result<CachedPayload>, logs: Option<&[u8]>) -> Result<Checkpoint> {
    let payload = payload
        .and_then(|payload| frame::split(&payload.raw))
        .map_err(|error| error.context(&names::checkpoint(header.contract, &header.id)))?;
    let marks = decode_marks(logs)?;
    Ok(Checkpoint { header, payload, logs: marks.iter().map(Mark::shown).collect() })
}
