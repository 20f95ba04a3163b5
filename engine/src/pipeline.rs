//! The writer thread. It commits all queued units in one transaction if possible. It replies to each caller when the
//! caller's save is durable.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::ahead::Lead;
use crate::backend::{Lazy, Limits, Open, PreEncode};
use crate::deadline::Deadline;
use crate::encoder::Encoder;
use crate::error::{Code, Result};
use crate::message::{Apply, Closing, WriterMessage, send};
use crate::op::{Applied, Commit, Op, Unit};
use crate::query::{Answer, Query};
use crate::reader::{Question, Reader};
use crate::sweeper::Sweeps;
use crate::worker::{Reply, Task, Worker};

/// The writing side of a store.
pub(crate) struct Pipeline {
    // The encoder sends messages to the worker, so the encoder must be dropped before the worker. Fields are dropped in
    // the order of their declaration.
    encoder: Option<Encoder>,
    worker: Arc<Worker<WriterMessage>>,
    writing: Weak<Mutex<Writing>>,
    backoff: Backoff,
    reader: Arc<Reader>,
    closing: Arc<Closing>,
    deadline: Arc<Deadline>,
    patience: Duration,
}

impl Pipeline {
    /// Starts the writer thread. When the store is closed or its process ends, all remaining work together waits for
    /// locks for at most `patience`. `reader` must have the same `deadline`.
    pub(crate) fn start(
        open: Open,
        pre_encoder: Option<Arc<dyn PreEncode>>,
        reader: Arc<Reader>,
        sweeps: Sweeps,
        patience: Duration,
        deadline: Arc<Deadline>,
    ) -> Result<Self> {
        let backend = Lazy::new(open, Arc::clone(&deadline));
        let writing = Writing { backend, sweeps, reader: Arc::clone(&reader), answered: None };
        let writer = Writer(Arc::new(Mutex::new(writing)));
        // The thread closes the backend, so only the thread may own it.
        let writing = Arc::downgrade(&writer.0);
        let worker = Arc::new(Worker::start("forkpoint-writer", writer)?);
        let encoder = pre_encoder.map(|pre_encoder| Encoder::start(pre_encoder, Arc::clone(&worker))).transpose()?;
        let backoff = Backoff::default();
        Ok(Self { encoder, worker, writing, backoff, reader, closing: Closing::new(), deadline, patience })
    }

    /// Answers a query on the calling thread, if this takes little work and no waiting. The answer sees every unit that
    /// was queued before. `None`: call `ask` instead. See [`crate::backend::Backend::answer_at_once`].
    pub(crate) fn answer_at_once(&self, query: &Query) -> Option<Answer> {
        let is_idle = self.encoder.as_ref().is_none_or(Encoder::idle) && self.worker.is_free();
        if !is_idle || self.worker.has_ended() || !self.backoff.allows() {
            return None;
        }
        let writing = self.writing.upgrade()?;
        let mut writing = writing.try_lock().ok()?;
        let backend = writing.backend.opened()?;
        let answer = catch_unwind(AssertUnwindSafe(|| backend.answer_at_once(query)));
        // A panic has the same effect as on the writer thread.
        let answer = answer.inspect_err(|_| self.worker.poison()).ok()?;
        self.backoff.note(answer.is_some());
        answer
    }

    /// Answers a query, which sees every unit that was queued before.
    pub(crate) fn ask(&self, question: Question) {
        // Check the encoder before the worker, because messages move from the encoder to the worker's queue.
        let is_idle = self.encoder.as_ref().is_none_or(Encoder::idle) && self.worker.idle();
        let is_answered_there = question.beside || self.reader.is_needed() || !self.worker.is_free();
        if is_idle && is_answered_there {
            self.reader.ask(question);
        } else {
            self.send(WriterMessage::Ask(question));
        }
    }

    /// Verifies one page of the stored data.
    pub(crate) fn check(&self, query: Query, reply: Reply<Answer>) {
        self.reader.ask(Question { query, reply, beside: true });
    }

