//! The workload whose power loss and damage the suite tests: random changes of a small store, and the exact contents
//! after each change.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;

use crate::seed::Random;

const RUNS: [&str; 4] = ["a", "b", "c", "d"];
const LOG: &str = "messages";

pub(crate) fn open(path: &Path, journal: Journal, durability: Durability) -> Result<Sqlite> {
    let options = Options { journal: Some(journal), durability, cache_bytes: 1 << 20, ..Options::new(path) };
    Sqlite::open(&Options { busy_timeout: std::time::Duration::from_millis(300), ..options })
}

/// All contents of a store: a line for each checkpoint, log and set of pending writes.
pub(crate) fn contents(backend: &mut Sqlite) -> Result<Vec<String>> {
    let whole = Query::Whole { contract: CONTRACT_ID, of: Of::Contract, prefix: Vec::new() };
    let mut lines = Vec::new();
    let mut runs: Vec<String> = RUNS.map(str::to_owned).to_vec();
    for checkpoint in backend.answer(&whole)?.into_checkpoints()? {
        let parts: Vec<(String, usize, u64)> = checkpoint
            .payload
            .parts
            .iter()
            .map(|part| (part.name.clone(), part.bytes.len(), xxhash_rust::xxh3::xxh3_64(&part.bytes)))
            .collect();
        if !runs.contains(&checkpoint.header.lineage) {
            runs.push(checkpoint.header.lineage.clone());
        }
        lines.push(format!("{:?} {:?} {parts:?}", checkpoint.header, checkpoint.logs));
    }
    for run in runs {
        let logs = backend.answer(&Query::Logs { contract: CONTRACT_ID, lineage: run.clone() })?.into_logs()?;
        for mark in &logs {
            let records = backend.answer(&Query::Log(log_range(&run, &mark.log, None)))?.into_log()?;
            lines.push(format!("{run} {mark:?} {records:?}"));
        }
        let newest = backend.answer(&Query::Tuple { contract: CONTRACT_ID, pick: Pick::Newest(run.clone()) })?;
        lines.push(format!("{run} {:?}", newest.into_tuple()?.map(|tuple| tuple.writes)));
    }
    Ok(lines)
}

/// A change of the store.
pub(crate) enum Step {
    /// Units that share a transaction.
    Apply(Vec<Unit>),
    Prune(Rule),
    Vacuum,
    /// Closes the store and opens it again.
    Reopen,
    /// Another connection copies the log. The text is the mode.
    Checkpoint(&'static str),
    /// Creates the index of groups if it does not exist.
    ListGroup,
    Sweep,
}

/// Makes random steps. The steps depend on the seed only.
pub(crate) struct Work {
    random: Random,
    number: u64,
    /// The newest checkpoint of each run.
    newest: BTreeMap<String, String>,
}

impl Work {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random(seed), number: 0, newest: BTreeMap::new() }
    }

    fn run(&mut self) -> &'static str {
        RUNS[self.random.below(RUNS.len())]
    }

    fn put(&mut self) -> Op {
        let run = self.run();
        self.number += 1;
        let id = format!("{run}/{}", self.number);
        let size = [40, 700, 3000, 9000][self.random.below(4)];
        // The first part resembles the one of the run's earlier checkpoints, so it is stored as a difference.
        let parts = vec![part("same", "t", noise(1, size)), part("new", "t", noise(self.number, 40))];
        let put = draft(run, &id)
            .group(if self.random.one_in(2) { "g" } else { "" })
            .sort_key(f64::from(u32::try_from(self.number).unwrap()))
            .saved_at(i64::try_from(self.number).unwrap())
            .parts(parts);
        let put = match self.newest.insert(run.to_owned(), id) {
            Some(parent) => put.parent(&parent),
            None => put,
        };
        put.put()
    }

    pub(crate) fn step(&mut self) -> Step {
        let run = self.run();
        let lineage = run.to_owned();
        let known = self.newest.get(run).cloned();
        self.number += 1;
        let number = self.number;
        match self.random.below(30) {
            0 => Step::Vacuum,
            1 => Step::Reopen,
            2 => Step::Checkpoint(["PASSIVE", "RESTART", "TRUNCATE"][self.random.below(3)]),
            3 => Step::Prune(Rule::KeepLast(2)),
            4 => Step::Prune(Rule::SavedBefore(i64::try_from(number).unwrap() - 12)),
            5 => Step::ListGroup,
            6 => Step::Sweep,
            7 => Step::Apply(vec![vec![remove_lineages(run)].into()]),
            8 | 9 => match known {
                Some(id) => Step::Apply(vec![vec![remove(&id)].into()]),
                None => Step::Sweep,
            },
            10 => {
                let sort_key = SortKey::from_f64(f64::from(u32::try_from(number).unwrap()) - 20.0);
                Step::Apply(vec![vec![Op::RemoveFrom { contract: CONTRACT_ID, lineage, sort_key }].into()])
            }
            11..14 => {
                let texts = (0..=self.random.below(4)).map(|n| record(noise(number * 10 + n as u64, 90))).collect();
                Step::Apply(vec![vec![append(run, LOG, texts)].into()])
            }
            14 => Step::Apply(vec![vec![truncate(run, LOG, 2)].into()]),
            15 | 16 => {
                let state = [TaskState::ASKS, TaskState::FAILED, TaskState::ENDED][self.random.below(3)];
                let write = Write { state, ..write(&format!("task {}", number % 3), 0, noise(number, 50)) };
                let id = known.unwrap_or_else(|| "not there".to_owned());
                Step::Apply(vec![vec![write_to(&id, true, vec![write])].into()])
            }
            // The source may be gone. A fork of nothing fails and changes nothing.
            17 | 18 => {
                let source = known.unwrap_or_else(|| "not there".to_owned());
                Step::Apply(vec![vec![fork(&source, &format!("fork/{number}"), &format!("fork {number}"))].into()])
            }
            // A large batch wakes the thread that copies the log.
            19 => Step::Apply((0..20).map(|_| vec![self.put()].into()).collect()),
            _ => {
                let units = 1 + self.random.below(3);
                Step::Apply((0..units).map(|_| vec![self.put(), self.put()].into()).collect())
            }
        }
    }
}

/// Does one step. `after` is called after each transaction of it.
pub(crate) fn perform(
    backend: &mut Option<Sqlite>,
    step: Step,
    reopen: &dyn Fn() -> Sqlite,
    path: &Path,
    after: &mut dyn FnMut(&mut Sqlite),
) {
    let open = backend.as_mut().unwrap();
    match step {
        Step::Apply(units) => {
            let single = units.len() == 1;
            for outcome in open.apply(&units) {
                assert!(outcome.is_ok() || single, "{outcome:?}");
            }
            after(open);
        }
        Step::Prune(rule) => {
            let mut cursor = Cursor::default();
            loop {
                let prune = Prune { contract: None, rule, cursor, most: 7 };
                let pruned = open.prune(&prune).unwrap();
                after(open);
                match pruned.next {
                    Some(next) => cursor = next,
                    None => break,
                }
            }
        }
        Step::Vacuum => open.vacuum().unwrap(),
        Step::Sweep => drop(open.sweep().unwrap()),
        Step::ListGroup => drop(open.answer(&list_query(group("g"), None)).unwrap()),
        Step::Reopen => {
            drop(backend.take());
            *backend = Some(reopen());
        }
        Step::Checkpoint(mode) => {
            let other = rusqlite::Connection::open(path).unwrap();
            other.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
        }
    }
}
