//! Warnings report problems in the background to the user. No call can report these problems.

use std::sync::OnceLock;

use crate::error::Error;

/// A problem that no call can report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The public name: `StoreWarning.code` in JavaScript.
    pub code: &'static str,
    /// The problem and the remedy, and the underlying error if there is one.
    pub error: Error,
}

type Listener = Box<dyn Fn(Warning) + Send + Sync>;

/// The receiver of a store's warnings. If the store has no listener, warnings are dropped.
#[derive(Default)]
pub(crate) struct Warnings(OnceLock<Listener>);

impl Warnings {
    /// Calls `listener` with each later warning, on the thread that raises the warning. Only the first listener is
    /// used.
    pub(crate) fn listen(&self, listener: impl Fn(Warning) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(listener));
    }

    pub(crate) fn warn(&self, code: &'static str, error: Error) {
        if let Some(listener) = self.0.get() {
            listener(Warning { code, error });
        }
    }
}
