//! The folder of a store: checks it, creates it with private permissions, and tells it from the folders of others.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::backend::disk::{failed, folder_of, sync_folder};
use crate::error::{Code, Error, Result};

/// The commit log.
pub(super) const ORDER: &str = "order.jsonl";
/// The next commit log, until it is complete.
pub(super) const NEW_ORDER: &str = "order.jsonl.new";
/// The commit log before the current one.
pub(super) const OLD_ORDER: &str = "order.jsonl.old";
pub(super) const LOCK: &str = "forkpoint.lock";

/// The beginning of the first line of a commit log, without the version.
const MAGIC: &str = "{\"forkpoint\":\"jsonl\",\"version\":";
/// The version of the files that this build reads and writes.
pub(super) const VERSION: u32 = 3;

/// Checks the folder, and creates it if it does not exist. Returns its path. A folder that belongs to others is not
/// changed.
pub(super) fn prepare(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(Error::invalid("the path does not end with a name: pass the path of a folder"));
    };
    let parent = folder_of(path)?;
    let path = parent.join(name);
    match create_folder(&path) {
        Ok(()) => sync_folder(&parent).map_err(|error| failed(error, "the directory cannot be synced"))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error, "the folder cannot be created")),
    }
    let kind = fs::symlink_metadata(&path).map_err(|error| failed(error, "the folder cannot be read"))?.file_type();
    if kind.is_symlink() {
        return Err(Error::invalid(
            "the path is a symbolic link, which is not allowed: pass the path that it points to",
        ));
    }
    if !kind.is_dir() {
        return Err(Error::invalid("the path is not a folder: pass the path of a folder"));
    }
    refuse_others(&path)?;
    Ok(path)
}

/// Finds a folder that is only looked at. Returns its path.
pub(super) fn find(path: &Path) -> Result<PathBuf> {
    let missing = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Error::new(Code::NotFound, "there is no Forkpoint folder at this path: check the path"),
        _ => failed(error, "the folder cannot be read"),
    };
    let path = fs::canonicalize(path).map_err(missing)?;
    let order = open(File::options().read(true), &path, ORDER).map_err(missing)?;
    check_magic(order, path.join(LOCK).exists())?;
    Ok(path)
}

/// Opens a file of the store. `path` is relative to the folder.
pub(super) fn open(options: &OpenOptions, folder: &Path, path: &str) -> std::io::Result<File> {
    let whole = folder.join(path);
    if let Some(inside) = whole.parent() {
        require_plain(inside)?;
    }
    require_plain(&whole)?;
    options.open(whole)
}

/// Refuses a symbolic link, a pipe and a device. In a folder that somebody else made, a link could lead to any file of this
/// machine, and a pipe has no end.
pub(super) fn require_plain(path: &Path) -> std::io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let why = "it is a symbolic link, a pipe or a device, which a store does not have";
    Err(std::io::Error::new(ErrorKind::InvalidData, why))
}

/// Creates a folder that only the owner can use.
pub(super) fn create_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Refuses a folder that does not belong to Forkpoint, and one whose commit log is missing.
fn refuse_others(path: &Path) -> Result<()> {
    match open(File::options().read(true), path, ORDER) {
        Ok(file) => return check_magic(file, path.join(LOCK).exists()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error, &format!("{ORDER} cannot be read"))),
    }
    let cannot = |error| failed(error, "the folder cannot be listed");
    let (mut ours, mut others) = (false, None);
    for entry in fs::read_dir(path).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        match name.to_str() {
            Some(LOCK) => ours = true,
            Some(NEW_ORDER | OLD_ORDER) => {}
            _ => others = Some(name),
        }
    }
    match others {
        // Another process may have created the file after the first look.
        None => Ok(()),
        Some(_) if path.join(ORDER).exists() => Ok(()),
        Some(_) if ours => Err(Error::new(
            Code::Corrupt,
            format!(
                "{ORDER} is missing, so it is unknown which lines were committed: restore the folder from a backup"
            ),
        )),
        Some(name) => Err(Error::new(
            Code::Unsupported,
            format!(
                "the folder contains other files, such as \"{}\": pass the path of an empty or a new folder",
                name.display()
            ),
        )),
    }
}

/// `ours`: the folder belongs to Forkpoint.
fn check_magic(file: File, ours: bool) -> Result<()> {
    let mut begin = String::new();
    let most = MAGIC.len() as u64 + 12;
    // Text that is not UTF-8 is not ours either.
    let _ = file.take(most).read_to_string(&mut begin);
    let version = begin.strip_prefix(MAGIC).and_then(|rest| rest.split_once(','));
    match version.and_then(|(version, _)| version.parse::<u32>().ok()) {
        Some(VERSION) => Ok(()),
        Some(later) if later > VERSION => Err(Error::new(
            Code::Unsupported,
            format!("the folder has format version {later}, but this build reads version {VERSION}: update Forkpoint"),
        )),
        Some(earlier @ 1..) => Err(Error::new(
            Code::Unsupported,
            format!("the folder has format version {earlier}, which only development builds wrote: use a new folder"),
        )),
        _ if ours => Err(Error::new(
            Code::Corrupt,
            format!("{ORDER}, line 1: the line was changed or damaged: restore the folder from a backup"),
        )),
        _ => Err(Error::new(
            Code::Unsupported,
            format!("the folder has an {ORDER} of another program: pass the path of an empty or a new folder"),
        )),
    }
}
