//! Tests a check. A check runs page by page on its own thread and reports all damage. A check of an undamaged store has
//! no findings.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::prelude::*;
use forkpoint_engine::store::Options;
use rusqlite::Connection;

fn open(path: &Path) -> Sqlite {
    sqlite(path, Journal::Rollback, Durability::Off).unwrap()
}

fn findings(path: &Path) -> Vec<Finding> {
    check(&mut open(path), 100).1
}

fn large(id: &str, step: u64) -> Draft {
    let state = [noise(1, 3000), noise(step, 20)].concat();
    draft("run", id).sort_key(f64::from(u32::try_from(step).unwrap())).parts(vec![part("state", "v8", state)])
}

/// Makes a database. Its checkpoint `b` is in the middle, and a test damages that checkpoint.
fn database(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("check.db");
    let mut backend = open(&path);
    save(
        &mut backend,
        [
            large("a", 1).group("g"),
            large("b", 2).group("g").parent("a").depends_on_parent().meta(b"{\"user\":\"u\"}"),
            large("c", 3),
        ],
    );
    save(&mut backend, [draft("a fork", "f").parent("a")]);
    apply(&mut backend, vec![write_to("b", true, vec![write("t", 0, "1")])]).unwrap();
    // These queries build the indexes of groups, of forks and of a key of the metadata.
    common::ids(&mut backend, common::group("g"));
    backend.answer(&Query::Forks { contract: CONTRACT_ID, lineage: "run".to_owned() }).unwrap();
    let key = MetaKey { begins: b"{".to_vec(), key: "user".to_owned(), value: "\"u\"".to_owned() };
    let filter = Some(MetaFilter {
        all: Vec::new(),
        or: b"\\".to_vec(),
        end: b"}".to_vec(),
        key: Some(Box::new(key)),
        test: None,
    });
    let page = Page { filter, ..common::first_page(Of::Contract, 9) };
    let found = backend.answer(&Query::Page(page)).unwrap().into_page().unwrap();
    let found: Vec<_> = found.tuples.iter().map(|one| &*one.checkpoint.header.id).collect();
    assert_eq!(found, ["b"], "the index leaves out what lacks the key");
    assert_eq!(check(&mut backend, 2).1, []);
    path
}

/// Returns the code, the lineage and the id of each finding.
fn named(findings: &[Finding]) -> Vec<(FindingCode, Option<&str>, Option<&str>)> {
    findings.iter().map(|found| (found.code, found.lineage.as_deref(), found.id.as_deref())).collect()
}

