//! Removes, moves and replaces the files of an open database, as careless operators do. What was acknowledged must be
//! found, and nothing may be acknowledged that is lost.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::backend::sqlite::backup::backup;
use forkpoint_engine::backend::sqlite::restore::restore;
use rusqlite::Connection;

/// The saves of a child before and after its files are lost.
const SAVES: usize = 20;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn away(path: &Path, suffix: &str) -> PathBuf {
    path.with_file_name(format!("away.db{suffix}"))
}

fn remove(path: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        fs::remove_file(beside(path, suffix)).unwrap();
    }
}

/// Moves files away.
fn move_away(path: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        fs::rename(beside(path, suffix), away(path, suffix)).unwrap();
    }
}

fn move_back(path: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        fs::rename(away(path, suffix), beside(path, suffix)).unwrap();
    }
}

/// What happens to the files, how an operator undoes it after the process has ended, and what the process says.
type Loss = (&'static str, fn(&Path), fn(&Path), &'static str);

fn nothing(_: &Path) {}

const WRITTEN: &str = "All earlier saves were written to the database file";
const GONE: &str = "removed, moved or replaced";

/// After these, everything that was saved before must be there.
const LOSSES: [Loss; 7] = [
    ("the log is removed", |path| remove(path, &["-wal"]), nothing, WRITTEN),
    ("the log is moved", |path| move_away(path, &["-wal"]), nothing, WRITTEN),
    ("the log is emptied by another file", |path| replace_log(path), nothing, WRITTEN),
    (
        "the index is removed",
        |path| remove(path, &["-shm"]),
        nothing,
        "All earlier saves are in the database and its log",
    ),
    ("the log and the index are removed", |path| remove(path, &["-wal", "-shm"]), nothing, WRITTEN),
    ("the database is moved", |path| move_away(path, &[""]), |path| move_back(path, &[""]), GONE),
    ("all are moved", |path| move_away(path, &["", "-wal", "-shm"]), |path| move_back(path, &["", "-wal"]), GONE),
];

/// After these, the database has the content of the backup.
const RESTORED: [Loss; 2] = [
    (
        "a backup is renamed to the database",
        |path| restore_by(path, |from, to| fs::rename(from, to)),
        without_log,
        GONE,
    ),
    ("a backup is copied over", |path| restore_by(path, |from, to| fs::copy(from, to).map(drop)), without_log, FOREIGN),
];

const FOREIGN: &str = "belongs to another state of the database";

fn replace_log(path: &Path) {
    remove(path, &["-wal"]);
    fs::write(beside(path, "-wal"), "").unwrap();
}

fn restore_by(path: &Path, restore: fn(&Path, &Path) -> std::io::Result<()>) {
    make_backup(path);
    restore(&away(path, ".bak"), path).unwrap();
}

/// Makes a backup of a database that another process has open.
fn make_backup(path: &Path) {
    backup(&Options::new(path), &away(path, ".bak"), true, &mut |_| Ok(())).unwrap();
}

/// Removes the log that does not belong to a restored file, as the error says.
fn without_log(path: &Path) {
    let error = Sqlite::open(&Options::new(path)).map(drop).unwrap_err();
    assert_foreign(&error);
    let error = ReadOnly::open(path, std::time::Duration::ZERO, 0).map(drop).unwrap_err();
    assert_foreign(&error);
    fs::remove_file(beside(path, "-wal")).unwrap();
    let _ = fs::remove_file(beside(path, "-shm"));
}

fn assert_foreign(error: &Error) {
    assert_eq!((error.code(), error.retryable()), (Code::Unavailable, false), "{error}");
    assert!(error.message().contains(FOREIGN), "{error}");
    assert!(error.message().contains("forkpoint restore"), "it says what to do: {error}");
}

fn id(n: usize) -> String {
    format!("save {n}")
}

/// Saves, and tells of each save whether it was acknowledged.
fn try_saves(backend: &mut Sqlite, from: usize) {
    for n in from..from + SAVES {
        match apply(backend, vec![draft("run", &id(n)).put()]) {
            Ok(_) => say(&id(n)),
            Err(error) => {
                assert_eq!((error.code(), error.retryable()), (Code::Unavailable, false), "{error}");
                say(error.message());
            }
        }
    }
}

#[test]
#[ignore = "the program of a child process"]
fn child() {
    let path = PathBuf::from(role());
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    try_saves(&mut backend, 0);
    told();
    try_saves(&mut backend, SAVES);
    // The files are what the process leaves behind when it is killed.
    told();
}

/// A process that has saved, and has its database open.
fn saving(path: &Path) -> Process {
    let mut process = Process::start(module_path!(), "child", path);
    for n in 0..SAVES {
        assert_eq!(process.line(), Some(id(n)));
    }
    process
}

/// The answers of the process to its further saves.
fn go_on(process: &mut Process) -> Vec<String> {
    process.tell();
    (0..SAVES).map(|_| process.line().unwrap()).collect()
}

