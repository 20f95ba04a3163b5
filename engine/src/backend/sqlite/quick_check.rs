//! Checks the pages and the location of a database, in at most one second.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::file;
use super::log_readers::lasting_readers;
use crate::check::{CheckPage, Finding, FindingCode, Severity};
use crate::error::{Code, Error, Result};

/// The maximum time for checking pages.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum number of listed problems.
const MOST: usize = 20;

/// The size at which a log is reported. The checkpointer keeps logs far smaller, unless a reader never ends.
const LARGE_LOG: u64 = 256 << 20;

/// The size at which readers of an old state are named. A burst of saves can also cause a log of this size.
const LONG_LOG: u64 = 16 << 20;

pub(super) fn quick_check(connection: &Connection) -> Result<CheckPage> {
    let mut findings = pages(connection)?;
    if let Some(path) = connection.path().filter(|path| !path.is_empty()) {
        findings.extend(file_findings(Path::new(path)));
    }
    Ok(CheckPage { findings, ..CheckPage::default() })
}

fn pages(connection: &Connection) -> Result<Vec<Finding>> {
    let interrupt = connection.get_interrupt_handle();
    let (done, is_done) = channel::<()>();
    let timer = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let found = damaged_pages(connection, MOST);
    drop(done);
    let _ = timer.join();
    match found {
        Ok(lines) => Ok(lines
            .into_iter()
            .map(|line| {
                let remedy = "Restore the file from a backup. verify() says which checkpoints can still be read";
                Finding::new(FindingCode::Corrupt, Severity::Error, line, remedy)
            })
            .collect()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            let message = "the database is too large to check all of its pages within a second".to_owned();
            Ok(vec![Finding::new(FindingCode::Time, Severity::Note, message, "verify() checks everything")])
        }
        Err(error) => match Error::from(error) {
            error if error.code() == Code::Corrupt => {
                let remedy = "Restore the file from a backup";
                Ok(vec![Finding::new(FindingCode::Corrupt, Severity::Error, error.message(), remedy)])
            }
            error => Err(error),
        },
    }
}

/// Returns the problems in the structure of the file, at most `most` of them.
pub(super) fn damaged_pages(connection: &Connection, most: usize) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({most})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    lines.filter(|line| !line.as_ref().is_ok_and(|line| line == "ok")).collect()
}

fn file_findings(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(kind) = file::network(path) {
        let message =
            format!("the database is on a network file system ({kind}), where SQLite is slow and its locks may fail");
        let remedy = "Use a local disk, or a database server for several machines";
        findings.push(Finding::new(FindingCode::Network, Severity::Warning, message, remedy));
    }
    let log = std::fs::metadata(file::beside(path, "-wal")).map_or(0, |log| log.len());
    let readers = if log > LONG_LOG { lasting_readers(path) } else { Vec::new() };
    if log > LARGE_LOG || !readers.is_empty() {
        let message = format!("the write-ahead log has {} MiB", log >> 20);
        let (message, remedy) = match &readers[..] {
            [] => (
                message,
                "It shrinks when no reader holds an old state. Look for a process with a read that never ends",
            ),
            all => {
                let (kind, read) = if all.len() == 1 { ("process", "reads") } else { ("processes", "read") };
                let message = format!("{message}, because {kind} {} {read} an old state", all.join(", "));
                (message, "It shrinks when their reads end. Look there for a transaction or a cursor that stays open")
            }
        };
        findings.push(Finding::new(FindingCode::Log, Severity::Warning, message, remedy));
    }
    findings
}
