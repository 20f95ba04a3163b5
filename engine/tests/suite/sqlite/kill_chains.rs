//! Fifty processes work on one database and are killed. They save payloads that grow and are edited. They
//! fork payloads, replace them, and remove them from the middle of their chains. They also append to logs, pin logs,
//! cut them, rewind them to a checkpoint, and fork them.
//!
//! Each thread of a child process writes its own ids. The thread announces each unit before it submits the unit, and
//! has at most three units in flight. A large unit is encoded early, so an unrelated unit may overtake it. All other
//! units are saved in the order of the calls. So after a kill the file must contain all acknowledged units of a thread,
//! and may contain some of the units that were only announced. A unit must not be in the file if an earlier unit that
//! it depends on is missing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::store;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// `FORKPOINT_TEST_SEED` selects another sequence of random choices. A failed test prints its seed.
static SEED: LazyLock<u64> =
    LazyLock::new(|| std::env::var("FORKPOINT_TEST_SEED").map_or(1, |seed| seed.parse().expect("a number")));
const THREADS: usize = 3;
/// The maximum number of units that a thread has in flight.
const PIPELINE: usize = 3;
/// A thread with more checkpoints than this number removes more checkpoints than it saves.
const MOST_CHECKPOINTS: usize = 20;
/// The maximum number of lineages that are not forks.
const MOST_LINEAGES: usize = 5;
const MOST_FORKS: usize = 15;
const MOST_BYTES: usize = 1 << 20;

/// A deterministic hash of three numbers and the seed.
fn hash(words: [u64; 3]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    xxh3_64_with_seed(&bytes, *SEED)
}

struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    fn new(cycle: usize, who: usize) -> Self {
        Self { seed: hash([cycle as u64, who as u64, 0]), drawn: 0 }
    }

    /// A random number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        usize::try_from(hash([self.seed, self.drawn, 1]) % limit as u64).unwrap()
    }
}

/// The recipe of a state: pairs of a seed and the last version whose edits come from that seed. A fork adds a pair,
/// because the fork continues with a seed of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recipe(Vec<(u64, u64)>);

impl Recipe {
    fn version(&self) -> u64 {
        self.0.last().unwrap().1
    }

    fn at(&self, version: u64) -> Self {
        let mut recipe = self.clone();
        recipe.0.last_mut().unwrap().1 = version;
        recipe
    }

    /// Returns the number of blocks in the first version, and the number of blocks that each later version adds. Some
    /// states are large.
    fn size(&self) -> (u64, u64) {
        match self.0[0].0 % 10 {
            0..3 => (4, 1),
            3..8 => (150, 3),
            _ => (2800, 60),
        }
    }

    /// Returns the state: blocks of a few hundred bytes. Every version edits some blocks and adds new blocks.
    fn state(&self) -> Vec<u8> {
        // The pool is half noise and half text, so that some payloads compress and others do not.
        static POOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let text = (0..20_000u64).map(|n| format!("{{\"role\":\"tool\",\"step\":{n},\"content\":\"ok\"}},"));
            [noise(7, 1 << 19), text.collect::<String>().into_bytes()].concat()
        });
        let (blocks, growth) = self.size();
        let version = self.version();
        let mut state = format!("{{\"recipe\":{:?},\"blocks\":[", self.0).into_bytes();
        for block in 0..blocks + growth * version {
            let begun = block.saturating_sub(blocks).div_ceil(growth);
            // Finds the last edit of this block in the last 12 versions. An edit expires after 12 versions, and the
            // block changes when its edit expires.
            let edit = (begun..=version).rev().take(12).find_map(|version| {
                let (seed, _) = self.0.iter().find(|(_, until)| version <= *until).unwrap();
                let edit = hash([*seed, block, version]);
                edit.is_multiple_of(150).then_some(edit)
            });
            let content = hash([self.0[0].0, block, edit.unwrap_or(0)]);
            let length = 100 + usize::try_from(content % 400).unwrap();
            let from = usize::try_from((content >> 16) % (POOL.len() - length) as u64).unwrap();
            state.extend_from_slice(&POOL[from..from + length]);
        }
        state.truncate(MOST_BYTES);
        state.extend_from_slice(b"]}");
        state
    }

    fn is_large(&self) -> bool {
        self.size().0 > 1000
    }

    fn is_full(&self) -> bool {
        let (blocks, growth) = self.size();
        (blocks + growth * self.version()) * 300 > MOST_BYTES as u64
    }
}

