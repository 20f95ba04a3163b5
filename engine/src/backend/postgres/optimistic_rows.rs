//! The statements of an optimistic write, and their parameters.

use std::collections::BTreeMap;

use super::heads::Head;
use super::key::{Name, number};
use super::prefix::is_name;
use super::value::{Value, values};
use super::{labels, status};
use crate::backend::number::signed;
use crate::cache::CachedPayload;
use crate::codec::plan::Row;
use crate::record::{ContractId, Labels, Seq, Status};

/// Locks lineages by their numbers, by the ids of their checkpoints, and by their names. Uses an array, because the
/// server would scan all lineages for `OR lin IN (SELECT ...)`.
pub(super) const LOCK: &str = "SELECT lin FROM @lineage WHERE lin = ANY($1) OR lin = ANY(ARRAY(
    SELECT c.lin FROM unnest($2, $3) AS w(contract, id) JOIN @checkpoint AS c
      ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
    UNION ALL SELECT l.lin FROM unnest($4, $5) AS w(contract, name) JOIN @lineage AS l
      ON l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name))
  ORDER BY lin FOR NO KEY UPDATE";

/// Checks that the rows of [`Needed`] exist, and that other lineages do not. The next statements of the transaction read the result from a setting, and
/// store nothing if a row is missing. This is a separate statement, because it must see everything that was committed
/// before the locks were granted.
pub(super) const LOOK: &str = "SELECT set_config('forkpoint.missing', CASE WHEN EXISTS (
    SELECT FROM unnest($1, $2, $3, $4) AS need(contract, id, name, lin)
    WHERE NOT EXISTS (
      SELECT FROM @checkpoint AS c
      WHERE c.contract = need.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(need.id), 1, 16) AND c.id = need.id)
    AND NOT EXISTS (
      SELECT FROM @lineage AS l JOIN LATERAL (SELECT FROM @checkpoint AS c WHERE c.lin = l.lin LIMIT 1) AS c ON true
      WHERE l.contract = need.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(need.name), 1, 16) AND l.name = need.name
        AND (need.lin IS NULL OR l.lin = need.lin)))
  OR EXISTS (
    SELECT FROM unnest($5, $6) AS absent(contract, name) JOIN @lineage AS l
      ON l.contract = absent.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(absent.name), 1, 16) AND l.name = absent.name)
  THEN 'yes' ELSE '' END, true)";

/// True unless [`LOOK`] has found that an assumption is wrong.
macro_rules! nothing_missing {
    () => {
        "coalesce(current_setting('forkpoint.missing', true), '') = ''"
    };
}
pub(super) use nothing_missing;

/// A row that must exist: the checkpoint with this id, or a lineage that has a checkpoint. The first number is the
/// contract's, and the last the lineage's. `None` as the last: any lineage with the name.
pub(super) type Needed = (i16, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>);

