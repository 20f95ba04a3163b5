//! Tests damaged bytes. For a damaged checkpoint the engine reports CORRUPT or UNSUPPORTED with the checkpoint's id,
//! and never returns damaged bytes. Other checkpoints stay readable.

use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use rusqlite::{Connection, params};
use tempfile::TempDir;

/// A database of several checkpoints. The test damages one of them through the connection `hand`.
struct Damage {
    backend: Sqlite,
    hand: Connection,
    folder: TempDir,
}

const VICTIM: &str = "the victim";

fn small() -> Draft {
    draft("run", VICTIM).sort_key(1.0).parts(vec![part("state", "json", "{\"secret\":42}"), part("rest", "json", "{}")])
}

fn damage(victim: Draft) -> Damage {
    let (folder, path) = temporary("damaged.db");
    let mut backend = open(&path);
    save(&mut backend, [draft("run", "before"), victim, draft("run", "after")]);
    let hand = Connection::open(&path).unwrap();
    Damage { backend, hand, folder }
}

/// Opens a connection without a cache. The connection reads every payload from its rows.
fn open(path: &Path) -> Sqlite {
    let journal = Some(Journal::Wal);
    Sqlite::open(&Options { journal, durability: Durability::Off, cache_bytes: 0, ..Options::new(path) }).unwrap()
}

impl Damage {
    fn set_body(&self, body: &[u8]) {
        let sql = "UPDATE checkpoint SET body = ? WHERE id = ?";
        assert_eq!(self.hand.execute(sql, params![body, VICTIM]).unwrap(), 1);
    }

    /// Returns the error of reading the damaged checkpoint by its id. Reading it as the newest one of its run must fail too.
    fn told(&mut self) -> Error {
        let by_id = try_get(&mut self.backend, VICTIM).expect_err("damaged bytes were returned");
        let newest = self.backend.answer(&newest_query("run", None)).expect_err("damaged bytes were returned");
        assert!(by_id.message().contains(VICTIM), "it names the checkpoint: {by_id}");
        assert!(newest.message().contains("run \"run\"") || by_id == newest, "it names the run: {newest}");
        for error in [&by_id, &newest] {
            assert!(!error.message().contains("secret"), "and not what is in it: {error}");
            assert_eq!((error.code(), error.retryable()), (by_id.code(), false));
        }
        by_id
    }
}

#[test]
fn damage_is_told_by_the_checkpoint_and_not_by_what_is_in_it() {
    let mut damage = damage(small());
    let columns = [
        ("body", "x''", Code::Corrupt),
        ("body", "x'01206761'", Code::Corrupt),
        ("body", "substr(body, 1, 12)", Code::Corrupt),
        ("body", "CAST(body || x'78' AS BLOB)", Code::Corrupt),
        ("body", "CAST(x'4d' || substr(body, 2) AS BLOB)", Code::Unsupported),
        ("parent", "CAST(x'ff' AS TEXT)", Code::Corrupt),
        ("grp", "CAST(x'ff' AS TEXT)", Code::Corrupt),
        ("label", "CAST(x'ff' AS TEXT)", Code::Corrupt),
        ("parent", "'x'", Code::Corrupt),
        ("saved_at", "saved_at + 1", Code::Corrupt),
        ("meta", "x'00'", Code::Corrupt),
        ("chain", "x'00'", Code::Corrupt),
        ("sum", "0", Code::Corrupt),
    ];
    for (column, value, code) in columns {
        let sql = format!("UPDATE checkpoint SET {column} = {value} WHERE id = ?");
        assert_eq!(damage.hand.execute(&sql, [VICTIM]).unwrap(), 1);
        let error = damage.told();
        assert_eq!(error.code(), code, "{column} = {value}: {error}");
        assert!(code == Code::Corrupt || error.message().contains("upgrade forkpoint"), "{error}");
        assert_eq!(get(&mut damage.backend, "after"), Some(draft("run", "after").0));
        // Saving the damaged checkpoint again repairs it.
        save(&mut damage.backend, [small()]);
        assert_eq!(get(&mut damage.backend, VICTIM), Some(small().0));
        assert_eq!(damage.hand.execute(&sql, [VICTIM]).unwrap(), 1);
        apply(&mut damage.backend, vec![remove(VICTIM)]).unwrap();
        assert_eq!(ids(&mut damage.backend, lineage("run")), ["after", "before"], "{column} = {value}");
        assert_eq!(findings(&mut damage.backend), [], "{column} = {value}");
        save(&mut damage.backend, [small()]);
    }
}

