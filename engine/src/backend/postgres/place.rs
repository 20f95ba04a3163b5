//! Where a server is in the write-ahead log of its cluster, so that an answer of a replica is never older than what the
//! store has saved or read before.
//!
//! The store remembers the greatest position of the primary that it relies on. A replica answers only if it follows the same
//! cluster on the same timeline, and has replayed the log up to that position.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join;
use tokio_postgres::{Client, Row};

use super::error::from_server;
use super::statement::Statement;
use crate::error::{Code, Error, Result};

/// A position in the log of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The number that `initdb` gave to the cluster. All physical replicas have it.
    pub(super) cluster: i64,
    /// Each promotion of a replica begins another timeline.
    pub(super) timeline: i64,
    /// The number of bytes in the log before the position.
    pub(super) lsn: i64,
}

/// Asks a primary for its place. The answer is null on a replica.
///
/// After a commit, or in a transaction that has its snapshot, the log up to this place has everything that the commit has
/// made or the snapshot shows. `pg_current_wal_insert_lsn` also counts commits that are visible and not yet synced.
pub(super) const PRIMARY: &str = "SELECT s.system_identifier,
       ('x' || left(pg_walfile_name(w.lsn), 8))::bit(32)::int4::int8, (w.lsn - '0/0')::int8
     FROM (SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_insert_lsn() END AS lsn OFFSET 0) AS w,
       pg_control_system() AS s";

/// As [`PRIMARY`], on a connection to one process of a server: its cluster and its timeline stay the same.
const PRIMARY_AGAIN: &str = "SELECT NULL::int8, NULL::int8, (pg_current_wal_insert_lsn() - '0/0')::int8";

/// Asks for what stays the same while a connection lasts: the number of the database, and the sizes of the pages and of the
/// files of the log.
pub(super) const CONSTANTS: &str = "SELECT (SELECT oid::int8 FROM pg_database WHERE datname = current_database()),
       current_setting('wal_block_size')::int8, pg_size_bytes(current_setting('wal_segment_size'))";

/// Asks a replica for its place, before the snapshot: the snapshot shows at least what was replayed until then. The timeline
/// is the greatest that the replica knows of, because each of the three learns of a promotion at another time.
pub(super) const REPLICA: &str = "SELECT pg_is_in_recovery(), (SELECT system_identifier FROM pg_control_system()),
       greatest((SELECT timeline_id FROM pg_control_checkpoint()),
         (SELECT min_recovery_end_timeline FROM pg_control_recovery()),
         (SELECT received_tli FROM pg_stat_wal_receiver))::int8,
       (pg_last_wal_replay_lsn() - '0/0')::int8,
       (SELECT oid::int8 FROM pg_database WHERE datname = current_database()),
       (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8";

/// Asks a replica again, within the snapshot: the snapshot shows at most what was replayed until then. A pooler may have taken
/// another server for the transaction.
pub(super) const REPLICA_WITHIN: &str = "SELECT pg_is_in_recovery(), (pg_last_wal_replay_lsn() - '0/0')::int8,
       (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8";

/// The sizes of the pages and of the files of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    page: i64,
    file: i64,
}

impl Sizes {
    /// Where the record ends behind which the next one will begin. The primary counts the header of a page that has no record
    /// yet, and a replica does not: without this, a replica would seem to be behind until the next record.
    fn end_of_last_record(self, lsn: i64) -> i64 {
        const HEADER: i64 = 24;
        const HEADER_OF_FILE: i64 = 40;
        let begins = |size: i64, header: i64| size > 0 && lsn % size == header;
        match lsn {
            _ if begins(self.file, HEADER_OF_FILE) => lsn - HEADER_OF_FILE,
            _ if begins(self.page, HEADER) => lsn - HEADER,
            _ => lsn,
        }
    }
}

/// What a connection to the primary learns when it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub(super) database: i64,
    sizes: Sizes,
    /// The place at that time.
    place: Place,
}

impl Constants {
    /// Reads the answers of [`CONSTANTS`] and [`PRIMARY`]. `None`: the server is a replica.
    fn read(constants: &[Row], place: &[Row]) -> Option<Self> {
        let (constants, place) = (constants.first()?, place.first()?);
        let number = |row: &Row, at| row.get::<_, Option<i64>>(at);
        let sizes = Sizes { page: constants.get(1), file: constants.get(2) };
        let lsn = sizes.end_of_last_record(number(place, 2)?);
        let place = Place { cluster: number(place, 0)?, timeline: number(place, 1)?, lsn };
        Some(Self { database: number(constants, 0)?, sizes, place })
    }

