//! Tests the database file: its permissions, which files the engine accepts, and that a refused file stays unchanged.

use std::fs;
use std::path::Path;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::store;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

const APPLICATION_ID: i32 = 0x466b_7074;

fn refusal(path: &Path) -> Error {
    let error = Sqlite::open(&Options::new(path)).expect_err("it should have been refused");
    assert!(error.message().contains(&path.display().to_string()), "it names the file: {error}");
    error
}

/// Returns every file in the folder with its bytes. The bytes of shared memory files are left out, because they are
/// scratch space.
pub(super) fn contents(folder: &Path) -> common::Files {
    let mut found = common::files(folder);
    found.iter_mut().filter(|(name, _)| name.ends_with("-shm")).for_each(|(_, bytes)| bytes.clear());
    found
}

/// Gives the tables of a file another version.
pub(super) fn set_tables(file: &Connection, version: i32) {
    let stored: i32 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    file.pragma_update(None, "user_version", (stored & !0xff) | version).unwrap();
}

pub(super) fn refused_and_unchanged(path: &Path, given: &Path, code: Code) {
    let folder = path.parent().unwrap();
    let before = contents(folder);
    assert_eq!(refusal(given).code(), code);
    assert_eq!(refusal(given).code(), code, "and again");
    let after = contents(folder);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before, "the bytes changed");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = temporary("private.db");
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, [draft("run", "a")]);
    for name in ["private.db", "private.db-wal", "private.db-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    drop(backend);
    // The engine keeps permissions that the owner changes later.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, [draft("run", "b")]);
    assert_eq!(mode("private.db"), 0o640);
}

#[test]
fn odd_file_names_are_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut odd = vec!["a b%41#", "née 🜁.db", "-journal", "' OR '1'='1"];
    if cfg!(unix) {
        odd.extend(["file:x?mode=memory", ":memory:", "a\nb", "a\\b", "*"]);
    }
    for &name in &odd {
        let path = folder.path().join(name);
        save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", name)]);
        let mut again = Sqlite::open(&Options::new(&path)).unwrap();
        assert_eq!(get(&mut again, name), Some(draft("run", name).0));
        assert!(fs::metadata(&path).unwrap().len() > 0);
    }
    assert_eq!(contents(folder.path()).len(), odd.len());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_refused() {
    let (folder, target) = temporary("target.db");
    save(&mut Sqlite::open(&Options::new(&target)).unwrap(), [draft("run", "a")]);
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    refused_and_unchanged(&link, &link, Code::InvalidArgument);
    // The engine also refuses a link to a file that does not exist, and does not create that file.
    let dangling = folder.path().join("dangling.db");
    let nowhere = folder.path().join("nowhere.db");
    std::os::unix::fs::symlink(&nowhere, &dangling).unwrap();
    assert_eq!(refusal(&dangling).code(), Code::InvalidArgument);
    assert!(!nowhere.exists());
    // A link to a parent directory is allowed.
    let linked = folder.path().join("folder");
    std::os::unix::fs::symlink(folder.path(), &linked).unwrap();
    let mut backend = Sqlite::open(&Options::new(linked.join("target.db"))).unwrap();
    assert!(get(&mut backend, "a").is_some());
}

#[test]
fn what_is_not_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = refusal(&folder.path().join("file").join("a.db"));
    assert_eq!(
        (error.code(), error.retryable()),
        (Code::Unavailable, false),
        "a file in the place of a directory: {error}"
    );
    assert_eq!(refusal(&folder.path().join("sub")).code(), Code::InvalidArgument);
    assert_eq!(refusal(&folder.path().join("sub").join("..")).code(), Code::InvalidArgument);
    #[cfg(unix)]
    assert_eq!(refusal(Path::new("/dev/null")).code(), Code::InvalidArgument);
}

#[test]
fn a_nul_in_the_path_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Sqlite::open(&Options::new(folder.path().join("a\0b.db"))).unwrap_err();
    assert!(matches!(error.code(), Code::InvalidArgument | Code::Unavailable), "{error}");
    assert!(contents(folder.path()).is_empty(), "no file \"a\"");
}

#[test]
fn an_empty_file_is_accepted() {
    let (folder, path) = temporary("empty.db");
    fs::write(&path, b"").unwrap();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, [draft("run", "a")]);
    drop(backend);
    // The engine also accepts a database without tables.
    let path = folder.path().join("no tables.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode = WAL; VACUUM").unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 0);
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, [draft("run", "a")]);
    assert_eq!(backend.pragma("application_id").unwrap(), APPLICATION_ID.to_string());
}