/// The description of a checkpoint. The test makes the checkpoint from its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Spec {
    id: String,
    lineage: String,
    parent: Option<String>,
    recipe: Recipe,
    /// True if the checkpoint names a log: the log of its thread in the checkpoint's lineage.
    logged: bool,
}

impl Spec {
    fn header(&self) -> Header {
        let meta = serde_json::to_vec(&(&self.recipe, self.logged)).unwrap();
        let made = draft(&self.lineage, &self.id).group("all").label("node").meta(&meta);
        Header { parent: self.parent.clone(), sort_key: self.sort_key(), ..made.0.header }
    }

    #[expect(clippy::cast_precision_loss, reason = "a few versions")]
    fn sort_key(&self) -> SortKey {
        SortKey::from_f64(self.recipe.version() as f64)
    }

    fn of(header: &Header) -> Self {
        let (recipe, logged) = serde_json::from_slice(&header.meta).unwrap();
        let Header { id, lineage, parent, .. } = header.clone();
        Self { id, lineage, parent, recipe, logged }
    }

    /// Returns the description of the copy that a fork makes.
    fn copied(&self, id: &str, lineage: &str) -> Self {
        Self { id: id.to_owned(), lineage: lineage.to_owned(), parent: Some(self.id.clone()), ..self.clone() }
    }

