//! Backends that are opened at their first use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::interface::{Backend, PreEncode};
use super::listening::Listen;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};

/// Opens a backend on the thread that will use it. If opening fails, the next use calls the function again, because the
/// cause of the failure may be gone.
pub(crate) type Open = Box<dyn FnMut() -> Result<Box<dyn Backend>> + Send>;

/// The access of a store's threads to a target.
pub(crate) struct Opener {
    /// Opens one more backend on the same storage.
    pub(crate) open: Arc<dyn Fn() -> Result<Box<dyn Backend>> + Send + Sync>,
    /// Encodes large ops ahead of time.
    pub(crate) pre_encoder: Option<Arc<dyn PreEncode>>,
    /// True if retention may run concurrently with saves, on a backend of its own.
    pub(crate) sweeps_apart: bool,
    /// True if a second backend of the same storage may share the load of many reads. Each takes little memory.
    pub(crate) reads_apart: bool,
    /// Starts a listener. `None`: the storage tells of no changes by other processes.
    pub(crate) listen: Option<Listen>,
}

/// A backend that is opened at its first use.
pub(crate) struct Lazy {
    open: Open,
    backend: Option<Box<dyn Backend>>,
    deadline: Arc<Deadline>,
    /// The error of the last piece of work, if it waited for the storage in vain. It also applies to calls that were
    /// made before this time, because they have waited as long.
    in_vain: Option<(Instant, Error)>,
}

/// A shorter failure has not used up the time of any call.
const LONG: Duration = Duration::from_secs(1);

impl Lazy {
    pub(crate) fn new(open: Open, deadline: Arc<Deadline>) -> Self {
        Self { open, backend: None, deadline, in_vain: None }
    }

    /// Records the outcome of a piece of work that began at this time.
    pub(crate) fn note(&mut self, began: Instant, failed: Option<&Error>) {
        let took = began.elapsed();
        let has_one_lock = self.backend.as_ref().is_some_and(|backend| backend.has_one_lock());
        self.in_vain = failed.and_then(|error| match error.code() {
            // A call that has waited for half of that time counts as timed out.
            Code::Unavailable if error.retryable() && took >= LONG => {
                Some((began + took / 2, error.clone().for_another_call()))
            }
            Code::Busy if has_one_lock => Some((began, error.clone())),
            _ => None,
        });
    }

    /// Returns an error if the call has already waited while earlier work waited for the storage in vain. Otherwise,
    /// queued calls would each wait in turn for the full timeout.
    pub(crate) fn missed(&self, asked: Instant) -> Option<Error> {
        self.in_vain.as_ref().filter(|(before, _)| asked < *before).map(|(_, error)| error.clone())
    }

    /// Returns the backend for the next piece of work, with the deadline set.
    pub(crate) fn get(&mut self) -> Result<&mut Box<dyn Backend>> {
        if self.backend.is_none() {
            let began = Instant::now();
            let opened = (self.open)();
            self.note(began, opened.as_ref().err());
            self.backend = Some(opened?);
        }
        let backend = self.backend.as_mut().ok_or_else(Error::poisoned)?;
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
