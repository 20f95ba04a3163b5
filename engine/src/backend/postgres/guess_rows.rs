//! The statements of a guess, and their parameters.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::heads::Head;
use super::key::{Name, number};
use super::value::{Value, values};
use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::record::Seq;

/// Locks lineages by number.
pub(super) const LOCK: &str = "SELECT lin FROM @lineage WHERE lin = ANY($1) ORDER BY lin FOR NO KEY UPDATE";

/// The text of [`STORE`] and [`STORE_AND_CLAIM`]. `guess` has a row that says whether the guess is right, and `put` the new
/// rows. `place` is the place of a row in the batch, from 1.
macro_rules! store {
    ($($more:expr)?) => {
        concat!(
            "WITH guess AS (
               SELECT NOT EXISTS (
                 SELECT FROM unnest($1, $2, $20) AS head(lin, seq, call) WHERE NOT EXISTS (SELECT FROM (
                   SELECT c.seq, c.call FROM @checkpoint AS c WHERE c.lin = head.lin
                   ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1) AS newest
                 WHERE newest.seq = head.seq AND newest.call = head.call))
               AND NOT EXISTS (
                 SELECT FROM unnest($3, $4) AS given(contract, id) JOIN @checkpoint AS c
                   ON c.contract = given.contract AND sha256(c.id) = sha256(given.id) AND c.id = given.id) AS is_right
             ), put AS (
               SELECT nextval('@save_order') AS seq, given.*
               FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) WITH ORDINALITY
                    AS given(contract, id, lin, saved_at, flags, sum, parent, grp, label, sort_key, meta, base, depth, budget, size, body,
                             place)
               WHERE (SELECT is_right FROM guess)
             ), checkpoints AS (
               INSERT INTO @checkpoint
                 (seq, lin, contract, call, saved_at, flags, sum, id, parent, grp, label, sort_key, meta)
               SELECT seq, lin, contract, $19, saved_at, flags, sum, id, parent, grp, label, sort_key, meta FROM put
             ), payloads AS (
               INSERT INTO @payload (seq, call, base, depth, budget, size, body)
               SELECT put.seq, $19, CASE WHEN put.base < 0 THEN earlier.seq ELSE nullif(put.base, 0) END,
                      put.depth, put.budget, put.size, put.body
               FROM put LEFT JOIN put AS earlier ON earlier.place = -put.base
             )",
            $($more,)?
            "SELECT seq FROM put ORDER BY place"
        )
    };
}

/// Verifies the guess, and stores checkpoints with their payloads. A base below zero is the place of another payload of
/// the same statement. Returns the save numbers, or no row if the guess is wrong.
pub(super) const STORE: &str = store!();

/// As [`STORE`]. If the guess is right, claims pending writes too. Most saves claim the writes of their parent, and one
/// statement is shorter than two.
pub(super) const STORE_AND_CLAIM: &str = store!(
    ", claims AS (
       SELECT given.*, nextval('@claim_order') AS claim
       FROM unnest($21, $22, $23, $24) AS given(contract, id, claimed_by, claim_sum) WHERE (SELECT is_right FROM guess)
     ), claimed AS (
       UPDATE @write AS w SET claimed = claims.claimed_by, claim_sum = claims.claim_sum, claim = claims.claim FROM claims
       WHERE w.contract = claims.contract AND sha256(w.id) = sha256(claims.id) AND w.id = claims.id AND w.claimed IS NULL
     )"
);

/// True if this batch stored its checkpoints, or has none.
macro_rules! was_right {
    () => {
        "(octet_length($1) = 0 OR EXISTS (
           SELECT 1 FROM @checkpoint AS c
           WHERE c.contract = $2 AND sha256(c.id) = sha256($1) AND c.id = $1 AND c.call = $3))"
    };
}

/// Stores pending writes, if the guess was right.
pub(super) const WRITES: &str = concat!(
    "INSERT INTO @write (contract, id, call, task, replaces, claimed, claim_sum, sum, body)
       SELECT contract, id, $3, task, replaces <> 0, claimed, claim_sum, sum, body
       FROM unnest($4, $5, $6, $7, $8, $9, $10, $11)
            AS u(contract, id, task, replaces, claimed, claim_sum, sum, body) WHERE ",
    was_right!()
);

