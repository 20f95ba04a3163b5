//! Damage of the write-ahead log: flipped bits, zeroed and swapped blocks, and cuts. The engine must refuse the log, or
//! restore exactly what was saved. It may lose the last commit without a word if the damage hit the last commit or the
//! frame before it, because nothing tells such a log from one that a power loss has torn. A cut log looks like the log of
//! an earlier time.

use std::fs;

use crate::common::prelude::*;

use crate::seed::{Random, Seed, number};
use crate::vfs::Disk;
use crate::work::{contents, open};

const COMMITS: u64 = 40;
const BLOCK: usize = 4096 + 24;
const HEADER: usize = 32;

struct Logged {
    database: Vec<u8>,
    log: Vec<u8>,
    /// The length of the log after each commit.
    lengths: Vec<usize>,
    /// The contents after each commit.
    contents: Vec<Vec<String>>,
}

fn logged() -> Logged {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("log.db");
    let _disk = Disk::under(folder.path());
    let log = folder.path().join("log.db-wal");
    let mut backend = open(&path, Journal::Wal, Durability::Full).unwrap();
    let mut lengths = vec![usize::try_from(fs::metadata(&log).unwrap().len()).unwrap()];
    let mut all = vec![contents(&mut backend).unwrap()];
    for number in 0..COMMITS {
        let parts = vec![part("state", "t", noise(number, 3000))];
        apply(&mut backend, vec![draft("run", &number.to_string()).parts(parts).put()]).unwrap();
        lengths.push(usize::try_from(fs::metadata(&log).unwrap().len()).unwrap());
        all.push(contents(&mut backend).unwrap());
    }
    Logged { database: fs::read(&path).unwrap(), log: fs::read(&log).unwrap(), lengths, contents: all }
}

/// The outcome for a damaged log.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Refused,
    /// The contents are those after this commit.
    Restored(usize),
}

fn outcome(which: &str, known: &Logged, log: &[u8]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("log.db");
    let _disk = Disk::under(folder.path());
    fs::write(&path, &known.database).unwrap();
    fs::write(folder.path().join("log.db-wal"), log).unwrap();
    let before = files(folder.path());
    let restored = |durability| {
        let mut backend = open(&path, Journal::Wal, durability).unwrap();
        let found = contents(&mut backend).unwrap();
        let at = known.contents.iter().position(|known| *known == found);
        at.unwrap_or_else(|| panic!("{which}: nobody saved exactly this"))
    };
    match open(&path, Journal::Wal, Durability::Full) {
        Err(error) => {
            assert_eq!(error.code(), Code::Corrupt, "{which}: {error}");
            assert!(files(folder.path()) == before, "{which}: a refused database was changed");
            // The remedy that the message names.
            restored(Durability::Normal);
            Outcome::Refused
        }
        Ok(backend) => {
            drop(backend);
            Outcome::Restored(restored(Durability::Full))
        }
    }
}

#[test]
fn a_damaged_log_loses_nothing_without_a_word_but_its_last_commit() {
    let seed = Seed::or(6000);
    let mut random = Random(seed.0);
    let known = logged();
    let last = known.contents.len() - 1;
    assert_eq!(outcome("whole", &known, &known.log), Outcome::Restored(last));
    let blocks = (known.log.len() - HEADER) / BLOCK;
    let count = number("FORKPOINT_DAMAGES").unwrap_or(300);
    let (mut refused, mut short) = (0, 0);
    for damage in 0..count {
        let mut log = known.log.clone();
        // `end` is the end of the bytes that the damage changed.
        let (kind, end) = match damage % 4 {
            0 => {
                let at = random.below(log.len());
                log[at] ^= 1 << random.below(8);
                ("a flipped bit", at + 1)
            }
            1 => {
                let at = random.below(log.len() / 512) * 512;
                log[at..at + 512].fill(0);
                ("a zeroed sector", at + 512)
            }
            2 => {
                let at = HEADER + random.below(blocks) * BLOCK;
                log[at..at + BLOCK].fill(0);
                ("a zeroed frame", at + BLOCK)
            }
            _ => {
                let (one, other) = (random.below(blocks), random.below(blocks));
                let (one, other) = (HEADER + one.min(other) * BLOCK, HEADER + one.max(other) * BLOCK);
                if one == other {
                    continue;
                }
                let (before, after) = log.split_at_mut(other);
                before[one..one + BLOCK].swap_with_slice(&mut after[..BLOCK]);
                ("swapped frames", other + BLOCK)
            }
        };
        let which = format!("seed {}, damage {damage}: {kind} before {end}", seed.0);
        match outcome(&which, &known, &log) {
            Outcome::Refused => refused += 1,
            Outcome::Restored(at) if at == last => {}
            Outcome::Restored(at) => {
                assert!(end > known.lengths[last - 1] - BLOCK, "{which}: only {at} of {last} commits are there");
                short += 1;
            }
        }
    }
    println!("seed {}: {count} damages, {refused} refused, {short} lost the damaged last commit", seed.0);
    assert!(refused > count / 2);
}

#[test]
fn a_cut_log_restores_what_is_whole() {
    let mut random = Random(Seed::or(7000).0);
    let known = logged();
    for cut in 0..number("FORKPOINT_DAMAGES").unwrap_or(300) / 4 {
        let length = random.below(known.log.len());
        let whole = known.lengths.iter().rposition(|end| *end <= length);
        let found = outcome(&format!("cut {cut}"), &known, &known.log[..length]);
        assert_eq!(found, Outcome::Restored(whole.unwrap_or(0)), "a log of {length} bytes");
    }
}

/// The test of the tests: `SQLite` alone drops the commits behind a flipped bit without a word.
#[test]
fn without_the_look_commits_are_lost() {
    let known = logged();
    let mut log = known.log.clone();
    log[known.lengths[2] + 100] ^= 1;
    assert_eq!(outcome("a flipped bit", &known, &log), Outcome::Refused);
    let (folder, path) = temporary("log.db");
    fs::write(&path, &known.database).unwrap();
    fs::write(folder.path().join("log.db-wal"), &log).unwrap();
    let alone = rusqlite::Connection::open(&path).unwrap();
    let count: i64 = alone.query_row("SELECT count(*) FROM checkpoint", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
}
