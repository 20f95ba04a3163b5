//! A backend that is opened at its first use.

use super::Backend;
use crate::error::Result;

/// Opens a backend on the thread that will use it. If opening fails, the next use calls the function again, because the
/// cause of the failure may be gone.
pub(crate) type Open = Box<dyn FnMut() -> Result<Box<dyn Backend>> + Send>;

/// A backend that is opened at its first use.
pub(crate) struct Lazy {
    open: Open,
    backend: Option<Box<dyn Backend>>,
}

impl Lazy {
    pub(crate) fn new(open: Open) -> Self {
        Self { open, backend: None }
    }

    pub(crate) fn get(&mut self) -> Result<&mut Box<dyn Backend>> {
        match &mut self.backend {
            Some(backend) => Ok(backend),
            empty => Ok(empty.insert((self.open)()?)),
        }
    }

    /// The backend, if it is already open.
    pub(crate) fn opened(&mut self) -> Option<&mut Box<dyn Backend>> {
        self.backend.as_mut()
    }

    pub(crate) fn close(&mut self) {
        self.backend = None;
    }
}
