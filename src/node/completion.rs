//! Outcomes on their way to JavaScript: the store's threads push them, one wake-up takes all that have come.
//!
//! The wake-up does not keep the process alive (`ts/native.ts` does, while a promise is pending). Where several have come at
//! once, JavaScript looks again from its next turn before it goes back to sleep, so that under load nobody needs waking and
//! timers get their turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{Env, Function, Status};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use super::values::Settled;
use crate::contract::fields::Shape;
use crate::contract::response::Response;
use crate::error::{Error, Result};
use crate::store::Store;

/// Outcomes that JavaScript settles in one turn of its loop.
const TURN: usize = 1024;

/// The id of no call: what comes with it is a warning.
const WARNING: u32 = 0;

type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The one queue of a JavaScript environment (the main thread, or a worker).
pub struct CompletionQueue {
    waiting: Mutex<Waiting>,
    wake: Wake,
    stores: Mutex<Vec<Weak<Store>>>,
    shapes: Mutex<Vec<Arc<Shape>>>,
}

#[derive(Default)]
struct Waiting {
    /// Ids of calls that resolve to null: most of them.
    done: Vec<u32>,
    others: Vec<Settled>,
    /// Whether JavaScript will look without being woken.
    watched: bool,
}

impl CompletionQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the outcome of a call. From any thread.
    pub fn push(&self, call_id: u32, outcome: Result<Option<Response>>) {
        self.add(|waiting| match outcome {
            Ok(None) => waiting.done.push(call_id),
            other => waiting.others.push(Settled::new(call_id, other)),
        });
    }

    /// Adds a warning for the user. From any thread.
    pub fn warn(&self, warning: Error) {
        self.add(|waiting| waiting.others.push(Settled::new(WARNING, Err(warning))));
    }

    fn add(&self, outcome: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        outcome(&mut waiting);
        if !std::mem::replace(&mut waiting.watched, true) {
            drop(waiting);
            // An environment that is closing says so and needs no outcome any more.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Has the store closed with the environment.
    pub fn look_after(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|known| known.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    fn shapes(&self) -> MutexGuard<'_, Vec<Arc<Shape>>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shape of that number.
    pub fn shape(&self, number: u32) -> napi::Result<Arc<Shape>> {
        let shape = self.shapes().get(number as usize).map(Arc::clone);
        shape.ok_or_else(|| napi::Error::from_reason("a call has no shape"))
    }

    fn stores(&self) -> Vec<Arc<Store>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.iter().filter_map(Weak::upgrade).collect()
    }
}

/// JavaScript's end of the queue.
#[napi]
pub struct Completions {
    pub(super) queue: Arc<CompletionQueue>,
}

/// What has come: ids of calls that resolve to null, the other outcomes, and whether to look again.
#[napi(array, object_from_js = false)]
pub struct Batch(pub Vec<u32>, pub Vec<Settled>, pub bool);

#[napi]
impl Completions {
    /// `wake` is called when something has come and nobody is looking.
    #[napi(constructor)]
    pub fn new(env: &Env, wake: Function<(), ()>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let queue = Arc::new(CompletionQueue {
            waiting: Mutex::default(),
            wake,
            stores: Mutex::default(),
            shapes: Mutex::default(),
        });
        // Runs when the loop is empty and when a worker is terminated; on process.exit(), `drain` stands in for it.
        env.add_env_cleanup_hook(Arc::clone(&queue), |queue| {
            for store in queue.stores() {
                store.shutdown();
            }
        })?;
        Ok(Self { queue })
    }

    /// Makes a shape known that calls may have, and returns its number.
    #[napi]
    pub fn shape(&self, contract: String, call: String, names: Vec<String>) -> napi::Result<u32> {
        let mut shapes = self.queue.shapes();
        shapes.push(Arc::new(Shape { contract, call, names }));
        u32::try_from(shapes.len() - 1).map_err(|_| napi::Error::from_reason("there are too many shapes of calls"))
    }

    /// Some of what has come. Null: nothing has, and the next outcome wakes.
    #[napi]
    pub fn take(&self) -> Option<Batch> {
        let mut waiting = self.queue.waiting();
        if waiting.done.is_empty() && waiting.others.is_empty() {
            waiting.watched = false;
            return None;
        }
        let done = front(&mut waiting.done, TURN);
        let others = front(&mut waiting.others, TURN - done.len());
        // One alone is a caller who waits for it before the next call: looking again so soon would be in vain.
        waiting.watched = done.len() + others.len() > 1;
        Some(Batch(done, others, waiting.watched))
    }

    /// Waits until everything handed to every store of this environment is done.
    #[napi]
    pub fn drain(&self) {
        for store in self.queue.stores() {
            store.drain();
        }
    }
}

fn front<T>(items: &mut Vec<T>, most: usize) -> Vec<T> {
    if items.len() <= most {
        return std::mem::take(items);
    }
    items.drain(..most).collect()
}
