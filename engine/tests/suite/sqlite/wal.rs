//! Tests that the write-ahead log is copied into the database file. After large commits, a background thread copies the
//! log. Small commits copy the log themselves. The log stays bounded, and no save is lost.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;

const MIB: u64 = 1 << 20;

fn payload(number: u64) -> Vec<u8> {
    noise(number, 20_000)
}

fn put(number: u64) -> Unit {
    let id = number.to_string();
    vec![draft(&format!("run-{}", number % 7), &id).parts(vec![part("state", "test", payload(number))]).put()].into()
}

/// Saves one checkpoint for each number. Each commit contains `together` checkpoints. Every save must succeed.
fn save(backend: &mut Sqlite, numbers: std::ops::Range<u64>, together: usize) {
    let numbers: Vec<u64> = numbers.collect();
    for batch in numbers.chunks(together) {
        let units: Vec<Unit> = batch.iter().map(|number| put(*number)).collect();
        for outcome in backend.apply(&units) {
            outcome.unwrap();
        }
    }
}

fn length(path: &Path, suffix: &str) -> u64 {
    fs::metadata(format!("{}{suffix}", path.display())).map_or(0, |file| file.len())
}

fn all_there(path: &Path, count: u64) {
    let mut backend = Sqlite::open(&Options::new(path)).unwrap();
    for number in 0..count {
        let query = Query::Get { contract: CONTRACT_ID, id: number.to_string() };
        let found = backend.answer(&query).unwrap().into_checkpoint().unwrap().unwrap();
        assert_eq!(found.payload.parts[0].bytes, payload(number), "checkpoint {number}");
    }
}

#[test]
fn where_many_save_at_once_the_log_is_copied_in_the_background() {
    let (_folder, path) = temporary("many.db");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    // The loop saves 20 MiB. That is enough for the background thread to copy the log, but not enough for a commit to
    // copy it.
    save(&mut backend, 0..1024, 64);
    let patience = Instant::now() + Duration::from_secs(60);
    while length(&path, "") < 6 * MIB {
        assert!(Instant::now() < patience, "nobody copied: the file has {} bytes", length(&path, ""));
        std::thread::sleep(Duration::from_millis(5));
    }
    // Large and small commits alternate. The log must stay bounded, whether the thread or a commit copies it.
    for round in 1..6 {
        save(&mut backend, round * 1024..round * 1024 + 768, 64);
        save(&mut backend, round * 1024 + 768..(round + 1) * 1024, 1);
    }
    let log = length(&path, "-wal");
    assert!(log < 80 * MIB, "120 MiB were saved, and the log has {log} bytes");
    drop(backend);
    assert_eq!(length(&path, "-wal"), 0, "who closes last clears the log away");
    all_there(&path, 6 * 1024);
}

#[test]
fn where_few_save_the_log_starts_again_and_again() {
    let (_folder, path) = temporary("few.db");
    let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
    save(&mut backend, 0..1500, 4);
    let log = length(&path, "-wal");
    assert!(log < 8 * MIB, "30 MiB were saved, and the log has {log} bytes");
    drop(backend);
    all_there(&path, 1500);
}