#[test]
fn damaged_labels_are_found_and_stop_nothing() {
    let mut damage = damage(small());
    let set = |key: &str, value: &str| vec![set_label("run", key, value)];
    let labels = |backend: &mut Sqlite| {
        let rows = Rows {
            contract: common::CONTRACT_ID,
            lineage: "run".to_owned(),
            from: RowsFrom::End,
            order: RowOrder::NewestFirst,
            limit: 1,
            sums: false,
        };
        backend.answer(&Query::Rows(rows)).unwrap().into_rows().unwrap().labels.0.len()
    };
    common::apply(&mut damage.backend, set("customer", "acme")).unwrap();
    let whole: Vec<u8> = damage.hand.query_row("SELECT labels FROM lineage", [], |row| row.get(0)).unwrap();
    for at in 0..whole.len() {
        let mut column = whole.clone();
        column[at] ^= 1 << (at % 8);
        damage.hand.execute("UPDATE lineage SET labels = ?", [column]).unwrap();
        assert_eq!(labels(&mut damage.backend), 0, "byte {at}");
    }
    save(&mut damage.backend, [draft("run", "later").sort_key(9.0)]);
    let found = common::findings(&mut damage.backend);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("labels") && !found[0].message.contains("acme"), "{found:?}");
    let query = Query::Start { contract: common::CONTRACT_ID, lineage: "run".to_owned() };
    assert_eq!(damage.backend.answer(&query).unwrap_err().code(), Code::Corrupt, "a copy must not lose them");
    common::apply(&mut damage.backend, set("plan", "free")).unwrap();
    assert_eq!((labels(&mut damage.backend), common::findings(&mut damage.backend).len()), (1, 0));
}

#[test]
fn a_large_file_has_a_table_of_labels_that_a_check_compares() {
    let mut damage = damage(small());
    let set = |lineage: &str, value: &str| vec![set_label(lineage, "customer", value)];
    common::apply(&mut damage.backend, set("run", "acme")).unwrap();
    let table = "SELECT count(*) FROM sqlite_schema WHERE name = 'lineage_label'";
    let count = |hand: &Connection, sql: &str| hand.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    while damage.backend.sweep().unwrap() {}
    assert_eq!(count(&damage.hand, table), 0, "a small file does not pay for it");
    let many: Vec<Unit> = (0..1_100).map(|n| vec![draft(&n.to_string(), &n.to_string()).put()].into()).collect();
    assert!(damage.backend.apply(&many).iter().all(Result::is_ok));
    while damage.backend.sweep().unwrap() {}
    let rows = "SELECT count(*) FROM lineage_label";
    assert_eq!((count(&damage.hand, table), count(&damage.hand, rows)), (1, 1));
    common::apply(&mut damage.backend, set("7", "acme")).unwrap();
    common::apply(&mut damage.backend, set("7", "other")).unwrap();
    assert_eq!(count(&damage.hand, rows), 2);
    assert_eq!(common::findings(&mut damage.backend), []);
    let plan = "EXPLAIN QUERY PLAN SELECT lin FROM lineage_label WHERE key = 'customer' AND value = 'acme'";
    let plan: String = damage.hand.query_row(plan, [], |row| row.get(3)).unwrap();
    assert!(plan.contains("SEARCH lineage_label USING PRIMARY KEY"), "{plan}");
    // A row that is missing, and one too many.
    damage.hand.execute("DELETE FROM lineage_label WHERE value = 'acme'", []).unwrap();
    assert_eq!(common::findings(&mut damage.backend).len(), 2, "the row, and the number of rows");
    damage.hand.execute("INSERT INTO lineage_label VALUES ('customer', 'acme', 99)", []).unwrap();
    assert_eq!(common::findings(&mut damage.backend).len(), 1);
    common::apply(&mut damage.backend, set("run", "acme")).unwrap();
    damage.hand.execute("DELETE FROM lineage_label WHERE lin = 99", []).unwrap();
    assert_eq!(common::findings(&mut damage.backend), []);
    common::apply(&mut damage.backend, vec![common::remove("7")]).unwrap();
    assert_eq!(count(&damage.hand, rows), 1);
}

