//! Compares every backend with a simple model. For random sequences of operations and queries, the backend and the
//! model must give the same answers. The sequences use few names, so that operations often affect the same checkpoints.

mod copies;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use crate::common::prelude::*;
#[cfg(all(feature = "postgres", unix))]
use forkpoint_engine::backend::postgres::Postgres;
use forkpoint_engine::codec::frame;
use forkpoint_engine::record::Draft;
use forkpoint_engine::retention::LEASES;
use proptest::prelude::*;

/// A record with a unique number. The number distinguishes records with equal content.
type Numbered = (u64, Record);

/// The logs that a checkpoint names: the name of each log, and the records of the log that the checkpoint keeps.
type Kept = Vec<(String, Vec<Numbered>)>;

/// A model of a backend: a list in save order. The model scans the whole list for every answer.
#[derive(Clone, Default)]
struct Model {
    /// The checkpoints in save order. The checkpoint that was saved last is at the end.
    saved: Vec<Checkpoint>,
    /// Lineages in the order in which they began.
    begun: Vec<Begun>,
    positions: i64,
    /// The pending writes, each with its checkpoint. They are in the order in which each task and index was first
    /// written.
    writes: Vec<(ContractId, String, Write)>,
    /// The records of each log, by lineage and name. A log without records is not in the map.
    logs: BTreeMap<(ContractId, String, String), Vec<Numbered>>,
    /// The logs that each checkpoint keeps, by the id of the checkpoint.
    kept: BTreeMap<(ContractId, String), Kept>,
    appended: u64,
}

/// A lineage. A lineage begins with its first checkpoint or its first record.
#[derive(Clone)]
struct Begun {
    contract: ContractId,
    name: String,
    position: i64,
    /// The group of the lineage's first checkpoint.
    group: String,
    /// The origin, if the lineage is a fork: the source checkpoint, and the position of the source's lineage.
    origin: Option<(String, i64)>,
    /// The labels. They mean nothing while the lineage has no checkpoint.
    labels: Labels,
}

impl Model {
    /// Applies a unit. A unit that fails changes nothing.
    fn apply(&mut self, unit: &Unit) -> Result<Applied, Code> {
        let before = self.clone();
        let mut applied = Applied::default();
        let done = unit.expect.iter().try_for_each(|expect| self.expect(expect)).and_then(|()| {
            unit.ops.iter().try_for_each(|op| {
                self.op(op, &mut applied)?;
                self.end_lineages();
                Ok(())
            })
        });
        if done.is_err() {
            *self = before;
        }
        done.map(|()| applied)
    }

