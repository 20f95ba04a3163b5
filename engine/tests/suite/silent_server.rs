//! Servers of Postgres that stall at any place of the protocol, or send a byte now and then. The calls that wait for such a
//! server share the busy timeout, and so does closing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// Less than the busy timeouts of two calls. The defect waited once for each of the calls.
const LIMIT: Duration = Duration::from_millis(5_500);

/// What a server sends: some bytes at once, and the rest one by one.
#[derive(Clone, Copy)]
struct Answer {
    sslmode: &'static str,
    at_once: &'static [u8],
    slowly: &'static [u8],
}

/// A message that the server may send at any time. It never ends.
const NOTICE: &[u8] = b"N\0\x0f\xff\xffSNOTICE";

const ANSWERS: [(&str, Answer); 6] = [
    ("nothing", Answer { sslmode: "disable", at_once: b"", slowly: b"" }),
    (
        "the choice of TLS, one byte of a message at a time",
        Answer { sslmode: "require", at_once: b"S", slowly: b"\x16\x03\x03\x40\0\x02" },
    ),
    ("nothing to the first message of TLS", Answer { sslmode: "require", at_once: b"S", slowly: b"" }),
    (
        "the login, one byte at a time",
        Answer { sslmode: "disable", at_once: b"", slowly: b"R\0\0\0\x08\0\0\0\0Z\0\0\0" },
    ),
    (
        "nothing after the login",
        Answer { sslmode: "disable", at_once: b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", slowly: b"" },
    ),
    (
        "a message without an end after the login",
        Answer { sslmode: "disable", at_once: b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", slowly: NOTICE },
    ),
];

/// Answers each connection on a thread of its own. The threads end with their connections.
fn serve(answer: Answer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_slowly(stream, answer));
        }
    });
    port
}

fn answer_slowly(mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
    let mut heard = [0; 1024];
    let _ = stream.read(&mut heard)?;
    stream.write_all(answer.at_once)?;
    for byte in answer.slowly.iter().chain(std::iter::repeat_n(&0, if answer.slowly.is_empty() { 0 } else { 100 })) {
        thread::sleep(Duration::from_millis(300));
        stream.write_all(&[*byte])?;
    }
    while stream.read(&mut heard)? > 0 {}
    Ok(())
}

fn open(answer: Answer) -> Store {
    let url = format!("postgres://me:secret@127.0.0.1:{}/db?sslmode={}", serve(answer), answer.sslmode);
    Store::open(&Target::parse(&url).unwrap(), Options { busy_timeout: BUSY_TIMEOUT, ..Options::default() }).unwrap()
}

fn put(id: &str) -> Unit {
    vec![draft("run", id).put()].into()
}

/// The calls that a program makes together, and how each ends. Opening is one of them.
fn outcomes(store: &Store) -> Vec<Result<()>> {
    let ready = pending(|reply| store.ready(reply));
    let saved = pending(|reply| store.apply(put("a"), reply));
    thread::sleep(Duration::from_millis(200));
    let got = pending(|reply| store.ask(get_query("a"), reply));
    let listed = pending(|reply| store.ask(list_query(lineage("run"), None), reply));
    let pruned = pending(|reply| store.prune(batch(Rule::KeepLast(1), 10), reply));
    let later = pending(|reply| store.apply(put("b"), reply));
    vec![
        ready.recv().unwrap().map(drop),
        saved.recv().unwrap().map(drop),
        got.recv().unwrap().map(drop),
        listed.recv().unwrap().map(drop),
        pruned.recv().unwrap().map(drop),
        later.recv().unwrap().map(drop),
    ]
}

#[test]
fn calls_share_the_busy_timeout_while_a_server_stalls() {
    let tests = ANSWERS.map(|(what, answer)| {
        thread::spawn(move || {
            let (store, begun) = (open(answer), Instant::now());
            for outcome in outcomes(&store) {
                let error = outcome.unwrap_err();
                assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true), "{what}: {error}");
                assert!(!error.outcome_unknown(), "{what}: nothing was sent");
            }
            assert!(begun.elapsed() < LIMIT, "{what}: it took {:?}", begun.elapsed());
            // A later call tries again.
            let begun = Instant::now();
            assert_eq!(call(|reply| store.apply(put("c"), reply)).unwrap_err().code(), Code::Unavailable, "{what}");
            assert!(begun.elapsed() > BUSY_TIMEOUT / 2, "{what}: it has tried for {:?}", begun.elapsed());
            let begun = Instant::now();
            store.shutdown();
            assert!(begun.elapsed() < LIMIT, "{what}: closing took {:?}", begun.elapsed());
        })
    });
    for test in tests {
        test.join().unwrap();
    }
}

#[test]
fn closing_ends_the_calls_that_wait_for_a_server_that_stalls() {
    let tests = ANSWERS.map(|(what, answer)| {
        thread::spawn(move || {
            let store = open(answer);
            let saved = pending(|reply| store.apply(put("a"), reply));
            let got = pending(|reply| store.ask(get_query("a"), reply));
            let begun = Instant::now();
            store.shutdown();
            assert!(begun.elapsed() < LIMIT, "{what}: closing took {:?}", begun.elapsed());
            assert_eq!(saved.recv().unwrap().unwrap_err().code(), Code::Unavailable, "{what}");
            assert_eq!(got.recv().unwrap().unwrap_err().code(), Code::Unavailable, "{what}");
        })
    });
    for test in tests {
        test.join().unwrap();
    }
}
