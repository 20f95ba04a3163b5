//! The statements of a guess, and their parameters.

use bytes::Bytes;

use super::heads::Head;
use super::row::number;
use super::schema::key;
use super::value::{Value, values};
use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::record::Seq;

/// Locks lineages by number.
pub(super) const LOCK: &str = "SELECT lin FROM @lineage WHERE lin = ANY($1) ORDER BY lin FOR NO KEY UPDATE";

/// Verifies the guess, and stores checkpoints with their payloads. A base below zero is the place of another payload of
/// the same statement. Returns the save numbers, or no row if the guess is wrong.
pub(super) const STORE: &str = concat!(
    "WITH holds AS MATERIALIZED (
       SELECT NOT EXISTS (
         SELECT 1 FROM unnest($1, $2) AS g(lin, newest) WHERE g.newest IS DISTINCT FROM (
           SELECT c.seq FROM @checkpoint AS c WHERE c.lin = g.lin
           ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1))
       AND NOT EXISTS (
         SELECT 1 FROM unnest($3, $4) AS w(contract, id) JOIN @checkpoint AS c ON c.contract = w.contract AND ",
    key!("c.id"),
    " = ",
    key!("w.id"),
    " AND c.id = w.id) AS all_of_it
     ), new AS MATERIALIZED (
       SELECT nextval('@save_order') AS seq, u.*
       FROM unnest($3, $4, $5, $6, $7, $8, $9, $10,
                   $11, $12, $13, $14, $15, $16, $17, $18)
            WITH ORDINALITY AS u(contract, id, lin, saved_at, flags, sum, parent, grp, label, sort_key, meta,
                                 base, depth, budget, size, body, place)
       WHERE (SELECT all_of_it FROM holds)
     ), stored AS (
       INSERT INTO @checkpoint (seq, lin, contract, call, saved_at, flags, sum, id, parent, grp, label, sort_key, meta)
       SELECT seq, lin, contract, $19, saved_at, flags, sum, id, parent, grp, label, sort_key, meta FROM new
     ), filled AS (
       INSERT INTO @payload (seq, call, base, depth, budget, size, body)
       SELECT n.seq, $19, CASE WHEN n.base < 0 THEN b.seq ELSE nullif(n.base, 0) END, n.depth, n.budget, n.size, n.body
       FROM new AS n LEFT JOIN new AS b ON b.place = -n.base
     ) SELECT seq FROM new ORDER BY place"
);

/// True if this batch stored its checkpoints, or has none.
macro_rules! was_right {
    () => {
        concat!(
            "(octet_length($1) = 0 OR EXISTS (SELECT 1 FROM @checkpoint AS c WHERE c.contract = $2 AND ",
            key!("c.id"),
            " = ",
            key!("$1"),
            " AND c.id = $1 AND c.call = $3))"
        )
    };
}

/// Stores pending writes, if the guess was right.
pub(super) const WRITES: &str = concat!(
    "INSERT INTO @write (contract, id, call, task, replaces, claimed, sum, body)
       SELECT contract, id, $3, task, replaces <> 0, claimed, sum, body
       FROM unnest($4, $5, $6, $7, $8, $9, $10)
            AS u(contract, id, task, replaces, claimed, sum, body) WHERE ",
    was_right!()
);

/// Claims pending writes, if the guess was right.
pub(super) const CLAIMS: &str = concat!(
    "WITH claims AS MATERIALIZED (
       SELECT contract, id, claimed_by, nextval('@claim_order') AS claim
       FROM unnest($4, $5, $6) AS u(contract, id, claimed_by) WHERE ",
    was_right!(),
    ") UPDATE @write AS w SET claimed = u.claimed_by, claim = u.claim FROM claims AS u WHERE w.contract = u.contract AND ",
    key!("w.id"),
    " = ",
    key!("u.id"),
    " AND w.id = u.id AND w.claimed IS NULL"
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

/// A pending write as a row.
pub(super) struct WriteRow {
    pub(super) contract: i16,
    pub(super) id: Vec<u8>,
    pub(super) task: Vec<u8>,
    pub(super) replaces: bool,
    pub(super) claimed: Option<Vec<u8>>,
    pub(super) sum: i64,
    pub(super) body: Vec<u8>,
}

/// The parameters of [`STORE`].
pub(super) fn columns(lins: Vec<i64>, newest: Vec<Seq>, puts: &[Put], call: i64) -> Vec<Value> {
    fn each<T>(puts: &[Put], of: impl Fn(&Put) -> T) -> Vec<T> {
        puts.iter().map(of).collect()
    }
    let text = |text: &str| text.as_bytes().to_vec();
    values![
        lins,
        newest,
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
    ]
}

/// The parameters of [`WRITES`] after the first three.
pub(super) fn write_columns(rows: Vec<WriteRow>) -> Vec<Value> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        columns.0.push(row.contract);
        columns.1.push(row.id);
        columns.2.push(row.task);
        columns.3.push(i16::from(row.replaces));
        columns.4.push(row.claimed);
        columns.5.push(row.sum);
        columns.6.push(row.body);
    }
    values![columns.0, columns.1, columns.2, columns.3, columns.4, columns.5, columns.6]
}