    fn checkpoint(&self) -> Checkpoint {
        let mut made = draft("", "").parts(vec![part("state", "test", self.recipe.state())]).0;
        made.header = self.header();
        made
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Change {
    Put(Spec),
    Remove(String),
    /// Copies a checkpoint and its logs into a new lineage.
    Fork {
        source: Spec,
        id: String,
        lineage: String,
    },
    /// Appends records. The list contains the names of the records.
    Append {
        lineage: String,
        records: Vec<String>,
    },
    Cut {
        lineage: String,
        length: usize,
    },
    /// Rewinds the thread's log in `lineage` to a checkpoint.
    Rewind {
        lineage: String,
        to: String,
    },
}

// The child process.

/// The data that all threads of a child process share.
#[derive(Default)]
struct World {
    /// The newest state of each lineage.
    lineages: BTreeMap<String, Recipe>,
    /// The saved and submitted checkpoints, by thread and by id.
    saved: Vec<BTreeMap<String, Spec>>,
    names: usize,
}

impl World {
    fn name(&mut self, kind: &str, cycle: usize) -> String {
        self.names += 1;
        format!("{kind}.{cycle}.{}", self.names)
    }

    /// Returns true if two lineages have large states. More large states would make the test slow, because the parent
    /// reads every payload after every cycle.
    fn has_large(&self) -> bool {
        self.lineages.values().filter(|recipe| recipe.is_large()).count() > 1
    }

    /// The next version of a random lineage, or the first version of a new lineage.
    fn grown(&mut self, random: &mut Random, cycle: usize) -> (String, Recipe) {
        self.lineages.retain(|name, _| self.saved.iter().flat_map(BTreeMap::values).any(|spec| spec.lineage == *name));
        if self.lineages.len() < MOST_LINEAGES && random.below(4) == 0 || self.lineages.is_empty() {
            let mut recipe = Recipe(vec![(random.below(1 << 30) as u64, 0)]);
            while recipe.is_large() && self.has_large() {
                recipe.0[0].0 += 1;
            }
            let name = self.name("run", cycle);
            self.lineages.insert(name.clone(), recipe.clone());
            return (name, recipe);
        }
        let chosen = random.below(self.lineages.len());
        let (name, newest) = self.lineages.iter_mut().nth(chosen).unwrap();
        // A state of the greatest size does not grow further, but its blocks are still edited.
        let step = u64::from(!newest.is_full());
        *newest = newest.at(newest.version() + step);
        (name.clone(), newest.clone())
    }

    /// Plans the next unit of a thread. The thread saves and removes only its own ids. The lineage may be any lineage.
    fn plan(&mut self, random: &mut Random, cycle: usize, thread: usize) -> Vec<Change> {
        let own: Vec<String> = self.saved[thread].keys().cloned().collect();
        let full = own.len() > MOST_CHECKPOINTS;
        let any = |random: &mut Random| own[random.below(own.len())].clone();
        let kind = format!("t{thread}");
        let mut changes = Vec::new();
        match random.below(100) {
            // Replaces a checkpoint. The checkpoint may be the base of other checkpoints.
            0..15 if !own.is_empty() => {
                let (lineage, recipe) = self.grown(random, cycle);
                changes.push(Change::Put(Spec { id: any(random), lineage, parent: None, recipe, logged: false }));
            }
            // Forks a checkpoint of any thread. Another unit may remove the source before the fork is saved.
            15..30 if self.lineages.len() < MOST_LINEAGES + MOST_FORKS && !own.is_empty() => {
                let mut sources: Vec<&Spec> = self.saved.iter().flat_map(BTreeMap::values).collect();
                if self.has_large() && sources.iter().any(|spec| !spec.recipe.is_large()) {
                    sources.retain(|spec| !spec.recipe.is_large());
                }
                let source = sources[random.below(sources.len())].clone();
                let mut recipe = source.recipe;
                if recipe.0.len() < 4 {
                    recipe.0.push((random.below(1 << 30) as u64, recipe.version() + 1));
                }
                let lineage = self.name("fork", cycle);
                self.lineages.insert(lineage.clone(), recipe.clone());
                let id = self.name(&kind, cycle);
                changes.push(Change::Put(Spec { id, lineage, parent: Some(source.id), recipe, logged: false }));
            }
            30..40 if !own.is_empty() => changes.push(Change::Remove(any(random))),
            // Forks one of the thread's own checkpoints, together with the logs that this checkpoint names.
            40..48 if self.lineages.len() < MOST_LINEAGES + MOST_FORKS && !own.is_empty() => {
                let source = self.saved[thread][&any(random)].clone();
                if source.recipe.is_large() && self.has_large() {
                    changes.push(Change::Remove(source.id));
                } else {
                    let (lineage, id) = (self.name("fork", cycle), self.name(&kind, cycle));
                    if random.below(2) == 0 {
                        let records = vec![self.name("r", cycle)];
                        changes.push(Change::Append { lineage: lineage.clone(), records });
                    }
                    // The fork comes first in the unit, because its lineage must be new.
                    changes.insert(0, Change::Fork { source, id, lineage });
                }
            }
            _ if full => changes.push(Change::Remove(any(random))),
            _ => {
                let (lineage, recipe) = self.grown(random, cycle);
                let id = self.name(&kind, cycle);
                changes.push(Change::Put(Spec { id, lineage, parent: None, recipe, logged: false }));
            }
        }
        if let Some(Change::Put(spec)) = changes.first_mut() {
            let before = self.logs_before(random, cycle, thread, spec);
            changes.splice(..0, before);
        }
        // Adds a removal to the unit. The store applies all changes of the unit or none.
        if full || own.len() > 3 && random.below(8) == 0 {
            changes.push(Change::Remove(any(random)));
        }
        for change in &changes {
            match change {
                Change::Put(spec) => drop(self.saved[thread].insert(spec.id.clone(), spec.clone())),
                Change::Remove(id) => drop(self.saved[thread].remove(id)),
                Change::Fork { source, id, lineage } => {
                    self.saved[thread].insert(id.clone(), source.copied(id, lineage));
                }
                Change::Append { .. } | Change::Cut { .. } | Change::Rewind { .. } => {}
            }
        }
        changes
    }

    /// Shows the lineages of the forks to all threads. A thread that knew such a lineage before the fork is submitted could
    /// save into it first, and the fork would be refused.
    fn submitted(&mut self, changes: &[Change]) {
        for change in changes {
            if let Change::Fork { source, lineage, .. } = change {
                self.lineages.insert(lineage.clone(), source.recipe.clone());
            }
        }
    }

    /// Plans changes of the log that the thread has in a lineage. In the unit, these changes come before the put of a
    /// checkpoint. Sometimes the checkpoint names the log.
    fn logs_before(&mut self, random: &mut Random, cycle: usize, thread: usize, put: &mut Spec) -> Vec<Change> {
        let mut changes = Vec::new();
        let lineage = put.lineage.clone();
        let mut kept = self.saved[thread].values().filter(|spec| spec.logged && spec.lineage == lineage);
        match random.below(10) {
            0..2 => changes.push(Change::Cut { lineage: lineage.clone(), length: random.below(6) }),
            2..4 => {
                let to = kept.next().map(|spec| spec.id.clone());
                changes.extend(to.map(|to| Change::Rewind { lineage: lineage.clone(), to }));
            }
            _ => {}
        }
        if random.below(3) > 0 {
            let records = (0..=random.below(3)).map(|_| self.name("r", cycle)).collect();
            changes.push(Change::Append { lineage, records });
        }
        put.logged = random.below(3) > 0;
        changes
    }
}

fn open(path: &Path, journal: Journal, cache: PayloadCache) -> forkpoint_engine::error::Result<Sqlite> {
    Sqlite::open_with(&Options { journal: Some(journal), raw_in_a_hurry: true, ..Options::new(path) }, cache)
}

/// Applies random units until the parent kills the process.
#[test]
#[ignore = "the program of a child process"]
fn child() {
    let role = role().into_string().unwrap();
    let [cycle, journal, path] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let (cycle, path) = (cycle.parse().unwrap(), PathBuf::from(path));
    let journal = if journal == "wal" { Journal::Wal } else { Journal::Rollback };
    let cache = PayloadCache::new(Options::new(&path).cache_bytes);
    let encoder = Arc::new(PreEncoder::new(cache.clone()));
    let open = move || open(&path, journal, cache.clone()).map(|backend| Box::new(backend) as _);
    let store = Store::with_backend(open, Some(encoder), store::Options::default()).unwrap();

    let mut world = World { saved: vec![BTreeMap::new(); THREADS], ..World::default() };
    let known = call(|reply| store.ask(list_query(group("all"), None), reply)).unwrap().into_headers().unwrap();
    for spec in known.iter().map(Spec::of) {
        let newest = world.lineages.entry(spec.lineage.clone()).or_insert_with(|| spec.recipe.clone());
        if newest.version() < spec.recipe.version() {
            *newest = spec.recipe.clone();
        }
        world.saved[owner(&spec.id)].insert(spec.id.clone(), spec);
    }
    let world = Mutex::new(world);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, world) = (&store, &world);
            scope.spawn(move || work(store, world, cycle, thread));
        }
    });
}