    /// Stops accepting messages. Replies when all work is done and the backend is closed. This function may be called
    /// more than once.
    pub(crate) fn close(&self, reply: Reply<()>) {
        if let Some(close) = self.closing.ask(reply) {
            self.ending();
            self.send(WriterMessage::Close(close));
            self.encoder.iter().for_each(Encoder::close);
        }
    }

    /// Queues a message behind every earlier message. One exception: a unit may be saved before an earlier unrelated
    /// large unit.
    pub(crate) fn send(&self, message: WriterMessage) {
        let message = match &self.encoder {
            Some(encoder) => encoder.take(message),
            None => Some(message),
        };
        if let Some(message) = message {
            send(&self.worker, message);
        }
    }

    /// Announces that the store or the process is ending. From now on, the queued work shares one deadline for its
    /// locks.
    pub(crate) fn ending(&self) {
        self.deadline.set(Instant::now() + self.patience);
    }

    /// Waits until everything queued so far is done.
    pub(crate) fn drain(&self) {
        self.encoder.iter().for_each(Encoder::drain);
        self.worker.drain();
        self.reader.drain();
    }

    /// Waits until all threads have ended. Call [`Pipeline::close`] first.
    pub(crate) fn join(&self) {
        self.encoder.iter().for_each(Encoder::join);
        self.worker.join();
        self.reader.join();
    }
}

/// Skips attempts to answer on the calling thread while such attempts fail.
#[derive(Default)]
struct Backoff {
    /// The number of consecutive failed attempts.
    in_vain: AtomicU32,
    /// The number of queries to skip before the next attempt.
    skipped: AtomicU32,
}

impl Backoff {
    fn allows(&self) -> bool {
        self.skipped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }

    fn note(&self, was_answered: bool) {
        if was_answered {
            return self.in_vain.store(0, Ordering::Relaxed);
        }
        let in_vain = self.in_vain.fetch_add(1, Ordering::Relaxed);
        self.skipped.store((1 << in_vain.min(6)) - 1, Ordering::Relaxed);
    }
}

/// The writer thread. While it waits for messages, another thread may read with its backend.
struct Writer(Arc<Mutex<Writing>>);

impl Writer {
    fn writing(&self) -> MutexGuard<'_, Writing> {
        // A panic ends the worker, so no later work sees the poisoned state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task<WriterMessage> for Writer {
    fn work(&mut self, batch: Vec<WriterMessage>) {
        self.writing().work(batch);
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Option<Duration> {
        self.writing().rest(wanted)
    }
}

/// The state of the writer thread.
struct Writing {
    backend: Lazy,
    sweeps: Sweeps,
    reader: Arc<Reader>,
    /// The time at which this thread finished its last answer.
    answered: Option<Instant>,
}

/// The caller of a unit, which waits for a reply.
struct Caller {
    reply: Reply<Applied>,
    lead: Option<Lead>,
}

impl Caller {
    /// Replies. The unit must have been dropped before.
    fn answer(self, outcome: Result<Applied>) {
        drop(self.lead);
        self.reply.send(outcome);
    }
}

impl Writing {
    fn work(&mut self, batch: Vec<WriterMessage>) {
        let has_waited = |answered| batch.iter().any(|message| message.asked().is_some_and(|asked| asked < answered));
        let count = |is_one: fn(&&WriterMessage) -> bool| batch.iter().filter(is_one).count();
        let queries = count(|message| matches!(message, WriterMessage::Ask(_)));
        let units = count(|message| matches!(message, WriterMessage::Apply(_)));
        if self.answered.take().is_some_and(has_waited) || queries > 0 && queries + units > 1 {
            self.reader.need();
        }
        let (mut units, mut callers) = (Vec::new(), VecDeque::new());
        let mut after = Vec::new();
        for message in batch.into_iter().filter_map(|message| self.admit(message)) {
            match message {
                WriterMessage::Apply(Apply { unit, reply, lead }) => {
                    units.push(unit);
                    callers.push_back(Caller { reply, lead });
                }
                other => after.push(other),
            }
        }
        self.apply(units, callers);
        for message in after {
            let Some(message) = self.admit(message) else { continue };
            match message {
                // The query may also see later units of this batch, which is harmless.
                WriterMessage::Ask(question) => self.answer(question),
                WriterMessage::Work(work, _) => work(self.backend.get()),
                WriterMessage::Close(closing) => {
                    self.reader.join();
                    self.sweeps.close();
                    closing.end(&self.backend.close());
                }
                WriterMessage::Apply(..) => {}
            }
        }
    }

    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Option<Duration> {
        let backend = self.backend.opened()?;
        // No caller waits for the outcome. After an error, the backend tries again when it is idle the next time.
        if backend.rest(wanted).unwrap_or(false) {
            return Some(Duration::ZERO);
        }
        self.sweeps.rest(&mut **backend)
    }

