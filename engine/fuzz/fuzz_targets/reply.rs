//! Runs calls of a store that replies at once.

use std::sync::{Arc, Mutex};

use forkpoint_engine::Reply;

/// Runs a call, and returns its reply.
pub fn outcome<T: Send + 'static>(run: impl FnOnce(Reply<T>)) -> forkpoint_engine::error::Result<T> {
    let slot = Arc::new(Mutex::new(None));
    let filled = Arc::clone(&slot);
    run(Reply::new(move |outcome| *filled.lock().unwrap() = Some(outcome)));
    let outcome = slot.lock().unwrap().take();
    outcome.expect("a reply")
}
