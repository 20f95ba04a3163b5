//! Power loss. A recorded workload is cut at a random change. Every change that was not synced then is lost, stays, or
//! is torn at 512 bytes. From this image the engine must restore every acknowledged change exactly, and nothing half.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::prelude::*;

use crate::seed::{Random, Seed, number};
use crate::vfs::{Disk, Event};
use crate::work::{Work, contents, open, perform};

const SECTOR: usize = 512;

/// What is on a disk: the content of each file.
type Image = BTreeMap<String, Vec<u8>>;

/// The recording of one workload.
struct Recording {
    events: Vec<Event>,
    /// The contents before the first mark and after each mark.
    contents: Vec<Vec<String>>,
}

/// Creates a database and does `steps` random steps.
fn record(seed: u64, journal: Journal, durability: Durability, steps: usize, lie: bool) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("power.db");
    let disk = Disk::under(folder.path());
    if lie {
        disk.lie_about_syncs();
    }
    disk.record();
    let mut backend = Some(open(&path, journal, durability).unwrap());
    // Before the first mark, the database may not exist yet. It then has no contents.
    let mut all = vec![contents(backend.as_mut().unwrap()).unwrap()];
    let mut after = |backend: &mut Sqlite| {
        disk.mark();
        all.push(contents(backend).unwrap());
    };
    let mut work = Work::new(seed);
    for _ in 0..steps {
        perform(&mut backend, work.step(), &|| open(&path, journal, durability).unwrap(), &path, &mut after);
    }
    if seed.is_multiple_of(2) {
        drop(backend.take());
    }
    Recording { events: disk.recorded(), contents: all }
}

/// The changes of a file that were not synced.
#[derive(Default)]
struct Disked {
    /// The content that is certain. `None` if it is certain that the file does not exist.
    certain: Option<Vec<u8>>,
    pending: Vec<Event>,
}

impl Disked {
    fn name_is_certain(&mut self) {
        let named = |event: &Event| matches!(event, Event::Create(_) | Event::Delete { .. });
        if let Some(last) = self.pending.iter().rposition(named) {
            let rest = self.pending.split_off(last + 1);
            self.certain = matches!(self.pending[last], Event::Create(_)).then(Vec::new);
            self.pending = rest;
        }
    }
}

fn apply(content: &mut Option<Vec<u8>>, event: &Event, keep: &mut dyn FnMut() -> bool) {
    match event {
        Event::Create(_) => drop(content.get_or_insert_default()),
        Event::Delete { .. } => *content = None,
        Event::Truncate { length, .. } => {
            if let Some(content) = content {
                content.resize(*length, 0);
            }
        }
        Event::Write { at, bytes, .. } => {
            let Some(content) = content else { return };
            let (mut from, end) = (*at, at + bytes.len());
            while from < end {
                let to = end.min((from / SECTOR + 1) * SECTOR);
                if keep() {
                    content.resize(content.len().max(to), 0);
                    content[from..to].copy_from_slice(&bytes[from - at..to - at]);
                }
                from = to;
            }
        }
        Event::Sync(_) | Event::SyncFolder | Event::Mark => {}
    }
}

/// Makes the image of a power loss after the first `count` events.
fn image(events: &[Event], random: &mut Random) -> Image {
    let mut files: BTreeMap<&str, Disked> = BTreeMap::new();
    // The engine creates the file before SQLite opens it, and syncs the folder.
    files.insert("power.db", Disked { certain: Some(Vec::new()), pending: Vec::new() });
    for event in events {
        match event {
            Event::Create(file) | Event::Write { file, .. } | Event::Truncate { file, .. } => {
                files.entry(file).or_default().pending.push(event.clone());
            }
            Event::Delete { file, synced } => {
                let file = files.entry(file).or_default();
                file.pending.push(event.clone());
                if *synced {
                    *file = Disked::default();
                }
            }
            Event::Sync(file) => {
                let file = files.entry(file).or_default();
                for event in std::mem::take(&mut file.pending) {
                    apply(&mut file.certain, &event, &mut || true);
                }
            }
            // The names of all files are certain now.
            Event::SyncFolder => files.values_mut().for_each(Disked::name_is_certain),
            Event::Mark => {}
        }
    }
    // Three kinds of loss: the device keeps little, half, or almost everything of what was not synced.
    let lost = [1, 2, 8][random.below(3)];
    let mut image = Image::new();
    for (name, Disked { certain: mut content, pending }) in files {
        for event in pending {
            let torn = random.one_in(4);
            let dropped = if lost == 1 { !random.one_in(8) } else { random.one_in(lost) };
            match event {
                // Changes of the folder keep their order.
                Event::Create(_) | Event::Delete { .. } if dropped => break,
                Event::Write { .. } if torn => apply(&mut content, &event, &mut || random.one_in(2)),
                _ if dropped => {}
                event => apply(&mut content, &event, &mut || true),
            }
        }
        if let Some(content) = content {
            image.insert(name.to_owned(), content);
        }
    }
    image
}

