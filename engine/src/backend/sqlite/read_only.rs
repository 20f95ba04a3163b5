//! A read-only database: creates and changes no file, and makes no writer wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::changes::Changes;
use super::file::beside;
use super::identity::{is_open_here, unless_open_here};
use super::schema;
use super::unchanged::{Unchanged, is_wal};
use super::verify::Verify;
use super::{known_schema, read, steps};
use crate::backend::disk::FileId;
use crate::backend::interface::{Backend, read_only};
use crate::cache::PayloadCache;
use crate::error::{Code, Error, Result};
use crate::op::{Applied, Unit};
use crate::query::{Answer, Query};
use crate::retention::{Prune, Pruned};

/// The maximum number of attempts of a query. It restarts if the files change while it runs.
const ATTEMPTS: usize = 10;

/// A database that is opened read-only.
#[derive(Debug)]
pub struct ReadOnly {
    path: PathBuf,
    busy_timeout: Duration,
    cache: PayloadCache,
    /// The database, and the identity of its file when it was opened.
    opened: Option<(Unchanged, Option<FileId>)>,
    /// The changes that the open connection has seen.
    changes: Changes,
}

impl ReadOnly {
    /// Opens the database file.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no file, or if it contains no Forkpoint data. `UNSUPPORTED` if the file belongs to
    /// another program or a newer version.
    pub fn open(path: &Path, busy_timeout: Duration, cache_bytes: usize) -> Result<Self> {
        Self::open_with(path, busy_timeout, PayloadCache::new(cache_bytes))
    }

    /// Opens the database file with a payload cache that nobody shares.
    pub(super) fn open_with(path: &Path, busy_timeout: Duration, cache: PayloadCache) -> Result<Self> {
        let changes = Changes::of_new_connection();
        let mut opened = Self { path: path.to_owned(), busy_timeout, cache, opened: None, changes };
        opened.refresh()?;
        Ok(opened)
    }

    /// Reopens the database if the open connection no longer reads the current files.
    fn refresh(&mut self) -> Result<()> {
        let is_current = self
            .opened
            .as_ref()
            .is_some_and(|(database, id)| FileId::at(&self.path) == *id && database.is_current(&self.path));
        if !is_current {
            if let Some((before, _)) = self.opened.take() {
                if is_open_here(&self.path) {
                    // Do not close it: closing a file drops all locks of this process on it.
                    std::mem::forget(before);
                }
                // The cached payloads may belong to another file.
                self.cache.clear();
            }
            let context = |error: Error| error.context(&format!("cannot open \"{}\"", self.path.display()));
            self.opened = Some(self.open_file().map_err(context)?);
            self.changes = Changes::of_new_connection();
        }
        Ok(())
    }

    fn open_file(&self) -> Result<(Unchanged, Option<FileId>)> {
        match fs::metadata(&self.path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => {
                return Err(Error::invalid("the path is not a file: pass the path of a file"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::new(Code::NotFound, "there is no such file: check the path"));
            }
            Err(error) => return Err(crate::backend::disk::failed(error, "the file cannot be read")),
        }
        let database = Unchanged::open(&self.path, self.busy_timeout, self.cache.largest())?;
        // A file of an older format is read without upgrading it.
        let connection = database.connection();
        if steps::within_schema(connection, || known_schema::inspect(connection))? == schema::State::Empty {
            drop(database);
            let why = unless_open_here(&self.path, || missing_log(&self.path)).flatten();
            let why = why.unwrap_or_else(|| "the file has no Forkpoint data yet".to_owned());
            return Err(Error::new(Code::NotFound, why));
        }
        database.connection().execute_batch("PRAGMA query_only = 1")?;
        Ok((database, FileId::at(&self.path)))
    }

    fn answer_once(&mut self, query: &Query) -> Result<Answer> {
        let Some((database, _)) = &self.opened else { return Err(Error::poisoned()) };
        read::answer_unchanged(database.connection(), self.changes, &self.cache, query)
    }
}

/// Returns a message if the header of a file without tables says that they are in a log, and the log is missing.
/// Otherwise returns `None`. No connection of this process may have the file open.
pub(super) fn missing_log(path: &Path) -> Option<String> {
    let log = beside(path, "-wal");
    (is_wal(path) && fs::metadata(&log).is_err()).then(|| {
        format!(
            "the file has no tables. Its header says that they are in the file \"{}\", which is missing. A database that is \
             open is more than one file: copy it with backup()",
            log.display()
        )
    })
}

impl Verify for ReadOnly {
    fn connection(&mut self) -> Result<&Connection> {
        self.refresh()?;
        self.opened.as_ref().map(|(database, _)| database.connection()).ok_or_else(Error::poisoned)
    }
}

impl Backend for ReadOnly {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        batch.iter().map(|_| Err(read_only())).collect()
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        let mut answer = Err(Error::poisoned());
        self.answer_all(std::slice::from_ref(query), &mut |told| answer = told);
        answer
    }

    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        let mut current = false;
        for query in queries {
            let mut attempts = 0;
            let answer = loop {
                let refreshed = if current { Ok(()) } else { self.refresh() };
                let answer = refreshed.and_then(|()| self.answer_once(query));
                attempts += 1;
                // If the files have changed, even an error may result from the change.
                current = self.opened.as_ref().is_some_and(|(database, _)| database.is_current(&self.path));
                if current || attempts == ATTEMPTS {
                    break answer;
                }
            };
            tell(answer);
        }
    }

    fn takes_long(&self, query: &Query) -> bool {
        self.opened.as_ref().is_some_and(|(database, _)| read::takes_long(database.connection(), query))
    }

    fn prune(&mut self, _: &Prune) -> Result<Pruned> {
        Err(read_only())
    }

    fn vacuum(&mut self) -> Result<()> {
        Err(read_only())
    }
}
