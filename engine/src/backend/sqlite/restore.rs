//! Restores a backup into a database that may be in use.
//!
//! `cp backup.db agent.db` damages an open database, and a database whose log still exists. A restore instead writes
//! the backup through `SQLite`, in one transaction: other connections see all of it or nothing, and a killed restore
//! changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::Backup;
use serde::Serialize;

use super::backend::Sqlite;
use super::backup::copy_pages;
use super::options::Options;
use super::read_only::ReadOnly;
use super::retention::pragma;
use super::schema;
use super::user_version::UserVersion;
use super::verify::{Progress, Verify as _, verify};
use crate::cache::PayloadCache;
use crate::error::{Error, Result};

/// A finished restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The absolute path of the database.
    pub path: PathBuf,
    /// The size of the database.
    pub bytes: u64,
    /// The number of checkpoints. Each was verified.
    pub checkpoints: u64,
}

/// Verifies the backup at `from`, and replaces the content of the database at `options.path` with it. Creates the
/// database if it does not exist. Other processes may have the database open: they continue with the restored content.
/// `watch` receives the progress; an error from it ends the restore without changes.
///
/// # Errors
///
/// `NOT_FOUND` if there is no backup. `CORRUPT` if the backup is damaged. `BUSY` if another process uses the database
/// for longer than the busy timeout. In these cases nothing is changed.
pub fn restore(from: &Path, options: &Options, watch: &mut dyn FnMut(Progress) -> Result<()>) -> Result<Restored> {
    if fs::canonicalize(from).is_ok_and(|from| fs::canonicalize(&options.path).is_ok_and(|to| from == to)) {
        return Err(Error::invalid("the backup is the database itself: pass the path of the backup first"));
    }
    let mut source =
        ReadOnly::open_with(from, options.busy_timeout, PayloadCache::new(0).up_to(options.largest_payload))?;
    let checkpoints = verify(&mut source, watch).map_err(|error| error.context("the backup cannot be restored"))?;
    schema::require_writable(source.connection()?).map_err(|error| error.context("the backup cannot be restored"))?;
    let mut target = Sqlite::open(&Options { cache_bytes: 0, ..options.clone() })?;
    write(&mut source, &mut target, options, watch)?;
    let bytes = pragma(&target.connection, "page_count")? * pragma(&target.connection, "page_size")?;
    let path = target.path().to_owned();
    Ok(Restored { path, bytes, checkpoints })
}

fn write(
    source: &mut ReadOnly,
    target: &mut Sqlite,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<()> {
    let source = source.connection()?;
    let page_size = pragma(source, "page_size")?;
    // The first step takes the write lock of the target, and holds it to the end.
    let backup = Backup::new(source, &mut target.connection)?;
    copy_pages(&backup, page_size, options.busy_timeout, watch, &mut || Ok(()))?;
    drop(backup);
    // A new log number: the next log must not match the backup.
    target.change(|transaction| UserVersion::read(transaction)?.with_new_number().write(transaction))
}