#[test]
fn no_save_is_acknowledged_that_is_lost() {
    let all = LOSSES.map(|loss| (loss, true)).into_iter().chain(RESTORED.map(|loss| (loss, false)));
    for ((name, lose, undo, says), keeps) in all {
        let (_folder, path) = temporary("agent.db");
        let mut process = saving(&path);
        lose(&path);
        for answer in go_on(&mut process) {
            assert!(answer.contains(says), "{name}: {answer}");
        }
        process.kill();
        undo(&path);
        let mut backend = Sqlite::open(&Options::new(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for n in 0..SAVES {
            assert!(!keeps || get(&mut backend, &id(n)).is_some(), "{name}: {n}");
        }
        common::save(&mut backend, [draft("run", "later")]);
        assert_eq!(common::findings(&mut backend), [], "{name}");
        drop(backend);
        assert_eq!(common::integrity(&path), "ok", "{name}");
    }
}

#[test]
fn an_idle_store_rescues_its_log() {
    let (_folder, path) = temporary("agent.db");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    common::save(&mut backend, [draft("run", "a")]);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(60));
    assert_eq!(backend.sweep().unwrap_err().code(), Code::Unavailable);
    // Another process sees only what is in the files.
    let image = away(&path, ".image");
    fs::copy(&path, &image).unwrap();
    assert!(get(&mut Sqlite::open(&Options::new(&image)).unwrap(), "a").is_some());
}

#[test]
fn a_second_process_continues_after_the_index_was_removed() {
    let (_folder, path) = temporary("agent.db");
    let mut process = saving(&path);
    fs::remove_file(beside(&path, "-shm")).unwrap();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for n in 0..SAVES {
        assert!(get(&mut backend, &id(n)).is_some(), "{n}");
        common::save(&mut backend, [draft("run", &format!("second {n}"))]);
    }
    for answer in go_on(&mut process) {
        assert!(answer.contains("-shm\" was removed"), "{answer}");
    }
    process.kill();
    drop(backend);
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for n in 0..SAVES {
        assert!(get(&mut backend, &id(n)).is_some(), "{n}");
        assert!(get(&mut backend, &format!("second {n}")).is_some(), "{n}");
    }
}

#[test]
fn a_second_process_is_refused_while_the_log_is_missing() {
    let (_folder, path) = temporary("agent.db");
    let mut process = saving(&path);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    let error = Sqlite::open(&Options::new(&path)).map(drop).unwrap_err();
    assert_eq!((error.code(), error.retryable()), (Code::Unavailable, false), "{error}");
    assert!(error.message().contains("was removed while another store has the database open"), "{error}");
    go_on(&mut process);
    process.kill();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    assert!((0..SAVES).all(|n| get(&mut backend, &id(n)).is_some()));
}

#[test]
fn a_backup_is_restored_into_a_database_in_use() {
    let (_folder, path) = temporary("agent.db");
    let mut process = saving(&path);
    make_backup(&path);
    assert_eq!(go_on(&mut process), (SAVES..2 * SAVES).map(id).collect::<Vec<_>>());
    let restored = restore(&away(&path, ".bak"), &Options::new(&path), &mut |_| Ok(())).unwrap();
    assert_eq!((restored.checkpoints, &restored.path), (SAVES as u64, &path));
    // The process is killed with the restored content in the log only.
    process.kill();
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    for n in 0..2 * SAVES {
        assert_eq!(get(&mut backend, &id(n)).is_some(), n < SAVES, "{n}");
    }
    common::save(&mut backend, [draft("run", "later")]);
    drop(backend);
    assert_eq!(common::integrity(&path), "ok");
}

#[test]
fn a_restore_that_is_ended_changes_nothing() {
    let (_folder, path) = temporary("agent.db");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    common::save(&mut backend, [draft("run", "a")]);
    make_backup(&path);
    common::save(&mut backend, [draft("run", "b")]);
    for ends_at in 0.. {
        let mut left = ends_at;
        let mut watch = |_| {
            left -= 1;
            if left < 0 { Err(Error::invalid("enough")) } else { Ok(()) }
        };
        let restored = restore(&away(&path, ".bak"), &Options::new(&path), &mut watch);
        assert!(get(&mut backend, "a").is_some());
        assert_eq!(get(&mut backend, "b").is_some(), restored.is_err(), "{ends_at}: {restored:?}");
        if restored.is_ok() {
            return assert!(ends_at > 0);
        }
    }
}

#[test]
fn what_was_written_without_a_sync_opens_with_full_durability() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, opens) in [(Durability::Normal, true), (Durability::Off, true), (Durability::Full, false)] {
        let path = folder.path().join(format!("{durability:?}.db"));
        let mut backend = Sqlite::open(&Options { durability, ..Options::new(&path) }).unwrap();
        for n in 0..SAVES {
            common::save(&mut backend, [draft("run", &id(n))]);
        }
        // What a power loss may leave if the log is not synced: a later page is on the disk, and an earlier one is not.
        for frame in 1..12 {
            let image = folder.path().join("image.db");
            for suffix in ["", "-wal"] {
                fs::copy(beside(&path, suffix), beside(&image, suffix)).unwrap();
            }
            let mut log = fs::read(beside(&image, "-wal")).unwrap();
            let start = 32 + (frame - 1) * 4120;
            log[start..start + 4120].fill(0);
            fs::write(beside(&image, "-wal"), log).unwrap();
            let opened = Sqlite::open(&Options::new(&image)).map(drop);
            match opened {
                Ok(()) => assert!(opens, "{durability:?}, frame {frame}"),
                Err(error) => {
                    assert!(!opens && error.code() == Code::Corrupt, "{durability:?}, frame {frame}: {error}");
                }
            }
            for suffix in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(beside(&image, suffix));
            }
        }
        drop(backend);
    }
}

#[test]
fn full_durability_forgets_what_was_written_without_a_sync() {
    let (_folder, path) = temporary("agent.db");
    let unsynced = || {
        let file = Connection::open(&path).unwrap();
        file.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0)).unwrap() & 256 != 0
    };
    let write = |durability| {
        let mut backend = Sqlite::open(&Options { durability, ..Options::new(&path) }).unwrap();
        common::save(&mut backend, [draft("run", "a")]);
    };
    write(Durability::Normal);
    assert!(unsynced());
    write(Durability::Full);
    assert!(!unsynced());
}