    fn expect(&self, expect: &Expect) -> Result<(), Code> {
        match expect {
            Expect::NewestSave { contract, lineage, newest, or } => {
                let found = self.newest_first(*contract, |header| header.lineage == *lineage);
                let found = found.first().map(|row| &row.header.sort_key);
                if found == newest.as_ref() || found == Some(or) { Ok(()) } else { Err(Code::Conflict) }
            }
            Expect::Newest { contract, lineage, newest, or } => {
                let found = self.newest_first(*contract, |header| header.lineage == *lineage);
                let found = found.first().map(|found| found.header.id.clone());
                if found == *newest || found.as_ref() == Some(or) { Ok(()) } else { Err(Code::Conflict) }
            }
            Expect::Checkpoint { contract, id, must, otherwise } => {
                let found = self.newest_first(*contract, |header| header.id == *id);
                let found = found.first().map(|found| &found.header);
                let holds = match (must, found) {
                    (Must::BeSavedSince(time), Some(header)) => header.saved_at >= *time,
                    (Must::NotBeSavedSince(time), Some(header)) => header.saved_at < *time,
                    (Must::HaveSortKey(sort_key), Some(header)) => header.sort_key == *sort_key,
                    (Must::HaveMeta(bytes), Some(header)) => header.meta.starts_with(bytes),
                    (Must::BelongTo(lineage), Some(header)) => header.lineage == *lineage,
                    (Must::BeSavedSince(_) | Must::HaveSortKey(_) | Must::HaveMeta(_), None) => false,
                    (Must::NotBeSavedSince(_) | Must::BelongTo(_), None) => true,
                };
                if holds { Ok(()) } else { Err(otherwise.code()) }
            }
            Expect::Stored { contract, id, lineage, otherwise } => {
                let is_meant =
                    |header: &Header| id.as_ref() == Some(&header.id) || lineage.as_ref() == Some(&header.lineage);
                if self.newest_first(*contract, is_meant).is_empty() { Err(otherwise.code()) } else { Ok(()) }
            }
            Expect::Incarnation { contract, lineage, position, otherwise } => {
                let found = self.begun(*contract, lineage).map(|begun| begun.position);
                if found == Some(*position) { Ok(()) } else { Err(otherwise.code()) }
            }
            // The leases of the model never expire.
            Expect::Unleased { lineage, except, .. } => {
                let found = self.newest_first(LEASES, |header| header.lineage == *lineage);
                let is_free = found.first().is_none_or(|lease| except.contains(&lease.header.id));
                if is_free { Ok(()) } else { Err(Code::Conflict) }
            }
            Expect::UnleasedRunOf { contract, id, prefix, except } => {
                let found = self.newest_first(*contract, |header| header.id == *id);
                let Some(run) = found.first().map(|row| row.header.lineage.clone()) else { return Ok(()) };
                self.expect(&Expect::Unleased { lineage: format!("{prefix}{run}"), run, except: except.clone() })
            }
            Expect::FreeSlot { contract, id, task, index } => {
                let taken = self.writes.iter().any(|(of, to, write)| {
                    (of, to) == (contract, id)
                        && write.claimed_by.is_none()
                        && (&write.task, write.index) == (task, *index)
                });
                if taken { Err(Code::Conflict) } else { Ok(()) }
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "all ops, read aloud from top to bottom")]
    fn op(&mut self, op: &Op, applied: &mut Applied) -> Result<(), Code> {
        match op {
            Op::Put(draft) => {
                let Draft { header, logs, labels, .. } = &**draft;
                let others = self.newest_first(header.contract, |other| other.lineage == header.lineage);
                if others.iter().any(|other| other.header.age_offset != header.age_offset) {
                    return Err(Code::InvalidArgument);
                }
                let kept = self.pinned(header, logs)?;
                let payload = self.whole_of(draft);
                let header = Header { sort_key: self.sort_key_of(draft), ..header.clone() };
                let (contract, lineage) = (header.contract, header.lineage.clone());
                self.insert(header, payload, kept, labels);
                applied.lineage = self.begun(contract, &lineage).map(|begun| begun.position);
            }
            Op::Fork(fork) => {
                let Fork { contract, source, id, lineage, sort_key, saved_at, labels } = &**fork;
                let found = |id: &String| {
                    self.newest_first(*contract, |header| header.id == *id).first().map(|row| (*row).clone())
                };
                let Some(of) = found(source) else { return Err(Code::NotFound) };
                if let Some(Checkpoint { header, .. }) = found(id) {
                    let again = header.lineage == *lineage && header.parent.as_ref() == Some(source);
                    return if again { Ok(()) } else { Err(Code::Conflict) };
                }
                if self.begun(*contract, lineage).is_some() {
                    return Err(Code::Conflict);
                }
                let kept = self.kept[&(*contract, source.clone())].clone();
                let header = Header {
                    lineage: lineage.clone(),
                    id: id.clone(),
                    parent: Some(source.clone()),
                    sort_key: sort_key.clone(),
                    saved_at: *saved_at,
                    ..of.header
                };
                self.insert(header, of.payload, kept.clone(), labels);
                applied.lineage = self.begun(*contract, lineage).map(|begun| begun.position);
                for (log, records) in kept.into_iter().filter(|(_, records)| !records.is_empty()) {
                    self.logs.insert((*contract, lineage.clone(), log), records);
                }
            }
            Op::SetLabels { contract, lineage, changes } => {
                if self.newest_first(*contract, |header| header.lineage == *lineage).is_empty() {
                    return Err(Code::NotFound);
                }
                let of = |begun: &&mut Begun| (begun.contract, &begun.name) == (*contract, lineage);
                let begun = self.begun.iter_mut().find(of).unwrap();
                begun.labels = begun.labels.changed(changes).map_err(|error| error.code())?;
            }
            Op::Append { contract, lineage, log, records, must } => {
                let before = self.log(*contract, lineage, log);
                if matches!(must, LogMust::HaveLength(length) if *length != before.len() as u64) {
                    return Err(Code::Conflict);
                }
                let mut all = before.clone();
                let mut left_out = Vec::new();
                for (at, record) in records.iter().enumerate() {
                    self.appended += 1;
                    if record.key.is_some() && all.iter().any(|(_, held)| held.key == record.key) {
                        left_out.push(at);
                    } else {
                        all.push((self.appended, record.clone()));
                    }
                }
                if *must == LogMust::LackTheKeys && !left_out.is_empty() {
                    return Err(Code::Conflict);
                }
                applied.appended.push(Appended { length: all.len() as u64, left_out });
                if all.len() > before.len() {
                    self.begin(*contract, lineage);
                    self.logs.insert((*contract, lineage.clone(), log.clone()), all);
                }
            }
            Op::Truncate { contract, lineage, log, to } => {
                let key = (*contract, lineage.clone(), log.clone());
                match to {
                    LogEnd::Length(length) => {
                        let length = usize::try_from(*length).unwrap();
                        self.logs.entry(key).or_default().truncate(length);
                    }
                    LogEnd::Checkpoint(id) => {
                        let kept = self.kept_by(*contract, lineage, id, log).ok_or(Code::NotFound)?;
                        self.logs.insert(key, kept);
                    }
                }
                self.logs.retain(|_, records| !records.is_empty());
            }
            Op::RemoveLogs { contract, lineage } => {
                self.logs.retain(|(of, name, _), _| (*of, name) != (*contract, lineage));
            }
            Op::Touch { contract, id, saved_at } => {
                let rows = self.saved.iter_mut().map(|row| &mut row.header);
                for header in rows.filter(|header| (header.contract, &header.id) == (*contract, id)) {
                    header.saved_at = header.saved_at.max(*saved_at);
                }
            }
            Op::Remove { contract, id } => self.remove(|header| (header.contract, &header.id) == (*contract, id)),
            Op::RemoveLineages { contract, prefix } => {
                let goes =
                    |of: ContractId, name: &str| of == *contract && !prefix.is_empty() && name.starts_with(prefix);
                self.remove(|header| goes(header.contract, &header.lineage));
                self.logs.retain(|(of, name, _), _| !goes(*of, name));
            }
            Op::Reopen { contract, id } => {
                let (mine, others) =
                    self.writes.drain(..).partition::<Vec<_>, _>(|(of, to, _)| (*of, to) == (*contract, id));
                self.writes = others;
                let mut left: Vec<(ContractId, String, Write)> = Vec::new();
                for (of, to, mut write) in mine {
                    write.claimed_by = None;
                    let same = |(.., held): &&mut (ContractId, String, Write)| {
                        (&held.task, held.index) == (&write.task, write.index)
                    };
                    match left.iter_mut().find(same) {
                        Some((.., held)) => (held.part, held.state) = (write.part, write.state),
                        None => left.push((of, to, write)),
                    }
                }
                // The writes are grouped by task. The tasks are in the order of their first writes.
                while let Some((.., first)) = left.first().cloned() {
                    let (mine, others) =
                        left.into_iter().partition::<Vec<_>, _>(|(.., write)| write.task == first.task);
                    let state = mine.iter().map(|(.., write)| write.state).collect();
                    self.writes.extend(mine.into_iter().map(|(of, to, write)| (of, to, Write { state, ..write })));
                    left = others;
                }
            }
            Op::Write { contract, id, writes, replace, .. } => {
                if writes.iter().any(|write| write.state.has(TaskState::ANSWERS)) {
                    for (.., held) in self.open_writes(*contract, id) {
                        held.state = held.state.answered();
                    }
                }
                for row in writes.chunk_by(|a, b| (&a.task, &a.claimed_by) == (&b.task, &b.claimed_by)) {
                    let state = row.iter().map(|write| write.state.kept()).collect();
                    for write in row.iter().filter(|write| write.claimed_by.is_some()) {
                        self.writes.push((*contract, id.clone(), Write { state, ..write.clone() }));
                    }
                }
                for write in writes.iter().filter(|write| write.claimed_by.is_none()) {
                    let taken = self.writes.iter_mut().find(|(of, to, held)| {
                        (*of, to, &held.task, held.index) == (*contract, id, &write.task, write.index)
                            && held.claimed_by.is_none()
                    });
                    match taken {
                        Some((.., held)) if *replace => held.part = write.part.clone(),
                        Some(_) => {}
                        None => {
                            let mine = |(of, to, held): &(ContractId, String, Write)| {
                                (*of, to, &held.task, &held.claimed_by) == (*contract, id, &write.task, &None)
                            };
                            let end = self.writes.iter().rposition(mine).map_or(self.writes.len(), |last| last + 1);
                            self.writes.insert(end, (*contract, id.clone(), write.clone()));
                        }
                    }
                }
                let told = writes.iter().filter(|write| write.claimed_by.is_none());
                self.tell(*contract, id, told.map(|write| (&*write.task, write.state.kept())).collect());
            }
            Op::Claim { contract, id, claimed_by } => {
                for (of, to, write) in &mut self.writes {
                    if (*of, &*to) == (*contract, id) && write.claimed_by.is_none() {
                        write.claimed_by = Some(claimed_by.clone());
                    }
                }
            }
            Op::RemoveWrites { contract, prefix } => {
                self.writes.retain(|(of, id, _)| of != contract || !id.starts_with(prefix));
            }
            Op::RemoveFrom { contract, lineage, sort_key } => {
                self.remove(|header| {
                    (header.contract, &header.lineage) == (*contract, lineage) && header.sort_key >= *sort_key
                });
            }
            Op::KeepLast { contract, lineage, keep, pinned } => {
                let others =
                    self.youngest_first(*contract, |header| header.lineage == *lineage && header.id != *pinned);
                let pinned = self.newest_first(*contract, |header| header.lineage == *lineage && header.id == *pinned);
                let keep = usize::try_from(*keep).unwrap() - pinned.len();
                let gone: Vec<String> = others.into_iter().skip(keep).map(|row| row.header.id.clone()).collect();
                let gone = self.closed(|header| header.contract == *contract && gone.contains(&header.id));
                self.remove(|header| gone.contains(&(header.contract, header.id.clone())));
            }
        }
        Ok(())
    }

    fn open_writes(
        &mut self,
        contract: ContractId,
        id: &str,
    ) -> impl Iterator<Item = &mut (ContractId, String, Write)> {
        let of = move |(of, to, held): &&mut (ContractId, String, Write)| {
            (*of, &**to) == (contract, id) && held.claimed_by.is_none()
        };
        self.writes.iter_mut().filter(of)
    }

    /// Adds to the states of tasks. All unclaimed writes of a task have the same state.
    fn tell(&mut self, contract: ContractId, id: &str, told: Vec<(&str, TaskState)>) {
        for (task, state) in told {
            let of = |held: &Write| held.task == task;
            let held: TaskState =
                self.open_writes(contract, id).filter(|(.., held)| of(held)).map(|(.., held)| held.state).collect();
            self.open_writes(contract, id).filter(|(.., held)| of(held)).for_each(|(.., write)| {
                write.state = held.kept() | state;
            });
        }
    }

    /// The status of a lineage, from its newest checkpoint and the unclaimed writes to it.
    fn status(&self, contract: ContractId, lineage: &str) -> Status {
        let rows = self.newest_first(contract, |header| header.lineage == lineage);
        let Some(newest) = rows.first() else { return Status::Unknown };
        let writes = self
            .writes
            .iter()
            .filter(|(of, to, write)| (*of, to) == (contract, &newest.header.id) && write.claimed_by.is_none());
        Status::of(newest.header.status, writes.map(|(.., write)| write.state))
    }

    /// Returns the records of a log.
    fn log(&self, contract: ContractId, lineage: &str, log: &str) -> Vec<Numbered> {
        self.logs.get(&(contract, lineage.to_owned(), log.to_owned())).cloned().unwrap_or_default()
    }

    /// Returns the records of a log that a checkpoint of the lineage keeps.
    fn kept_by(&self, contract: ContractId, lineage: &str, id: &str, log: &str) -> Option<Vec<Numbered>> {
        let found = self.newest_first(contract, |header| header.lineage == lineage && header.id == id);
        let kept = &self.kept[&(contract, found.first()?.header.id.clone())];
        kept.iter().find(|(name, _)| name == log).map(|(_, records)| records.clone())
    }

    fn pinned(&self, header: &Header, pins: &[LogPin]) -> Result<Kept, Code> {
        let mut kept = Kept::new();
        for LogPin { log, length } in pins {
            let live = self.log(header.contract, &header.lineage, log);
            let length = length.map_or(live.len(), |length| usize::try_from(length).unwrap());
            if length > live.len() || kept.iter().any(|(name, _)| name == log) {
                return Err(Code::InvalidArgument);
            }
            kept.push((log.clone(), live[..length].to_vec()));
        }
        Ok(kept)
    }

    fn begun(&self, contract: ContractId, name: &str) -> Option<&Begun> {
        self.begun.iter().find(|begun| (begun.contract, &*begun.name) == (contract, name))
    }

    fn begin(&mut self, contract: ContractId, name: &str) {
        if self.begun(contract, name).is_none() {
            self.positions += 1;
            let (name, position) = (name.to_owned(), self.positions);
            self.begun.push(Begun {
                contract,
                name,
                position,
                group: String::new(),
                origin: None,
                labels: Labels::default(),
            });
        }
    }

    /// Saves a checkpoint. Replaces the checkpoint with the same id.
    fn insert(&mut self, header: Header, payload: Payload, kept: Kept, labels: &Labels) {
        let Header { contract, lineage, id, .. } = header.clone();
        self.begin(contract, &lineage);
        if self.newest_first(contract, |other| other.lineage == lineage).is_empty() {
            let parent = self.newest_first(contract, |other| Some(&other.id) == header.parent.as_ref());
            let parent = parent.first().map(|parent| (parent.header.id.clone(), parent.header.lineage.clone()));
            let origin = parent.filter(|(_, from)| *from != lineage);
            let origin = origin.map(|(id, from)| (id, self.begun(contract, &from).unwrap().position));
            let first =
                self.begun.iter_mut().find(|begun| (begun.contract, &begun.name) == (contract, &lineage)).unwrap();
            (first.group, first.origin, first.labels) = (header.group.clone(), origin, labels.clone());
        }
        self.saved.retain(|old| (old.header.contract, &old.header.id) != (contract, &id));
        let mark = |(log, records): &(String, Vec<_>)| LogMark { log: log.clone(), length: records.len() as u64 };
        self.saved.push(Checkpoint { header, payload, logs: kept.iter().map(mark).collect() });
        self.kept.insert((contract, id), kept);
    }

    /// Returns the sort key that the checkpoint gets. One whose order the store gives is not before the checkpoint that it
    /// replaces, or before the newest one of its lineage.
    fn sort_key_of(&self, Draft { header, order, .. }: &Draft) -> SortKey {
        let Header { contract, lineage, id, sort_key: given, .. } = header;
        let newest_first = self.newest_first(*contract, |other| other.lineage == *lineage);
        let replaced = newest_first.iter().find(|row| row.header.id == *id);
        let bound = replaced.or(newest_first.first()).map(|row| &row.header.sort_key).filter(|bound| *bound > given);
        match (bound, order) {
            (None, _) | (_, Order::SortKey) => given.clone(),
            (Some(bound), Order::Save) if replaced.is_some() => bound.clone(),
            (Some(SortKey(bound)), Order::Save) => {
                // A key that was raised ends with 1 and a number of twelve digits.
                let base = bound.len().checked_sub(13).filter(|at| bound[*at] == 1);
                let number = base.and_then(|at| std::str::from_utf8(&bound[at + 1..]).ok()?.parse::<u64>().ok());
                let base = &bound[..number.and(base).unwrap_or(bound.len())];
                SortKey([base, &[1], format!("{:012}", number.unwrap_or(0) + 1).as_bytes()].concat())
            }
            (Some(SortKey(bound)), Order::SaveOfNumber) if bound.get(8..) == Some(&given.0) => SortKey(bound.clone()),
            (Some(SortKey(bound)), Order::SaveOfNumber) => match bound.first_chunk() {
                Some(number) => SortKey((u64::from_be_bytes(*number) + 1).to_be_bytes().to_vec()).then(given),
                None => given.clone(),
            },
        }
    }

    /// Returns the payload with its inherited parts. The parts come from the parent, or from the newest checkpoint of
    /// the lineage.
    fn whole_of(&self, given: &Draft) -> Payload {
        let mut whole = given.payload.clone();
        let Header { contract, lineage, parent, .. } = &given.header;
        let parents = self.newest_first(*contract, |header| Some(&header.id) == parent.as_ref());
        let others = self.newest_first(*contract, |header| header.lineage == *lineage);
        for name in &given.inherit {
            let like = given.like.iter().find(|part| part.name == *name);
            let named: Vec<&Part> = others.iter().filter_map(|from| from.payload.part(name)).collect();
            let parents = parents.iter().find_map(|from| from.payload.part(name));
            let equal = named.iter().find(|part| like.is_none_or(|like| like == **part));
            whole.parts.extend(parents.or(equal.or(named.first()).copied()).cloned());
        }
        if !given.inherit.is_empty() {
            whole.parts.sort_by(|a, b| a.name.cmp(&b.name));
        }
        whole
    }

    /// Removes checkpoints together with their pending writes. The last checkpoint of a thread takes the writes to
    /// checkpoints that are not stored.
    fn remove(&mut self, goes: impl Fn(&Header) -> bool) {
        let mut of_threads = Vec::new();
        for gone in self.saved.extract_if(.., |row| goes(&row.header)) {
            self.kept.remove(&(gone.header.contract, gone.header.id.clone()));
            self.writes.retain(|(contract, id, _)| (*contract, id) != (gone.header.contract, &gone.header.id));
            if gone.header.contract.has_namespaces() {
                of_threads.push((gone.header.contract, gone.header.lineage));
            }
        }
        let saved = &self.saved;
        of_threads.retain(|of| !saved.iter().any(|row| (row.header.contract, &row.header.lineage) == (of.0, &of.1)));
        let owned = |contract: ContractId, id: &str| {
            saved.iter().any(|row| (row.header.contract, &*row.header.id) == (contract, id))
        };
        let ended = |of: ContractId, id: &str| {
            of_threads.iter().any(|(contract, thread)| *contract == of && id.starts_with(thread))
        };
        self.writes.retain(|(contract, id, _)| !ended(*contract, id) || owned(*contract, id));
    }

    fn end_lineages(&mut self) {
        let (saved, logs) = (&self.saved, &self.logs);
        self.begun.retain(|Begun { contract, name, .. }| {
            saved.iter().any(|row| (row.header.contract, &row.header.lineage) == (*contract, name))
                || logs.keys().any(|(of, lineage, _)| (of, lineage) == (contract, name))
        });
    }

    /// Applies a rule. Returns the numbers of removed checkpoints and lineages.
    fn prune(&mut self, contract: Option<ContractId>, rule: Rule) -> (usize, usize) {
        let before = (self.saved.len(), self.listed().len());
        let of = |header: &Header| contract.is_none_or(|contract| header.contract == contract);
        match rule {
            Rule::SavedBefore(time) | Rule::AllSavedBefore(time) => {
                // The newest checkpoint of a run that waits stays.
                let spares = matches!(rule, Rule::SavedBefore(_));
                let stays = |Header { contract, lineage, id, .. }: &Header| {
                    let newest = self.newest_first(*contract, |header| header.lineage == *lineage);
                    spares
                        && newest.first().is_some_and(|row| row.header.id == *id)
                        && self.status(*contract, lineage) == Status::Waiting
                };
                let gone =
                    self.closed(|header| of(header) && !header.exempt && header.saved_at < time && !stays(header));
                self.remove(|header| gone.contains(&(header.contract, header.id.clone())));
            }
            Rule::KeepLast(keep) => {
                for Begun { contract, name: lineage, .. } in self.begun.clone() {
                    let rows = self.youngest_first(contract, |header| header.lineage == lineage).into_iter();
                    let gone: Vec<_> =
                        rows.skip(usize::try_from(keep).unwrap()).map(|row| row.header.id.clone()).collect();
                    let gone =
                        self.closed(|header| header.contract == contract && of(header) && gone.contains(&header.id));
                    self.remove(|header| gone.contains(&(header.contract, header.id.clone())));
                }
            }
            Rule::MaxBytes(_) => unreachable!("what payloads take is each backend's own: tests/retention.rs"),
        }
        self.end_lineages();
        (before.0 - self.saved.len(), before.1 - self.listed().len())
    }

    /// Returns the lineages that have checkpoints, in the order in which the lineages began.
    fn listed(&self) -> Vec<&Begun> {
        let has = |begun: &Begun| !self.newest_first(begun.contract, |header| header.lineage == begun.name).is_empty();
        self.begun.iter().filter(|begun| has(begun)).collect()
    }

    /// Returns the checkpoints that match `goes` and may be removed. A checkpoint may be removed only if no remaining
    /// checkpoint depends on it.
    fn closed(&self, goes: impl Fn(&Header) -> bool) -> Vec<(ContractId, String)> {
        let named = |header: &Header| (header.contract, header.id.clone());
        let mut gone: Vec<_> = self.saved.iter().map(|row| &row.header).filter(|header| goes(header)).collect();
        loop {
            let staying = |of: &Header| {
                self.saved.iter().map(|row| &row.header).any(|child| {
                    (child.contract, &child.lineage) == (of.contract, &of.lineage)
                        && child.depends_on_parent
                        && child.parent.as_ref() == Some(&of.id)
                        && !gone.iter().any(|other| named(other) == named(child))
                })
            };
            let kept: Vec<_> = gone.iter().copied().filter(|header| !staying(header)).collect();
            if kept.len() == gone.len() {
                return gone.into_iter().map(named).collect();
            }
            gone = kept;
        }
    }

    /// Returns the number of stored records. What nothing names is freed.
    fn records(&self, contract: Option<ContractId>, how: Records) -> u64 {
        let logs = self.logs.iter().map(|((of, lineage, _), records)| (*of, lineage, records));
        let kept = self.saved.iter().map(|row| &row.header).flat_map(|Header { contract: of, lineage, id, .. }| {
            self.kept[&(*of, id.clone())].iter().map(move |(_, records)| (*of, lineage, records))
        });
        let all = logs.chain(kept).filter(|(of, ..)| contract.is_none_or(|contract| contract == *of));
        let all = all.flat_map(|(_, lineage, records)| {
            let lineage = (how == Records::OfLineages).then_some(lineage);
            records.iter().map(move |(number, _)| (lineage, number))
        });
        all.collect::<BTreeSet<_>>().len() as u64
    }

    /// Returns the statistics that every backend reports. Figures that only one backend reports are left out.
    fn stats(&self, contract: Option<ContractId>, records: Records) -> (Sizes, Vec<LineageStats>) {
        let of = |other: ContractId| contract.is_none_or(|contract| contract == other);
        let records = self.records(contract, records);
        let (mut sizes, mut lineages) = (Sizes { records, ..Sizes::default() }, Vec::new());
        let with_checkpoints: BTreeSet<_> =
            self.listed().into_iter().map(|begun| (begun.contract, &begun.name)).collect();
        let with_logs: BTreeSet<_> = self.logs.keys().map(|(contract, name, _)| (*contract, name)).collect();
        sizes.lineages += with_logs.difference(&with_checkpoints).filter(|(contract, _)| of(*contract)).count() as u64;
        for Begun { contract: of, name, .. } in self.listed().into_iter().filter(|begun| of(begun.contract)) {
            let rows = self.newest_first(*of, |header| header.lineage == *name);
            let lineage = LineageStats {
                contract: *of,
                lineage: name.clone(),
                checkpoints: rows.len() as u64,
                logical_bytes: rows.iter().map(|row| frame::length(&row.payload) as u64).sum(),
                stored_bytes: 0,
                record_bytes: 0,
            };
            sizes.lineages += 1;
            sizes.checkpoints += lineage.checkpoints;
            sizes.logical_bytes += lineage.logical_bytes;
            lineages.push(lineage);
        }
        for begun in self.begun.iter().filter(|begun| of(begun.contract)) {
            sizes.statuses[self.status(begun.contract, &begun.name) as usize] += 1;
        }
        lineages.sort_by(|a, b| (a.contract, &a.lineage).cmp(&(b.contract, &b.lineage)));
        (sizes, lineages)
    }

    /// Returns the matching checkpoints, the newest first. The sort is stable, so checkpoints with equal sort keys keep
    /// the save order.
    fn newest_first(&self, contract: ContractId, keep: impl Fn(&Header) -> bool) -> Vec<&Checkpoint> {
        let mut found: Vec<&Checkpoint> =
            self.saved.iter().filter(|row| row.header.contract == contract && keep(&row.header)).collect();
        found.sort_by(|a, b| a.header.sort_key.cmp(&b.header.sort_key));
        found.reverse();
        found
    }

    /// Returns the matching checkpoints in the order of retention by number.
    fn youngest_first(&self, contract: ContractId, keep: impl Fn(&Header) -> bool) -> Vec<&Checkpoint> {
        let by_save = |row: &&Checkpoint| row.header.age_offset != 0;
        let mut found = self.newest_first(contract, &keep);
        if found.first().is_some_and(by_save) {
            found = self.saved.iter().filter(|row| row.header.contract == contract && keep(&row.header)).collect();
            found.reverse();
        }
        found
    }

    fn shown(&self, begun: &Begun) -> Lineage {
        let rows = self.newest_first(begun.contract, |header| header.lineage == begun.name);
        Lineage {
            position: begun.position,
            checkpoints: rows.len() as u64,
            newest: rows[0].header.clone(),
            seq: 0,
            origin: begun.origin.as_ref().map(|(id, _)| id.clone()),
            status: self.status(begun.contract, &begun.name),
        }
    }

    fn start(&self, begun: &Begun) -> Start {
        let Begun { contract, name, group, origin, labels, .. } = begun;
        let rows = self.newest_first(*contract, |header| header.lineage == *name);
        let origin = origin.as_ref().map(|(id, of)| Origin {
            id: id.clone(),
            position: 0,
            lineage: self.begun.iter().find(|begun| begun.position == *of).map(|begun| begun.name.clone()),
        });
        let first =
            rows.first().map(|row| FirstCheckpoint { group: group.clone(), age_offset: row.header.age_offset, origin });
        let labels = if first.is_some() { labels.clone() } else { Labels::default() };
        Start { position: 0, contract: *contract, name: name.clone(), first, labels }
    }

    fn rows(&self, wanted: &Rows) -> RowPage {
        let Rows { contract, lineage, from, order, limit, sums: _ } = wanted;
        let mut all: Vec<(u64, &Checkpoint)> =
            (0..).zip(self.newest_first(*contract, |header| header.lineage == *lineage).into_iter().rev()).collect();
        let checkpoints = all.len() as u64;
        if *order == RowOrder::NewestFirst {
            all.reverse();
        }
        let place = |step: i64| if step < 0 { step + checkpoints.cast_signed() } else { step };
        let first = match from {
            RowsFrom::End => Some(0),
            RowsFrom::Id(id) => all.iter().position(|(_, row)| row.header.id == *id),
            RowsFrom::Step(step) => all.iter().position(|(at, _)| at.cast_signed() == place(*step)),
            RowsFrom::After(..) => unreachable!("the model has no save numbers"),
        };
        let rows = all.into_iter().skip(first.unwrap_or(usize::MAX)).take(*limit).map(|(step, row)| {
            let header = row.header.clone();
            Listed { seq: 0, step, header, logical_bytes: 0, stored_bytes: 0, chain: 0 }
        });
        let origin = self.begun(*contract, lineage).and_then(|begun| begun.origin.as_ref());
        let origin = origin.filter(|_| checkpoints > 0).map(|(id, of)| {
            let name = self.begun.iter().find(|begun| begun.position == *of).map(|begun| begun.name.clone());
            (id.clone(), name)
        });
        let status = self.status(*contract, lineage);
        let begun = self.begun(*contract, lineage).filter(|_| checkpoints > 0);
        let labels = begun.map_or_else(Labels::default, |begun| begun.labels.clone());
        RowPage { checkpoints, origin, status, labels, rows: rows.collect(), sums: None }
    }

    fn tuple(&self, found: &Checkpoint) -> Tuple {
        let to = (found.header.contract, &found.header.id);
        let writes = self.writes.iter().filter(|(contract, id, _)| (*contract, id) == to);
        Tuple { checkpoint: found.clone(), writes: writes.map(|(.., write)| write.clone()).collect() }
    }

    #[expect(clippy::too_many_lines, reason = "all queries, read aloud from top to bottom")]
    fn answer(&self, query: &Query) -> Answer {
        let one = |found: Option<&&Checkpoint>| Answer::Checkpoint(found.map(|row| Box::new((*row).clone())));
        match query {
            Query::Get { contract, id } => one(self.newest_first(*contract, |header| header.id == *id).first()),
            Query::Newest { contract, lineage, label: None } => {
                one(self.newest_first(*contract, |header| header.lineage == *lineage).first())
            }
            Query::Newest { contract, lineage, label: Some(label) } => {
                let keep = |header: &Header| header.lineage == *lineage && header.label == *label && !label.is_empty();
                one(self.newest_first(*contract, keep).first())
            }
            Query::Whole { contract, of, prefix } => {
                let mut found = self.newest_first(*contract, |header| is_of(header, of));
                found.retain(|row| row.header.sort_key.0.starts_with(prefix));
                Answer::Checkpoints(found.into_iter().rev().cloned().collect())
            }
            Query::Tuple { contract, pick } => {
                let found = self.newest_first(*contract, |header| match pick {
                    Pick::Id(id) => header.id == *id,
                    Pick::Newest(lineage) => header.lineage == *lineage,
                });
                Answer::Tuple(found.first().map(|found| Box::new(self.tuple(found))))
            }
            Query::Ancestors(Ancestors { contract, id, stems, writes, limit }) => {
                let get = |id: &String| self.newest_first(*contract, |header| header.id == *id).first().copied();
                let mut wanted = stems.clone();
                let mut found = Vec::new();
                let mut at = get(id);
                while let Some(row) = at.filter(|_| !wanted.is_empty() && found.len() < *limit) {
                    let mut tuple = self.tuple(row);
                    let stem = |part: &Part| part.name.rsplit_once('\0').map(|(stem, _)| stem.to_owned());
                    tuple.checkpoint.payload.parts.retain(|part| stem(part).is_some_and(|stem| wanted.contains(&stem)));
                    tuple.writes.retain(|write| writes.contains(&write.part.name));
                    wanted.retain(|name| {
                        !tuple.checkpoint.payload.parts.iter().any(|part| stem(part).as_ref() == Some(name))
                    });
                    found.push(tuple);
                    at = row.header.parent.as_ref().and_then(get);
                }
                Answer::Tuples(found)
            }
            Query::List { contract, of, before, limit } => {
                let mut found = self.newest_first(*contract, |header| is_of(header, of));
                found.retain(|row| before.as_ref().is_none_or(|before| row.header.sort_key < *before));
                let found = found.into_iter().map(|row| row.header.clone());
                Answer::Headers(found.take(limit.unwrap_or(usize::MAX)).collect())
            }
            Query::Page(Page { contract, of, order, after, skip, filter, limit, bytes, looks, .. }) => {
                assert_eq!((after, *bytes), (&None, usize::MAX), "the model has no save numbers and no frames");
                let mut found = self.newest_first(*contract, |header| is_of(header, of));
                if *order == RowOrder::OldestFirst {
                    found.reverse();
                }
                if let Some(MetaFilter { all, or, end, .. }) = filter {
                    let has = |meta: &[u8], text: &[u8]| meta.windows(text.len()).any(|at| at == text);
                    found.truncate(*looks);
                    found.retain(|row| {
                        let meta = &row.header.meta;
                        !meta.ends_with(end) || has(meta, or) || all.iter().all(|text| has(meta, text))
                    });
                }
                let tuples = found.into_iter().skip(*skip).take(*limit).map(|row| self.tuple(row)).collect();
                Answer::Page(TuplePage { tuples, next: None })
            }
            Query::Count { contract, of } => {
                Answer::Count(self.newest_first(*contract, |header| is_of(header, of)).len() as u64)
            }
            Query::All(queries) => Answer::All(queries.iter().map(|query| self.answer(query)).collect()),
            Query::Lineages { contract, group_prefix, before, limit } => {
                let found = self.listed().into_iter().rev().filter(|begun| {
                    begun.contract == *contract
                        && begun.group.starts_with(group_prefix)
                        && before.is_none_or(|before| begun.position < before)
                });
                Answer::Lineages(found.take(*limit).map(|begun| self.shown(begun)).collect())
            }
            Query::Recent(recent) => {
                assert_eq!(recent.after, None, "the model has no save numbers");
                let mut found: Vec<_> = self.listed().into_iter().map(|begun| (begun, self.shown(begun))).collect();
                found.retain(|(begun, _)| recent.contracts.contains(&begun.contract));
                found.retain(|(begun, _)| begun.name.contains(&recent.matching));
                found.retain(|(begun, _)| !recent.named_as_group || begun.name == begun.group);
                found.retain(|(_, lineage)| recent.statuses.is_empty() || recent.statuses.contains(&lineage.status));
                found.retain(|(begun, _)| begun.labels.has(&recent.labels));
                let place = |lineage: &Lineage| self.saved.iter().position(|row| row.header == lineage.newest);
                found.sort_by_key(|(_, lineage)| place(lineage));
                if recent.order == ActivityOrder::LatestFirst {
                    found.reverse();
                }
                let found = found.into_iter().take(recent.limit);
                Answer::Recent(found.map(|(_, lineage)| lineage).collect())
            }
            Query::Open { contract, most } => {
                let shown = self.listed().into_iter().filter(|begun| begun.contract == *contract);
                let open = shown.map(|begun| self.shown(begun)).filter(|shown| shown.status != Status::Finished);
                let some: Vec<_> = open.map(|Lineage { newest, status, .. }| OpenLineage { newest, status }).collect();
                assert!(some.len() <= *most, "the model returns all");
                Answer::Open(OpenLineages { count: some.len() as u64, is_estimate: false, some })
            }
            Query::Names { contract, prefix } => {
                let begun = self.begun.iter().rev().filter(|begun| begun.contract == *contract);
                Answer::Names(begun.map(|begun| begun.name.clone()).filter(|name| name.starts_with(prefix)).collect())
            }
            Query::Forks { contract, lineage } => {
                let from = self.begun(*contract, lineage).map(|begun| begun.position);
                let is_fork = |begun: &&Begun| begun.origin.as_ref().is_some_and(|(_, of)| Some(*of) == from);
                Answer::Lineages(
                    self.listed().into_iter().rev().filter(is_fork).map(|begun| self.shown(begun)).collect(),
                )
            }
            Query::Log(LogRange { contract, lineage, log, at, from, skip, limit }) => {
                let records = match at {
                    None => Some(self.log(*contract, lineage, log)),
                    Some(id) => self.kept_by(*contract, lineage, id, log),
                };
                Answer::Log(records.map(|records| {
                    let (skip, length) = (usize::try_from(*skip).unwrap(), records.len() as u64);
                    let records = records.into_iter().map(|(_, record)| record).enumerate();
                    let found: Vec<(usize, Record)> = match from {
                        LogSide::First => records.skip(skip).take(*limit).collect(),
                        LogSide::Last => {
                            let mut found: Vec<_> = records.rev().skip(skip).take(*limit).collect();
                            found.reverse();
                            found
                        }
                    };
                    let edge = length.min(skip as u64);
                    let end = if *from == LogSide::First { edge } else { length - edge };
                    let start = found.first().map_or(end, |(at, _)| *at as u64);
                    LogPage { length, start, records: found.into_iter().map(|(_, record)| record).collect() }
                }))
            }
            Query::Logged { contract, pick, log } => {
                let found = self.newest_first(*contract, |header| match pick {
                    Pick::Id(id) => header.id == *id,
                    Pick::Newest(lineage) => header.lineage == *lineage,
                });
                Answer::Logged(found.first().map(|found| {
                    let header = &found.header;
                    let kept = self.kept_by(*contract, &header.lineage, &header.id, log).unwrap_or_default();
                    let records = kept.into_iter().map(|(_, record)| record).collect();
                    Box::new(Logged { checkpoint: (*found).clone(), records })
                }))
            }
            Query::Logs { contract, lineage } => {
                let logs = self.logs.iter().filter(|((of, name, _), _)| (of, name) == (contract, lineage));
                let mark = |((.., log), records): (&(_, _, String), &Vec<_>)| LogMark {
                    log: log.clone(),
                    length: records.len() as u64,
                };
                Answer::Logs(logs.map(mark).collect())
            }
            Query::Saves { after, bytes } => {
                assert_eq!(*after, None, "the model has no save numbers");
                let saved = |row: &Checkpoint| Saved { seq: 0, lineage: 0, checkpoint: row.clone() };
                Answer::Saves(filled(self.saved.iter().map(saved), *bytes, Saved::weight))
            }
            Query::Starts { after, limit } => {
                assert_eq!(*after, None, "positions differ between backends");
                Answer::Starts(self.begun.iter().take(*limit).map(|begun| self.start(begun)).collect())
            }
            Query::Start { contract, lineage } => {
                Answer::Starts(self.begun(*contract, lineage).map(|begun| self.start(begun)).into_iter().collect())
            }
            Query::Writes { after, bytes } => {
                let keys: BTreeSet<_> = self.writes.iter().map(|(of, id, _)| (*of, id.clone())).collect();
                let keys = keys.into_iter().filter(|key| after.as_ref().is_none_or(|after| key > after));
                let written = |(contract, id): (ContractId, String)| {
                    let mine = self.writes.iter().filter(|(of, to, _)| (*of, to) == (contract, &id));
                    let writes = mine.map(|(.., write)| write.clone()).collect();
                    Written { contract, id, writes }
                };
                Answer::Writes(filled(keys.map(written), *bytes, Written::weight))
            }
            Query::LogRuns { contract, lineage, log, at } => {
                let records = match at {
                    None => self.log(*contract, lineage, log),
                    Some(id) => self.kept_by(*contract, lineage, id, log).unwrap_or_default(),
                };
                let to = records.len() as u64;
                Answer::LogRuns((to > 0).then_some(LogRun { branch: 0, to }).into_iter().collect())
            }
            Query::Rows(wanted) => Answer::Rows(self.rows(wanted)),
            Query::Feed(_) => unreachable!("the model has no save numbers"),
            Query::QuickCheck => unreachable!("no step looks at pages"),
            Query::Stats { .. } | Query::Prunable { .. } | Query::Check { .. } => unreachable!("steps of their own"),
            Query::Clock | Query::Format => unreachable!("no step asks for the time or the format"),
        }
    }
}

/// Returns the items of a page. The page ends with the item that fills it.
fn filled<T>(items: impl Iterator<Item = T>, bytes: usize, weight: fn(&T) -> usize) -> Vec<T> {
    let mut size = 0;
    let fits = |item: &T| {
        let before = size;
        size += weight(item);
        before < bytes.max(1)
    };
    items.take_while(fits).collect()
}

fn is_of(header: &Header, of: &Of) -> bool {
    match of {
        Of::Contract => true,
        Of::Lineage(lineage) => header.lineage == *lineage,
        Of::Lineages(prefix) => header.lineage.starts_with(prefix),
        Of::Labelled { prefix, label } => {
            header.lineage.starts_with(prefix) && header.label == *label && !label.is_empty()
        }
        Of::Group(group) => header.group == *group && !group.is_empty(),
        Of::LineageInGroup { lineage, group } => {
            header.lineage == *lineage && header.group == *group && !group.is_empty()
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Unit>),
    Ask(Query),
    /// Lists a page of lineages. The page may continue after the previous page.
    Page {
        contract: ContractId,
        group_prefix: String,
        limit: usize,
    },
    /// Asks which checkpoints a rule would remove, and then prunes in batches of limited size.
    Prune {
        contract: Option<ContractId>,
        rule: Rule,
        most: usize,
    },
    Stats(Option<ContractId>),
    /// Runs a full check in pages. The number is the approximate number of rows in a page.
    Check(usize),
    /// Closes the backend and opens the same database again. A backend without a database file stays open.
    Reopen,
    /// Takes a copy of the database.
    Snapshot,
    /// Puts the last copy back under the open backends.
    Rewind,
}

/// Makes the values of a kind from a strategy for each field.
macro_rules! made {
    ($($kind:ident)::+ { $($field:ident: $of:expr),* $(,)? }) => {
        ($($of,)*).prop_map(|($($field,)*)| $($kind)::+ { $($field),* })
    };
}

fn contract() -> impl Strategy<Value = ContractId> {
    prop_oneof![12 => Just(ContractId(1)), 1 => Just(ContractId(2)), 1 => Just(ContractId(4))]
}

fn name(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(names).prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    name(&["a", "b", "c", "d", "e", "%", "a\0"])
}

fn run() -> impl Strategy<Value = String> {
    prop_oneof![5 => Just("r1"), 3 => Just("r2"), 2 => Just("r3"), 1 => Just("_"), 1 => Just("f1"), 1 => Just("f2")]
        .prop_map(str::to_owned)
}

/// A number that is small, or the largest of all.
fn or_all(small: std::ops::Range<u64>) -> impl Strategy<Value = u64> {
    prop_oneof![9 => small, 1 => Just(u64::MAX)]
}

fn log() -> impl Strategy<Value = String> {
    prop_oneof![8 => Just("log"), 1 => Just("log\0"), 1 => Just("")].prop_map(str::to_owned)
}

/// Makes a group or a label. The empty string means no group or label, so a query for the empty string must find
/// nothing. Some ids begin with a group, and some of these end with a sort key: a backend may store such texts once.
fn word() -> impl Strategy<Value = String> {
    name(&["", "x", "xy", "x\0", "%", "a"])
}

/// Payloads of several sizes. Many payloads share most of their bytes, as in a run, so that a backend stores deltas.
/// Callers must not see a difference between a delta and a whole payload, even if the parent is removed, is replaced,
/// or is the checkpoint itself.
fn parts(version: u32) -> Vec<Part> {
    let small = part("v", "t", version.to_le_bytes());
    let at = usize::try_from(version).unwrap() % 3000;
    let common = noise(1, 3000);
    match version % 5 {
        0 => Vec::new(),
        1 => vec![small],
        2 => vec![part("v", "t", version.to_string().repeat(300)), part("", "", "")],
        3 => vec![part("common", "t", common), small],
        _ => vec![part("common", "t", [&common[..at], &version.to_le_bytes(), &common[at..]].concat())],
    }
}

/// A sort key of one number, sometimes with a second number. The second number is an age, because some contracts end
/// their sort keys with an age.
fn sort_key() -> impl Strategy<Value = SortKey> {
    let number = || prop::sample::select(&[-1.5, -0.0, 0.0, 1.0, 1.25][..]).prop_map(SortKey::from_f64);
    let numbers = (number(), prop::option::of(number()));
    let numbers = numbers.prop_map(|(sort_key, age)| age.iter().fold(sort_key, SortKey::then));
    // Many are equal.
    prop_oneof![8 => numbers, 8 => Just(SortKey::from_f64(1.0)), 1 => Just(SortKey(vec![0]))]
}

fn put() -> impl Strategy<Value = Op> {
    let parent = prop::option::of(id());
    let pins = prop::collection::vec((log(), prop::option::weighted(0.15, 0..4_u64)), 0..3);
    let flags = (0..8_u8, prop::bool::weighted(0.03), status(), pins, labels());
    // The last number is a version. It makes each put of the same id different.
    (contract(), run(), id(), parent, word(), word(), sort_key(), 0..5_i64, flags, any::<u32>()).prop_map(
        |(
            contract,
            run,
            id,
            parent,
            group,
            label,
            sort_key,
            saved_at,
            (flags, other_age, status, pins, labels),
            version,
        )| {
            let mut made = draft(&run, &id).contract(contract).group(&group).label(&label).parts(parts(version));
            made.0.header.sort_key = sort_key;
            made.0.header.parent = parent;
            made.0.header.saved_at = saved_at;
            made.0.header.depends_on_parent = flags < 2;
            made.0.header.exempt = flags == 7;
            made.0.header.status = status;
            made.0.header.age_offset = if other_age { 4 } else { age_offset(&run) };
            made.1.pins = pins.into_iter().map(|(log, length)| LogPin { log, length }).collect();
            // These are the names of the parts to inherit. Some payloads have parts with these names, some
            // payloads inherit a name that they also have, and no payload has a part named `none`.
            made.1.inherit = match version % 7 {
                0 => vec!["common".to_owned()],
                1 => vec![String::new(), "v".to_owned(), "none".to_owned()],
                _ => Vec::new(),
            };
            // The stem of a name ends at its last NUL.
            let stem = if version % 4 == 0 { "w\0w\0 1" } else { "w\0 1" };
            made.0.payload.parts.extend((version % 2 == 0).then(|| part(stem, "t", version.to_string())));
            // The expected content of some inherited parts. It may or may not match a payload.
            if version % 3 == 0 {
                made.1.like = parts(version / 2).into_iter().take(2).collect();
            }
            let [first, rest @ ..] = version.to_le_bytes();
            let meta = [&[first % 4][..], &rest].concat();
            let Op::Put(mut draft) = made.meta(&meta).put() else { unreachable!("a put") };
            draft.labels = labels;
            draft.order = [Order::SortKey, Order::Save, Order::SaveOfNumber][version as usize % 3];
            Op::Put(draft)
        },
    )
}

/// Labels with few different keys and values, so that lineages share them.
fn labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map(name(&["k", "l"]), name(&["", "v", "v\0"]), 0..3).prop_map(Labels)
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(&Status::ALL[..])
}

/// What a write tells about its task. Most tasks have stopped, so that the status of lineages depends on them.
fn state() -> impl Strategy<Value = TaskState> {
    let [asks, failed] = [TaskState::ASKS, TaskState::FAILED];
    prop::sample::select(vec![
        TaskState::default(),
        TaskState::ENDED,
        failed,
        asks,
        asks,
        asks | failed,
        TaskState::HANDLED,
        TaskState::ANSWERS,
    ])
}

/// Appends of records. The records have few different keys, so that keys often repeat.
fn append() -> impl Strategy<Value = Op> {
    let record =
        (prop::option::of(name(&["k", "k\0", "", "l", "m"])), any::<u16>()).prop_map(|(key, version)| Record {
            key,
            tag: (version % 3).to_string(),
            bytes: noise(u64::from(version), usize::from(version) % 700).into(),
        });
    let must = prop_oneof![
        8 => Just(LogMust::BeAny),
        1 => or_all(0..5).prop_map(LogMust::HaveLength),
        2 => Just(LogMust::LackTheKeys),
    ];
    let records = prop::collection::vec(record, 0..4);
    made!(Op::Append { contract: contract(), lineage: run(), log: log(), records: records, must: must })
}

fn op() -> impl Strategy<Value = Op> {
    let keep_last = made!(Op::KeepLast { contract: contract(), lineage: run(), keep: or_all(1..4), pinned: id() });
    let from = prop_oneof![1 => Just(SortKey::default()), 3 => sort_key()];
    let remove_from = made!(Op::RemoveFrom { contract: contract(), lineage: run(), sort_key: from });
    let remove = made!(Op::Remove { contract: contract(), id: id() });
    let touch = made!(Op::Touch { contract: contract(), id: id(), saved_at: 0..7_i64 });
    let prefix = name(&["", "f", "r", "r1", "_", "%"]);
    let remove_lineages = made!(Op::RemoveLineages { contract: contract(), prefix: prefix });
    let remove_logs = made!(Op::RemoveLogs { contract: contract(), lineage: run() });
    let end = prop_oneof![4 => or_all(0..6).prop_map(LogEnd::Length), 1 => id().prop_map(LogEnd::Checkpoint)];
    let truncate = made!(Op::Truncate { contract: contract(), lineage: run(), log: log(), to: end });
    let fork = made!(Fork {
        contract: contract(),
        source: id(),
        id: id(),
        lineage: run(),
        sort_key: sort_key(),
        saved_at: 0..5_i64,
        labels: labels(),
    });
    let fork = fork.prop_map(|fork| Op::Fork(Box::new(fork)));
    let claimed_by = prop::option::weighted(0.2, id());
    let writes = prop::collection::vec((name(&["t1", "t2"]), -2..3_i64, any::<u16>(), claimed_by, state()), 0..4);
    let write = (contract(), id(), writes, any::<bool>()).prop_map(|(contract, id, writes, replace)| {
        let made = writes.into_iter().map(|(task, index, version, claimed_by, state)| {
            let bytes = noise(u64::from(version), usize::from(version) % 700);
            Write { task, index, claimed_by, state, part: part(&format!("channel {index}"), "t", bytes) }
        });
        Op::Write { contract, id, writes: made.collect(), replace, encoded: None }
    });
    let release = made!(Op::Reopen { contract: contract(), id: id() });
    let claim = made!(Op::Claim { contract: contract(), id: id(), claimed_by: id() });
    let remove_writes = made!(Op::RemoveWrites { contract: contract(), prefix: name(&["", "a", "a\0", "%", "b"]) });
    let changes = prop::collection::btree_map(name(&["k", "l", "m"]), prop::option::of(name(&["", "v"])), 0..3);
    let set_labels = made!(Op::SetLabels { contract: contract(), lineage: run(), changes: changes });
    prop_oneof![
        20 => put().boxed(),
        3 => set_labels,
        5 => remove,
        2 => touch,
        4 => keep_last,
        2 => remove_from,
        1 => remove_lineages,
        10 => append(),
        6 => truncate,
        1 => remove_logs,
        4 => fork,
        8 => write,
        4 => claim,
        2 => release,
        1 => remove_writes,
    ]
}

fn prune() -> impl Strategy<Value = Step> {
    let rule = prop_oneof![
        (0..6_i64).prop_map(Rule::SavedBefore),
        (0..6_i64).prop_map(Rule::AllSavedBefore),
        (0..4_u64).prop_map(Rule::KeepLast)
    ];
    made!(Step::Prune { contract: prop::option::of(contract()), rule: rule, most: 1..4_usize })
}

fn query() -> impl Strategy<Value = Query> {
    prop_oneof![
        8 => one_query().boxed(),
        1 => prop::collection::vec(one_query().boxed(), 0..4).prop_map(Query::All),
    ]
}

fn row_order() -> impl Strategy<Value = RowOrder> {
    prop::sample::select(&[RowOrder::NewestFirst, RowOrder::OldestFirst][..])
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![id().prop_map(Pick::Id), run().prop_map(Pick::Newest)]
}

fn rows_from() -> impl Strategy<Value = RowsFrom> {
    let step = prop_oneof![8 => -4..4_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    prop_oneof![Just(RowsFrom::End), step.prop_map(RowsFrom::Step), id().prop_map(RowsFrom::Id)]
}

fn one_query() -> impl Strategy<Value = Query> {
    let limit = || prop_oneof![Just(None), (0..4_usize).prop_map(Some), Just(Some(usize::MAX))];
    let of = prop_oneof![
        Just(Of::Contract),
        run().prop_map(Of::Lineage),
        name(&["", "r", "f", "r1", "_"]).prop_map(Of::Lineages),
        made!(Of::Labelled { prefix: name(&["", "r", "f", "r1"]), label: word() }),
        word().prop_map(Of::Group),
        made!(Of::LineageInGroup { lineage: run(), group: word() }),
    ];
    let prefix =
        (sort_key(), 0..9_usize).prop_map(|(sort_key, length)| sort_key.0[..length.min(sort_key.0.len())].to_vec());
    prop_oneof![
        made!(Query::Whole { contract: contract(), of: of.clone(), prefix: prefix }),
        made!(Query::Get { contract: contract(), id: id() }),
        made!(Query::Forks { contract: contract(), lineage: run() }),
        (contract(), run(), 0..4_usize).prop_map(|(contract, run, length)| {
            let prefix = run.chars().take(length).collect();
            Query::Names { contract, prefix }
        }),
        (contract(), prop::collection::vec(status(), 0..3), labels(), any::<bool>(), any::<bool>(), 0..6_usize)
            .prop_map(|(contract, statuses, labels, named_as_group, latest, limit)| {
                let order = if latest { ActivityOrder::LatestFirst } else { ActivityOrder::EarliestFirst };
                let contracts = vec![contract];
                Query::Recent(Recent { contracts, named_as_group, statuses, labels, order, limit, ..common::recent() })
            }),
        made!(Rows {
            contract: contract(),
            lineage: run(),
            from: rows_from(),
            order: row_order(),
            limit: 0..4_usize,
            sums: Just(false),
        })
        .prop_map(Query::Rows),
        made!(Query::Open { contract: contract(), most: Just(1_000) }),
        made!(Query::Logs { contract: contract(), lineage: run() }),
        made!(Query::Count { contract: contract(), of: of.clone() }),
        made!(Query::LogRuns { contract: contract(), lineage: run(), log: log(), at: prop::option::of(id()) }),
        made!(Query::Writes { after: prop::option::of((contract(), id())), bytes: 0..400_usize }),
        made!(Query::Saves { after: Just(None), bytes: 0..3000_usize }),
        made!(Query::Starts { after: Just(None), limit: 0..4_usize }),
        made!(Query::Start { contract: contract(), lineage: run() }),
        made!(LogRange {
            contract: contract(),
            lineage: run(),
            log: log(),
            at: prop::option::of(id()),
            from: prop::sample::select(&[LogSide::First, LogSide::Last][..]),
            skip: or_all(0..6),
            limit: or_all(0..6).prop_map(|limit| usize::try_from(limit).unwrap()),
        })
        .prop_map(Query::Log),
        made!(Query::Newest { contract: contract(), lineage: run(), label: prop::option::of(word()) }),
        made!(Query::Tuple { contract: contract(), pick: pick() }),
        made!(Query::Logged { contract: contract(), pick: pick(), log: log() }),
        (contract(), id(), 0..4_usize, 0..6_usize).prop_map(|(contract, id, wanted, limit)| Query::Ancestors(
            Ancestors {
                contract,
                id,
                stems: ["w", "none", "w\0w"].iter().take(wanted).map(|stem| (*stem).to_owned()).collect(),
                writes: vec!["channel 0".to_owned(), "channel 1".to_owned()],
                limit,
            }
        )),
        (contract(), of.clone(), 0..4_usize, 0..3_usize, prop::option::of((any::<u8>(), 1..6_usize))).prop_map(
            |(contract, of, limit, skip, filter)| {
                let order = if limit % 2 == 0 { RowOrder::NewestFirst } else { RowOrder::OldestFirst };
                let skip = if filter.is_none() { skip } else { 0 };
                let looks = filter.map_or(usize::MAX, |(_, looks)| looks);
                let filter = filter.map(|(byte, _)| MetaFilter {
                    all: vec![vec![byte]],
                    or: b"ab".to_vec(),
                    end: Vec::new(),
                    key: None,
                    test: None,
                });
                // A backend may look at more checkpoints of several lineages.
                let looks = if matches!(of, Of::Lineages(_)) { usize::MAX } else { looks };
                let short_keys = limit % 2 == 0;
                Query::Page(Page { contract, order, skip, filter, looks, short_keys, ..common::first_page(of, limit) })
            }
        ),
        made!(Query::List { contract: contract(), of: of, before: prop::option::of(sort_key()), limit: limit() }),
    ]
}

/// Operations that make branches. A checkpoint keeps a log. Then the log is cut and continues. Afterwards the log is
/// kept or forked again.
fn story() -> impl Strategy<Value = Vec<Op>> {
    let record = any::<u16>().prop_map(|version| Record {
        key: None,
        tag: String::new(),
        bytes: noise(version.into(), 9).into(),
    });
    let records = || prop::collection::vec(record.clone(), 1..4);
    let fork = prop::option::weighted(0.3, (id(), name(&["f1", "f2"])));
    (contract(), run(), log(), records(), put().boxed(), 0..6_u64, records(), fork).prop_map(
        |(contract, lineage, log, first, put, to, then, fork)| {
            let append = |records| {
                let (lineage, log) = (lineage.clone(), log.clone());
                Op::Append { contract, lineage, log, records, must: LogMust::BeAny }
            };
            let Op::Put(mut draft) = put else { unreachable!("a put") };
            (draft.header.contract, draft.header.lineage) = (contract, lineage.clone());
            draft.header.age_offset = age_offset(&lineage);
            draft.logs = vec![LogPin { log: log.clone(), length: None }];
            let source = draft.header.id.clone();
            let fork = fork.map(|(id, lineage)| {
                let (sort_key, labels) = (SortKey::default(), Labels::default());
                Op::Fork(Box::new(Fork { contract, source, id, lineage, sort_key, saved_at: 0, labels }))
            });
            let cut = Op::Truncate { contract, lineage: lineage.clone(), log: log.clone(), to: LogEnd::Length(to) };
            let mut unit = vec![append(first), Op::Put(draft), cut, append(then)];
            unit.extend(fork);
            unit
        },
    )
}

/// Returns the age offset of the lineages with this name.
fn age_offset(lineage: &str) -> u8 {
    if lineage == "r2" { 8 } else { 0 }
}

fn step() -> impl Strategy<Value = Step> {
    let unit = || {
        let otherwise = || Just(Error::new(Code::Unsupported, "another state was expected"));
        let (some_id, some_key) = (prop::option::of(id()), prop::option::of(sort_key()));
        let newest = made!(Expect::Newest { contract: contract(), lineage: run(), newest: some_id, or: id() });
        let newest_save =
            made!(Expect::NewestSave { contract: contract(), lineage: run(), newest: some_key, or: sort_key() });
        let must = prop_oneof![
            (0..6_i64).prop_map(Must::BeSavedSince),
            (0..6_i64).prop_map(Must::NotBeSavedSince),
            sort_key().prop_map(Must::HaveSortKey),
            run().prop_map(Must::BelongTo),
            prop::collection::vec(0..4_u8, 0..2).prop_map(Must::HaveMeta),
        ];
        let checkpoint =
            made!(Expect::Checkpoint { contract: contract(), id: id(), must: must, otherwise: otherwise() });
        let (task, index) = (name(&["t1", "t2"]), -2..3_i64);
        let slot = made!(Expect::FreeSlot { contract: contract(), id: id(), task: task, index: index });
        let (some_id, some_run) = (prop::option::of(id()), prop::option::of(run()));
        let stored =
            made!(Expect::Stored { contract: contract(), id: some_id, lineage: some_run, otherwise: otherwise() });
        let incarnation = made!(Expect::Incarnation {
            contract: contract(),
            lineage: run(),
            position: 1..8_i64,
            otherwise: otherwise(),
        });
        let one = prop_oneof![newest, newest_save, checkpoint, stored, slot, incarnation].boxed();
        let expect = prop_oneof![
            16 => Just(Vec::new()),
            4 => one.prop_map(|expect| vec![expect]),
            1 => prop::collection::vec((contract(), id(), run()), 2).prop_map(|both| {
                // The first condition that does not hold says which error it is.
                let of = |((contract, id, lineage), code)| Expect::Checkpoint {
                    contract, id, must: Must::BelongTo(lineage), otherwise: Error::new(code, "another lineage was expected")
                };
                both.into_iter().zip([Code::Unsupported, Code::NotFound]).map(of).collect()
            }),
        ];
        let ops = prop_oneof![5 => prop::collection::vec(op().boxed(), 0..4), 1 => story().boxed()];
        (expect, ops).prop_map(|(expect, ops)| Unit { expect, ops })
    };
    prop_oneof![
        12 => unit().boxed().prop_map(|unit| Step::Apply(vec![unit])),
        3 => prop::collection::vec(unit().boxed(), 0..5).prop_map(Step::Apply),
        6 => query().boxed().prop_map(Step::Ask),
        4 => made!(Step::Page { contract: contract(), group_prefix: word(), limit: 0..4_usize }),
        1 => prune(),
        2 => prop::option::of(contract()).prop_map(Step::Stats),
        1 => prop_oneof![1..5_usize, Just(usize::MAX)].prop_map(Step::Check),
        1 => Just(Step::Reopen),
    ]
}

/// The positions of lineages in a backend, by their positions in the model. No two lineages have the same one.
#[derive(Default)]
struct Lineages(BTreeMap<i64, i64>);

impl Lineages {
    /// Applies a batch to the model and to the backend, and compares the results.
    fn apply(&mut self, batch: Vec<Unit>, model: &mut Model, backend: &mut dyn Backend) -> Result<(), TestCaseError> {
        let (ours, theirs) = self.both(batch);
        let mut expected: Vec<_> = ours.iter().map(|unit| model.apply(unit)).collect();
        let done = backend.apply(&theirs);
        prop_assert_eq!(done.len(), theirs.len(), "one result per unit");
        for (unit, done) in theirs.iter().zip(&done) {
            let puts = unit.ops.iter().any(|op| matches!(op, Op::Put(_)));
            prop_assert!(!puts || done.as_ref().map_or(true, |done| done.stored_bytes.is_some()), "{:?}", done);
        }
        // The model does not know how much room a backend takes.
        let told = |applied: Applied| Applied { stored_bytes: None, ..applied };
        let mut done: Vec<_> = done.into_iter().map(|done| done.map(told).map_err(|error| error.code())).collect();
        self.learn(&mut expected, &mut done)?;
        prop_assert_eq!(done, expected);
        Ok(())
    }

    /// A batch for the model, and one for the backend. A lineage that nobody has learned yet has a position that none has.
    fn both(&self, mut batch: Vec<Unit>) -> (Vec<Unit>, Vec<Unit>) {
        fn positions(batch: &mut [Unit]) -> impl Iterator<Item = &mut i64> {
            batch.iter_mut().flat_map(|unit| &mut unit.expect).filter_map(|expect| match expect {
                Expect::Incarnation { position, .. } => Some(position),
                _ => None,
            })
        }
        positions(&mut batch)
            .filter(|position| !self.0.contains_key(position))
            .for_each(|position| *position = i64::MAX);
        let mut theirs = batch.clone();
        positions(&mut theirs).for_each(|position| *position = self.0.get(position).copied().unwrap_or(i64::MAX));
        (batch, theirs)
    }

    /// Takes the positions out of the results, and compares them with the earlier ones.
    fn learn(
        &mut self,
        expected: &mut [Result<Applied, Code>],
        done: &mut [Result<Applied, Code>],
    ) -> Result<(), TestCaseError> {
        for (expected, done) in expected.iter_mut().zip(done) {
            let (Ok(expected), Ok(done)) = (expected, done) else { continue };
            let (ours, theirs) = (expected.lineage.take(), done.lineage.take());
            prop_assert_eq!(ours.is_some(), theirs.is_some(), "a unit that has put something knows where");
            let Some((ours, theirs)) = ours.zip(theirs) else { continue };
            let known = self.0.insert(ours, theirs);
            prop_assert_eq!(known.unwrap_or(theirs), theirs, "a lineage keeps its position");
            let same = self.0.values().filter(|other| **other == theirs).count();
            prop_assert_eq!(same, 1, "no two lineages have the same position");
        }
        Ok(())
    }
}

/// The position at which the last page of lineages ended. Positions differ between the backend and the model, so each
/// of them continues from its own position.
type PageEnd = Option<i64>;

fn page(answer: Answer, cursor: &mut PageEnd) -> Vec<Lineage> {
    let page = answer.into_lineages().unwrap();
    *cursor = page.last().map(|last| last.position);
    page.into_iter().map(unplaced).collect()
}

fn unplaced(lineage: Lineage) -> Lineage {
    Lineage { position: 0, seq: 0, ..lineage }
}

/// Removes the positions and the save numbers of lineages from an answer, because they differ between backends.
fn comparable(answer: Answer) -> Answer {
    match answer {
        Answer::Lineages(_) => Answer::Lineages(page(answer, &mut None)),
        Answer::Recent(found) => Answer::Recent(found.into_iter().map(unplaced).collect()),
        Answer::All(all) => Answer::All(all.into_iter().map(comparable).collect()),
        // Sizes depend on how a backend stores a payload.
        Answer::Rows(page) => {
            let row = |row: Listed| Listed { seq: 0, logical_bytes: 0, stored_bytes: 0, chain: 0, ..row };
            Answer::Rows(RowPage { rows: page.rows.into_iter().map(row).collect(), ..page })
        }
        Answer::Page(page) => Answer::Page(TuplePage { next: None, ..page }),
        Answer::Saves(found) => {
            Answer::Saves(found.into_iter().map(|saved| Saved { seq: 0, lineage: 0, ..saved }).collect())
        }
        Answer::Starts(mut found) => {
            for start in &mut found {
                start.position = 0;
                let origin = start.first.as_mut().and_then(|first| first.origin.as_mut());
                if let Some(origin) = origin {
                    origin.position = 0;
                }
            }
            Answer::Starts(found)
        }
        // The model stores all records of a log in one place.
        Answer::LogRuns(runs) => {
            assert!(runs.is_sorted_by(|a, b| a.to < b.to), "{runs:?}");
            Answer::LogRuns(runs.last().map(|run| LogRun { branch: 0, to: run.to }).into_iter().collect())
        }
        answer => answer,
    }
}

/// The query for the whole list of which a query asks for a page.
fn whole(query: &Query) -> Option<Query> {
    Some(match query {
        Query::Page(page) => Query::Page(Page { skip: 0, limit: usize::MAX, looks: usize::MAX, ..page.clone() }),
        Query::Rows(rows) => Query::Rows(Rows { from: RowsFrom::End, limit: usize::MAX, ..rows.clone() }),
        Query::Recent(recent) => Query::Recent(Recent { limit: usize::MAX, ..recent.clone() }),
        Query::Saves { .. } => Query::Saves { after: None, bytes: usize::MAX },
        Query::Starts { .. } => Query::Starts { after: None, limit: usize::MAX },
        _ => return None,
    })
}

/// Reads pages of at most this length until one is empty.
fn pages<T, C>(limit: usize, mut read: impl FnMut(Option<C>) -> Vec<T>, cursor: impl Fn(&T) -> C) -> Vec<T> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = read(after);
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return all };
        after = Some(cursor(last));
        all.extend(page);
    }
}

