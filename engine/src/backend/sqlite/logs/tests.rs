//! Tests of logs in a database: damaged rows and indexes, and the plans of the statements.

use std::path::Path;

use rusqlite::config::DbConfig;

use super::*;
use crate::backend::logs::{self, LogName};
use crate::error::Code;
use crate::query::{LogRange, LogSide};

fn open() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    // The backend sets this option too, so that a statement is not planned again for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    connection
}

/// The number of rows of a table of logs. 0: no log has created the tables yet.
fn rows(connection: &Connection, table: &str) -> u64 {
    if !present(connection).unwrap() {
        return 0;
    }
    let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    count.cast_unsigned()
}

const OF: LogName<'_> = LogName { contract: ContractId(1), lin: 7, lineage: "run", log: "log" };

fn keyed(n: u64) -> Record {
    let bytes = format!("record {n} of many").into_bytes().into();
    Record { key: Some(format!("key {n}")), tag: "t".to_owned(), bytes }
}

fn range(from: LogSide, skip: u64, limit: usize) -> LogRange {
    let (lineage, log) = ("run".to_owned(), "log".to_owned());
    LogRange { contract: ContractId(1), lineage, log, at: None, from, skip, limit }
}

fn read_all(connection: &Connection) -> Result<Vec<Record>> {
    let logs = Logs::new(connection);
    Ok(logs::read(&logs, logs.head(7, "log")?, &range(LogSide::First, 0, usize::MAX))?.records)
}

#[test]
fn any_changed_column_is_corrupt() {
    let changes = [
        "UPDATE record SET body = (SELECT body FROM record WHERE pos = 2) WHERE pos = 1",
        "UPDATE record SET key = 'other', key_hash = 5 WHERE pos = 1",
        "UPDATE record SET key_hash = key_hash + 1 WHERE pos = 1",
        "UPDATE record SET key = NULL, key_hash = NULL WHERE pos = 1",
        "UPDATE record SET sum = sum + 1 WHERE pos = 1",
        "UPDATE record SET pos = pos + 10 WHERE pos = 1",
        "UPDATE record SET branch = 9 WHERE pos = 1",
        "DELETE FROM record WHERE pos = 1",
        "DELETE FROM record WHERE pos = 2",
        "UPDATE log SET length = 2",
        "UPDATE log SET length = 4",
        "UPDATE log SET branch = 9",
        "UPDATE log SET name = 'log', lin = 7, sum = 0",
        "UPDATE log_branch SET start = 1",
        "UPDATE log_branch SET contract = 2",
        "UPDATE log_branch SET parent = 1, start = 2",
        "DELETE FROM log_branch",
    ];
    for change in changes {
        let connection = open();
        logs::append(&mut Logs::new(&connection), OF, &[keyed(0), keyed(1), keyed(2)], None).unwrap();
        assert_eq!(read_all(&connection).unwrap().len(), 3);
        connection.execute_batch(change).unwrap();
        let error = read_all(&connection).expect_err(change);
        assert_eq!(error.code(), Code::Corrupt, "{change}");
        assert!(error.message().contains("log"), "{error}");
    }
}

/// Changes rows without updating the index, so that the index is damaged.
fn without_index(path: &Path, index: &str, change: &str) {
    let schema = Connection::open(path).unwrap();
    schema.execute_batch("PRAGMA writable_schema = ON").unwrap();
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (root, sql): (i64, String) =
        schema.query_row("SELECT rootpage, sql FROM sqlite_schema WHERE name = ?", [index], read).unwrap();
    schema.execute("DELETE FROM sqlite_schema WHERE name = ?", [index]).unwrap();
    drop(schema);
    Connection::open(path).unwrap().execute_batch(change).unwrap();
    let schema = Connection::open(path).unwrap();
    schema.execute_batch("PRAGMA writable_schema = ON").unwrap();
    let row = params![index, root, sql];
    let sql = "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
               VALUES ('index', ?1, substr(?1, 1, instr(?1, '_') - 1), ?2, ?3)";
    schema.execute(sql, row).unwrap();
}

#[test]
fn a_damaged_index_is_corrupt_and_never_another_record() {
    let swap = "UPDATE record SET pos = -1 WHERE pos = 1; UPDATE record SET pos = 1 WHERE pos = 2;
                UPDATE record SET pos = 2 WHERE pos = -1";
    let hashes = "UPDATE record SET key_hash = 5 WHERE pos = 1";
    let names = "UPDATE log SET name = 'x' WHERE name = 'log'; UPDATE log SET name = 'log' WHERE name = 'other'";
    for (index, change) in [("record_pos", swap), ("record_key", hashes), ("log_name", names)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let mut logs = Logs::new(&connection);
        logs::append(&mut logs, OF, &[keyed(0), keyed(1), keyed(2)], None).unwrap();
        logs::append(&mut logs, LogName { log: "other", ..OF }, &[keyed(3)], None).unwrap();
        drop(connection);
        without_index(&path, index, change);
        let connection = Connection::open(&path).unwrap();
        let read = read_all(&connection);
        let appended = logs::append(&mut Logs::new(&connection), OF, &[keyed(1)], None);
        let error = read.map(drop).and(appended.map(drop)).expect_err(index);
        assert_eq!(error.code(), Code::Corrupt, "{index}");
        // A cut through a damaged index removes only records that match the cut, or no records.
        if index == "record_pos" {
            Logs::new(&connection).cut(1, 1).unwrap();
            assert_eq!(rows(&connection, "record"), 4);
        }
    }
}

#[test]
fn every_statement_seeks() {
    let connection = open();
    connection.execute_batch(TABLES).unwrap();
    let plan = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = statement.parameter_count();
        let parameters = rusqlite::params_from_iter(vec![1; count]);
        statement.query_map(parameters, |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for sql in [HEAD, HEADS, NEEDED, TIP, READ, HAS_KEY, CUT] {
        let steps = plan(sql);
        let scans: Vec<_> =
            steps.iter().filter(|step| step.starts_with("SCAN") && !step.contains("CONSTANT")).collect();
        assert!(scans.is_empty(), "{sql}: {steps:?}");
    }
    for (sql, index) in [(HEAD, "log_name"), (READ, "record_pos"), (HAS_KEY, "record_key"), (CUT, "record_pos")] {
        let steps = plan(sql).join("; ");
        assert!(steps.contains(&format!("SEARCH i USING COVERING INDEX {index}")), "{steps}");
        assert!(steps.contains("SEARCH r USING INTEGER PRIMARY KEY"), "{steps}");
    }
    assert!(plan(READ).iter().all(|step| !step.contains("B-TREE")), "in the order of the index");
}

#[test]
fn the_number_of_a_branch_is_not_given_out_again() {
    let connection = open();
    let mut logs = Logs::new(&connection);
    let branch = Branch { contract: ContractId(1), parent: None };
    let first = logs.create_branch(branch).unwrap();
    logs.remove_branch(first).unwrap();
    let second = logs.create_branch(branch).unwrap();
    assert!(second > first);
    connection.execute_batch("BEGIN").unwrap();
    logs.create_branch(branch).unwrap();
    connection.execute_batch("ROLLBACK; VACUUM").unwrap();
    assert_eq!(logs.create_branch(branch).unwrap(), second + 1);
}
