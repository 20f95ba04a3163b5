//! The completion queue: carries the outcomes of calls to JavaScript.
//!
//! The threads of the stores push outcomes. When JavaScript wakes up, it takes all waiting outcomes. The queue does not
//! keep the process alive: `ts/bridge/native.ts` does so while a promise is pending.
//!
//! After JavaScript has taken several outcomes together, it polls the queue in the next turn of its event loop. Under
//! load, no wake-ups are needed, and timers still run between two turns.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use napi::bindgen_prelude::{Env, Function, Status, Uint8ArraySlice};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use crate::chunks::Chunks;
use crate::values::{Failure, Settled};
use forkpoint_engine::contract::fields::Shape;
use forkpoint_engine::contract::heard_as_json;
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::error::Result;
use forkpoint_engine::store::{Event, Store, Warning};

/// The maximum number of different failures that are written to standard error.
const MOST_TOLD: usize = 10;

/// The call id of an event. No call has this id.
const EVENT: u32 = 0;

type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The completion queue of a JavaScript environment. The main thread and each worker have one.
pub struct CompletionQueue {
    waiting: Mutex<Waiting>,
    wake: Wake,
    stores: Mutex<Vec<Weak<Store>>>,
    shapes: Mutex<Vec<Arc<Shape>>>,
    /// The memory that JavaScript fills with serialized values.
    pub(super) chunks: Chunks,
}

/// The outcomes that JavaScript has not taken yet.
#[derive(Default)]
struct Waiting {
    /// The ids of finished calls, in the order in which their promises are settled. Most calls resolve to null.
    ended: Vec<u32>,
    /// The outcomes other than null, in the same order.
    others: Vec<Settled>,
    /// True if JavaScript will poll the queue. A push then does not wake JavaScript.
    watched: bool,
}