/// Reads a whole list page by page.
fn walked(backend: &mut dyn Backend, list: &Query, limit: usize) -> Answer {
    let mut ask = |query: Query| backend.answer(&query).unwrap();
    // Most pages end with the second payload, if the limit does not end them.
    let bytes = limit * 900;
    match list.clone() {
        Query::Page(mut page) => {
            (page.limit, page.bytes, page.looks) = (limit, bytes, limit);
            let mut all = TuplePage::default();
            loop {
                let found = ask(Query::Page(page.clone())).into_page().unwrap();
                assert!(found.tuples.len() <= limit);
                all.tuples.extend(found.tuples);
                page.after = found.next;
                if page.after.is_none() {
                    return Answer::Page(all);
                }
            }
        }
        Query::Rows(rows) => {
            let mut about = RowPage::default();
            let read = |place: Option<(SortKey, Seq)>| {
                let from = place.map_or(RowsFrom::End, |(sort_key, seq)| RowsFrom::After(sort_key, seq));
                let page = ask(Query::Rows(Rows { from, limit, ..rows.clone() })).into_rows().unwrap();
                about = RowPage { rows: Vec::new(), ..page.clone() };
                page.rows
            };
            let rows = pages(limit, read, |last| (last.header.sort_key.clone(), last.seq));
            Answer::Rows(RowPage { rows, ..about })
        }
        Query::Recent(list) => {
            let page = |after| Query::Recent(Recent { after, limit, ..list.clone() });
            Answer::Recent(pages(limit, |after| ask(page(after)).into_recent().unwrap(), |last| last.seq))
        }
        Query::Starts { .. } => {
            let read = |after| ask(Query::Starts { after, limit }).into_starts().unwrap();
            Answer::Starts(pages(limit, read, |last| last.position))
        }
        Query::Saves { .. } => {
            let read = |after| ask(Query::Saves { after, bytes }).into_saves().unwrap();
            let saves = pages(usize::MAX, read, |last| last.seq);
            let starts = ask(Query::Starts { after: None, limit: usize::MAX }).into_starts().unwrap();
            for Saved { lineage, checkpoint, .. } in &saves {
                let start = starts.iter().find(|start| start.position == *lineage).unwrap();
                assert_eq!((start.contract, &start.name), (checkpoint.header.contract, &checkpoint.header.lineage));
            }
            Answer::Saves(saves)
        }
        _ => unreachable!("no list"),
    }
}

