//! Reads logs with statements that do not depend on each other's answers.

use std::collections::{BTreeMap, HashMap};

use tokio_postgres::Row;

use super::key::number;
use super::logs::Logs;
use super::row::{HeaderRow, columns_with_sum, select_by_id, select_newest};
use super::transaction::Transaction;
use super::value::{Value, values};
use crate::backend::logs::{self as log, Branch, BranchId, Branches, Mark};
use crate::backend::marks::decode_marks;
use crate::backend::number::signed;
use crate::error::Result;
use crate::query::{LogRange, LogSide, Pick};
use crate::record::{ContractId, LogMark, LogPage, Record};

/// Selects the log `$3` of the lineage `$2` of the contract `$1`.
macro_rules! head {
    ($columns:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM @lineage AS l JOIN @log AS o USING (lin)
             WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2
               AND substr(sha256(o.name), 1, 16) = substr(sha256($3), 1, 16) AND o.name = $3"
        )
    };
}

/// Selects the ends that the checkpoint names. `$found` selects the checkpoint.
macro_rules! marks {
    ($found:expr) => {
        concat!("SELECT m.branch, m.length FROM (", $found, ") AS c JOIN @log_mark AS m USING (seq)")
    };
}

/// Selects the stretches of records up to ends. A stretch ends at `upto`, and its log at `length`.
macro_rules! runs {
    ($ends:expr) => {
        concat!(
            "WITH RECURSIVE run AS (
               SELECT e.branch, e.length AS upto, e.length FROM (", $ends, ") AS e
               UNION SELECT b.parent, b.start, run.length FROM run JOIN @log_branch AS b USING (branch) WHERE b.parent IS NOT NULL) "
        )
    };
}

/// The statements that read the branches up to ends, and their records. `$4` to `$6` are the range.
macro_rules! statements {
    ($ends:expr) => {
        [
            concat!(
                runs!($ends),
                "SELECT b.branch, b.contract, b.parent, b.start, b.sum FROM run JOIN @log_branch AS b USING (branch)"
            ),
            concat!(
                runs!($ends),
                "SELECT r.pos, r.key, r.sum, r.body, r.branch FROM (
                   SELECT branch, upto, length, greatest(length - $5, 0) AS rest FROM run) AS run
                 JOIN @record AS r ON r.branch = run.branch AND r.pos < run.upto
                   AND r.pos >= CASE WHEN $4 THEN run.length - run.rest ELSE run.rest - least(run.rest, $6) END
                   AND r.pos < CASE WHEN $4 THEN run.length - run.rest + least(run.rest, $6) ELSE run.rest END"
            ),
        ]
    };
}

const OF_LOG: [&str; 2] = statements!(head!("o.branch, o.length"));
const OF_ID: [&str; 2] = statements!(marks!(select_by_id!("c.seq")));
const OF_NEWEST: [&str; 2] = statements!(marks!(select_newest!("c.seq")));

/// The branches and the records that statements have read.
struct Found<'a> {
    branches: HashMap<BranchId, &'a Row>,
    records: BTreeMap<(BranchId, i64), &'a Row>,
}

impl<'a> Found<'a> {
    fn new(branches: &'a [Row], records: &'a [Row]) -> Self {
        Self {
            branches: branches.iter().map(|row| (row.get(0), row)).collect(),
            records: records.iter().map(|row| ((row.get(4), row.get(0)), row)).collect(),
        }
    }
}

impl Branches for Found<'_> {
    fn branch(&self, id: BranchId) -> Result<Option<Branch>> {
        self.branches.get(&id).map(|row| Logs::branch_of(row)).transpose()
    }

    fn read(&self, id: BranchId, from: u64, to: u64, largest: usize) -> Result<Vec<Record>> {
        let found = self.records.range((id, signed(from))..(id, signed(to)));
        found.map(|(_, row)| Logs::record_of(id, row, largest)).collect()
    }
}

