//! Verifies the log tables page by page: each row, and the rows to which it refers.

use tokio_postgres::Row;

use super::logs::Logs;
use super::row::{self, HeaderRow};
use super::transaction::Transaction;
use super::value::values;
use crate::backend::log_findings::{After, Checked, LogTable, corrupt, left_over, missing, of_branch, of_end, of_mark};
use crate::backend::logs::{Branch, End, Mark};
use crate::backend::number::signed;
use crate::check::{About, Finding};
use crate::error::Result;
use crate::record::ContractId;

/// Checks a row. Returns its key.
type CheckRow<'a> = &'a dyn Fn(&Row) -> Result<(After, Vec<Finding>)>;

/// Checks about `limit` rows, beginning after the key `after`. Opens no record of more than `largest` bytes.
pub(super) fn page(
    open: &Transaction<'_>,
    table: LogTable,
    after: After,
    limit: i64,
    largest: usize,
) -> Result<Checked> {
    let (sql, check): (&'static str, CheckRow<'_>) = match table {
        LogTable::Records => (RECORDS, &|row| record(row, largest)),
        LogTable::Branches => (BRANCHES, &branch),
        LogTable::Logs => (HEADS, &head),
        LogTable::Marks => (MARKS, &|row| Ok(mark(row))),
    };
    let mut checked = Checked::default();
    for row in open.query(sql, values![after[0], after[1], limit])? {
        let (key, findings) = check(&row)?;
        checked.rows += 1;
        checked.findings.extend(findings);
        checked.next = Some(key);
    }
    checked.next = checked.next.filter(|_| signed(checked.rows) >= limit);
    Ok(checked)
}

/// Joins the branch `$of` and the position after its last record.
macro_rules! end {
    ($of:literal) => {
        concat!(
            "LEFT JOIN @log_branch AS e ON e.branch = ",
            $of,
            " LEFT JOIN LATERAL (SELECT max(pos) + 1 AS tip FROM @record WHERE branch = e.branch) AS t ON true"
        )
    };
}

/// The parameters of this and the next statements: the first two numbers of the key, and the limit.
const RECORDS: &str = "SELECT r.pos, r.key, r.sum, r.body, r.branch, b.branch IS NOT NULL FROM @record AS r
    LEFT JOIN @log_branch AS b USING (branch) WHERE (r.branch, r.pos) > ($1, $2) ORDER BY r.branch, r.pos LIMIT $3";

fn record(row: &Row, largest: usize) -> Result<(After, Vec<Finding>)> {
    let (pos, branch): (i64, i64) = (row.get(0), row.get(4));
    let mut findings = Vec::from_iter(damage(Logs::record_of(branch, row, largest))?.1);
    if findings.is_empty() && !row.get::<_, bool>(5) {
        findings.push(left_over(&format!("the record at {pos} of branch {branch} has no branch")));
    }
    Ok(([branch, pos, 0], findings))
}

const BRANCHES: &str = concat!(
    "SELECT b.branch, b.contract, b.parent, b.start, b.sum, e.start, t.tip, own.count, own.first, own.last,
            greatest(coalesce((SELECT max(length) FROM @log WHERE branch = b.branch), 0),
                     coalesce((SELECT max(length) FROM @log_mark WHERE branch = b.branch), 0),
                     coalesce((SELECT max(start) FROM @log_branch WHERE parent = b.branch), 0))
     FROM (SELECT * FROM @log_branch WHERE branch > $1 AND $2::bigint IS NOT NULL ORDER BY branch LIMIT $3) AS b ",
    end!("b.parent"),
    " LEFT JOIN LATERAL (
        SELECT count(*) AS count, min(pos) AS first, max(pos) AS last FROM @record WHERE branch = b.branch) AS own ON true
     ORDER BY b.branch"
);

fn branch(row: &Row) -> Result<(After, Vec<Finding>)> {
    let id: i64 = row.get(0);
    let (found, damage) = damage(Logs::branch_of(row))?;
    let mut findings = Vec::from_iter(damage);
    if let Some(Branch { contract, parent }) = found {
        findings.extend(parent.and_then(|end| lacks(row, 5, end, &format!("branch {id}"))));
        findings.extend(of_branch(id, row.get(3), (row.get(7), row.get(8), row.get(9)), row.get(10)));
        for finding in &mut findings {
            finding.contract = Some(contract);
        }
    }
    Ok(([id, 0, 0], findings))
}

