//! A process that saves is killed, again and again (D1): what it acknowledged is there, a unit is whole or absent, and
//! the file is sound.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Draft, Process, draft, get, group, ids, noise, part, role, say, sqlite};
use forkpoint::Reply;
use forkpoint::backend::sqlite::Journal;
use forkpoint::backend::{Backend, Durability};
use forkpoint::op::Applied;
use forkpoint::store::{Options, Store};

const CYCLES: usize = 9;

/// A checkpoint that its id tells everything about, and large enough that the log is checkpointed within a cycle.
fn made(id: &str) -> Draft {
    let seed = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    let length = usize::try_from(seed % 60_000).unwrap();
    draft("run", id).group("all").parts(vec![part("noise", "t", noise(seed, length))])
}

fn open(journal: &str, path: &Path) -> Box<dyn Backend> {
    let journal = if journal == "wal" { Journal::Wal } else { Journal::Rollback };
    Box::new(sqlite(path, journal, Durability::Full).unwrap())
}

/// Saves until it is killed, several saves at a time so that batches are of every size.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let role = role.into_string().unwrap();
    let [journal, name, path] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let (journal, path) = (journal.to_owned(), PathBuf::from(path));
    let store = Arc::new(Store::with_backend(move || Ok(open(&journal, &path)), None, Options::default()).unwrap());
    std::thread::scope(|scope| {
        for saver in 0..3 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for n in 0.. {
                    let id = format!("{name}.{saver}.{n}");
                    let unit = vec![made(&format!("{id}.a")).put(), made(&format!("{id}.b")).put()];
                    let (told, done) = std::sync::mpsc::channel();
                    // Acknowledged from where the store acknowledges, with nothing in between.
                    let acknowledge = Reply::new(move |outcome: forkpoint::error::Result<Applied>| {
                        outcome.unwrap();
                        say(&id);
                        told.send(()).unwrap();
                    });
                    store.apply(unit.into(), acknowledge);
                    done.recv().unwrap();
                }
            });
        }
    });
}

fn killed_again_and_again(journal: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.db");
    let mut acknowledged = Vec::new();
    for cycle in 0..CYCLES {
        let name = format!("cycle {cycle}");
        let mut process = Process::start("child", format!("{journal}|{name}|{}", path.display()));
        // The first is killed while it opens its file, the others ever later; where exactly, the scheduler decides.
        let lines = cycle * cycle;
        let mut heard: Vec<String> = std::iter::from_fn(|| process.line()).take(lines).collect();
        assert_eq!(heard.len(), lines, "the child saves until it is killed: {heard:?}");
        process.kill();
        // Said before it died, so acknowledged as much as the rest.
        heard.extend(std::iter::from_fn(|| process.line()));
        acknowledged.extend(heard.into_iter().inspect(|line| assert!(line.starts_with(&name), "{line}")));

        let mut backend = open(journal, &path);
        let saved = ids(&mut *backend, group("all"));
        let mut whole: Vec<&str> = Vec::new();
        for pair in saved.chunks(2) {
            let [b, a] = pair else { panic!("half of a unit: {pair:?}") };
            let id = a.strip_suffix(".a").unwrap();
            assert_eq!(b.strip_suffix(".b"), Some(id), "half of a unit");
            whole.push(id);
        }
        for id in &acknowledged {
            assert!(whole.contains(&id.as_str()), "{id} was acknowledged and is gone after cycle {cycle}");
        }
        // The earlier ones are read once more at the end.
        for id in saved.iter().filter(|id| id.starts_with(&name) || cycle + 1 == CYCLES) {
            let found = get(&mut *backend, id);
            assert!(found == Some(made(id).0), "{id} is not as it was saved");
        }
        drop(backend);
        assert_eq!(common::integrity(&path), "ok");
    }
    assert!(acknowledged.len() >= (0..CYCLES).map(|cycle| cycle * cycle).sum());
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    killed_again_and_again("wal");
}

#[test]
fn what_was_acknowledged_survives_a_kill_with_a_rollback_journal() {
    killed_again_and_again("rollback");
}
