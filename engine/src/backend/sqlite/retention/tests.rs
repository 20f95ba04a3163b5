//! Tests of the catalog, and of the plans of its statements.

use rusqlite::types::Value;

use super::*;
use crate::backend::sqlite::schema;
use crate::options::Migrate;

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    schema::prepare(&connection, Migrate::Create).unwrap();
    connection
}

#[test]
fn what_an_index_names_is_read_from_its_row() {
    let connection = database();
    let sql =
        "INSERT INTO checkpoint (seq, lin, id_hash, saved_at, flags, chain, sum, id, grp, label, sort_key, meta, body)
               VALUES (1, 1, 0, 10, 0, x'', 0, '1', '', '', x'', x'', x'')";
    connection.execute(sql, []).unwrap();
    let rows = SqliteCatalog(&connection);
    let named = |lineage, seq: Seq, sort_key: &[u8]| rows.entries(lineage, vec![(seq, sort_key.to_vec())]);
    assert_eq!(named(1, 1, b"").unwrap(), [Entry { seq: 1, lineage: 1, saved_at: 10 }]);
    assert_eq!(named(1, 1, b"older").unwrap(), [], "the index and the row disagree on the sort key");
    for (lineage, seq) in [(2, 1), (1, 77)] {
        let error = named(lineage, seq, b"").unwrap_err();
        assert!(error.code() == Code::Corrupt && error.message().contains(&seq.to_string()), "{error}");
    }
}

#[test]
fn a_lineage_is_looked_up_in_its_index_alone() {
    let connection = database();
    let plan = |sql: &str| {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = statement.parameter_count();
        let lines = statement.query_map(rusqlite::params_from_iter(vec![Value::Integer(1); count]), |row| row.get(3));
        lines.unwrap().collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n")
    };
    for sql in [COUNT, OLDEST, FIRST_SAVED, NEWEST] {
        assert!(plan(sql).contains("COVERING INDEX checkpoint_lineage (lin=?)"), "{sql}: {}", plan(sql));
    }
    for sql in [OLDEST, NEWEST] {
        assert!(!plan(sql).contains("ORDER BY"), "the index has that order: {sql}: {}", plan(sql));
    }
    for sql in [HAS_DEPENDENT, ANY_DEPENDENT, DEPENDENT_ON] {
        assert!(plan(sql).contains("INDEX checkpoint_dependent"), "{sql}: {}", plan(sql));
    }
}

#[test]
fn rows_in_a_wrong_order_are_damage() {
    assert_eq!(in_order(2, [3, 4, 9].into_iter()), Ok(()));
    assert_eq!(in_order(i64::MIN, std::iter::empty()), Ok(()));
    for (after, numbers) in [(3, [3, 4]), (0, [2, 1]), (0, [1, 1]), (5, [1, 6])] {
        assert_eq!(in_order(after, numbers.into_iter()).unwrap_err().code(), Code::Corrupt);
    }
}