/// The first parameters of [`LOOK`].
pub(super) fn needed_columns(needed: Vec<Needed>) -> Vec<Value> {
    let (mut contracts, mut ids, mut names, mut lins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (contract, id, name, lin) in needed {
        contracts.push(contract);
        ids.push(id);
        names.push(name);
        lins.push(lin);
    }
    values![contracts, ids, names, lins]
}

/// The text of [`STORE`] and [`STORE_AND_CLAIM`]. `assumptions` has a row that says whether they hold, and `put` the
/// new rows. `ord` is the index of a row in the batch, from 1.
macro_rules! store {
    ($($more:expr)?) => {
        concat!(
            "WITH assumptions AS (
               SELECT ", nothing_missing!(), " AND NOT EXISTS (
                 SELECT FROM unnest($1, $2, $20) AS head(lin, seq, call) WHERE NOT EXISTS (SELECT FROM (
                   SELECT c.seq, c.call FROM @checkpoint AS c WHERE c.lin = head.lin
                   ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1) AS newest
                 WHERE newest.seq = head.seq AND newest.call = head.call))
               AND NOT EXISTS (
                 SELECT FROM unnest($3, $4) AS given(contract, id) JOIN @checkpoint AS c
                   ON c.contract = given.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(given.id), 1, 16) AND c.id = given.id
                 WHERE NOT c.seq = ANY($25))
               AND NOT EXISTS (SELECT FROM unnest($25) AS b(base) CROSS JOIN LATERAL (
                 SELECT FROM @payload AS p WHERE p.base = b.base LIMIT 1) AS p)
               AND NOT EXISTS (SELECT FROM @checkpoint AS c WHERE c.seq = ANY($25) AND c.logs IS NOT NULL)
               AND NOT EXISTS (
                 SELECT FROM unnest($21, $22) AS line(contract, name) JOIN @lineage AS l
                   ON l.contract = line.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(line.name), 1, 16) AND l.name = line.name) AS hold
             ), line AS MATERIALIZED (
               SELECT nextval('@lineage_order') AS lin, given.*
               FROM unnest($21, $22, $23, $24, $26) WITH ORDINALITY AS given(contract, name, grp, age_offset, status, ord)
               WHERE (SELECT hold FROM assumptions) AND given.age_offset IS NOT NULL
             ), lines AS (
               INSERT INTO @lineage (lin, contract, name, grp, age_offset, status, labels)
               SELECT lin, contract, name, grp, age_offset, status,
                      (SELECT array_agg(label) FROM unnest($27, $28) AS given(ord, label) WHERE given.ord = line.ord)
               FROM line ORDER BY contract, name
             ), replaced AS (
               DELETE FROM @checkpoint WHERE seq = ANY($25) AND (SELECT hold FROM assumptions) RETURNING seq
             ), replaced_payloads AS (
               DELETE FROM @payload WHERE seq = ANY($25) AND (SELECT hold FROM assumptions)
             ), put AS MATERIALIZED (
               SELECT nextval('@save_order') AS seq,
                      CASE WHEN given.lin < 0 THEN (SELECT array_agg(line.lin ORDER BY line.ord) FROM line)[-given.lin]
                           ELSE given.lin END AS in_lin,
                      given.*
               FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) WITH ORDINALITY
                    AS given(contract, id, lin, saved_at, flags, sum, parent, grp, label, sort_key, meta, base, depth, budget, size, body,
                             ord)
               WHERE (SELECT hold FROM assumptions) AND (SELECT count(*) FROM replaced) >= 0
             ), checkpoints AS (
               INSERT INTO @checkpoint
                 (seq, lin, contract, call, saved_at, flags, sum, id, parent, grp, label, sort_key, meta)
               SELECT seq, in_lin, contract, $19, saved_at, flags, sum, id, parent, grp, label, sort_key, meta FROM put
             ), payloads AS (
               INSERT INTO @payload (seq, call, base, depth, budget, size, body)
               SELECT seq, $19,
                      CASE WHEN base < 0 THEN (SELECT array_agg(earlier.seq ORDER BY earlier.ord) FROM put AS earlier)[-base]
                           ELSE nullif(base, 0) END,
                      depth, budget, size, body
               FROM put
             )",
            $($more,)?
            "SELECT seq, in_lin FROM put ORDER BY ord"
        )
    };
}

/// Verifies the assumptions, and stores checkpoints with their payloads. A negative base is the index of another
/// payload of the statement, and a negative lineage the index of a new lineage. Returns the save numbers with the
/// lineages, or no row if an assumption is wrong. Fails if another transaction begins one of the lineages at the same
/// time.
pub(super) const STORE: &str = store!();

/// Like [`STORE`], but also claims pending writes. Most saves claim the writes of their parent, and one statement is
/// shorter than two.
pub(super) const STORE_AND_CLAIM: &str = store!(concat!(
    ", claims AS (
       SELECT given.*, nextval('@claim_order') AS claim
       FROM unnest($29, $30, $31, $32) AS given(contract, id, claimed_by, claim_sum) WHERE (SELECT hold FROM assumptions)
     ), claimed AS (
       UPDATE @write AS w SET claimed = claims.claimed_by, claim_sum = claims.claim_sum, claim = claims.claim FROM claims
       WHERE w.contract = claims.contract AND w.claimed IS NULL AND ",
    is_name!("w.id", "claims.id"),
    ")"
));

