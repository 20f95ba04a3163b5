//! The folder of a store: checks it, creates it with private permissions, and refuses folders of other programs.

use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::backend::disk::{failed, folder_of, sync_folder};
use crate::error::{Code, Error, Result};
use crate::record::Formats;

/// The journal.
pub(super) const JOURNAL: &str = "order.jsonl";
/// The next journal, while it is being written.
pub(super) const NEW_JOURNAL: &str = "order.jsonl.new";
/// The journal before the current one.
pub(super) const OLD_JOURNAL: &str = "order.jsonl.old";
pub(super) const LOCK: &str = "forkpoint.lock";

/// The beginning of the first line of a file with a lineage.
const FIRST_LINE: &[u8] = b"{\"lineage\":";
/// The beginning of the first line of a journal, without the version.
const MAGIC: &str = "{\"forkpoint\":\"jsonl\",\"version\":";
/// The newest format that this release knows.
const VERSION: u32 = 1;

/// The format of a folder. The first line of its journal begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Format {
    /// Always `jsonl`.
    forkpoint: &'static str,
    version: u32,
    /// The oldest version whose releases can read the folder. Present only in versions after 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_reader: Option<u32>,
    /// The oldest version whose releases can write to the folder. Present only in versions after 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_writer: Option<u32>,
}

impl Default for Format {
    fn default() -> Self {
        Self { forkpoint: "jsonl", version: VERSION, oldest_reader: None, oldest_writer: None }
    }
}

impl Format {
    /// Reads the format from the beginning of a journal.
    pub(super) fn parse(begin: &str) -> Option<Self> {
        let mut parts = begin.strip_prefix(MAGIC)?.split(',');
        let version = parts.next()?.parse().ok()?;
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse().ok();
        let oldest_reader = number("\"oldest_reader\":");
        let oldest_writer = oldest_reader.and_then(|_| number("\"oldest_writer\":"));
        Some(Self { version, oldest_reader, oldest_writer, ..Self::default() })
    }

    pub(super) fn known(self) -> Formats {
        Formats { format: self.version, newest: VERSION }
    }

    /// Checks that this release can read the folder.
    ///
    /// # Errors
    ///
    /// `UNSUPPORTED` for a newer format that this release cannot read.
    pub(super) fn require_readable(self) -> Result<()> {
        if self.version <= VERSION || self.oldest_reader.is_some_and(|oldest| oldest <= VERSION) {
            return Ok(());
        }
        Err(self.newer("update Forkpoint"))
    }

    /// Checks that this release can write to the folder.
    ///
    /// # Errors
    ///
    /// As [`Format::require_readable`]. `UNSUPPORTED` for a newer format that this release cannot write.
    pub(super) fn require_writable(self) -> Result<()> {
        self.require_readable()?;
        if self.version <= VERSION || self.oldest_writer.is_some_and(|oldest| oldest <= VERSION) {
            return Ok(());
        }
        Err(self.newer("programs of this release can only look at it, so update Forkpoint"))
    }

    fn newer(self, remedy: &str) -> Error {
        let message = format!(
            "the folder has format {}, but this release of Forkpoint knows formats up to {VERSION}: {remedy}; nothing was changed",
            self.version
        );
        Error::new(Code::Unsupported, message).lasting()
    }
}

/// The maximum length of the format at the beginning of the first line, in bytes.
const LONGEST_FORMAT: u64 = 120;

/// Checks the folder, and creates it if it does not exist. Returns its path. A folder of another program is not
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

/// Finds the folder of a read-only store. Returns its path.
pub(super) fn find(path: &Path) -> Result<PathBuf> {
    let missing = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Error::new(Code::NotFound, "there is no Forkpoint folder at this path: check the path"),
        _ => failed(error, "the folder cannot be read"),
    };
    let path = fs::canonicalize(path).map_err(missing)?;
    let journal = match open(File::options().read(true), &path, JOURNAL) {
        Err(error) if error.kind() == ErrorKind::NotFound && is_ours(&path) => return Err(journal_missing()),
        opened => opened.map_err(missing)?,
    };
    read_format(journal, path.join(LOCK).exists())?.require_readable()?;
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

/// Refuses symbolic links, pipes and devices. In a folder from somebody else, a link could lead to any file of this
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

