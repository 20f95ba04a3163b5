//! A thread with a queue. The thread takes all queued messages at once, in the order of their arrival.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::error::{Code, Error, Result};

/// The callback for the outcome of a message. The callback is called exactly once. If the thread panics and the reply
/// is dropped without an outcome, the callback receives an error that reports the panic.
pub struct Reply<T>(Option<Box<dyn FnOnce(Result<T>) + Send>>);

impl<T> Reply<T> {
    /// Creates a reply that calls `answer` on the thread that sends it.
    pub fn new(answer: impl FnOnce(Result<T>) + Send + 'static) -> Self {
        Self(Some(Box::new(answer)))
    }

    /// Sends the outcome.
    pub fn send(mut self, outcome: Result<T>) {
        if let Some(answer) = self.0.take() {
            answer(outcome);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(answer) = self.0.take() {
            answer(Err(Error::poisoned().with_outcome_unknown()));
        }
    }
}

/// The queue and its thread. After the worker is dropped, the thread finishes the queue and ends.
pub(crate) struct Worker<T> {
    shared: Arc<Shared<T>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    capacity: usize,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Signalled when a message arrives or the worker ends.
    arrived: Condvar,
    /// Signalled when the thread takes the queue, when it finishes its work, and when the worker ends.
    moved: Condvar,
}

struct State<T> {
    messages: Vec<T>,
    weight: usize,
    /// True while the thread is processing messages.
    working: bool,
    /// True while the thread waits for messages.
    sleeping: bool,
    /// The number of callers that wait for the thread. If this number is 0, callers are not woken, because a wake-up
    /// costs a system call.
    waiting: usize,
    /// The error that further messages receive after the worker has ended. `None` while the worker is running.
    ended: Option<Error>,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // No code that can panic runs under this lock, so ignore poisoning.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the thread has taken the queue or finished its work.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.waiting += 1;
        state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    fn tell(&self, state: &State<T>) {
        if state.waiting > 0 {
            self.moved.notify_all();
        }
    }

    fn end(&self, why: Error) {
        let mut state = self.state();
        state.ended.get_or_insert(why);
        drop(state);
        self.arrived.notify_all();
        self.moved.notify_all();
    }

