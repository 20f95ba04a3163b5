//! Tests implementations of [`LogRows`] against a model in which logs are plain lists. Every appended record is unique.
//! So the rows must contain exactly the records of the lists, each record once.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{End, LogName, LogRows, Mark, append, fork, hold, list, pin, read, release, remove_all, rewind, truncate};
use crate::error::Code;
use crate::query::{LogRange, LogSide};
use crate::record::{ContractId, Header, LogPin, Record, Seq, SortKey};

const LOGS: [&str; 2] = ["log", "other"];
const CONTRACT_ID: ContractId = ContractId(3);

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Appends records with these keys: lineage, log, keys.
    Append(i64, usize, Vec<Option<u8>>),
    Truncate(i64, usize, u64),
    /// Puts a checkpoint of a lineage. The checkpoint names these logs at these lengths.
    Put(i64, Vec<(usize, Option<u64>)>),
    /// Removes one of the checkpoints.
    Remove(prop::sample::Index),
    Rewind(prop::sample::Index, usize),
    Fork(prop::sample::Index, i64),
    RemoveAll(i64),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (lin, log) = (1..4_i64, 0..LOGS.len());
    let keys = prop::collection::vec(prop::option::of(0..12_u8), 0..4);
    let pins = prop::collection::vec((log.clone(), prop::option::of(0..6_u64)), 0..3);
    let step = prop_oneof![
        6 => (lin.clone(), log.clone(), keys).prop_map(|(lin, log, keys)| Step::Append(lin, log, keys)),
        3 => (lin.clone(), log.clone(), 0..8_u64).prop_map(|(lin, log, to)| Step::Truncate(lin, log, to)),
        4 => (lin.clone(), pins).prop_map(|(lin, pins)| Step::Put(lin, pins)),
        2 => any::<prop::sample::Index>().prop_map(Step::Remove),
        2 => (any::<prop::sample::Index>(), log).prop_map(|(at, log)| Step::Rewind(at, log)),
        2 => (any::<prop::sample::Index>(), lin.clone()).prop_map(|(at, lin)| Step::Fork(at, lin)),
        1 => lin.prop_map(Step::RemoveAll),
    ];
    prop::collection::vec(step, 1..60)
}

/// A checkpoint in both the rows and the model.
struct Put {
    seq: Seq,
    lin: i64,
    marks: Vec<Mark>,
    kept: BTreeMap<usize, Vec<Record>>,
}

/// The reference model for the tests: each log is a plain list.
#[derive(Default)]
pub(crate) struct Model {
    logs: BTreeMap<(i64, usize), Vec<Record>>,
    puts: Vec<Put>,
    appended: u64,
    last_seq: Seq,
}

fn name(lin: i64, log: usize) -> LogName<'static> {
    LogName { contract: CONTRACT_ID, lin, lineage: "run", log: LOGS[log] }
}

fn header() -> Header {
    Header {
        contract: CONTRACT_ID,
        lineage: "run".to_owned(),
        id: "id".to_owned(),
        parent: None,
        group: String::new(),
        label: String::new(),
        sort_key: SortKey::default(),
        saved_at: 0,
        age_offset: 0,
        depends_on_parent: false,
        exempt: false,
        meta: Vec::new(),
    }
}

impl Model {
    /// Runs the steps, and compares the rows with the model after each step.
    pub(crate) fn run<R: LogRows>(
        &mut self,
        rows: &mut R,
        steps: Vec<Step>,
        count: impl Fn(&R) -> (u64, u64),
    ) -> Result<(), TestCaseError> {
        for step in steps {
            let said = format!("{step:?}");
            self.step(rows, step)?;
            let expected = self.compare(rows)?;
            prop_assert_eq!(count(rows).0, expected, "what nothing names is freed: {}", said);
        }
        Ok(())
    }

    fn records(&mut self, keys: &[Option<u8>]) -> Vec<Record> {
        let record = |key: &Option<u8>| {
            self.appended += 1;
            let bytes = self.appended.to_le_bytes().to_vec().into();
            Record { key: key.map(|key| key.to_string()), tag: "t".to_owned(), bytes }
        };
        keys.iter().map(record).collect()
    }

