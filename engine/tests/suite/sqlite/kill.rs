//! Kills a saving process again and again. After each kill, all acknowledged units must be in the file, each unit
//! must be whole or absent, and the file must be sound. With every unit, each saver appends to its own log. Some units
//! also cut the log, rewind it to a checkpoint, or fork a checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{
    self, Draft, Process, append, draft, findings, fork, get, group, ids, keyed, log, log_at, logs, noise, part,
    record, rewind, role, say, sqlite, truncate,
};
use forkpoint_engine::Reply;
use forkpoint_engine::backend::sqlite::Journal;
use forkpoint_engine::backend::{Backend, Durability};
use forkpoint_engine::op::{Applied, Op};
use forkpoint_engine::record::{LogMark, SortKey};
use forkpoint_engine::store::{Options, Store};

const CYCLES: usize = 9;

/// Makes a checkpoint from its id alone. The checkpoint is so large that SQLite copies the write-ahead log within a
/// cycle.
fn made(id: &str) -> Draft {
    let seed = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    let length = usize::try_from(seed % 60_000).unwrap();
    draft("run", id).group("all").parts(vec![part("noise", "t", noise(seed, length))])
}

/// Unit number `n` of a saver.
#[derive(Clone, Copy)]
struct Step<'a> {
    /// The name of the saver's log: the cycle's name and the saver.
    log: &'a str,
    n: usize,
}

impl Step<'_> {
    fn id(self) -> String {
        format!("{}.{}", self.log, self.n)
    }

    fn before(self, steps: usize) -> Self {
        Self { n: self.n - steps, ..self }
    }

    fn appended(self) -> [String; 3] {
        ["first", "second", "third"].map(|which| format!("{which} of {}", self.id()))
    }

    /// The content of the log after this step.
    fn content(self) -> Vec<String> {
        let mut content = match self.n % 7 {
            5 => self.before(3).content(),
            _ if self.n == 0 => Vec::new(),
            _ => self.before(1).content(),
        };
        if self.n % 7 == 3 {
            content.truncate(content.len() / 2);
        }
        content.extend(self.appended());
        content
    }

    /// Returns the lineage of the fork that this step makes, and the content of the log in that lineage.
    fn forked(self) -> Option<(String, Vec<String>)> {
        let content = || [self.before(2).content(), vec![format!("fork of {}", self.id())]].concat();
        (self.n % 7 == 6).then(|| (format!("fork {}", self.id()), content()))
    }

    fn unit(self) -> Vec<Op> {
        let Self { log, n } = self;
        let id = self.id();
        let [first, second, third] = self.appended();
        let cut = match n % 7 {
            3 => Some(truncate("run", log, self.before(1).content().len() as u64 / 2)),
            5 => Some(rewind("run", log, &format!("{}.a", self.before(3).id()))),
            _ => None,
        };
        let batch = append("run", log, vec![record(first), keyed(&second, second.as_str()), record(third)]);
        let puts = [made(&format!("{id}.a")).pin_live(log).put(), made(&format!("{id}.b")).put()];
        let fork = self.forked().map(|(lineage, content)| {
            let more = record(content.last().unwrap().as_str());
            let source = format!("{}.a", self.before(2).id());
            [fork(&source, &format!("{id}.f"), &lineage), append(&lineage, log, vec![more])]
        });
        cut.into_iter().chain([batch]).chain(puts).chain(fork.into_iter().flatten()).collect()
    }

    /// Checks that everything that this step saved reads back exactly.
    fn verify(self, backend: &mut dyn Backend) {
        let (id, content) = (self.id(), self.content());
        let (a, b) = (format!("{id}.a"), format!("{id}.b"));
        let pinned = |mut one: Draft, content: &[String]| {
            one.0.logs = vec![LogMark { log: self.log.to_owned(), length: content.len() as u64 }];
            one.0
        };
        assert!(get(backend, &a) == Some(pinned(made(&a), &content)), "{a} is not as it was saved");
        assert!(get(backend, &b) == Some(made(&b).0), "{b} is not as it was saved");
        assert_eq!(log_at(backend, "run", self.log, &a), Some(content), "{a}");
        if let Some((lineage, content)) = self.forked() {
            let (id, source) = (format!("{id}.f"), format!("{}.a", self.before(2).id()));
            let kept = &content[..content.len() - 1];
            let mut copy = pinned(made(&source), kept);
            (copy.header.id, copy.header.lineage, copy.header.parent) = (id.clone(), lineage.clone(), Some(source));
            (copy.header.sort_key, copy.header.saved_at) = (SortKey::from_f64(0.0), 0);
            assert!(get(backend, &id) == Some(copy), "{id} is not as it was forked");
            assert_eq!(log_at(backend, &lineage, self.log, &id).unwrap(), kept, "{id}");
            assert_eq!(log(backend, &lineage, self.log), content, "{id}");
        }
    }
}