/// What the engine made of an image.
enum Outcome {
    /// Everything up to one of these numbers of marks is there, and nothing half. Several changes may leave the same
    /// contents.
    Restored(Vec<usize>),
    Lost(String),
}

impl Outcome {
    fn marks(self, which: &str) -> Vec<usize> {
        match self {
            Outcome::Restored(marks) => marks,
            Outcome::Lost(what) => panic!("{which}: {what}"),
        }
    }
}

/// Opens the image with the engine, and compares its contents with those after each mark.
fn restore(image: &Image, recording: &Recording, journal: Journal, durability: Durability) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let _disk = Disk::under(folder.path());
    for (name, content) in image {
        fs::write(folder.path().join(name), content).unwrap();
    }
    match reopened(&folder.path().canonicalize().unwrap().join("power.db"), recording, journal, durability) {
        Ok(marks) => Outcome::Restored(marks),
        Err(error) => Outcome::Lost(error),
    }
}

fn reopened(
    path: &Path,
    recording: &Recording,
    journal: Journal,
    durability: Durability,
) -> Result<Vec<usize>, String> {
    let failed = |error: forkpoint_engine::error::Error| error.to_string();
    let mut backend = open(path, journal, durability).map_err(failed)?;
    let found = contents(&mut backend).map_err(failed)?;
    let same = recording.contents.iter().enumerate().filter(|(_, known)| **known == found);
    let marks: Vec<usize> = same.map(|(mark, _)| mark).collect();
    if marks.is_empty() {
        return Err(format!("nobody saved exactly this: {found:#?}"));
    }
    let damage = findings(&mut backend);
    if !damage.is_empty() {
        return Err(format!("{damage:?}"));
    }
    save(&mut backend, [draft("after", "after")]);
    drop(backend);
    let mut again = open(path, journal, durability).map_err(failed)?;
    assert!(get(&mut again, "after").is_some());
    Ok(marks)
}

/// How many changes the image must have at least: those that were acknowledged before the power loss.
fn acknowledged(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Mark)).count()
}

fn images(default: u64) -> u64 {
    number("FORKPOINT_IMAGES").unwrap_or(default)
}

/// Calls `look` with the outcome of each image and the number of changes that were acknowledged before it.
fn each_image(
    seed: &Seed,
    count: u64,
    (journal, durability, lie): (Journal, Durability, bool),
    mut look: impl FnMut(&str, usize, Outcome),
) {
    const EACH: u64 = 50;
    for workload in 0..count.div_ceil(EACH) {
        let seed = seed.0 + workload;
        // A short workload is cut in the creation of the database more often.
        let steps = if workload.is_multiple_of(5) { 1 } else { 30 };
        let recording = record(seed, journal, durability, steps, lie);
        let mut random = Random(seed ^ 0x00ca_fe00);
        for number in 0..EACH.min(count - workload * EACH) {
            let events = &recording.events[..=random.below(recording.events.len())];
            let outcome = restore(&image(events, &mut random), &recording, journal, durability);
            look(&format!("seed {seed}, image {number}"), acknowledged(events), outcome);
        }
    }
}

fn everything_acknowledged_is_there(seed: u64, journal: Journal, count: u64) {
    let seed = Seed::or(seed);
    let count = images(count);
    each_image(&seed, count, (journal, Durability::Full, false), |which, acknowledged, outcome| {
        let marks = outcome.marks(which);
        // The power may fail between the commit of a change and its acknowledgement.
        let exact = marks.contains(&acknowledged) || marks.contains(&(acknowledged + 1));
        assert!(exact, "{which}: {acknowledged} changes were acknowledged, and {marks:?} are there");
    });
    println!("{count} images of power loss, seed {}", seed.0);
}

#[test]
fn a_log_restores_what_was_acknowledged() {
    everything_acknowledged_is_there(1000, Journal::Wal, 600);
}

#[test]
fn a_rollback_journal_restores_what_was_acknowledged() {
    everything_acknowledged_is_there(2000, Journal::Rollback, 400);
}

#[test]
fn with_normal_durability_the_newest_may_be_lost_and_nothing_is_half_there() {
    let seed = Seed::or(3000);
    let mut lost = 0;
    each_image(&seed, images(200), (Journal::Wal, Durability::Normal, false), |which, acknowledged, outcome| {
        let marks = outcome.marks(which);
        assert!(marks[0] <= acknowledged + 1, "{which}");
        lost += usize::from(marks.iter().all(|mark| *mark < acknowledged));
    });
    assert!(lost > 0, "the images of this test lose what was not synced");
}

/// The test of the test: a device that lies about syncs loses acknowledged changes.
#[test]
fn a_device_that_does_not_sync_is_found_out() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let mut failed = 0;
        each_image(&Seed::or(4000), 100, (journal, Durability::Full, true), |_, acknowledged, outcome| {
            let restored = |marks: &[usize]| marks.iter().any(|mark| *mark >= acknowledged);
            failed += u64::from(!matches!(outcome, Outcome::Restored(marks) if restored(&marks)));
        });
        assert!(failed > 10, "{journal:?}: only {failed} of 100 images lost something");
    }
}