impl CompletionQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the outcome of a call. May be called from any thread.
    pub fn push(&self, call_id: u32, outcome: Result<Option<Response>>) {
        self.add(|waiting| {
            waiting.ended.push(call_id);
            if !matches!(outcome, Ok(None)) {
                waiting.others.push(Settled::new(call_id, outcome));
            }
        });
    }

    /// Adds a background event of the store at `target`. May be called from any thread.
    pub fn tell(&self, target: &str, event: Event) {
        let settled = match event {
            Event::Warning(Warning { code, error }) => {
                let error = error.context(&format!("store \"{target}\""));
                Settled::warning(EVENT, target, Warning { code, error })
            }
            Event::Swept(swept) => Settled::event(EVENT, swept.to_json(target)),
            Event::Heard(listener, heard) => Settled::event(EVENT, heard_as_json(listener, heard)),
        };
        self.add(|waiting| {
            waiting.ended.push(EVENT);
            waiting.others.push(settled);
        });
    }

    fn add(&self, outcome: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        outcome(&mut waiting);
        if !std::mem::replace(&mut waiting.watched, true) {
            drop(waiting);
            // Ignore the status: the call fails only if the environment is closing, and then no outcome is needed.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Registers a store, so that it is closed when the environment ends.
    pub fn look_after(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|known| known.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    /// Writes the failures in the queue to standard error, because the environment has ended and no JavaScript will see
    /// them.
    fn tell_what_failed(&self) {
        let mut failures: BTreeMap<String, usize> = BTreeMap::new();
        for Settled(_, _, failure) in std::mem::take(&mut self.waiting().others) {
            if let Some(Failure { code, message, .. }) = failure {
                *failures.entry(format!("{code}: {message}")).or_default() += 1;
            }
        }
        let mut told = String::new();
        for (failure, count) in failures.iter().take(MOST_TOLD) {
            let calls = if *count == 1 { "call" } else { "calls" };
            // Writing to a string cannot fail.
            let _ = writeln!(told, "forkpoint: {count} {calls} failed while the process ended: {failure}");
        }
        if failures.len() > MOST_TOLD {
            let _ = writeln!(told, "forkpoint: and {} more errors", failures.len() - MOST_TOLD);
        }
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(told.as_bytes());
    }

    fn shapes(&self) -> MutexGuard<'_, Vec<Arc<Shape>>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn shape(&self, number: u32) -> napi::Result<Arc<Shape>> {
        let shape = self.shapes().get(number as usize).map(Arc::clone);
        shape.ok_or_else(|| napi::Error::from_reason("a call has no shape"))
    }

    /// Ends all stores of this environment. First announces the end to each store, so that all share one deadline.
    fn end(&self, end: impl Fn(&Store)) {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let stores: Vec<_> = stores.iter().filter_map(Weak::upgrade).collect();
        for store in &stores {
            store.ending();
        }
        for store in &stores {
            end(store);
        }
    }
}

/// JavaScript's handle of the completion queue.
#[napi]
pub struct Completions {
    pub(super) queue: Arc<CompletionQueue>,
}

/// Outcomes taken from the queue: the ids of the calls in order, then the outcomes other than null in the same order.
/// The last field is true if JavaScript must poll again in the next turn.
#[napi(array, object_from_js = false)]
pub struct Batch(pub Vec<u32>, pub Vec<Settled>, pub bool);

#[napi]
impl Completions {
    /// Creates the queue of this environment. The queue calls `wake` when an outcome arrives and JavaScript would not
    /// poll the queue otherwise.
    #[napi(constructor)]
    pub fn new(env: &Env, wake: Function<(), ()>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let queue = Arc::new(CompletionQueue {
            waiting: Mutex::default(),
            wake,
            stores: Mutex::default(),
            shapes: Mutex::default(),
            chunks: Chunks::default(),
        });
        // Node.js calls the hook when the event loop is empty, and when a worker is terminated. For process.exit(), it
        // calls `drain`.
        env.add_env_cleanup_hook(Arc::clone(&queue), |queue| {
            queue.end(Store::shutdown);
            queue.chunks.clear();
            queue.tell_what_failed();
        })?;
        Ok(Self { queue })
    }

    /// Registers a shape of calls. Returns the shape's number.
    #[napi]
    pub fn shape(&self, contract: String, call: String, names: Vec<String>) -> napi::Result<u32> {
        let mut shapes = self.queue.shapes();
        shapes.push(Arc::new(Shape { contract, call, names }));
        u32::try_from(shapes.len() - 1).map_err(|_| napi::Error::from_reason("there are too many shapes of calls"))
    }

    /// Stores the memory of a chunk until the chunk is dropped. Returns the chunk's number.
    ///
    /// JavaScript can write to this memory while threads of the stores read it. A copy would be simpler, but would take
    /// the time that chunks save. No thread reads a byte while it is written:
    /// - `ts/bridge/chunk.ts` writes each byte of a chunk once, from its beginning to its end, and never changes it later.
    /// - A call refers to bytes that were written before the call, and the call is made on the thread that writes.
    /// - A thread makes slices of these bytes only, never of the whole chunk. [`Bytes::slice`] and [`Bytes::len`] read
    ///   nothing.
    /// - The reference keeps the memory, and nothing detaches it: `detachBuffers` skips pieces, no user code gets the
    ///   memory, and it is neither shared with another JavaScript thread nor resizable.
    #[napi]
    pub fn keep_chunk(&self, env: &Env, bytes: Uint8ArraySlice<'_>) -> napi::Result<u32> {
        Ok(self.queue.chunks.keep(Bytes::from_owner(bytes.into_typed_array(env)?)))
    }

    /// Drops a chunk. Running calls may still refer to it.
    #[napi]
    pub fn drop_chunk(&self, number: u32) {
        self.queue.chunks.drop(number);
    }

    /// Takes up to `most` outcomes. Returns null if the queue is empty. The next outcome then wakes JavaScript.
    #[napi]
    pub fn take(&self, most: u32) -> Option<Batch> {
        let most = most as usize;
        let mut waiting = self.queue.waiting();
        if waiting.ended.is_empty() {
            waiting.watched = false;
            return None;
        }
        let ended = front(&mut waiting.ended, most);
        let mut of_others = 0;
        for call_id in &ended {
            of_others += usize::from(waiting.others.get(of_others).is_some_and(|other| other.0 == *call_id));
        }
        let others = front(&mut waiting.others, of_others);
        // A single outcome suggests that the caller awaits each call before the next one. Polling so soon would find
        // nothing.
        waiting.watched = !waiting.ended.is_empty() || ended.len() > 1;
        Some(Batch(ended, others, waiting.watched))
    }

    /// Waits until every store of this environment has finished all calls, when the environment is ending. All
    /// remaining calls share one deadline for their locks. Writes failures to standard error.
    #[napi]
    pub fn drain(&self) {
        self.queue.end(Store::drain);
        self.queue.tell_what_failed();
    }
}

/// Removes up to `most` items from the front and returns them.
fn front<T>(items: &mut Vec<T>, most: usize) -> Vec<T> {
    if items.len() <= most {
        return std::mem::take(items);
    }
    items.drain(..most).collect()
}