/// Refuses a folder that does not belong to Forkpoint, and a folder without its journal.
fn refuse_others(path: &Path) -> Result<()> {
    match open(File::options().read(true), path, JOURNAL) {
        Ok(file) => return read_format(file, path.join(LOCK).exists())?.require_writable(),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error, &format!("{JOURNAL} cannot be read"))),
    }
    let cannot = |error| failed(error, "the folder cannot be listed");
    let mut others = None;
    for entry in fs::read_dir(path).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        if !matches!(name.to_str(), Some(LOCK | NEW_JOURNAL | OLD_JOURNAL)) {
            others = Some(name);
        }
    }
    match others {
        // Another process may have created the file in the meantime.
        None => Ok(()),
        Some(_) if path.join(JOURNAL).exists() => Ok(()),
        Some(_) if is_ours(path) => Err(journal_missing()),
        Some(name) => Err(Error::new(
            Code::Unsupported,
            format!(
                "the folder contains other files, such as \"{}\": pass the path of an empty or a new folder",
                name.display()
            ),
        )),
    }
}

/// Returns true if a folder without a journal was a store. A copy, such as one in git, may lack the lock file.
fn is_ours(path: &Path) -> bool {
    let is_there = |name: &str| path.join(name).exists();
    is_there(LOCK) || is_there(OLD_JOURNAL) || fs::read_dir(path).is_ok_and(|mut folders| folders.any(has_lineage))
}

/// Returns true for a folder that contains a lineage's file.
fn has_lineage(folder: std::io::Result<DirEntry>) -> bool {
    let Ok(folder) = folder else { return false };
    let Ok(mut files) = fs::read_dir(folder.path()) else { return false };
    files.any(|file| {
        let Ok(file) = file else { return false };
        let mut begin = Vec::new();
        let is_file = Path::new(&file.file_name()).extension().is_some_and(|end| end == "jsonl");
        is_file
            && open(File::options().read(true), &folder.path(), &file.file_name().to_string_lossy())
                .and_then(|file| file.take(FIRST_LINE.len() as u64).read_to_end(&mut begin))
                .is_ok()
            && begin == FIRST_LINE
    })
}

pub(super) fn journal_missing() -> Error {
    let message =
        format!("{JOURNAL} is missing, so it is unknown which lines were committed: restore the folder from a backup");
    Error::new(Code::Corrupt, message)
}

/// Reads the format of a folder. `ours` is true if the folder belongs to Forkpoint.
fn read_format(file: File, ours: bool) -> Result<Format> {
    let mut begin = Vec::new();
    let _ = file.take(LONGEST_FORMAT).read_to_end(&mut begin);
    // The last character of a file name may be cut in half. Anything else that is not UTF-8 is not ours.
    let begin = String::from_utf8_lossy(&begin);
    let found = Format::parse(&begin).filter(|format| format.version > 0);
    found.ok_or_else(|| {
        if ours {
            return Error::new(
                Code::Corrupt,
                format!("{JOURNAL}, line 1: the line was changed or damaged: restore the folder from a backup"),
            );
        }
        Error::new(
            Code::Unsupported,
            format!("the folder has an {JOURNAL} of another program: pass the path of an empty or a new folder"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_which_releases_may_use_a_newer_format() {
        let rights = |rest: &str| {
            let format = Format::parse(&format!("{MAGIC}{rest},\"epoch\":1")).unwrap();
            [format.require_readable().is_ok(), format.require_writable().is_ok()]
        };
        assert_eq!(rights("1"), [true, true]);
        assert_eq!(rights("2"), [false, false]);
        assert_eq!(rights("2,\"oldest_reader\":2,\"oldest_writer\":2"), [false, false]);
        assert_eq!(rights("2,\"oldest_reader\":1"), [true, false]);
        assert_eq!(rights("2,\"oldest_reader\":1,\"oldest_writer\":2"), [true, false]);
        assert_eq!(rights("2,\"oldest_reader\":1,\"oldest_writer\":1"), [true, true]);
        assert_eq!(rights("2,\"oldest_writer\":1"), [false, false]);
        for wrong in ["", "{}", "{\"forkpoint\":\"jsonl\",\"version\":x,", "{\"forkpoint\":\"other\",\"version\":1,"] {
            assert_eq!(Format::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_format_is_written_as_it_was_read() {
        for text in ["1", "2,\"oldest_reader\":1", "2,\"oldest_reader\":1,\"oldest_writer\":1"] {
            let format = Format::parse(&format!("{MAGIC}{text},")).unwrap();
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("{MAGIC}{text}}}"));
        }
    }
}
