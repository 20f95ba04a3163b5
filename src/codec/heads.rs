//! Raw payloads that are likely to be asked for again: the newest of each active lineage, kept in memory up to a number of
//! bytes. A save number is never given out twice and what was saved under it never changes, so an entry is never stale: who
//! asks has found the number in the database first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::record::{Seq, Space};

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

/// Where a lineage's newest payload stands, as far as this process knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub seq: Seq,
    /// The id of its checkpoint.
    pub id: String,
    /// How many deltas a reader of it applies.
    pub depth: i64,
    /// How many bytes deltas may still take.
    pub room: i64,
}

/// The space and the name of a lineage.
type Name = (Space, String);

/// A payload to be kept.
#[derive(Debug)]
pub struct Kept {
    /// Its number.
    pub seq: Seq,
    /// The payload.
    pub head: Head,
    /// One that is not likely to be asked for any more, now that there is this one.
    pub replaces: Option<Seq>,
    /// The lineage that ends in it, if it is worth knowing.
    pub line: Option<(Name, Line)>,
}

#[derive(Debug)]
struct Entry {
    head: Head,
    used: u64,
    line: Option<Name>,
}

/// The cache. The least recently used entries make room.
#[derive(Debug)]
pub struct Heads {
    capacity: usize,
    bytes: usize,
    clock: u64,
    entries: HashMap<Seq, Entry>,
    /// Entries by when they were last used.
    used: BTreeMap<u64, Seq>,
    /// What is known of the lineages that end in one of the entries.
    lines: HashMap<Name, Line>,
}