#[test]
fn what_is_damaged_is_named() {
    let corrupt = |lineage, id| (FindingCode::Corrupt, lineage, id);
    let run = Some("run");
    let cases = [
        ("UPDATE checkpoint SET saved_at = 77 WHERE id = 'b'", vec![corrupt(run, Some("b"))]),
        ("UPDATE checkpoint SET meta = x'00' WHERE id = 'b'", vec![corrupt(run, Some("b"))]),
        // These bits say what the ids lack.
        ("UPDATE checkpoint SET flags = flags | 32 WHERE id = 'b'", vec![corrupt(run, None)]),
        ("UPDATE checkpoint SET flags = flags | 128 WHERE id = 'b'", vec![corrupt(run, Some("b"))]),
        ("UPDATE checkpoint SET body = x'0100' WHERE id = 'c'", vec![corrupt(run, Some("c"))]),
        (
            "UPDATE checkpoint SET body = x'' WHERE id = 'a'",
            vec![corrupt(run, Some("a")), corrupt(run, Some("b")), corrupt(run, Some("c"))],
        ),
        (
            "UPDATE checkpoint SET chain = zeroblob(30) WHERE id = 'c'",
            vec![corrupt(run, Some("b")), corrupt(run, Some("c"))],
        ),
        ("UPDATE write SET claimed = 'c'", vec![corrupt(None, Some("b"))]),
        ("UPDATE write SET body = x'01'", vec![corrupt(None, Some("b"))]),
        ("UPDATE write SET task = 'u'", vec![corrupt(None, None)]),
        ("UPDATE setting SET value = x'00'", vec![corrupt(None, None)]),
        ("DELETE FROM checkpoint WHERE id = 'f'", vec![(FindingCode::Orphan, Some("a fork"), None)]),
        (
            "DELETE FROM checkpoint WHERE id = 'a'",
            vec![(FindingCode::Orphan, run, Some("b")), corrupt(run, Some("b")), corrupt(run, Some("c"))],
        ),
    ];
    for (sql, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path());
        let hand = Connection::open(&path).unwrap();
        if sql.contains("setting") {
            let table = "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID";
            hand.execute_batch(&format!("{table}; INSERT INTO setting VALUES ('seq_floor', x'')")).unwrap();
        }
        assert!(hand.execute(sql, []).unwrap() > 0, "{sql}");
        drop(hand);
        let found = findings(&path);
        assert_eq!(named(&found), expected, "{sql}: {found:#?}");
        for finding in &found {
            assert!(!finding.message.is_empty() && !finding.remedy.is_empty());
            // An orphan is only a warning, because the removal of a checkpoint by its id may leave an orphan.
            let is_orphan = finding.code == FindingCode::Orphan;
            assert_eq!(finding.severity, if is_orphan { Severity::Warning } else { Severity::Error });
            assert!(finding.id.is_none() || finding.contract == Some(CONTRACT_ID), "{finding:?}");
        }
    }
}

