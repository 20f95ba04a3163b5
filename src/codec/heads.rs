//! Raw payloads that are likely to be asked for again: the newest of each active lineage, kept in memory up to a number of
//! bytes. A save number is never given out twice and what was saved under it never changes, so an entry is never stale: who
//! asks has found the number in the database first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::record::Seq;

/// The cache. The least recently used entries make room.
#[derive(Debug)]
pub struct Heads {
    capacity: usize,
    bytes: usize,
    clock: u64,
    entries: HashMap<Seq, (Bytes, u64)>,
    /// Entries by when they were last used.
    used: BTreeMap<u64, Seq>,
}

impl Heads {
    /// A cache of at most so many bytes; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, bytes: 0, clock: 0, entries: HashMap::new(), used: BTreeMap::new() }
    }

    /// The payload saved under that number, if it is kept.
    pub fn get(&mut self, seq: Seq) -> Option<Bytes> {
        self.clock += 1;
        let (raw, used) = self.entries.get_mut(&seq)?;
        self.used.remove(used);
        *used = self.clock;
        self.used.insert(self.clock, seq);
        Some(raw.clone())
    }

    /// Keeps a payload. `replaces` is one that is not likely to be asked for any more, now that there is this one.
    pub fn keep(&mut self, seq: Seq, raw: Bytes, replaces: Option<Seq>) {
        if let Some(old) = replaces {
            self.forget(old);
        }
        self.forget(seq);
        if raw.len() > self.capacity {
            return;
        }
        self.clock += 1;
        self.bytes += raw.len();
        self.entries.insert(seq, (raw, self.clock));
        self.used.insert(self.clock, seq);
        while self.bytes > self.capacity
            && let Some((_, oldest)) = self.used.first_key_value()
        {
            self.forget(*oldest);
        }
    }

    /// Drops an entry.
    pub fn forget(&mut self, seq: Seq) {
        if let Some((raw, used)) = self.entries.remove(&seq) {
            self.bytes -= raw.len();
            self.used.remove(&used);
        }
    }
}

/// The cache of a store, shared by its threads.
#[derive(Clone, Debug)]
pub struct SharedHeads(Arc<Mutex<Heads>>);

impl SharedHeads {
    /// See [`Heads::new`].
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Mutex::new(Heads::new(capacity))))
    }

    /// See [`Heads::get`].
    pub fn get(&self, seq: Seq) -> Option<Bytes> {
        self.lock().get(seq)
    }

    /// See [`Heads::keep`].
    pub fn keep(&self, seq: Seq, raw: Bytes) {
        self.lock().keep(seq, raw, None);
    }

    /// Keeps what a transaction has written: numbers, payloads, and what each supersedes.
    pub fn keep_all(&self, written: impl IntoIterator<Item = (Seq, Bytes, Option<Seq>)>) {
        let mut heads = self.lock();
        for (seq, raw, replaces) in written {
            heads.keep(seq, raw, replaces);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heads> {
        // A cache is as good after a panic as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_make_room() {
        let mut heads = Heads::new(100);
        let payload = |byte| Bytes::from(vec![byte; 40]);
        heads.keep(1, payload(1), None);
        heads.keep(2, payload(2), None);
        assert!(heads.get(1).is_some());
        heads.keep(3, payload(3), None);
        assert_eq!((heads.get(1), heads.get(2), heads.get(3)), (Some(payload(1)), None, Some(payload(3))));
        heads.keep(4, payload(4), Some(1));
        assert_eq!((heads.get(1), heads.get(3).is_some(), heads.bytes), (None, true, 80));
        heads.keep(5, Bytes::from(vec![0; 101]), None);
        assert_eq!((heads.get(5), heads.bytes), (None, 80), "too large to be kept");
        heads.keep(3, Bytes::new(), None);
        assert_eq!((heads.bytes, heads.entries.len(), heads.used.len()), (40, 2, 2));
    }
}
