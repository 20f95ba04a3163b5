//! Counts the stored data. For a large table, estimates from a sample of its pages, because counting reads all pages.

use tokio_postgres::Row;

use super::key::number;
use super::row;
use super::status;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::record::{ContractId, LineageStats, Stats, Status};

/// The percentage of a table's pages to read, for a sample of about `$pages`.
macro_rules! percent {
    ($table:literal, $pages:literal) => {
        concat!(
            "(SELECT least(100, 100.0 * ",
            $pages,
            " * current_setting('block_size')::bigint / greatest(1, pg_relation_size('",
            $table,
            "')))::float8)"
        )
    };
}
pub(super) use percent;

/// A sample of a table's rows: see [`percent`]. The same pages are read as long as the table's size stays.
macro_rules! sample {
    ($table:literal, $alias:literal, $pages:literal) => {
        concat!(
            $table,
            " AS ",
            $alias,
            " TABLESAMPLE SYSTEM (",
            $crate::backend::postgres::stats::percent!($table, $pages),
            ") REPEATABLE (0)"
        )
    };
}
pub(super) use sample;

/// The maximum number of index rows that are counted. A larger number is estimated.
pub(super) const COUNTED: u64 = 10_000;

/// For each contract, the number of lineages (without a status), and of those with each of `$statuses`. In a small
/// table, it is `found`, and `few` is null. Otherwise `few` counts up to [`COUNTED`], and `found` is an estimate.
macro_rules! lineages {
    ($statuses:literal) => { concat!(
    "WITH RECURSIVE of(contract) AS (
       SELECT min(contract) FROM @lineage UNION ALL
       SELECT (SELECT min(l.contract) FROM @lineage AS l WHERE l.contract > of.contract) FROM of WHERE of.contract IS NOT NULL
     ), sample AS MATERIALIZED (
       SELECT contract, status, count(*) AS n FROM ",
    sample!("@lineage", "l", "1024"),
    "  GROUP BY contract, status
     ), part(percent) AS MATERIALIZED (SELECT ",
    percent!("@lineage", "1024"),
    ")
     SELECT of.contract, s.status,
            (SELECT coalesce(100 * sum(n) / percent, 0)::bigint FROM sample WHERE sample.contract = of.contract
               AND (s.status IS NULL OR sample.status = s.status)) AS found,
            CASE WHEN percent = 100 THEN NULL
              WHEN s.status IS NULL THEN (SELECT count(*) FROM (
                SELECT FROM @lineage AS l WHERE l.contract = of.contract LIMIT 10001) AS few)
              ELSE (SELECT count(*) FROM (
                SELECT FROM @lineage AS l WHERE l.contract = of.contract AND l.status = s.status AND l.contract < 128 AND l.status <> 4
                LIMIT 10001) AS few) END AS few
     FROM of CROSS JOIN unnest('",
    $statuses,
    "'::smallint[]) AS s(status) CROSS JOIN part WHERE of.contract IS NOT NULL"
) };
}

const LINEAGES: &str = lineages!("{NULL}");
/// The lineages with the last status are the rest.
const BY_STATUS: &str = lineages!("{NULL,0,1,2,3}");

/// Estimates the checkpoints of each contract.
const CHECKPOINTS: &str = concat!(
    "SELECT contract, (100 * count(*) / ",
    percent!("@checkpoint", "512"),
    ")::bigint FROM ",
    sample!("@checkpoint", "c", "512"),
    " GROUP BY contract"
);

/// The sizes of a sample of checkpoints, by contract. Looks up each payload, because a join might scan the table.
const PAYLOADS: &str = concat!(
    "SELECT c.contract, count(*), coalesce(sum(p.size), 0)::bigint, coalesce(sum(p.stored), 0)::bigint FROM ",
    sample!("@checkpoint", "c", "128"),
    " LEFT JOIN LATERAL (SELECT size, octet_length(body) AS stored FROM @payload AS p WHERE p.seq = c.seq LIMIT 1) AS p ON true
     GROUP BY c.contract"
);

/// Estimates the records of each contract and their sizes.
const RECORDS: &str = concat!(
    "SELECT b.contract, (100 * count(*) / ",
    percent!("@record", "256"),
    ")::bigint, (100 * coalesce(sum(octet_length(r.body)), 0) / ",
    percent!("@record", "256"),
    ")::bigint FROM ",
    sample!("@record", "r", "256"),
    " CROSS JOIN LATERAL (SELECT contract FROM @log_branch AS b WHERE b.branch = r.branch LIMIT 1) AS b GROUP BY b.contract"
);

/// The size of all tables in bytes, and whether [`stats`] estimates a number from a sample.
const FILE: &str = concat!(
    "SELECT sum(pg_total_relation_size(c.oid))::bigint, ",
    percent!("@checkpoint", "128"),
    " < 100 OR ",
    percent!("@record", "256"),
    " < 100 FROM pg_class AS c
     WHERE c.oid = ANY(ARRAY['@batch', '@lineage', '@checkpoint', '@payload', '@write', '@log', '@log_branch', '@record', '@log_mark', '@setting', '@sweeper']::regclass[])"
);

/// The lineages with their sizes. The size of records is a sum over branches: the branches of log ends and of
/// checkpoint marks, and their ancestors.
const LARGEST: &str = "WITH RECURSIVE branches(lin, branch) AS (
       SELECT lin, branch FROM @log
       UNION SELECT c.lin, m.branch FROM @log_mark AS m JOIN @checkpoint AS c USING (seq)
       UNION SELECT of.lin, b.parent FROM branches AS of JOIN @log_branch AS b USING (branch) WHERE b.parent IS NOT NULL
     ), bytes AS (
       SELECT branch, sum(octet_length(body)) AS bytes FROM @record GROUP BY branch
     ), logs AS (
       SELECT lin, sum(bytes)::bigint AS bytes FROM branches JOIN bytes USING (branch) GROUP BY lin
     )
     SELECT l.contract, l.name, count(*), coalesce(sum(p.size), 0)::bigint, coalesce(sum(octet_length(p.body)), 0)::bigint,
            coalesce(logs.bytes, 0)
     FROM @lineage AS l JOIN @checkpoint AS c USING (lin) LEFT JOIN @payload AS p USING (seq) LEFT JOIN logs USING (lin)
     WHERE l.contract < 128 AND ($1::smallint IS NULL OR l.contract = $1) GROUP BY l.lin, logs.bytes";