/// Returns queries of every kind. Together these queries ask for all stored data.
fn everything() -> Vec<Query> {
    let mut all = vec![
        Query::Saves { after: None, bytes: usize::MAX },
        Query::Starts { after: None, limit: usize::MAX },
        Query::Writes { after: None, bytes: usize::MAX },
    ];
    for contract in [ContractId(1), ContractId(2), ContractId(4)] {
        for id in ["a", "b", "c", "d", "e", "%", "a\0"] {
            all.push(Query::Get { contract, id: id.to_owned() });
            all.push(Query::Tuple { contract, pick: Pick::Id(id.to_owned()) });
        }
        for run in ["r1", "r2", "r3", "_", "f1", "f2"] {
            for log in ["log", "log\0", ""] {
                for at in [None, Some("a"), Some("b"), Some("c"), Some("d"), Some("e"), Some("%"), Some("a\0")] {
                    all.push(Query::Log(LogRange { contract, ..log_range(run, log, at) }));
                }
            }
            all.push(Query::Logs { contract, lineage: run.to_owned() });
            all.push(Query::Forks { contract, lineage: run.to_owned() });
            all.push(Query::Names { contract, prefix: run.to_owned() });
            all.push(Query::List { contract, of: Of::Lineage(run.to_owned()), before: None, limit: None });
            all.push(Query::Whole { contract, of: Of::Lineage(run.to_owned()), prefix: Vec::new() });
        }
    }
    all
}