#[test]
fn a_row_that_an_index_has_and_the_table_has_not_is_corrupt_and_not_absent() {
    let Damage { backend, hand, folder } = damage(small());
    let seq: i64 = hand.query_row("SELECT seq FROM checkpoint WHERE id = ?", [VICTIM], |row| row.get(0)).unwrap();
    drop((backend, hand));
    let path = folder.path().join("damaged.db");
    // The test hides the indexes from SQLite and then deletes the row. So the index entries of the row stay.
    without_indexes(&path, "checkpoint", &format!("DELETE FROM checkpoint WHERE seq = {seq}"));
    let mut backend = open(&path);
    let error = try_get(&mut backend, VICTIM).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt);
    assert!(error.message().contains(VICTIM), "it names the checkpoint: {error}");
    // A query for the newest checkpoint fails as well, because an older checkpoint would be a wrong answer.
    for query in [newest_query("run", None), common::list_query(lineage("run"), None)] {
        let error = backend.answer(&query).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.message().contains("\"run\""), "it names the lineage: {error}");
    }
    // A page with a filter ends before it.
    for test in [None, Some(MetaTest::new(|_, _| true))] {
        let filter = Some(MetaFilter { all: Vec::new(), or: vec![0], end: b"}".to_vec(), key: None, test });
        let page = Page { filter, order: RowOrder::OldestFirst, ..common::first_page(lineage("run"), 9) };
        let page = backend.answer(&Query::Page(page)).unwrap().into_page().unwrap();
        let found: Vec<_> = page.tuples.iter().map(|tuple| &*tuple.checkpoint.header.id).collect();
        assert_eq!((found, page.next.is_some()), (vec!["before", "after"], true));
    }
    assert_eq!(get(&mut backend, "after"), Some(draft("run", "after").0));
}

/// Changes rows of a table without updating the table's indexes.
fn without_indexes(path: &Path, table: &str, sql: &str) {
    let hand = Connection::open(path).unwrap();
    let taken = format!(
        "CREATE TEMP TABLE taken AS SELECT * FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = '{table}';
         PRAGMA writable_schema = ON;
         DELETE FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = '{table}';
         PRAGMA writable_schema = RESET;"
    );
    hand.execute_batch(&taken).unwrap();
    hand.execute_batch(sql).unwrap();
    let given_back = "PRAGMA writable_schema = ON;
                      INSERT INTO main.sqlite_schema SELECT * FROM taken;
                      PRAGMA writable_schema = RESET;";
    hand.execute_batch(given_back).unwrap();
}

#[test]
fn an_index_that_leads_to_another_row_never_gives_another_checkpoint() {
    let Damage { backend, hand, folder } = damage(small());
    drop(backend);
    // Swaps the index entries of two ids. The rows of both ids stay undamaged.
    hand.execute("CREATE TABLE sound AS SELECT id, id_hash FROM checkpoint", []).unwrap();
    let swap =
        "UPDATE checkpoint SET id_hash = (SELECT id_hash FROM sound WHERE id IN (?1, ?2) AND id <> checkpoint.id)
                WHERE id IN (?1, ?2)";
    assert_eq!(hand.execute(swap, [VICTIM, "before"]).unwrap(), 2);
    drop(hand);
    let path = folder.path().join("damaged.db");
    let back = "UPDATE checkpoint SET id_hash = (SELECT id_hash FROM sound WHERE id = checkpoint.id); DROP TABLE sound";
    without_indexes(&path, "checkpoint", back);
    let mut backend = open(&path);

    for id in [VICTIM, "before"] {
        let backend = &mut backend;
        let corrupt = |error: Error| {
            assert_eq!(error.code(), Code::Corrupt, "{error}");
            assert!(error.message().contains(id), "it names the checkpoint: {error}");
        };
        corrupt(try_get(backend, id).unwrap_err());
        let tuple = Query::Tuple { contract: common::CONTRACT_ID, pick: Pick::Id(id.to_owned()) };
        corrupt(backend.answer(&tuple).unwrap_err());
        // A unit fails and changes nothing if the unit would replace or remove the wrong checkpoint.
        corrupt(common::apply(backend, vec![draft("run", "new").put(), draft("run", id).put()]).unwrap_err());
        corrupt(common::apply(backend, vec![draft("run", "new").put(), common::remove(id)]).unwrap_err());
        corrupt(
            common::apply(backend, vec![draft("run", "new").put(), common::fork(id, "copy", "forked")]).unwrap_err(),
        );
        let heir = draft("run", "new").parent(id).inherit(&["state"]);
        corrupt(common::apply(backend, vec![heir.put()]).unwrap_err());
        assert_eq!(ids(backend, lineage("run")), [VICTIM, "after", "before"]);
    }
    // The places of both checkpoints in the lineage stay undamaged. The third checkpoint stays undamaged too.
    let newest = backend.answer(&newest_query("run", None)).unwrap().into_checkpoint().unwrap().unwrap();
    assert_eq!(*newest, small().0);
    assert_eq!(get(&mut backend, "after"), Some(draft("run", "after").0));
}

