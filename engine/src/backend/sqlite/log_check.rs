//! Verifies the log tables, page by page. For each row, the check verifies the row, the rows that the row refers to,
//! and the row's entries in the indexes.

use rusqlite::{Connection, Params, Row, params};

use super::log_rows::{Head, Stored, verify_branch};
use super::logs::{Logs, present};
use super::statement::{all, one};
use crate::backend::log_findings::{After, Checked, LogTable, corrupt, left_over, missing, of_branch, of_end, of_mark};
use crate::backend::logs::{End, LogRows, Mark};
use crate::backend::number::signed;
use crate::check::{Finding, FindingCode, Severity};
use crate::error::Result;
use crate::record::{ContractId, Seq};

/// Checks at most `limit` rows, beginning after the key `after`.
pub(super) fn page(connection: &Connection, table: LogTable, after: After, limit: usize) -> Result<Checked> {
    if !present(connection)? {
        return Ok(Checked::default());
    }
    let limit = signed(limit.max(1) as u64);
    let (keys, findings): (Vec<After>, _) = match table {
        LogTable::Records => records(connection, after[0], limit)?,
        LogTable::Branches => branches(connection, after[0], limit)?,
        LogTable::Logs => heads(connection, after[0], limit)?,
        LogTable::Marks => marks(connection, after, limit)?,
    };
    let rows = keys.len() as u64;
    // In a damaged table the last key may not be the greatest. Continuing from the greatest key always moves forward, so
    // the check ends.
    let next = keys.into_iter().max().filter(|greatest| signed(rows) == limit && *greatest > after);
    Ok(Checked { rows, findings, next })
}

fn records(connection: &Connection, after: i64, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT num, branch, pos, key_hash, key, sum, body FROM record WHERE num > ? ORDER BY num LIMIT ?";
    let rows = all(connection, sql, params![after, limit], Stored::read)?;
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    for row in rows {
        let (num, branch, position, key_hash) = (row.num, row.branch, row.position, row.key_hash);
        keys.push([num, 0, 0]);
        let what = format!("the record at {position} of branch {branch}");
        if let Err(error) = row.verify(branch, position).and_then(Stored::record) {
            findings.push(corrupt(&error));
            continue;
        }
        let by_place = "SELECT num FROM record INDEXED BY record_pos WHERE branch = ? AND pos = ?";
        if one(connection, by_place, params![branch, position], |row| row.get(0))? != Some(num) {
            findings.push(index(&format!("{what} is not found by its position")));
        }
        let by_key = "SELECT 1 FROM record INDEXED BY record_key WHERE branch = ? AND key_hash = ? AND +num = ?";
        if key_hash.is_some() && !exists(connection, by_key, params![branch, key_hash, num])? {
            findings.push(index(&format!("{what} is not found by its key")));
        }
        if !exists(connection, "SELECT 1 FROM log_branch WHERE branch = ?", [branch])? {
            findings.push(left_over(&format!("{what} has no branch")));
        }
    }
    Ok((keys, findings))
}