fn check(steps: &[Step], open: impl FnMut() -> Option<Box<dyn Backend>>) -> Result<(), TestCaseError> {
    check_from(Model::default(), Records::Shared, steps, open)
}

/// How a backend stores a record that several logs have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Records {
    /// Once.
    Shared,
    /// Once for each lineage. A fork copies the records of its source.
    OfLineages,
    /// Once or more often. A copy of a store may store a record again.
    Any,
}

/// Compares a backend that holds the model's data with the model.
fn check_from(
    model: Model,
    records: Records,
    steps: &[Step],
    open: impl FnMut() -> Option<Box<dyn Backend>>,
) -> Result<(), TestCaseError> {
    check_in_time(model, records, None, steps, open)
}

/// As [`check_from`]. `machine` takes copies of the database and puts them back.
fn check_in_time(
    mut model: Model,
    records: Records,
    machine: Option<&mut dyn time::Machine>,
    steps: &[Step],
    mut open: impl FnMut() -> Option<Box<dyn Backend>>,
) -> Result<(), TestCaseError> {
    let (mut machine, mut copy) = (machine, None);
    let mut backend = open().unwrap();
    let mut lineages = Lineages::default();
    let as_stored = |found: u64, stored: u64| if records == Records::Any { found.min(stored) } else { found };
    let (mut ours, mut theirs): (PageEnd, PageEnd) = (None, None);
    let asks = everything().into_iter().map(Step::Ask).chain([Step::Stats(None), Step::Check(3)]);
    for step in steps.iter().cloned().chain([Step::Reopen]).chain(asks) {
        match step {
            Step::Apply(batch) => {
                lineages.apply(batch, &mut model, &mut *backend)?;
            }
            Step::Ask(query) => {
                // Many indexes are built when an answer first needs them. An answer at once is the same, before and after.
                let before = backend.answer_at_once(&query).map(comparable);
                let found = backend.answer(&query).map(comparable);
                let after = backend.answer_at_once(&query).map(comparable);
                for at_once in [before, after].into_iter().flatten() {
                    prop_assert_eq!(Ok(&at_once), found.as_ref(), "at once: {:?}", query);
                }
                prop_assert_eq!(found, Ok(comparable(model.answer(&query))), "{:?}", query);
                for (list, limit) in whole(&query).into_iter().flat_map(|list| [(list.clone(), 1), (list, 3)]) {
                    let found = comparable(walked(&mut *backend, &list, limit));
                    prop_assert_eq!(found, comparable(model.answer(&list)), "{:?} by {}", list, limit);
                }
            }
            Step::Page { contract, group_prefix, limit } => {
                let query = |before| Query::Lineages { contract, group_prefix: group_prefix.clone(), before, limit };
                let answer = backend.answer(&query(theirs)).unwrap();
                let expected = page(model.answer(&query(ours)), &mut ours);
                prop_assert_eq!(page(answer, &mut theirs), expected, "{:?} {:?} {}", contract, group_prefix, limit);
            }
            Step::Prune { contract, rule, most } => {
                // One batch: if an earlier one removes the newest checkpoint first, another one may wait.
                let most = if matches!(rule, Rule::SavedBefore(_)) { 1_000 } else { most };
                let asked = Query::Prunable { contract, rules: vec![rule] };
                let planned = backend.answer(&asked).unwrap().into_pruned().unwrap();
                let done = common::prune(&mut *backend, Prune { contract, ..common::batch(rule, most) });
                let checkpoints = done.iter().map(|done| done.checkpoints).sum::<u64>();
                let lineages = done.iter().map(|done| done.lineages).sum::<u64>();
                prop_assert_eq!((planned.checkpoints, planned.lineages), (checkpoints, lineages), "as planned");
                let expected = model.prune(contract, rule);
                prop_assert_eq!((checkpoints, lineages), (expected.0 as u64, expected.1 as u64), "{:?}", rule);
            }
            Step::Stats(contract) => {
                let asked = Query::Stats { contract, largest: usize::MAX, by_status: true };
                let stats = backend.answer(&asked).unwrap().into_stats().unwrap();
                let mut sizes = stats.sum(|of| contract.is_none_or(|contract| contract == of));
                let mut largest = stats.largest;
                let parts: u64 = largest.iter().map(|lineage| lineage.stored_bytes).sum();
                prop_assert_eq!(parts, sizes.stored_bytes, "the whole is the sum of its parts");
                prop_assert!(sizes.record_bytes == 0 || sizes.records > 0);
                prop_assert!(!stats.is_estimate);
                (sizes.stored_bytes, sizes.record_bytes) = (0, 0);
                for lineage in &mut largest {
                    (lineage.stored_bytes, lineage.record_bytes) = (0, 0);
                }
                largest.sort_by(|a, b| (a.contract, &a.lineage).cmp(&(b.contract, &b.lineage)));
                let (expected, lineages) = model.stats(contract, records);
                sizes.records = as_stored(sizes.records, expected.records);
                prop_assert_eq!((sizes, largest), (expected, lineages));
            }
            Step::Check(limit) => {
                let (mut counted, mut done, mut next) = ((0, 0, 0), 0, Some(CheckCursor::default()));
                while let Some(cursor) = next {
                    let page = backend.answer(&Query::Check { cursor, limit }).unwrap().into_checked().unwrap();
                    // The backend may report an orphan, because a caller may remove a checkpoint that another
                    // checkpoint depends on, or write to one that is not there.
                    let left_alone =
                        |found: &Finding| found.code == FindingCode::Orphan && found.severity != Severity::Error;
                    prop_assert!(page.findings.iter().all(left_alone), "{:?}", page.findings);
                    prop_assert!(page.done >= done && page.of >= page.done, "{:?}", page);
                    done = page.done;
                    let part = page.counted;
                    counted = (counted.0 + part.checkpoints, counted.1 + part.payloads, counted.2 + part.records);
                    next = page.next;
                }
                let (saved, stored) = (model.saved.len() as u64, model.records(None, records));
                counted.2 = as_stored(counted.2, stored);
                prop_assert_eq!(counted, (saved, saved, stored));
            }
            Step::Reopen => {
                if let Some(opened) = open() {
                    backend = opened;
                }
            }
            Step::Snapshot => {
                machine.as_mut().unwrap().snapshot();
                copy = Some(model.clone());
            }
            Step::Rewind => {
                if let Some(copy) = &copy {
                    machine.as_mut().unwrap().restore();
                    model = copy.clone();
                    (ours, theirs, lineages) = (None, None, Lineages::default());
                }
            }
        }
    }
    Ok(())
}

