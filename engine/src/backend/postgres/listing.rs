//! Lists checkpoints and lineages.

use tokio_postgres::Row;

use super::key::number;
use super::prefix::begins_with;
use super::row::{self, HeaderRow, columns, columns_with_sum};
use super::transaction::Transaction;
use super::value::{Value, values};
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::query::{ActivityOrder, Of, Recent};
use crate::record::{Active, ContractId, Lineage, Seq, SortKey};

/// The statements of a listing: the newest first with a sort key below `$1`, and the oldest first with sort keys that begin with
/// `$1` and with the checksums of their payloads.
macro_rules! both_orders {
    ($from:expr) => {
        [
            concat!(
                "SELECT ",
                columns!(),
                " FROM ",
                $from,
                " AND ($1::bytea IS NULL OR c.sort_key < $1)
                 ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT $2"
            ),
            concat!(
                "SELECT ",
                columns_with_sum!(),
                " FROM ",
                $from,
                " AND substr(c.sort_key, 1, octet_length($1::bytea)) = $1 AND $2::bigint IS NULL
                 ORDER BY substr(c.sort_key, 1, 1000), c.sort_key, c.seq"
            ),
        ]
    };
}

macro_rules! of_contract {
    () => {
        "@checkpoint AS c LEFT JOIN @lineage AS l USING (lin) WHERE c.contract = $3"
    };
}
macro_rules! of_lineages {
    () => {
        concat!(
            "@checkpoint AS c JOIN @lineage AS l USING (lin) WHERE l.contract = $3 AND ",
            begins_with!("l.name", "$4")
        )
    };
}
macro_rules! of_lineage {
    () => {
        "@lineage AS l JOIN @checkpoint AS c USING (lin)
         WHERE l.contract = $3 AND substr(sha256(l.name), 1, 16) = substr(sha256($4), 1, 16) AND l.name = $4"
    };
}
macro_rules! of_labelled {
    () => {
        concat!(
            of_lineages!(),
            " AND substr(sha256(c.label), 1, 16) = substr(sha256($5), 1, 16) AND c.label = $5 AND c.label <> ''"
        )
    };
}
macro_rules! of_group {
    () => {
        "@checkpoint AS c LEFT JOIN @lineage AS l USING (lin)
         WHERE c.contract = $3 AND substr(sha256(c.grp), 1, 16) = substr(sha256($4), 1, 16) AND c.grp = $4 AND c.grp <> ''"
    };
}
macro_rules! of_both {
    () => {
        concat!(of_lineage!(), " AND c.grp = $5 AND c.grp <> ''")
    };
}

fn statements(of: &Of) -> [&'static str; 2] {
    match of {
        Of::Contract => both_orders!(of_contract!()),
        Of::Lineage(_) => both_orders!(of_lineage!()),
        Of::Lineages(_) => both_orders!(of_lineages!()),
        Of::Labelled { .. } => both_orders!(of_labelled!()),
        Of::Group(_) => both_orders!(of_group!()),
        Of::LineageInGroup { .. } => both_orders!(of_both!()),
    }
}

fn parameters(contract: ContractId, of: &Of, bound: Value, limit: Value) -> Vec<Value> {
    let mut given = vec![bound, limit, number(contract).into()];
    match of {
        Of::Contract => {}
        Of::Lineage(name) | Of::Lineages(name) | Of::Group(name) => given.push(name.into()),
        Of::Labelled { prefix, label } => given.extend([prefix.into(), label.into()]),
        Of::LineageInGroup { lineage, group } => given.extend([lineage.into(), group.into()]),
    }
    given
}

/// The rows of a listing, the newest first, with a sort key below `before`.
pub(super) fn newest(
    open: &Transaction<'_>,
    contract: ContractId,
    of: &Of,
    before: Option<&SortKey>,
    limit: usize,
) -> Result<Vec<HeaderRow>> {
    ask_newest(open, contract, of, before, limit);
    let [found] = open.last()?;
    found.iter().map(HeaderRow::read).collect()
}

/// Adds the statement of [`newest`] to the next flight.
pub(super) fn ask_newest(
    open: &Transaction<'_>,
    contract: ContractId,
    of: &Of,
    before: Option<&SortKey>,
    limit: usize,
) {
    let [newest_first, _] = statements(of);
    let before = before.map(|before| &before.0[..]).into();
    open.later(newest_first, parameters(contract, of, before, row::limit(limit)));
}