    /// Returns the message, or refuses it if its call has timed out while earlier work waited for the storage.
    fn admit(&self, message: WriterMessage) -> Option<WriterMessage> {
        match message.asked().and_then(|asked| self.backend.missed(asked)) {
            // Reads do not need the writers' lock, so a read continues.
            Some(error) if error.code() == Code::Busy && matches!(message, WriterMessage::Ask(_)) => Some(message),
            Some(error) => {
                message.refuse(error);
                None
            }
            None => Some(message),
        }
    }

    /// Answers a query on this thread, unless other work is waiting.
    fn answer(&mut self, question: Question) {
        if question.beside || self.reader.is_needed() {
            return self.reader.ask(question);
        }
        let began = Instant::now();
        let backend = match self.backend.get() {
            Ok(backend) => backend,
            Err(error) => return question.reply.send(Err(error)),
        };
        let (answered, failed) = self.reader.answer(backend, question);
        self.answered = Some(answered);
        self.backend.note(began, failed.as_ref());
    }

    /// Applies the units in batches of the size that the backend accepts, and replies to each caller.
    fn apply(&mut self, mut units: Vec<Unit>, mut callers: VecDeque<Caller>) {
        while !units.is_empty() {
            // Refuse the units whose calls timed out while the previous batch waited for the storage.
            let missed =
                callers.iter().map_while(|caller| self.backend.missed(caller.reply.asked())).collect::<Vec<_>>();
            drop(units.drain(..missed.len()));
            let waited = callers.drain(..missed.len());
            for (why, caller) in missed.into_iter().zip(waited) {
                caller.answer(Err(why));
            }
            if units.is_empty() {
                return;
            }
            let backend = match self.backend.get() {
                Ok(backend) => backend,
                Err(error) => return callers.into_iter().for_each(|caller| caller.reply.send(Err(error.clone()))),
            };
            let rest = units.split_off(fitting(&units, backend.limits()));
            let began = Instant::now();
            let mut outcomes = backend.apply(&units);
            let commit = Commit { began, took: began.elapsed(), units: units.len() };
            let failed = outcomes.iter().rev().find_map(|outcome| outcome.as_ref().err()).cloned();
            outcomes.iter_mut().flatten().for_each(|applied| applied.commit = Some(commit));
            // Free the payloads before replying, because a caller may detach its buffers after the reply.
            let answered = std::mem::replace(&mut units, rest).len();
            outcomes.into_iter().zip(callers.drain(..answered)).for_each(|(outcome, caller)| caller.answer(outcome));
            // Sweep only after all callers of this batch have their replies.
            self.sweeps.after_commit(&mut **backend);
            self.backend.note(began, failed.as_ref());
        }
    }
}

/// Returns the number of units that fit into one batch. The result is at least one.
fn fitting(units: &[Unit], limits: Limits) -> usize {
    let weight = |unit: &Unit| unit.ops.iter().map(Op::weight).sum::<usize>();
    let mut bytes = 0_usize;
    let fits = |unit: &&Unit| {
        bytes = bytes.saturating_add(weight(unit));
        bytes <= limits.bytes
    };
    units.iter().take(limits.units).take_while(fits).count().max(1)
}