/// Several backends on one database. Each call goes to another one, in an order without a short period, so each one learns
/// what the others did.
struct Several {
    backends: Vec<Box<dyn Backend>>,
    calls: usize,
    /// Whether one of them vacuums now and then, before the next change.
    vacuums: bool,
}

impl Several {
    fn next(&mut self) -> &mut dyn Backend {
        self.calls += 1;
        let at = (self.calls * 7 / 5) % self.backends.len();
        &mut *self.backends[at]
    }
}

impl Backend for Several {
    fn apply(&mut self, batch: &[Unit]) -> Vec<Result<Applied>> {
        if self.vacuums && self.calls % 5 < 2 {
            self.next().vacuum().unwrap();
        }
        self.next().apply(batch)
    }

    fn answer(&mut self, query: &Query) -> Result<Answer> {
        self.next().answer(query)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        self.next().prune(prune)
    }

    fn vacuum(&mut self) -> Result<()> {
        self.next().vacuum()
    }
}

fn config(cases: u32) -> ProptestConfig {
    common::same_cases(cases, 0x0f0c_4b01)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..80)
}

fn check_file(steps: &[Step], journal: Journal) -> Result<(), TestCaseError> {
    let (_folder, path) = temporary("model.db");
    // This test does not depend on syncs to the disk, so syncs are turned off.
    check(steps, || Some(Box::new(sqlite(&path, journal, Durability::Off).unwrap())))?;
    prop_assert_eq!(common::integrity(&path), "ok");
    Ok(())
}

