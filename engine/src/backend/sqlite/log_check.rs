//! Verifies the log tables, page by page: each row, the rows to which it refers, and its index entries.

use rusqlite::{Connection, Row, params};

use super::log_rows::{branch, head, record, record_name};
use super::logs::{Logs, present};
use super::statement::{all, each, exists, first, one};
use crate::backend::log_findings::{After, Checked, LogTable, corrupt, left_over, missing, of_branch, of_end, of_mark};
use crate::backend::logs::{Branches as _, End, LogRows, Mark};
use crate::backend::marks::open_record;
use crate::backend::number::signed;
use crate::check::{Finding, FindingCode, Severity};
use crate::error::Result;
use crate::record::{ContractId, Seq};

/// Checks at most `limit` rows, beginning after the key `after`. Opens no record of more than `largest` bytes.
pub(super) fn page(
    connection: &Connection,
    table: LogTable,
    after: After,
    limit: usize,
    largest: usize,
) -> Result<Checked> {
    if !present(connection)? {
        return Ok(Checked::default());
    }
    let limit = signed(limit.max(1) as u64);
    let (keys, findings): (Vec<After>, _) = match table {
        LogTable::Records => records(connection, after[0], limit, largest)?,
        LogTable::Branches => branches(connection, after[0], limit)?,
        LogTable::Logs => heads(connection, after[0], limit)?,
        LogTable::Marks => marks(connection, after, limit)?,
    };
    let rows = keys.len() as u64;
    // In a damaged table the last key may not be the greatest. Continuing from the greatest key makes progress, so the
    // check ends.
    let next = keys.into_iter().max().filter(|greatest| signed(rows) == limit && *greatest > after);
    Ok(Checked { rows, findings, next })
}

fn records(connection: &Connection, after: i64, limit: i64, largest: usize) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT num, branch, pos, key_hash, key, sum, body FROM record WHERE num > ? ORDER BY num LIMIT ?";
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    each(connection, sql, params![after, limit], |row| {
        let (num, branch, position) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let key_hash: Option<i64> = row.get(3)?;
        keys.push([num, 0, 0]);
        let what = record_name(branch, position);
        let read = record(row, branch, position).and_then(|(key, body)| open_record(key, &body, &what, largest));
        if let Err(error) = read {
            findings.push(corrupt(&error));
            return Ok(());
        }
        let by_position = "SELECT num FROM record INDEXED BY record_pos WHERE branch = ? AND pos = ?";
        if one(connection, by_position, params![branch, position], first)? != Some(num) {
            findings.push(index(&format!("{what} is not found by its position")));
        }
        let by_key = "SELECT 1 FROM record INDEXED BY record_key WHERE branch = ? AND key_hash = ? AND +num = ?";
        if key_hash.is_some() && !exists(connection, by_key, params![branch, key_hash, num])? {
            findings.push(index(&format!("{what} is not found by its key")));
        }
        if !exists(connection, "SELECT 1 FROM log_branch WHERE branch = ?", [branch])? {
            findings.push(left_over(&format!("{what} has no branch")));
        }
        Ok(())
    })?;
    Ok((keys, findings))
}

fn branches(connection: &Connection, after: i64, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT contract, parent, start, sum, branch FROM log_branch WHERE branch > ? ORDER BY branch LIMIT ?";
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    each(connection, sql, params![after, limit], |row| {
        let (id, start) = (row.get(4)?, row.get(2)?);
        keys.push([id, 0, 0]);
        let found = findings.len();
        let branch = match branch(row, id) {
            Ok(branch) => branch,
            Err(error) => {
                findings.push(corrupt(&error));
                return Ok(());
            }
        };
        if let Some(parent) = branch.parent {
            findings.extend(end_is_there(connection, parent, &format!("branch {id}"))?);
            let by_parent =
                "SELECT 1 FROM log_branch INDEXED BY log_branch_parent WHERE parent = ? AND start = ? AND +branch = ?";
            if !exists(connection, by_parent, params![parent.branch, start, id])? {
                findings.push(index(&format!("branch {id} is not found by its parent")));
            }
        }
        // The index by position is enough to find gaps, so read no records.
        let sql = "SELECT count(*), min(pos), max(pos) FROM record WHERE branch = ?";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let records = one(connection, sql, [id], read)?.unwrap_or_default();
        let needed = Logs::new(connection).needed(id)?.map_or(0, signed);
        findings.extend(of_branch(id, start, records, needed));
        findings.iter_mut().skip(found).for_each(|finding| finding.contract = Some(branch.contract));
        Ok(())
    })?;
    Ok((keys, findings))
}

