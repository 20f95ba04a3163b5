//! Detects that the open files of a connection were removed, moved or replaced.
//!
//! `SQLite` would continue to write to the removed files, and these writes would be lost. A commit is therefore
//! acknowledged only after a check of the database, its log and the log's index, which takes three system calls.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::file::beside;
use super::handle::Handle;
use super::log_owner::{foreign, refuse_foreign};
use super::options::Journal;
use super::schema;
use super::user_version::{OFFSET, UserVersion};
use super::wal_index::Index;
use crate::backend::disk::{FileId, failed};
use crate::error::{Code, Error, Result};
use crate::options::Durability;

/// For this time after a check, the files are assumed to be the same: for reads, and on a network file system, where a
/// check is slow.
const PAUSE: Duration = Duration::from_millis(50);

/// The time after which a commit gives the log another number. An older copy of the database then has another number
/// than the file to which the log was copied.
const RENUMBER: Duration = Duration::from_secs(60);

/// The files that all connections of a store use: the database, its log, and the log's index.
pub(super) type Files = [Option<FileId>; 3];

/// The files of a store. The first connection sets them.
pub(super) type StoreFiles = Arc<OnceLock<Files>>;

/// A file that is no longer at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Database,
    /// The log. `rescued`: all of its content is in the database file.
    Log {
        rescued: bool,
    },
    Index,
    /// The file exists, but another file was copied over it.
    Content,
}

/// Watches the files of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    path: PathBuf,
    log: PathBuf,
    index: PathBuf,
    files: Files,
    /// The last write to the database file. `None` with a rollback journal, where each commit writes the file.
    written: Option<SystemTime>,
    journal: Journal,
    durability: Durability,
    looked: Instant,
    numbered: Instant,
    lost: Option<Lost>,
}

