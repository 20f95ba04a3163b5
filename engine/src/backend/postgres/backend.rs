//! The backend: each call takes as few round trips as possible, and is retried while that may help.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, Memory, Sent};
use super::connect::{Connector, spread};
use super::error::worth_another_try;
use super::late_index::LateIndexes;
use super::listener;
use super::names::Names;
use super::point::{self, Point};
use super::read::{Reading, is_small, takes_one_round_trip};
use super::schema::{self, Server};
use super::session::Session;
use super::transaction::Transaction;
use super::url::{SslMode, Url};
use super::{optimistic, prune, removal, several, write};
use crate::backend::batch::{self, Failure};
use crate::backend::interface::{Backend, Limits};
use crate::backend::lazy::Opener;
use crate::backend::pre_encoder::PreEncoder;
use crate::cache::PayloadCache;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::op::{Applied, Unit};
use crate::options::{Durability, Options};
use crate::query::{Answer, Query};
use crate::record::Notice;
use crate::retention::{Prune, Pruned};

/// One connection to a server.
pub struct Postgres {
    session: Session,
    memory: Memory,
    indexes: Arc<LateIndexes>,
    /// True if queries may build indexes.
    builds: bool,
    notice: Option<Notice>,
    /// Set when the store is being closed.
    closing: Arc<Deadline>,
    /// True if the server did not answer a call while the store was being closed. The remaining calls do not wait.
    gave_up: bool,
    /// True if the next call has already begun, with a check for indexes: see [`Backend::takes_long`].
    has_begun: Cell<bool>,
}

/// The maximum time that opening waits for each host that does not answer or is starting up. It is short, so that a
/// wrong URL is noticed soon.
const PATIENCE_AT_OPEN: Duration = Duration::from_secs(5);

impl Postgres {
    /// Connects to the server. Creates the tables if they are missing.
    pub fn open(url: &Url, options: &Options) -> Result<Self> {
        Self::open_with(url, options, cache(options), Arc::default(), Arc::default())
    }

    /// Connects to the server. Other connections to the same tables share `cache` and `indexes`. `closing` is set when
    /// the store is being closed.
    fn open_with(
        url: &Url,
        options: &Options,
        cache: PayloadCache,
        indexes: Arc<LateIndexes>,
        closing: Arc<Deadline>,
    ) -> Result<Self> {
        let connector = Arc::new(Connector::new(url, options.read_only)?);
        let busy_timeout = closing.limit(options.busy_timeout);
        let hosts = u32::try_from(url.hosts.len()).unwrap_or(u32::MAX);
        let patience = busy_timeout.min(PATIENCE_AT_OPEN.saturating_mul(hosts));
        let session = Session::new(connector, Names::of(url), patience, Arc::clone(&closing))?;
        let memory = Memory { cache, heads: RefCell::default(), noted: Cell::new(0) };
        let builds = !options.read_only;
        let mut backend = Self {
            session,
            memory,
            indexes,
            builds,
            notice: None,
            closing,
            gave_up: false,
            has_begun: Cell::default(),
        };
        let migrate = url.migrate.unwrap_or(options.migrate);
        let server = backend.call(|backend| schema::prepare(&backend.session, migrate, options.read_only))?;
        backend.session.set_durability(options.durability);
        backend.notice = notice(url, options, &server);
        backend.indexes.have(server.indexes);
        backend.session.patience.set(busy_timeout);
        Ok(backend)
    }

