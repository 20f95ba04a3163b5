//! The thread that writes: the whole queue becomes one transaction, and a caller hears of its save when it is durable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::Backend;
use crate::error::Result;
use crate::lane::{Lane, Reply};
use crate::op::{Op, Unit};
use crate::query::Query;
use crate::reader::{Question, Reader};
use crate::retention::Policy;
use crate::sweeper::Sweeper;

/// A queue heavier than this makes callers wait: bytes of payload that are not on disk yet.
const QUEUE_BYTES: usize = 256 << 20;

/// Encoding a unit of so many bytes takes longer than a commit: those before it are committed first.
const LARGE: usize = 256 << 10;

/// Opens the backend, on the thread that will use it. Called again if it failed: what was wrong may have passed.
pub(crate) type Open = Box<dyn FnMut() -> Result<Box<dyn Backend>> + Send>;

/// Work with the backend, or with the reason why there is none.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Box<dyn Backend>>) + Send>;

/// A backend that is opened when it is first needed.
pub(crate) struct Lazy {
    open: Open,
    backend: Option<Box<dyn Backend>>,
}

impl Lazy {
    pub(crate) fn new(open: Open) -> Self {
        Self { open, backend: None }
    }

    pub(crate) fn get(&mut self) -> Result<&mut Box<dyn Backend>> {
        match &mut self.backend {
            Some(backend) => Ok(backend),
            empty => Ok(empty.insert((self.open)()?)),
        }
    }

    fn close(&mut self) {
        self.backend = None;
    }
}

enum Task {
    /// Opens the backend and says what the user should hear about it.
    Open(Reply<Option<String>>),
    Apply(Unit, Reply<()>),
    /// Work that needs the backend to itself.
    Work(Work),
    /// A question that must see everything queued before it.
    Ask(Question),
    /// The last task: ends the reader, closes the backend.
    Close(Close),
}

/// The writing side of a store.
pub(crate) struct Writer {
    lane: Lane<Task>,
    reader: Arc<Reader>,
    closing: Arc<Mutex<Closing>>,
}

/// Whether the store is closed, and who waits for that.
#[derive(Default)]
struct Closing {
    closed: bool,
    waiting: Vec<Reply<()>>,
}

/// The closing of a store, as a task: tells everyone who waits when it is dropped, be it done or lost in a panic.
struct Close(Arc<Mutex<Closing>>);

impl Drop for Close {
    fn drop(&mut self) {
        let mut closing = lock(&self.0);
        closing.closed = true;
        let waiting = std::mem::take(&mut closing.waiting);
        drop(closing);
        for reply in waiting {
            reply.send(Ok(()));
        }
    }
}

fn lock(closing: &Mutex<Closing>) -> MutexGuard<'_, Closing> {
    closing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    pub(crate) fn start(open: Open, reader: Arc<Reader>, policy: Policy) -> Result<Self> {
        let mut backend = Lazy::new(open);
        let mut sweeper = Sweeper::new(policy);
        let asked = Arc::clone(&reader);
        let work = move |batch| work(&mut backend, &mut sweeper, &asked, batch);
        let lane = Lane::start("forkpoint-writer", QUEUE_BYTES, work)?;
        Ok(Self { lane, reader, closing: Arc::default() })
    }

    /// Opens the backend now rather than with the first task.
    pub(crate) fn open(&self, reply: Reply<Option<String>>) {
        if let Err((Task::Open(reply), error)) = self.lane.push(Task::Open(reply), 0) {
            reply.send(Err(error));
        }
    }

    /// Queues a unit. Call order is save order.
    pub(crate) fn apply(&self, unit: Unit, reply: Reply<()>) {
        let weight = weight(&unit);
        if let Err((Task::Apply(_, reply), error)) = self.lane.push(Task::Apply(unit, reply), weight) {
            reply.send(Err(error));
        }
    }

    /// Queues work: it comes after every unit queued before it.
    pub(crate) fn work(&self, work: Work) {
        if let Err((Task::Work(work), error)) = self.lane.push(Task::Work(work), 0) {
            work(Err(error));
        }
    }

    /// Asks a question that sees every unit queued before it.
    pub(crate) fn ask(&self, query: Query, reply: Reply<crate::query::Answer>) {
        let question = Question { query, reply };
        if self.lane.idle() {
            self.reader.ask(question);
        } else if let Err((Task::Ask(question), error)) = self.lane.push(Task::Ask(question), 0) {
            question.reply.send(Err(error));
        }
    }

    /// Accepts nothing more; replies when all is done and the backend is closed. May be called again.
    pub(crate) fn close(&self, reply: Reply<()>) {
        let mut closing = lock(&self.closing);
        if closing.closed {
            drop(closing);
            return reply.send(Ok(()));
        }
        closing.waiting.push(reply);
        let first = closing.waiting.len() == 1;
        drop(closing);
        if first {
            // A lane that has ended gives the task back, and dropping that is all there is to close.
            let _ = self.lane.push(Task::Close(Close(Arc::clone(&self.closing))), 0);
            self.lane.close();
        }
    }

    /// Waits until everything queued so far is done.
    pub(crate) fn drain(&self) {
        self.lane.drain();
        self.reader.drain();
    }

    /// Waits until both threads are gone. Only after [`Writer::close`].
    pub(crate) fn join(&self) {
        self.lane.join();
        self.reader.join();
    }
}

