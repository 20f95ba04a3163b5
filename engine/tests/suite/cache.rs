//! Tests the cache of payloads: what makes room, and what is not believed any more.

use crate::common::prelude::*;
use bytes::Bytes;
use forkpoint_engine::cache::{CachedPayload, LineageTip, NewEntry};

fn key(seq: Seq) -> PayloadKey {
    PayloadKey { seq, sum: 0 }
}

fn kept(seq: Seq, bytes: usize) -> NewEntry {
    NewEntry { key: key(seq), payload: Bytes::from(vec![0; bytes]).into(), supersedes: None, tip: None }
}

/// Returns the numbers of the payloads that are cached, from 1 to 9.
fn cached(cache: &PayloadCache) -> Vec<Seq> {
    (1..10).filter(|seq| cache.get(key(*seq)).is_some()).collect()
}

#[test]
fn the_least_recently_used_make_room() {
    let cache = PayloadCache::new(100);
    let payload = |byte| CachedPayload::from(Bytes::from(vec![byte; 40]));
    cache.keep([NewEntry { payload: payload(1), ..kept(1, 0) }]);
    cache.keep([NewEntry { payload: payload(2), ..kept(2, 0) }]);
    assert!(cache.get(key(1)).is_some());
    cache.keep([NewEntry { payload: payload(3), ..kept(3, 0) }]);
    assert_eq!((cache.get(key(1)), cache.get(key(2)), cache.get(key(3))), (Some(payload(1)), None, Some(payload(3))));
    cache.keep([NewEntry { supersedes: Some(1), ..kept(4, 40) }]);
    assert_eq!(cached(&cache), [3, 4]);
    cache.keep([kept(5, 101)]);
    assert_eq!(cached(&cache), [3, 4], "too large to be kept");
    cache.keep([kept(3, 0)]);
    cache.keep([kept(6, 60)]);
    assert_eq!(cached(&cache), [3, 4, 6], "what was replaced takes no room");
    cache.keep([kept(7, 1)]);
    assert_eq!(cached(&cache), [6, 7], "they take all of it");
}

#[test]
fn a_number_that_another_payload_has_now_is_not_cached() {
    let cache = PayloadCache::new(100);
    cache.keep([kept(1, 40), NewEntry { key: PayloadKey { seq: 2, sum: 7 }, ..kept(2, 40) }]);
    let second = || cache.get(PayloadKey { seq: 2, sum: 7 });
    assert!(cache.get(key(1)).is_some() && second().is_some());
    assert_eq!(cache.get(PayloadKey { seq: 1, sum: 8 }), None);
    assert_eq!((cache.get(key(1)), second()), (None, None), "one that is refuted refutes all");
    cache.keep([kept(3, 50), kept(4, 50)]);
    assert_eq!(cached(&cache), [3, 4], "they take no room any more");
}

#[test]
fn a_lineage_is_known_by_its_newest_while_that_is_kept() {
    let cache = PayloadCache::new(100);
    let save = |seq: Seq, lineage: &str, supersedes| {
        let tip = LineageTip { key: key(seq), id: seq.to_string(), depth: 0, budget: 9 };
        cache.keep([NewEntry { tip: Some(((ContractId(1), lineage.to_owned()), tip)), supersedes, ..kept(seq, 40) }]);
    };
    let newest = |lineage| cache.newest(ContractId(1), lineage).map(|(tip, _)| tip.key.seq);
    save(1, "a", None);
    save(2, "a", Some(1));
    save(3, "b", None);
    assert_eq!((newest("b"), newest("a")), (Some(3), Some(2)));
    assert_eq!((cache.newest(ContractId(2), "a"), newest("c")), (None, None));
    save(4, "c", None);
    assert_eq!(newest("b"), None, "what made room is not known any more");
    cache.keep([kept(5, 101)]);
    save(6, "c", None);
    cache.keep([NewEntry { supersedes: Some(4), ..kept(7, 1) }]);
    assert_eq!(newest("c"), Some(6), "an older one that goes takes nothing with it");
}