    /// Does the work of one call. Retries work that stored nothing and may succeed later, until the patience ends.
    fn call<T>(&mut self, mut work: impl FnMut(&Self) -> Result<T>) -> Result<T> {
        if self.gave_up {
            return Err(self.session.late());
        }
        if !self.has_begun.take() {
            self.session.begin_call();
        }
        let mut pause = Duration::from_millis(5);
        loop {
            match work(self) {
                // A prepared statement was outdated. The call itself did not fail.
                Err(_) if self.session.outdated.take() => {}
                Err(error) if worth_another_try(&error) && self.session.left() > pause => {
                    self.session.pause(spread(pause));
                    pause = (2 * pause).min(Duration::from_millis(250));
                }
                Err(error) if error.code() == Code::Unavailable && error.retryable() => {
                    self.gave_up = self.closing.get().is_some();
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    fn commit(&mut self, units: &[Unit]) -> Result<Vec<Applied>, Failure> {
        let sent = Sent::default();
        let mut failed = false;
        let done = self.call(|backend| {
            failed = false;
            let batch = Batch::new(units);
            if sent.is_empty()
                && let Some(applied) = backend.write_optimistically(batch, &sent)?
            {
                return Ok(applied);
            }
            let applied = write::transaction(&backend.session, &backend.memory, batch, &sent).map_err(|failure| {
                failed = matches!(failure, Failure::Unit(_));
                Error::from(failure)
            })?;
            if !sent.is_empty() {
                sent.confirm(&backend.session)?;
            }
            Ok(applied)
        });
        match done {
            Err(error) if !sent.is_empty() => Err(Failure::Whole(error.with_outcome_unknown())),
            Err(error) if failed => Err(Failure::Unit(error)),
            done => done.map_err(Failure::Whole),
        }
    }

    /// Tries the optimistic write of the batch, in one round trip. Returns `None` if nothing was stored.
    fn write_optimistically(&self, batch: Batch<'_>, sent: &Sent) -> Result<Option<Vec<Applied>>> {
        let done = match removal::remove(&self.session, &self.memory, batch) {
            Ok(None) => optimistic::store(&self.session, &self.memory, batch),
            done => done,
        };
        match done {
            Err(error) if error.outcome_unknown() => {
                sent.add(batch.call, vec![Applied::default(); batch.units.len()]);
                Err(self.session.lost())
            }
            Err(error) if !worth_another_try(&error) => Ok(None),
            stored => stored,
        }
    }
}

/// Returns a notice about unsafe settings of the server.
fn notice(url: &Url, options: &Options, server: &Server) -> Option<Notice> {
    let name = url.server_name();
    if options.durability == Durability::Full && !server.is_durable {
        let message = format!(
            "{name} has fsync or full_page_writes off: a crash of its machine may lose or damage what was saved; turn them on"
        );
        return Some(Notice { code: "FORKPOINT_SERVER_NOT_DURABLE", message });
    }
    if !url.is_local() && matches!(url.ssl(), SslMode::Require | SslMode::Prefer) {
        let message = format!(
            "the certificate of {name} is not checked, so another machine could pretend to be it: use sslmode=verify-full"
        );
        return Some(Notice { code: "FORKPOINT_SERVER_NOT_VERIFIED", message });
    }
    None
}

impl Backend for Postgres {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        // Removals are sent separately from other changes, because each kind takes one round trip.
        let alike = batch.chunk_by(|a, b| removal::is_removal(a) == removal::is_removal(b));
        alike.flat_map(|units| batch::apply(units, |units| self.commit(units))).collect()
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.call(|backend| {
            if backend.indexes.look(&backend.session, query, backend.builds) {
                backend.indexes.build(&backend.session, query);
            }
            let open = Transaction::read(&backend.session, is_small(query));
            if takes_one_round_trip(query) {
                open.end_with_next();
            }
            Reading { open: &open, cache: &backend.memory.cache, indexes: &backend.indexes }.answer(query)
        })
    }

    fn answer_all(&mut self, queries: &[Query], tell: &mut dyn FnMut(Result<Answer>)) {
        // After a query that found no server, fail the later queries immediately: they have already waited as long.
        let mut unreachable = None;
        for queries in queries.chunk_by(|a, b| Point::is(a) && Point::is(b)) {
            let answers = match (&unreachable, queries) {
                (Some(error), _) => Err(Error::clone(error)),
                (None, [query]) => self.answer(query).map(|answer| vec![Ok(answer)]),
                (None, _) => self.call(|backend| {
                    let points: Vec<Point> =
                        queries.iter().filter_map(|query| Point::of(query, &backend.memory.cache)).collect();
                    point::answer_all(&backend.session, &backend.memory.cache, &points)
                }),
            };
            match answers {
                Ok(answers) => answers.into_iter().for_each(&mut *tell),
                Err(error) => {
                    for _ in queries {
                        tell(Err(error.clone()));
                    }
                    unreachable = Some(error).filter(|error| error.code() == Code::Unavailable && error.retryable());
                }
            }
        }
        self.has_begun.set(false);
    }

    fn takes_long(&self, query: &Query) -> bool {
        if !self.has_begun.replace(true) {
            self.session.begin_call();
        }
        several::is_read_by(query) || self.indexes.look(&self.session, query, self.builds)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.call(|backend| prune::prune(&backend.session, &backend.memory.cache, prune))
    }

    fn may_sweep(&mut self, worker: i64) -> Result<bool> {
        self.call(|backend| prune::may_sweep(&backend.session, worker))
    }

    fn end_sweeps(&mut self, worker: i64) -> Result<()> {
        self.call(|backend| prune::end_sweeps(&backend.session, worker))
    }

    fn reclaim(&mut self) -> Result<()> {
        self.call(|backend| prune::reclaim(&backend.session))
    }

    fn vacuum(&mut self) -> Result<()> {
        self.call(|backend| {
            backend.session.connect()?;
            prune::vacuum(&backend.session, "", &prune::TABLES)
        })
    }

    fn limits(&self) -> Limits {
        Limits { units: 256, bytes: 8 << 20 }
    }

    fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }
}

fn cache(options: &Options) -> PayloadCache {
    PayloadCache::new(options.cache_bytes).up_to(options.largest_payload())
}

/// Returns the access of a store to a server.
pub(crate) fn opener(url: &Url, options: &Options, deadline: &Arc<Deadline>) -> Opener {
    let cache = cache(options);
    let pre_encoder = Arc::new(PreEncoder::new(cache.clone()));
    let (url, options, deadline) = (url.clone(), options.clone(), Arc::clone(deadline));
    let indexes = Arc::<LateIndexes>::default();
    let listen = (!options.read_only).then(|| listener::listen(&url));
    let open = move || {
        let backend = Postgres::open_with(&url, &options, cache.clone(), Arc::clone(&indexes), Arc::clone(&deadline))?;
        Ok(Box::new(backend) as Box<dyn Backend>)
    };
    Opener { open: Arc::new(open), pre_encoder: Some(pre_encoder), sweeps_apart: true, reads_apart: true, listen }
}
