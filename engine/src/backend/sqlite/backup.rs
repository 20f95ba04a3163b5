//! Copies a database in use into a new file, and verifies the copy.
//!
//! The copy first has a temporary name and gets its final name last, so a killed backup leaves nothing under that name.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use super::backend::Sqlite;
use super::options::{Journal, Options};
use super::retention::pragma;
use super::user_version::UserVersion;
use super::verify::verify;
pub use super::verify::{Phase, Progress};
use super::{file, vfs};
use crate::backend::disk::{create, failed, folder_of, sync_folder};
use crate::backend::interface::Backend;
use crate::error::{Code, Error, Result};

/// The number of pages in one step. The backup can be cancelled between two steps.
const PAGES: i32 = 512;

/// With a rollback journal, the copy restarts this many times before it makes other processes wait.
const TRIES: u32 = 3;

/// The pause of a step before it retries, while another process writes.
const PAUSE: Duration = Duration::from_millis(5);

/// A finished backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// The absolute path of the copy.
    pub path: PathBuf,
    /// The size of the copy.
    pub bytes: u64,
    /// The number of checkpoints in the copy. Each was verified.
    pub checkpoints: u64,
    /// Always true: an unverified copy is not published.
    pub verified: bool,
}

/// Copies the database at `options.path` to `to`, and verifies the copy. Saves continue during the backup. The copy has
/// every save that was acknowledged before. `watch` receives the progress; its error ends the backup.
///
/// # Errors
///
/// `CONFLICT` if `to` exists and `overwrite` is false, or if files of another database are beside it. `CORRUPT` if the
/// database and therefore the copy is damaged. In these cases no copy is at `to`.
pub fn backup(
    options: &Options,
    to: &Path,
    overwrite: bool,
    watch: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<BackedUp> {
    let name = to.file_name().ok_or_else(|| Error::invalid("the path is a directory: pass the path of a file"))?;
    let to = folder_of(to)?.join(name);
    refuse_taken(&to, &options.path, overwrite)?;
    let part = Part::new(&to)?;
    copy(options, &part.0, watch)?;
    let checkpoints = finish(&part.0, options.largest_payload, watch)?;
    let copied = File::open(&part.0).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
    let bytes = copied.map_err(|error| failed(error, "the backup cannot be synced"))?.len();
    refuse_taken(&to, &options.path, overwrite)?;
    part.publish(&to, overwrite)?;
    Ok(BackedUp { path: to, bytes, checkpoints, verified: true })
}

/// Refuses a path where a backup would overwrite other data.
fn refuse_taken(to: &Path, source: &Path, overwrite: bool) -> Result<()> {
    let conflict = |message: String| Err(Error::new(Code::Conflict, message));
    if fs::canonicalize(to).is_ok_and(|to| fs::canonicalize(source).is_ok_and(|source| to == source)) {
        return Err(Error::invalid("the backup would replace the database itself: use another path"));
    }
    for suffix in ["-wal", "-journal"] {
        if file::has(to, suffix) {
            return conflict(format!(
                "\"{}\" belongs to a database that is open or was not closed, and would damage the backup: use another path, \
                 or close the database first",
                file::beside(to, suffix).display()
            ));
        }
    }
    match fs::symlink_metadata(to) {
        Ok(found) if !found.is_file() => Err(Error::invalid("the path is not a file: use another path")),
        Ok(_) if !overwrite => conflict(format!(
            "\"{}\" already exists: use another path, or allow the backup to overwrite it",
            to.display()
        )),
        _ => Ok(()),
    }
}

/// The file of an incomplete backup. Dropping this value removes the file.
struct Part(PathBuf);

impl Part {
    fn new(to: &Path) -> Result<Self> {
        let path = file::beside(to, &format!(".{}.part", uuid::Uuid::new_v4().simple()));
        create(&path).map_err(|error| failed(error, "the backup cannot be created"))?;
        Ok(Self(path))
    }

    /// Renames the file to its final name.
    fn publish(self, to: &Path, overwrite: bool) -> Result<()> {
        let named = if overwrite { fs::rename(&self.0, to) } else { name_new(&self.0, to) };
        let folder = to.parent().unwrap_or(Path::new("."));
        match named {
            Ok(()) => sync_folder(folder).map_err(|error| failed(error, "the directory cannot be synced")),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::new(Code::Conflict, format!("\"{}\" already exists: use another path", to.display())))
            }
            Err(error) => Err(failed(error, "the backup cannot be renamed to its path")),
        }
    }
}

