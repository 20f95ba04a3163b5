//! Opens a store, sends units and queries to the store's threads in call order, and closes the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::backend::{self, Access, Backend, Lazy, Listener, Opener, PreEncode, read_only};
use crate::check::{CheckCursor, CheckPage};
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::events::Events;
pub use crate::events::{Event, Heard, Swept, Warning};
use crate::message::{Apply, WriterMessage};
use crate::names;
use crate::op::{Applied, Commit, Op, Unit};
pub use crate::options::{Migrate, Options};
use crate::pipeline::Pipeline;
use crate::query::{Answer, Query};
use crate::reader::{Question, Reader};
use crate::record::{Draft, Header, Notice, Write};
use crate::retention::{Policy, Prune, Pruned};
use crate::sweeper::{Sweeper, Sweeps};
use crate::target::Target;
use crate::worker::Reply;

/// An open store. Any thread may use it.
///
/// - Units are applied in call order, with one exception: a unit may be applied before a large unit of another lineage
///   that was queued earlier. The outcome of a unit is reported when the unit is durable.
/// - A query sees every unit that was queued before.
/// - Dropping the store finishes the queued work in the background. [`Store::shutdown`] waits until this work is done.
pub struct Store {
    engine: Engine,
    options: Options,
    events: Arc<Events>,
    /// See [`Opener::reads_apart`].
    reads_apart: bool,
    listener: Mutex<Listener>,
}

enum Engine {
    /// A store without threads: all work runs on the calling thread. `None` after the store is closed.
    Inline(Mutex<Option<Box<Inline>>>),
    Threads(Pipeline),
}

struct Inline {
    backend: Box<dyn Backend>,
    sweeper: Sweeper,
}

impl Store {
    /// Opens a target. A file is opened in the background, so a problem with the file is reported by the first call.
    pub fn open(target: &Target, options: Options) -> Result<Self> {
        if options.secure_delete && !matches!(target, Target::Sqlite(_) | Target::Memory) {
            let message = "secureDelete works for database files only: leave it out. See the guide \"Personal data\"";
            return Err(Error::new(Code::Unsupported, message));
        }
        let deadline = Arc::new(Deadline::default());
        match backend::open(target, &options, &deadline) {
            Access::Inline(backend) => {
                let sweeper = Sweeper::new(options.retention);
                let events = sweeper.events();
                Ok(Self {
                    engine: Engine::Inline(Mutex::new(Some(Box::new(Inline { backend, sweeper })))),
                    options,
                    events,
                    reads_apart: false,
                    listener: Mutex::new(Listener::new(None)),
                })
            }
            Access::Threads(Opener { open, pre_encoder, sweeps_apart, reads_apart, listen }) => {
                let store = Self::with_threads(move || open(), pre_encoder, sweeps_apart, options, deadline)?;
                Ok(Self { reads_apart, listener: Mutex::new(Listener::new(listen)), ..store })
            }
        }
    }

    /// Creates a store over backends that the caller provides. `open` is called up to three times: for saves and reads,
    /// for reads when calls first overlap, and for the first check. `pre_encoder`, if given, encodes large ops ahead of
    /// time. The backends have their own limit on the payloads that they open.
    pub fn with_backend(
        open: impl FnMut() -> Result<Box<dyn Backend>> + Send + Clone + 'static,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        options: Options,
    ) -> Result<Self> {
        Self::with_threads(open, pre_encoder, false, options, Arc::default())
    }