impl Watch {
    /// Watches files that were just opened. `store` has the files of the store's other connections.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE`, and not retryable, if these are not the files of the store. `UNAVAILABLE` if there is no log.
    pub(super) fn new(path: &Path, journal: Journal, durability: Durability, store: &StoreFiles) -> Result<Self> {
        let (log, index) = (beside(path, "-wal"), beside(path, "-shm"));
        let files = files_at(path, journal);
        if journal == Journal::Wal && files[0].is_some() && files.contains(&None) {
            // SQLite reports WAL mode even if an error has prevented it from opening the log.
            let message = "the write-ahead log or its index could not be opened: try again, and close other stores of the file if \
                           this happens again";
            return Err(Error::new(Code::Unavailable, message));
        }
        let written = (journal == Journal::Wal).then(|| modified(path)).flatten();
        let mut watch = Self {
            path: path.to_owned(),
            log,
            index,
            files: *store.get_or_init(|| files),
            written,
            journal,
            durability,
            looked: Instant::now(),
            numbered: Instant::now(),
            lost: None,
        };
        watch.lost = watch.compare(files);
        watch.check().map(|()| watch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn files(&self) -> Files {
        self.files
    }

    /// Begins a write transaction, and checks the files. The first transaction of a log connects the log with the
    /// database (`log_owner.rs`).
    ///
    /// # Errors
    ///
    /// Those of [`Watch::look`], and those of `SQLite`. `UNSUPPORTED` if a newer release has upgraded the open file,
    /// and this release may not write to it.
    pub(super) fn begin<'a>(&mut self, connection: &'a Connection) -> Result<Transaction<'a>> {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        match self.examine(connection) {
            Ok(()) => {}
            Err(error) => {
                drop(transaction);
                self.rescue(connection);
                // This error tells whether the log was rescued.
                return Err(self.check().err().unwrap_or(error));
            }
        }
        schema::require_writable(connection)?;
        if self.journal == Journal::Wal {
            self.mark(connection)?;
        }
        Ok(transaction)
    }

    /// Checks the files after a commit, before it is acknowledged.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE`, and not retryable, if a file was removed, moved or replaced.
    pub(super) fn look(&mut self, connection: &Connection) -> Result<()> {
        self.examine(connection).map_err(|error| {
            self.rescue(connection);
            self.check().err().unwrap_or(error)
        })
    }

    /// Checks the files, unless they were just checked. This is enough for a read, which loses nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Watch::look`].
    pub(super) fn look_sometimes(&mut self, connection: &Connection) -> Result<()> {
        if self.looked.elapsed() >= PAUSE { self.look(connection) } else { self.check() }
    }

    /// Prepares the end of the connection. If files were lost, the last connection must neither copy its log to the
    /// database nor remove the log at the path, which may be another log.
    ///
    /// # Errors
    ///
    /// Those of [`Watch::look`].
    pub(super) fn end(&mut self, connection: &Connection) -> Result<()> {
        let looked = self.look(connection);
        if looked.is_err() {
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        looked
    }

    /// Gives a new log its number, and records unsynced commits. Needs the write lock.
    fn mark(&mut self, connection: &Connection) -> Result<()> {
        let begins = Index::read(connection).is_some_and(Index::may_restart);
        let renumbers = begins || self.numbered.elapsed() >= RENUMBER;
        let unsynced = self.durability != Durability::Full;
        if !renumbers && !unsynced {
            return Ok(());
        }
        let version = UserVersion::read(connection)?;
        // Only a new log is known to have only synced commits.
        let noted = UserVersion { unsynced: unsynced || (version.unsynced && !begins), ..version };
        if renumbers {
            self.numbered = Instant::now();
            return noted.next().write(connection);
        }
        if noted == version { Ok(()) } else { noted.write(connection) }
    }

    fn examine(&mut self, connection: &Connection) -> Result<()> {
        let slow = self.journal == Journal::Rollback && self.looked.elapsed() < PAUSE;
        // On systems without file identities, an open file can be neither removed nor replaced.
        if self.lost.is_some() || slow || self.files[0].is_none() {
            return self.check();
        }
        let (database, written) = self.stat(&self.path)?;
        let files = if self.journal == Journal::Wal {
            [database, self.stat(&self.log)?.0, self.stat(&self.index)?.0]
        } else {
            [database, None, None]
        };
        self.looked = Instant::now();
        self.lost = self.compare(files);
        if self.lost.is_none() && self.journal == Journal::Wal && written != self.written {
            // The file was written: by a checkpoint of the log, or by a program that has copied another file over it.
            if self.is_foreign(connection)? {
                self.lost = Some(Lost::Content);
            }
            self.written = written;
        }
        self.check()
    }

    /// The identity and the modification time of the file at the path. `None`: there is no file.
    fn stat(&self, path: &Path) -> Result<(Option<FileId>, Option<SystemTime>)> {
        match fs::metadata(path) {
            Ok(found) => Ok((FileId::new(&found), found.modified().ok())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok((None, None)),
            Err(error) => Err(failed(error, &format!("the database \"{}\" cannot be looked at", self.path.display()))),
        }
    }

    fn compare(&self, now: Files) -> Option<Lost> {
        let changed = self.files.iter().zip(now).position(|(opened, now)| *opened != now)?;
        Some([Lost::Database, Lost::Log { rescued: false }, Lost::Index][changed])
    }

    /// Returns true if the file has the content of another database.
    fn is_foreign(&self, connection: &Connection) -> Result<bool> {
        let stored = Handle::of(connection).and_then(|handle| handle.number_at(OFFSET.into()));
        let Some(file) = stored.map(UserVersion::decode) else { return Ok(false) };
        let seen = UserVersion::read(connection)?;
        let is_own = file.tables == 0 || file.log == seen.log || file.next().log == seen.log;
        // If a backup was restored through SQLite, the log has more than one number.
        Ok(!is_own && refuse_foreign(&self.path).is_err())
    }

    /// Copies the content of a removed log to the database file, if no other log has replaced it.
    fn rescue(&mut self, connection: &Connection) {
        if self.lost != Some(Lost::Log { rescued: false }) {
            return;
        }
        let all = |row: &rusqlite::Row<'_>| {
            Ok(row.get::<_, i64>("busy")? == 0 && row.get::<_, i64>("log")? == row.get::<_, i64>("checkpointed")?)
        };
        // The index locks out other processes only if they use the same index. If the log at the path has all frames of
        // the index, the index no longer describes the removed log.
        let [_, log, index] = files_at(&self.path, self.journal);
        let is_alone = index == self.files[2] || (log.is_none() && index.is_none());
        let is_ours = is_alone && Index::read(connection).is_some_and(|index| index.is_missing(&self.log));
        let rescued = is_ours && connection.query_row("PRAGMA wal_checkpoint(FULL)", [], all).unwrap_or(false);
        self.lost = Some(Lost::Log { rescued });
    }

    /// Fails if a file was lost.
    fn check(&self) -> Result<()> {
        let Some(lost) = self.lost else { return Ok(()) };
        let (path, log, index) = (self.path.display(), self.log.display(), self.index.display());
        let message = match lost {
            Lost::Content => return Err(foreign(&self.path)),
            Lost::Database => format!(
                "the database file was removed, moved or replaced while it was open, so nothing can be stored in \"{path}\" \
                 through this store. Earlier saves are in the original file and in \"{log}\", which belong together. Put the \
                 original file back, or remove the file that has its path now. Then open a new store"
            ),
            Lost::Log { rescued } => format!(
                "the write-ahead log \"{log}\" was removed, moved or replaced while it was open, so nothing can be stored in \
                 \"{path}\" through this store. {} Close all stores of the file, then open a new one",
                if rescued {
                    "All earlier saves were written to the database file."
                } else {
                    "Earlier saves may be lost if they are in the removed log only: put the log back if it was moved."
                }
            ),
            Lost::Index => format!(
                "\"{index}\" was removed, moved or replaced while it was open, so nothing can be stored in \"{path}\" through \
                 this store. All earlier saves are in the database and its log. Close all stores of the file, then open a \
                 new one"
            ),
        };
        Err(Error::new(Code::Unavailable, message).lasting())
    }
}

/// Records in the database file that commits may be unsynced. The effects of a power loss are then not mistaken for
/// damage, even if the note in the log is lost.
pub(super) fn note_unsynced(connection: &Connection, path: &Path) -> Result<()> {
    if UserVersion::of_file(path).is_some_and(|file| file.unsynced) {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version = UserVersion::read(&transaction)?;
    UserVersion { unsynced: true, ..version }.write(&transaction)?;
    transaction.commit()?;
    // Copies the note from the log into the file. Does nothing without a log.
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

/// The files that are now at their paths. With a rollback journal, only the database.
pub(super) fn files_at(path: &Path, journal: Journal) -> Files {
    let id = |suffix| (journal == Journal::Wal).then(|| FileId::at(&beside(path, suffix))).flatten();
    [FileId::at(path), id("-wal"), id("-shm")]
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
