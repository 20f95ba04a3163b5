//! Tests damaged bytes. For a damaged checkpoint the engine reports CORRUPT or UNSUPPORTED with the checkpoint's id,
//! and never returns damaged bytes. Other checkpoints stay readable.

use std::path::{Path, PathBuf};

use crate::common::{self, Draft, draft, get, ids, lineage, newest_query, noise, part, save, try_get};
use forkpoint_engine::backend::sqlite::{Journal, Options, Sqlite};
use forkpoint_engine::backend::{Backend, Durability};
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::contract::agentos;
use forkpoint_engine::error::{Code, Error};
use forkpoint_engine::op::{Op, Unit};
use forkpoint_engine::query::{MetaFilter, MetaTest, Page, Pick, Query, RowOrder, Rows, RowsFrom};
use forkpoint_engine::record::{Checkpoint, Status};
use forkpoint_engine::retention::{Cursor, Prune, Rule};
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

fn compressed() -> Draft {
    draft("run", VICTIM).sort_key(1.0).parts(vec![part("state", "json", "all work and no play ".repeat(200))])
}

fn damage(victim: Draft) -> Damage {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
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
    fn body(&self) -> Vec<u8> {
        let sql = "SELECT body FROM checkpoint WHERE id = ?";
        self.hand.query_row(sql, [VICTIM], |row| row.get(0)).unwrap()
    }

    fn set_body(&self, body: &[u8]) {
        let sql = "UPDATE checkpoint SET body = ? WHERE id = ?";
        assert_eq!(self.hand.execute(sql, params![body, VICTIM]).unwrap(), 1);
    }

    /// Returns the error of reading the damaged checkpoint. Reading by id and reading the newest checkpoint must give
    /// the same error.
    fn told(&mut self) -> Error {
        let by_id = try_get(&mut self.backend, VICTIM).expect_err("damaged bytes were returned");
        let newest = self.backend.answer(&newest_query("run", None)).expect_err("damaged bytes were returned");
        assert_eq!(by_id, newest);
        assert!(by_id.message().contains(VICTIM), "it names the checkpoint: {by_id}");
        assert!(!by_id.message().contains("secret"), "and not what is in it: {by_id}");
        assert!(!by_id.retryable());
        by_id
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_payload_is_noticed() {
    for victim in [small(), compressed()] {
        let mut damage = damage(victim.clone());
        let whole = damage.body();
        for at in 0..whole.len() {
            let mut body = whole.clone();
            body[at] ^= 1 << (at % 8);
            damage.set_body(&body);
            match try_get(&mut damage.backend, VICTIM) {
                Ok(found) => assert!(found == Some(victim.0.clone()), "byte {at}: wrong bytes were returned"),
                Err(_) if at == 0 => {
                    assert!(matches!(damage.told().code(), Code::Corrupt | Code::Unsupported), "the format");
                }
                Err(_) => assert_eq!(damage.told().code(), Code::Corrupt, "byte {at}"),
            }
        }
        damage.set_body(&whole);
        assert_eq!(get(&mut damage.backend, VICTIM), Some(victim.0));
    }
}

#[test]
fn damaged_labels_are_found_and_stop_nothing() {
    let mut damage = damage(small());
    let set = |key: &str, value: Option<&str>| {
        let changes = [(key.to_owned(), value.map(str::to_owned))].into();
        vec![Op::SetLabels { contract: common::CONTRACT_ID, lineage: "run".to_owned(), changes }]
    };
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
    common::apply(&mut damage.backend, set("customer", Some("acme"))).unwrap();
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
    common::apply(&mut damage.backend, set("plan", Some("free"))).unwrap();
    assert_eq!((labels(&mut damage.backend), common::findings(&mut damage.backend).len()), (1, 0));
}

#[test]
fn a_large_file_has_a_table_of_labels_that_a_check_compares() {
    let mut damage = damage(small());
    let set = |lineage: &str, value: Option<&str>| {
        let changes = [("customer".to_owned(), value.map(str::to_owned))].into();
        vec![Op::SetLabels { contract: common::CONTRACT_ID, lineage: lineage.to_owned(), changes }]
    };
    common::apply(&mut damage.backend, set("run", Some("acme"))).unwrap();
    let table = "SELECT count(*) FROM sqlite_schema WHERE name = 'lineage_label'";
    let count = |hand: &Connection, sql: &str| hand.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    while damage.backend.sweep().unwrap() {}
    assert_eq!(count(&damage.hand, table), 0, "a small file does not pay for it");
    let many: Vec<Unit> = (0..1_100).map(|n| vec![draft(&n.to_string(), &n.to_string()).put()].into()).collect();
    assert!(damage.backend.apply(&many).iter().all(Result::is_ok));
    while damage.backend.sweep().unwrap() {}
    let rows = "SELECT count(*) FROM lineage_label";
    assert_eq!((count(&damage.hand, table), count(&damage.hand, rows)), (1, 1));
    common::apply(&mut damage.backend, set("7", Some("acme"))).unwrap();
    common::apply(&mut damage.backend, set("7", Some("other"))).unwrap();
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
    common::apply(&mut damage.backend, set("run", Some("acme"))).unwrap();
    damage.hand.execute("DELETE FROM lineage_label WHERE lin = 99", []).unwrap();
    assert_eq!(common::findings(&mut damage.backend), []);
    common::apply(&mut damage.backend, vec![common::remove("7")]).unwrap();
    assert_eq!(count(&damage.hand, rows), 1);
}

#[test]
fn a_cut_or_grown_payload_is_noticed() {
    let mut damage = damage(small());
    let whole = damage.body();
    for length in 0..whole.len() {
        damage.set_body(&whole[..length]);
        assert_eq!(damage.told().code(), Code::Corrupt, "{length} bytes");
    }
    damage.set_body(&[&whole[..], b"x"].concat());
    assert_eq!(damage.told().code(), Code::Corrupt);
    damage.set_body(&[0; 100]);
    assert_eq!(damage.told().code(), Code::Unsupported, "format 0 is not one of this version's");
}

#[test]
fn a_format_of_a_later_version_is_unsupported() {
    let mut damage = damage(small());
    let mut body = damage.body();
    for format in [0, 77, 255] {
        body[0] = format;
        damage.set_body(&body);
        let error = damage.told();
        assert_eq!(error.code(), Code::Unsupported);
        assert!(error.message().contains("upgrade forkpoint"), "{error}");
    }
}

#[test]
fn damage_stays_where_it_is() {
    let mut damage = damage(small());
    damage.set_body(b"\x01 garbage");
    assert_eq!(damage.told().code(), Code::Corrupt);
    for id in ["before", "after"] {
        assert_eq!(get(&mut damage.backend, id), Some(draft("run", id).0));
    }
    assert_eq!(ids(&mut damage.backend, lineage("run")), [VICTIM, "after", "before"], "a listing reads no payload");
    // Saving a damaged checkpoint again repairs it. Removing a damaged checkpoint leaves a lineage without damage.
    save(&mut damage.backend, [small()]);
    assert_eq!(get(&mut damage.backend, VICTIM), Some(small().0));
    damage.set_body(b"");
    common::apply(&mut damage.backend, vec![common::remove(VICTIM)]).unwrap();
    assert_eq!(ids(&mut damage.backend, lineage("run")), ["after", "before"]);
}

#[test]
fn damaged_meta_is_told_by_the_row_and_by_the_contract_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let mut backend = open(&path);
    let save = agentos::Save {
        id: VICTIM.to_owned(),
        run_id: "run".to_owned(),
        graph_id: "graph".to_owned(),
        node_id: "node".to_owned(),
        timestamp: 1.5,
        has_memory_snapshot: true,
        saved_at: 0,
        status: Status::Unknown,
        expected_newest: None,
        known: false,
        incarnation: None,
        parent: None,
        mark: None,
        state_tag: "json".to_owned(),
        rest_tag: "json".to_owned(),
    };
    let expected = agentos::Metadata {
        id: VICTIM.to_owned(),
        run_id: "run".to_owned(),
        graph_id: "graph".to_owned(),
        node_id: "node".to_owned(),
        timestamp: 1.5,
        state_size: 2,
        has_memory_snapshot: true,
    };
    let buffers = vec![part("", "json", "{}").bytes; 2];
    common::apply(&mut backend, agentos::save(save, &mut buffers.into()).unwrap()).unwrap();
    let list = Query::List { contract: agentos::CONTRACT_ID, of: lineage("run"), before: None, limit: None };
    let read = |backend: &mut Sqlite| agentos::metadata(backend.answer(&list)?.into_headers()?.remove(0));
    assert_eq!(read(&mut backend), Ok(expected));
    let get = Query::Get { contract: agentos::CONTRACT_ID, id: VICTIM.to_owned() };
    let saved = backend.answer(&get).unwrap().into_checkpoint().unwrap().unwrap();
    let hand = Connection::open(&path).unwrap();
    for length in [0, 1, 8, 10, 16, 18, 1000] {
        // The test changes `meta` in the row. The row's checksum then does not match.
        let meta = vec![0_u8; length];
        hand.execute("UPDATE checkpoint SET meta = ?", params![meta]).unwrap();
        let error = read(&mut backend).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{length} bytes");
        assert!(error.message().contains(VICTIM), "{error}");
        hand.execute("UPDATE checkpoint SET meta = ?", params![saved.header.meta]).unwrap();
        // The test changes `meta` and stores the right checksum for it. The contract still refuses the wrong `meta`.
        let mut wrong = saved.clone();
        wrong.header.meta = meta;
        save_whole(&mut backend, *wrong);
        let error = read(&mut backend).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{length} bytes");
        assert!(error.message().contains(VICTIM), "{error}");
        save_whole(&mut backend, *saved.clone());
        assert!(read(&mut backend).is_ok());
    }
}

fn save_whole(backend: &mut Sqlite, checkpoint: Checkpoint) {
    save(backend, [Draft::from(checkpoint)]);
}

#[test]
fn text_that_is_no_text_is_corrupt() {
    let mut damage = damage(small());
    for column in ["parent", "grp", "label"] {
        damage.hand.execute(&format!("UPDATE checkpoint SET {column} = CAST(x'ff' AS TEXT)"), []).unwrap();
        assert_eq!(try_get(&mut damage.backend, VICTIM).unwrap_err().code(), Code::Corrupt);
        let list = damage.backend.answer(&common::list_query(lineage("run"), None));
        assert_eq!(list.unwrap_err().code(), Code::Corrupt);
        damage.hand.execute(&format!("UPDATE checkpoint SET {column} = ''"), []).unwrap();
    }
}

#[test]
fn a_flipped_bit_in_the_file_is_noticed() {
    let bytes = noise(3, 100_000);
    let victim = draft("run", VICTIM).parts(vec![part("noise", "t", bytes.clone())]);
    let Damage { backend, hand, folder } = damage(victim);
    drop((backend, hand));
    let path = folder.path().join("damaged.db");
    let mut file = std::fs::read(&path).unwrap();
    // Flips a bit in the middle of the payload. The test searches the file for these bytes, because SQLite may store
    // them on any page.
    let needle = &bytes[50_000..50_032];
    let at = file.windows(needle.len()).position(|window| window == needle).expect("noise is stored as it is");
    file[at] ^= 0x10;
    std::fs::write(&path, file).unwrap();
    let mut backend = open(&path);
    let error = try_get(&mut backend, VICTIM).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt);
    assert!(error.message().contains(VICTIM), "{error}");
    assert_eq!(get(&mut backend, "after"), Some(draft("run", "after").0));
}

