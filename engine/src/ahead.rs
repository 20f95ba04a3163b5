//! Limits how many bytes the encoder holds for units that are not written yet.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The maximum number of bytes that the encoder holds, in joined and in encoded form. One unit may be larger.
const MOST: usize = 32 << 20;

/// The bytes that the encoder holds for units that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    bytes: Mutex<usize>,
    /// Signalled when bytes are released.
    released: Condvar,
}

impl Ahead {
    fn bytes(&self) -> MutexGuard<'_, usize> {
        // No code that can panic runs under this lock, so ignore poisoning.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `bytes` more bytes fit, and reserves them. If nothing is reserved, any number of bytes fits. The
    /// wait ends: only the writer releases bytes, and the writer never waits for the encoder.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Lead {
        let mut held = self.bytes();
        while *held > 0 && held.saturating_add(bytes) > MOST {
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        drop(held);
        Lead { ahead: Arc::clone(self), bytes }
    }
}

/// The reserved bytes of a unit. Dropped together with the unit.
#[derive(Debug)]
pub(crate) struct Lead {
    ahead: Arc<Ahead>,
    bytes: usize,
}

impl Lead {
    /// Sets the number of bytes that the unit really takes.
    pub(crate) fn set(&mut self, bytes: usize) {
        let mut held = self.ahead.bytes();
        *held = *held - self.bytes + bytes;
        self.bytes = bytes;
        drop(held);
        self.ahead.released.notify_one();
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.set(0);
    }
}
