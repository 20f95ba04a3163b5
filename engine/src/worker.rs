//! A thread with a queue. The thread takes all queued messages together, in the order of their arrival.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Code, Error, Result};

/// The callback for the outcome of a message. It is called exactly once. If the thread panics and drops the reply, the
/// callback receives an error that reports the panic.
pub struct Reply<T> {
    answer: Option<Box<dyn FnOnce(Result<T>) + Send>>,
    asked: Instant,
}

impl<T> Reply<T> {
    /// Creates a reply that calls `answer` on the thread that sends it.
    pub fn new(answer: impl FnOnce(Result<T>) + Send + 'static) -> Self {
        Self { answer: Some(Box::new(answer)), asked: Instant::now() }
    }

    /// The time of the call.
    pub(crate) fn asked(&self) -> Instant {
        self.asked
    }

    pub fn send(mut self, outcome: Result<T>) {
        if let Some(answer) = self.answer.take() {
            answer(outcome);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer(Err(Error::poisoned().with_outcome_unknown()));
        }
    }
}

/// The work of a worker's thread. A function that takes a batch is a task without idle work.
pub(crate) trait Task<T>: Send + 'static {
    /// Processes all queued messages.
    fn work(&mut self, batch: Vec<T>);

    /// Does a little idle work. Called when no message has arrived for [`IDLE`], and again after the returned time
    /// without messages. When `wanted` returns true, a message is waiting and the function must return soon.
    fn rest(&mut self, wanted: &dyn Fn() -> bool) -> Option<Duration> {
        let _ = wanted;
        None
    }
}

impl<T, F: FnMut(Vec<T>) + Send + 'static> Task<T> for F {
    fn work(&mut self, batch: Vec<T>) {
        self(batch);
    }
}

/// The time without messages after which a worker is idle.
const IDLE: Duration = Duration::from_millis(100);

/// The queue and its thread. After the worker is dropped, the thread finishes the queue and ends.
pub(crate) struct Worker<T> {
    shared: Arc<Shared<T>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Signalled when a message arrives or the worker ends.
    arrived: Condvar,
    /// Signalled when the thread finishes its work, and when the worker ends.
    finished: Condvar,
}

struct State<T> {
    messages: Vec<T>,
    working: bool,
    /// True while the thread does idle work: see [`Task::rest`].
    resting: bool,
    /// True while the thread waits for messages.
    sleeping: bool,
    /// The number of callers that wait for the thread. If it is 0, no wake-up is sent, because that costs a system
    /// call.
    waiting: usize,
    /// The error that further messages receive after the worker has ended. `None` while the worker is running.
    ended: Option<Error>,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // No code that can panic runs under this lock, so ignore poisoning.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the thread has finished its work.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.waiting += 1;
        state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    fn tell(&self, state: &State<T>) {
        if state.waiting > 0 {
            self.finished.notify_all();
        }
    }

    fn end(&self, why: Error) {
        let mut state = self.state();
        state.ended.get_or_insert(why);
        drop(state);
        self.arrived.notify_all();
        self.finished.notify_all();
    }

    /// Takes all queued messages. If the queue is empty, waits for a message, but at most for `idle`, if given. Then
    /// returns no messages, and the thread does idle work. `None`: the worker has ended, and the queue is empty.
    fn take(&self, idle: Option<Duration>) -> Option<Vec<T>> {
        let mut state = self.state();
        (state.working, state.resting) = (false, false);
        self.tell(&state);
        while state.messages.is_empty() {
            if state.ended.is_some() {
                return None;
            }
            state.sleeping = true;
            let mut rest = false;
            state = match idle {
                None => self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(idle) => {
                    let waited = self.arrived.wait_timeout(state, idle).unwrap_or_else(PoisonError::into_inner);
                    rest = waited.1.timed_out();
                    waited.0
                }
            };
            state.sleeping = false;
            if rest && state.messages.is_empty() && state.ended.is_none() {
                state.resting = true;
                return Some(Vec::new());
            }
        }
        state.working = true;
        Some(std::mem::take(&mut state.messages))
    }

    /// Returns true if a caller waits for the thread.
    fn wanted(&self) -> bool {
        let state = self.state();
        !state.messages.is_empty() || state.waiting > 0 || state.ended.is_some()
    }
}

impl<T: Send + 'static> Worker<T> {
    /// Starts the thread. The task is dropped on the thread when the thread ends.
    pub(crate) fn start(name: &str, mut task: impl Task<T>) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                messages: Vec::new(),
                working: false,
                resting: false,
                sleeping: false,
                waiting: 0,
                ended: None,
            }),
            arrived: Condvar::new(),
            finished: Condvar::new(),
        });
        let queue = Arc::clone(&shared);
        let run = move || {
            let mut idle = None;
            while let Some(batch) = queue.take(idle) {
                let proceed = || {
                    if batch.is_empty() {
                        return task.rest(&|| queue.wanted());
                    }
                    task.work(batch);
                    Some(IDLE)
                };
                if let Ok(next) = catch_unwind(AssertUnwindSafe(proceed)) {
                    idle = next;
                } else {
                    queue.end(Error::poisoned());
                    // Dropping the queued replies reports the panic to their callers.
                    let waiting = std::mem::take(&mut queue.state().messages);
                    drop(waiting);
                }
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(run).map_err(|error| {
            Error::new(Code::Unavailable, format!("the store's thread cannot be started: {error}")).with_cause(error)
        })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Queues a message. Never waits, because the caller may be an event loop: `ts/bridge/native.ts` limits the queue.
    /// If the worker has ended, returns the message with an error.
    pub(crate) fn push(&self, message: T) -> Result<(), (T, Error)> {
        self.queue(message, false)
    }

    /// Queues the last message. No other thread can queue a message behind it.
    pub(crate) fn push_last(&self, message: T) -> Result<(), (T, Error)> {
        self.queue(message, true)
    }

    fn queue(&self, message: T, is_last: bool) -> Result<(), (T, Error)> {
        let mut state = self.shared.state();
        if let Some(error) = &state.ended {
            let error = error.clone();
            return Err((message, error));
        }
        state.messages.push(message);
        if is_last {
            state.ended = Some(Error::closed());
        }
        // Wake the thread only once: it needs no further wake-up until it takes the queue.
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.shared.arrived.notify_one();
        }
        Ok(())
    }

    /// Returns true if the queue is empty and the thread processes no messages. It may do idle work.
    pub(crate) fn idle(&self) -> bool {
        let state = self.shared.state();
        state.messages.is_empty() && !state.working
    }

    /// Returns true if the thread would start on a new message immediately.
    pub(crate) fn is_free(&self) -> bool {
        let state = self.shared.state();
        state.messages.is_empty() && !state.working && !state.resting
    }

    /// Returns true if the worker accepts no more messages.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared.state().ended.is_some()
    }

    /// Ends the worker as if its thread had panicked.
    pub(crate) fn poison(&self) {
        self.shared.end(Error::poisoned());
    }

    /// Waits until all messages that were queued so far are processed.
    pub(crate) fn drain(&self) {
        let mut state = self.shared.state();
        while !state.messages.is_empty() || state.working || state.resting {
            state = self.shared.wait(state);
        }
    }

    /// Stops accepting messages. Queued messages are still processed.
    pub(crate) fn close(&self) {
        self.shared.end(Error::closed());
    }

    /// Closes the queue, and waits for the thread to end.
    pub(crate) fn join(&self) {
        self.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread catches its panics, so `join` cannot fail.
            let _ = thread.join();
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.shared.end(Error::closed());
    }
}
