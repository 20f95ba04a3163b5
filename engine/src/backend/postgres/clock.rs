//! The clock of the server.

use super::transaction::Transaction;
use super::value::values;
use crate::error::{Code, Error, Result};

/// The time on the server's clock, in ms since the epoch.
pub(super) const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

pub(super) fn read(open: &Transaction<'_>) -> Result<i64> {
    let found = open.one(NOW, values![])?;
    found.map(|row| row.get(0)).ok_or_else(|| Error::new(Code::Unavailable, "the server did not tell the time"))
}
