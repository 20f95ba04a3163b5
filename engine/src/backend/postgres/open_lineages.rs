//! The unfinished lineages of a contract.

use super::key::number;
use super::row::{HeaderRow, columns};
use super::stats::{percent, sample};
use super::status;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::number::{signed, unsigned};
use crate::error::Result;
use crate::record::{ContractId, OpenLineage, OpenLineages};

/// Selects at most `$2` of the lineages of `$1`, in the order in which they began, with their total number, and whether
/// that is an estimate. If there are more than 10,000, some pages of the table are sampled.
const SQL: &str = concat!(
    "WITH few AS MATERIALIZED (
       SELECT l.lin FROM @lineage AS l WHERE l.contract = $1 AND l.contract < 128 AND l.status <> 4 LIMIT 10001
     ), part(percent, is_many) AS MATERIALIZED (SELECT ",
    percent!("@lineage", "512"),
    ", count(*) > 10000 FROM few
     ), spread AS MATERIALIZED (
       SELECT lin, found FROM (SELECT lin, count(*) OVER () AS found, row_number() OVER () AS at FROM (
         (SELECT lin FROM few WHERE NOT (SELECT is_many FROM part) ORDER BY lin)
         UNION ALL SELECT l.lin FROM ",
    sample!("@lineage", "l", "512"),
    "    WHERE (SELECT is_many FROM part) AND l.contract = $1 AND l.contract < 128 AND l.status <> 4) AS read) AS read
       WHERE found <= $2 OR at * $2 / found > (at - 1) * $2 / found)
     SELECT ",
    columns!(),
    ", l.status, CASE WHEN is_many THEN (100 * found / percent)::bigint ELSE found END, is_many AND percent < 100, found <= $2
     FROM spread CROSS JOIN part CROSS JOIN LATERAL (SELECT * FROM @lineage AS o WHERE o.lin = spread.lin OFFSET 0) AS l
     CROSS JOIN LATERAL (
       SELECT * FROM @checkpoint AS n WHERE n.lin = l.lin
       ORDER BY substr(n.sort_key, 1, 1000) DESC, n.sort_key DESC, n.seq DESC LIMIT 1) AS c ORDER BY l.lin"
);

/// Returns at most `most` of the lineages, and their total number.
pub(super) fn some(open: &Transaction<'_>, contract: ContractId, most: usize) -> Result<OpenLineages> {
    let rows = open.query(SQL, values![number(contract), signed(most.max(1) as u64).min(i64::from(i32::MAX))])?;
    let some = rows.iter().take(most).map(|row| {
        let newest = HeaderRow::read(row)?.header;
        Ok(OpenLineage { newest, status: status::read(row, 16) })
    });
    let some = some.collect::<Result<Vec<_>>>()?;
    Ok(match rows.first() {
        Some(row) if !row.get::<_, bool>(19) || row.get::<_, bool>(18) => {
            OpenLineages { count: unsigned(row.get(17)), is_estimate: row.get(18), some }
        }
        _ => OpenLineages::all(some),
    })
}
