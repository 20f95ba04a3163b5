//! The engine's front door: opens a target, orders what is asked of it, and closes it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::backend::memory::Memory;
use crate::backend::sqlite::{self, Sqlite};
use crate::backend::{BUSY_TIMEOUT, Backend, Durability, PreEncode};
use crate::cache::PayloadCache;
use crate::check::{CheckCursor, CheckPage};
use crate::error::{Error, Result};
use crate::op::{Applied, Op, Unit};
use crate::pipeline::Pipeline;
use crate::pre_encoder::PreEncoder;
use crate::query::{Answer, Query};
use crate::reader::Reader;
use crate::record::Header;
use crate::retention::{Policy, Prune, Pruned};
use crate::sweeper::Sweeper;
use crate::target::Target;
use crate::worker::Reply;

/// How a store behaves, whatever its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What a resolved save must survive.
    pub durability: Durability,
    /// How long another process may hold the database before a call fails with `BUSY`.
    pub busy_timeout: Duration,
    /// A checkpoint with a payload of more bytes is refused.
    pub max_payload_bytes: usize,
    /// How many bytes of recent payloads are kept in memory.
    pub cache_bytes: usize,
    /// What the store removes by itself.
    pub retention: Policy,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            busy_timeout: BUSY_TIMEOUT,
            max_payload_bytes: Self::MAX_PAYLOAD_BYTES,
            cache_bytes: Self::CACHE_BYTES,
            retention: Policy::default(),
        }
    }
}

impl Options {
    /// 64 MiB, unless said otherwise.
    pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;
    /// 64 MiB, unless said otherwise.
    pub const CACHE_BYTES: usize = 64 << 20;
    /// The most that may be said: what every backend's row can hold, with room for the frame around it.
    pub const LARGEST_PAYLOAD_BYTES: usize = 900 << 20;
}

/// An open store. Any thread may use it.
///
/// - Units are applied in the order of the calls, and each outcome is told when it is durable. A large one may be overtaken by
///   units of other lineages.
/// - A question sees every unit that was handed in before it.
/// - Dropping it lets what is queued be done in the background; [`Store::shutdown`] waits for that.
pub struct Store {
    engine: Engine,
    options: Options,
}

enum Engine {
    /// Answers on the calling thread. `None` once closed.
    Inline(Mutex<Option<Inline>>),
    Threads(Pipeline),
}

struct Inline {
    backend: Box<dyn Backend>,
    sweeper: Sweeper,
}

impl Store {
    /// Opens a target. A file is opened in the background: what is wrong with it is told to whoever asks first.
    pub fn open(target: &Target, options: Options) -> Result<Self> {
        let engine = match target {
            Target::Memory => {
                let sweeper = Sweeper::new(options.retention);
                Engine::Inline(Mutex::new(Some(Inline { backend: Box::new(Memory::new()), sweeper })))
            }
            Target::Sqlite(path) => {
                let sqlite = sqlite::Options {
                    durability: options.durability,
                    busy_timeout: options.busy_timeout,
                    cache_bytes: options.cache_bytes,
                    ..sqlite::Options::new(path)
                };
                let cache = PayloadCache::new(sqlite.cache_bytes);
                let pre_encoder = Arc::new(PreEncoder::new(cache.clone()));
                let open = move || Ok(Box::new(Sqlite::open_with(&sqlite, cache.clone())?) as Box<dyn Backend>);
                Self::threads(open, Some(pre_encoder), &options)?
            }
        };
        Ok(Self { engine, options })
    }

    /// A store over backends of the caller's own: one is opened for writing, one for reading, and one at the first check. Large ops
    /// are encoded for them ahead of time, if there is something that does that.
    pub fn with_backend(
        open: impl FnMut() -> Result<Box<dyn Backend>> + Send + Clone + 'static,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        options: Options,
    ) -> Result<Self> {
        Ok(Self { engine: Self::threads(open, pre_encoder, &options)?, options })
    }

    fn threads(
        open: impl FnMut() -> Result<Box<dyn Backend>> + Send + Clone + 'static,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        options: &Options,
    ) -> Result<Engine> {
        let reader = Reader::start(Box::new(open.clone()), Box::new(open.clone()))?;
        Ok(Engine::Threads(Pipeline::start(
            Box::new(open),
            pre_encoder,
            Arc::new(reader),
            options.retention,
            options.busy_timeout,
        )?))
    }

    /// Whether replies come before the call returns.
    pub fn is_inline(&self) -> bool {
        matches!(self.engine, Engine::Inline(_))
    }

    /// Replies when the target is open, with what the user should hear about it.
    pub fn ready(&self, reply: Reply<Option<String>>) {
        match &self.engine {
            Engine::Inline(backend) => {
                reply.send(with(backend, |inline| Ok(inline.backend.notice().map(str::to_owned))));
            }
            Engine::Threads(writer) => writer.open(reply),
        }
    }

