//! Lists checkpoints and lineages.

use tokio_postgres::Row;

use super::key::number;
use super::prefix::begins_with;
use super::row::{self, HeaderRow, columns, columns_with_sum};
use super::transaction::Transaction;
use super::value::{Value, values};
use super::{labels, status};
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::query::{ActivityOrder, Of, Recent};
use crate::record::{ContractId, Lineage, Seq, SortKey};

/// The statements of a listing: the newest checkpoints first, with a sort key below `$1`; the oldest first, with a sort
/// key that begins with `$1` and with payload checksums; and the number of checkpoints.
macro_rules! listings {
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
            concat!("SELECT count(*) FROM ", $from, " AND $1::bytea IS NULL AND $2::bigint IS NULL"),
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

fn statements(of: &Of) -> [&'static str; 3] {
    match of {
        Of::Contract => listings!(of_contract!()),
        Of::Lineage(_) => listings!(of_lineage!()),
        Of::Lineages(_) => listings!(of_lineages!()),
        Of::Labelled { .. } => listings!(of_labelled!()),
        Of::Group(_) => listings!(of_group!()),
        Of::LineageInGroup { .. } => listings!(of_both!()),
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

/// The rows of a listing with a sort key below `before`, the newest first.
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

/// Adds the statement of [`newest`] to the next round trip.
pub(super) fn ask_newest(
    open: &Transaction<'_>,
    contract: ContractId,
    of: &Of,
    before: Option<&SortKey>,
    limit: usize,
) {
    let [newest_first, ..] = statements(of);
    let before = before.map(|before| &before.0[..]).into();
    open.later(newest_first, parameters(contract, of, before, row::limit(limit)));
}

/// Adds the statement that counts the checkpoints of a listing to the next round trip.
pub(super) fn ask_count(open: &Transaction<'_>, contract: ContractId, of: &Of) {
    let [.., count] = statements(of);
    open.later(count, parameters(contract, of, None::<&[u8]>.into(), None::<i64>.into()));
}

/// The rows of a listing whose sort keys begin with `prefix`, the oldest first, with the checksums of their payloads.
pub(super) fn oldest(open: &Transaction<'_>, contract: ContractId, of: &Of, prefix: &[u8]) -> Result<Vec<HeaderRow>> {
    let [_, oldest_first, _] = statements(of);
    let found = open.query(oldest_first, parameters(contract, of, prefix.into(), row::limit(usize::MAX)))?;
    found.iter().map(HeaderRow::read_with_sum).collect()
}

/// The save numbers of a lineage's checkpoints whose sort key is equal to or greater than `sort_key`.
pub(super) fn from_sort_key(open: &Transaction<'_>, lin: i64, sort_key: &SortKey) -> Result<Vec<Seq>> {
    let sql = "SELECT seq FROM @checkpoint WHERE lin = $1 AND sort_key >= $2 ORDER BY seq";
    Ok(row::numbers(&open.query(sql, values![lin, &sort_key.0[..]])?))
}

/// Selects `l.lin` and `n.seq` (the save number of the newest checkpoint) of lineages `l` that have checkpoints and
/// fulfill the condition.
macro_rules! newest_of {
    ($lineages:expr, $condition:expr) => {
        concat!(
            "SELECT l.lin, n.seq FROM ",
            $lineages,
            " CROSS JOIN LATERAL (
                 SELECT c.seq FROM @checkpoint AS c WHERE c.lin = l.lin
                 ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1) AS n
             WHERE ",
            $condition
        )
    };
}

/// Lists the lineages that a query selects, with their newest headers and their numbers of checkpoints.
macro_rules! lineages {
    ($wanted:expr, $order:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", l.origin, (SELECT count(*) FROM @checkpoint AS o WHERE o.lin = l.lin), l.status FROM (",
            $wanted,
            ") AS wanted JOIN @lineage AS l USING (lin) JOIN @checkpoint AS c USING (seq) ORDER BY ",
            $order
        )
    };
}

fn lineage(row: &Row) -> Result<Lineage> {
    let HeaderRow { lin: position, header: newest, seq, .. } = HeaderRow::read(row)?;
    let (origin, status) = (row::opt_text(row, 16)?, status::read(row, 18));
    Ok(Lineage { position, checkpoints: unsigned(row.get(17)), newest, seq, origin, status })
}

/// Asks for a page of the lineages whose groups begin with a prefix, the newest lineage first.
pub(super) fn ask_lineages(
    open: &Transaction<'_>,
    contract: ContractId,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) {
    const SQL: &str = lineages!(
        newest_of!(
            "@lineage AS l",
            "l.contract = $1 AND substr(l.grp, 1, octet_length($2)) = $2 AND ($3::bigint IS NULL OR l.lin < $3) ORDER BY l.lin DESC LIMIT $4"
        ),
        "l.lin DESC"
    );
    open.later(SQL, values![number(contract), group_prefix, before, row::limit(limit)]);
}

/// The number of last lineages that a listing of a group examines before it uses the index of groups.
const GROUP_VISITS: i64 = 10_000;

/// A page of the lineages whose groups begin with a prefix, the newest lineage first, from the index of groups.
pub(super) fn lineages_of_groups(
    open: &Transaction<'_>,
    contract: ContractId,
    group_prefix: &str,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Lineage>> {
    const SQL: &str = lineages!(
        concat!(
            "WITH far AS MATERIALIZED (SELECT least($3, (SELECT max(lin) FROM @lineage) + 1) - $5 AS lin), near AS MATERIALIZED (",
            newest_of!(
                "@lineage AS l",
                "l.contract = $1 AND substr(l.grp, 1, octet_length($2)) = $2 AND l.lin < $3 AND l.lin >= (SELECT lin FROM far)
                 ORDER BY l.lin DESC LIMIT $4"
            ),
            ") SELECT lin, seq FROM near UNION ALL SELECT lin, seq FROM (",
            // OFFSET 0: find and sort the lineages of the group by the index before looking up their checkpoints.
            newest_of!(
                concat!(
                    "(SELECT g.lin FROM @lineage AS g WHERE g.contract = $1 AND g.grp <> '' AND g.lin < (SELECT lin FROM far) AND ",
                    begins_with!("g.grp", "$2"),
                    " ORDER BY g.lin DESC OFFSET 0) AS l"
                ),
                "true ORDER BY l.lin DESC LIMIT $4 - (SELECT count(*) FROM near)"
            ),
            ") AS others"
        ),
        "l.lin DESC"
    );
    let before = before.unwrap_or(i64::MAX);
    let given = values![number(contract), group_prefix, before, row::limit(limit), GROUP_VISITS];
    open.query(SQL, given).and_then(|rows| read_lineages(&rows))
}

pub(super) fn read_lineages(rows: &[Row]) -> Result<Vec<Lineage>> {
    rows.iter().map(lineage).collect()
}

/// The lineages that were forked from this lineage, the newest first.
pub(super) fn forks(open: &Transaction<'_>, lin: i64) -> Result<Vec<Lineage>> {
    open.query(lineages!(newest_of!("@lineage AS l", "l.origin_lin = $1"), "l.lin DESC"), values![lin])
        .and_then(|rows| read_lineages(&rows))
}

/// A listing by activity visits this many checkpoints, and `MORE_VISITS` more for each lineage of its page.
const VISITS: usize = 1_000;
const MORE_VISITS: usize = 10;

/// Lists lineages by activity, without an index of activity.
///
/// The statement visits checkpoints in save order, and finds the lineages whose newest checkpoint is among them. If a
/// few lineages have most of the checkpoints, it finds too few lineages. Then it looks up the newest checkpoint of
/// every lineage, or of the lineages that an index finds by status or labels.
pub(super) fn recent(open: &Transaction<'_>, recent: &Recent) -> Result<Vec<Lineage>> {
    macro_rules! wanted {
        ($lineages:literal, $condition:expr, $bound:expr, $order:literal) => {
            newest_of!(
                $lineages,
                concat!(
                    "l.contract = ANY($1) AND (NOT $2 OR l.name = l.grp) AND position($5 IN l.name) > 0 AND ",
                    $condition,
                    " AND n.seq ",
                    $bound,
                    " ORDER BY n.seq ",
                    $order,
                    " LIMIT $4"
                )
            )
        };
    }
    macro_rules! by_activity {
        ($every:literal, $condition:expr, $labels:literal, $beyond:literal, $end:literal, $within:literal, $order:literal, $all_order:literal) => {
            lineages!(
                concat!(
                    "WITH visited AS MATERIALIZED (SELECT seq, lin FROM @checkpoint WHERE seq ",
                    $beyond,
                    " $3 ORDER BY seq ",
                    $order,
                    " LIMIT $6), near AS MATERIALIZED (",
                    // OFFSET 0: look up lineages by number. No other index finds few lineages for each visit.
                    wanted!(
                        "(SELECT DISTINCT lin FROM visited) AS v CROSS JOIN LATERAL (SELECT * FROM @lineage AS o WHERE o.lin = v.lin OFFSET 0) AS l",
                        concat!($condition, $labels),
                        concat!($beyond, " $3 AND n.seq ", $within, " (SELECT ", $end, "(seq) FROM visited)"),
                        $order
                    ),
                    "), enough AS MATERIALIZED (
                       SELECT coalesce((SELECT count(*) FROM visited) < $6 OR (SELECT count(*) FROM near) = $4, true) AS known)
                     SELECT lin, seq FROM near WHERE (SELECT known FROM enough)
                     UNION ALL SELECT lin, seq FROM (",
                    wanted!($every, $condition, concat!($beyond, " $3"), $order),
                    ") AS every WHERE NOT (SELECT known FROM enough)"
                ),
                $all_order
            )
        };
    }
    macro_rules! in_order {
        ($every:literal, $condition:expr, $labels:literal) => {
            match recent.order {
                ActivityOrder::LatestFirst => {
                    by_activity!($every, $condition, $labels, "<", "min", ">=", "DESC", "seq DESC")
                }
                ActivityOrder::EarliestFirst => {
                    by_activity!($every, $condition, $labels, ">", "max", "<=", "ASC", "seq")
                }
            }
        };
    }
    macro_rules! any_status {
        () => {
            "(cardinality($7) = 0 OR l.status = ANY($7))"
        };
    }
    let sql = if !recent.labels.is_empty() {
        // The subquery has no other condition, so that the server uses the index of labels.
        in_order!(
            "(SELECT lin FROM @lineage WHERE labels @> $8 AND labels IS NOT NULL OFFSET 0) AS labelled JOIN @lineage AS l USING (lin)",
            any_status!(),
            " AND l.labels @> $8"
        )
    } else if recent.is_indexed() {
        in_order!("@lineage AS l", "l.status = ANY($7) AND l.contract < 128 AND l.status <> 4", "")
    } else {
        in_order!("@lineage AS l", any_status!(), "")
    };
    let end = match recent.order {
        ActivityOrder::LatestFirst => Seq::MAX,
        ActivityOrder::EarliestFirst => Seq::MIN,
    };
    let contracts: Vec<i16> = recent.contracts.iter().copied().map(number).collect();
    let from = recent.after.unwrap_or(end);
    let visits = recent.limit.saturating_mul(MORE_VISITS).saturating_add(VISITS);
    let matching = recent.matching.as_str();
    let (limit, visits) = (row::limit(recent.limit), row::limit(visits));
    let status: Vec<i16> = recent.statuses.iter().copied().map(status::parameter).collect();
    let mut given = values![contracts, recent.named_as_group, from, limit, matching, visits, status];
    if !recent.labels.is_empty() {
        given.extend(values![labels::elements(&recent.labels)]);
    }
    open.query(sql, given).and_then(|rows| read_lineages(&rows))
}
