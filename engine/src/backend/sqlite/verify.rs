//! Verifies all pages and rows of a database, step by step.

use rusqlite::Connection;
use serde::Serialize;

use super::quick_check::damaged_pages;
use crate::backend::interface::Backend;
use crate::check::{CheckCursor, Severity};
use crate::error::{Code, Error, Result};
use crate::query::Query;

/// The number of rows in one step.
const ROWS: usize = 500;

/// The current phase of a backup or a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The file is copied. The progress counts bytes.
    Copying,
    /// The copy is verified. The progress counts rows.
    Verifying,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The phase, which defines the unit of the counts.
    pub phase: Phase,
    /// The work that is done.
    pub done: u64,
    /// The total work of this phase.
    pub of: u64,
}

/// A database that can be verified: its pages, and its rows.
pub(super) trait Verify: Backend {
    fn connection(&mut self) -> Result<&Connection>;
}

/// Verifies a database. Returns the number of its checkpoints.
pub(super) fn verify(database: &mut impl Verify, watch: &mut dyn FnMut(Progress) -> Result<()>) -> Result<u64> {
    let damaged = |what: &str| Error::new(Code::Corrupt, format!("the database is damaged: {what}. Run check() on it"));
    if let Some(damage) = damaged_pages(database.connection()?, 1)?.first() {
        return Err(damaged(damage));
    }
    let (mut checkpoints, mut next) = (0, Some(CheckCursor::default()));
    while let Some(cursor) = next {
        let page = database.answer(&Query::Check { cursor, limit: ROWS })?.into_checked()?;
        if let Some(finding) = page.findings.iter().find(|finding| finding.severity == Severity::Error) {
            return Err(damaged(&finding.message));
        }
        checkpoints += page.counted.checkpoints;
        watch(Progress { phase: Phase::Verifying, done: page.done, of: page.of })?;
        next = page.next;
    }
    Ok(checkpoints)
}
