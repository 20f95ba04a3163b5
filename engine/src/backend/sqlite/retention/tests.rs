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

/// Inserts a lineage.
fn lineage(connection: &Connection, lin: i64, contract: u8, age_offset: u8) {
    let sql = "INSERT INTO lineage (lin, contract, name, grp, age_offset, sum) VALUES (?1, ?2, 'l' || ?1, '', ?3, 0)";
    connection.execute(sql, params![lin, contract, age_offset]).unwrap();
}

/// Inserts a checkpoint. Its id is its number, and its body has `bytes` bytes.
fn save(connection: &Connection, seq: Seq, lin: i64, sort_key: &[u8], bytes: usize, chain: &Chain) {
    let sql =
        "INSERT INTO checkpoint (seq, lin, id_hash, saved_at, flags, chain, sum, id, grp, label, sort_key, meta, body)
               VALUES (?1, ?2, 0, ?1 * 10, 0, ?3, 0, ?1, '', '', ?4, x'', zeroblob(?5))";
    connection.execute(sql, params![seq, lin, chain.encode(seq), sort_key, limit(bytes)]).unwrap();
}

fn depend(connection: &Connection, seq: Seq, parent: Seq) {
    let sql = "UPDATE checkpoint SET flags = 1, parent = ? WHERE seq = ?";
    connection.execute(sql, params![parent.to_string(), seq]).unwrap();
}

fn seqs(entries: Result<Vec<Entry>>) -> Vec<Seq> {
    entries.unwrap().into_iter().map(|entry| entry.seq).collect()
}

#[test]
fn checkpoints_are_found_by_save_order_and_contract() {
    let connection = database();
    lineage(&connection, 1, 1, 0);
    lineage(&connection, 2, 2, 0);
    for seq in 1..=6 {
        save(&connection, seq, 1 + seq % 2, b"k", 1, &PLAIN);
    }
    let rows = SqliteCatalog(&connection);
    assert_eq!(seqs(rows.saved_after(None, 2, 3)), [3, 4, 5]);
    assert_eq!(seqs(rows.saved_after(Some(ContractId(2)), 1, 9)), [3, 5]);
    assert_eq!(rows.saved_after(None, 5, 9).unwrap(), [Entry { seq: 6, lineage: 1, saved_at: 60 }]);
    assert_eq!(rows.lineages_after(None, 0, 9).unwrap(), [1, 2]);
    assert_eq!(rows.lineages_after(Some(ContractId(2)), 0, 9).unwrap(), [2]);
    assert_eq!((rows.count(1).unwrap(), rows.count(7).unwrap()), (3, 0));
}

#[test]
fn the_oldest_go_by_age_then_by_sort_key_then_by_save_order() {
    let connection = database();
    lineage(&connection, 1, 1, 0);
    lineage(&connection, 2, 1, 2);
    let keys: [&[u8]; 5] = [b"aa3", b"bb1", b"ab1", b"bb1", b"a"];
    for (seq, key) in (1..).zip(keys) {
        save(&connection, seq, 1, key, 1, &PLAIN);
        save(&connection, seq + 10, 2, key, 1, &PLAIN);
    }
    let rows = SqliteCatalog(&connection);
    assert_eq!(seqs(rows.oldest(1, 9)), [5, 1, 3, 2, 4]);
    assert_eq!(seqs(rows.newest(1, 9)), [4, 2, 3, 1, 5]);
    assert_eq!(seqs(rows.newest(1, 2)), [4, 2]);
    assert_eq!(seqs(rows.oldest(2, 9)), [15, 13, 12, 14, 11], "a key that is shorter is the oldest");
    assert_eq!(seqs(rows.oldest(2, 2)), [15, 13]);
    assert_eq!(seqs(rows.oldest(3, 2)), [0_i64; 0]);
}

#[test]
fn what_depends_on_its_parent_is_found_in_its_lineage_alone() {
    let connection = database();
    lineage(&connection, 1, 1, 0);
    lineage(&connection, 2, 1, 0);
    for (seq, lin) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 1)] {
        save(&connection, seq, lin, b"k", 1, &PLAIN);
    }
    let rows = SqliteCatalog(&connection);
    assert_eq!(rows.dependent_on(&[1, 2]).unwrap(), []);
    for (child, parent) in [(2, 1), (3, 1), (4, 1), (5, 3)] {
        depend(&connection, child, parent);
    }
    let entry = |seq| Entry { seq, lineage: 1, saved_at: seq * 10 };
    assert_eq!(rows.dependent_on(&[3, 1, 2, 9]).unwrap(), [(3, entry(5)), (1, entry(2)), (1, entry(3))]);
    connection.execute("UPDATE checkpoint SET flags = 2 WHERE seq = 3", []).unwrap();
    assert_eq!(rows.dependent_on(&[1]).unwrap(), [(1, entry(2))], "another flag");
    assert!(rows.has_dependent(1).unwrap() && rows.has_dependent(2).unwrap() && !rows.has_dependent(3).unwrap());
}

#[test]
fn payloads_are_found_through_their_bases() {
    let connection = database();
    lineage(&connection, 1, 1, 0);
    lineage(&connection, 2, 2, 0);
    // Checkpoints 2 and 3 are deltas against 1. Checkpoint 4 is a delta against 3.
    save(&connection, 1, 1, b"", 100, &Chain { first_dependant: Some(3), ..PLAIN });
    save(&connection, 2, 1, b"", 20, &Chain { base: Some(1), ..PLAIN });
    let third = Chain { base: Some(1), next_sibling: Some(2), first_dependant: Some(4), ..PLAIN };
    save(&connection, 3, 2, b"", 30, &third);
    save(&connection, 4, 2, b"", 0, &Chain { base: Some(3), ..PLAIN });
    let rows = SqliteCatalog(&connection);
    let stored = |base, bytes| Stored { base, bytes };
    assert_eq!(rows.stored(&[4, 9, 1]).unwrap(), [(4, stored(Some(3), 0)), (1, stored(None, 100))]);
    assert_eq!(rows.deltas_of(&[1, 2, 3]).unwrap(), [(1, 3, 30), (1, 2, 20), (3, 4, 0)]);
    assert_eq!(rows.total(None, 1).unwrap(), Some(150));
    assert_eq!(rows.total(Some(ContractId(2)), 1).unwrap(), Some(30));
    assert_eq!(rows.total(None, 1 << 30).unwrap(), None);
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