#[test]
fn an_index_that_lacks_a_row_is_named() {
    let indexes = [
        ("lineage_name", "lineage", "name", "'other'", "name = 'run'"),
        ("lineage_origin", "lineage", "origin_lin", "NULL", "name = 'a fork'"),
        ("lineage_group", "lineage", "grp", "'other'", "name = 'run'"),
        ("checkpoint_id", "checkpoint", "id_hash", "7", "id = 'b'"),
        ("checkpoint_lineage", "checkpoint", "label", "'other'", "id = 'b'"),
        ("checkpoint_dependent", "checkpoint", "parent", "'c'", "id = 'b'"),
        ("checkpoint_group", "checkpoint", "grp", "'other'", "id = 'b'"),
        ("checkpoint_meta_7b_75736572", "checkpoint", "meta", "x'7b2275736572223a22757a227d'", "id = 'b'"),
        ("write_id", "write", "id", "'c'", "id = 'b'"),
    ];
    for (index, table, column, other, row) in indexes {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path());
        let open = || Connection::open(&path).unwrap();
        let hand = open();
        // A file with few lineages gets no index of their groups.
        hand.execute_batch("CREATE INDEX lineage_group ON lineage (contract, grp) WHERE grp <> ''").unwrap();
        let (number, before): (i64, rusqlite::types::Value) = hand
            .query_row(&format!("SELECT rowid, {column} FROM {table} WHERE {row}"), [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        // Damages only the index. The row keeps the value that it had.
        hand.execute(&format!("UPDATE {table} SET {column} = {other} WHERE rowid = ?"), [number]).unwrap();
        hand.execute_batch(&format!(
            "CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = '{index}';
             PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '{index}'"
        ))
        .unwrap();
        drop(hand);
        let hand = open();
        hand.execute(&format!("UPDATE {table} SET {column} = ? WHERE rowid = ?"), rusqlite::params![before, number])
            .unwrap();
        hand.execute_batch("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM hidden").unwrap();
        drop(hand);
        open().execute_batch("DROP TABLE hidden").unwrap();
        let found = findings(&path);
        let at = found
            .iter()
            .filter(|found| found.code == FindingCode::Index && found.contract == Some(CONTRACT_ID))
            .count();
        assert!(at == 1, "{index}: {found:#?}");
        assert!(
            found.iter().all(|found| found.severity == Severity::Error || found.code == FindingCode::Orphan),
            "{found:#?}"
        );
    }
}

/// Makes a database with three branches, two logs and one checkpoint that names a log.
fn logged(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("logged.db");
    let mut backend = open(&path);
    let backend = &mut backend;
    let record = |number: u8| common::keyed(&number.to_string(), vec![number]);
    apply(backend, vec![common::append("run", "log", vec![record(0), record(1), record(2)])]).unwrap();
    save(backend, [draft("run", "a").pin_live("log")]);
    let shortened = vec![common::truncate("run", "log", 1), common::append("run", "log", vec![record(3)])];
    apply(backend, shortened).unwrap();
    apply(backend, vec![common::append("run", "other", vec![record(4)])]).unwrap();
    assert_eq!(check(backend, 2).1, []);
    path
}

/// Checks in pages of two rows. Returns the findings as text.
fn said(path: &Path) -> Vec<String> {
    let findings = check(&mut open(path), 2).1;
    let shown = |finding: Finding| format!("{} {}: {}", finding.code.name(), finding.severity.name(), finding.message);
    findings.into_iter().map(shown).collect()
}

#[test]
fn what_is_damaged_in_a_log_is_named() {
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
        ("DELETE FROM lineage", "ORPHAN error", "the run of log \"log\""),
        ("DELETE FROM log_mark", "INDEX error", "log \"log\" of the checkpoint"),
        ("INSERT INTO log_mark VALUES (1, 2, 9)", "ORPHAN warning", "no checkpoint"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = logged(folder.path());
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let said = said(&path);
        assert!(said.iter().any(|said| said.starts_with(code) && said.contains(named)), "{change}: {said:#?}");
    }
}

#[test]
fn an_index_of_logs_that_has_lost_its_rows_is_named() {
    for (index, named) in [
        ("record_pos", "by its position"),
        ("record_key", "by its key"),
        ("log_name", "by its name"),
        ("log_head", "by its branch"),
        ("log_branch_parent", "by its parent"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = logged(folder.path());
        let hand = Connection::open(&path).unwrap();
        // Replaces the index with an empty index, and restores the original SQL of the index in the schema.
        let sql: String =
            hand.query_row("SELECT sql FROM sqlite_schema WHERE name = ?", [index], |row| row.get(0)).unwrap();
        let empty = sql.split(" WHERE ").next().unwrap().to_owned() + " WHERE 0";
        hand.execute_batch(&format!("DROP INDEX {index}; {empty}; PRAGMA writable_schema = ON")).unwrap();
        hand.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [&*sql, index]).unwrap();
        drop(hand);
        let said = said(&path);
        assert!(said.iter().any(|said| said.starts_with("INDEX error") && said.contains(named)), "{index}: {said:#?}");
    }
}

#[test]
fn a_long_check_is_bounded_pages_and_ends() {
    let (_folder, path) = temporary("long.db");
    let mut backend = open(&path);
    let all = 10_000;
    for lineage in 0..10 {
        let put =
            |number| draft(&format!("run {lineage}"), &format!("{lineage}/{number}")).sort_key(f64::from(number)).put();
        apply(&mut backend, (0..all / 10).map(put).collect::<Vec<_>>()).unwrap();
    }
    let (counted, found, pages) = check(&mut backend, 700);
    assert_eq!((counted.checkpoints, counted.payloads, found.len()), (10_000, 10_000, 0));
    assert!((15..40).contains(&pages), "{pages}");
    drop(backend);

    // Changes the order of the rows. The new save numbers are below zero.
    let hand = Connection::open(&path).unwrap();
    hand.execute_batch("UPDATE checkpoint SET seq = -seq WHERE seq % 100 = 0").unwrap();
    drop(hand);
    let (counted, found, _) = check(&mut open(&path), 700);
    assert_eq!(counted.checkpoints, 10_000);
    assert_eq!(found.iter().filter(|found| found.code == FindingCode::Corrupt && found.id.is_some()).count(), 100);

    // Overwrites a page in the middle of the file with another page.
    let mut bytes = std::fs::read(&path).unwrap();
    let (middle, quarter) = (bytes.len() / 8192 * 4096, bytes.len() / 16384 * 4096);
    bytes.copy_within(quarter..quarter + 4096, middle);
    std::fs::write(&path, bytes).unwrap();
    assert!(!findings(&path).is_empty());
}

/// A backend that reports the start of a check, or of a search for the largest lineages, and then waits at a gate until
/// the test opens the gate.
struct Slow {
    memory: Arc<Mutex<Memory>>,
    begun: Sender<()>,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Backend for Slow {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        self.memory.lock().unwrap().apply(batch)
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        if matches!(query, Query::Check { .. } | Query::Stats { .. }) {
            self.begun.send(()).unwrap();
            self.gate.lock().unwrap().recv().unwrap();
        }
        self.memory.lock().unwrap().answer(query)
    }

    fn takes_long(&self, query: &Query) -> bool {
        matches!(query, Query::Stats { .. })
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.memory.lock().unwrap().prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A store of [`Slow`] backends, and the number of backends that it has opened.
fn slow_store() -> (Store, Arc<Mutex<usize>>, Receiver<()>, Sender<()>) {
    let (tell, begun) = channel();
    let (go, gate) = channel();
    let (memory, gate) = (Arc::new(Mutex::new(Memory::new())), Arc::new(Mutex::new(gate)));
    let opened = Arc::new(Mutex::new(0));
    let count = Arc::clone(&opened);
    let open = move || {
        *count.lock().unwrap() += 1;
        let slow = Slow { memory: Arc::clone(&memory), begun: tell.clone(), gate: Arc::clone(&gate) };
        Ok(Box::new(slow) as Box<dyn Backend>)
    };
    let store = Store::with_backend(open, None, Options::default()).unwrap();
    (store, opened, begun, go)
}

/// While a thread of its own is at work on the first call, reads and saves go on.
fn goes_on_beside<T: Send + 'static>(hand_in: impl Fn(&Store, Reply<T>)) {
    let (store, opened, begun, go) = slow_store();
    call(|reply| store.apply(vec![draft("run", "a").put()].into(), reply)).unwrap();
    store_get(&store, "a").unwrap().unwrap();
    assert_eq!(*opened.lock().unwrap(), 1, "one thread saves and reads, as long as no call waits for another");
    let slow = pending(|reply| hand_in(&store, reply));
    begun.recv_timeout(Duration::from_secs(30)).unwrap();
    call(|reply| store.apply(vec![draft("run", "b").put()].into(), reply)).unwrap();
    store_get(&store, "b").unwrap().unwrap();
    assert!(slow.try_recv().is_err(), "it still waits");
    go.send(()).unwrap();
    assert!(slow.recv_timeout(Duration::from_secs(30)).unwrap().is_ok());
    assert_eq!(*opened.lock().unwrap(), 2);

    let last = pending(|reply| hand_in(&store, reply));
    begun.recv_timeout(Duration::from_secs(30)).unwrap();
    go.send(()).unwrap();
    store.shutdown();
    assert!(last.recv_timeout(Duration::from_secs(30)).unwrap().is_ok(), "the end waits for it");
    let refused = call(|reply| hand_in(&store, reply));
    assert_eq!(refused.map(drop).unwrap_err().code(), Code::Closed);
}

#[test]
fn reads_and_saves_go_on_while_a_page_is_checked() {
    goes_on_beside(|store, reply| store.check(CheckCursor::default(), 10, reply));
}

#[test]
fn reads_and_saves_go_on_while_something_takes_long() {
    goes_on_beside(|store, reply| store.ask(stats_query(1), reply));
}
