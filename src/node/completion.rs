//! The completion queue: carries the outcomes of calls to JavaScript.
//!
//! The threads of the stores push outcomes. One wake-up of JavaScript takes all outcomes that are waiting. The wake-up does
//! not keep the process alive: `ts/native.ts` does that while a promise is pending.
//!
//! After taking several outcomes at once, JavaScript looks again in the next turn of its event loop. So under load no
//! wake-up is needed, and timers still run between two turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{Env, Function, Status};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use super::values::Settled;
use crate::contract::fields::Shape;
use crate::contract::response::Response;
use crate::error::{Error, Result};
use crate::store::Store;

/// The most outcomes that JavaScript settles in one turn of its event loop.
const TURN: usize = 1024;

/// The id that marks a warning. No call has this id.
const WARNING: u32 = 0;

type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The completion queue of a JavaScript environment. The main thread and each worker have one.
pub struct CompletionQueue {
    waiting: Mutex<Waiting>,
    wake: Wake,
    stores: Mutex<Vec<Weak<Store>>>,
    shapes: Mutex<Vec<Arc<Shape>>>,
}

/// The outcomes that JavaScript has not taken yet.
#[derive(Default)]
struct Waiting {
    /// The ids of calls that resolve to null. Most calls do.
    done: Vec<u32>,
    /// All other outcomes.
    others: Vec<Settled>,
    /// Whether JavaScript will look at the queue anyway. If so, a push needs no wake-up.
    watched: bool,
}

impl CompletionQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the outcome of a call. May be called from any thread.
    pub fn push(&self, call_id: u32, outcome: Result<Option<Response>>) {
        self.add(|waiting| match outcome {
            Ok(None) => waiting.done.push(call_id),
            other => waiting.others.push(Settled::new(call_id, other)),
        });
    }

    /// Adds a warning for the user. May be called from any thread.
    pub fn warn(&self, warning: Error) {
        self.add(|waiting| waiting.others.push(Settled::new(WARNING, Err(warning))));
    }

    fn add(&self, outcome: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        outcome(&mut waiting);
        if !std::mem::replace(&mut waiting.watched, true) {
            drop(waiting);
            // The status is ignored: the call fails only in an environment that is closing, which needs no outcomes.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Registers a store, so that it is closed when the environment ends.
    pub fn look_after(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|known| known.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    fn shapes(&self) -> MutexGuard<'_, Vec<Arc<Shape>>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the shape with this number.
    pub fn shape(&self, number: u32) -> napi::Result<Arc<Shape>> {
        let shape = self.shapes().get(number as usize).map(Arc::clone);
        shape.ok_or_else(|| napi::Error::from_reason("a call has no shape"))
    }

    fn stores(&self) -> Vec<Arc<Store>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.iter().filter_map(Weak::upgrade).collect()
    }
}

/// JavaScript's handle of the completion queue.
#[napi]
pub struct Completions {
    pub(super) queue: Arc<CompletionQueue>,
}

/// Outcomes taken from the queue: the ids of calls that resolve to null, the other outcomes, and whether to look again in
/// the next turn.
#[napi(array, object_from_js = false)]
pub struct Batch(pub Vec<u32>, pub Vec<Settled>, pub bool);

#[napi]
impl Completions {
    /// Makes the queue of this environment. It calls `wake` when an outcome arrives and JavaScript would not look by
    /// itself.
    #[napi(constructor)]
    pub fn new(env: &Env, wake: Function<(), ()>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let queue = Arc::new(CompletionQueue {
            waiting: Mutex::default(),
            wake,
            stores: Mutex::default(),
            shapes: Mutex::default(),
        });
        // The hook runs when the event loop is empty and when a worker is terminated. On process.exit(), `drain` is called
        // instead.
        env.add_env_cleanup_hook(Arc::clone(&queue), |queue| {
            for store in queue.stores() {
                store.shutdown();
            }
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

    /// Takes up to [`TURN`] outcomes. Returns null if there are none; the next outcome then wakes JavaScript.
    #[napi]
    pub fn take(&self) -> Option<Batch> {
        let mut waiting = self.queue.waiting();
        if waiting.done.is_empty() && waiting.others.is_empty() {
            waiting.watched = false;
            return None;
        }
        let done = front(&mut waiting.done, TURN);
        let others = front(&mut waiting.others, TURN - done.len());
        // A single outcome suggests a caller that awaits each call before the next. Looking again so soon would find
        // nothing.
        waiting.watched = done.len() + others.len() > 1;
        Some(Batch(done, others, waiting.watched))
    }

    /// Waits until every store of this environment has finished all calls it was given.
    #[napi]
    pub fn drain(&self) {
        for store in self.queue.stores() {
            store.drain();
        }
    }
}

/// Takes up to `most` items off the front.
fn front<T>(items: &mut Vec<T>, most: usize) -> Vec<T> {
    if items.len() <= most {
        return std::mem::take(items);
    }
    items.drain(..most).collect()
}
