//! Opens the database of another program without a change to any file.
//!
//! SQLite may change files even if it only reads: it creates a `-shm` file for a database in WAL mode, and it rolls a
//! transaction back that a killed process left behind. The folder may also be read-only. So the way to open a file depends
//! on the files beside it:
//!
//! - Nobody has changed the database since it was closed: it is read as an unchanging file, without locks. The import
//!   fails if the file changes meanwhile.
//! - Another program has the database open (`-shm` exists), or the database is not in WAL mode: it is read as SQLite
//!   reads a shared file.
//! - A process was killed while it wrote, or the shared file cannot be read: the files are copied to a temporary folder,
//!   and the copy is read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::failed;
use crate::error::{Code, Error, Result};

/// An open database. A transaction stays open until the connection is closed, so all reads see one snapshot.
#[derive(Debug)]
pub(super) struct SourceFile {
    connection: Connection,
    /// The state of the files, if the database is read without locks.
    unlocked: Option<Stamp>,
    /// The folder of the copy. It is removed after the connection is closed.
    _copy: Option<TemporaryFolder>,
}

impl SourceFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        if !path.is_file() {
            return Err(Error::new(Code::NotFound, format!("there is no file \"{shown}\" to import: check the path")));
        }
        let exists = |suffix: &str| fs::metadata(beside(path, suffix)).is_ok_and(|file| file.len() > 0);
        let (wal, journal) = (exists("-wal"), exists("-journal"));
        let shared = fs::metadata(beside(path, "-shm")).is_ok();
        let file = if (wal && !shared) || journal {
            Self::copied(path)?
        } else if is_wal(path) && !shared {
            let unlocked = Some(Stamp::of(path));
            let uri = format!("file:{}?immutable=1", escaped(path));
            Self { connection: begin(&uri).map_err(|error| failed(path, error))?, unlocked, _copy: None }
        } else {
            match begin(&format!("file:{}", escaped(path))) {
                Ok(connection) => Self { connection, unlocked: None, _copy: None },
                Err(error) if needs_to_write(&error) => Self::copied(path)?,
                Err(error) => return Err(failed(path, error)),
            }
        };
        if file.is_known().map_err(|error| failed(path, error))? {
            return Ok(file);
        }
        Err(Error::new(
            Code::Unsupported,
            format!(
                "\"{shown}\" is not a database of LangGraph's SqliteSaver: its tables \"checkpoints\" and \"writes\" are \
                 missing. Give the file that the saver wrote"
            ),
        ))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Fails if the database is read without locks and a file has changed.
    pub(super) fn check_unchanged(&self, path: &Path) -> Result<()> {
        if self.unlocked.as_ref().is_none_or(|stamp| *stamp == Stamp::of(path)) {
            return Ok(());
        }
        let message = format!("another program began to write \"{}\" during the import: import again", path.display());
        Err(Error::new(Code::Busy, message))
    }

    /// Copies the database and its log to a temporary folder, and opens the copy.
    fn copied(path: &Path) -> Result<Self> {
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
                Err(error) if !suffix.is_empty() && error.kind() == std::io::ErrorKind::NotFound => continue,
                opened => opened.map_err(unreadable)?,
            };
            // Copy the bytes and not the mode: SQLite must be able to write to the copy.
            let mut to = File::create_new(beside(&copy, suffix)).map_err(unreadable)?;
            std::io::copy(&mut from, &mut to).map_err(unreadable)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&copy, flags).map_err(|error| failed(path, error))?;
        connection.execute_batch("BEGIN").map_err(|error| failed(path, error))?;
        Ok(Self { connection, unlocked: None, _copy: Some(folder) })
    }

    /// Returns true if the database has the tables of a `SqliteSaver`.
    fn is_known(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?";
        for table in ["checkpoints", "writes"] {
            for column in ["thread_id", "checkpoint_ns", "checkpoint_id", "type"] {
                if self.connection.query_row(sql, [table, column], |_| Ok(())).optional()?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Opens a connection that only reads, and takes the snapshot.
fn begin(uri: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Returns true if SQLite cannot read the files because it would have to write to them first.
fn needs_to_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Returns true if the file's header says that the database is in WAL mode.
fn is_wal(path: &Path) -> bool {
    let mut header = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header[18..] == [2, 2]
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Writes a path as it stands in a `file:` URI.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() };
    let drive = text.as_bytes().get(1) == Some(&b':') && cfg!(windows);
    // A path that begins with two slashes would be read as the name of a server.
    let start = if drive || text.starts_with("//") { if drive { "/" } else { "//" } } else { "" };
    start.to_owned() + &text.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// The length and the time of the last change of a database's files.
#[derive(Debug, PartialEq, Eq)]
struct Stamp([Option<(u64, Option<SystemTime>)>; 2]);

impl Stamp {
    fn of(path: &Path) -> Self {
        let stamp = |suffix| fs::metadata(beside(path, suffix)).ok().map(|file| (file.len(), file.modified().ok()));
        Self([stamp(""), stamp("-wal")])
    }
}

/// A folder that is removed with its contents.
#[derive(Debug)]
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("forkpoint-import-{}", uuid::Uuid::new_v4()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
