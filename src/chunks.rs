//! The chunks of memory that JavaScript fills with serialized values.
//!
//! A value that grows from save to save consists mostly of bytes that earlier saves have written into chunks. Its calls
//! refer to these chunks by number. A call then need not create a reference to each chunk, and JavaScript need not
//! release one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The chunks of a JavaScript environment.
#[derive(Default)]
pub(super) struct Chunks(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u32,
    chunks: HashMap<u32, Bytes>,
}

impl Chunks {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a chunk. Returns its number, which is never 0.
    pub(super) fn keep(&self, bytes: Bytes) -> u32 {
        let mut table = self.table();
        loop {
            table.last = table.last.wrapping_add(1);
            let number = table.last;
            if number != 0 && !table.chunks.contains_key(&number) {
                table.chunks.insert(number, bytes);
                return number;
            }
        }
    }

    /// Returns the memory of a chunk. The caller must read only bytes that were written before its call: see
    /// [`keep_chunk`](crate::completion::Completions::keep_chunk).
    pub(super) fn get(&self, number: u32) -> Option<Bytes> {
        self.table().chunks.get(&number).cloned()
    }

    pub(super) fn drop(&self, number: u32) {
        // The chunk is freed after the lock is released.
        let _chunk = self.table().chunks.remove(&number);
    }

    pub(super) fn clear(&self) {
        let _chunks = std::mem::take(&mut self.table().chunks);
    }
}