    fn step(&mut self, rows: &mut impl LogRows, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Append(lin, log, keys) => {
                let records = self.records(&keys);
                let held = self.logs.entry((lin, log)).or_default();
                let wrong = append(rows, name(lin, log), &records, Some(held.len() as u64 + 1)).unwrap_err();
                prop_assert_eq!(wrong.code(), Code::Conflict);
                let mut left_out = Vec::new();
                let expect = records.len().is_multiple_of(2).then_some(held.len() as u64);
                let done = append(rows, name(lin, log), &records, expect).unwrap();
                for (at, record) in records.into_iter().enumerate() {
                    if record.key.is_some() && held.iter().any(|held| held.key == record.key) {
                        left_out.push(at);
                    } else {
                        held.push(record);
                    }
                }
                prop_assert_eq!((done.length, done.left_out), (held.len() as u64, left_out));
            }
            Step::Truncate(lin, log, to) => {
                truncate(rows, name(lin, log), to).unwrap();
                self.logs.entry((lin, log)).or_default().truncate(usize::try_from(to).unwrap());
            }
            Step::Put(lin, pins) => {
                let named: BTreeMap<usize, Option<u64>> = pins.into_iter().collect();
                let pins: Vec<LogPin> =
                    named.iter().map(|(log, length)| LogPin { log: LOGS[*log].to_owned(), length: *length }).collect();
                let live = |log: usize| self.logs.get(&(lin, log)).cloned().unwrap_or_default();
                let mut kept: BTreeMap<usize, Vec<Record>> = named.keys().map(|log| (*log, live(*log))).collect();
                let beyond = named.iter().any(|(log, length)| length.is_some_and(|n| n > kept[log].len() as u64));
                match pin(rows, Some(lin), &header(), &pins) {
                    Err(error) => prop_assert!(beyond && error.code() == Code::InvalidArgument, "{}", error),
                    Ok(marks) => {
                        prop_assert!(!beyond);
                        for (log, length) in named {
                            let all = kept.entry(log).or_default();
                            all.truncate(length.map_or(usize::MAX, |length| usize::try_from(length).unwrap()));
                        }
                        self.last_seq += 1;
                        hold(rows, self.last_seq, &marks).unwrap();
                        self.puts.push(Put { seq: self.last_seq, lin, marks, kept });
                    }
                }
            }
            Step::Remove(at) if !self.puts.is_empty() => {
                let gone = self.puts.remove(at.index(self.puts.len()));
                release(rows, [(gone.seq, &*gone.marks)]).unwrap();
            }
            Step::Rewind(at, log) if !self.puts.is_empty() => {
                let put = at.get(&self.puts);
                match rewind(rows, name(put.lin, log), "id", &put.marks) {
                    Ok(()) => drop(self.logs.insert((put.lin, log), put.kept[&log].clone())),
                    Err(error) => {
                        prop_assert_eq!(error.code(), Code::NotFound);
                        prop_assert!(!put.kept.contains_key(&log));
                    }
                }
            }
            Step::Fork(at, lin) if !self.puts.is_empty() => {
                let source = at.get(&self.puts);
                if rows.heads(lin).unwrap().is_empty() {
                    let (marks, kept) = (source.marks.clone(), source.kept.clone());
                    fork(rows, lin, &marks).unwrap();
                    self.logs.extend(kept.iter().map(|(log, records)| ((lin, *log), records.clone())));
                    self.last_seq += 1;
                    hold(rows, self.last_seq, &marks).unwrap();
                    self.puts.push(Put { seq: self.last_seq, lin, marks, kept });
                }
            }
            Step::RemoveAll(lin) => {
                let any = remove_all(rows, lin).unwrap();
                prop_assert_eq!(any, self.logs.iter().any(|((of, _), log)| *of == lin && !log.is_empty()));
                self.logs.retain(|(of, _), _| *of != lin);
            }
            Step::Remove(_) | Step::Rewind(..) | Step::Fork(..) => {}
        }
        Ok(())
    }

    fn compare(&self, rows: &impl LogRows) -> Result<u64, TestCaseError> {
        for lin in 1..4 {
            let logs = self.logs.iter().filter(|((of, _), held)| *of == lin && !held.is_empty());
            let logs: Vec<_> = logs.map(|((_, log), held)| (LOGS[*log].to_owned(), held.len() as u64)).collect();
            let found = list(rows, lin).unwrap().into_iter().map(|mark| (mark.log, mark.length));
            prop_assert_eq!(found.collect::<Vec<_>>(), logs);
        }
        for ((lin, log), held) in &self.logs {
            let end = rows.head(*lin, LOGS[*log]).unwrap();
            compare_ranges(rows, end, held)?;
        }
        for put in &self.puts {
            for mark in &put.marks {
                let log = LOGS.iter().position(|name| *name == mark.log).unwrap();
                prop_assert_eq!(mark.shown().length, put.kept[&log].len() as u64);
                compare_ranges(rows, mark.end, &put.kept[&log])?;
            }
        }
        let all = self.logs.values().chain(self.puts.iter().flat_map(|put| put.kept.values()));
        Ok(all.flatten().map(|record| &record.bytes).collect::<BTreeSet<_>>().len() as u64)
    }
}

fn compare_ranges(rows: &impl LogRows, end: Option<End>, held: &[Record]) -> Result<(), TestCaseError> {
    let asked = |from, skip, limit| LogRange {
        contract: CONTRACT_ID,
        lineage: "run".to_owned(),
        log: "log".to_owned(),
        at: None,
        from,
        skip,
        limit,
    };
    let all = read(rows, end, &asked(LogSide::First, 0, usize::MAX)).unwrap();
    prop_assert_eq!((all.length, all.start, &all.records[..]), (held.len() as u64, 0, held));
    let middle = held.len() / 2;
    let last = read(rows, end, &asked(LogSide::Last, 1, middle)).unwrap();
    let to = held.len().saturating_sub(1);
    prop_assert_eq!(&last.records[..], &held[to - middle.min(to)..to]);
    let one = read(rows, end, &asked(LogSide::First, middle as u64, 1)).unwrap();
    prop_assert_eq!(&one.records[..], &held[middle..held.len().min(middle + 1)]);
    Ok(())
}

/// Runs the steps, and then removes everything. `count` returns the number of records and branches in the rows.
pub(crate) fn check<R: LogRows>(
    rows: &mut R,
    steps: Vec<Step>,
    count: impl Fn(&R) -> (u64, u64),
) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    model.run(rows, steps, &count)?;
    let marks: Vec<_> = model.puts.iter().map(|put| (put.seq, &*put.marks)).collect();
    release(rows, marks).unwrap();
    for lin in 1..4 {
        remove_all(rows, lin).unwrap();
    }
    prop_assert_eq!(count(rows), (0, 0), "nothing is left");
    Ok(())
}
