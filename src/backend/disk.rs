//! What the backends that store files have in common: errors of the operating system, private files, and syncs of
//! folders.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::{Code, Error};

/// Converts an error of the operating system to an [`Error`]. The original error is kept as the cause.
pub(super) fn failed(error: io::Error, what: &str) -> Error {
    let (code, remedy) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Code::Full, "; make room on the device and try again"),
        ErrorKind::NotFound => (Code::Unavailable, "; create the directory first"),
        ErrorKind::PermissionDenied => (Code::Unavailable, "; check that this process may write there"),
        ErrorKind::ReadOnlyFilesystem => (Code::Unavailable, "; give a path on a file system that can be written"),
        _ => (Code::Unavailable, ""),
    };
    Error::new(code, format!("{what}: {error}{remedy}")).with_cause(error)
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