proptest! {
    #![proptest_config(config(600))]
    #[test]
    fn memory_answers_as_the_model(steps in steps()) {
        let mut memory: Option<Box<dyn Backend>> = Some(Box::new(Memory::new()));
        check(&steps, || memory.take())?;
    }
}

proptest! {
    #![proptest_config(config(80))]
    #[test]
    fn sqlite_answers_as_the_model(steps in steps()) {
        check_file(&steps, Journal::Wal)?;
    }

    #[test]
    fn text_files_answer_as_the_model(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let options = jsonl::Options { durability: Durability::Off, ..jsonl::Options::new(folder.path().join("model")) };
        check(&steps, || Some(Box::new(Jsonl::open(&options).unwrap())))?;
    }

    #[test]
    fn text_files_that_two_use_answer_as_the_model(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let options = jsonl::Options { durability: Durability::Off, ..jsonl::Options::new(folder.path().join("model")) };
        let one = || -> Box<dyn Backend> { Box::new(Jsonl::open(&options).unwrap()) };
        check(&steps, || Some(Box::new(Several { backends: vec![one(), one()], calls: 0, vacuums: true })))?;
    }

    #[cfg(all(feature = "postgres", unix))]
    #[test]
    fn a_server_answers_as_the_model(steps in steps()) {
        if let Some(server) = common::postgres::server() {
            let (url, options) = server.options();
            check_from(Model::default(), Records::OfLineages, &steps, || Some(Box::new(Postgres::open(&url, &options).unwrap())))?;
        }
    }

    #[test]
    fn sqlite_with_a_rollback_journal_answers_as_the_model(steps in steps()) {
        check_file(&steps, Journal::Rollback)?;
    }
}