fn work(store: &Store, world: &Mutex<World>, cycle: usize, thread: usize) {
    let mut random = Random::new(cycle, thread);
    let mut pending: VecDeque<Receiver<()>> = VecDeque::new();
    for n in 0.. {
        if pending.len() == PIPELINE {
            pending.pop_front().unwrap().recv().unwrap();
        }
        let changes = world.lock().unwrap().plan(&mut random, cycle, thread);
        let unit = Unit::from(changes.iter().map(|change| made(change, thread)).collect::<Vec<Op>>());
        say(&format!("try {thread} {n} {}", serde_json::to_string(&changes).unwrap()));
        let (told, done) = channel();
        // Reports the acknowledgement directly from the store's callback.
        let acknowledge = Reply::new(move |outcome: forkpoint_engine::error::Result<Applied>| {
            outcome.unwrap();
            say(&format!("ok {thread} {n}"));
            told.send(()).unwrap();
        });
        store.apply(unit, acknowledge);
        world.lock().unwrap().submitted(&changes);
        pending.push_back(done);
    }
}

/// Returns the name of a thread's log. The name is the same in every lineage.
fn log_of(thread: usize) -> String {
    format!("log of {thread}")
}

/// Returns the content of the record with this name. Contents have different sizes.
fn content(name: &str) -> String {
    let times = xxh3_64_with_seed(name.as_bytes(), 3) % 60;
    name.repeat(1 + usize::try_from(times).unwrap())
}

fn made(change: &Change, thread: usize) -> Op {
    let log = log_of(thread);
    match change {
        Change::Put(spec) => {
            let draft = common::Draft::from(spec.checkpoint());
            if spec.logged { draft.pin_live(&log).put() } else { draft.put() }
        }
        Change::Remove(id) => remove(id),
        Change::Fork { source, id, lineage } => {
            let Op::Fork(made) = fork(&source.id, id, lineage) else { unreachable!() };
            Op::Fork(Box::new(Fork { sort_key: source.sort_key(), ..*made }))
        }
        // Every other record has a key.
        Change::Append { lineage, records } => {
            let made = records.iter().enumerate().map(|(at, name)| match at % 2 {
                0 => keyed(name, content(name)),
                _ => record(content(name)),
            });
            append(lineage, &log, made.collect())
        }
        Change::Cut { lineage, length } => truncate(lineage, &log, *length as u64),
        Change::Rewind { lineage, to } => rewind(lineage, &log, to),
    }
}

fn owner(id: &str) -> usize {
    id[1..2].parse().unwrap()
}

// The parent process.

/// The lines that the parent has received about one thread.
#[derive(Clone, Debug, Default)]
struct Heard {
    announced: Vec<Vec<Change>>,
    /// The numbers of the acknowledged units. A number may be missing, because other units may overtake a large unit.
    acknowledged: BTreeSet<usize>,
    /// The number of units that overtook another unit: the later unit was acknowledged before the earlier one.
    overtook: usize,
}

type Saved = BTreeMap<String, Spec>;

