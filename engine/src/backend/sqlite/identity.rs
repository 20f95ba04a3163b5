//! Identifies a database file by its inode, not by its path. The path may later lead to another file, and a descriptor
//! of the file may be open elsewhere in the process.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use crate::backend::disk::FileId;
use crate::error::{Code, Error, Result};

/// The open files of this copy of the engine, each with its path and its number of connections.
static OPEN: Mutex<Option<HashMap<FileId, (PathBuf, usize)>>> = Mutex::new(None);

/// With at least this many open files, this copy of the engine no longer searches for other users of a file, because
/// the search reads all descriptors of the process.
const MOST_SEARCHED: usize = 1000;

fn open_files() -> MutexGuard<'static, Option<HashMap<FileId, (PathBuf, usize)>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if a connection of this copy of the engine has the file open under this path.
#[cfg(unix)]
pub(super) fn is_open_as(path: &Path) -> bool {
    let id = FileId::at(path);
    open_files().as_ref().zip(id).and_then(|(open, id)| open.get(&id)).is_some_and(|(name, _)| name == path)
}

/// Returns true if a connection of this copy of the engine has the file open under any path.
pub(super) fn is_open_here(path: &Path) -> bool {
    connections(open_files().as_ref(), FileId::at(path)) > 0
}

/// Runs code that opens and closes the file, unless a connection of this copy of the engine has the file open. Then
/// returns `None`: closing any descriptor of a file drops all locks that the process has on it.
pub(super) fn unless_open_here<T>(path: &Path, work: impl FnOnce() -> T) -> Option<T> {
    let open = open_files();
    // Keep the list locked, so that no connection opens the file during the work.
    (connections(open.as_ref(), FileId::at(path)) == 0).then(work)
}

/// The number of connections to a file, in this copy of the engine.
fn connections(open: Option<&HashMap<FileId, (PathBuf, usize)>>, id: Option<FileId>) -> usize {
    open.zip(id).and_then(|(open, id)| open.get(&id)).map_or(0, |(_, count)| *count)
}

/// A connection's entry in the list of open files. Drop it only after the connection is closed.
#[derive(Debug)]
pub(super) struct Claim(Option<FileId>);

impl Claim {
    /// Claims a file for a connection, before the file is opened.
    ///
    /// # Errors
    ///
    /// With `alone`, `CONFLICT` if the file is open elsewhere in this process: in another copy of this engine, another
    /// `SQLite`, or a stream. POSIX locks belong to the process. Two copies of `SQLite` would release each other's
    /// locks when closing the file, and commits would be lost.
    pub(super) fn new(path: &Path, alone: bool) -> Result<Self> {
        let Some(id) = FileId::at(path) else { return Ok(Self(None)) };
        let mut open = open_files();
        let open = open.get_or_insert_default();
        if alone && !open.contains_key(&id) && open.len() < MOST_SEARCHED && is_open(id) {
            let message = format!(
                "another copy of forkpoint, another SQLite library or a file handle has \"{}\" open in this process. Two of \
                 them in one process destroy each other's locks, and saves are lost. Use one copy (`npm ls forkpoint` lists \
                 the copies in your dependencies), and close other uses of the file first",
                path.display()
            );
            return Err(Error::new(Code::Conflict, message));
        }
        open.entry(id).or_insert_with(|| (path.to_owned(), 0)).1 += 1;
        Ok(Self(Some(id)))
    }

    /// Like [`unless_open_here`], for the connection with this claim, before it opens the file.
    pub(super) fn if_only<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let open = open_files();
        (connections(open.as_ref(), self.0) <= 1).then(work)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut open = open_files();
        let Some(open) = open.as_mut() else { return };
        if let Some((_, count)) = open.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                open.remove(&id);
            }
        }
    }
}

/// Makes the copies of this engine claim and open files one at a time, so that two copies do not both find a file
/// unused. The copies share no memory, so the lock is a socket name that only one of them can bind. Without the name in
/// time, there is no lock.
#[cfg(target_os = "linux")]
pub(super) fn one_copy_at_a_time() -> Option<std::os::unix::net::UnixDatagram> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    // Processes in different containers may have the same number, but only in different PID namespaces.
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let name = format!("forkpoint-opens {} {}", namespace.display(), std::process::id());
    let address = SocketAddr::from_abstract_name(name).ok()?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        match UnixDatagram::bind_addr(&address) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                std::thread::sleep(Duration::from_millis(1));
            }
            bound => return bound.ok(),
        }
    }
    None
}

/// Other systems have no such names. Two copies that open a file at the same moment are not detected.
#[cfg(not(target_os = "linux"))]
pub(super) fn one_copy_at_a_time() {}

/// Returns true if a descriptor of this process refers to the file. Returns false where the system has no list of
/// descriptors.
fn is_open(id: FileId) -> bool {
    let list = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(descriptors) = fs::read_dir(list) else { return false };
    descriptors.flatten().any(|descriptor| FileId::at(&descriptor.path()) == Some(id))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_something_else_has_open_cannot_be_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let elsewhere = fs::File::create(&path).unwrap();
        assert_eq!(Claim::new(&path, true).unwrap_err().code(), Code::Conflict);
        drop(elsewhere);
        let first = Claim::new(&path, true).unwrap();
        let _own = fs::File::open(&path).unwrap();
        let second = Claim::new(&path, true).unwrap();
        drop(first);
        drop(second);
        assert_eq!(Claim::new(&path, true).unwrap_err().code(), Code::Conflict, "the last claim ended");
    }
}
