//! Backends that are opened at their first use.

use std::sync::Arc;

use super::interface::{Backend, PreEncode};
use crate::deadline::Deadline;
use crate::error::Result;

/// Opens a backend on the thread that will use it. If opening fails, the next use calls the function again, because the
/// cause of the failure may be gone.
pub(crate) type Open = Box<dyn FnMut() -> Result<Box<dyn Backend>> + Send>;

/// What the threads of a store need to use a target.
pub(crate) struct Opener {
    /// Opens one more backend on the same storage.
    pub(crate) open: Arc<dyn Fn() -> Result<Box<dyn Backend>> + Send + Sync>,
    /// Encodes large ops ahead of time.
    pub(crate) pre_encoder: Option<Arc<dyn PreEncode>>,
}

/// A backend that is opened at its first use.
pub(crate) struct Lazy {
    open: Open,
    backend: Option<Box<dyn Backend>>,
    deadline: Arc<Deadline>,
}

impl Lazy {
    pub(crate) fn new(open: Open, deadline: Arc<Deadline>) -> Self {
        Self { open, backend: None, deadline }
    }

    /// Returns the backend for the next piece of work, which keeps to the deadline.
    pub(crate) fn get(&mut self) -> Result<&mut Box<dyn Backend>> {
        let backend = match &mut self.backend {
            Some(backend) => backend,
            empty => empty.insert((self.open)()?),
        };
        if let Some(deadline) = self.deadline.get() {
            backend.closing(deadline);
        }
        Ok(backend)
    }

    /// Returns the backend if it is open.
    pub(crate) fn opened(&mut self) -> Option<&mut Box<dyn Backend>> {
        self.backend.as_mut()
    }

    pub(crate) fn close(&mut self) -> Result<()> {
        match self.backend.take() {
            Some(mut backend) => backend.close(),
            None => Ok(()),
        }
    }
}
