//! Tests the import of a `SqliteSaver` database. These tests cover the cases that are not in the database of the
//! TypeScript tests.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::common::prelude::*;
use forkpoint_engine::contract::langgraph::import::{SqliteSaver, split};
use rusqlite::Connection;
use tempfile::TempDir;

const TABLES: &str = "
    CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
      parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
    CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
      task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));";

fn saver() -> (TempDir, PathBuf, Connection) {
    let (folder, path) = temporary("saver.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(TABLES).unwrap();
    (folder, path, connection)
}

#[test]
fn pages_go_on_behind_a_namespace_and_an_id() {
    let (_folder, path, writing) = saver();
    for thread in ["t", "other"] {
        for namespace in ["", "a", "a|b"] {
            for id in 0..5 {
                let sql = "INSERT INTO checkpoints VALUES (?, ?, ?, ?, 'json', '{}', x'7b7d')";
                writing.execute(sql, (thread, namespace, format!("{id}"), "")).unwrap();
            }
        }
    }
    let mut reading = SqliteSaver::new(&path);
    let mut found = Vec::new();
    loop {
        let after = found.last().cloned().unwrap_or_default();
        let (namespace, id): &(String, String) = &after;
        let page = reading.checkpoints("t", (namespace, id), 4).unwrap();
        assert!(page.iter().all(|row| row.parent.is_none()), "an empty parent is none");
        assert!(page.iter().all(|row| row.checkpoint == row.metadata), "text and blob are the same bytes");
        found.extend(page.iter().map(|row| (row.namespace.clone(), row.id.clone())));
        if page.len() < 4 {
            break;
        }
    }
    assert_eq!(found.len(), 15);
    assert!(found.is_sorted());
    // This write is made after the reader has taken its snapshot, so the reader does not see the write.
    drop(writing.execute("DELETE FROM checkpoints WHERE thread_id = 'other'", []));
    assert_eq!(reading.threads().unwrap(), ["other", "t"]);
}

#[test]
fn what_has_no_type_is_json_and_writes_need_no_checkpoint() {
    let (_folder, path, writing) = saver();
    let write = "INSERT INTO writes VALUES ('t', 'ns', 'gone', ?, ?, 'c', ?, ?)";
    writing.execute(write, ("b", 1, None::<&str>, "1")).unwrap();
    writing.execute(write, ("a", -3, Some("bytes"), [0_u8, 255])).unwrap();
    writing.execute(write, ("a", 0, Some("json"), None::<&str>)).unwrap();
    drop(writing);
    let mut reading = SqliteSaver::new(&path);
    assert_eq!(reading.threads().unwrap(), ["t"]);
    assert_eq!(reading.orphans("t").unwrap(), [("ns".to_owned(), "gone".to_owned())]);
    assert_eq!(reading.orphans("none").unwrap(), []);
    let found = reading.writes("t", "ns", "gone").unwrap();
    let places: Vec<_> = found.iter().map(|write| (write.task.as_str(), write.index)).collect();
    assert_eq!(places, [("b", 1), ("a", -3), ("a", 0)], "in the order in which they were written");
    let values: Vec<_> = found.into_iter().map(|write| write.value).collect();
    let tagged = |tag: &str, bytes: &[u8]| (tag.to_owned(), bytes.to_vec());
    assert_eq!(values, [tagged("json", b"1"), tagged("bytes", &[0, 255]), tagged("json", b"")]);
}

#[test]
fn another_database_is_told_from_one() {
    let (folder, path) = temporary("other.db");
    let writing = Connection::open(&path).unwrap();
    let refused = || SqliteSaver::new(&path).threads().unwrap_err().code();
    writing.execute_batch("CREATE TABLE checkpoints (id INTEGER)").unwrap();
    assert_eq!(refused(), Code::Unsupported);
    writing.execute_batch("DROP TABLE checkpoints; CREATE TABLE writes (thread_id TEXT)").unwrap();
    assert_eq!(refused(), Code::Unsupported);
    assert_eq!(SqliteSaver::new(folder.path().join("none")).threads().unwrap_err().code(), Code::NotFound);
}

/// The environment variables for the process that reads as another user: the path of a database, and the number of
/// checkpoints that it has.
const READ: (&str, &str) = ("FORKPOINT_TEST_IMPORT", "FORKPOINT_TEST_CHECKPOINTS");

fn insert(connection: &Connection, ids: std::ops::Range<u32>) {
    for id in ids {
        let sql = "INSERT INTO checkpoints VALUES ('t', '', ?, NULL, 'json', zeroblob(2000), '{}')";
        connection.execute(sql, [format!("{id:04}")]).unwrap();
    }
}

/// Makes a database in each state that a program can leave it in. Returns its path and the number of its checkpoints.
fn states(folder: &Path) -> Vec<(PathBuf, u32)> {
    let place = |name: &str| {
        let folder = folder.join(name);
        fs::create_dir(&folder).unwrap();
        folder.join("sa%ver #1?.db")
    };
    let make = |path: &Path, mode: &str| {
        let connection = Connection::open(path).unwrap();
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
        connection.execute_batch(TABLES).unwrap();
        insert(&connection, 0..20);
        connection
    };
    let closed = [("rollback", "DELETE"), ("wal", "WAL")].map(|(name, mode)| {
        let path = place(name);
        drop(make(&path, mode));
        (path, 20)
    });
    let open = make(&place("open"), "WAL");
    let open_at = PathBuf::from(open.path().unwrap());
    let (log, log_and_index) = (place("log"), place("log and index"));
    left_behind(&open_at, &log, &["", "-wal"]);
    left_behind(&open_at, &log_and_index, &["", "-wal", "-shm"]);
    // A transaction that is half in the file: it must be rolled back.
    let half = make(&place("half"), "DELETE");
    half.execute_batch("PRAGMA cache_size = 1; BEGIN").unwrap();
    insert(&half, 20..200);
    let hot = place("hot journal");
    left_behind(Path::new(half.path().unwrap()), &hot, &["", "-journal"]);
    closed.into_iter().chain([(log, 20), (log_and_index, 20), (hot, 20)]).collect()
}

fn count(path: &Path) -> usize {
    let mut reading = SqliteSaver::new(path);
    assert_eq!(reading.threads().unwrap(), ["t"]);
    reading.checkpoints("t", ("", ""), 1_000).unwrap().len()
}

#[test]
fn a_read_changes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for (path, checkpoints) in states(folder.path()) {
        let here = path.parent().unwrap();
        let before = files(here);
        assert_eq!(count(&path), checkpoints as usize, "{}", path.display());
        // A reader of a database in WAL mode writes to the `-shm` file, because another process may use the database.
        let shared =
            |files: Files| -> Files { files.into_iter().filter(|(name, _)| !name.ends_with("-shm")).collect() };
        assert!(shared(files(here)) == shared(before), "{} was changed", path.display());
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_can_be_read() {
    if let (Some(path), Ok(checkpoints)) = (env::var_os(READ.0), env::var(READ.1)) {
        let path = PathBuf::from(path);
        fs::write(path.with_file_name("new"), "").expect_err("this user must not be able to write here");
        assert_eq!(count(&path).to_string(), checkpoints);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let other = OtherUser::new();
    for (path, checkpoints) in states(folder.path()) {
        let checkpoints = checkpoints.to_string();
        let variables = [(READ.0, path.as_os_str()), (READ.1, checkpoints.as_ref())];
        other.run("import::a_read_only_folder_can_be_read", path.parent().unwrap(), &variables);
    }
}

#[test]
fn a_file_that_changes_during_the_import_is_noticed() {
    let (_folder, path) = temporary("saver.db");
    let writing = Connection::open(&path).unwrap();
    writing.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    writing.execute_batch(TABLES).unwrap();
    insert(&writing, 0..3);
    drop(writing);
    let mut reading = SqliteSaver::new(&path);
    assert_eq!(reading.threads().unwrap(), ["t"]);
    let writing = Connection::open(&path).unwrap();
    insert(&writing, 3..4);
    assert_eq!(reading.threads().unwrap_err().code(), Code::Busy);
    // A program that has the database open is no obstacle: the import reads one snapshot of a shared file.
    let mut reading = SqliteSaver::new(&path);
    assert_eq!(reading.checkpoints("t", ("", ""), 9).unwrap().len(), 4);
    insert(&writing, 4..5);
    assert_eq!(reading.checkpoints("t", ("", ""), 9).unwrap().len(), 4);
}

#[test]
fn threads_are_listed_by_their_last_checkpoint() {
    let (_folder, path, writing) = saver();
    for (thread, namespace, id) in
        [("late", "", "1"), ("early", "", "2"), ("late", "", "3"), ("early", "sub", "9"), ("inner", "sub", "8")]
    {
        let sql = "INSERT INTO checkpoints VALUES (?, ?, ?, NULL, 'json', '{}', '{}')";
        writing.execute(sql, (thread, namespace, id)).unwrap();
    }
    writing.execute("INSERT INTO writes VALUES ('only writes', '', '9', 't', 0, 'c', 'json', '1')", []).unwrap();
    assert_eq!(SqliteSaver::new(&path).threads().unwrap(), ["inner", "only writes", "early", "late"]);
    let some = ["late", "none", "only writes", "inner", "late"].map(str::to_owned).to_vec();
    assert_eq!(SqliteSaver::new(&path).existing(some).unwrap(), ["inner", "only writes", "late"]);
}

/// The names and the texts of the parts of a checkpoint.
fn texts(checkpoint: &str) -> Option<Vec<(String, String)>> {
    let text = |part: Part| (part.name, String::from_utf8(part.bytes.to_vec()).unwrap());
    split(checkpoint.as_bytes()).map(|parts| parts.into_iter().map(text).collect())
}

#[test]
fn values_keep_their_bytes() {
    let checkpoint = r#"{"v":4,"id":"1","channel_values":{"b":[1, "\ud800"],"a":{"lc":2}},"channel_versions":{"a":7,"b":"0.é"},"x":"é"}"#;
    let named = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let expected = vec![
        named("", r#"{"v":4,"id":"1","channel_versions":{"a":7,"b":"0.é"},"x":"é"}"#),
        named("a\u{0}7", r#"{"lc":2}"#),
        named("b\u{0}0.é", r#"[1, "\ud800"]"#),
    ];
    assert_eq!(texts(checkpoint), Some(expected));
    let unversioned = r#"{"channel_values":{"a":1},"channel_versions":{}}"#;
    assert_eq!(texts(unversioned).unwrap()[1], named("a\u{0}0", "1"));
    assert_eq!(texts(r#"{"channel_versions":{}}"#).unwrap().len(), 1);
}

#[test]
fn what_is_unusual_is_left_to_the_serializer() {
    for checkpoint in [
        "",
        "[]",
        "null",
        r#"{"channel_values":{}}"#,
        r#"{"channel_versions":[]}"#,
        r#"{"channel_versions":{},"channel_values":[]}"#,
        r#"{"channel_versions":{"a":1.5},"channel_values":{"a":1}}"#,
        r#"{"channel_versions":{"a":1e3},"channel_values":{"a":1}}"#,
        r#"{"channel_versions":{"a":-1},"channel_values":{"a":1}}"#,
        r#"{"channel_versions":{"a":null},"channel_values":{"a":1}}"#,
        r#"{"channel_versions":{},"channel_versions":{}}"#,
        r#"{"channel_versions":{},"channel_values":{"\ud800":1}}"#,
        r#"{"channel_versions":{},"__proto__":1}"#,
        r#"{"channel_versions":{}} x"#,
    ] {
        assert_eq!(texts(checkpoint), None, "{checkpoint}");
    }
    assert_eq!(split(b"{\"channel_versions\":{},\"x\":\"\xff\"}").map(|parts| parts.len()), None);
}
