//! Tells whether a database has changed since a connection has read it.

use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;

use crate::error::Result;

/// The changes that a connection has seen. `SQLite` counts them for each connection. Several connections may answer the queries
/// of one store, so each has its own number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    connection: i64,
}

impl Changes {
    /// The changes that a connection sees that is opened now.
    pub(super) fn of_new_connection() -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        Self { connection: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns a number that is another one after each commit, and for each connection. JavaScript can hold it: it has 52 bits.
    pub(super) fn version(self, connection: &Connection) -> Result<i64> {
        // The first count grows with the commits of others, and the second one with the changes through this connection.
        let others: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let changes = others.wrapping_add_unsigned(connection.total_changes());
        Ok((self.connection & 0xf_ffff) << 32 | (changes & 0xffff_ffff))
    }
}
