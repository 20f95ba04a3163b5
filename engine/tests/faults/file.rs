//! Damage of the main file: zeroed pages and sectors, swapped and copied pages, overwritten ranges, and cuts. Every query
//! is repeated on each damaged file. Opening the file, or a query, must report the damage, or the answer must be exactly
//! what was saved. Something may be absent from an answer if a check reports damage.
//!
//! What a query cannot notice, and only a check finds:
//! - A page of an index that is zeroed, swapped or replaced may leave a valid tree without some entries. A checkpoint is
//!   then not found by its id, a listing leaves it out, or an older checkpoint is called the newest.
//! - Likewise, a page of a table may be replaced by one without these rows.
//!
//! What nothing can notice:
//! - A file that is cut to 0 bytes is a new store.
//! - Bytes that no tree uses: free space of pages, and pages of the free list.
//! - If the whole file is replaced by an earlier copy of itself, it is the earlier store.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::prelude::*;
use crate::damage::{Known, PAGE_SIZES, Tally, build, look, open};
use crate::seed::{Random, Seed, number};

const SECTOR: usize = 512;

struct Subject {
    bytes: Vec<u8>,
    page: usize,
    known: Known,
}

impl Subject {
    fn new(page_size: u32) -> Self {
        let bytes = build(page_size);
        let (_folder, path) = temporary("whole.db");
        fs::write(&path, &bytes).unwrap();
        let mut backend = open(&path).unwrap();
        let known = Known::of(&mut backend);
        assert_eq!(check(&mut backend, 20).1, [], "a whole file has no finding");
        Self { bytes, page: usize::try_from(page_size).unwrap(), known }
    }

    /// Returns a damaged file, the kind of the damage, and its place.
    fn damaged(&self, kind: u64, random: &mut Random) -> (Vec<u8>, &'static str, String) {
        let mut bytes = self.bytes.clone();
        let (page, length) = (self.page, bytes.len());
        let pages = length / page;
        let mut two = || {
            let one = random.below(pages);
            (one, (one + 1 + random.below(pages - 1)) % pages)
        };
        match kind {
            0 => {
                let at = random.below(pages);
                bytes[at * page..(at + 1) * page].fill(0);
                (bytes, "zeroed page", format!("page {}", at + 1))
            }
            1 => {
                let at = random.below(length / SECTOR) * SECTOR;
                bytes[at..at + SECTOR].fill(0);
                (bytes, "zeroed sector", format!("at {at}"))
            }
            2 => {
                let (one, other) = two();
                let (first, second) = (one.min(other) * page, one.max(other) * page);
                let (before, after) = bytes.split_at_mut(second);
                before[first..first + page].swap_with_slice(&mut after[..page]);
                (bytes, "swapped pages", format!("{} and {}", one + 1, other + 1))
            }
            3 => {
                let (from, to) = two();
                bytes.copy_within(from * page..(from + 1) * page, to * page);
                (bytes, "copied page", format!("{} over {}", from + 1, to + 1))
            }
            4 => {
                let begin = random.below(length);
                let end = (begin + 1 + random.below(2 * page)).min(length);
                bytes[begin..end].copy_from_slice(&noise(random.next(), end - begin));
                (bytes, "overwritten range", format!("{begin} to {end}"))
            }
            5 => {
                let length = 1 + random.below(length - 1);
                bytes.truncate(length);
                (bytes, "cut", format!("{length} bytes remain"))
            }
            _ => {
                let remain = 1 + random.below(pages - 1);
                bytes.truncate(remain * page);
                (bytes, "cut between pages", format!("{remain} of {pages} pages remain"))
            }
        }
    }
}

#[test]
fn a_damaged_file_never_gives_another_answer() {
    let seed = Seed::or(8000);
    let count = number("FORKPOINT_DAMAGES").unwrap_or(200);
    let subjects = PAGE_SIZES.map(Subject::new);
    let (_folder, path) = temporary("damaged.db");
    let (mut tallies, mut violations) = (BTreeMap::<&str, Tally>::new(), Vec::new());
    for damage in 0..count {
        // Each damage has random numbers of its own, so that its number and the seed repeat it.
        let mut random = Random(seed.0 << 32 | damage);
        let subject = &subjects[random.below(subjects.len())];
        let (bytes, kind, place) = subject.damaged(damage % 7, &mut random);
        let _ = fs::remove_file(path.with_extension("db-journal"));
        fs::write(&path, bytes).unwrap();
        let tally = tallies.entry(kind).or_default();
        let which = format!("damage {damage}, pages of {} bytes, {kind}: {place}", subject.page);
        match catch_unwind(AssertUnwindSafe(|| look(&subject.known, &path, tally))) {
            Ok(outcome) => violations.extend(outcome.violations.iter().map(|why| format!("{which}: {why}"))),
            Err(_) => violations.push(format!("{which}: a panic")),
        }
    }
    for (kind, Tally { same, told, absent, refused }) in &tallies {
        println!(
            "{kind}: {same} changed no answer, {told} were told, {absent} made something absent, {refused} refused"
        );
    }
    assert!(violations.is_empty(), "seed {}: {} violations:\n{}", seed.0, violations.len(), violations.join("\n"));
    let noticed: usize = tallies.values().map(|tally| tally.told + tally.absent + tally.refused).sum();
    assert!(noticed as u64 > count / 2, "most damages change an answer");
}

/// `SQLite` returns the rows of misplaced pages in a wrong order. A check that continued after the last row of its page
/// then began again and again.
#[test]
fn a_check_of_misplaced_pages_ends() {
    let subject = Subject::new(PAGE_SIZES[1]);
    let (_folder, path) = temporary("misplaced.db");
    let mut unsound = 0;
    for page in 1..subject.bytes.len() / subject.page {
        let (from, to) = ((page - 1) * subject.page, page * subject.page);
        let mut bytes = subject.bytes.clone();
        bytes.copy_within(from..to, to);
        fs::write(&path, bytes).unwrap();
        let Ok(mut backend) = open(&path) else { continue };
        // The pages of the check are short, so it often continues inside of a damaged table.
        unsound += usize::from(!check(&mut backend, 3).1.is_empty());
    }
    assert!(unsound > 20, "{unsound}");
}

/// The test of the tests: a file in which a payload has other bytes and the right checksums is another store, and the
/// judge says so.
#[test]
fn another_answer_is_found() {
    let subject = Subject::new(PAGE_SIZES[1]);
    let (_folder, path) = temporary("other.db");
    fs::write(&path, &subject.bytes).unwrap();
    let mut backend = open(&path).unwrap();
    let other = crate::common::draft("run", "run/3").parts(vec![crate::common::part("state", "v8", noise(1, 100))]);
    crate::common::save(&mut backend, [other]);
    drop(backend);
    let outcome = look(&subject.known, &path, &mut Tally::default());
    assert!(outcome.violations.iter().any(|why| why.contains("run/3")), "{:?}", outcome.violations);
}
