//! The file under a database: where it may be, who may read it, and what kind of file system it is on.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Code, Error, Result};

/// Makes sure that the file is there, is a plain file and is not reached through a symbolic link; creates it readable by
/// its owner only. Returns the path with every directory of it resolved.
pub(super) fn prepare(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(Error::invalid("the path names a directory: give the path of a file"));
    };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = fs::canonicalize(folder)
        .map_err(|error| failed(error, &format!("the directory \"{}\" cannot be used", folder.display())))?;
    let path = folder.join(name);
    match create(&path) {
        // The directory entry must be as durable as what will be in the file.
        Ok(()) => sync_folder(&folder).map_err(|error| failed(error, "the directory cannot be synced"))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error, "the file cannot be created")),
    }
    let kind = fs::symlink_metadata(&path).map_err(|error| failed(error, "the file cannot be read"))?.file_type();
    if kind.is_symlink() {
        return Err(Error::invalid("the path is a symbolic link, which is refused: give the path that it points to"));
    }
    if !kind.is_file() {
        return Err(Error::invalid("the path names something that is not a file: give the path of a file"));
    }
    Ok(path)
}

/// An error of the operating system's as one of ours, which keeps it as its cause.
fn failed(error: io::Error, what: &str) -> Error {
    let (code, remedy) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Code::Full, "; make room on the device and try again"),
        ErrorKind::NotFound => (Code::Unavailable, "; create the directory first"),
        ErrorKind::PermissionDenied => (Code::Unavailable, "; check that this process may write there"),
        ErrorKind::ReadOnlyFilesystem => (Code::Unavailable, "; give a path on a file system that can be written"),
        _ => (Code::Unavailable, ""),
    };
    Error::new(code, format!("{what}: {error}{remedy}")).with_cause(error)
}

fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // create_new neither follows a symbolic link nor opens what is there.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the shape that the other systems have")]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A connection to what is in the file itself, for a look at a database that may not be ours: it takes no lock and leaves
/// nothing beside the file, but does not see what is only in a WAL yet.
///
/// Through `SQLite`, and not by reading the file: whoever closes a descriptor of it drops all locks that this process has on
/// it (<https://www.sqlite.org/howtocorrupt.html>, section 2.2), and `SQLite` knows when it may.
#[cfg(unix)]
pub(super) fn peek(path: &Path) -> rusqlite::Result<Connection> {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            other => uri.push(*other),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(OsString::from_vec(uri), flags)
}

/// See the Unix version. Elsewhere locks belong to handles, and a path does not fit a URI as it is.
#[cfg(not(unix))]
pub(super) fn peek(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// The name of the network file system that the path is on, if it is on one. A WAL there is corrupted within minutes: its
/// index is shared memory, which machines do not share.
#[cfg(target_os = "linux")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    #[expect(clippy::unnecessary_cast, reason = "the type of f_type differs between C libraries")]
    rustix::fs::statfs(path).ok().and_then(|status| network_by_magic(status.f_type as i64))
}

/// The magic numbers of `statfs(2)`. FUSE counts as a network: sshfs and the bind mounts of virtual machines are FUSE, and
/// the few local file systems among them lose only a little speed.
#[cfg(target_os = "linux")]
fn network_by_magic(magic: i64) -> Option<&'static str> {
    Some(match magic & 0xffff_ffff {
        0x6969 => "nfs",
        0x517b => "smb",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x5346_414f => "afs",
        0x00c3_6400 => "ceph",
        0x0bd0_0bd0 => "lustre",
        0x0116_1970 => "gfs2",
        0x7461_636f => "ocfs2",
        0x786f_4256 => "vboxsf",
        0x7375_7245 => "coda",
        0x564c => "ncp",
        _ => return None,
    })
}

/// See the Linux version.
#[cfg(target_vendor = "apple")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    // MNT_LOCAL of sys/mount.h: the file system is stored locally.
    const MNT_LOCAL: u32 = 0x1000;
    let status = rustix::fs::statfs(path).ok()?;
    (status.f_flags & MNT_LOCAL == 0).then_some("network volume")
}

/// See the Linux version. A mapped drive is resolved to its UNC path by [`prepare`].
#[cfg(windows)]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    use std::path::{Component, Prefix};
    match path.components().next() {
        Some(Component::Prefix(prefix)) => {
            matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..)).then_some("network share")
        }
        _ => None,
    }
}

/// Elsewhere nothing is known of file systems.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
pub(super) fn network(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_what_the_system_said() {
        let missing = prepare(Path::new("no such directory/a.db")).unwrap_err();
        let cause = missing.cause().unwrap();
        assert_eq!((missing.code(), cause.code()), (Code::Unavailable, Some("ENOENT")));
        assert!(missing.message().contains("create the directory"), "it says what to do: {missing}");
        assert_eq!(failed(ErrorKind::StorageFull.into(), "the file cannot be created").code(), Code::Full);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        assert_eq!(network_by_magic(0x6969), Some("nfs"));
        assert_eq!(network_by_magic(0xfe53_4d42), Some("smb2"));
        // The kernel's type is a signed long: on 32 bits the high bit comes as a sign.
        assert_eq!(network_by_magic(i64::from(0xff53_4d42_u32.cast_signed())), Some("cifs"));
        for local in [0xef53, 0x5846_5342, 0x0102_1994, 0x9123_683e, 0x794c_7630] {
            assert_eq!(network_by_magic(local), None, "{local:x}");
        }
    }
}
