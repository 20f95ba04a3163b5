//! Lists checkpoints without their payloads.

use std::collections::BTreeSet;

use super::key::number;
use super::lineage::{self, LineageRow};
use super::row::{self, HeaderRow, columns};
use super::transaction::Transaction;
use super::value::values;
use super::{labels, status};
use crate::backend::logs::BranchId;
use crate::backend::marks::decode_marks;
use crate::backend::number::unsigned;
use crate::backend::rows::{Lineup, page};
use crate::error::{Error, Result};
use crate::query::{Feed, RowOrder, Rows, RowsFrom};
use crate::record::{FeedPage, FeedWait, Labels, Listed, RowPage, RowSums, Seq, SortKey};

struct Of<'a> {
    open: &'a Transaction<'a>,
    lineage: &'a LineageRow,
}

/// The columns of a checkpoint's size, after those of [`columns`].
macro_rules! sized {
    () => {
        concat!(columns!(), ", p.size, octet_length(p.body)::bigint, p.depth")
    };
}

macro_rules! of_lineage {
    ($order:literal) => {
        concat!(
            "SELECT ",
            sized!(),
            " FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) LEFT JOIN @payload AS p ON p.seq = c.seq
              WHERE c.lin = $1 ORDER BY ",
            $order,
            " LIMIT $2 OFFSET $3"
        )
    };
}

fn listed(row: &tokio_postgres::Row, step: u64) -> Result<Listed> {
    let header = HeaderRow::read(row)?;
    let number = |column| row.get::<_, Option<i64>>(column).map_or(0, unsigned);
    Ok(Listed {
        seq: header.seq,
        step,
        header: header.header,
        logical_bytes: number(16),
        stored_bytes: number(17),
        chain: number(18),
    })
}

impl Lineup for Of<'_> {
    fn count(&self) -> Result<u64> {
        lineage::count(self.open, self.lineage.lin)
    }

    fn before(&self, sort_key: &SortKey, seq: Seq) -> Result<u64> {
        let sql = "SELECT count(*) FROM @checkpoint WHERE lin = $1
                   AND (substr(sort_key, 1, 1000), sort_key, seq) < (substr($2::bytea, 1, 1000), $2, $3)";
        let found = self.open.one(sql, values![self.lineage.lin, &sort_key.0[..], seq])?;
        Ok(found.map_or(0, |row| unsigned(row.get(0))))
    }

    fn position(&self, id: &str) -> Result<Option<(SortKey, Seq)>> {
        let row = row::by_id(self.open, self.lineage.contract, id)?;
        Ok(row.filter(|row| row.lin == self.lineage.lin).map(|row| (row.header.sort_key, row.seq)))
    }

    fn rows(&self, order: RowOrder, skip: u64, limit: usize) -> Result<Vec<Listed>> {
        let sql = match order {
            RowOrder::OldestFirst => of_lineage!("substr(c.sort_key, 1, 1000), c.sort_key, c.seq"),
            RowOrder::NewestFirst => of_lineage!("substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC"),
        };
        let skip = i64::try_from(skip).unwrap_or(i64::MAX);
        let found = self.open.query(sql, values![self.lineage.lin, row::limit(limit), skip])?;
        found.iter().map(|row| listed(row, 0)).collect()
    }
}

/// Returns true if the page begins with the newest checkpoint, as in lists of runs. One statement then reads it.
pub(super) fn is_newest(Rows { from, order, limit, sums, .. }: &Rows) -> bool {
    *order == RowOrder::NewestFirst && matches!(from, RowsFrom::End | RowsFrom::Step(-1)) && *limit > 0 && !sums
}

/// Adds the statement of [`read_newest`] to the next round trip.
pub(super) fn ask_newest(open: &Transaction<'_>, wanted: &Rows) {
    const SQL: &str = concat!(
        "SELECT ",
        sized!(),
        ", (SELECT count(*) FROM @checkpoint AS s WHERE s.lin = l.lin), l.origin, o.name, l.status, l.labels
         FROM @lineage AS l LEFT JOIN @lineage AS o ON o.lin = l.origin_lin CROSS JOIN LATERAL (
           SELECT * FROM @checkpoint AS n WHERE n.lin = l.lin
           ORDER BY substr(n.sort_key, 1, 1000) DESC, n.sort_key DESC, n.seq DESC LIMIT $3) AS c
         LEFT JOIN @payload AS p ON p.seq = c.seq
         WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2
         ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC"
    );
    open.later(SQL, values![number(wanted.contract), &wanted.lineage, row::limit(wanted.limit)]);
}

