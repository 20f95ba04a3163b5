//! Listening for changes that other processes make.

use std::any::Any;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::events::Heard;

/// Receives the messages of a listener.
pub(crate) type Tell = Box<dyn Fn(Heard) + Send + Sync>;

/// Starts a listener. Returns `None` if the storage, as it is reached, tells of no changes.
pub(crate) type Listen = Arc<dyn Fn(Tell) -> Option<Listening> + Send + Sync>;

/// The thread of a listener. Dropping it stops the listener.
pub(crate) struct Listening {
    /// The thread ends soon after this is dropped.
    pub(crate) stop: Box<dyn Any + Send>,
    pub(crate) thread: JoinHandle<()>,
}

/// The listener of a store: none, one, or none any more.
pub(crate) struct Listener {
    /// `None` if the storage tells of no changes, or if the store is closed.
    listen: Option<Listen>,
    running: Option<Listening>,
}

impl Listener {
    pub(crate) fn new(listen: Option<Listen>) -> Self {
        Self { listen, running: None }
    }

    /// Starts a listener, and stops the previous one.
    pub(crate) fn start(&mut self, tell: Tell) {
        self.running = self.listen.as_ref().and_then(|listen| listen(tell));
    }

    pub(crate) fn stop(&mut self) {
        self.running = None;
    }

    /// Stops the listener for good. Returns its thread.
    pub(crate) fn close(&mut self) -> Option<JoinHandle<()>> {
        self.listen = None;
        self.running.take().map(|Listening { stop, thread }| {
            drop(stop);
            thread
        })
    }
}