#[test]
fn what_is_no_database_is_refused_and_unchanged() {
    let (_folder, path) = temporary("letter.txt");
    // A file that is shorter than the smallest page was never a database. SQLite takes one byte for an empty database.
    for length in [1, 2, 13, 99, 100, 511] {
        fs::write(&path, "a".repeat(length)).unwrap();
        refused_and_unchanged(&path, &path, Code::Unsupported);
    }
    // A longer file may be a database whose first page is damaged.
    for length in [512, 513, 1_024, 4_096, 100_000] {
        fs::write(&path, "a".repeat(length)).unwrap();
        refused_and_unchanged(&path, &path, Code::Corrupt);
    }
}

/// `SQLite` must still restore a short file from its journal. A power failure during the creation may leave one.
#[test]
fn a_short_file_with_a_journal_is_left_to_sqlite() {
    let (folder, path) = temporary("torn.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = PERSIST; BEGIN IMMEDIATE; CREATE TABLE a (b)").unwrap();
    writer.cache_flush().unwrap();
    let journal = folder.path().join("torn.db-journal");
    let copy = folder.path().join("copy.db");
    fs::copy(&journal, folder.path().join("copy.db-journal")).unwrap();
    drop(writer);
    fs::write(&copy, "a").unwrap();
    let mut backend = Sqlite::open(&Options::new(&copy)).unwrap();
    save(&mut backend, [draft("run", "a")]);
    assert_eq!(get(&mut backend, "a"), Some(draft("run", "a").0));
}

#[test]
fn a_path_that_names_a_directory_is_refused_and_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join("x").parent().unwrap().join(name);
    assert_eq!(refusal(&path("a.db/")).code(), Code::InvalidArgument);
    assert!(contents(folder.path()).is_empty());
    save(&mut Sqlite::open(&Options::new(path("a.db"))).unwrap(), [draft("run", "a")]);
    refused_and_unchanged(&path("a.db"), &path("a.db/"), Code::InvalidArgument);
}

#[cfg(unix)]
#[test]
fn a_file_with_two_names_is_refused_by_each_name_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one.db", "other.db"].map(|name| folder.path().join(name));
    let mut backend = Sqlite::open(&Options::new(&one)).unwrap();
    save(&mut backend, [draft("run", "a")]);
    fs::hard_link(&one, &other).unwrap();
    let error = refusal(&other);
    assert_eq!((error.code(), error.retryable()), (Code::InvalidArgument, false));
    for text in ["2 names (hard links)", "keep one name and remove the others", "-wal"] {
        assert!(error.message().contains(text), "{error}");
    }
    let names: Vec<String> = contents(folder.path()).into_keys().collect();
    assert_eq!(
        names,
        ["one.db", "one.db-reserve", "one.db-shm", "one.db-wal", "other.db"],
        "the other name gets no log"
    );
    // A process that already has the file open goes on, and may open further connections.
    save(&mut backend, [draft("run", "b")]);
    let mut reader = Sqlite::open(&Options::new(&one)).unwrap();
    assert!(get(&mut reader, "b").is_some());
    drop((backend, reader));
    for path in [&one, &other] {
        refused_and_unchanged(path, path, Code::InvalidArgument);
    }
    // The remedy works: remove a name. A copy is another file.
    fs::remove_file(&other).unwrap();
    fs::copy(&one, &other).unwrap();
    for path in [&one, &other] {
        let mut backend = Sqlite::open(&Options::new(path)).unwrap();
        assert!(get(&mut backend, "a").is_some() && get(&mut backend, "b").is_some());
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_is_too_long_is_refused_and_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join(["d".repeat(200), "e".repeat(200)].iter().collect::<std::path::PathBuf>());
    fs::create_dir_all(&deep).unwrap();
    let fits = 503 - deep.canonicalize().unwrap().as_os_str().len() - 1;
    for (folder, longest) in [(folder.path(), 247), (&deep, fits)] {
        for length in [longest + 1, 255, 256, 5_000] {
            let error = refusal(&folder.join("n".repeat(length)));
            assert_eq!((error.code(), error.retryable()), (Code::InvalidArgument, false), "{length}: {error}");
            assert!(error.message().contains("shorter path"), "it says what to do: {error}");
        }
        let path = folder.join("n".repeat(longest));
        save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "a")]);
        fs::remove_file(&path).unwrap();
    }
    let error = refusal(&folder.path().join("n".repeat(300)).join("a.db"));
    assert_eq!((error.code(), error.retryable()), (Code::InvalidArgument, false), "a directory: {error}");
}

