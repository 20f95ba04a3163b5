//! Tests a unit that fails in the middle of a batch. No change of the failed unit is stored, and all other units are
//! stored. A trigger makes the unit fail. Another connection has added the trigger to the file.

use std::path::Path;

use crate::common::prelude::*;

/// The ways in which a trigger can make a statement fail. ROLLBACK also ends the engine's transaction.
const STRENGTHS: [&str; 3] = ["ABORT", "FAIL", "ROLLBACK"];

fn open(path: &Path) -> Sqlite {
    sqlite(path, Journal::Wal, Durability::Full).unwrap()
}

fn put(id: &str) -> Unit {
    vec![draft("run", id).put()].into()
}

/// Opens a file, and adds two triggers to it. A file that has them is not opened again.
fn trapped(path: &Path, strength: &str) -> Sqlite {
    let mut backend = open(path);
    save(&mut backend, [draft("run", "before"), draft("run", "stuck"), draft("other", "moved")]);
    trap(path, strength);
    backend
}

/// Adds two triggers. The checkpoint "bad" cannot be put, and the checkpoint "stuck" cannot be removed.
fn trap(path: &Path, strength: &str) {
    let hand = rusqlite::Connection::open(path).unwrap();
    let traps = format!(
        "CREATE TRIGGER put AFTER INSERT ON checkpoint WHEN new.id = 'bad'
         BEGIN SELECT RAISE({strength}, 'as the test wants'); END;
         CREATE TRIGGER removal BEFORE DELETE ON checkpoint WHEN old.id = 'stuck'
         BEGIN SELECT RAISE({strength}, 'as the test wants'); END;"
    );
    hand.execute_batch(&traps).unwrap();
}

fn remove_traps(path: &Path) {
    let hand = rusqlite::Connection::open(path).unwrap();
    hand.execute_batch("DROP TRIGGER put; DROP TRIGGER removal").unwrap();
}

#[test]
fn a_unit_that_fails_leaves_nothing_and_takes_no_other_along() {
    for strength in STRENGTHS {
        let (_folder, path) = temporary("units.db");
        let mut backend = trapped(&path, strength);
        let batch = [
            put("a"),
            // This unit replaces and moves checkpoints and begins a lineage before it fails.
            vec![
                draft("new", "begun").put(),
                draft("run", "before").label("replaced").put(),
                draft("run", "moved").put(),
                remove("a"),
                draft("run", "bad").put(),
                draft("run", "behind").put(),
            ]
            .into(),
            put("b"),
            vec![draft("new", "begun too").put(), remove("stuck")].into(),
            Unit::default(),
            put("c"),
        ];
        let outcomes = backend.apply(&batch);
        let ok: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(ok, [true, false, true, false, true, true], "{strength}: {outcomes:?}");
        for (at, id) in [(1, "\"bad\""), (3, "\"stuck\"")] {
            let error = outcomes[at].as_ref().unwrap_err();
            assert!(error.message().contains(id), "it names the checkpoint: {error}");
            assert!(!error.outcome_unknown(), "it is certainly absent");
        }
        remove_traps(&path);
        // The connection that ran the batch and a new connection see the same result.
        for backend in [&mut backend, &mut open(&path)] {
            assert_eq!(ids(backend, lineage("run")), ["c", "b", "a", "stuck", "before"]);
            assert_eq!(get(backend, "before"), Some(draft("run", "before").0));
            assert_eq!(names(backend, ""), ["other", "run"], "no lineage was begun or ended");
        }
        // Saves after the failed unit succeed.
        save(&mut backend, [draft("run", "after")]);
        assert_eq!(ids(&mut backend, lineage("run"))[..2], ["after", "c"]);
    }
}

#[test]
fn a_unit_that_fails_alone_is_absent() {
    for strength in STRENGTHS {
        let (_folder, path) = temporary("units.db");
        let mut backend = trapped(&path, strength);
        for _ in 0..2 {
            let unit = vec![draft("run", "a").put(), remove("before"), draft("run", "bad").put()];
            let error = apply(&mut backend, unit).unwrap_err();
            assert!(error.message().contains("\"bad\""), "{error}");
            assert!(!error.retryable() || error.code() == forkpoint_engine::error::Code::Unavailable);
            assert_eq!(ids(&mut backend, lineage("run")), ["stuck", "before"]);
        }
        apply(&mut backend, put("a")).unwrap();
        assert_eq!(ids(&mut backend, lineage("run")), ["a", "stuck", "before"]);
    }
}

/// The number of tables and indexes of logs in the file.
fn tables_of_logs(path: &Path) -> i64 {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE tbl_name IN ('log', 'log_branch', 'record', 'log_mark')";
    rusqlite::Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_first_log_creates_the_tables_of_logs_and_open_connections_see_them() {
    let (_folder, path) = temporary("units.db");
    let [mut first, mut second] = [open(&path), open(&path)];
    save(&mut first, [draft("run", "before"), draft("other", "moved")]);
    trap(&path, "ABORT");
    // Each connection prepares its statements while there are no tables.
    for backend in [&mut first, &mut second] {
        assert_eq!(log(backend, "run", "log"), Vec::<String>::new());
        apply(backend, vec![remove("moved")]).unwrap();
    }
    assert_eq!(tables_of_logs(&path), 0, "a store without logs has no tables of logs");

    let unit = vec![append("run", "log", vec![record("lost")]), draft("run", "bad").put()];
    apply(&mut first, unit).unwrap_err();
    assert_eq!(tables_of_logs(&path), 0, "the tables go with the unit that failed");

    apply(&mut first, vec![append("run", "log", vec![record("a")])]).unwrap();
    assert!(tables_of_logs(&path) > 4);
    assert_eq!(log(&mut second, "run", "log"), ["a"]);
    apply(&mut second, vec![append("run", "log", vec![record("b")])]).unwrap();
    remove_traps(&path);
    for backend in [&mut first, &mut second, &mut open(&path)] {
        assert_eq!(log(backend, "run", "log"), ["a", "b"]);
    }
}
