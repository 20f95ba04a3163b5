//! Checks whether two stores are the same, whatever path leads to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::target::Target;

/// The location of a store's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A store in memory, whose data end with it. The number is its address.
    Memory(usize),
    /// A file or a folder: its path without links, and its number in the file system if it has one.
    Path(PathBuf, Option<(u64, u64)>),
    /// Tables on a server: the host, port, database, schema and prefix.
    #[cfg(feature = "postgres")]
    Server(String),
}

impl Location {
    /// Returns the location of an open store.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if the file or folder does not exist.
    pub fn of(target: &Target, store: &Arc<Store>) -> Result<Self> {
        match target {
            Target::Memory => Ok(Self::Memory(Arc::as_ptr(store).addr())),
            Target::Sqlite(path) | Target::Jsonl(path) => {
                let found = std::fs::canonicalize(path).and_then(|path| Ok((number(&path)?, path)));
                let (number, path) = found.map_err(|error| {
                    let message = format!("cannot find \"{}\": {error}", path.display());
                    Error::new(Code::Unavailable, message).with_cause(error)
                })?;
                Ok(Self::Path(path, number))
            }
            #[cfg(feature = "postgres")]
            Target::Postgres(url) => Ok(Self::Server(url.identity())),
        }
    }

    /// Returns true if both locations have the same data.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(path, number), Self::Path(other_path, other_number)) => {
                path == other_path || (number.is_some() && number == other_number)
            }
            _ => self == other,
        }
    }
}

#[cfg(unix)]
fn number(path: &Path) -> std::io::Result<Option<(u64, u64)>> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path)?;
    Ok(Some((found.dev(), found.ino())))
}

#[cfg(not(unix))]
fn number(_: &Path) -> std::io::Result<Option<(u64, u64)>> {
    Ok(None)
}
