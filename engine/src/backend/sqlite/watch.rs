//! Notices that the files of a connection were removed, moved or replaced while they were open.
//!
//! `SQLite` would continue with the removed files, and no one would ever find what it writes there. A commit is
//! acknowledged only after a look at the database, its log and the log's index. A look is three system calls.

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

/// How long the files are taken to be the same after a look: on a network file system, where a look is slow, and for
/// reads.
const PAUSE: Duration = Duration::from_millis(50);

/// After this time, a commit gives the log another number. A copy of the database that is older than this has another number
/// than the file that the log was copied to.
const RENUMBER: Duration = Duration::from_secs(60);

/// The files that all connections of a store use: the database, its log, and the log's index.
pub(super) type Files = [Option<FileId>; 3];

/// The files of a store. The first connection sets them.
pub(super) type StoreFiles = Arc<OnceLock<Files>>;

/// A file that is no longer at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Database,
    /// The log. `rescued`: everything in it is in the database file.
    Log {
        rescued: bool,
    },
    Index,
    /// The file is there, but another file was copied over it.
    Content,
}

/// Watches the files of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    path: PathBuf,
    log: PathBuf,
    index: PathBuf,
    files: Files,
    /// When the database file was last written. `None` with a rollback journal, where each commit writes it.
    written: Option<SystemTime>,
    journal: Journal,
    durability: Durability,
    looked: Instant,
    numbered: Instant,
    lost: Option<Lost>,
}

impl Watch {
    /// Watches the files that were just opened. `store` has those of the other connections of the store.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE`, and not retryable, if the files are not those of the store. `UNAVAILABLE` if there is no log.
    pub(super) fn new(path: &Path, journal: Journal, durability: Durability, store: &StoreFiles) -> Result<Self> {
        let (log, index) = (beside(path, "-wal"), beside(path, "-shm"));
        let files = files_at(path, journal);
        if journal == Journal::Wal && files[0].is_some() && files.contains(&None) {
            // SQLite names the mode of the journal also when an error has kept it from the log.
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

    /// Begins a write transaction, and looks at the files. The first transaction of a log connects the log with the
    /// database (`log_owner.rs`).
    ///
    /// # Errors
    ///
    /// Those of [`Watch::look`], and those of `SQLite`. `UNSUPPORTED` if a newer release has upgraded the file since it was
    /// opened, and this one may not write to it.
    pub(super) fn begin<'a>(&mut self, connection: &'a Connection) -> Result<Transaction<'a>> {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        match self.examine(connection) {
            Ok(()) => {}
            Err(error) => {
                drop(transaction);
                self.rescue(connection);
                // With what the rescue has done.
                return Err(self.check().err().unwrap_or(error));
            }
        }
        schema::require_writable(connection)?;
        if self.journal == Journal::Wal {
            self.mark(connection)?;
        }
        Ok(transaction)
    }

    /// Looks at the files after a commit, and before it is acknowledged.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE`, and not retryable, if a look has found that a file was removed, moved or replaced.
    pub(super) fn look(&mut self, connection: &Connection) -> Result<()> {
        self.examine(connection).map_err(|error| {
            self.rescue(connection);
            self.check().err().unwrap_or(error)
        })
    }

    /// Looks at the files, unless the last look was a moment ago. This is enough for a read, which loses nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Watch::look`].
    pub(super) fn look_sometimes(&mut self, connection: &Connection) -> Result<()> {
        if self.looked.elapsed() >= PAUSE { self.look(connection) } else { self.check() }
    }

    /// Prepares the connection for its end. If files were lost, the last connection must neither copy its log to the
    /// database nor remove the log at the path, which may be another one.
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

    /// Gives the log its number if it begins now, and notes that its commits are not synced. Needs the write lock.
    fn mark(&mut self, connection: &Connection) -> Result<()> {
        let begins = Index::read(connection).is_some_and(Index::may_restart);
        let renumbers = begins || self.numbered.elapsed() >= RENUMBER;
        let unsynced = self.durability != Durability::Full;
        if !renumbers && !unsynced {
            return Ok(());
        }
        let version = UserVersion::read(connection)?;
        // Only a log that begins is known to have synced commits only.
        let noted = UserVersion { unsynced: unsynced || (version.unsynced && !begins), ..version };
        if renumbers {
            self.numbered = Instant::now();
            return noted.next().write(connection);
        }
        if noted == version { Ok(()) } else { noted.write(connection) }
    }

    fn examine(&mut self, connection: &Connection) -> Result<()> {
        let slow = self.journal == Journal::Rollback && self.looked.elapsed() < PAUSE;
        // Where files have no identity, an open file can be neither removed nor replaced.
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
            // Something has written to the file: a checkpoint of the log, or a program that has copied another file over it.
            if self.is_foreign(connection)? {
                self.lost = Some(Lost::Content);
            }
            self.written = written;
        }
        self.check()
    }

    /// The identity of the file at the path, and when it was last written. `None`: there is no file.
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
        // If a backup was restored through SQLite, the log has more numbers.
        Ok(!is_own && refuse_foreign(&self.path).is_err())
    }

    /// Writes what is in a removed log to the database file, if no other log has taken its place.
    fn rescue(&mut self, connection: &Connection) {
        if self.lost != Some(Lost::Log { rescued: false }) {
            return;
        }
        let all = |row: &rusqlite::Row<'_>| {
            Ok(row.get::<_, i64>("busy")? == 0 && row.get::<_, i64>("log")? == row.get::<_, i64>("checkpointed")?)
        };
        // The index locks out other processes only if they use the same one. With a log that has all frames of the index, the
        // index no longer describes the removed log.
        let [_, log, index] = files_at(&self.path, self.journal);
        let is_alone = index == self.files[2] || (log.is_none() && index.is_none());
        let is_ours = is_alone && Index::read(connection).is_some_and(|index| index.is_missing(&self.log));
        let rescued = is_ours && connection.query_row("PRAGMA wal_checkpoint(FULL)", [], all).unwrap_or(false);
        self.lost = Some(Lost::Log { rescued });
    }

    /// Fails if a look has found that a file was lost.
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

/// Notes in the database file that commits may be written without a sync. What a power loss leaves then is not taken for
/// damage, even if the note in the log is lost.
pub(super) fn note_unsynced(connection: &Connection, path: &Path) -> Result<()> {
    if UserVersion::of_file(path).is_some_and(|file| file.unsynced) {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version = UserVersion::read(&transaction)?;
    UserVersion { unsynced: true, ..version }.write(&transaction)?;
    transaction.commit()?;
    // Brings the note from the log into the file. Does nothing if there is no log.
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

/// The files that are at their paths now. With a rollback journal, the database is the only one.
pub(super) fn files_at(path: &Path, journal: Journal) -> Files {
    let id = |suffix| (journal == Journal::Wal).then(|| FileId::at(&beside(path, suffix))).flatten();
    [FileId::at(path), id("-wal"), id("-shm")]
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