/// The stored data of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    saved: Saved,
    /// The contents of the records in the thread's log, by lineage.
    logs: BTreeMap<String, Vec<String>>,
    /// The records of the thread's log that each checkpoint keeps, by the id of the checkpoint.
    kept: BTreeMap<String, Vec<String>>,
}

impl Part {
    fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(spec) => {
                    self.remove(&spec.id);
                    self.saved.insert(spec.id.clone(), spec.clone());
                    if spec.logged {
                        let kept = self.logs.get(&spec.lineage).cloned().unwrap_or_default();
                        self.kept.insert(spec.id.clone(), kept);
                    }
                }
                Change::Remove(id) => self.remove(id),
                Change::Fork { source, id, lineage } => {
                    self.saved.insert(id.clone(), source.copied(id, lineage));
                    if let Some(kept) = self.kept.get(&source.id).cloned() {
                        self.set(lineage, kept.clone());
                        self.kept.insert(id.clone(), kept);
                    }
                }
                Change::Append { lineage, records } => {
                    let log = self.logs.entry(lineage.clone()).or_default();
                    log.extend(records.iter().map(|name| content(name)));
                }
                Change::Cut { lineage, length } => {
                    let mut log = self.logs.get(lineage).cloned().unwrap_or_default();
                    log.truncate(*length);
                    self.set(lineage, log);
                }
                // The test tries combinations of units. In some of them, an earlier unit that this rewind needs is
                // missing. The state of such a combination does not match the file.
                Change::Rewind { lineage, to } => {
                    let kept = self.kept.get(to).cloned().unwrap_or_default();
                    self.set(lineage, kept);
                }
            }
        }
    }

    fn remove(&mut self, id: &str) {
        self.saved.remove(id);
        self.kept.remove(id);
    }

    /// Sets the records of a log. A log without records is removed, because it does not exist in a store either.
    fn set(&mut self, lineage: &str, log: Vec<String>) {
        if log.is_empty() {
            self.logs.remove(lineage);
        } else {
            self.logs.insert(lineage.to_owned(), log);
        }
    }

    /// Reads the stored data of a thread, with its logs in the given lineages.
    fn read(rows: &mut Sqlite, thread: usize, saved: Saved, lineages: &BTreeSet<String>) -> Self {
        let name = log_of(thread);
        let mut part = Self { saved, ..Self::default() };
        for lineage in lineages {
            let length = logs(rows, lineage).into_iter().find(|(log, _)| *log == name).map(|(_, length)| length);
            if let Some(length) = length {
                part.logs.insert(lineage.clone(), log(rows, lineage, &name));
                assert_eq!(part.logs[lineage].len() as u64, length);
            }
        }
        for spec in part.saved.values().filter(|spec| spec.logged) {
            let kept = log_at(rows, &spec.lineage, &name, &spec.id).unwrap_or_else(|| panic!("{spec:?} names a log"));
            part.kept.insert(spec.id.clone(), kept);
        }
        part
    }
}

fn hear(heard: &mut [Heard], line: &str) -> bool {
    let [what, thread, rest] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
    let Some(heard) = thread.parse().ok().and_then(|thread: usize| heard.get_mut(thread)) else { panic!("{line}") };
    match what {
        "try" => {
            let (n, changes) = rest.split_once(' ').unwrap();
            assert_eq!(n.parse(), Ok(heard.announced.len()));
            heard.announced.push(serde_json::from_str(changes).unwrap());
            false
        }
        "ok" => {
            let n = rest.parse().unwrap();
            assert!(n < heard.announced.len() && heard.acknowledged.insert(n));
            let overtaken: Vec<usize> = (0..n).filter(|before| !heard.acknowledged.contains(before)).collect();
            for before in &overtaken {
                let together = meet(&heard.announced[*before], &heard.announced[n]);
                assert!(!together, "what belongs together is done in the order of the calls");
            }
            heard.overtook += usize::from(!overtaken.is_empty());
            true
        }
        _ => panic!("{line}"),
    }
}

