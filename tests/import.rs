//! Tests the import of a `SqliteSaver` database. These tests cover the cases that are not in the database of the
//! TypeScript tests.

use forkpoint::contract::langgraph::import::SqliteSaver;
use forkpoint::error::Code;
use rusqlite::Connection;

const TABLES: &str = "
    CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
      parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
    CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
      task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));";

#[test]
fn pages_go_on_behind_a_namespace_and_an_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saver.db");
    let writing = Connection::open(&path).unwrap();
    writing.execute_batch(TABLES).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saver.db");
    let writing = Connection::open(&path).unwrap();
    writing.execute_batch(TABLES).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let writing = Connection::open(&path).unwrap();
    let refused = || SqliteSaver::new(&path).threads().unwrap_err().code();
    writing.execute_batch("CREATE TABLE checkpoints (id INTEGER)").unwrap();
    assert_eq!(refused(), Code::Unsupported);
    writing.execute_batch("DROP TABLE checkpoints; CREATE TABLE writes (thread_id TEXT)").unwrap();
    assert_eq!(refused(), Code::Unsupported);
    assert_eq!(SqliteSaver::new(folder.path().join("none")).threads().unwrap_err().code(), Code::NotFound);
}
