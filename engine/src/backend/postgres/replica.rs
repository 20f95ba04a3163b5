//! Answers queries from a replica of the server, for the option `readFrom`.
//!
//! A replica may be down, lag behind, be promoted or belong to another cluster. None of that is an error of a query: the
//! primary answers it. A warning tells the user once, and the replica is tried again after a pause.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::Connector;
use super::late_index::LateIndexes;
use super::look::{Look, Refusal, ask_alone};
use super::names::Names;
use super::place::{Needed, Position};
use super::read::{Reading, is_small, takes_one_flight};
use super::session::Session;
use super::transaction::Transaction;
use super::url::Url;
use crate::backend::replica::{Health, Replica, ReplicaOpener};
use crate::cache::PayloadCache;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::events::Events;
use crate::query::{Answer, Query};

/// The code of the warning.
const WARNING: &str = "FORKPOINT_REPLICA_NOT_USED";

/// How long the first query waits for the connection to a replica, at most.
const PATIENCE_AT_CONNECT: Duration = Duration::from_secs(2);

/// A query that has taken longer is not asked again.
const LONG: Duration = Duration::from_secs(1);

/// How long a replica may be behind before the user is told.
const LONG_BEHIND: Duration = Duration::from_secs(30);

/// What all connections of a store to its replica share.
pub(super) struct Shared {
    pub(super) url: Url,
    pub(super) position: Arc<Position>,
    pub(super) health: Arc<Health>,
    pub(super) cache: PayloadCache,
    pub(super) closing: Arc<Deadline>,
    pub(super) busy_timeout: Duration,
    /// The indexes of the replica. They are those of the primary, some time later.
    pub(super) indexes: LateIndexes,
    /// What the connections to the primary know of its indexes.
    pub(super) of_primary: Arc<LateIndexes>,
    pub(super) told: Mutex<Told>,
}

/// What is wrong with the replica since it has answered last.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// True if the user was warned.
    warned: bool,
    /// A position that the replica had not reached at this time.
    behind: Option<(i64, Instant)>,
}

impl Told {
    /// The replica has replayed the log up to one position, and must reach another one. Returns true if it has not reached an
    /// earlier one for a long time. One that is always a little behind is not long behind.
    fn is_long_behind(&mut self, replayed: i64, needed: i64) -> bool {
        match self.behind {
            Some((position, since)) if replayed < position => since.elapsed() > LONG_BEHIND,
            _ => {
                self.behind = Some((needed, Instant::now()));
                false
            }
        }
    }
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a query was not answered.
enum Unanswered {
    /// The replica cannot be used.
    Failed(Error),
    /// The primary does not tell its place in the log.
    Unplaced(Error),
    Refused(Refusal),
    /// Only this query: the primary may answer it, or tells the error.
    Query,
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a store needs to use a replica.
pub(super) fn opener(shared: Shared) -> ReplicaOpener {
    let (health, shared) = (Arc::clone(&shared.health), Arc::new(shared));
    let open = move |events: &Arc<Events>| {
        Box::new(PostgresReplica::new(Arc::clone(&shared), Arc::clone(events))) as Box<dyn Replica>
    };
    ReplicaOpener { health, open: Box::new(open) }
}

/// A connection to the replica. It is opened with the first query.
pub(super) struct PostgresReplica {
    shared: Arc<Shared>,
    events: Arc<Events>,
    session: Option<Session>,
    /// The position up to which the replica has replayed the log, when it answered last.
    replayed: i64,
    /// True if the last query found a connection, or made one.
    is_connected: bool,
}

impl PostgresReplica {
    fn new(shared: Arc<Shared>, events: Arc<Events>) -> Self {
        Self { shared, events, session: None, replayed: 0, is_connected: false }
    }

    fn session(&mut self) -> Result<&Session> {
        let Shared { url, closing, busy_timeout, .. } = &*self.shared;
        let busy_timeout = *busy_timeout;
        if self.session.is_none() {
            let connector = Arc::new(Connector::new(url, true)?);
            self.session = Some(Session::new(connector, Names::of(url), busy_timeout, Arc::clone(closing), None)?);
        }
        let session = self.session.as_ref().ok_or_else(Error::poisoned)?;
        session.patience.set(PATIENCE_AT_CONNECT.min(busy_timeout));
        session.begin_call();
        session.connect()?;
        session.patience.set(busy_timeout);
        self.is_connected = true;
        session.begin_call();
        Ok(session)
    }

    /// What the answer must include. `None`: nobody knows yet.
    fn needed(&self) -> Result<Option<Needed>, Unanswered> {
        self.shared.position.needed().map_err(Unanswered::Unplaced)
    }