/// Makes a database with two logs. The first one has three records.
fn logs(folder: &Path) -> PathBuf {
    let path = folder.join("logs.db");
    let records = |numbers: std::ops::Range<u64>| {
        numbers.map(|number| common::keyed(&format!("key {number}"), noise(number, 40))).collect()
    };
    let unit = vec![common::append("run", "log", records(0..3)), common::append("run", "other", records(3..4))];
    common::apply(&mut open(&path), unit).unwrap();
    path
}

fn read_log(path: &Path) -> Result<usize, Error> {
    let page = open(path).answer(&Query::Log(common::log_range("run", "log", None)))?.into_log()?;
    Ok(page.unwrap().records.len())
}

#[test]
fn any_changed_column_of_a_log_is_corrupt() {
    let changes = [
        "UPDATE record SET body = (SELECT body FROM record WHERE num = 3) WHERE num = 2",
        "UPDATE record SET key = 'other', key_hash = 5 WHERE num = 2",
        "UPDATE record SET key_hash = key_hash + 1 WHERE num = 2",
        "UPDATE record SET key = NULL, key_hash = NULL WHERE num = 2",
        "UPDATE record SET sum = sum + 1 WHERE num = 2",
        "UPDATE record SET pos = pos + 10 WHERE num = 2",
        "UPDATE record SET branch = 9 WHERE num = 2",
        "DELETE FROM record WHERE num = 2",
        "DELETE FROM record WHERE num = 3",
        "UPDATE log SET length = 2 WHERE name = 'log'",
        "UPDATE log SET length = 4 WHERE name = 'log'",
        "UPDATE log SET branch = 9 WHERE name = 'log'",
        "UPDATE log SET sum = 0 WHERE name = 'log'",
        "UPDATE log_branch SET start = 1 WHERE branch = 1",
        "UPDATE log_branch SET contract = 2 WHERE branch = 1",
        "UPDATE log_branch SET parent = 1, start = 2 WHERE branch = 1",
        "DELETE FROM log_branch WHERE branch = 1",
    ];
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = logs(folder.path());
        assert_eq!(read_log(&path).unwrap(), 3);
        assert_eq!(Connection::open(&path).unwrap().execute(change, []).unwrap(), 1, "{change}");
        let error = read_log(&path).expect_err(change);
        assert_eq!(error.code(), Code::Corrupt, "{change}");
        assert!(error.message().contains("\"log\""), "{error}");
    }
}

#[test]
fn a_damaged_index_of_a_log_is_corrupt_and_never_another_record() {
    let swap = "UPDATE record SET pos = -1 WHERE num = 2; UPDATE record SET pos = 1 WHERE num = 3;
                UPDATE record SET pos = 2 WHERE num = 2";
    let hash = "UPDATE record SET key_hash = 5 WHERE num = 2";
    let names = "UPDATE log SET name = 'x' WHERE name = 'log'; UPDATE log SET name = 'log' WHERE name = 'other'";
    for (table, change) in [("record", swap), ("record", hash), ("log", names)] {
        let folder = tempfile::tempdir().unwrap();
        let path = logs(folder.path());
        without_indexes(&path, table, change);
        let append = common::append("run", "log", vec![common::keyed("key 1", "again")]);
        let appended = common::apply(&mut open(&path), vec![append]);
        let error = read_log(&path).map(drop).and(appended.map(drop)).expect_err(change);
        assert_eq!(error.code(), Code::Corrupt, "{change}");
        // A cut through a damaged index removes only records that match the cut.
        if change == swap {
            common::apply(&mut open(&path), vec![common::truncate("run", "log", 1)]).unwrap();
            let count = "SELECT count(*) FROM record";
            let left: i64 = Connection::open(&path).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
            assert_eq!(left, 4);
        }
    }
}

/// Checkpoints whose payloads are deltas against each other.
struct Family {
    path: PathBuf,
    _folder: TempDir,
    all: Vec<Checkpoint>,
}