    /// Reads the answer of [`PRIMARY`] or [`PRIMARY_AGAIN`]. `None`: the server did not tell its place.
    fn place(&self, rows: &[Row]) -> Option<Place> {
        let number = |at| rows.first()?.get::<_, Option<i64>>(at);
        let lsn = self.sizes.end_of_last_record(number(2)?);
        let Place { cluster, timeline, .. } = self.place;
        Some(Place { cluster: number(0).unwrap_or(cluster), timeline: number(1).unwrap_or(timeline), lsn })
    }
}

/// What an answer must include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    pub(super) place: Place,
    /// The number of the database in the cluster.
    pub(super) database: i64,
}

/// The position that all connections of a store share.
#[derive(Debug, Default)]
pub(super) struct Position(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    needed: Option<Needed>,
    /// The connections that have written something, and do not know where.
    unknown: BTreeSet<u32>,
    /// The number of connections so far.
    connections: u32,
    /// Why the primary did not tell its place.
    failed: Option<Error>,
}

impl Position {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for one more connection.
    fn next_connection(&self) -> u32 {
        let mut state = self.state();
        state.connections += 1;
        state.connections
    }

    /// A connection to the primary begins. Nothing was read from it yet.
    pub(super) fn connected(&self, found: Result<Constants>) {
        let mut state = self.state();
        let Constants { database, place, .. } = match found {
            Ok(found) => found,
            Err(error) => {
                state.failed = Some(error);
                return;
            }
        };
        state.failed = None;
        let lsn = match state.needed.map(|needed| needed.place) {
            None => 0,
            Some(before) if before.cluster != place.cluster => place.lsn,
            Some(before) if before.timeline != place.timeline => before.lsn.min(place.lsn),
            Some(before) => before.lsn,
        };
        state.needed = Some(Needed { place: Place { lsn, ..place }, database });
    }

    /// The store has read what the primary had at this place.
    pub(super) fn read(&self, place: Option<Place>) {
        let Some(place) = place else { return };
        if let Some(needed) = &mut self.state().needed {
            let before = needed.place;
            let is_same = before.cluster == place.cluster && before.timeline == place.timeline;
            needed.place = Place { lsn: if is_same { before.lsn.max(place.lsn) } else { place.lsn }, ..place };
        }
    }

    /// A connection has written something. `None`: it does not know where, until it writes again.
    pub(super) fn wrote(&self, connection: u32, place: Option<Place>) {
        let mut state = self.state();
        match place {
            Some(_) => state.unknown.remove(&connection),
            None => state.unknown.insert(connection),
        };
        drop(state);
        self.read(place);
    }

    /// A replica has answered. Its snapshot shows at most what the log has before this position.
    pub(super) fn answered(&self, lsn: i64) {
        if let Some(needed) = &mut self.state().needed {
            needed.place.lsn = needed.place.lsn.max(lsn);
        }
    }

    /// What an answer of a replica must include.
    ///
    /// `None`: the store does not know it yet.
    ///
    /// # Errors
    ///
    /// Why the primary does not tell its place.
    pub(super) fn needed(&self) -> Result<Option<Needed>> {
        let state = self.state();
        match &state.failed {
            Some(error) => Err(error.clone()),
            None => Ok(state.needed.filter(|_| state.unknown.is_empty())),
        }
    }
}

/// Asks for the place of a connection's server, if the store also reads from a replica.
pub(super) struct Placing {
    position: Option<Arc<Position>>,
    connection: u32,
    /// `None`: the server does not tell its place.
    constants: Cell<Option<Constants>>,
    statement: Arc<str>,
    statement_again: Arc<str>,
}

impl Placing {
    /// `position` is `None` if the store reads from no replica, and for the connection to a replica.
    pub(super) fn new(position: Option<Arc<Position>>) -> Self {
        let (statement, statement_again) = (PRIMARY.into(), PRIMARY_AGAIN.into());
        let connection = position.as_ref().map_or(0, |position| position.next_connection());
        Self { position, connection, constants: Cell::new(None), statement, statement_again }
    }

