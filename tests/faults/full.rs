//! A full disk. All files of the folder together are limited in size, so a write that needs more answers `SQLITE_FULL`.

use std::path::PathBuf;

use forkpoint::backend::Durability;
use forkpoint::backend::sqlite::{Journal, Sqlite};
use forkpoint::error::{Code, Result};
use forkpoint::op::Applied;
use tempfile::TempDir;

use crate::common::{apply, draft, findings, get, noise, part};
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("full.db");
        let disk = Disk::under(folder.path());
        let backend = Some(open(&path, journal, Durability::Full).unwrap());
        Self { _folder: folder, path, disk, journal, backend, saved: Vec::new() }
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