fn open(journal: &str, path: &Path) -> Box<dyn Backend> {
    let journal = if journal == "wal" { Journal::Wal } else { Journal::Rollback };
    Box::new(sqlite(path, journal, Durability::Full).unwrap())
}

/// Saves until the parent kills the process. Several saves are in progress at a time, so that batches have different
/// sizes.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let role = role().into_string().unwrap();
    let [journal, name, path] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let (journal, path) = (journal.to_owned(), PathBuf::from(path));
    let store = Arc::new(Store::with_backend(move || Ok(open(&journal, &path)), None, Options::default()).unwrap());
    std::thread::scope(|scope| {
        for saver in 0..3 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for n in 0.. {
                    let step = Step { log: &format!("{name}.{saver}"), n };
                    let (id, unit) = (step.id(), step.unit());
                    let (told, done) = std::sync::mpsc::channel();
                    // Reports the acknowledgement directly from the store's callback.
                    let acknowledge = Reply::new(move |outcome: forkpoint_engine::error::Result<Applied>| {
                        outcome.unwrap();
                        say(&id);
                        told.send(()).unwrap();
                    });
                    store.apply(unit.into(), acknowledge);
                    done.recv().unwrap();
                }
            });
        }
    });
}

fn killed_again_and_again(journal: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.db");
    let mut acknowledged = Vec::new();
    for cycle in 0..CYCLES {
        let name = format!("cycle {cycle}");
        let mut process = Process::start(module_path!(), "child", format!("{journal}|{name}|{}", path.display()));
        // The first process is killed while it opens its file. Each other process is killed later than the process
        // before it. The exact moment is random.
        let lines = cycle * cycle;
        let mut heard: Vec<String> = std::iter::from_fn(|| process.line()).take(lines).collect();
        assert_eq!(heard.len(), lines, "the child saves until it is killed: {heard:?}");
        process.kill();
        // The lines that the process wrote before the kill are acknowledgements too.
        heard.extend(std::iter::from_fn(|| process.line()));
        acknowledged.extend(heard.into_iter().inspect(|line| assert!(line.starts_with(&name), "{line}")));

        let mut backend = open(journal, &path);
        let saved = ids(&mut *backend, group("all"));
        let mut forks: Vec<&str> = saved.iter().filter_map(|id| id.strip_suffix(".f")).collect();
        let pairs: Vec<&String> = saved.iter().filter(|id| id.strip_suffix(".f").is_none()).collect();
        let mut whole: Vec<&str> = Vec::new();
        for pair in pairs.chunks(2) {
            let [b, a] = pair else { panic!("half of a unit: {pair:?}") };
            let id = a.strip_suffix(".a").unwrap();
            assert_eq!(b.strip_suffix(".b"), Some(id), "half of a unit");
            whole.push(id);
        }
        for id in &acknowledged {
            assert!(whole.contains(&id.as_str()), "{id} was acknowledged and is gone after cycle {cycle}");
        }
        // Each saver waits until a unit is saved before it begins the next unit. So the numbers of its saved units have
        // no gaps.
        let mut done: BTreeMap<&str, usize> = BTreeMap::new();
        for id in &whole {
            *done.entry(id.rsplit_once('.').unwrap().0).or_default() += 1;
        }
        let live = done.iter().map(|(log, done)| Step { log, n: done - 1 }.content());
        let lengths = done.keys().zip(live.clone()).map(|(log, live)| ((*log).to_owned(), live.len() as u64));
        let mut lengths: Vec<(String, u64)> = lengths.collect();
        lengths.sort();
        assert_eq!(logs(&mut *backend, "run"), lengths, "no log beyond those");
        for ((name, _), content) in done.iter().zip(live) {
            assert_eq!(log(&mut *backend, "run", name), content, "the log {name} after cycle {cycle}");
        }
        for step in done.iter().flat_map(|(log, done)| (0..*done).map(|n| Step { log, n })) {
            assert!(whole.contains(&step.id().as_str()), "{} is missing before what came later", step.id());
            forks.retain(|id| step.forked().is_none() || *id != step.id());
            // The units of earlier cycles are verified again after the last cycle.
            if step.log.starts_with(&name) || cycle + 1 == CYCLES {
                step.verify(&mut *backend);
            }
        }
        assert_eq!(forks, [""; 0], "no fork without its unit");
        assert_eq!(findings(&mut *backend), []);
        drop(backend);
        assert_eq!(common::integrity(&path), "ok");
    }
    assert!(acknowledged.len() >= (0..CYCLES).map(|cycle| cycle * cycle).sum());
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    killed_again_and_again("wal");
}

#[test]
fn what_was_acknowledged_survives_a_kill_with_a_rollback_journal() {
    killed_again_and_again("rollback");
}
