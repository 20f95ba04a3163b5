//! Several real processes on one file: nothing is lost, every process's saves keep their order in the one sequence, and
//! nobody hears of a lock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod common;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use common::{Process, apply, call, draft, get, group, ids, names, remove, role, say, sqlite, told};
use forkpoint::backend::sqlite::Journal;
use forkpoint::backend::{Backend, Durability};
use forkpoint::store::{Options, Store};

const PROCESSES: usize = 4;
const SAVES: usize = 60;

/// The two journals, as a role's first letter.
const JOURNALS: [(&str, Journal); 2] = [("w", Journal::Wal), ("r", Journal::Rollback)];

fn open(journal: &str, path: &Path) -> Box<dyn Backend> {
    let (_, journal) = JOURNALS.into_iter().find(|(name, _)| *name == journal).unwrap();
    Box::new(sqlite(path, journal, Durability::Full).unwrap())
}

fn arguments(of: &[&dyn AsRef<std::ffi::OsStr>]) -> OsString {
    of.iter().map(AsRef::as_ref).collect::<Vec<&std::ffi::OsStr>>().join("|".as_ref())
}

/// A process: saves its own lineage, and each time a checkpoint that all processes replace.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let role = role.into_string().unwrap();
    let [journal, name, path] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let (kind, path) = (journal.to_owned(), PathBuf::from(path));
    say("ready");
    told();
    // Opened only now, so that all of them open the file at once.
    let store = Store::with_backend(move || Ok(open(&kind, &path)), None, Options::default()).unwrap();
    for n in 0..SAVES {
        let id = format!("{name} {n}");
        let unit = vec![
            draft(name, &id).group("all").put(),
            draft(name, &format!("{id} pair")).group("all").put(),
            draft(name, "contended").put(),
            draft(name, &format!("{name} brief")).put(),
            remove(&format!("{name} brief")),
        ];
        call(|reply| store.apply(unit.into(), reply)).unwrap();
        if n % 10 == 0 {
            let newest = common::store_ids(&store, group("all")).unwrap();
            let own = newest.iter().find(|id| id.starts_with(&format!("{name} "))).unwrap();
            assert_eq!(*own, format!("{id} pair"), "what was acknowledged is there");
        }
    }
    store.shutdown();
}

#[test]
fn processes_share_one_file() {
    for (journal, _) in JOURNALS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shared.db");
        let name = |n: usize| format!("process {n}");
        let mut processes: Vec<Process> =
            (0..PROCESSES).map(|n| Process::start("child", arguments(&[&journal, &name(n), &path]))).collect();
        for process in &mut processes {
            assert_eq!(process.line().as_deref(), Some("ready"));
        }
        processes.iter_mut().for_each(Process::tell);
        processes.into_iter().for_each(Process::finish);

        let mut backend = open(journal, &path);
        let saved = ids(&mut *backend, group("all"));
        assert_eq!(saved.len(), PROCESSES * SAVES * 2, "{journal}");
        for pair in saved.chunks(2) {
            assert_eq!(pair[0], format!("{} pair", pair[1]), "a unit's places are next to each other");
        }
        for process in (0..PROCESSES).map(name) {
            let own: Vec<&String> = saved.iter().filter(|id| id.starts_with(&process)).collect();
            let expected: Vec<String> =
                (0..SAVES).rev().flat_map(|n| [format!("{process} {n} pair"), format!("{process} {n}")]).collect();
            assert_eq!(own, expected.iter().collect::<Vec<_>>());
            for id in expected {
                assert_eq!(get(&mut *backend, &id), Some(draft(&process, &id).group("all").0));
            }
        }
        // Whoever came last has it, and it is there once.
        let winner = get(&mut *backend, "contended").unwrap().header.lineage;
        assert!(saved[0].starts_with(&winner), "the last unit put it too");
        assert_eq!(names(&mut *backend, "").len(), PROCESSES);
        apply(&mut *backend, vec![remove("contended")]).unwrap();
        drop(backend);
        assert_eq!(common::integrity(&path), "ok");
    }
}
