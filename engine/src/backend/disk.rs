//! Code that all backends with files share: errors of the operating system, private files, and syncs of folders.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};

/// The identity of a file: its device and its inode. `None` on a system where an open file cannot be removed and locks
/// belong to handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// Returns the identity of the file at the path. Returns `None` if there is no file.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().and_then(Self::new)
    }

    /// Returns the identity of an open file.
    pub(super) fn of(file: &File) -> Option<Self> {
        file.metadata().ok().as_ref().and_then(Self::new)
    }

    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
    pub(super) fn new(found: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self(found.dev(), found.ino()))
    }

    #[cfg(not(unix))]
    pub(super) fn new(_: &fs::Metadata) -> Option<Self> {
        None
    }
}

/// Converts an error of the operating system to an [`Error`], and keeps the original as its cause. The error is not
/// retryable if the user must first change a permission or the path.
pub(super) fn failed(error: io::Error, what: &str) -> Error {
    let (code, remedy) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Code::Full, "; make room on the device and try again"),
        ErrorKind::NotFound => (Code::Unavailable, "; create the directory first"),
        ErrorKind::PermissionDenied => (Code::Unavailable, "; check that this process may write there"),
        ErrorKind::ReadOnlyFilesystem => (Code::Unavailable, "; use a path on a writable file system"),
        ErrorKind::NotADirectory => (Code::Unavailable, "; use a path in a directory"),
        ErrorKind::InvalidFilename => (Code::InvalidArgument, "; use a shorter path"),
        // Not from the system: Forkpoint uses this kind for files that a store must not have, such as symbolic links.
        ErrorKind::InvalidData => (Code::Unsupported, ""),
        _ => (Code::Unavailable, ""),
    };
    let lasting = lasts(error.kind());
    let error = Error::new(code, format!("{what}: {error}{remedy}")).with_cause(error);
    if lasting { error.lasting() } else { error }
}

/// Returns true if an error of this kind happens again until the user changes a permission or the path.
fn lasts(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidData
    )
}

/// Marks an error as lasting if this process may not write to the path.
#[cfg(unix)]
pub(super) fn lasting_unless_writable(error: Error, path: &Path) -> Error {
    use rustix::fs::{Access, AtFlags, CWD, accessat};

    match accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS) {
        Err(refused) if lasts(io::Error::from(refused).kind()) => error.lasting(),
        _ => error,
    }
}

/// Marks an error as lasting if this process may not write to the path. `std` cannot tell this on this system.
#[cfg(not(unix))]
pub(super) fn lasting_unless_writable(error: Error, _: &Path) -> Error {
    error
}

/// Returns the directory of a file or folder as an absolute path without symbolic links.
pub(crate) fn folder_of(path: &Path) -> Result<PathBuf> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::canonicalize(folder)
        .map_err(|error| failed(error, &format!("the directory \"{}\" cannot be used", folder.display())))
}

/// Creates a file that only the owner can read and write. Fails if the path exists.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // `create_new` fails if the path exists. It does not follow a symbolic link.
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes new and renamed files of a folder survive power loss.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the shape that the other systems have")]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_by_itself_is_retryable() {
        let of = |kind: ErrorKind| {
            let error = failed(kind.into(), "the file cannot be created");
            (error.code(), error.retryable())
        };
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory] {
            assert_eq!(of(kind), (Code::Unavailable, false), "{kind:?}");
        }
        assert_eq!(of(ErrorKind::InvalidFilename), (Code::InvalidArgument, false));
        // A directory may be mounted later, and a device may recover.
        for kind in [ErrorKind::NotFound, ErrorKind::Other, ErrorKind::TimedOut, ErrorKind::Interrupted] {
            assert_eq!(of(kind), (Code::Unavailable, true), "{kind:?}");
        }
        assert_eq!(of(ErrorKind::StorageFull), (Code::Full, false));
    }
}
