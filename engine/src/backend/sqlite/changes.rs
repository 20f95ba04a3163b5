//! Detects whether a database has changed since a connection's last read.

use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;

use crate::error::Result;

/// The changes that a connection has seen. `SQLite` counts them for each connection. Several connections may answer the
/// queries of a store, so each has a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    connection: i64,
}

impl Changes {
    /// The changes seen by a new connection.
    pub(super) fn of_new_connection() -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        Self { connection: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns a number that differs after each commit and between connections, in 52 bits for JavaScript.
    pub(super) fn version(self, connection: &Connection) -> Result<i64> {
        // The first count grows with the commits of other connections, and the second with the changes of this one.
        let others: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let changes = others.wrapping_add_unsigned(connection.total_changes());
        Ok((self.connection & 0xf_ffff) << 32 | (changes & 0xffff_ffff))
    }
}