/// A lineage that begins with the batch.
pub(super) struct NewLineage {
    pub(super) contract: ContractId,
    pub(super) name: String,
    pub(super) group: String,
    pub(super) age_offset: u8,
    /// The status of the first checkpoint.
    pub(super) status: Status,
    pub(super) labels: Labels,
}

/// The rows of a put, without its save number.
pub(super) struct Put {
    pub(super) head: Head,
    pub(super) meta: Vec<u8>,
    pub(super) flags: i16,
    pub(super) sum: i64,
    pub(super) row: Row,
    pub(super) payload: CachedPayload,
    /// The checkpoint with the same id, which is removed.
    pub(super) replaces: Option<Seq>,
    /// The payload to drop from the cache in favor of the new one.
    pub(super) supersedes: Option<Seq>,
}

/// The parameters of [`STORE`], which are the first parameters of [`STORE_AND_CLAIM`].
///
/// `heads` are the lineages, with the expected save numbers and random numbers of their newest checkpoints.
///
/// `new_lineages` are new lineages that must not exist yet. `absent` are other lineages that must not exist.
pub(super) fn columns(
    heads: &BTreeMap<i64, (Seq, i64)>,
    new_lineages: &[NewLineage],
    absent: &[Name],
    puts: &[Put],
    call: i64,
) -> Vec<Value> {
    fn each<T>(puts: &[Put], of: impl Fn(&Put) -> T) -> Vec<T> {
        puts.iter().map(of).collect()
    }
    let text = |text: &str| text.as_bytes().to_vec();
    let labels = new_lineages
        .iter()
        .zip(1_i64..)
        .flat_map(|(new, ord)| labels::elements(&new.labels).into_iter().map(move |label| (ord, label)));
    let (ords, labels): (Vec<i64>, Vec<Vec<u8>>) = labels.unzip();
    values![
        heads.keys().copied().collect::<Vec<_>>(),
        heads.values().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        each(puts, |put| number(put.head.header.contract)),
        each(puts, |put| text(&put.head.header.id)),
        each(puts, |put| put.head.lin),
        each(puts, |put| put.head.header.saved_at),
        each(puts, |put| put.flags),
        each(puts, |put| put.sum),
        each(puts, |put| put.head.header.parent.as_deref().map(text)),
        each(puts, |put| text(&put.head.header.group)),
        each(puts, |put| text(&put.head.header.label)),
        each(puts, |put| put.head.header.sort_key.0.clone()),
        each(puts, |put| put.meta.clone()),
        each(puts, |put| put.row.base.unwrap_or(0)),
        each(puts, |put| put.row.depth),
        each(puts, |put| put.row.budget),
        each(puts, |put| signed(put.payload.raw.len() as u64)),
        each(puts, |put| put.row.body.to_vec()),
        call,
        heads.values().map(|(_, call)| *call).collect::<Vec<_>>(),
        new_lineages.iter().map(|new| number(new.contract)).chain(absent.iter().map(|name| name.0)).collect::<Vec<_>>(),
        new_lineages
            .iter()
            .map(|new| text(&new.name))
            .chain(absent.iter().map(|name| name.1.clone()))
            .collect::<Vec<_>>(),
        new_lineages.iter().map(|new| text(&new.group)).collect::<Vec<_>>(),
        new_lineages.iter().map(|new| i16::from(new.age_offset)).collect::<Vec<_>>(),
        puts.iter().filter_map(|put| put.replaces).collect::<Vec<_>>(),
        new_lineages.iter().map(|new| status::parameter(new.status)).collect::<Vec<_>>(),
        ords,
        labels,
    ]
}