/// Nobody may create files in this folder, not even root. The error is EACCES, or EROFS in a container.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_refuses_new_files_is_no_reason_to_try_again() {
    let error = refusal(Path::new("/sys/kernel/forkpoint.db"));
    assert_eq!((error.code(), error.retryable()), (Code::Unavailable, false), "{error}");
    assert!(matches!(error.cause().unwrap().code(), Some("EACCES" | "EPERM" | "EROFS")), "{error}");
}

#[test]
fn a_table_that_another_program_dropped_is_damage() {
    for table in ["checkpoint", "lineage", "write"] {
        let (_folder, path) = temporary("dropped.db");
        save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "a")]);
        Connection::open(&path).unwrap().execute_batch(&format!("DROP TABLE {table}")).unwrap();
        let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
        let outcomes = [
            common::try_get(&mut backend, "a").map(drop),
            common::apply(&mut backend, vec![draft("run", "b").put()]).map(drop),
            common::apply(&mut backend, vec![common::remove("a")]).map(drop),
        ];
        let errors: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        assert!(!errors.is_empty(), "nobody misses the table {table}");
        for error in errors {
            assert_eq!((error.code(), error.retryable()), (Code::Corrupt, false), "{error}");
            assert!(error.message().contains(table) && error.message().contains("backup"), "{error}");
        }
    }
}

#[test]
fn a_newer_schema_that_is_only_in_the_log_is_refused_and_unchanged() {
    let (folder, path) = temporary("newer.db");
    save(&mut Sqlite::open(&Options::new(&path)).unwrap(), [draft("run", "a")]);
    let newer = Connection::open(&path).unwrap();
    newer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    set_tables(&newer, 3);
    // The engine refuses the file while the newer program has it open. It also refuses the file after the newer program
    // was killed.
    refused_and_unchanged(&path, &path, Code::Unsupported);
    assert!(refusal(&path).message().contains("upgrade forkpoint"), "it says what to do");
    drop(newer);
    assert_eq!(contents(folder.path()).len(), 3, "the log is there");
    refused_and_unchanged(&path, &path, Code::Unsupported);
}

#[test]
fn the_database_of_another_program_is_refused_and_unchanged() {
    for (journal, application_id, user_version) in [
        ("DELETE", 0, 0),
        ("DELETE", 0, 7),
        ("DELETE", 0x1234_5678, 0),
        ("WAL", 0x1234_5678, 1),
        ("WAL", 0, 0),
        ("WAL", 0, 7),
    ] {
        let (_folder, path) = temporary("other.db");
        let other = Connection::open(&path).unwrap();
        let tables = "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)";
        other.execute_batch(&format!("PRAGMA journal_mode = {journal}; {tables}")).unwrap();
        other.pragma_update(None, "application_id", application_id).unwrap();
        other.pragma_update(None, "user_version", user_version).unwrap();
        drop(other);
        refused_and_unchanged(&path, &path, Code::Unsupported);
    }
}

#[cfg(unix)]
#[test]
fn closing_a_store_tells_that_its_file_is_gone() {
    let (_folder, path) = temporary("gone.db");
    let store = Store::open(&Target::Sqlite(path.clone()), store::Options::default()).unwrap();
    common::call(|reply| store.apply(vec![draft("run", "a").put()].into(), reply)).unwrap();
    fs::remove_file(&path).unwrap();
    let error = common::call(|reply| store.close(reply)).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert_eq!(common::call(|reply| store.close(reply)), Ok(()), "it is told once");
    store.shutdown();
}

#[cfg(target_os = "linux")]
#[test]
fn a_store_refuses_a_file_that_something_else_in_the_process_has_open() {
    let (_folder, path) = temporary("shared.db");
    let open = || Store::open(&Target::Sqlite(path.clone()), store::Options::default()).unwrap();
    let save = |store: &Store, id: &str| common::call(|reply| store.apply(vec![draft("run", id).put()].into(), reply));
    let store = open();
    save(&store, "a").unwrap();
    let second = open();
    save(&second, "b").unwrap();
    for store in [store, second] {
        store.shutdown();
    }

    let other = fs::File::open(&path).unwrap();
    let store = open();
    let error = save(&store, "c").unwrap_err();
    assert_eq!((error.code(), error.retryable()), (Code::Conflict, false), "{error}");
    assert!(error.message().contains("npm ls forkpoint"), "{error}");
    drop(other);
    save(&store, "c").unwrap();
    store.shutdown();
}
