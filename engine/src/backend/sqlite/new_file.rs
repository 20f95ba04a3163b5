//! Tells a new database from one that was copied without its log.
//!
//! Both have no tables, and a header that says that there is a log. Before a process makes the tables, it creates a marker
//! beside the file. It removes the marker when the tables are there. A file without tables and without a marker is a
//! copy that lacks its log.

use std::fs::{self, File};
use std::path::Path;

use super::file::{beside, has};
use super::identity::Claim;
use super::limits::peek;
use super::read_only::missing_log;
use super::schema::{self, State};
use crate::record::Notice;

/// The end of the marker's name.
const MARKER: &str = "-new";

/// Begins to make the tables of a file that has none. Returns a notice if the tables are in a log that is missing.
pub(super) fn begin(path: &Path, claim: &Claim) -> Option<Notice> {
    // The tables are in the log, or another process writes them there now.
    if has(path, "-wal") {
        return None;
    }
    let lacks_log = claim.if_only(|| missing_log(path)).flatten().filter(|_| !is_new(path));
    // Without a marker, the worst that can happen is a needless warning. A folder in which no file can be created is
    // reported by SQLite.
    let _ = File::create(beside(path, MARKER));
    lacks_log.map(|why| Notice {
        code: "FORKPOINT_LOG_MISSING",
        message: format!("\"{}\": {why}. The store continues as a new, empty one", path.display()),
    })
}

/// Returns true if another process is making the tables, was killed while making them, or has made them just now.
fn is_new(path: &Path) -> bool {
    // The order matters. Once the marker is gone the tables are in the log, and once the log is gone they are in the file.
    has(path, MARKER)
        || has(path, "-wal")
        || !matches!(peek(path).map(|file| schema::inspect(&file)), Ok(Ok(State::Empty)))
}

/// Finishes the creation that [`begin`] started, in this process or in one that was killed. The tables exist by now.
pub(super) fn end(path: &Path) {
    let _ = fs::remove_file(beside(path, MARKER));
}