#[test]
fn a_file_that_was_cut_is_noticed() {
    let victim = draft("run", VICTIM).parts(vec![part("noise", "t", noise(3, 100_000))]);
    let Damage { backend, hand, folder } = damage(victim.clone());
    drop((backend, hand));
    let path = folder.path().join("damaged.db");
    let file = std::fs::read(&path).unwrap();
    std::fs::write(&path, &file[..file.len() / 2]).unwrap();
    let read = Sqlite::open(&Options::new(&path)).and_then(|mut backend| try_get(&mut backend, VICTIM));
    assert_eq!(read.expect_err("half of the file is gone").code(), Code::Corrupt);
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
        let order = RowOrder::OldestFirst;
        let (of, after, looks, bytes) = (lineage("run"), None, usize::MAX, usize::MAX);
        let page = Page {
            contract: common::CONTRACT_ID,
            of,
            order,
            after,
            skip: 0,
            filter,
            limit: 9,
            bytes,
            looks,
            short_keys: false,
        };
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

#[test]
fn an_index_of_ids_that_differs_from_its_table_never_gives_another_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let names = ["a", "b", "c"];
    for id in names {
        save(&mut open(&path), [draft("run", id).parts(vec![part("state", "test", noise(1, 3000))])]);
    }
    // Swaps the two rows. The index entries do not change.
    without_indexes(
        &path,
        "checkpoint",
        "UPDATE checkpoint SET seq = seq + 100; UPDATE checkpoint SET seq = 104 - seq",
    );
    let mut backend = open(&path);
    for id in names {
        assert_eq!(try_get(&mut backend, id).unwrap_err().code(), Code::Corrupt, "{id}");
    }
    let newest = backend.answer(&newest_query("run", None));
    assert_eq!(newest.unwrap_err().code(), Code::Corrupt);
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("family.db");
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
    let bases: Vec<Option<i64>> = (1..=9).map(|seq| family.base(seq)).collect();
    let expected = [None, Some(1), Some(1), Some(1), Some(1), Some(1), Some(3), Some(7), Some(3)];
    assert_eq!(bases, expected, "they are built on one another as this test wants");
    family
}