/// Returns true if the order of two units matters: both units name the same lineage or checkpoint, or one of the units
/// removes a checkpoint.
fn meet(one: &[Change], other: &[Change]) -> bool {
    let names = |changes: &[Change]| -> Option<BTreeSet<(bool, String)>> {
        let mut names = BTreeSet::new();
        for change in changes {
            match change {
                Change::Put(Spec { id, lineage, parent, .. }) => {
                    names.extend([(true, lineage.clone()), (false, id.clone())]);
                    names.extend(parent.iter().map(|parent| (false, parent.clone())));
                }
                Change::Fork { source, id, lineage } => {
                    names.extend([(true, lineage.clone()), (false, id.clone()), (false, source.id.clone())]);
                }
                Change::Append { lineage, .. } | Change::Cut { lineage, .. } => names.extend([(true, lineage.clone())]),
                Change::Rewind { lineage, to } => names.extend([(true, lineage.clone()), (false, to.clone())]),
                Change::Remove(_) => return None,
            }
        }
        Some(names)
    };
    match (names(one), names(other)) {
        (Some(one), Some(other)) => !one.is_disjoint(&other),
        _ => true,
    }
}

/// Returns the units that the store has applied. These are all acknowledged units, and the units in flight that are
/// needed to explain the data in the file after the kill.
fn outcome(before: &Part, heard: &Heard, found: &Part) -> Result<BTreeSet<usize>, String> {
    let state = |done: &BTreeSet<usize>| {
        let mut state = before.clone();
        for n in done {
            state.apply(&heard.announced[*n]);
        }
        state
    };
    let in_flight: Vec<usize> = (0..heard.announced.len()).filter(|n| !heard.acknowledged.contains(n)).collect();
    assert!(in_flight.len() <= PIPELINE);
    for chosen in 0..1usize << in_flight.len() {
        let too = in_flight.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, n)| *n);
        let done: BTreeSet<usize> = heard.acknowledged.iter().copied().chain(too).collect();
        let in_order = in_flight.iter().filter(|n| !done.contains(n)).all(|left| {
            let after = done.range(left..);
            after.into_iter().all(|n| !meet(&heard.announced[*left], &heard.announced[*n]))
        });
        if in_order && state(&done) == *found {
            return Ok(done);
        }
    }
    let certain = state(&heard.acknowledged);
    let differs = [
        difference(&certain.saved, &found.saved),
        difference(&certain.logs, &found.logs),
        difference(&certain.kept, &found.kept),
    ];
    let open: Vec<_> = in_flight.iter().map(|n| &heard.announced[*n]).collect();
    Err(format!("acknowledged and found differ: {differs:#?}\nin flight: {open:#?}"))
}

fn difference<T: PartialEq + std::fmt::Debug>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Vec<String> {
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = keys.into_iter().filter(|key| one.get(*key) != other.get(*key));
    differs.map(|key| format!("{key}: {:?}, found {:?}", one.get(key), other.get(key))).collect()
}

/// How often each tested case occurred in all cycles.
#[derive(Debug, Default)]
struct Seen {
    deltas: i64,
    deepest: i64,
    across: i64,
    formats: BTreeSet<i64>,
    acknowledged: usize,
    replaced: usize,
    removed_bases: usize,
    in_flight: usize,
    of_them_done: usize,
    overtook: usize,
    records: usize,
    cut: usize,
    rewound: usize,
    forked: usize,
    branches: i64,
}

impl Seen {
    /// Increases the count of the case that an applied change belongs to.
    fn count(&mut self, change: &Change, before: &Part, bases: &mut BTreeSet<String>) {
        match change {
            Change::Put(Spec { id, .. }) => {
                self.replaced += usize::from(before.saved.contains_key(id));
                self.removed_bases += usize::from(bases.remove(id));
            }
            Change::Remove(id) => self.removed_bases += usize::from(bases.remove(id)),
            Change::Fork { source, .. } => self.forked += usize::from(source.logged),
            Change::Append { records, .. } => self.records += records.len(),
            Change::Cut { .. } => self.cut += 1,
            Change::Rewind { .. } => self.rewound += 1,
        }
    }
}

/// Opens the file. If it has no logs yet, it has no tables of logs: empty tables stand in for them.
fn look_at(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'log%'";
    if connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        let empty = "CREATE TEMP TABLE log (lin, name, branch, length);
                     CREATE TEMP TABLE log_branch (branch, parent, start);
                     CREATE TEMP TABLE record (branch, pos);
                     CREATE TEMP TABLE log_mark (branch, length, seq);";
        connection.execute_batch(empty).unwrap();
    }
    connection
}

