//! Warnings: failures in the background, which no call can report to the user.

use std::sync::OnceLock;

use crate::error::Error;

type Listener = Box<dyn Fn(Error) + Send + Sync>;

/// The receiver of a store's warnings. Without a listener they are dropped.
#[derive(Default)]
pub(crate) struct Warnings(OnceLock<Listener>);

impl Warnings {
    /// Calls `listener` with each later warning, on the thread that raises it. Only the first listener counts.
    pub(crate) fn listen(&self, listener: impl Fn(Error) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(listener));
    }

    pub(crate) fn warn(&self, warning: Error) {
        if let Some(listener) = self.0.get() {
            listener(warning);
        }
    }
}
