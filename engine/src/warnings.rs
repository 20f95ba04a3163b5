//! Warnings report background failures to the user. No call can report these failures.

use std::sync::OnceLock;

use crate::error::Error;

type Listener = Box<dyn Fn(Error) + Send + Sync>;

/// The receiver of a store's warnings. If the store has no listener, warnings are dropped.
#[derive(Default)]
pub(crate) struct Warnings(OnceLock<Listener>);

impl Warnings {
    /// Calls `listener` with each later warning, on the thread that raises the warning. Only the first listener is
    /// used.
    pub(crate) fn listen(&self, listener: impl Fn(Error) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(listener));
    }

    pub(crate) fn warn(&self, warning: Error) {
        if let Some(listener) = self.0.get() {
            listener(warning);
        }
    }
}