fn weight(unit: &Unit) -> usize {
    unit.iter().map(Op::weight).sum()
}

/// The units in the order in which they came, in as many commits as there are large ones that others wait before.
fn commits(units: &[Unit]) -> impl Iterator<Item = &[Unit]> {
    let mut rest = units;
    std::iter::from_fn(move || {
        let end = rest.iter().skip(1).position(|unit| weight(unit) >= LARGE).map_or(rest.len(), |at| at + 1);
        let (batch, behind) = rest.split_at(end);
        rest = behind;
        (!batch.is_empty()).then_some(batch)
    })
}

fn work(backend: &mut Lazy, sweeper: &mut Sweeper, reader: &Reader, batch: Vec<Task>) {
    let (mut units, mut replies) = (Vec::new(), Vec::new());
    let mut after = Vec::new();
    for task in batch {
        match task {
            Task::Apply(unit, reply) => {
                units.push(unit);
                replies.push(reply);
            }
            other => after.push(other),
        }
    }
    if !units.is_empty() {
        let mut replies = replies.into_iter();
        for batch in commits(&units) {
            let outcomes = match backend.get() {
                Ok(backend) => backend.apply(batch),
                Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
            };
            for (outcome, reply) in outcomes.into_iter().zip(&mut replies) {
                reply.send(outcome);
            }
        }
        drop(units);
        // Everybody has been answered.
        if let Ok(backend) = backend.get() {
            sweeper.after_commit(&mut **backend);
        }
    }
    for task in after {
        match task {
            Task::Open(reply) => reply.send(backend.get().map(|backend| backend.notice().map(str::to_owned))),
            // They see a little more than what came before them, which nobody can tell from having asked a little later.
            Task::Ask(question) => reader.ask(question),
            Task::Work(work) => work(backend.get()),
            Task::Close(closing) => {
                reader.join();
                backend.close();
                drop(closing);
            }
            Task::Apply(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Checkpoint, Header, Part, Payload, Rank, Space};

    #[test]
    fn those_before_a_large_unit_are_committed_first() {
        let unit = |length: usize| {
            let header = Header {
                space: Space(1),
                lineage: "run".to_owned(),
                id: length.to_string(),
                parent: None,
                group: String::new(),
                label: String::new(),
                rank: Rank(Vec::new()),
                saved_at: 0,
                meta: Vec::new(),
            };
            let part = Part { name: String::new(), tag: String::new(), bytes: vec![0; length].into() };
            vec![Op::Put(Box::new(Checkpoint { header, payload: Payload { parts: vec![part], ..Payload::default() } }))]
        };
        let split = |lengths: &[usize]| {
            let units: Vec<Unit> = lengths.iter().map(|length| unit(*length)).collect();
            commits(&units).map(<[Unit]>::len).collect::<Vec<_>>()
        };
        assert_eq!(split(&[]), [0; 0]);
        assert_eq!(split(&[1, 2, 3]), [3]);
        assert_eq!(split(&[LARGE]), [1]);
        assert_eq!(split(&[LARGE, 1, 2, LARGE, LARGE, 3]), [3, 1, 2]);
        assert_eq!(split(&[1, LARGE]), [1, 1]);
    }
}
