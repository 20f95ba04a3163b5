//! Distinguishes a new database from a database that was copied without its log.
//!
//! Neither has tables, and the headers of both say that there is a log. Before a process creates the tables, it creates
//! a marker beside the file, and removes it afterwards. A file without tables and marker is therefore a copy that lacks
//! its log.

use std::fs::{self, File};
use std::path::Path;

use super::file::{beside, has};
use super::identity::Claim;
use super::limits::peek;
use super::read_only::missing_log;
use super::schema::{self, State};
use super::steps;
use crate::record::Notice;

/// The suffix of the marker's name.
const MARKER: &str = "-new";

/// Begins to create the tables of a file without tables. Returns a notice if the tables are in a missing log.
pub(super) fn begin(path: &Path, claim: &Claim) -> Option<Notice> {
    // The tables are in the log, or another process is writing them there now.
    if has(path, "-wal") {
        return None;
    }
    let lacks_log = claim.if_only(|| missing_log(path)).flatten().filter(|_| !is_new(path));
    // Without a marker, a needless warning is the worst outcome. If the folder is not writable, SQLite reports it.
    let _ = File::create(beside(path, MARKER));
    lacks_log.map(|why| Notice {
        code: "FORKPOINT_LOG_MISSING",
        message: format!("\"{}\": {why}. The store continues as a new, empty one", path.display()),
    })
}

/// Returns true if another process is creating the tables, was killed while creating them, or has just created them.
fn is_new(path: &Path) -> bool {
    // The order matters: once the marker is gone, the tables are in the log; once the log is gone, they are in the
    // file.
    has(path, MARKER)
        || has(path, "-wal")
        || !matches!(
            peek(path).map(|file| steps::within_schema(&file, || schema::inspect(&file))),
            Ok(Ok(State::Empty))
        )
}

/// Finishes a creation that [`begin`] started, even in a killed process. The tables exist by now.
pub(super) fn end(path: &Path) {
    let _ = fs::remove_file(beside(path, MARKER));
}