impl Heads {
    /// A cache of at most so many bytes; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        let (entries, used, lines) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        Self { capacity, bytes: 0, clock: 0, entries, used, lines }
    }

    /// The payload saved under that number, if it is kept.
    pub fn get(&mut self, seq: Seq) -> Option<Head> {
        self.clock += 1;
        let entry = self.entries.get_mut(&seq)?;
        self.used.remove(&entry.used);
        entry.used = self.clock;
        self.used.insert(self.clock, seq);
        Some(entry.head.clone())
    }

    /// The newest payload of a lineage, if this process has saved it and keeps it. Another may have gone on since.
    pub fn newest(&mut self, space: Space, lineage: &str) -> Option<(Line, Head)> {
        let line = self.lines.get(&(space, lineage.to_owned()))?.clone();
        let head = self.get(line.seq)?;
        Some((line, head))
    }

    /// How many bytes the newest payload of a lineage has, as far as [`Heads::newest`] knows; 0 if it does not.
    pub fn newest_length(&self, space: Space, lineage: &str) -> usize {
        let line = self.lines.get(&(space, lineage.to_owned()));
        line.and_then(|line| self.entries.get(&line.seq)).map_or(0, |entry| entry.head.raw.len())
    }

    /// Whether a payload of so many bytes would be kept.
    pub fn holds(&self, bytes: usize) -> bool {
        bytes <= self.capacity
    }

    /// Keeps a payload.
    pub fn keep(&mut self, Kept { seq, head, replaces, line }: Kept) {
        if let Some(old) = replaces {
            self.forget(old);
        }
        self.forget(seq);
        if !self.holds(head.raw.len()) {
            return;
        }
        self.clock += 1;
        self.bytes += head.raw.len();
        let name = line.map(|(name, line)| {
            self.lines.insert(name.clone(), line);
            name
        });
        self.entries.insert(seq, Entry { head, used: self.clock, line: name });
        self.used.insert(self.clock, seq);
        while !self.holds(self.bytes)
            && let Some((_, oldest)) = self.used.first_key_value()
        {
            self.forget(*oldest);
        }
    }

    /// Drops an entry.
    pub fn forget(&mut self, seq: Seq) {
        let Some(entry) = self.entries.remove(&seq) else { return };
        self.bytes -= entry.head.raw.len();
        self.used.remove(&entry.used);
        if let Some(name) = entry.line
            && self.lines.get(&name).is_some_and(|line| line.seq == seq)
        {
            self.lines.remove(&name);
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

    /// See [`Heads::newest`].
    pub fn newest(&self, space: Space, lineage: &str) -> Option<(Line, Head)> {
        self.lock().newest(space, lineage)
    }

    /// See [`Heads::newest_length`].
    pub fn newest_length(&self, space: Space, lineage: &str) -> usize {
        self.lock().newest_length(space, lineage)
    }

    /// See [`Heads::holds`].
    pub fn holds(&self, bytes: usize) -> bool {
        self.lock().holds(bytes)
    }

    /// See [`Heads::keep`].
    pub fn keep(&self, kept: impl IntoIterator<Item = Kept>) {
        let mut heads = self.lock();
        kept.into_iter().for_each(|kept| heads.keep(kept));
    }

    fn lock(&self) -> MutexGuard<'_, Heads> {
        // A cache is as good after a panic as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(seq: Seq, bytes: usize) -> Kept {
        Kept { seq, head: Bytes::from(vec![0; bytes]).into(), replaces: None, line: None }
    }

    #[test]
    fn the_least_recently_used_make_room() {
        let mut heads = Heads::new(100);
        let payload = |byte| Head::from(Bytes::from(vec![byte; 40]));
        heads.keep(Kept { head: payload(1), ..kept(1, 0) });
        heads.keep(Kept { head: payload(2), ..kept(2, 0) });
        assert!(heads.get(1).is_some());
        heads.keep(Kept { head: payload(3), ..kept(3, 0) });
        assert_eq!((heads.get(1), heads.get(2), heads.get(3)), (Some(payload(1)), None, Some(payload(3))));
        heads.keep(Kept { replaces: Some(1), ..kept(4, 40) });
        assert_eq!((heads.get(1), heads.get(3).is_some(), heads.bytes), (None, true, 80));
        heads.keep(kept(5, 101));
        assert_eq!((heads.get(5), heads.bytes), (None, 80), "too large to be kept");
        heads.keep(kept(3, 0));
        assert_eq!((heads.bytes, heads.entries.len(), heads.used.len()), (40, 2, 2));
    }

    #[test]
    fn a_lineage_is_known_by_its_newest_while_that_is_kept() {
        let mut heads = Heads::new(100);
        let save = |heads: &mut Heads, seq, lineage: &str, replaces| {
            let line = Line { seq, id: seq.to_string(), depth: 0, room: 9 };
            heads.keep(Kept { line: Some(((Space(1), lineage.to_owned()), line)), replaces, ..kept(seq, 40) });
        };
        let newest = |heads: &mut Heads, lineage| heads.newest(Space(1), lineage).map(|(line, _)| line.seq);
        save(&mut heads, 1, "a", None);
        save(&mut heads, 2, "a", Some(1));
        save(&mut heads, 3, "b", None);
        assert_eq!((newest(&mut heads, "b"), newest(&mut heads, "a")), (Some(3), Some(2)));
        assert_eq!((heads.newest(Space(2), "a"), newest(&mut heads, "c")), (None, None));
        save(&mut heads, 4, "c", None);
        assert_eq!((newest(&mut heads, "b"), heads.lines.len()), (None, 2), "what made room is not known any more");
        heads.keep(kept(5, 101));
        save(&mut heads, 6, "c", None);
        heads.forget(4);
        assert_eq!(newest(&mut heads, "c"), Some(6), "an older one that goes takes nothing with it");
    }

    #[test]
    fn what_was_in_vain_is_tried_less_and_less_but_never_given_up() {
        let promising = |fruitless| Head { raw: Bytes::new(), fruitless }.promising();
        let tries: Vec<u32> = (0..50).filter(|fruitless| promising(*fruitless)).collect();
        assert_eq!(tries, [0, 1, 2, 4, 8, 16, 32, 48]);
    }
}