/// A page has complete lineages, because few lineages have many logs.
const HEADS: &str = concat!(
    "SELECT h.lin, h.name, h.branch, h.length, h.sum, e.start, t.tip, e.contract, l.contract, l.name
     FROM (SELECT DISTINCT lin FROM @log WHERE lin > $1 AND $2::bigint IS NOT NULL ORDER BY lin LIMIT $3) AS wanted
     JOIN @log AS h USING (lin) LEFT JOIN @lineage AS l ON l.lin = h.lin ",
    end!("h.branch"),
    " ORDER BY h.lin, h.name"
);

fn head(row: &Row) -> Result<(After, Vec<Finding>)> {
    let (found, damage) = damage(Logs::head_of(row))?;
    let mut findings = Vec::from_iter(damage);
    if let Some((name, end)) = found {
        let what = format!("log {name:?}");
        findings.extend(lacks(row, 5, end, &what));
        match (row.get::<_, Option<i16>>(7), row.get::<_, Option<i16>>(8)) {
            (_, None) => findings.push(missing(&format!("the run of {what} is missing"))),
            (Some(branch), Some(lineage)) if branch != lineage => {
                findings.push(missing(&format!("the run of {what} belongs to another framework")));
            }
            _ => {}
        }
    }
    let contract = row.get::<_, Option<i16>>(8).and_then(|number| u8::try_from(number).ok()).map(ContractId);
    let lineage = row::opt_text(row, 9).ok().flatten();
    for finding in &mut findings {
        (finding.contract, finding.lineage) = (contract, lineage.clone());
    }
    Ok(([row.get(0), 0, 0], findings))
}

/// A page has all marks with the same branch and length.
const MARKS: &str = "SELECT m.branch, m.length, m.seq, c.logs FROM
      (SELECT DISTINCT branch, length FROM @log_mark WHERE (branch, length) > ($1, $2)
       ORDER BY branch, length LIMIT $3) AS wanted
    JOIN @log_mark AS m USING (branch, length) LEFT JOIN @checkpoint AS c ON c.seq = m.seq
    ORDER BY m.branch, m.length, m.seq";

fn mark(row: &Row) -> (After, Vec<Finding>) {
    let (branch, length): (i64, i64) = (row.get(0), row.get(1));
    ([branch, length, 0], Vec::from_iter(of_mark(branch, length, row.get(3))))
}

/// Checks the marks of a checkpoint: the named records exist, and are held for the checkpoint.
pub(super) fn marks_of(open: &Transaction<'_>, of: &HeaderRow, marks: &[Mark]) -> Result<Vec<Finding>> {
    const SQL: &str = concat!(
        "SELECT m.branch, m.length, EXISTS (
           SELECT FROM @log_mark AS h WHERE h.branch = m.branch AND h.length = m.length AND h.seq = $3), e.start, t.tip
         FROM unnest($1, $2) WITH ORDINALITY AS m(branch, length, ord) ",
        end!("m.branch"),
        " ORDER BY m.ord"
    );
    let ends: Vec<(&str, End)> = marks.iter().filter_map(|mark| Some((&*mark.log, mark.end?))).collect();
    let lengths: Vec<i64> = ends.iter().map(|(_, end)| signed(end.length)).collect();
    let branches: Vec<i64> = ends.iter().map(|(_, end)| end.branch).collect();
    let mut findings = Vec::new();
    for ((log, end), row) in ends.iter().zip(open.query(SQL, values![branches, lengths, of.seq])?) {
        let what = format!("log {log:?} of checkpoint {:?}", of.header.id);
        findings.extend(lacks(&row, 3, *end, &what));
        if !row.get::<_, bool>(2) {
            findings.push(missing(&format!("{what}: nothing holds its records for the checkpoint")));
        }
    }
    Ok(findings.into_iter().map(|finding: Finding| finding.about(About::from(&of.header))).collect())
}

/// Checks that the last record before an end exists. Columns from `at` on: the start and the tip of its branch.
fn lacks(row: &Row, at: usize, end: End, what: &str) -> Option<Finding> {
    of_end(end, row.get(at), row.get::<_, Option<i64>>(at + 1).unwrap_or(0), what)
}

/// Returns the value, or a finding if it is damaged.
fn damage<T>(found: Result<T>) -> Result<(Option<T>, Option<Finding>)> {
    match found {
        Ok(found) => Ok((Some(found), None)),
        Err(error) if error.is_damage() => Ok((None, Some(corrupt(&error)))),
        Err(error) => Err(error),
    }
}