/// Renames a file, unless the new name is taken.
fn name_new(from: &Path, to: &Path) -> std::io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The system or the file system does not support the flag.
            Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    // A process that is killed between these steps leaves a file with two names.
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links.
        Err(_) => fs::rename(from, to),
        Ok(()) => Ok(()),
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            // The file may not exist. If it cannot be removed, its random name does no harm.
            let _ = fs::remove_file(file::beside(&self.0, suffix));
        }
    }
}

fn copy(options: &Options, to: &Path, watch: &mut dyn FnMut(Progress) -> Result<()>) -> Result<()> {
    let source = Sqlite::open(&Options { cache_bytes: 0, ..options.clone() })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut target = Connection::open_with_flags_and_vfs(to, flags, vfs::name())?;
    // Sync the file only once, at the end, because nobody uses it before.
    target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    let page_size = pragma(&source.connection, "page_size")?;
    // With one snapshot for all steps, saves do not restart the copy.
    let take_snapshot = || source.connection.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
    // With a rollback journal, a snapshot blocks saves, so take one only after several restarts.
    let mut tries = if source.journal() == Journal::Wal { 0 } else { TRIES };
    if tries == 0 {
        take_snapshot()?;
    }
    let backup = Backup::new(&source.connection, &mut target)?;
    copy_pages(&backup, page_size, options.busy_timeout, watch, &mut || {
        if tries > 0 {
            tries -= 1;
            if tries == 0 {
                take_snapshot()?;
            }
        }
        Ok(())
    })
}

/// Copies all pages. Calls `again` when a write by another connection has restarted the copy.
pub(super) fn copy_pages(
    backup: &Backup<'_, '_>,
    page_size: u64,
    busy_timeout: Duration,
    watch: &mut dyn FnMut(Progress) -> Result<()>,
    again: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (mut last, mut before) = (Instant::now(), 0);
    loop {
        let step = backup.step(PAGES)?;
        let pages = backup.progress();
        let count = |pages: i32| u64::try_from(pages).unwrap_or(0) * page_size;
        let of = count(pages.pagecount);
        let done = of.saturating_sub(count(pages.remaining));
        let watched = watch(Progress { phase: Phase::Copying, done, of });
        if matches!(step, StepResult::Done) {
            // The copy is committed, so it can no longer be cancelled.
            return Ok(());
        }
        watched?;
        // After a restart, the number of copied pages does not grow.
        if done <= before {
            again()?;
        }
        before = done;
        match step {
            StepResult::More => last = Instant::now(),
            _ if last.elapsed() < busy_timeout => std::thread::sleep(PAUSE),
            _ => return Err(Error::new(Code::Busy, "another process uses the database for too long: try again")),
        }
    }
}

/// Verifies a copy, and gives it a new log number. Returns the number of its checkpoints.
fn finish(path: &Path, largest_payload: usize, watch: &mut dyn FnMut(Progress) -> Result<()>) -> Result<u64> {
    let options = Options { journal: Some(Journal::Rollback), largest_payload, ..Options::new(path) };
    let mut copy = Sqlite::open(&options)?;
    let checkpoints = verify(&mut copy, watch).map_err(|error| error.context("there is no backup"))?;
    // A new number, so that no log of the database is mistaken for the copy's log.
    copy.change(|transaction| {
        let version = UserVersion::read(transaction)?.with_new_number();
        UserVersion { unsynced: false, ..version }.write(transaction)
    })?;
    copy.close()?;
    Ok(checkpoints)
}
