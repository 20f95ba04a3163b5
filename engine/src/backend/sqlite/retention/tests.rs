//! Tests of the catalog, on rows that the tests insert directly.

use rusqlite::types::Value;

use super::*;
use crate::backend::sqlite::{chain, schema};

const PLAIN: Chain = Chain { base: None, depth: 0, budget: 0, size: 0, first_dependant: None, next_sibling: None };

fn database() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create(&mut connection).unwrap();
    connection
}

/// Inserts a checkpoint. Its id is its number, and its body has `bytes` bytes.
fn save(connection: &Connection, seq: Seq, lin: i64, sort_key: &[u8], bytes: usize, chain: &Chain) {
    let sql =
        "INSERT INTO checkpoint (seq, lin, id_hash, saved_at, flags, chain, sum, id, grp, label, sort_key, meta, body)
               VALUES (?1, ?2, 0, ?1 * 10, 0, ?3, 0, ?1, '', '', ?4, x'', zeroblob(?5))";
    connection.execute(sql, params![seq, lin, chain.encode(seq), sort_key, limit(bytes)]).unwrap();
}

#[test]
fn a_damaged_link_is_corrupt_and_names_the_checkpoint() {
    let damages: [(&str, Option<Chain>); 3] = [
        ("it is of another base", Some(Chain { base: Some(7), ..PLAIN })),
        ("it is whole", Some(PLAIN)),
        ("it is gone", None),
    ];
    for (damage, chain) in damages {
        let connection = database();
        save(&connection, 11, 1, b"", 1, &Chain { first_dependant: Some(22), ..PLAIN });
        if let Some(chain) = chain {
            save(&connection, 22, 1, b"", 1, &chain);
        }
        save(&connection, 33, 1, b"", 5, &Chain { base: Some(11), ..PLAIN });
        let error = chain::listed(&connection, 11).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{damage}");
        assert!(error.message().contains("22"), "{damage}: {error}");
        let found = SqliteCatalog(&connection).deltas_of(&[11]).unwrap();
        assert_eq!(found, [(11, 33, 5)], "{damage}: what is built on it is found all the same");
    }
    let connection = database();
    save(&connection, 22, 1, b"", 1, &PLAIN);
    connection.execute("UPDATE checkpoint SET chain = zeroblob(56)", []).unwrap();
    let error = chain::read(&connection, 22).unwrap_err();
    assert!(error.code() == Code::Corrupt && error.message().contains("22"), "{error}");
    let stored = SqliteCatalog(&connection).stored(&[22]).unwrap();
    assert_eq!(stored, [(22, Stored { base: None, bytes: 1 })], "what is damaged can be removed");
}

#[test]
fn what_an_index_names_is_read_from_its_row() {
    let connection = database();
    save(&connection, 1, 1, b"", 1, &PLAIN);
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
    for sql in [COUNT, OLDEST, OLDEST_BY_AGE, NEWEST] {
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