/// Claims pending writes, if the guess was right.
pub(super) const CLAIMS: &str = concat!(
    "WITH claims AS MATERIALIZED (
       SELECT contract, id, claimed_by, claim_sum, nextval('@claim_order') AS claim
       FROM unnest($4, $5, $6, $7) AS u(contract, id, claimed_by, claim_sum) WHERE ",
    was_right!(),
    ") UPDATE @write AS w SET claimed = u.claimed_by, claim_sum = u.claim_sum, claim = u.claim FROM claims AS u
       WHERE w.contract = u.contract AND sha256(w.id) = sha256(u.id) AND w.id = u.id AND w.claimed IS NULL"
);

/// The rows of a put, but for its save number.
pub(super) struct Put {
    pub(super) head: Head,
    pub(super) parent: Option<Bytes>,
    pub(super) meta: Bytes,
    pub(super) flags: i16,
    pub(super) sum: i64,
    pub(super) size: i64,
    pub(super) row: Row,
    pub(super) payload: CachedPayload,
    /// The payload that the new one replaces in the cache.
    pub(super) supersedes: Option<Seq>,
}

/// The claim of the pending writes of a checkpoint.
pub(super) struct Claim {
    pub(super) of: Name,
    pub(super) claimed_by: Vec<u8>,
    pub(super) sum: i64,
}

/// A pending write as a row.
pub(super) struct WriteRow {
    pub(super) contract: i16,
    pub(super) id: Vec<u8>,
    pub(super) task: Vec<u8>,
    pub(super) replaces: bool,
    pub(super) claimed: Option<Vec<u8>>,
    pub(super) claim_sum: Option<i64>,
    pub(super) sum: i64,
    pub(super) body: Vec<u8>,
}

/// The parameters of [`STORE`], and the first ones of [`STORE_AND_CLAIM`].
///
/// `heads` are the lineages, with the save numbers and the random numbers of the newest checkpoints that they must have.
pub(super) fn columns(heads: &BTreeMap<i64, (Seq, i64)>, puts: &[Put], call: i64) -> Vec<Value> {
    fn each<T>(puts: &[Put], of: impl Fn(&Put) -> T) -> Vec<T> {
        puts.iter().map(of).collect()
    }
    let text = |text: &str| text.as_bytes().to_vec();
    values![
        heads.keys().copied().collect::<Vec<_>>(),
        heads.values().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        each(puts, |put| number(put.head.header.contract)),
        each(puts, |put| text(&put.head.header.id)),
        each(puts, |put| put.head.lin),
        each(puts, |put| put.head.header.saved_at),
        each(puts, |put| put.flags),
        each(puts, |put| put.sum),
        each(puts, |put| put.parent.as_deref().map(<[u8]>::to_vec)),
        each(puts, |put| text(&put.head.header.group)),
        each(puts, |put| text(&put.head.header.label)),
        each(puts, |put| put.head.header.sort_key.0.clone()),
        each(puts, |put| put.meta.to_vec()),
        each(puts, |put| put.row.base.unwrap_or(0)),
        each(puts, |put| put.row.depth),
        each(puts, |put| put.row.budget),
        each(puts, |put| put.size),
        each(puts, |put| put.row.body.to_vec()),
        call,
        heads.values().map(|(_, call)| *call).collect::<Vec<_>>(),
    ]
}

/// The last parameters of [`STORE_AND_CLAIM`] and [`CLAIMS`].
pub(super) fn claim_columns(claims: Vec<Claim>) -> Vec<Value> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Claim { of: (contract, id), claimed_by, sum } in claims {
        columns.0.push(contract);
        columns.1.push(id);
        columns.2.push(claimed_by);
        columns.3.push(sum);
    }
    values![columns.0, columns.1, columns.2, columns.3]
}

/// The parameters of [`WRITES`] after the first three.
pub(super) fn write_columns(rows: Vec<WriteRow>) -> Vec<Value> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        columns.0.push(row.contract);
        columns.1.push(row.id);
        columns.2.push(row.task);
        columns.3.push(i16::from(row.replaces));
        columns.4.push(row.claimed);
        columns.5.push(row.claim_sum);
        columns.6.push(row.sum);
        columns.7.push(row.body);
    }
    values![columns.0, columns.1, columns.2, columns.3, columns.4, columns.5, columns.6, columns.7]
}