    /// Calls `listener` with what fails in the background, on any of the store's threads. Only the first listener counts.
    pub fn on_warning(&self, listener: impl Fn(Error) + Send + Sync + 'static) {
        let warnings = match &self.engine {
            Engine::Inline(backend) => with(backend, |inline| Ok(inline.sweeper.warnings())),
            Engine::Threads(writer) => Ok(writer.warnings()),
        };
        // A closed store has nothing more to warn of.
        if let Ok(warnings) = warnings {
            warnings.listen(listener);
        }
    }

    /// Hands in a unit, and with each put in it what the store's [`Policy::keep_last`] asks for. A payload that is too large
    /// is refused before anything is queued.
    pub fn apply(&self, unit: Unit, reply: Reply<Applied>) {
        if let Err(error) = unit.ops.iter().try_for_each(|op| self.refuse_large(op)) {
            return reply.send(Err(error));
        }
        let unit = self.capped(unit);
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |Inline { backend, sweeper }| {
                let outcome = backend.apply(&[unit]).pop().unwrap_or_else(|| Err(Error::poisoned()));
                sweeper.after_commit(&mut **backend);
                outcome
            })),
            Engine::Threads(writer) => writer.apply(unit, reply),
        }
    }

    /// Removes one batch of what a rule names. Comes after every unit that was handed in before it.
    pub fn prune(&self, prune: Prune, reply: Reply<Pruned>) {
        self.alone(move |backend| backend.prune(&prune), reply);
    }

    /// Gives back what removed checkpoints took. Saves wait for it.
    pub fn vacuum(&self, reply: Reply<()>) {
        self.alone(|backend| backend.vacuum(), reply);
    }

    fn alone<T: 'static>(
        &self,
        work: impl FnOnce(&mut Box<dyn Backend>) -> Result<T> + Send + 'static,
        reply: Reply<T>,
    ) {
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |inline| work(&mut inline.backend))),
            Engine::Threads(writer) => writer.work(Box::new(move |backend| reply.send(backend.and_then(work)))),
        }
    }

    /// Asks a question.
    pub fn ask(&self, query: Query, reply: Reply<Answer>) {
        match &self.engine {
            Engine::Inline(backend) => reply.send(with(backend, |inline| inline.backend.answer(&query))),
            Engine::Threads(writer) => writer.ask(query, reply),
        }
    }

    /// Verifies a part of what is stored: about so many rows from the cursor on. Going on from [`CheckPage::next`] until there is none
    /// verifies all that was there at the beginning.
    ///
    /// A store with threads answers on a thread of its own, so that other reads and saves go on. It sees every unit that was
    /// acknowledged before the call.
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

    /// Accepts nothing more. Replies when everything handed in before is done and the target is closed. May be called again.
    pub fn close(&self, reply: Reply<()>) {
        match &self.engine {
            Engine::Inline(backend) => {
                if let Ok(mut backend) = backend.lock() {
                    *backend = None;
                }
                reply.send(Ok(()));
            }
            Engine::Threads(writer) => writer.close(reply),
        }
    }

    /// Waits until everything handed in so far is done.
    pub fn drain(&self) {
        if let Engine::Threads(writer) = &self.engine {
            writer.drain();
        }
    }

    /// Closes, and waits until that is done and no thread is left.
    pub fn shutdown(&self) {
        self.close(Reply::new(drop));
        if let Engine::Threads(writer) = &self.engine {
            writer.join();
        }
    }

    /// Save and prune are one transaction.
    fn capped(&self, unit: Unit) -> Unit {
        let Some(keep) = self.options.retention.keep_last else { return unit };
        let mut ops = Vec::with_capacity(2 * unit.ops.len());
        for op in unit.ops {
            let of = match &op {
                Op::Put(draft) => {
                    let Header { contract, lineage, id, .. } = &draft.header;
                    Some((*contract, lineage.clone(), id.clone()))
                }
                _ => None,
            };
            ops.push(op);
            ops.extend(of.map(|(contract, lineage, pinned)| Op::KeepLast { contract, lineage, keep, pinned }));
        }
        Unit { ops, ..unit }
    }

    fn refuse_large(&self, op: &Op) -> Result<()> {
        match op {
            Op::Put(draft) if draft.len() > self.options.max_payload_bytes => Err(Error::invalid(format!(
                "checkpoint {:?} takes {} bytes, more than maxPayloadBytes ({}): keep less in the state, or open the store with a \
                 higher maxPayloadBytes",
                draft.header.id,
                draft.len(),
                self.options.max_payload_bytes
            ))),
            Op::Append { lineage, log, records, .. } => {
                let largest = records.iter().map(|record| record.bytes.len()).max().unwrap_or(0);
                if largest > self.options.max_payload_bytes {
                    return Err(Error::invalid(format!(
                        "a record of {largest} bytes for log {log:?} of {lineage:?} is larger than maxPayloadBytes ({}): keep less in \
                         it, or open the store with a higher maxPayloadBytes",
                        self.options.max_payload_bytes
                    )));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn with<T>(backend: &Mutex<Option<Inline>>, work: impl FnOnce(&mut Inline) -> Result<T>) -> Result<T> {
    match backend.lock() {
        Ok(mut backend) => work(backend.as_mut().ok_or_else(Error::closed)?),
        Err(_) => Err(Error::poisoned()),
    }
}