/// Makes a family. The payload of `base` has five dependants: the next checkpoint of the run, and four forks. Two of
/// the five have dependants of their own.
fn family() -> Family {
    let (folder, path) = temporary("family.db");
    let mut backend = open(&path);
    let mut all = Vec::new();
    let mut grow = |lineage: &str, id: &str, parent: Option<&str>, sort_key: f64, seeds: &[u64]| {
        let state: Vec<u8> = seeds.iter().flat_map(|seed| noise(*seed, 1500)).collect();
        let made = draft(lineage, id).sort_key(sort_key).parts(vec![part("state", "test", state)]);
        let made = match parent {
            Some(parent) => made.parent(parent),
            None => made,
        };
        save(&mut backend, [made.clone()]);
        all.push(made.0);
    };
    grow("run", "base", None, 0.0, &[1, 2, 3, 21, 22, 23]);
    grow("fork 1", "f1", Some("base"), 1.0, &[1, 2, 3, 21, 22, 23, 4]);
    grow("fork 2", "f2", Some("base"), 1.0, &[1, 2, 3, 21, 22, 23, 5]);
    grow("run", "next", None, 1.0, &[1, 2, 3, 21, 22, 23, 6]);
    grow("fork 3", "f3", Some("base"), 1.0, &[1, 2, 3, 21, 22, 23, 7]);
    grow("fork 4", "f4", Some("base"), 1.0, &[1, 2, 3, 21, 22, 23, 8]);
    grow("fork 2", "f2 next", None, 2.0, &[1, 2, 3, 21, 22, 23, 5, 9]);
    grow("fork 2", "f2 last", None, 3.0, &[1, 2, 3, 21, 22, 23, 5, 9, 10]);
    grow("fork of 2", "f2 fork", Some("f2"), 3.0, &[1, 2, 3, 21, 22, 23, 5, 11]);
    drop(backend);
    let family = Family { path, _folder: folder, all };
    let bases: Vec<Option<i64>> = common::stored(&family.path).into_values().map(|row| row.base).collect();
    let expected = [None, Some(1), Some(1), Some(1), Some(1), Some(1), Some(3), Some(7), Some(3)];
    assert_eq!(bases, expected, "they are built on one another as this test wants");
    family
}

impl Family {
    /// Flips a bit in a column of a row.
    fn flip(&self, id: &str, column: &str, at: usize) {
        let hand = Connection::open(&self.path).unwrap();
        let read = format!("SELECT {column} FROM checkpoint WHERE id = ?");
        let mut bytes: Vec<u8> = hand.query_row(&read, [id], |row| row.get(0)).unwrap();
        bytes[at] ^= 1 << (at % 8);
        hand.execute(&format!("UPDATE checkpoint SET {column} = ? WHERE id = ?"), params![bytes, id]).unwrap();
    }

    fn remove(&self, id: &str) {
        common::apply(&mut open(&self.path), vec![common::remove(id)]).unwrap();
    }

    /// Returns the ids of the checkpoints that can be read from the rows alone. A wrong payload fails the test.
    fn healthy(&self) -> Vec<&str> {
        let mut backend = open(&self.path);
        let mut healthy = Vec::new();
        for one in &self.all {
            match try_get(&mut backend, &one.header.id) {
                Ok(Some(found)) => {
                    assert!(found == *one, "{}: wrong bytes were returned", one.header.id);
                    healthy.push(one.header.id.as_str());
                }
                Ok(None) => {}
                Err(error) => assert_eq!(error.code(), Code::Corrupt, "{error}"),
            }
        }
        healthy
    }
}

/// Where the numbers of the column `chain` begin: base, depth, budget, size, first dependant, next sibling, checksum.
const NUMBERS: [usize; 7] = [0, 4, 6, 10, 14, 18, 22];

#[test]
fn whoever_goes_where_a_list_of_dependants_is_damaged_takes_no_healthy_checkpoint_along() {
    for damaged in ["base", "f4", "f2", "next", "f1", "f2 next"] {
        // Flips a bit of each number in the column.
        for (number, at) in NUMBERS.into_iter().enumerate() {
            let family = family();
            family.flip(damaged, "chain", at);
            let mut healthy = family.healthy();
            if number > 0 {
                assert_eq!(healthy.len(), family.all.len(), "{damaged}, {number}: only the base decides what is read");
            }
            for gone in ["base", "f3", "f2", "f2 next"] {
                family.remove(gone);
                healthy.retain(|id| *id != gone);
                let left = family.healthy();
                let lost: Vec<&&str> = healthy.iter().filter(|id| !left.contains(id)).collect();
                assert!(lost.is_empty(), "{damaged}, {number}: {gone} has taken {lost:?} along");
            }
            // The store can still save another checkpoint and read it.
            let next = draft("fork 2", "later").sort_key(9.0).parts(vec![part("state", "test", noise(1, 4000))]);
            save(&mut open(&family.path), [next.clone()]);
            assert_eq!(get(&mut open(&family.path), "later"), Some(next.0));
        }
    }
}

