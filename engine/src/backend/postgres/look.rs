//! Compares a replica with the place in the log that an answer must include, in the same flight as the query.

use std::cell::Cell;

use tokio_postgres::Row;

use super::place::{Needed, Place, REPLICA, REPLICA_WITHIN};
use super::session::Session;
use super::statement::Statement;
use crate::error::{Code, Error, Result};

/// Why an answer of a replica does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It accepts writes.
    IsPrimary,
    /// It belongs to another cluster.
    OtherCluster,
    /// The connection leads to another database.
    OtherDatabase,
    /// It follows another timeline than the primary is on.
    OtherTimeline(Place),
    /// It has not replayed the log up to the needed position yet.
    Behind { replayed: i64, needed: i64 },
    /// A pooler has taken another server for the query than for the comparison.
    OtherServer,
}

/// What a replica says of itself.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// False: it accepts writes.
    is_in_recovery: bool,
    place: Place,
    database: i64,
    /// When its server was started.
    started: i64,
}

impl Seen {
    /// Reads the answer of [`REPLICA`].
    fn read(rows: &[Row]) -> Option<Self> {
        let row = rows.first()?;
        let number = |at| row.get::<_, Option<i64>>(at);
        // A server that has not replayed anything has no place.
        let place = Place { cluster: number(1)?, timeline: number(2).unwrap_or(0), lsn: number(3).unwrap_or(-1) };
        Some(Self { is_in_recovery: row.get(0), place, database: number(4)?, started: number(5)? })
    }

    fn compare(&self, needed: Needed) -> Result<(), Refusal> {
        let Place { cluster, timeline, lsn } = needed.place;
        if self.place.cluster != cluster {
            Err(Refusal::OtherCluster)
        } else if !self.is_in_recovery {
            Err(Refusal::IsPrimary)
        } else if self.database != needed.database {
            Err(Refusal::OtherDatabase)
        } else if self.place.timeline != timeline {
            Err(Refusal::OtherTimeline(self.place))
        } else if self.place.lsn < lsn {
            Err(Refusal::Behind { replayed: self.place.lsn, needed: lsn })
        } else {
            Ok(())
        }
    }
}

/// Asks a replica alone. Returns its position in the log.
pub(super) fn ask_alone(session: &Session, needed: Needed) -> Result<Result<i64, Refusal>> {
    let found = session.query(REPLICA, Vec::new())?;
    let found = Seen::read(&found).ok_or_else(|| session.lost())?;
    Ok(found.compare(needed).map(|()| found.place.lsn))
}

/// A query to a replica: what its answer must include, and what came of the comparison.
#[derive(Debug)]
pub(super) struct Look {
    needed: Needed,
    refused: Cell<Option<Refusal>>,
    /// What the snapshot shows at most.
    shown: Cell<i64>,
}

impl Look {
    pub(super) fn new(needed: Needed) -> Self {
        Self { needed, refused: Cell::new(None), shown: Cell::new(0) }
    }

    /// Adds the comparison to the first flight of a transaction. The first of its statements is the one that begins the
    /// transaction: the replica tells its place before that, and again within the snapshot.
    pub(super) fn ask(session: &Session, flight: &mut Vec<Statement>) {
        let statement = |text| Statement::new(session.text(text), Some(Vec::new()), true);
        flight.insert(1, statement(REPLICA_WITHIN));
        flight.insert(0, statement(REPLICA));
    }

    /// Takes the answers of the comparison out of those of the flight.
    ///
    /// # Errors
    ///
    /// An error that nobody gets to see if the answers do not count: see [`Look::refused`].
    pub(super) fn compare(&self, found: &mut Vec<Vec<Row>>) -> Result<()> {
        let within = found.remove(2);
        let before = found.remove(0);
        self.compared(&before, &within).map_err(|refusal| {
            self.refused.set(Some(refusal));
            Error::new(Code::Unavailable, "the answer of the replica does not count")
        })
    }

    fn compared(&self, before: &[Row], within: &[Row]) -> Result<(), Refusal> {
        let before = Seen::read(before).ok_or(Refusal::OtherServer)?;
        before.compare(self.needed)?;
        let within = within.first().ok_or(Refusal::OtherServer)?;
        if within.get::<_, i64>(2) != before.started {
            return Err(Refusal::OtherServer);
        }
        if !within.get::<_, bool>(0) {
            return Err(Refusal::IsPrimary);
        }
        self.shown.set(within.get::<_, Option<i64>>(1).unwrap_or(before.place.lsn));
        Ok(())
    }

    pub(super) fn refused(&self) -> Option<Refusal> {
        self.refused.get()
    }

    pub(super) fn shown(&self) -> i64 {
        self.shown.get()
    }
}
