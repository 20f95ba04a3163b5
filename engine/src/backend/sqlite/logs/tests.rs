//! Tests of the statements' query plans.

use rusqlite::config::DbConfig;

use super::*;

#[test]
fn every_statement_seeks() {
    let connection = Connection::open_in_memory().unwrap();
    // As in the backend: a statement is not planned again for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    connection.execute_batch(TABLES).unwrap();
    let plan = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = statement.parameter_count();
        let parameters = rusqlite::params_from_iter(vec![1; count]);
        statement.query_map(parameters, |row| row.get(3)).unwrap().map(|step| step.unwrap()).collect()
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