/// Returns the names of the lineages that have logs. The function reads them through a connection that does not use the
/// engine.
fn lineages_with_logs(path: &Path) -> BTreeSet<String> {
    let connection = look_at(path);
    let mut names = connection.prepare("SELECT DISTINCT lineage.name FROM lineage JOIN log USING (lin)").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Makes a table from the column `chain`.
fn read_chains(connection: &Connection, path: &Path) {
    let sql = "CREATE TEMP TABLE payload (seq INTEGER PRIMARY KEY, base, depth, body)";
    connection.execute_batch(sql).unwrap();
    for (seq, Stored { base, chain, body, .. }) in stored(path) {
        connection.execute("INSERT INTO payload VALUES (?, ?, ?, ?)", (seq, base, chain[1], body)).unwrap();
    }
}

/// Checks the invariants of the tables, through a connection that does not use the engine.
fn check_rows(path: &Path, seen: &mut Seen) -> BTreeSet<String> {
    let connection = look_at(path);
    read_chains(&connection, path);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    for (what, sql) in [
        ("a checkpoint has a lineage", "SELECT count(*) FROM checkpoint WHERE lin NOT IN (SELECT lin FROM lineage)"),
        (
            "a lineage has a checkpoint or a log",
            "SELECT count(*) FROM lineage WHERE lin NOT IN (SELECT lin FROM checkpoint UNION SELECT lin FROM log)",
        ),
        ("a log has a lineage", "SELECT count(*) FROM log WHERE lin NOT IN (SELECT lin FROM lineage)"),
        (
            "a branch ends where something ends",
            "SELECT count(*) FROM log_branch WHERE
               (SELECT max(length) FROM (
                  SELECT length FROM log WHERE log.branch = log_branch.branch
                  UNION ALL SELECT length FROM log_mark WHERE log_mark.branch = log_branch.branch
                  UNION ALL SELECT start FROM log_branch AS child WHERE child.parent = log_branch.branch))
               IS NOT (SELECT max(pos) + 1 FROM record WHERE record.branch = log_branch.branch)",
        ),
        (
            "a mark has a checkpoint",
            "SELECT count(*) FROM log_mark WHERE seq NOT IN (SELECT seq FROM checkpoint WHERE logs IS NOT NULL)",
        ),
        (
            "a base exists",
            "SELECT count(*) FROM payload WHERE base IS NOT NULL AND base NOT IN (SELECT seq FROM payload)",
        ),
        (
            "a base is older, and a depth is no less than the chain is long",
            "SELECT count(*) FROM payload JOIN payload AS below ON below.seq = payload.base
             WHERE below.seq >= payload.seq OR below.depth >= payload.depth OR payload.depth > 256",
        ),
        (
            "who has a base is a delta, and who has none is whole",
            "SELECT count(*) FROM payload
             WHERE (base IS NULL) <> (substr(body, 1, 1) IN (x'01', x'02', x'05')) OR substr(body, 1, 1) > x'06'",
        ),
        ("an id is there once", "SELECT count(*) - count(DISTINCT id) FROM checkpoint"),
    ] {
        assert_eq!(number(sql), 0, "{what}");
    }
    let integrity: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    seen.branches = seen.branches.max(number("SELECT count(*) FROM log_branch WHERE parent IS NOT NULL"));
    seen.deltas += number("SELECT count(*) FROM payload WHERE base IS NOT NULL");
    seen.deepest = seen.deepest.max(number(
        "WITH RECURSIVE chain (seq, length) AS (
           SELECT seq, 0 FROM payload WHERE base IS NULL
           UNION ALL SELECT payload.seq, length + 1 FROM payload JOIN chain ON payload.base = chain.seq)
         SELECT coalesce(max(length), 0) FROM chain",
    ));
    seen.across += number(
        "SELECT count(*) FROM payload JOIN checkpoint USING (seq) JOIN checkpoint AS below ON below.seq = payload.base
         WHERE below.lin <> checkpoint.lin",
    );
    let mut column = connection.prepare("SELECT DISTINCT unicode(substr(body, 1, 1)) FROM payload").unwrap();
    seen.formats.extend(column.query_map([], |row| row.get::<_, i64>(0)).unwrap().map(Result::unwrap));
    let mut bases = connection
        .prepare("SELECT id FROM checkpoint WHERE seq IN (SELECT base FROM payload WHERE base IS NOT NULL)")
        .unwrap();
    bases.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn run(cycles: usize, journal: Journal) {
    let (_folder, path) = temporary("chains.db");
    let mut saved = vec![Part::default(); THREADS];
    let mut bases = BTreeSet::new();
    let mut seen = Seen::default();
    for cycle in 0..cycles {
        let told = format!("seed {}, cycle {cycle}, {journal:?}", *SEED);
        let journal_name = if journal == Journal::Wal { "wal" } else { "rollback" };
        let mut process = Process::start(module_path!(), "child", format!("{cycle}|{journal_name}|{}", path.display()));
        let mut random = Random::new(cycle, THREADS);
        // The first process is killed while it opens its file. Some other processes are killed before they have saved
        // anything.
        let acknowledgements = if cycle == 0 { 0 } else { random.below(60) };
        let mut heard = vec![Heard::default(); THREADS];
        let mut left = acknowledgements;
        while left > 0 {
            let line = process.line().unwrap_or_else(|| panic!("{told}: the child ended by itself"));
            left -= usize::from(hear(&mut heard, &line));
        }
        // An acknowledgement arrives at the end of a batch. The parent reads a few more lines, so that not every kill
        // comes directly after an acknowledgement.
        for _ in 0..random.below(6) {
            if let Some(line) = process.line() {
                hear(&mut heard, &line);
            }
        }
        process.kill();
        // The lines that the process wrote before the kill count too.
        while let Some(line) = process.line() {
            hear(&mut heard, &line);
        }

        let options = Options { cache_bytes: 0, journal: Some(journal), ..Options::new(&path) };
        let mut rows = Sqlite::open(&options).unwrap_or_else(|error| panic!("{told}: {error}"));
        let found: Vec<Header> = headers(&mut rows, group("all"), None);
        let mut parts = vec![Saved::new(); THREADS];
        for header in &found {
            let spec = Spec::of(header);
            assert_eq!(spec.header(), *header, "{told}: a header is as it was saved");
            assert_eq!(parts[owner(&spec.id)].insert(spec.id.clone(), spec), None, "{told}: an id is there once");
        }
        let logged = lineages_with_logs(&path);
        let parts = parts.into_iter().enumerate();
        let parts: Vec<Part> = parts.map(|(thread, part)| Part::read(&mut rows, thread, part, &logged)).collect();
        for (thread, (heard, found)) in heard.iter().zip(&parts).enumerate() {
            let before = &saved[thread];
            let done = outcome(before, heard, found).unwrap_or_else(|error| panic!("{told}, thread {thread}: {error}"));
            seen.acknowledged += heard.acknowledged.len();
            seen.in_flight += heard.announced.len() - heard.acknowledged.len();
            seen.of_them_done += done.len() - heard.acknowledged.len();
            seen.overtook += heard.overtook;
            for change in done.iter().flat_map(|n| &heard.announced[*n]) {
                seen.count(change, before, &mut bases);
            }
        }
        saved = parts;
        let kept: BTreeMap<&String, usize> =
            saved.iter().flat_map(|part| &part.kept).map(|(id, kept)| (id, kept.len())).collect();
        let saved: Saved = saved.iter().flat_map(|part| part.saved.clone()).collect();
        for spec in saved.values() {
            let read = try_get(&mut rows, &spec.id).unwrap_or_else(|error| panic!("{told}: {error}"));
            let mut expected = spec.checkpoint();
            if let Some(length) = kept.get(&spec.id) {
                expected.logs = vec![LogMark { log: log_of(owner(&spec.id)), length: *length as u64 }];
            }
            assert!(read == Some(expected), "{told}: {} is not as it was saved", spec.id);
        }
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for spec in saved.values() {
            *counts.entry(spec.lineage.clone()).or_default() += 1;
        }
        let listed = lineages(&mut rows, "", None, usize::MAX);
        let listed = listed.into_iter().map(|lineage| (lineage.newest.lineage, lineage.checkpoints));
        assert_eq!(listed.collect::<BTreeMap<_, _>>(), counts, "{told}");
        assert_eq!(findings(&mut rows), [], "{told}");
        drop(rows);
        bases = check_rows(&path, &mut seen);
    }
    let left = saved.iter().map(|part| part.saved.len()).sum::<usize>();
    println!("{journal:?}, {left} checkpoints in the end: {seen:?}");
    assert!(
        seen.deltas > 0 && seen.deepest >= 3 && seen.across > 0,
        "chains and forks are what this is about: {seen:?}"
    );
    assert!(seen.replaced > 0 && seen.removed_bases > 0, "and what is done to them: {seen:?}");
    let logs = [seen.records, seen.cut, seen.rewound];
    assert!(logs.iter().all(|count| *count > 0), "and logs: {seen:?}");
    // A test of fewer than 50 cycles may not reach these cases.
    assert!(cycles < 50 || seen.forked > 0 && seen.branches > 0, "and forks of them: {seen:?}");
}

#[test]
fn chains_survive_fifty_kills() {
    run(50, Journal::Wal);
}

#[test]
fn chains_survive_kills_with_a_rollback_journal() {
    run(10, Journal::Rollback);
}
