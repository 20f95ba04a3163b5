//! Opens a database without changing any file.
//!
//! SQLite may change files even when it only reads: it creates a `-shm` file for a database in WAL mode, and it rolls
//! back the transaction of a killed process. The folder may also be read-only. How a file is opened depends on the
//! files beside it:
//!
//! - The database has not changed since it was closed: it is read as an immutable file, without locks. The reader must
//!   then check whether the files have changed.
//! - A process has the database open (`-shm` exists), or the database is not in WAL mode: it is read as an ordinary
//!   shared file.
//! - A process was killed while it wrote, or the shared file cannot be read: the files are copied to a temporary
//!   folder, and the copy is read.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::file::beside;
use super::identity::unless_open_here;
use super::limits::set_limits_and_plans;
use super::log_owner::refuse_foreign;
use super::steps;
use crate::error::{Code, Error, Result};

/// An open database.
#[derive(Debug)]
pub(crate) struct Unchanged {
    connection: Connection,
    /// The state of the files, if the connection cannot see their changes.
    stamp: Option<Stamp>,
    /// The folder of the copy. Removed after the connection is closed.
    _copy: Option<TemporaryFolder>,
}

impl Unchanged {
    /// Opens the database at this path, which must be a file. `largest_payload` is in bytes.
    pub(crate) fn open(path: &Path, busy_timeout: Duration, largest_payload: usize) -> Result<Self> {
        let shared = || connect(&format!("file:{}", escaped(path)), busy_timeout, largest_payload);
        // If this process has the database open, all files that a reader needs exist.
        unless_open_here(path, || Self::open_by_files(path, busy_timeout, largest_payload, shared))
            .unwrap_or_else(|| Ok(Self { connection: shared()?, stamp: None, _copy: None }))
    }

    /// Opens a database that this process does not have open. `shared` opens it as an ordinary shared file.
    fn open_by_files(
        path: &Path,
        busy_timeout: Duration,
        largest_payload: usize,
        shared: impl FnOnce() -> rusqlite::Result<Connection>,
    ) -> Result<Self> {
        let stamp = Stamp::of(path);
        let has = |suffix: &str| fs::metadata(beside(path, suffix)).is_ok_and(|file| file.len() > 0);
        let (wal, journal) = (has("-wal"), has("-journal"));
        let has_index = fs::metadata(beside(path, "-shm")).is_ok();
        if wal {
            refuse_foreign(path)?;
        }
        if (wal && !has_index) || journal {
            return Self::copied(path, stamp, largest_payload);
        }
        if is_wal(path) && !has_index {
            let uri = format!("file:{}?immutable=1", escaped(path));
            let connection = connect(&uri, busy_timeout, largest_payload)?;
            return Ok(Self { connection, stamp: Some(stamp), _copy: None });
        }
        match shared() {
            Ok(connection) => Ok(Self { connection, stamp: None, _copy: None }),
            Err(error) if needs_to_write(&error) => Self::copied(path, stamp, largest_payload),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns true if the connection reads the current content of the files.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        self.stamp.as_ref().is_none_or(|stamp| *stamp == Stamp::of(path))
    }

    /// Copies the database and its log to a temporary folder, and opens the copy.
    fn copied(path: &Path, stamp: Stamp, largest_payload: usize) -> Result<Self> {
        let unreadable = |error: std::io::Error| {
            let message = format!(
                "cannot copy \"{}\" to a temporary folder, which is needed because a process was killed while it wrote: \
                 {error}. Free some space, or set TMPDIR to another folder",
                path.display()
            );
            Error::new(Code::Unavailable, message).with_cause(error)
        };
        let folder = TemporaryFolder::new().map_err(unreadable)?;
        let copy = folder.0.join("copy.db");
        for suffix in ["", "-wal", "-journal"] {
            let mut from = match File::open(beside(path, suffix)) {
                Err(error) if !suffix.is_empty() && error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(unreadable)?,
            };
            // Do not copy the file mode: SQLite must be able to write to the copy.
            let mut to = File::create_new(beside(&copy, suffix)).map_err(unreadable)?;
            std::io::copy(&mut from, &mut to).map_err(unreadable)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&copy, flags)?;
        set_limits_and_plans(&connection, largest_payload)?;
        Ok(Self { connection, stamp: Some(stamp), _copy: Some(folder) })
    }
}

/// Opens a read-only connection.
fn connect(uri: &str, busy_timeout: Duration, largest_payload: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    set_limits_and_plans(&connection, largest_payload)?;
    connection.busy_timeout(busy_timeout)?;
    // SQLite opens the file at the first read, so read now to detect a failure.
    steps::within_schema(&connection, || connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))?;
    Ok(connection)
}

/// Returns true if SQLite cannot read the files because it would have to write to them first.
fn needs_to_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Returns true if the file's header says WAL mode. Opens and closes the file, so no connection of this process may
/// have it open.
pub(super) fn is_wal(path: &Path) -> bool {
    let mut header = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header[18..] == [2, 2]
}

/// Escapes a path for a `file:` URI.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() };
    let drive = text.as_bytes().get(1) == Some(&b':') && cfg!(windows);
    // Two slashes at the start of a path would be read as a server name.
    let start = if drive || text.starts_with("//") { if drive { "/" } else { "//" } } else { "" };
    start.to_owned() + &text.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// The length and the modification time of a database's files.
#[derive(Debug, PartialEq, Eq)]
struct Stamp([Option<(u64, Option<SystemTime>)>; 2]);

impl Stamp {
    fn of(path: &Path) -> Self {
        let stamp = |suffix| fs::metadata(beside(path, suffix)).ok().map(|file| (file.len(), file.modified().ok()));
        Self([stamp(""), stamp("-wal")])
    }
}

/// A temporary folder. Dropping this value removes it with its contents.
#[derive(Debug)]
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("forkpoint-copy-{}", uuid::Uuid::new_v4()));
        let mut builder = fs::DirBuilder::new();
        // Only this user can read the copy.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
