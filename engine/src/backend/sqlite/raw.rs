//! Small payloads are stored raw under load, and compressed when the store is idle.
//!
//! Compressing a payload of 10 KB takes longer than the rest of the writer's work for it. A burst of saves is faster if
//! the payloads are compressed afterwards. Only keyframes are stored raw: deltas are small already.
//!
//! The setting [`setting::RAW_FROM`] holds the save number from which payloads may be raw. 0 or no setting means that
//! none is. The transaction that stores the first raw payload sets it, and the transaction that compresses the last one
//! clears it. After a crash, the next store that opens the file continues.

use rusqlite::Connection;

use super::chain::Chain;
use super::error::from_commit;
use super::payloads::Payloads;
use super::setting;
use super::watch::Watch;
use crate::backend::rebase::Payloads as _;
use crate::cache::PayloadCache;
use crate::codec::envelope;
use crate::codec::plan::{Effort, Row};
use crate::error::Result;
use crate::record::Seq;

/// A batch with at least this many units may store payloads raw.
const MANY: usize = 8;
/// The maximum number of bytes that wait for compression. Without this limit, a store that is never idle would grow to
/// more than twice its size.
const MOST_BYTES: u64 = 64 << 20;
/// The maximum number of payloads that a transaction compresses. The store's own saves do not wait for them, but the
/// writers of other processes do.
const STEP: usize = 32;
/// The maximum number of rows that a transaction examines.
const LOOK: usize = 1024;

/// The state of a connection's payloads that wait for compression.
#[derive(Debug)]
pub(super) struct RawPayloads {
    allowed: bool,
    /// The size of the raw payloads that this connection has stored since the last complete compression, in bytes.
    bytes: u64,
    /// False if no raw payload is left. True for a new connection, which does not know.
    pub(super) may_be_left: bool,
}

impl RawPayloads {
    /// Creates the state. If `allowed` is false, every payload is compressed when it is saved.
    pub(super) fn new(allowed: bool) -> Self {
        Self { allowed, bytes: 0, may_be_left: true }
    }

    /// Decides how much effort goes into the payloads of a batch.
    pub(super) fn effort(&self, units: usize) -> Effort {
        if self.allowed && units >= MANY && self.bytes < MOST_BYTES { Effort::Quick } else { Effort::Full }
    }

    /// Called when no raw payload is left.
    pub(super) fn none_left(&mut self) {
        (self.bytes, self.may_be_left) = (0, false);
    }

    /// Called after each commit, with the size of its raw payloads in bytes.
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.may_be_left |= bytes > 0;
    }
}

/// Compresses some raw payloads, in one transaction. Returns true if raw payloads may be left.
///
/// When `wanted` returns true, the transaction is rolled back, because a commit would take longer.
pub(super) fn compress(
    connection: &Connection,
    watch: &mut Watch,
    cache: &PayloadCache,
    wanted: &dyn Fn() -> bool,
) -> Result<bool> {
    // Check before the transaction: most stores have nothing to compress, and need no lock.
    if setting::raw_from(connection)?.is_none() {
        return Ok(false);
    }
    let transaction = watch.begin(connection)?;
    let Some(from) = setting::raw_from(&transaction)? else { return Ok(false) };
    let mut raw = Vec::new();
    let next = find(&transaction, from, &mut raw)?;
    let mut payloads = Payloads::new(&transaction, cache, Effort::Full);
    for (seq, body) in raw {
        if wanted() {
            return Ok(true);
        }
        // A check reports a damaged payload.
        let Ok(raw) = envelope::open_on(None, &[&body], cache.largest()) else { continue };
        let row = Row::keyframe(&raw);
        if row.body.len() < body.len() {
            payloads.rewrite(seq, &row)?;
        }
    }
    payloads.finish()?;
    setting::set_number(&transaction, setting::RAW_FROM, next.unwrap_or(0))?;
    transaction.commit().map_err(from_commit)?;
    Ok(next.is_some())
}

/// Adds the next raw payloads with their bodies to `found`. Returns the number at which to continue, or `None` at the
/// end.
fn find(connection: &Connection, from: Seq, found: &mut Vec<(Seq, Vec<u8>)>) -> Result<Option<Seq>> {
    // SQLite reads the length without reading the body.
    let sql = "SELECT seq, chain, length(body) FROM checkpoint WHERE seq >= ? ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut body = connection.prepare_cached("SELECT body FROM checkpoint WHERE seq = ?")?;
    let mut rows = statement.query([from])?;
    let mut looked = 0;
    while let Some(row) = rows.next()? {
        let (seq, stored) = (row.get(0)?, row.get(2)?);
        looked += 1;
        let chain = Chain::decode(seq, row.get_ref(1)?.as_blob()?);
        if chain.is_ok_and(|chain| Row::is_raw(chain.base, chain.size, stored)) {
            found.push((seq, body.query_row([seq], |row| row.get(0))?));
        }
        if found.len() == STEP || looked == LOOK {
            return Ok(Some(seq + 1));
        }
    }
    Ok(None)
}