impl Family {
    fn base(&self, seq: i64) -> Option<i64> {
        let hand = Connection::open(&self.path).unwrap();
        let sql = "SELECT chain FROM checkpoint WHERE seq = ?";
        let chain: Vec<u8> = hand.query_row(sql, [seq], |row| row.get(0)).unwrap();
        let base = common::chain_of(seq, &chain)[0];
        (base != 0).then_some(base)
    }

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

    /// Runs a check and returns the number of its findings.
    fn findings(&self) -> usize {
        let query = Query::Check { cursor: CheckCursor::default(), limit: 1000 };
        let mut backend = open(&self.path);
        let mut page = backend.answer(&query).unwrap().into_checked().unwrap();
        let mut findings = page.findings.len();
        while let Some(cursor) = page.next {
            page = backend.answer(&Query::Check { cursor, limit: 1000 }).unwrap().into_checked().unwrap();
            findings += page.findings.len();
        }
        findings
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
            assert!(family.findings() > 0, "{damaged}, {number}");
            family.remove(damaged);
            assert_eq!(family.findings(), 0, "{damaged}, {number}: the list of its base is made anew");
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
        let stats = Query::Stats { contract: None, largest: 9, by_status: true };
        backend.answer(&stats).unwrap();
        let prune = |rule| Prune { contract: None, rule, cursor: Cursor::default(), most: 100 };
        let pruned = backend.prune(&prune(Rule::SavedBefore(1))).unwrap();
        assert_eq!(pruned.checkpoints, 9, "{column} {at}");
        let left = backend.answer(&stats).unwrap().into_stats().unwrap().total();
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
