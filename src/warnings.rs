//! What the user should hear about although no call can reject with it: what failed in the background.

use std::sync::OnceLock;

use crate::error::Error;

type Listener = Box<dyn Fn(Error) + Send + Sync>;

/// Where a store's warnings go. Without a listener they are dropped.
#[derive(Default)]
pub(crate) struct Warnings(OnceLock<Listener>);

impl Warnings {
    /// Calls `listener` with each warning from now on, on the thread that it comes from. Only the first listener counts.
    pub(crate) fn listen(&self, listener: impl Fn(Error) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(listener));
    }

    pub(crate) fn warn(&self, warning: Error) {
        if let Some(listener) = self.0.get() {
            listener(warning);
        }
    }
}
