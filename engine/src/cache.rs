//! Keeps recent raw payloads in memory, up to a maximum number of bytes: the newest payload of each active lineage,
//! payloads that were read, and payloads that several deltas build on.
//!
//! A cached payload is used only if the database confirms it. A database that goes back in time can give the same save
//! number to another payload. The key is therefore a [`PayloadKey`]: the save number, and the checksum in the payload's
//! row. A reader first reads both in the database and then looks in the cache.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::codec::largest;
use crate::record::{ContractId, PayloadKey, Seq};

/// A raw payload, and how well deltas have worked for its lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPayload {
    pub raw: Bytes,
    /// The number of consecutive payloads of the lineage, up to this one, for which no delta was worthwhile.
    pub misses: u32,
}

impl CachedPayload {
    /// Returns the arguments that [`plan`](crate::codec::plan::plan) takes.
    pub(crate) fn into_base(self) -> (Bytes, u32) {
        (self.raw, self.misses)
    }
}

impl From<Bytes> for CachedPayload {
    fn from(raw: Bytes) -> Self {
        Self { raw, misses: 0 }
    }
}

/// The newest known payload of a lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageTip {
    pub key: PayloadKey,
    pub id: String,
    /// The number of deltas that a reader applies to rebuild the payload.
    pub depth: i64,
    /// The delta budget: the number of bytes that deltas may still take before the next keyframe.
    pub budget: i64,
}

/// The contract and the name of a lineage.
type Name = (ContractId, String);

/// A payload to add to the cache.
#[derive(Debug)]
pub struct NewEntry {
    pub key: PayloadKey,
    pub payload: CachedPayload,
    /// The save number of an older payload to drop from the cache, because it is less likely to be read.
    pub supersedes: Option<Seq>,
    /// The lineage whose newest payload this is, and its new tip. `None` if this payload is not to become a tip.
    pub tip: Option<(Name, LineageTip)>,
}

#[derive(Debug)]
struct Entry {
    /// The checksum of the payload.
    sum: u64,
    payload: CachedPayload,
    used: u64,
    tip: Option<Name>,
}

/// The payload cache of a store, shared by its threads. The least recently used entries are dropped first.
#[derive(Clone, Debug)]
pub struct PayloadCache {
    lru: Arc<Mutex<Lru>>,
    /// The maximum size, in bytes, of a payload that the holder of this cache saves or opens. A cached payload may be
    /// larger.
    largest: usize,
}

impl PayloadCache {
    /// Creates a cache of at most `capacity` bytes. 0 caches nothing.
    pub fn new(capacity: usize) -> Self {
        Self { lru: Arc::new(Mutex::new(Lru::new(capacity))), largest: largest::MOST }
    }

    /// Returns this cache for a holder that saves and opens no payload of more than `largest` bytes.
    pub(crate) fn up_to(self, largest: usize) -> Self {
        Self { largest: largest.min(self.largest), ..self }
    }

    /// Returns an empty cache of at most `capacity` bytes for the same holder.
    pub(crate) fn separate(&self, capacity: usize) -> Self {
        Self { largest: self.largest, ..Self::new(capacity) }
    }

    /// The maximum size, in bytes, of a payload that the holder of this cache saves or opens. Default: 1 GiB.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Returns true if a payload with this save number is cached. The database may now have another payload with this
    /// number.
    pub(crate) fn may_have(&self, seq: Seq) -> bool {
        self.lock().entries.contains_key(&seq)
    }

    /// Returns the payload if it is cached. The caller must have read the key in the database.
    pub fn get(&self, key: PayloadKey) -> Option<CachedPayload> {
        self.lock().get(key)
    }

    /// Returns the newest payload that this process saved in a lineage, if it is still cached. Another process may have
    /// saved a newer one, or the database may have gone back in time. The caller must compare the tip with the database
    /// first.
    pub fn newest(&self, contract: ContractId, lineage: &str) -> Option<(LineageTip, CachedPayload)> {
        let mut cache = self.lock();
        let tip = cache.tips.get(&(contract, lineage.to_owned()))?.clone();
        let payload = cache.get(tip.key)?;
        Some((tip, payload))
    }