    fn ask(&mut self, query: &Query) -> Result<Answer, Unanswered> {
        self.is_connected = false;
        let needed = self.needed()?.ok_or(Unanswered::Query)?;
        let replayed = self.replayed;
        let shared = Arc::clone(&self.shared);
        // The primary builds an index with the first query that needs it.
        if !shared.of_primary.are_known(query) {
            return Err(Unanswered::Query);
        }
        let session = self.session().map_err(Unanswered::Failed)?;
        // A replica that may be behind does no work for an answer that would not count.
        if needed.place.lsn > replayed {
            ask_alone(session, needed).map_err(failed)??;
        }
        shared.indexes.look(session, query, false);
        let look = Look::new(needed);
        let open = Transaction::look(session, is_small(query), &look);
        if takes_one_flight(query) {
            open.end_with_next();
        }
        let answer = Reading { open: &open, cache: &shared.cache, indexes: &shared.indexes }.answer(query);
        drop(open);
        let answer = answer.map_err(|error| look.refused().map_or_else(|| failed(error), Into::into))?;
        shared.position.answered(look.shown());
        self.replayed = look.shown();
        Ok(answer)
    }

    /// Asks again if only the connection was lost, or a prepared statement: the replica may be restarted already.
    fn ask_again(&mut self, query: &Query) -> Result<Answer, Unanswered> {
        let begun = Instant::now();
        let answer = self.ask(query);
        if begun.elapsed() > LONG {
            return answer;
        }
        let is_lost = |session: &Session| session.outdated.take() || self.is_connected && session.broken.get();
        if answer.is_err() && self.session.as_ref().is_some_and(is_lost) { self.ask(query) } else { answer }
    }

    /// Connects, and compares the replica with the primary.
    fn compare(&mut self) -> Result<(), Unanswered> {
        let Some(needed) = self.needed()? else { return Ok(()) };
        let session = self.session().map_err(Unanswered::Failed)?;
        ask_alone(session, needed).map_err(failed)??;
        Ok(())
    }

    /// Leaves the replica alone for a while if it cannot be used, and tells the user once.
    fn note(&self, why: Unanswered) {
        let error = match why {
            Unanswered::Query | Unanswered::Refused(Refusal::OtherServer) => return,
            Unanswered::Refused(Refusal::Behind { replayed, needed }) => {
                if self.shared.told().is_long_behind(replayed, needed) {
                    let place = self.shared.url.place();
                    let why = format!("{place} is more than 30 s behind: see why it does not replay the log");
                    self.warn(Error::new(Code::Unavailable, why));
                }
                return;
            }
            Unanswered::Refused(refusal) => {
                Error::new(Code::Unavailable, format!("{} {}", self.shared.url.place(), explained(refusal)))
            }
            Unanswered::Unplaced(error) => {
                error.context("the primary does not tell its position in the write-ahead log")
            }
            Unanswered::Failed(error) => error,
        };
        self.shared.health.fails();
        self.warn(error);
    }

    fn warn(&self, why: Error) {
        if !std::mem::replace(&mut self.shared.told().warned, true) {
            let what =
                "the primary answers instead of the replica in \"readFrom\", which is tried again every few seconds";
            self.events.warn(WARNING, why.context(what));
        }
    }
}

impl Replica for PostgresReplica {
    fn look(&mut self, query: &Query) -> Option<Answer> {
        if !self.shared.health.is_good() {
            return None;
        }
        match self.ask_again(query) {
            Ok(answer) => {
                *self.shared.told() = Told::default();
                Some(answer)
            }
            Err(why) => {
                self.note(why);
                None
            }
        }
    }

    fn try_again(&mut self) {
        let tried = self.compare();
        self.shared.health.works();
        if let Err(why) = tried {
            self.note(why);
        }
    }
}

fn failed(error: Error) -> Unanswered {
    match error.code() {
        Code::Unavailable => Unanswered::Failed(error),
        _ => Unanswered::Query,
    }
}

/// What is wrong with a replica, and the remedy.
fn explained(refusal: Refusal) -> String {
    match refusal {
        Refusal::IsPrimary => {
            "accepts writes, so it is the primary or was promoted: name a replica that follows the primary".to_owned()
        }
        Refusal::OtherCluster => {
            "does not belong to the cluster of the primary: name a physical replica of the primary".to_owned()
        }
        Refusal::OtherDatabase => {
            "belongs to the primary, but the URL names another database: name the database of the store".to_owned()
        }
        Refusal::OtherTimeline(place) => format!(
            "is on timeline {}, and the primary is on another one: let it follow the primary. After a failover it tells the new \
             timeline after a checkpoint, or immediately to a role with pg_read_all_stats",
            place.timeline
        ),
        Refusal::Behind { .. } => "is behind the primary".to_owned(),
        Refusal::OtherServer => "is several servers behind a pooler".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_is_always_a_little_behind_is_not_long_behind() {
        let ago = Instant::now().checked_sub(2 * LONG_BEHIND).unwrap();
        let mut told = Told::default();
        assert!(!told.is_long_behind(90, 100));
        told.behind = Some((100, ago));
        // It has reached 100 since.
        assert!(!told.is_long_behind(100, 110));
        assert!(!told.is_long_behind(100, 120));
        told.behind = Some((110, ago));
        assert!(told.is_long_behind(100, 130));
    }
}
