//! Outcomes on their way to JavaScript: the store's threads post them, one wake-up fetches all that have come.
//!
//! The wake-up does not keep the process alive (`ts/native.ts` does, while a promise is pending). Where several have come at
//! once, JavaScript looks again from its next turn before it goes back to sleep, so that under load nobody needs waking and
//! timers get their turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{Either5, Env, Function, Null, Status};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use super::values::{Settled, Value};
use crate::error::{Error, Result};
use crate::store::Store;

/// Outcomes that JavaScript settles in one turn of its loop.
const TURN: usize = 1024;

/// The ticket of no call: what is posted with it is a warning.
const WARNING: u32 = 0;

type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The one mailbox of a JavaScript environment (the main thread, or a worker).
pub struct Mailbox {
    waiting: Mutex<Waiting>,
    wake: Wake,
    stores: Mutex<Vec<Weak<Store>>>,
}

#[derive(Default)]
struct Waiting {
    /// Tickets of calls that resolve to undefined: most of them.
    done: Vec<u32>,
    others: Vec<Settled>,
    /// Whether JavaScript will look without being woken.
    watched: bool,
}

impl Mailbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts the outcome of a call. From any thread.
    pub fn post(&self, ticket: u32, outcome: Result<Value>) {
        self.add(|waiting| match outcome {
            Ok(Either5::A(Null)) => waiting.done.push(ticket),
            other => waiting.others.push(Settled::new(ticket, other)),
        });
    }

    /// Posts a warning for the user. From any thread.
    pub fn warn(&self, warning: Error) {
        self.add(|waiting| waiting.others.push(Settled::new(WARNING, Err(warning))));
    }

    fn add(&self, mail: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        mail(&mut waiting);
        if !std::mem::replace(&mut waiting.watched, true) {
            drop(waiting);
            // An environment that is closing says so and needs no mail any more.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Has the store closed with the environment.
    pub fn look_after(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|known| known.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    fn stores(&self) -> Vec<Arc<Store>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.iter().filter_map(Weak::upgrade).collect()
    }
}

/// JavaScript's end of the mailbox.
#[napi]
pub struct Bridge {
    pub(super) mailbox: Arc<Mailbox>,
}

/// What has come: tickets of calls that resolve to undefined, the other outcomes, and whether to look again.
#[napi(array, object_from_js = false)]
pub struct Batch(pub Vec<u32>, pub Vec<Settled>, pub bool);

#[napi]
impl Bridge {
    /// `wake` is called when something has come and nobody is looking.
    #[napi(constructor)]
    pub fn new(env: &Env, wake: Function<(), ()>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let mailbox = Arc::new(Mailbox { waiting: Mutex::default(), wake, stores: Mutex::default() });
        // Runs when the loop is empty and when a worker is terminated; on process.exit(), `drain` stands in for it.
        env.add_env_cleanup_hook(Arc::clone(&mailbox), |mailbox| {
            for store in mailbox.stores() {
                store.shutdown();
            }
        })?;
        Ok(Self { mailbox })
    }

    /// Some of what has come. Null: nothing has, and the next outcome wakes.
    #[napi]
    pub fn take(&self) -> Option<Batch> {
        let mut waiting = self.mailbox.waiting();
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
        for store in self.mailbox.stores() {
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