fn branches(connection: &Connection, after: i64, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT branch, contract, parent, start, sum FROM log_branch WHERE branch > ? ORDER BY branch LIMIT ?";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    let rows: Vec<(i64, i64, Option<i64>, i64, i64)> = all(connection, sql, params![after, limit], read)?;
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    for (id, contract, parent, start, sum) in rows {
        keys.push([id, 0, 0]);
        let found = findings.len();
        let branch = match verify_branch(id, contract, parent, start, sum) {
            Ok(branch) => branch,
            Err(error) => {
                findings.push(corrupt(&error));
                continue;
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
        // The index by position is enough to find gaps, so no record is read.
        let sql = "SELECT count(*), min(pos), max(pos) FROM record WHERE branch = ?";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let places = one(connection, sql, [id], read)?.unwrap_or_default();
        let needed = Logs::new(connection).needed(id)?.map_or(0, signed);
        findings.extend(of_branch(id, start, places, needed));
        findings.iter_mut().skip(found).for_each(|finding| finding.contract = Some(branch.contract));
    }
    Ok((keys, findings))
}

fn heads(connection: &Connection, after: i64, limit: i64) -> Result<(Vec<After>, Vec<Finding>)> {
    let sql = "SELECT lin, name, branch, length, sum, log FROM log WHERE log > ? ORDER BY log LIMIT ?";
    let rows = all(connection, sql, params![after, limit], |row| Ok((Head::read(row)?, row.get::<_, i64>(5)?)))?;
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    for (head, log) in rows {
        keys.push([log, 0, 0]);
        let found = findings.len();
        let lin = head.lin;
        let sql = "SELECT contract, name FROM lineage WHERE lin = ?";
        let lineage = one(connection, sql, [lin], |row| Ok((ContractId(row.get(0)?), row.get::<_, String>(1)?)))?;
        match head.verify(lin) {
            Err(error) => findings.push(corrupt(&error)),
            Ok((name, end)) => {
                let what = format!("log {name:?}");
                findings.extend(end_is_there(connection, end, &what)?);
                let by_name = "SELECT log FROM log INDEXED BY log_name WHERE lin = ? AND name = ?";
                if one(connection, by_name, params![lin, name], |row| row.get(0))? != Some(log) {
                    findings.push(index(&format!("{what} is not found by its name")));
                }
                let by_branch = "SELECT 1 FROM log INDEXED BY log_head WHERE branch = ? AND +log = ?";
                if !exists(connection, by_branch, params![end.branch, log])? {
                    findings.push(index(&format!("{what} is not found by its branch")));
                }
                if lineage.is_none() {
                    findings.push(missing(&format!("the lineage of {what} is missing")));
                }
            }
        }
        if let Some((contract, name)) = lineage {
            for finding in findings.iter_mut().skip(found) {
                (finding.contract, finding.lineage) = (Some(contract), Some(name.clone()));
            }
        }
    }
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
        let stored: Option<Option<Vec<u8>>> = one(connection, sql, [seq], |row| row.get(0))?;
        findings.extend(of_mark(*branch, *length, stored.flatten().as_deref()));
    }
    Ok((keys, findings))
}

/// Checks the marks of a checkpoint. The marks were decoded from the checkpoint's row.
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
    // Skip a damaged branch, because the check of the branch reports the damage.
    let Ok(branch) = logs.branch(end.branch) else { return Ok(None) };
    let tip = logs.tip(end.branch)?.map_or(0, signed);
    Ok(of_end(end, branch.map(|branch| signed(branch.start())), tip, what))
}

fn index(message: &str) -> Finding {
    let remedy = "run REINDEX on a copy of the database and check the copy, or restore a backup";
    Finding::new(FindingCode::Index, Severity::Error, message, remedy)
}

