//! A full disk. All files of the folder together are limited in size, so a write that needs more answers `SQLITE_FULL`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::prelude::*;
use forkpoint_engine::copy::{Copy, CopyOptions};
use forkpoint_engine::store::Options as StoreOptions;
use tempfile::TempDir;

use crate::vfs::Disk;
use crate::work::open;

struct Full {
    _folder: TempDir,
    path: PathBuf,
    disk: Disk,
    journal: Journal,
    backend: Option<Sqlite>,
    saved: Vec<u64>,
}

impl Full {
    fn new(journal: Journal) -> Self {
        // A small file system of its own, if there is one: see docs/internals/development.md.
        let folder = match std::env::var_os("FORKPOINT_FULL_DISK") {
            Some(small) => tempfile::tempdir_in(small).unwrap(),
            None => tempfile::tempdir().unwrap(),
        };
        let path = folder.path().canonicalize().unwrap().join("full.db");
        let disk = Disk::under(folder.path());
        let backend = Some(open(&path, journal, Durability::Full).unwrap());
        Self { _folder: folder, path, disk, journal, backend, saved: Vec::new() }
    }

    fn limit(&self, room: u64) {
        if std::env::var_os("FORKPOINT_FULL_DISK").is_none() {
            self.disk.limit(Some(self.disk.used() + room));
        }
    }

    fn backend(&mut self) -> &mut Sqlite {
        self.backend.as_mut().unwrap()
    }

    fn save(&mut self, number: u64) -> Result<Applied> {
        let parts = vec![part("state", "t", noise(number, 5000))];
        let applied = apply(self.backend(), vec![draft("run", &number.to_string()).parts(parts).put()])?;
        self.saved.push(number);
        Ok(applied)
    }

    /// Saves until the disk is full. Returns the number that did not fit.
    fn fill(&mut self, from: u64) -> u64 {
        for number in from.. {
            if let Err(error) = self.save(number) {
                assert_eq!((error.code(), error.outcome_unknown()), (Code::Full, false), "{error}");
                return number;
            }
        }
        unreachable!()
    }

    fn all_there(&mut self) {
        for number in self.saved.clone() {
            let found = get(self.backend(), &number.to_string()).unwrap();
            assert_eq!(found.payload.parts[0].bytes, noise(number, 5000), "{number}");
        }
    }

    fn reopen(&mut self) {
        self.backend = None;
        self.backend = Some(open(&self.path, self.journal, Durability::Full).unwrap());
        self.all_there();
        assert!(findings(self.backend()).is_empty());
    }
}

#[test]
fn a_save_that_does_not_fit_is_told_and_fits_when_there_is_room() {
    for journal in [Journal::Wal, Journal::Rollback] {
        // Each limit makes another write of a save the first that does not fit.
        for limit in 0..40 {
            let mut full = Full::new(journal);
            full.save(0).unwrap();
            full.disk.limit(Some(full.disk.used() + 1 + limit * 1500));
            let refused = full.fill(1);
            full.all_there();
            full.disk.limit(None);
            assert!(get(full.backend(), &refused.to_string()).is_none());
            full.save(refused).unwrap();
            full.reopen();
            full.save(refused + 1).unwrap();
        }
    }
}

#[test]
fn a_copy_that_does_not_fit_goes_on_when_there_is_room() {
    for limit in [0, 1, 7] {
        let full = Full::new(Journal::Wal);
        let from = Arc::new(Store::open(&Target::Memory, StoreOptions::default()).unwrap());
        for n in 0..60 {
            let unit = vec![draft("run", &n.to_string()).parts(vec![part("state", "t", noise(n, 5000))]).put()];
            call(|reply| from.apply(unit.into(), reply)).unwrap();
        }
        let path = full.path.clone();
        let open = move || Ok(Box::new(open(&path, Journal::Wal, Durability::Full)?) as Box<dyn Backend>);
        let to = Arc::new(Store::with_backend(open, None, StoreOptions::default()).unwrap());
        let options = CopyOptions { lineages: None, left_out: &[], effects: &[], page_bytes: 20_000 };
        let mut copy = Copy::new(from, Arc::clone(&to), options).unwrap();
        while copy.step().unwrap().counts.checkpoints < 10 {}
        full.disk.limit(Some(full.disk.used() + 1 + limit * 1500));
        for _ in 0..2 {
            let error = loop {
                match copy.step() {
                    Ok(progress) => assert!(!progress.done, "the disk is full"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.code(), Code::Full, "{error}");
        }
        full.disk.limit(None);
        while !copy.step().unwrap().done {}
        to.shutdown();
        drop((copy, to));
        let mut backend = full.backend;
        let backend = backend.as_mut().unwrap();
        for n in 0..60 {
            assert_eq!(get(backend, &n.to_string()).unwrap().payload.parts[0].bytes, noise(n, 5000));
        }
        assert!(findings(backend).is_empty());
    }
}

/// Removes the oldest checkpoints until few are left.
fn prune(full: &mut Full) {
    crate::common::prune(full.backend(), batch(Rule::KeepLast(3), 100));
    let left = full.saved.split_off(full.saved.len() - 3);
    full.saved = left;
}

#[test]
fn a_full_disk_is_freed_from_within() {
    for journal in [Journal::Wal, Journal::Rollback] {
        for limit in [0, 1, 5, 11] {
            let mut full = Full::new(journal);
            let mut next = 0;
            while next < 20 + limit * 40 && full.save(next).is_ok() {
                next += 1;
            }
            // The reserve is kept, so it counts as used.
            full.limit(1 + limit * 3000);
            for round in 0..3 {
                let refused = full.fill(next);
                full.all_there();
                if round == 1 {
                    let gone: Vec<u64> = full.saved.drain(..full.saved.len() - 3).collect();
                    for number in gone {
                        apply(full.backend(), vec![remove(&number.to_string())]).expect("a removal frees room");
                    }
                } else {
                    prune(&mut full);
                }
                full.all_there();
                for number in refused..refused + 5 {
                    full.save(number).unwrap_or_else(|error| panic!("{journal:?} {limit} {round} {number}: {error}"));
                }
                next = refused + 5;
                full.all_there();
            }
            full.reopen();
        }
    }
}