    fn with_threads(
        open: impl FnMut() -> Result<Box<dyn Backend>> + Send + Clone + 'static,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        sweeps_apart: bool,
        options: Options,
        deadline: Arc<Deadline>,
    ) -> Result<Self> {
        let sweeper = Sweeper::new(options.retention);
        let events = sweeper.events();
        let reader = Reader::new(Box::new(open.clone()), Box::new(open.clone()), Arc::clone(&deadline));
        let patience = options.busy_timeout;
        let sweeps = if sweeps_apart && sweeper.is_limited() && !options.read_only {
            Sweeps::apart(sweeper, Lazy::new(Box::new(open.clone()), Arc::clone(&deadline)))?
        } else {
            Sweeps::Here(Box::new(sweeper))
        };
        let pipeline = Pipeline::start(Box::new(open), pre_encoder, Arc::new(reader), sweeps, patience, deadline)?;
        let listener = Mutex::new(Listener::new(None));
        Ok(Self { engine: Engine::Threads(pipeline), options, events, reads_apart: false, listener })
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The limits of retention.
    pub(crate) fn retention(&self) -> &Policy {
        &self.options.retention
    }

    /// Returns true if each reply is sent before its call returns.
    pub fn is_inline(&self) -> bool {
        matches!(self.engine, Engine::Inline(_))
    }

    /// Replies when the target is open. The reply contains a notice for the user, if the storage has one.
    pub fn ready(&self, reply: Reply<Option<Notice>>) {
        self.alone(|backend| Ok(backend.notice().cloned()), reply);
    }

    /// Calls `listener` with each background event, on any of the store's threads. Only the first listener is used.
    pub fn on_event(&self, listener: impl Fn(Event) + Send + Sync + 'static) {
        self.events.listen(listener);
    }

    /// Listens for changes of leases by other processes, and tells [`Event::Heard`] with this number. Replaces an earlier
    /// listener. Tells nothing if the storage has no means for that: callers must also look from time to time.
    pub fn listen(&self, number: u32) {
        let events = Arc::clone(&self.events);
        self.listener().start(Box::new(move |heard| events.tell(Event::Heard(number, heard))));
    }

    /// Stops the listener.
    pub fn stop_listening(&self) {
        self.listener().stop();
    }

    fn listener(&self) -> MutexGuard<'_, Listener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a unit. After each put, the unit also applies [`Policy::keep_last`] to the lineage. A payload that is
    /// too large is refused before anything is queued.
    pub fn apply(&self, unit: Unit, reply: Reply<Applied>) {
        let size = |draft: &Draft| draft.len();
        self.apply_sized(unit, size, reply);
    }

    /// Like `apply`, for a unit from another store. Each part must be within the size limit, and not the entire
    /// payload: a checkpoint may have inherited its parts from several saves.
    pub(crate) fn apply_saved(&self, unit: Unit, reply: Reply<Applied>) {
        let size = |draft: &Draft| draft.payload.parts.iter().map(|part| part.bytes.len()).max().unwrap_or(0);
        self.apply_sized(unit, size, reply);
    }

    fn apply_sized(&self, unit: Unit, size: impl Fn(&Draft) -> usize, reply: Reply<Applied>) {
        if self.options.read_only {
            return reply.send(Err(read_only()));
        }
        if let Err(error) = unit.ops.iter().try_for_each(|op| self.refuse_large(op, &size)) {
            return reply.send(Err(error));
        }
        let unit = self.capped(unit);
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |Inline { backend, sweeper }| {
                let began = Instant::now();
                let outcome = backend.apply(&[unit]).pop().unwrap_or_else(|| Err(Error::poisoned()));
                let commit = Some(Commit { began, took: began.elapsed(), units: 1 });
                let outcome = outcome.map(|applied| Applied { commit, ..applied });
                sweeper.after_commit(&mut **backend);
                outcome
            })),
            Engine::Threads(writer) => writer.send(WriterMessage::Apply(Apply::new(unit, reply))),
        }
    }

    /// Removes one batch of the checkpoints that a rule selects. Runs after every unit that was queued before.
    pub fn prune(&self, prune: Prune, reply: Reply<Pruned>) {
        self.change(move |backend| backend.prune(&prune), reply);
    }

    /// Returns the space of removed checkpoints to the file system. Saves wait until this work is done.
    pub fn vacuum(&self, reply: Reply<()>) {
        self.change(|backend| backend.vacuum(), reply);
    }

    /// Upgrades stored data of an older format to the newest one. Runs after every unit that was queued before.
    pub fn migrate(&self, reply: Reply<()>) {
        self.change(|backend| backend.migrate(), reply);
    }

    fn change<T: 'static>(
        &self,
        work: impl FnOnce(&mut Box<dyn Backend>) -> Result<T> + Send + 'static,
        reply: Reply<T>,
    ) {
        if self.options.read_only {
            return reply.send(Err(read_only()));
        }
        self.alone(work, reply);
    }

    /// Runs work on the writing backend, after every unit that was queued before.
    fn alone<T: 'static>(
        &self,
        work: impl FnOnce(&mut Box<dyn Backend>) -> Result<T> + Send + 'static,
        reply: Reply<T>,
    ) {
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |inline| work(&mut inline.backend))),
            Engine::Threads(writer) => {
                let asked = reply.asked();
                let work = move |backend: Result<&mut Box<dyn Backend>>| reply.send(backend.and_then(work));
                writer.send(WriterMessage::Work(Box::new(work), asked));
            }
        }
    }

    /// Answers a query, which sees every unit that was queued before.
    pub fn ask(&self, query: Query, reply: Reply<Answer>) {
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |inline| inline.backend.answer(&query))),
            Engine::Threads(writer) => writer.ask(Question { query, reply, beside: false }),
        }
    }

    /// Answers a query on the calling thread, such as an event loop, if this takes little work and no waiting. The
    /// answer is that of [`Store::ask`]. `None`: call `ask` instead.
    pub fn answer_at_once(&self, query: &Query) -> Option<Answer> {
        match &self.engine {
            Engine::Inline(_) => None,
            Engine::Threads(writer) => writer.answer_at_once(query),
        }
    }

    /// Like [`Store::ask`], but concurrently with other queries: on another thread, if the storage allows it.
    pub fn ask_beside(&self, query: Query, reply: Reply<Answer>) {
        match &self.engine {
            Engine::Threads(writer) if self.reads_apart => writer.ask(Question { query, reply, beside: true }),
            _ => self.ask(query, reply),
        }
    }

    /// Verifies one page of the store: about `limit` rows, starting at the cursor. To verify everything that was
    /// stored at the first call, repeat the call with [`CheckPage::next`] until it is `None`.
    ///
    /// A store with threads checks on a separate thread, so that reads and saves continue. The check sees every unit
    /// that was acknowledged before the call.
    pub fn check(&self, cursor: CheckCursor, limit: usize, reply: Reply<CheckPage>) {
        let query = Query::Check { cursor, limit };
        match &self.engine {
            Engine::Inline(backend) => {
                reply.send(with(backend, |inline| inline.backend.answer(&query).and_then(Answer::into_checked)));
            }
            Engine::Threads(writer) => {
                writer.check(
                    query,
                    Reply::new(|answer: Result<Answer>| reply.send(answer.and_then(Answer::into_checked))),
                );
            }
        }
    }

    /// Closes the store. The store then accepts no more calls. Replies when all queued work is done and the target is
    /// closed. This function may be called more than once.
    pub fn close(&self, reply: Reply<()>) {
        match &self.engine {
            Engine::Inline(backend) => {
                if let Ok(mut backend) = backend.lock() {
                    *backend = None;
                }
                reply.send(Ok(()));
            }
            Engine::Threads(writer) => {
                let Some(listener) = self.listener().close() else { return writer.close(reply) };
                writer.close(Reply::new(move |outcome| {
                    // Its connection is closed too. A panic of its thread lost only notifications.
                    let _ = listener.join();
                    reply.send(outcome);
                }));
            }
        }
    }

    /// Announces that the process is ending. From now on, all remaining work together waits for locks for at most the
    /// busy timeout.
    pub fn ending(&self) {
        if let Engine::Threads(writer) = &self.engine {
            writer.ending();
        }
    }

    /// Waits until all work that was queued so far is done.
    pub fn drain(&self) {
        if let Engine::Threads(writer) = &self.engine {
            writer.drain();
        }
    }

    /// Closes the store, and waits until its threads have ended.
    pub fn shutdown(&self) {
        self.close(Reply::new(drop));
        if let Engine::Threads(writer) = &self.engine {
            writer.join();
        }
    }

    /// Adds an [`Op::KeepLast`] after each put, so that save and prune are one transaction.
    fn capped(&self, unit: Unit) -> Unit {
        let Some(keep) = self.options.retention.keep_last else { return unit };
        let mut ops = Vec::with_capacity(2 * unit.ops.len());
        for op in unit.ops {
            let put = match &op {
                Op::Put(draft) if !draft.header.contract.has_records() => {
                    let Header { contract, lineage, id, .. } = &draft.header;
                    Some((*contract, lineage.clone(), id.clone()))
                }
                _ => None,
            };
            ops.push(op);
            ops.extend(put.map(|(contract, lineage, pinned)| Op::KeepLast { contract, lineage, keep, pinned }));
        }
        Unit { ops, ..unit }
    }

    fn refuse_large(&self, op: &Op, size_of: impl Fn(&Draft) -> usize) -> Result<()> {
        let most = self.options.max_payload_bytes;
        let size = match op {
            Op::Put(draft) => size_of(draft),
            Op::Append { records, .. } => records.iter().map(|record| record.bytes.len()).max().unwrap_or(0),
            Op::Write { writes, .. } => writes.iter().map(|write| write.part.bytes.len()).max().unwrap_or(0),
            _ => 0,
        };
        if size <= most {
            return refuse_large_row(op, self.options.largest_payload());
        }
        let (what, less) = match op {
            Op::Put(draft) => {
                (format!("{} takes {size} bytes, more", names::checkpoint_of(&draft.header)), "the state")
            }
            Op::Append { contract, lineage, log, .. } => {
                let of = names::run(*contract, lineage);
                (format!("a record of {size} bytes for log {log:?} of {of} is larger"), "it")
            }
            Op::Write { contract, id, .. } => {
                (format!("a write of {size} bytes to {} is larger", names::checkpoint(*contract, id)), "it")
            }
            _ => return Ok(()),
        };
        Err(Error::invalid(format!(
            "{what} than maxPayloadBytes ({most}): keep less in {less}, or open the store with a higher maxPayloadBytes"
        )))
    }
}

/// Refuses pending writes that are too large for one row.
fn refuse_large_row(op: &Op, most: usize) -> Result<()> {
    let Op::Write { contract, id, writes, .. } = op else { return Ok(()) };
    // A row's frame contains the name, the tag and some numbers of each write.
    let length = |write: &Write| write.part.bytes.len() + write.part.name.len() + write.part.tag.len() + 64;
    let size: usize = writes.iter().map(length).sum();
    if size <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} writes to {} take {size} bytes together, more than the store keeps in one place ({most}): keep less in them, \
         or open the store with a higher maxPayloadBytes",
        writes.len(),
        names::checkpoint(*contract, id)
    )))
}

fn with<T>(backend: &Mutex<Option<Box<Inline>>>, work: impl FnOnce(&mut Inline) -> Result<T>) -> Result<T> {
    match backend.lock() {
        Ok(mut backend) => work(backend.as_mut().ok_or_else(Error::closed)?),
        Err(_) => Err(Error::poisoned()),
    }
}
