//! Stores payloads as keyframes, or as deltas against other payloads of the same lineage.
//!
//! A delta refers to its base by save number. Save numbers are not reused, and their payloads never change, while the
//! database goes forward. A server that is restored, or fails over to a lagging replica, goes back and reuses numbers.
//! Every statement therefore reads the row's checksum, and a cached payload is used only if the checksum matches.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use tokio_postgres::Row;

use super::row::{self, HeaderRow};
use super::transaction::Transaction;
use super::value::values;
use crate::backend::chain::open;
use crate::backend::number::signed;
use crate::backend::rebase;
use crate::cache::{CachedPayload, LineageTip, NewEntry, PayloadCache};
use crate::codec::plan::{self, Base, Effort, plan};
use crate::codec::{envelope, frame};
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{ContractId, Encoded, Header, Payload, PayloadKey, Seq};

/// The minimum size of a payload, in raw bytes, for which the cache keeps a tip. The next payload of the lineage can
/// then be encoded ahead of time.
const WORTH_A_TIP: usize = 1 << 10;

/// The lineage's tip, if its newest payload has enough bytes.
pub(super) fn tip(header: &Header, bytes: usize, base: Base) -> Option<((ContractId, String), LineageTip)> {
    let tip = || LineageTip { key: base.key, id: header.id.clone(), depth: base.depth, budget: base.budget };
    (bytes >= WORTH_A_TIP).then(|| ((header.contract, header.lineage.clone()), tip()))
}

/// The maximum size of a stored payload in bytes. A server needs several copies in memory, and refuses 1 GiB.
const LARGEST: usize = 256 << 20;

/// The maximum length of a chain. A longer chain is damaged.
const MOST_LINKS: usize = 1000;

/// The maximum number of cached payloads that a read sends to the server. The server then sends a chain only down to
/// the first of them.
const MOST_HELD: usize = 32;

pub(super) struct New<'a> {
    pub(super) seq: Seq,
    pub(super) call: i64,
    pub(super) header: &'a Header,
    pub(super) raw: Bytes,
    /// The encoded payload, if it was encoded ahead of time.
    pub(super) encoded: Option<&'a Encoded>,
    /// A similar payload, which becomes the base if a delta is worthwhile.
    pub(super) base: Option<Base>,
}

/// The payloads as seen by an open transaction.
pub(super) struct Payloads<'a> {
    open: &'a Transaction<'a>,
    cache: &'a PayloadCache,
    /// The payloads that this transaction has stored. They are added to the shared cache only after the commit.
    stored: BTreeMap<Seq, NewEntry>,
    /// The stored size of the payloads that the current unit has stored, in bytes. `None`: no payload was stored.
    pub(super) stored_bytes: Option<u64>,
}

impl<'a> Payloads<'a> {
    pub(super) fn new(open: &'a Transaction<'a>, cache: &'a PayloadCache) -> Self {
        Self { open, cache, stored: BTreeMap::new(), stored_bytes: None }
    }

    /// The maximum size of a payload, in bytes.
    pub(super) fn largest(&self) -> usize {
        self.cache.largest()
    }

    /// Stores a payload. Returns it as a base for the next payload.
    pub(super) fn store(&mut self, new: New<'_>) -> Result<Base> {
        let New { seq, call, header, raw, encoded, base } = new;
        let (row, misses) = plan(&raw, base, encoded, Effort::Full, self.largest(), |key| {
            self.load(key.seq, Some(key)).map(CachedPayload::into_base)
        })?;
        let supersedes = base.map(|base| base.key.seq);
        let key = row.key(seq);
        let plan::Row { base, depth, budget, body } = row;
        if body.len() > LARGEST {
            let message =
                format!("the checkpoint takes {} bytes: a Postgres server stores at most {LARGEST}", body.len());
            return Err(Error::invalid(message));
        }
        let bytes = body.len() as u64;
        self.open.later(
            "INSERT INTO @payload (seq, call, base, depth, budget, size, body) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            values![seq, call, base, depth, budget, signed(raw.len() as u64), body],
        );
        *self.stored_bytes.get_or_insert(0) += bytes;
        let base = Base { key, depth, budget };
        let tip = tip(header, raw.len(), base);
        self.stored.insert(seq, NewEntry { key, payload: CachedPayload { raw, misses }, supersedes, tip });
        Ok(base)
    }