/// Reads the page for which [`is_newest`] is true.
pub(super) fn read_newest(wanted: &Rows, found: &[tokio_postgres::Row]) -> Result<RowPage> {
    let Some(first) = found.first() else { return Ok(RowPage::default()) };
    let listed = found.iter().map(|row| listed(row, 0)).collect::<Result<Vec<_>>>()?;
    let newest = Newest { count: unsigned(first.get(19)), rows: listed };
    let (checkpoints, rows) = page(&newest, wanted)?;
    let source = row::opt_text(first, 21)?;
    let origin = row::opt_text(first, 20)?.map(|id| (id, source));
    let (status, labels) = (status::read(first, 22), labels::read(first, 23));
    Ok(RowPage { checkpoints, origin, status, labels, rows, sums: None })
}

/// The newest checkpoints of a lineage, already read.
struct Newest {
    count: u64,
    rows: Vec<Listed>,
}

impl Lineup for Newest {
    fn count(&self) -> Result<u64> {
        Ok(self.count)
    }

    fn before(&self, _: &SortKey, _: Seq) -> Result<u64> {
        Err(Error::poisoned())
    }

    fn position(&self, _: &str) -> Result<Option<(SortKey, Seq)>> {
        Err(Error::poisoned())
    }

    fn rows(&self, _: RowOrder, _: u64, _: usize) -> Result<Vec<Listed>> {
        Ok(self.rows.clone())
    }
}

pub(super) fn rows(open: &Transaction<'_>, wanted: &Rows) -> Result<RowPage> {
    let Some(lineage) = lineage::find(open, wanted.contract, &wanted.lineage)? else { return Ok(RowPage::default()) };
    let (checkpoints, rows) = page(&Of { open, lineage: &lineage }, wanted)?;
    let origin = match lineage.origin.as_ref().filter(|_| checkpoints > 0) {
        Some((id, lin)) => Some((id.clone(), lineage::read(open, *lin)?.map(|row| row.name))),
        None => None,
    };
    let sums = if wanted.sums { Some(sums(open, lineage.lin)?) } else { None };
    let labels = if checkpoints > 0 { labels::of(open, lineage.lin)? } else { Labels::default() };
    Ok(RowPage { checkpoints, origin, status: lineage.status, labels, rows, sums })
}

fn sums(open: &Transaction<'_>, lin: i64) -> Result<RowSums> {
    let sql = "SELECT coalesce(sum(p.size), 0)::bigint, coalesce(sum(octet_length(p.body)), 0)::bigint,
                 (SELECT saved_at FROM @checkpoint WHERE lin = $1 ORDER BY seq LIMIT 1),
                 array_agg(DISTINCT c.logs) FILTER (WHERE c.logs IS NOT NULL)
               FROM @checkpoint AS c JOIN @payload AS p USING (seq) WHERE c.lin = $1";
    let Some(row) = open.one(sql, values![lin])? else { return Ok(RowSums::default()) };
    let mut branches: BTreeSet<BranchId> = BTreeSet::new();
    for logs in row.get::<_, Option<Vec<Vec<u8>>>>(3).unwrap_or_default() {
        branches.extend(decode_marks(Some(&logs))?.into_iter().filter_map(|mark| Some(mark.end?.branch)));
    }
    Ok(RowSums {
        logical_bytes: unsigned(row.get(0)),
        stored_bytes: unsigned(row.get(1)),
        record_bytes: record_bytes(open, lin, branches.into_iter().collect())?,
        began: row.get::<_, Option<i64>>(2).unwrap_or(0),
    })
}

/// The total size of the records in a lineage's branches, in bytes. `marked`: the branches in its checkpoints' marks.
fn record_bytes(open: &Transaction<'_>, lin: i64, marked: Vec<BranchId>) -> Result<u64> {
    // Look up each branch, because a join might scan the tables.
    let sql = "WITH RECURSIVE of(branch) AS (
                 SELECT unnest($2::bigint[]) UNION SELECT branch FROM @log WHERE lin = $1
                 UNION SELECT p.parent FROM of CROSS JOIN LATERAL (
                   SELECT b.parent FROM @log_branch AS b WHERE b.branch = of.branch AND b.parent IS NOT NULL LIMIT 1) AS p)
               SELECT coalesce(sum(r.bytes), 0)::bigint FROM of CROSS JOIN LATERAL (
                 SELECT sum(octet_length(body)) AS bytes FROM @record WHERE branch = of.branch) AS r";
    Ok(open.one(sql, values![lin, marked])?.map_or(0, |row| unsigned(row.get(0))))
}

/// The checkpoints of all lineages with their sizes and positions.
macro_rules! of_all {
    ($order:literal) => {
        concat!(
            "SELECT ",
            sized!(),
            ", (SELECT count(*) FROM @checkpoint AS s WHERE s.lin = c.lin
                AND (substr(s.sort_key, 1, 1000), s.sort_key, s.seq) < (substr(c.sort_key, 1, 1000), c.sort_key, c.seq))
              FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) LEFT JOIN @payload AS p ON p.seq = c.seq
              WHERE c.seq > $1 ORDER BY c.seq ",
            $order,
            " LIMIT $2"
        )
    };
}