    /// Asks a connection that begins.
    pub(super) async fn connected(&self, client: &Client, server: &str) {
        let Some(position) = &self.position else { return };
        let found = match join(client.query_typed(CONSTANTS, &[]), client.query_typed(PRIMARY, &[])).await {
            (Ok(constants), Ok(found)) => Constants::read(&constants, &found)
                .ok_or_else(|| Error::new(Code::Unsupported, format!("{server} is a replica itself"))),
            (Err(error), _) | (_, Err(error)) => Err(from_server(&error, server)),
        };
        self.constants.set(found.as_ref().ok().copied());
        position.connected(found);
    }

    /// The statement that asks for the place. `None`: the store does not need it, or the server does not tell it. `is_direct` is
    /// true if the connection leads to one process of the server.
    pub(super) fn ask(&self, is_direct: bool) -> Option<Statement> {
        self.position.as_ref()?;
        self.constants.get()?;
        // A pooler may take another server, and even one of another cluster.
        let text = if is_direct { &self.statement_again } else { &self.statement };
        Some(Statement::new(Arc::clone(text), Some(Vec::new()), true))
    }

    /// Takes the answer that came with something that was read.
    pub(super) fn read(&self, found: &[Row]) {
        if let Some(position) = &self.position {
            position.read(self.place(found));
        }
    }

    /// Takes the answer that came behind a commit. Empty: there is none.
    pub(super) fn wrote(&self, found: &[Row]) {
        if let Some(position) = &self.position {
            position.wrote(self.connection, self.place(found));
        }
    }

    fn place(&self, found: &[Row]) -> Option<Place> {
        self.constants.get()?.place(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { page: 8192, file: 16 << 20 };

    fn connected(position: &Position, place: Place) {
        position.connected(Ok(Constants { database: 5, sizes: SIZES, place }));
    }

    fn at(timeline: i64, lsn: i64) -> Place {
        Place { cluster: 1, timeline, lsn }
    }

    fn needed(position: &Position) -> Option<(i64, i64, i64)> {
        position.needed().ok().flatten().map(|Needed { place, .. }| (place.cluster, place.timeline, place.lsn))
    }

    #[test]
    fn an_answer_includes_what_was_written_and_read() {
        let position = Position::default();
        assert_eq!(needed(&position), None);
        connected(&position, at(1, 100));
        assert_eq!(needed(&position), Some((1, 1, 0)));
        position.wrote(1, Some(at(1, 120)));
        position.read(Some(at(1, 110)));
        assert_eq!(needed(&position), Some((1, 1, 120)));
        position.answered(140);
        connected(&position, at(1, 500));
        assert_eq!(needed(&position), Some((1, 1, 140)));
    }

    #[test]
    fn a_write_at_an_unknown_place_waits_for_the_next_one() {
        let position = Position::default();
        connected(&position, at(1, 100));
        position.wrote(1, None);
        position.read(Some(at(1, 200)));
        position.wrote(2, Some(at(1, 205)));
        assert_eq!(needed(&position), None);
        position.wrote(1, Some(at(1, 210)));
        assert_eq!(needed(&position), Some((1, 1, 210)));
    }

    #[test]
    fn another_timeline_or_cluster_replaces_the_position() {
        let position = Position::default();
        connected(&position, at(1, 100));
        position.wrote(1, Some(at(1, 1000)));
        // The new primary has lost the end of the log.
        connected(&position, at(2, 900));
        assert_eq!(needed(&position), Some((1, 2, 900)));
        position.wrote(1, Some(at(3, 950)));
        assert_eq!(needed(&position), Some((1, 3, 950)));
        connected(&position, Place { cluster: 2, timeline: 1, lsn: 70 });
        assert_eq!(needed(&position), Some((2, 1, 70)));
    }

    #[test]
    fn a_primary_that_tells_no_place_is_an_error() {
        let position = Position::default();
        position.connected(Err(Error::new(Code::Unavailable, "denied")));
        assert_eq!(position.needed().unwrap_err().message(), "denied");
        connected(&position, at(1, 100));
        assert_eq!(needed(&position), Some((1, 1, 0)));
    }

    #[test]
    fn the_header_of_an_empty_page_is_no_record() {
        for (lsn, end) in [
            (8192 + 24, 8192),
            (8192 + 32, 8192 + 32),
            (8192 + 40, 8192 + 40),
            ((16 << 20) + 40, 16 << 20),
            ((16 << 20) + 24, 16 << 20),
            (100, 100),
        ] {
            assert_eq!(SIZES.end_of_last_record(lsn), end, "{lsn}");
        }
    }
}
