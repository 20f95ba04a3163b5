//! Backs databases up while others write to them, with each kind of journal.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::backend::sqlite::backup::{Phase, Progress, backup};

const COUNT: u64 = 40;

fn fill(path: &Path, journal: Journal) -> Sqlite {
    let mut store = sqlite(path, journal, Durability::Off).unwrap();
    for n in 0..COUNT {
        let state = vec![part("state", "v8", noise(n, 100_000))];
        save(&mut store, [draft("run", &format!("c{n}")).parts(state)]);
    }
    store
}

fn with_a_writer(journal: Journal) {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let mut writer = fill(&from, journal);
    let done = AtomicBool::new(false);
    let (mut seen, mut saved) = (Vec::new(), 0);
    let made = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut n = 0;
            while !done.load(Ordering::Relaxed) {
                save(&mut writer, [draft("other", &format!("w{n}"))]);
                n += 1;
                // A writer that never pauses would keep the readers of a rollback journal out.
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            n
        });
        let options = Options { journal: Some(journal), ..Options::new(&from) };
        let made = backup(&options, &to, false, &mut |progress| {
            seen.push(progress);
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        saved += writing.join().unwrap();
        made.unwrap()
    });
    assert!(saved > 0, "others save meanwhile");
    assert!(made.checkpoints >= COUNT && made.checkpoints <= COUNT + saved, "{made:?}");
    assert_eq!(made.bytes, fs::metadata(&to).unwrap().len());
    for phase in [Phase::Copying, Phase::Verifying] {
        let of_phase: Vec<&Progress> = seen.iter().filter(|progress| progress.phase == phase).collect();
        assert!(of_phase.iter().all(|progress| progress.done <= progress.of), "{of_phase:?}");
        assert!(of_phase.last().is_some_and(|last| last.done == last.of), "{of_phase:?}");
    }
    let mut copy = Sqlite::open(&Options::new(&to)).unwrap();
    assert_eq!(findings(&mut copy), []);
}

#[test]
fn a_database_with_a_log_is_backed_up_while_others_write() {
    with_a_writer(Journal::Wal);
}

#[test]
fn a_database_with_a_rollback_journal_is_backed_up_while_others_write() {
    with_a_writer(Journal::Rollback);
}

#[test]
fn a_backup_that_is_cancelled_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    drop(fill(&from, Journal::Wal));
    for phase in [Phase::Copying, Phase::Verifying] {
        let mut calls = 0;
        let cancelled = backup(&Options::new(&from), &to, false, &mut |progress| {
            calls += 1;
            if progress.phase == phase { Err(Error::new(Code::Closed, "enough")) } else { Ok(()) }
        });
        assert_eq!(cancelled.unwrap_err().code(), Code::Closed);
        assert!(calls > 0);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["a.db"], "{phase:?}");
    }
}