/// The rows of a listing whose sort keys begin with `prefix`, the oldest first, with the checksums of their payloads.
pub(super) fn oldest(open: &Transaction<'_>, contract: ContractId, of: &Of, prefix: &[u8]) -> Result<Vec<HeaderRow>> {
    let [_, oldest_first] = statements(of);
    let found = open.query(oldest_first, parameters(contract, of, prefix.into(), row::limit(usize::MAX)))?;
    found.iter().map(HeaderRow::read_with_sum).collect()
}

/// The save numbers of a lineage's checkpoints whose sort key is equal to or greater than `sort_key`.
pub(super) fn from_sort_key(open: &Transaction<'_>, lin: i64, sort_key: &SortKey) -> Result<Vec<Seq>> {
    let sql = "SELECT seq FROM @checkpoint WHERE lin = $1 AND sort_key >= $2 ORDER BY seq";
    Ok(row::numbers(&open.query(sql, values![lin, &sort_key.0[..]])?))
}

/// Lists lineages with their newest headers and their numbers of checkpoints. The condition selects from the lineages `l` that
/// have checkpoints. The newest of them has the save number `n.seq`.
macro_rules! lineages {
    ($condition:expr, $order:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", l.origin, (SELECT count(*) FROM @checkpoint AS o WHERE o.lin = l.lin)
             FROM (
               SELECT l.lin, n.seq FROM @lineage AS l CROSS JOIN LATERAL (
                 SELECT c.seq FROM @checkpoint AS c WHERE c.lin = l.lin
                 ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1) AS n
               WHERE ",
            $condition,
            ") AS wanted JOIN @lineage AS l USING (lin) JOIN @checkpoint AS c USING (seq) ORDER BY ",
            $order
        )
    };
}

fn lineage(row: &Row) -> Result<Lineage> {
    let HeaderRow { lin, header, .. } = HeaderRow::read(row)?;
    Ok(Lineage { position: lin, checkpoints: unsigned(row.get(17)), newest: header, origin: row::opt_text(row, 16)? })
}

/// Asks for a page of the lineages whose groups begin with a prefix, the latest first.
pub(super) fn ask_lineages(
    open: &Transaction<'_>,
    contract: ContractId,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) {
    const SQL: &str = lineages!(
        "l.contract = $1 AND substr(l.grp, 1, octet_length($2)) = $2 AND ($3::bigint IS NULL OR l.lin < $3) ORDER BY l.lin DESC LIMIT $4",
        "l.lin DESC"
    );
    open.later(SQL, values![number(contract), group_prefix, before, row::limit(limit)]);
}

pub(super) fn read_lineages(rows: &[Row]) -> Result<Vec<Lineage>> {
    rows.iter().map(lineage).collect()
}

/// The lineages that were forked from this one, the latest first.
pub(super) fn forks(open: &Transaction<'_>, lin: i64) -> Result<Vec<Lineage>> {
    open.query(lineages!("l.origin_lin = $1", "l.lin DESC"), values![lin]).and_then(|rows| read_lineages(&rows))
}

/// The lineages of a listing by activity.
pub(super) fn recent(open: &Transaction<'_>, recent: &Recent) -> Result<Vec<Active>> {
    macro_rules! by_activity {
        ($bound:literal, $order:literal) => {
            lineages!(
                concat!(
                    "l.contract = ANY($1) AND (NOT $2 OR l.name = l.grp) AND position($5 IN l.name) > 0
                     AND ($3::bigint IS NULL OR n.seq ",
                    $bound,
                    " $3) ORDER BY ",
                    $order,
                    " LIMIT $4"
                ),
                $order
            )
        };
    }
    let sql = match recent.order {
        ActivityOrder::LatestFirst => by_activity!("<", "seq DESC"),
        ActivityOrder::EarliestFirst => by_activity!(">", "seq"),
    };
    let contracts: Vec<i16> = recent.contracts.iter().copied().map(number).collect();
    let matching = recent.matching.as_str();
    let given = values![contracts, recent.named_as_group, recent.after, row::limit(recent.limit), matching];
    open.query(sql, given)?.iter().map(|row| Ok(Active { seq: row.get(0), lineage: lineage(row)? })).collect()
}