    /// Loads the payload of a stored checkpoint and splits it into its parts.
    pub(super) fn parts(&self, row: &HeaderRow) -> Result<Payload> {
        let split = self.load(row.seq, row.key()).and_then(|payload| frame::split(&payload.raw));
        split.map_err(|error| error.context(&names::checkpoint(row.header.contract, &row.header.id)))
    }

    /// Loads a payload. `key` is given if the transaction has read it.
    pub(super) fn load(&self, seq: Seq, key: Option<PayloadKey>) -> Result<CachedPayload> {
        if let Some(NewEntry { payload, .. }) = self.stored.get(&seq) {
            return Ok(payload.clone());
        }
        match key.and_then(|key| self.cache.get(key)) {
            Some(payload) => Ok(payload),
            None => load(self.open, self.cache, seq, None),
        }
    }

    /// Returns the payloads that the transaction has stored. The caller adds them to the cache after the commit.
    pub(super) fn finish(self) -> Vec<NewEntry> {
        self.stored.into_values().collect()
    }
}

impl rebase::Payloads for Payloads<'_> {
    fn dependants(&self, bases: &[Seq], going: &HashSet<Seq>) -> Result<Vec<Seq>> {
        // One lookup for each base. For `base = ANY($1) ORDER BY seq`, the server might scan the entire index of `seq`.
        const SQL: &str = "SELECT p.seq FROM unnest($1) AS b(base)
             CROSS JOIN LATERAL (SELECT seq FROM @payload AS p WHERE p.base = b.base OFFSET 0) AS p
             WHERE NOT p.seq = ANY($2) ORDER BY p.seq DESC";
        let going: Vec<Seq> = going.iter().copied().collect();
        Ok(row::numbers(&self.open.query(SQL, values![bases.to_vec(), going])?))
    }

    fn describe(&self, seq: Seq) -> String {
        match row::by_seq(self.open, seq) {
            Ok(Some(row)) => names::checkpoint(row.header.contract, &row.header.id),
            _ => format!("row {seq}"),
        }
    }

    fn load(&self, seq: Seq) -> Result<CachedPayload> {
        Payloads::load(self, seq, None)
    }

    fn rewrite(&mut self, seq: Seq, row: &plan::Row) -> Result<i64> {
        const SQL: &str = "UPDATE @payload AS p SET base = NULL, depth = 0, budget = $2, body = $3
            FROM (SELECT seq, octet_length(body) AS bytes FROM @payload WHERE seq = $1) AS before
            WHERE p.seq = before.seq RETURNING before.bytes";
        let before = self.open.one(SQL, values![seq, row.budget, row.body.clone()])?;
        Ok(before.map_or(0, |before| signed(row.body.len() as u64) - i64::from(before.get::<_, i32>(0))))
    }

    fn delete(&mut self, seqs: &[Seq], _: &HashSet<Seq>) -> Result<i64> {
        const SQL: &str =
            "WITH gone AS (DELETE FROM @payload WHERE seq = ANY($1) RETURNING octet_length(body) AS bytes)
            SELECT coalesce(sum(bytes), 0)::bigint FROM gone";
        for seq in seqs {
            self.stored.remove(seq);
        }
        Ok(self.open.one(SQL, values![seqs.to_vec()])?.map_or(0, |row| row.get(0)))
    }
}