#[test]
fn a_damaged_dependant_takes_nothing_along_that_is_built_on_it_when_its_base_goes() {
    let family = family();
    // Damages the checksum of the payload. The dependants of the payload do not need this checksum.
    family.flip("f2", "body", 1);
    let mut healthy: Vec<&str> = family.all.iter().map(|one| one.header.id.as_str()).collect();
    healthy.retain(|id| *id != "f2");
    assert_eq!(family.healthy(), healthy);
    family.remove("base");
    healthy.retain(|id| *id != "base");
    assert_eq!(family.healthy(), healthy);
    // Afterwards the damaged checkpoint is removed.
    family.remove("f2");
    assert_eq!(family.healthy(), healthy);
    assert_eq!(common::integrity(&family.path), "ok");
}

#[test]
fn removing_a_damaged_checkpoint_removes_its_findings() {
    for damaged in ["f4", "next", "f2", "f1"] {
        // If the base of a payload is unknown, the dependants of that payload cannot be read either.
        let from = usize::from(damaged == "f2");
        for (number, at) in NUMBERS.into_iter().enumerate().skip(from) {
            let family = family();
            family.flip(damaged, "chain", at);
            let findings = || common::findings(&mut open(&family.path)).len();
            assert!(findings() > 0, "{damaged}, {number}");
            family.remove(damaged);
            assert_eq!(findings(), 0, "{damaged}, {number}: the list of its base is made anew");
        }
    }
}

#[test]
fn a_rule_removes_payloads_that_are_damaged_too() {
    for (column, at) in [("chain", 0), ("chain", 15), ("chain", 22), ("body", 1)] {
        let family = family();
        for id in ["base", "f2", "f2 last"] {
            family.flip(id, column, at);
        }
        let mut backend = open(&family.path);
        common::stats(&mut backend, 9);
        let pruned = backend.prune(&common::batch(Rule::SavedBefore(1), 100)).unwrap();
        assert_eq!(pruned.checkpoints, 9, "{column} {at}");
        let left = common::stats(&mut backend, 9).total();
        assert_eq!((left.checkpoints, left.lineages, left.stored_bytes), (0, 0, 0), "{column} {at}");
    }
}

#[test]
fn what_would_inherit_from_a_damaged_parent_is_refused() {
    let mut damage = damage(small());
    damage.set_body(b"\x01 garbage");
    for unit in [
        vec![draft("run", "heir").sort_key(2.0).parent(VICTIM).inherit(&["rest"]).put()],
        vec![draft("run", "first").put(), draft("run", "heir").parent(VICTIM).inherit(&["state"]).put()],
        // The checkpoint inherits from the newest checkpoint of the lineage, because the parent does not exist.
        vec![draft("run", "heir").parent("none").inherit(&["rest"]).put()],
        vec![common::fork(VICTIM, "copy", "forked")],
    ] {
        let error = common::apply(&mut damage.backend, unit).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.message().contains(VICTIM), "it names the damaged one: {error}");
        assert!(!error.outcome_unknown());
    }
    assert_eq!(ids(&mut damage.backend, lineage("run")), [VICTIM, "after", "before"], "nothing was stored");
    assert!(ids(&mut damage.backend, lineage("forked")).is_empty());
    // A put that inherits no parts is saved even if the payload that would be its base is damaged.
    for (number, body) in [&b"\x01 garbage"[..], b"\x4d later", b""].into_iter().enumerate() {
        damage.set_body(body);
        let next = draft("run", &format!("next {number}")).sort_key(1.0).parent(VICTIM);
        let next = next.parts(vec![part("state", "test", noise(1, 3000))]);
        save(&mut damage.backend, [next.clone()]);
        assert_eq!(get(&mut damage.backend, &next.0.header.id), Some(next.0));
        common::apply(&mut damage.backend, vec![common::remove(&format!("next {number}"))]).unwrap();
    }
}
