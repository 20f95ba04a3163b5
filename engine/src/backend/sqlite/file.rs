//! The database file: checks its path, creates it with private permissions, and detects network file systems.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::identity::is_open_as;
use crate::backend::disk::{create, failed, folder_of, lasting_unless_writable, sync_folder};
use crate::error::{Code, Error, Result};
use crate::record::Notice;

/// Creates the file, readable and writable only by its owner, if it does not exist. Refuses a symbolic link, anything
/// but a plain file, a file with another name, and a file that cannot be a database. Returns the path with its
/// directory resolved to an absolute path.
pub(super) fn prepare(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().filter(|_| !names_directory(path));
    let Some(name) = name else {
        return Err(Error::invalid("the path is a directory: pass the path of a file"));
    };
    let folder = folder_of(path)?;
    let path = folder.join(name);
    #[cfg(unix)]
    refuse_long(&path)?;
    match create(&path) {
        // Sync the directory, so that the new file survives power loss.
        Ok(_) => sync_folder(&folder).map_err(|error| failed(error, "the directory cannot be synced"))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error, "the file cannot be created")),
    }
    let metadata = fs::symlink_metadata(&path).map_err(|error| failed(error, "the file cannot be read"))?;
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return Err(Error::invalid(
            "the path is a symbolic link, which is not allowed: pass the path that it points to",
        ));
    }
    if !kind.is_file() {
        return Err(Error::invalid("the path is not a file: pass the path of a file"));
    }
    #[cfg(unix)]
    refuse_linked(&path, &metadata)?;
    refuse_short(&path, &metadata)?;
    Ok(path)
}

/// The path of the file beside the database whose name ends with this suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(suffix);
    PathBuf::from(beside)
}

/// Returns true if a file beside the database has a name with this suffix.
pub(super) fn has(path: &Path, suffix: &str) -> bool {
    fs::symlink_metadata(beside(path, suffix)).is_ok()
}

/// Returns true if the path ends with a separator, and so names a directory. `Path::file_name` ignores such separators.
fn names_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
}

/// The maximum length of a database's path, in bytes. `SQLite` adds `-journal`, and its limit is 512 bytes with a NUL.
#[cfg(unix)]
const LONGEST_PATH: usize = 512 - "-journal".len() - 1;
/// The maximum length of a database's name in bytes: the journal's name must fit in 255 bytes.
#[cfg(unix)]
const LONGEST_NAME: usize = 255 - "-journal".len();

/// Refuses a path that is too long for `SQLite`, before the file is created.
#[cfg(unix)]
fn refuse_long(path: &Path) -> Result<()> {
    let name = path.file_name().map_or(0, std::ffi::OsStr::len);
    let longest = if name > LONGEST_NAME {
        format!("the name of the file is too long: it may have {LONGEST_NAME} bytes")
    } else if path.as_os_str().len() > LONGEST_PATH {
        format!("the path is too long: with its directory it may have {LONGEST_PATH} bytes")
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("{longest}. Use a shorter path")))
}

/// Refuses a file with several names (hard links). Each name has its own write-ahead log and locks, so processes that
/// use different names damage the file. If the process already has the file open under this name, further connections
/// are allowed. Other systems do not tell the number of names.
#[cfg(unix)]
fn refuse_linked(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    match metadata.nlink() {
        0 | 1 => Ok(()),
        _ if is_open_as(path) => Ok(()),
        names => Err(Error::invalid(format!(
            "the file has {names} names (hard links), and each name would have its own log, which damages the database: \
             keep one name and remove the others. If a name has a file beside it that ends with -wal, keep that name"
        ))),
    }
}

/// The smallest page, and therefore the smallest non-empty database.
const SMALLEST_DATABASE: u64 = 512;

/// Refuses a non-empty file that is too short for a database. `SQLite` takes a file of one byte for an empty database
/// and overwrites it. If there is a journal or a log, `SQLite` may restore the file from it.
fn refuse_short(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    if !(1..SMALLEST_DATABASE).contains(&metadata.len()) || has(path, "-journal") || has(path, "-wal") {
        return Ok(());
    }
    Err(Error::new(
        Code::Unsupported,
        "the file is not empty and is not an SQLite database: pass the path of a new file. If it was a Forkpoint database, \
         restore it from a backup",
    ))
}

/// Marks an error of opening the file as lasting if this process may not write the file or its directory. `SQLite` does
/// not tell why it cannot open a file.
pub(super) fn lasting(error: Error, path: &Path) -> Error {
    if error.code() != Code::Unavailable {
        return error;
    }
    let error = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => lasting_unless_writable(error, folder),
        _ => error,
    };
    lasting_unless_writable(error, path)
}

/// Returns the name of the network file system that holds the path, or `None` for a local one. On a network file
/// system, a WAL is soon corrupted, because the WAL's index is memory that different machines do not share.
#[cfg(target_os = "linux")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    #[expect(clippy::unnecessary_cast, reason = "the type of f_type differs between C libraries")]
    rustix::fs::statfs(path).ok().and_then(|status| network_by_magic(status.f_type as i64))
}

/// The notice for a file on a network file system of this kind.
pub(super) fn on_network(path: &Path, kind: &str) -> Notice {
    let message = format!(
        "\"{}\" is on a network file system ({kind}), where a write-ahead log would be corrupted. The store uses a rollback \
         journal instead, which is slower. Use a local disk, or a database server for several machines.",
        path.display()
    );
    Notice { code: "FORKPOINT_NETWORK_FILE", message }
}

/// Converts a magic number of `statfs(2)` to the name of a network file system. FUSE counts as one, because sshfs and
/// the bind mounts of virtual machines use it. For a local FUSE file system, the only effect is a slightly slower
/// journal.
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

/// Returns the kind of network file system that holds the path: see the Linux version.
#[cfg(target_vendor = "apple")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    // MNT_LOCAL of sys/mount.h: the file system is stored locally.
    const MNT_LOCAL: u32 = 0x1000;
    let status = rustix::fs::statfs(path).ok()?;
    (status.f_flags & MNT_LOCAL == 0).then_some("network volume")
}

/// Returns the kind of network file system that holds the path: see the Linux version. [`prepare`] has already resolved
/// a mapped drive to its UNC path.
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

/// Other systems cannot detect network file systems, so every file system is treated as local.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
pub(super) fn network(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        assert_eq!(network_by_magic(0x6969), Some("nfs"));
        assert_eq!(network_by_magic(0xfe53_4d42), Some("smb2"));
        // `f_type` is a signed long. On 32-bit systems, a magic number with its highest bit set is negative.
        assert_eq!(network_by_magic(i64::from(0xff53_4d42_u32.cast_signed())), Some("cifs"));
        for local in [0xef53, 0x5846_5342, 0x0102_1994, 0x9123_683e, 0x794c_7630] {
            assert_eq!(network_by_magic(local), None, "{local:x}");
        }
    }
}