    /// Takes all queued messages. If the queue is empty, waits for a message. Returns `None` if the worker has ended
    /// and the queue is empty.
    fn take(&self) -> Option<Vec<T>> {
        let mut state = self.state();
        state.working = false;
        self.tell(&state);
        while state.messages.is_empty() {
            if state.ended.is_some() {
                return None;
            }
            state.sleeping = true;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping = false;
        }
        state.working = true;
        state.weight = 0;
        self.tell(&state);
        Some(std::mem::take(&mut state.messages))
    }
}

impl<T: Send + 'static> Worker<T> {
    /// Starts the thread. If the total weight of the queue reaches `capacity`, callers wait. `work` receives every
    /// batch. `work` is dropped on the thread when the thread ends.
    pub(crate) fn start(name: &str, capacity: usize, mut work: impl FnMut(Vec<T>) + Send + 'static) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                messages: Vec::new(),
                weight: 0,
                working: false,
                sleeping: false,
                waiting: 0,
                ended: None,
            }),
            arrived: Condvar::new(),
            moved: Condvar::new(),
        });
        let queue = Arc::clone(&shared);
        let run = move || {
            while let Some(batch) = queue.take() {
                if catch_unwind(AssertUnwindSafe(|| work(batch))).is_err() {
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
        Ok(Self { shared, thread: Mutex::new(Some(thread)), capacity })
    }

    /// Queues a message. If the queue is full, the caller waits. Waiting callers keep the memory for the queue limited:
    /// if the disk is slow, callers wait for the disk. If the worker has ended, the message is returned with an error.
    pub(crate) fn push(&self, message: T, weight: usize) -> Result<(), (T, Error)> {
        let mut state = self.shared.state();
        while state.ended.is_none() && !state.messages.is_empty() && state.weight + weight > self.capacity {
            state = self.shared.wait(state);
        }
        if let Some(error) = &state.ended {
            let error = error.clone();
            return Err((message, error));
        }
        state.weight += weight;
        state.messages.push(message);
        // Wake the thread only once: further wake-ups are needless until the thread takes the queue.
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.shared.arrived.notify_one();
        }
        Ok(())
    }

    /// Returns true if the queue is empty and the thread is not working.
    pub(crate) fn idle(&self) -> bool {
        let state = self.shared.state();
        state.messages.is_empty() && !state.working
    }

    /// Waits until all messages that were queued so far are processed.
    pub(crate) fn drain(&self) {
        let mut state = self.shared.state();
        while !state.messages.is_empty() || state.working {
            state = self.shared.wait(state);
        }
    }

    /// Stops accepting messages. Queued messages are still processed.
    pub(crate) fn close(&self) {
        self.shared.end(Error::closed());
    }

    /// Closes the queue, and waits until the thread has ended.
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn tasks_wait_in_order_and_are_taken_together() {
        let (seen, batches) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let worker = Worker::start("test", 1000, move |batch: Vec<u32>| {
            gate.recv().unwrap();
            seen.send(batch).unwrap();
        })
        .unwrap();
        worker.push(0, 1).unwrap();
        while !worker.shared.state().working {
            std::thread::yield_now();
        }
        (1..5).for_each(|message| worker.push(message, 1).unwrap());
        go.send(()).unwrap();
        go.send(()).unwrap();
        worker.join();
        assert_eq!(batches.iter().collect::<Vec<_>>(), [vec![0], vec![1, 2, 3, 4]]);
        assert_eq!(worker.push(5, 1).unwrap_err().1.code(), Code::Closed);
    }

    #[test]
    fn a_full_queue_makes_callers_wait_and_loses_nothing() {
        let (go, gate) = mpsc::channel::<()>();
        let (seen, done) = mpsc::channel();
        let worker = Arc::new(
            Worker::start("test", 10, move |batch: Vec<u32>| {
                gate.recv().unwrap();
                for message in batch {
                    seen.send(message).unwrap();
                }
            })
            .unwrap(),
        );
        worker.push(0, 1).unwrap();
        while !worker.shared.state().working {
            std::thread::yield_now();
        }
        // This message is heavier than the queue's capacity. It is accepted because the queue is empty.
        worker.push(1, 50).unwrap();
        let waiting = Arc::clone(&worker);
        let (entered, returned) = mpsc::channel();
        let caller = std::thread::spawn(move || {
            waiting.push(2, 1).unwrap();
            entered.send(()).unwrap();
        });
        assert!(returned.recv_timeout(Duration::from_millis(50)).is_err(), "the queue is full");
        (0..3).for_each(|_| go.send(()).unwrap());
        returned.recv().unwrap();
        caller.join().unwrap();
        worker.drain();
        assert!(worker.idle());
        assert_eq!(done.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_panic_answers_everyone_who_waits() {
        let (go, gate) = mpsc::channel::<()>();
        let worker = Worker::start("test", 10, move |_: Vec<Reply<()>>| {
            gate.recv().unwrap();
            panic!("as the test wants");
        })
        .unwrap();
        let (sent, answers) = mpsc::channel();
        let reply = || {
            let sent = sent.clone();
            Reply::new(move |outcome: Result<()>| sent.send(outcome).unwrap())
        };
        assert!(worker.push(reply(), 1).is_ok());
        while !worker.shared.state().working {
            std::thread::yield_now();
        }
        assert!(worker.push(reply(), 1).is_ok());
        go.send(()).unwrap();
        for _ in 0..2 {
            let error = answers.recv().unwrap().unwrap_err();
            assert_eq!((error.code(), error.retryable(), error.outcome_unknown()), (Code::Unavailable, false, true));
        }
        worker.drain();
        let (_, error) = worker.push(reply(), 1).err().unwrap();
        assert_eq!(error, Error::poisoned());
    }
}