fn exists(connection: &Connection, sql: &str, params: impl Params) -> Result<bool> {
    Ok(one(connection, sql, params, |_| Ok(()))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::logs::{self, LogName};
    use crate::backend::marks::{decode_marks, encode_marks};
    use crate::record::Record;

    const OF: LogName<'_> = LogName { contract: ContractId(1), lin: 7, lineage: "run", log: "log" };

    /// A database with three branches, two logs and one checkpoint.
    fn filled() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let others = "CREATE TABLE lineage (lin INTEGER PRIMARY KEY, contract INTEGER, name TEXT);
                      CREATE TABLE checkpoint (seq INTEGER PRIMARY KEY, logs BLOB);
                      INSERT INTO lineage VALUES (7, 1, 'run')";
        connection.execute_batch(others).unwrap();
        let mut rows = Logs::new(&connection);
        let record = |n: u8| Record { key: Some(n.to_string()), tag: String::new(), bytes: vec![n].into() };
        logs::append(&mut rows, OF, &[record(0), record(1), record(2)], None).unwrap();
        let marks = [Mark { log: "log".to_owned(), end: rows.head(7, "log").unwrap() }];
        logs::hold(&mut rows, 5, &marks).unwrap();
        connection.execute("INSERT INTO checkpoint VALUES (5, ?)", [encode_marks(&marks)]).unwrap();
        logs::truncate(&mut rows, OF, 1).unwrap();
        logs::append(&mut rows, OF, &[record(3)], None).unwrap();
        logs::append(&mut rows, LogName { log: "other", ..OF }, &[record(4)], None).unwrap();
        connection
    }

    /// Checks all log tables in pages of two rows, and the marks of the checkpoint. Returns the number of rows and the
    /// findings as text.
    fn check(connection: &Connection) -> (u64, Vec<String>) {
        let (mut rows, mut said) = (0, Vec::new());
        for table in [LogTable::Records, LogTable::Branches, LogTable::Logs, LogTable::Marks] {
            let mut next = Some([0; 3]);
            while let Some(after) = next {
                let page = page(connection, table, after, 2).unwrap();
                rows += page.rows;
                said.extend(page.findings);
                next = page.next;
            }
        }
        let sql = "SELECT logs FROM checkpoint WHERE seq = 5";
        let marks: Option<Vec<u8>> = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        said.extend(marks_of(connection, 5, &decode_marks(marks.as_deref()).unwrap()).unwrap());
        let shown =
            |finding: Finding| format!("{} {}: {}", finding.code.name(), finding.severity.name(), finding.message);
        (rows, said.into_iter().map(shown).collect())
    }

    #[test]
    fn nothing_is_wrong_with_what_was_written() {
        let connection = filled();
        assert_eq!(check(&connection), (5 + 3 + 2 + 1, Vec::new()));
    }

    #[test]
    fn damage_is_found_and_named() {
        for (change, code, named) in [
            ("UPDATE record SET body = x'00' WHERE num = 2", "CORRUPT error", "the record at 1 of branch 1"),
            ("UPDATE record SET key = 'x' WHERE num = 2", "CORRUPT error", "the record at 1 of branch 1"),
            ("DELETE FROM record WHERE num = 2", "ORPHAN error", "records of branch 1 are missing"),
            ("DELETE FROM record WHERE num = 3", "ORPHAN error", "the last records of branch 1"),
            ("DELETE FROM log_branch WHERE branch = 1", "ORPHAN error", "branch 1 of branch 2 is missing"),
            ("DELETE FROM log_branch WHERE branch = 2", "ORPHAN error", "branch 2 of log \"log\" is missing"),
            ("UPDATE log_branch SET start = 2 WHERE branch = 2", "CORRUPT error", "branch 2"),
            ("UPDATE log SET length = 1 WHERE name = 'log'", "CORRUPT error", "log \"log\""),
            ("DELETE FROM log WHERE name = 'other'", "ORPHAN warning", "branch 3"),
            ("DELETE FROM lineage", "ORPHAN error", "the lineage of log \"log\""),
            ("DELETE FROM log_mark", "INDEX error", "log \"log\" of the checkpoint"),
            ("INSERT INTO log_mark VALUES (1, 2, 9)", "ORPHAN warning", "no checkpoint"),
        ] {
            let connection = filled();
            connection.execute_batch(change).unwrap();
            let (_, said) = check(&connection);
            assert!(said.iter().any(|said| said.starts_with(code) && said.contains(named)), "{change}: {said:#?}");
        }
    }

    #[test]
    fn an_index_that_has_lost_rows_is_found() {
        for (index, named) in [
            ("record_pos", "by its position"),
            ("record_key", "by its key"),
            ("log_name", "by its name"),
            ("log_head", "by its branch"),
            ("log_branch_parent", "by its parent"),
        ] {
            let connection = filled();
            // Replace the index with an empty index, and restore the original SQL of the index in the schema.
            let sql: String = connection
                .query_row("SELECT sql FROM sqlite_schema WHERE name = ?", [index], |row| row.get(0))
                .unwrap();
            let (partial, original) = (sql.split(" WHERE ").next().unwrap().to_owned() + " WHERE 0", sql);
            connection.execute_batch(&format!("DROP INDEX {index}; {partial};")).unwrap();
            connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [&original, index]).unwrap();
            connection.execute_batch("PRAGMA writable_schema = RESET").unwrap();
            let (_, said) = check(&connection);
            assert!(
                said.iter().any(|said| said.starts_with("INDEX error") && said.contains(named)),
                "{index}: {said:#?}"
            );
        }
    }
}
