//! Counts what is stored.

use super::key::number;
use super::row;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::record::{ContractId, LineageStats, Stats};

pub(super) fn stats(open: &Transaction<'_>, contract: Option<ContractId>, largest: usize) -> Result<Stats> {
    let of = contract.map(number);
    let lineages = open.query(
        "SELECT l.contract, l.name, count(c.seq), coalesce(sum(p.size), 0)::bigint, coalesce(sum(octet_length(p.body)), 0)::bigint
         FROM @lineage AS l LEFT JOIN @checkpoint AS c USING (lin) LEFT JOIN @payload AS p USING (seq)
         WHERE $1::smallint IS NULL OR l.contract = $1 GROUP BY l.lin",
        values![of],
    )?;
    let records = open.one(
        "SELECT count(*), coalesce(sum(octet_length(r.body)), 0)::bigint FROM @record AS r JOIN @log_branch AS b USING (branch)
         WHERE $1::smallint IS NULL OR b.contract = $1",
        values![of],
    )?;
    let file = open.one(
        "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c
         WHERE c.oid = ANY(ARRAY['@batch', '@lineage', '@checkpoint', '@payload', '@write', '@log', '@log_branch', '@record', '@log_mark', '@setting']::regclass[])",
        values![],
    )?;
    let mut stats = Stats::default();
    if let Some(row) = records {
        (stats.records, stats.record_bytes) = (unsigned(row.get(0)), unsigned(row.get(1)));
    }
    stats.file_bytes = file.and_then(|row| row.get::<_, Option<i64>>(0)).map(unsigned);
    for row in lineages {
        let checkpoints = unsigned(row.get(2));
        if checkpoints == 0 {
            // The lineage has only logs.
            stats.lineages += 1;
            continue;
        }
        let lineage = LineageStats {
            contract: row::contract(&row, 0)?,
            lineage: row::text(&row, 1)?,
            checkpoints,
            logical_bytes: unsigned(row.get(3)),
            stored_bytes: unsigned(row.get(4)),
        };
        stats.count(lineage, largest);
    }
    Ok(stats)
}
