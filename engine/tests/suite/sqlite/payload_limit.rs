//! Tests the largest payload that a store opens. A stored payload says how long it is, and may lie.

use std::path::Path;

use crate::common::prelude::*;
use forkpoint_engine::store::Options;
use rusqlite::Connection;

const MIB: usize = 1 << 20;

fn open(path: &Path, max_payload_bytes: usize) -> Store {
    let target = Target::Sqlite(path.to_owned());
    Store::open(&target, Options { max_payload_bytes, ..Options::default() }).unwrap()
}

fn apply(store: &Store, unit: impl Into<Unit>) -> Result<()> {
    call(|reply| store.apply(unit.into(), reply)).map(drop)
}

/// Reads the checkpoint, its writes and the log of its run.
fn read(store: &Store) -> [Result<()>; 3] {
    let tuple = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id("small".into()) };
    let log = Query::Log(log_range("run", "log", None));
    [
        store_get(store, "a").map(drop),
        call(|reply| store.ask(tuple, reply)).map(drop),
        call(|reply| store.ask(log, reply)).map(drop),
    ]
}

fn expect_too_large(error: &Error) {
    assert_eq!((error.code(), error.retryable()), (Code::Unsupported, false), "{error}");
    for text in ["maxPayloadBytes", "--max-payload-bytes"] {
        assert!(error.message().contains(text), "it says what to do: {error}");
    }
}

/// A payload of `length` zeros in an envelope of a few bytes for each 128 KiB.
fn bomb(length: usize) -> Vec<u8> {
    let mut sealed = vec![2];
    sealed.extend_from_slice(&[0; 8]);
    leb128(&mut sealed, length as u64);
    // A zstd frame with a window of 128 KiB, whose blocks repeat one byte.
    sealed.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]);
    let block = 128 << 10;
    let blocks = length.div_ceil(block);
    for number in 1..=blocks {
        let header = u32::try_from(block << 3 | 2).unwrap() | u32::from(number == blocks);
        sealed.extend_from_slice(&header.to_le_bytes()[..3]);
        sealed.push(0);
    }
    sealed
}

fn filled(path: &Path) {
    let store = open(path, 64 * MIB);
    for id in ["a", "small"] {
        apply(&store, vec![draft("run", id).put()]).unwrap();
    }
    let unit =
        vec![write_to("small", false, vec![write("t", 0, "1")]), append("run", "log", vec![keyed("k", "record")])];
    apply(&store, unit).unwrap();
    store.shutdown();
}

#[test]
fn a_small_row_that_claims_a_gigabyte_is_refused_and_costs_nothing() {
    let (_folder, path) = temporary("bomb.db");
    filled(&path);
    let store = open(&path, 64 * MIB);
    assert!(read(&store).iter().all(Result::is_ok));
    store.shutdown();

    let hand = Connection::open(&path).unwrap();
    let body = bomb(1 << 30);
    assert!(body.len() < 40_000);
    hand.execute("UPDATE checkpoint SET body = ? WHERE id = 'a'", [&body]).unwrap();
    hand.execute("UPDATE write SET body = ?", [&body]).unwrap();
    hand.execute("UPDATE record SET body = ?", [&body]).unwrap();
    drop(hand);
    let store = open(&path, 64 * MIB);
    let [checkpoint, writes, _] = read(&store);
    for refused in [checkpoint, writes] {
        expect_too_large(&refused.unwrap_err());
    }
    store.shutdown();
}

#[test]
fn a_text_or_a_blob_that_is_too_large_is_refused_before_it_is_read() {
    let (_folder, path) = temporary("blob.db");
    filled(&path);
    let hand = Connection::open(&path).unwrap();
    hand.execute("UPDATE checkpoint SET body = zeroblob(?) WHERE id = 'a'", [100_i64 << 20]).unwrap();
    hand.execute("UPDATE write SET body = zeroblob(?)", [100_i64 << 20]).unwrap();
    hand.execute("UPDATE record SET body = zeroblob(?)", [100_i64 << 20]).unwrap();
    drop(hand);
    for read_only in [false, true] {
        let options = Options { read_only, ..Options::default() };
        let store = Store::open(&Target::Sqlite(path.clone()), options).unwrap();
        for refused in read(&store) {
            expect_too_large(&refused.unwrap_err());
        }
        store.shutdown();
    }
}

#[test]
fn a_payload_that_only_another_store_may_save_is_opened_with_its_option() {
    let (_folder, path) = temporary("large.db");
    let large = draft("run", "a").parts(vec![part("state", "json", vec![b' '; 80 * MIB])]);
    let store = open(&path, 100 * MIB);
    apply(&store, vec![large.clone().put()]).unwrap();
    store.shutdown();

    let store = open(&path, 64 * MIB);
    expect_too_large(&store_get(&store, "a").unwrap_err());
    // It is no base either, but saves go on.
    apply(&store, vec![draft("run", "b").parts(vec![part("state", "json", vec![b' '; 1_000])]).put()]).unwrap();
    store.shutdown();

    let store = open(&path, 100 * MIB);
    assert!(store_get(&store, "a").unwrap() == Some(large.0));
    store.shutdown();
}

#[test]
fn what_would_be_too_large_together_is_refused_when_it_is_saved() {
    let (_folder, path) = temporary("together.db");
    // A store opens 64 MiB whatever its option is.
    let store = open(&path, 40 * MIB);
    let zeros = || vec![0; 40 * MIB];
    apply(&store, vec![draft("run", "a").parts(vec![part("one", "json", zeros())]).put()]).unwrap();
    let more = draft("run", "b").parent("a").parts(vec![part("two", "json", zeros())]).inherit(&["one"]);
    let error = apply(&store, vec![more.put()]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    assert!(error.message().contains("maxPayloadBytes") && error.message().contains("\"b\""), "{error}");

    let write = |task, index| apply(&store, vec![write_to("a", false, vec![write(task, index, zeros())])]);
    write("t", 0).unwrap();
    let error = write("t", 1).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    assert!(error.message().contains("maxPayloadBytes"), "{error}");
    write("another", 1).unwrap();
    let tuple = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id("a".into()) };
    let tuple = call(|reply| store.ask(tuple, reply)).unwrap().into_tuple().unwrap().unwrap();
    assert_eq!(tuple.writes.len(), 2);
    store.shutdown();
}
