//! Raw payloads that are likely to be asked for again: the newest of each active lineage, kept in memory up to a number of
//! bytes. A save number is never given out twice and what was saved under it never changes, so an entry is never stale: who
//! asks has found the number in the database first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::record::Seq;

/// A payload, and what is known of how its lineage goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The raw payload.
    pub raw: Bytes,
    /// How many payloads of the lineage in a row, up to this one, had too little in common with the one before.
    pub fruitless: u32,
}

impl Head {
    /// Whether looking for a difference to this payload is worth the time: where it was in vain the last times, it is not
    /// tried every time.
    pub fn promising(&self) -> bool {
        self.fruitless.is_power_of_two() || self.fruitless.is_multiple_of(MOST_SKIPPED)
    }
}

impl From<Bytes> for Head {
    fn from(raw: Bytes) -> Self {
        Self { raw, fruitless: 0 }
    }
}

/// After so many payloads of a lineage that had nothing in common, one is tried again.
const MOST_SKIPPED: u32 = 16;

/// The cache. The least recently used entries make room.
#[derive(Debug)]
pub struct Heads {
    capacity: usize,
    bytes: usize,
    clock: u64,
    entries: HashMap<Seq, (Head, u64)>,
    /// Entries by when they were last used.
    used: BTreeMap<u64, Seq>,
}

impl Heads {
    /// A cache of at most so many bytes; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, bytes: 0, clock: 0, entries: HashMap::new(), used: BTreeMap::new() }
    }

    /// The payload saved under that number, if it is kept.
    pub fn get(&mut self, seq: Seq) -> Option<Head> {
        self.clock += 1;
        let (head, used) = self.entries.get_mut(&seq)?;
        self.used.remove(used);
        *used = self.clock;
        self.used.insert(self.clock, seq);
        Some(head.clone())
    }

    /// Keeps a payload. `replaces` is one that is not likely to be asked for any more, now that there is this one.
    pub fn keep(&mut self, seq: Seq, head: Head, replaces: Option<Seq>) {
        if let Some(old) = replaces {
            self.forget(old);
        }
        self.forget(seq);
        if head.raw.len() > self.capacity {
            return;
        }
        self.clock += 1;
        self.bytes += head.raw.len();
        self.entries.insert(seq, (head, self.clock));
        self.used.insert(self.clock, seq);
        while self.bytes > self.capacity
            && let Some((_, oldest)) = self.used.first_key_value()
        {
            self.forget(*oldest);
        }
    }

    /// Drops an entry.
    pub fn forget(&mut self, seq: Seq) {
        if let Some((head, used)) = self.entries.remove(&seq) {
            self.bytes -= head.raw.len();
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
    pub fn get(&self, seq: Seq) -> Option<Head> {
        self.lock().get(seq)
    }

    /// See [`Heads::keep`].
    pub fn keep(&self, seq: Seq, head: Head) {
        self.lock().keep(seq, head, None);
    }

    /// Keeps what a transaction has written: numbers, payloads, and what each supersedes.
    pub fn keep_all(&self, written: impl IntoIterator<Item = (Seq, Head, Option<Seq>)>) {
        let mut heads = self.lock();
        for (seq, head, replaces) in written {
            heads.keep(seq, head, replaces);
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
        let payload = |byte| Head::from(Bytes::from(vec![byte; 40]));
        heads.keep(1, payload(1), None);
        heads.keep(2, payload(2), None);
        assert!(heads.get(1).is_some());
        heads.keep(3, payload(3), None);
        assert_eq!((heads.get(1), heads.get(2), heads.get(3)), (Some(payload(1)), None, Some(payload(3))));
        heads.keep(4, payload(4), Some(1));
        assert_eq!((heads.get(1), heads.get(3).is_some(), heads.bytes), (None, true, 80));
        heads.keep(5, Bytes::from(vec![0; 101]).into(), None);
        assert_eq!((heads.get(5), heads.bytes), (None, 80), "too large to be kept");
        heads.keep(3, Bytes::new().into(), None);
        assert_eq!((heads.bytes, heads.entries.len(), heads.used.len()), (40, 2, 2));
    }

    #[test]
    fn what_was_in_vain_is_tried_less_and_less_but_never_given_up() {
        let promising = |fruitless| Head { raw: Bytes::new(), fruitless }.promising();
        let tries: Vec<u32> = (0..50).filter(|fruitless| promising(*fruitless)).collect();
        assert_eq!(tries, [0, 1, 2, 4, 8, 16, 32, 48]);
    }
}