/// Selects the chain of a payload, down to the first payload that the reader has, or to the keyframe. For a payload
/// that the reader has, reads only the checksum. `$found` selects the save number. `$held` is the parameter with the
/// save numbers of the reader's payloads.
macro_rules! chain {
    ($found:expr, $held:literal) => {
        concat!(
            "WITH RECURSIVE found AS MATERIALIZED (",
            $found,
            "), chain AS (
               SELECT p.seq, p.call, p.base, p.body, p.seq = ANY(",
            $held,
            ") AS held, 0 AS n FROM found JOIN @payload AS p USING (seq) UNION ALL
               SELECT p.seq, p.call, p.base, p.body, p.seq = ANY(",
            $held,
            "), chain.n + 1 FROM chain JOIN @payload AS p ON p.seq = chain.base WHERE chain.n < 1000 AND NOT chain.held)
             SELECT seq, call, base, CASE WHEN held THEN substr(body, 1, 9) ELSE body END FROM chain ORDER BY n"
        )
    };
}
pub(super) use chain;

/// Cached payloads that a read may build on. The read holds them, because the cache may drop them in the meantime.
pub(super) struct Held(HashMap<Seq, (u64, CachedPayload)>);

impl Held {
    pub(super) fn new(cache: &PayloadCache, below: Seq) -> Self {
        Self(cache.recent(below, MOST_HELD))
    }

    pub(super) fn and_newest(mut self, cache: &PayloadCache, contract: ContractId, lineage: &str) -> Self {
        self.0.extend(cache.newest(contract, lineage).map(|(tip, payload)| (tip.key.seq, (tip.key.sum, payload))));
        self
    }

    pub(super) fn seqs(&self) -> Vec<Seq> {
        self.0.keys().copied().collect()
    }

    /// Rebuilds the payload with this save number from the rows of [`chain`]. If `call` is given, the payload must
    /// belong to the checkpoint with this number.
    pub(super) fn rebuild<R: Borrow<Row>>(
        &self,
        cache: &PayloadCache,
        seq: Seq,
        call: Option<i64>,
        rows: &[R],
    ) -> Result<CachedPayload> {
        let corrupt =
            |what: &str| Error::new(Code::Corrupt, format!("row {seq}: {what}: restore the database from a backup"));
        let (mut chain, mut next, mut below) = (Vec::with_capacity(rows.len()), Some(seq), None);
        for row in rows {
            let row: &Row = row.borrow();
            let (link, base): (Seq, Option<Seq>) = (row.get(0), row.get(2));
            if next != Some(link) || base.is_some_and(|base| base >= link) {
                return Err(corrupt("the base of its payload is not older than the payload"));
            }
            if link == seq && call.is_some_and(|call| call != row.get::<_, i64>(1)) {
                return Err(corrupt("its payload belongs to another checkpoint"));
            }
            let body: &[u8] = row.get(3);
            if let Some((sum, payload)) = self.0.get(&link) {
                if envelope::sum(body) != Some(*sum) {
                    return Err(went_back(cache));
                }
                if link == seq {
                    return Ok(payload.clone());
                }
                below = Some(&payload.raw[..]);
                break;
            }
            chain.push((link, body.to_vec()));
            next = base;
        }
        open(below, &chain, cache)
    }
}

/// The error when the database lacks cached rows. Drops the entire cache, so that a retry reads the database.
fn went_back(cache: &PayloadCache) -> Error {
    cache.clear();
    Error::new(Code::Busy, "the database was restored to an earlier state: try again")
}

/// Loads the payload of a row, from the cache or from the database.
pub(super) fn load_row(open: &Transaction<'_>, cache: &PayloadCache, row: &HeaderRow) -> Result<CachedPayload> {
    match row.key().and_then(|key| cache.get(key)) {
        Some(payload) => Ok(payload),
        None => load(open, cache, row.seq, Some(row.call)),
    }
}

/// Loads the raw payload with this save number. One statement reads its chain, down to a cached payload. If `call` is
/// given, the payload must belong to the checkpoint with this number.
fn load(open: &Transaction<'_>, cache: &PayloadCache, seq: Seq, call: Option<i64>) -> Result<CachedPayload> {
    let held = Held::new(cache, seq.saturating_add(1));
    let rows = open.query(chain!("SELECT $1::bigint AS seq", "$2"), values![seq, held.seqs()])?;
    held.rebuild(cache, seq, call, &rows)
}

/// Selects the rows of the chains of several payloads, each row once. `$found` selects the save numbers. `$held` is the
/// parameter with the save numbers of the reader's payloads.
///
/// Looks up each row. The server estimates chains as ten times longer than they can be, and would otherwise scan the
/// entire table for a thousand of them.
macro_rules! chains {
    ($found:expr, $held:literal) => {
        concat!(
            "WITH RECURSIVE chain AS (
               SELECT p.seq, p.base FROM (",
            $found,
            ") AS found(seq) CROSS JOIN LATERAL (SELECT seq, base FROM @payload AS p WHERE p.seq = found.seq OFFSET 0) AS p
               UNION SELECT p.seq, p.base FROM chain
               CROSS JOIN LATERAL (SELECT seq, base FROM @payload AS p WHERE p.seq = chain.base OFFSET 0) AS p
               WHERE NOT (chain.seq = ANY(",
            $held,
            ")))
             SELECT p.seq, p.call, p.base, CASE WHEN p.seq = ANY(",
            $held,
            ") THEN substr(p.body, 1, 9) ELSE p.body END
             FROM chain CROSS JOIN LATERAL (SELECT * FROM @payload AS p WHERE p.seq = chain.seq OFFSET 0) AS p"
        )
    };
}
pub(super) use chains;

/// Loads the payloads of several rows. One statement reads the rows of all chains.
pub(super) fn load_all(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    wanted: &[&HeaderRow],
) -> Result<Vec<Result<CachedPayload>>> {
    // Look only once: a save may drop a payload from the cache during the round trip.
    let cached = cached(cache, wanted);
    let is_missing = |(row, payload): (&&HeaderRow, &Option<_>)| payload.is_none().then_some(row.seq);
    let missing: Vec<Seq> = wanted.iter().zip(&cached).filter_map(is_missing).collect();
    let mut held = Held::new(cache, Seq::MAX);
    held.0.retain(|seq, _| !missing.contains(seq));
    let sql = chains!("SELECT unnest($1)", "$2");
    let rows = if missing.is_empty() { Vec::new() } else { open.query(sql, values![missing, held.seqs()])? };
    rebuild_all(held, cache, wanted, cached, &rows)
}

/// Returns the cached payloads of several rows.
pub(super) fn cached(cache: &PayloadCache, wanted: &[&HeaderRow]) -> Vec<Option<CachedPayload>> {
    wanted.iter().map(|row| row.key().and_then(|key| cache.get(key))).collect()
}

/// Returns the payloads of several rows. Those that are not in `cached` come from the rows of [`chains`].
pub(super) fn rebuild_all(
    mut held: Held,
    cache: &PayloadCache,
    wanted: &[&HeaderRow],
    cached: Vec<Option<CachedPayload>>,
    rows: &[Row],
) -> Result<Vec<Result<CachedPayload>>> {
    let mut loaded: Vec<Option<Result<CachedPayload>>> = cached.into_iter().map(|payload| payload.map(Ok)).collect();
    let rows: HashMap<Seq, &Row> = rows.iter().map(|row| (row.get(0), row)).collect();
    // A base is older than its deltas, so in this order most payloads are one delta from the previous one.
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.retain(|at| loaded[*at].is_none());
    order.sort_by_key(|at| wanted[*at].seq);
    for at in order {
        let HeaderRow { seq, call, .. } = wanted[at];
        let mut chain: Vec<&Row> = Vec::new();
        let mut next = Some(*seq);
        while let Some(row) = next.and_then(|seq| rows.get(&seq)).filter(|_| chain.len() < MOST_LINKS) {
            chain.push(row);
            next = row.get::<_, Option<Seq>>(2).filter(|_| !held.0.contains_key(&row.get(0)));
        }
        let payload = held.rebuild(cache, *seq, Some(*call), &chain);
        if let Err(error) = &payload
            && error.code() == Code::Busy
        {
            return Err(error.clone());
        }
        if let Ok(payload) = &payload
            && let Some(sum) = chain.first().and_then(|row| row::sum(row, 3))
        {
            held.0.insert(*seq, (sum, payload.clone()));
        }
        loaded[at] = Some(payload);
    }
    Ok(loaded.into_iter().flatten().collect())
}