    /// The size in bytes of the payload that [`PayloadCache::newest`] returns, or 0 if it returns none.
    pub fn newest_length(&self, contract: ContractId, lineage: &str) -> usize {
        let cache = self.lock();
        let tip = cache.tips.get(&(contract, lineage.to_owned()));
        tip.and_then(|tip| cache.entries.get(&tip.key.seq)).map_or(0, |entry| entry.payload.raw.len())
    }

    /// Returns true if a payload of this size would be cached.
    pub fn holds(&self, bytes: usize) -> bool {
        bytes <= self.lock().capacity
    }

    /// Returns up to `most` of the most recently used payloads whose save number is less than `below`, with their
    /// checksums.
    #[cfg(feature = "postgres")]
    pub(crate) fn recent(&self, below: Seq, most: usize) -> HashMap<Seq, (u64, CachedPayload)> {
        let cache = self.lock();
        let recent = cache.used.values().rev().filter(|used| **used < below).take(most);
        let entry = |seq: &Seq| cache.entries.get(seq).map(|entry| (*seq, (entry.sum, entry.payload.clone())));
        recent.filter_map(entry).collect()
    }

    /// Drops everything, because the database went back in time or is another one.
    pub(crate) fn clear(&self) {
        let mut cache = self.lock();
        *cache = Lru::new(cache.capacity);
    }

    pub fn keep(&self, entries: impl IntoIterator<Item = NewEntry>) {
        let mut cache = self.lock();
        entries.into_iter().for_each(|entry| cache.keep(entry));
    }

    fn lock(&self) -> MutexGuard<'_, Lru> {
        // A panic in another thread leaves the cache usable, so ignore the poisoning of the lock.
        self.lru.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Lru {
    capacity: usize,
    bytes: usize,
    clock: u64,
    entries: HashMap<Seq, Entry>,
    /// The entries in the order of their last use.
    used: BTreeMap<u64, Seq>,
    /// The tips of the lineages whose newest payload is cached.
    tips: HashMap<Name, LineageTip>,
}

impl Lru {
    fn new(capacity: usize) -> Self {
        let (entries, used, tips) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        Self { capacity, bytes: 0, clock: 0, entries, used, tips }
    }

    fn get(&mut self, PayloadKey { seq, sum }: PayloadKey) -> Option<CachedPayload> {
        self.clock += 1;
        if self.entries.get(&seq)?.sum != sum {
            // The database went back in time, and gave the number to another payload.
            *self = Self::new(self.capacity);
            return None;
        }
        let entry = self.entries.get_mut(&seq)?;
        self.used.remove(&entry.used);
        entry.used = self.clock;
        self.used.insert(self.clock, seq);
        Some(entry.payload.clone())
    }

    fn keep(&mut self, NewEntry { key: PayloadKey { seq, sum }, payload, supersedes, tip }: NewEntry) {
        if let Some(old) = supersedes {
            self.forget(old);
        }
        self.forget(seq);
        if payload.raw.len() > self.capacity {
            return;
        }
        self.clock += 1;
        self.bytes += payload.raw.len();
        let name = tip.map(|(name, tip)| {
            self.tips.insert(name.clone(), tip);
            name
        });
        self.entries.insert(seq, Entry { sum, payload, used: self.clock, tip: name });
        self.used.insert(self.clock, seq);
        while self.bytes > self.capacity
            && let Some((_, oldest)) = self.used.first_key_value()
        {
            self.forget(*oldest);
        }
    }

    fn forget(&mut self, seq: Seq) {
        let Some(entry) = self.entries.remove(&seq) else { return };
        self.bytes -= entry.payload.raw.len();
        self.used.remove(&entry.used);
        if let Some(name) = entry.tip
            && self.tips.get(&name).is_some_and(|tip| tip.key.seq == seq)
        {
            self.tips.remove(&name);
        }
    }
}