fn heads(connection: &Connection, after: i64, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT lin, name, branch, length, sum, log FROM log WHERE log > ? ORDER BY log LIMIT ?";
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    each(connection, sql, params![after, limit], |row| {
        let (lin, log) = (row.get(0)?, row.get(5)?);
        keys.push([log, 0, 0]);
        let found = findings.len();
        let sql = "SELECT contract, name FROM lineage WHERE lin = ?";
        let lineage = one(connection, sql, [lin], |row| Ok((ContractId(row.get(0)?), row.get::<_, String>(1)?)))?;
        match head(row, lin) {
            Err(error) => findings.push(corrupt(&error)),
            Ok((name, end)) => {
                let what = format!("log {name:?}");
                findings.extend(end_is_there(connection, end, &what)?);
                let by_name = "SELECT log FROM log INDEXED BY log_name WHERE lin = ? AND name = ?";
                if one(connection, by_name, params![lin, name], first)? != Some(log) {
                    findings.push(index(&format!("{what} is not found by its name")));
                }
                let by_branch = "SELECT 1 FROM log INDEXED BY log_head WHERE branch = ? AND +log = ?";
                if !exists(connection, by_branch, params![end.branch, log])? {
                    findings.push(index(&format!("{what} is not found by its branch")));
                }
                if lineage.is_none() {
                    findings.push(missing(&format!("the run of {what} is missing")));
                }
            }
        }
        if let Some((contract, name)) = lineage {
            for finding in findings.iter_mut().skip(found) {
                (finding.contract, finding.lineage) = (Some(contract), Some(name.clone()));
            }
        }
        Ok(())
    })?;
    Ok((keys, findings))
}

fn marks(connection: &Connection, after: After, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT branch, length, seq FROM log_mark WHERE (branch, length, seq) > (?, ?, ?)
               ORDER BY branch, length, seq LIMIT ?";
    let [branch, length, seq] = after;
    let read = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
    let keys: Vec<After> = all(connection, sql, params![branch, length, seq, limit], read)?;
    let mut findings = Vec::new();
    for [branch, length, seq] in &keys {
        let sql = "SELECT logs FROM checkpoint WHERE seq = ?";
        let stored: Option<Option<Vec<u8>>> = one(connection, sql, [seq], first)?;
        findings.extend(of_mark(*branch, *length, stored.flatten().as_deref()));
    }
    Ok((keys, findings))
}

/// Checks the marks from a checkpoint's row.
pub(super) fn marks_of(connection: &Connection, seq: Seq, marks: &[Mark]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for Mark { log, end } in marks {
        let Some(end) = *end else { continue };
        let what = format!("log {log:?} of the checkpoint");
        findings.extend(end_is_there(connection, end, &what)?);
        let sql = "SELECT 1 FROM log_mark WHERE branch = ? AND length = ? AND seq = ?";
        if !present(connection)? || !exists(connection, sql, params![end.branch, signed(end.length), seq])? {
            findings.push(index(&format!("{what} is not found by its branch")));
        }
    }
    Ok(findings)
}

/// Checks that the last record before an end exists.
fn end_is_there(connection: &Connection, end: End, what: &str) -> Result<Option<Finding>> {
    let logs = Logs::new(connection);
    // Skip a damaged branch: the check of the branch reports it.
    let Ok(branch) = logs.branch(end.branch) else { return Ok(None) };
    let tip = logs.tip(end.branch)?.map_or(0, signed);
    Ok(of_end(end, branch.map(|branch| signed(branch.start())), tip, what))
}

fn index(message: &str) -> Finding {
    let remedy = "run REINDEX on a copy of the database and check the copy, or restore a backup";
    Finding::new(FindingCode::Index, Severity::Error, message, remedy)
}