fn ask_records(
    open: &Transaction<'_>,
    [branches, records]: [&'static str; 2],
    mut values: Vec<Value>,
    range: &LogRange,
) {
    let skip = i64::try_from(range.skip).unwrap_or(i64::MAX);
    let limit = i64::try_from(range.limit).unwrap_or(i64::MAX);
    open.later(branches, values.clone());
    values.extend(values![range.from == LogSide::First, skip, limit]);
    open.later(records, values);
}

/// Asks for the records of a log.
pub(super) fn ask(open: &Transaction<'_>, range: &LogRange) {
    const HEAD: &str = head!("o.lin, o.name, o.branch, o.length, o.sum");
    // Both cases have three parameters before those of the range.
    let contract = number(range.contract);
    if let Some(id) = &range.at {
        let named = values![contract, id, &range.log];
        open.later(select_by_id!(columns_with_sum!()), values![contract, id]);
        ask_records(open, OF_ID, named, range);
    } else {
        let named = values![contract, &range.lineage, &range.log];
        open.later(HEAD, named.clone());
        ask_records(open, OF_LOG, named, range);
    }
}

/// The answer to [`ask`]. Returns `None` if the checkpoint does not exist or does not name the log.
pub(super) fn read(range: &LogRange, found: &[Vec<Row>], largest: usize) -> Result<Option<LogPage>> {
    let [first, branches, records] = found else { return Ok(None) };
    let end = if range.at.is_none() {
        first.first().map(Logs::head_of).transpose()?.map(|(_, end)| end)
    } else {
        let row = first.first().map(HeaderRow::read_with_sum).transpose()?;
        let row = row.filter(|row| row.header.lineage == range.lineage);
        let Some(mark) = row.map(|row| mark(&row, &range.log)).transpose()?.flatten() else { return Ok(None) };
        mark.end
    };
    log::read(&Found::new(branches, records), end, range, largest).map(Some)
}

/// The mark of a log that a checkpoint names.
fn mark(row: &HeaderRow, log: &str) -> Result<Option<Mark>> {
    Ok(decode_marks(row.logs.as_deref())?.into_iter().find(|mark| mark.log == log))
}

/// Asks for the checkpoint's row, and for all records of a log that the checkpoint names.
pub(super) fn ask_kept(open: &Transaction<'_>, contract: ContractId, pick: &Pick, log: &str) {
    let (statements, name) = match pick {
        Pick::Id(id) => (OF_ID, id),
        Pick::Newest(lineage) => (OF_NEWEST, lineage),
    };
    ask_records(open, statements, values![number(contract), name, log], &LogRange::kept(contract, "", log, ""));
}

/// The answer to [`ask_kept`]. `row` is the row of the checkpoint.
pub(super) fn read_kept(
    row: &Row,
    log: &str,
    branches: &[Row],
    records: &[Row],
    largest: usize,
) -> Result<Vec<Record>> {
    let row = HeaderRow::read_with_sum(row)?;
    let Some(mark) = mark(&row, log)? else { return Ok(Vec::new()) };
    let range = LogRange::kept(row.header.contract, &row.header.lineage, log, &row.header.id);
    log::read(&Found::new(branches, records), mark.end, &range, largest).map(|page| page.records)
}

/// Asks for the logs of a lineage.
pub(super) fn ask_list(open: &Transaction<'_>, contract: ContractId, lineage: &str) {
    let sql = "SELECT o.lin, o.name, o.branch, o.length, o.sum FROM @lineage AS l JOIN @log AS o USING (lin)
               WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2 ORDER BY o.name";
    open.later(sql, values![number(contract), lineage]);
}

/// The answer to [`ask_list`].
pub(super) fn read_list(rows: &[Row]) -> Result<Vec<LogMark>> {
    rows.iter().map(|row| Logs::head_of(row).map(|(log, end)| LogMark { log, length: end.length })).collect()
}