pub(super) fn feed(open: &Transaction<'_>, feed: &Feed) -> Result<FeedPage> {
    // The lowest number of a running transaction, and the number of the next transaction.
    let running = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
                     pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
                     pg_stat_get_tuples_deleted('@checkpoint'::regclass)";
    let running = open.one(running, values![])?;
    let (lowest, next, removals) =
        running.map_or((0, 0, None), |row| (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, Option<i64>>(2)));
    let sql = match feed.order {
        RowOrder::OldestFirst => of_all!("ASC"),
        RowOrder::NewestFirst => of_all!("DESC"),
    };
    let found = open.query(sql, values![feed.after, row::limit(feed.limit)])?;
    let rows = found.iter().map(|row| listed(row, unsigned(row.get(19)))).collect::<Result<Vec<_>>>()?;
    let page = match feed.order {
        RowOrder::OldestFirst => settled(rows, feed, lowest, next),
        RowOrder::NewestFirst => {
            FeedPage { next: rows.first().map_or(feed.after, |row| row.seq), rows, ..FeedPage::default() }
        }
    };
    Ok(FeedPage { removals, ..page })
}

/// Keeps the rows before which no row can appear any more. A save gets its save number after its transaction number, so
/// only a transaction that is running now can still fill a gap.
fn settled(mut rows: Vec<Listed>, feed: &Feed, lowest: i64, next: i64) -> FeedPage {
    let waited = feed.wait.filter(|wait| lowest >= wait.transaction);
    let mut end = waited.map_or(feed.after, |wait| wait.up_to.max(feed.after));
    let visible = rows.last().map_or(feed.after, |row| row.seq);
    if lowest == next {
        end = visible;
    }
    for row in &rows {
        if row.seq == end + 1 {
            end = row.seq;
        }
    }
    rows.retain(|row| row.seq <= end);
    let wait = match feed.wait.filter(|_| waited.is_none()) {
        Some(wait) if wait.up_to > end => Some(wait),
        _ => (visible > end).then_some(FeedWait { transaction: next, up_to: visible }),
    };
    FeedPage { next: rows.last().map_or(feed.after, |row| row.seq), rows, wait, ..FeedPage::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ContractId, Header};

    fn rows(seqs: &[Seq]) -> Vec<Listed> {
        let header = Header::new(ContractId(1), "", "");
        let listed = |seq| Listed { seq, step: 0, header: header.clone(), logical_bytes: 0, stored_bytes: 0, chain: 0 };
        seqs.iter().copied().map(listed).collect()
    }

    fn feed(after: Seq, wait: Option<FeedWait>) -> Feed {
        Feed { after, order: RowOrder::OldestFirst, limit: 9, version: None, wait }
    }

    fn seen(page: &FeedPage) -> Vec<Seq> {
        page.rows.iter().map(|row| row.seq).collect()
    }

    #[test]
    fn a_feed_waits_at_a_gap_until_the_transactions_of_its_time_have_ended() {
        // A transaction that is still running has taken number 3.
        let first = settled(rows(&[1, 2, 4]), &feed(0, None), 100, 105);
        assert_eq!((seen(&first), first.next), (vec![1, 2], 2));
        let wait = first.wait;
        assert_eq!(wait, Some(FeedWait { transaction: 105, up_to: 4 }));
        // The transaction is still running, and two later rows were committed.
        let second = settled(rows(&[4, 5]), &feed(2, wait), 104, 107);
        assert_eq!((seen(&second), second.next, second.wait), (vec![], 2, wait));
        // If the transaction is committed, its row appears late.
        let late = settled(rows(&[3, 4, 5]), &feed(2, wait), 104, 107);
        assert_eq!((seen(&late), late.wait), (vec![3, 4, 5], None));
        // If it is rolled back, the gap before 7 is a new gap.
        let never = settled(rows(&[4, 5, 7]), &feed(2, wait), 106, 109);
        assert_eq!((seen(&never), never.wait), (vec![4, 5], Some(FeedWait { transaction: 109, up_to: 7 })));
    }

    #[test]
    fn a_feed_does_not_wait_while_no_transaction_runs() {
        let page = settled(rows(&[4, 9]), &feed(2, None), 50, 50);
        assert_eq!((seen(&page), page.next, page.wait), (vec![4, 9], 9, None));
        let none = settled(rows(&[]), &feed(9, None), 50, 51);
        assert_eq!((seen(&none), none.next, none.wait), (vec![], 9, None));
    }
}