/// Counts the data of each contract. Many checkpoints are estimated. Lists at most `most` lineages: finding them reads
/// every checkpoint.
pub(super) fn stats(
    open: &Transaction<'_>,
    contract: Option<ContractId>,
    most: usize,
    by_status: bool,
) -> Result<Stats> {
    for statement in [if by_status { BY_STATUS } else { LINEAGES }, CHECKPOINTS, PAYLOADS, RECORDS, FILE] {
        open.later(statement, values![]);
    }
    let [lineages, checkpoints, payloads, records, file] = open.last()?;
    let mut stats = Stats::default();
    if let Some(row) = file.first() {
        stats.file_bytes = row.get::<_, Option<i64>>(0).map(unsigned);
        stats.is_estimate = row.get(1);
    }
    for row in &lineages {
        let contract = row::contract(row, 0)?;
        let (number, is_estimate) = counted(row);
        stats.is_estimate |= is_estimate;
        // A contract that the sample does not contain has about one checkpoint in each lineage.
        let checkpoints = if stats.is_estimate { number } else { 0 };
        match row.get::<_, Option<i16>>(1) {
            None => {
                let sizes = stats.contract(contract);
                (sizes.lineages, sizes.checkpoints) = (number, checkpoints);
            }
            Some(_) if contract.is_effects() => {}
            Some(_) => stats.contract(contract).statuses[status::read(row, 1) as usize] = number,
        }
    }
    for (contract, sizes) in &mut stats.contracts {
        if by_status && !contract.is_effects() {
            // The rest are finished.
            sizes.statuses[Status::Finished as usize] = sizes.lineages.saturating_sub(sizes.statuses.iter().sum());
        }
    }
    for row in &checkpoints {
        stats.contract(row::contract(row, 0)?).checkpoints = unsigned(row.get(1));
    }
    for row in &payloads {
        let sizes = stats.contract(row::contract(row, 0)?);
        let scale = |sum: i64| scaled(unsigned(sum), sizes.checkpoints, unsigned(row.get(1)));
        (sizes.logical_bytes, sizes.stored_bytes) = (scale(row.get(2)), scale(row.get(3)));
    }
    for row in &records {
        let sizes = stats.contract(row::contract(row, 0)?);
        (sizes.records, sizes.record_bytes) = (unsigned(row.get(1)), unsigned(row.get(2)));
    }
    if most > 0 {
        for row in open.query(LARGEST, values![contract.map(number)])? {
            let lineage = LineageStats {
                contract: row::contract(&row, 0)?,
                lineage: row::text(&row, 1)?,
                checkpoints: unsigned(row.get(2)),
                logical_bytes: unsigned(row.get(3)),
                stored_bytes: unsigned(row.get(4)),
                record_bytes: unsigned(row.get(5)),
            };
            stats.rank_among_largest(lineage, most);
        }
    }
    Ok(stats)
}

/// The number in a row of [`LINEAGES`], and true if it is an estimate.
fn counted(row: &Row) -> (u64, bool) {
    let found = unsigned(row.get(2));
    match row.get::<_, Option<i64>>(3).map(unsigned) {
        None => (found, false),
        Some(few) if few <= COUNTED => (few, false),
        Some(few) => (found.max(few), true),
    }
}

/// Scales the sum of a sample of `part` items to all `of` items.
fn scaled(sum: u64, of: u64, part: u64) -> u64 {
    let scaled = u128::from(sum) * u128::from(of) / u128::from(part.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
