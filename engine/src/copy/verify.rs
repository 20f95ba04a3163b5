//! Reads both stores and compares them.

use std::collections::{HashMap, VecDeque};

use super::logs::{RECORDS, length};
use super::shared::{Counts, Shared};
use super::side::{LINEAGES, Side};
use crate::error::{Code, Error, Result, quote};
use crate::query::{Answer, LogRange, LogSide, Query};
use crate::record::{ContractId, FirstCheckpoint, LogMark, LogRun, Origin, Saved, Seq, Start, Written};

/// The number of pairs of branches whose comparison is remembered. If there are more, some records are compared twice.
const MOST_PAIRS: usize = 1 << 20;

/// A comparison that is under way. It goes through lineages, checkpoints and pending writes, in this order.
pub(super) struct Verification {
    stage: Stage,
    pub(super) counts: Counts,
    /// The records that were compared: for each branch of the source and branch of the destination, the positions of
    /// equal records, from the first to the one before the last.
    equal: HashMap<(i64, i64), (u64, u64)>,
}

enum Stage {
    Lineages(Pair<Start, i64>),
    Checkpoints(Pair<Saved, Seq>),
    Writes(Pair<Written, (ContractId, String)>),
}

/// The next items of both stores.
pub(super) struct Pair<T, Place> {
    pub(super) from: Items<T, Place>,
    pub(super) to: Items<T, Place>,
}

/// Items of one store that were read, and the place after them.
pub(super) struct Items<T, Place> {
    pub(super) read: VecDeque<T>,
    after: Option<Place>,
}

/// An item that comes in pages.
pub(super) trait Item<Place>: Sized {
    fn read(side: &Side, after: Option<Place>, shared: &Shared) -> Result<Vec<Self>>;
    fn place(&self) -> Place;
    fn contract(&self) -> ContractId;
    /// What the item is called in messages.
    fn named(&self) -> String;
}

impl<T: Item<Place>, Place: Clone> Items<T, Place> {
    fn new() -> Self {
        Self { read: VecDeque::new(), after: None }
    }

    /// Reads the next page if nothing is left of the last one.
    pub(super) fn fill(&mut self, side: &Side, shared: &Shared) -> Result<()> {
        while self.read.is_empty() {
            let found = T::read(side, self.after.clone(), shared)?;
            let Some(last) = found.last() else { break };
            self.after = Some(last.place());
            self.read.extend(found.into_iter().filter(|item| !shared.leaves_out(item.contract())));
        }
        Ok(())
    }
}

impl<T: Item<Place>, Place: Clone> Pair<T, Place> {
    pub(super) fn new() -> Self {
        Self { from: Items::new(), to: Items::new() }
    }

    /// Takes the items that both stores have next. Returns nothing if both have no more.
    fn take(&mut self, shared: &Shared) -> Result<Vec<(T, T)>> {
        self.from.fill(&shared.from, shared)?;
        self.to.fill(&shared.to, shared)?;
        match (self.from.read.front(), self.to.read.front()) {
            (None, Some(item)) | (Some(item), None) => Err(differs(&item.named(), "it is only in one of them")),
            _ => {
                let count = self.from.read.len().min(self.to.read.len());
                Ok(self.from.read.drain(..count).zip(self.to.read.drain(..count)).collect())
            }
        }
    }
}

impl Verification {
    pub(super) fn new() -> Self {
        let stage = Stage::Lineages(Pair::new());
        Self { stage, counts: Counts::default(), equal: HashMap::new() }
    }

    /// Compares about one page. Returns true if the stores are equal.
    pub(super) fn step(&mut self, shared: &Shared) -> Result<bool> {
        match &mut self.stage {
            Stage::Lineages(pair) => {
                let found = pair.take(shared)?;
                if found.is_empty() {
                    self.stage = Stage::Checkpoints(Pair::new());
                }
                self.lineages(shared, &found)?;
            }
            Stage::Checkpoints(pair) => {
                let found = pair.take(shared)?;
                if found.is_empty() {
                    self.stage = Stage::Writes(Pair::new());
                }
                self.checkpoints(shared, &found)?;
            }
            Stage::Writes(pair) => {
                let found = pair.take(shared)?;
                for (from, to) in &found {
                    if (from.contract, &from.id) != (to.contract, &to.id) {
                        let other = format!("in the destination, {} have their place", to.named());
                        return Err(differs(&from.named(), &other));
                    }
                    if from != to {
                        return Err(differs(&from.named(), "they are not the same"));
                    }
                    self.counts.writes += from.writes.len() as u64;
                    self.counts.bytes += from.writes.iter().map(|write| write.part.bytes.len() as u64).sum::<u64>();
                }
                return Ok(found.is_empty());
            }
        }
        Ok(false)
    }

    fn lineages(&mut self, shared: &Shared, found: &[(Start, Start)]) -> Result<()> {
        for (from, to) in found {
            if (from.contract, &from.name) != (to.contract, &to.name) {
                let other = format!("in the destination, {} has its place", to.named());
                return Err(differs(&from.named(), &other));
            }
            if shown(from) != shown(to) {
                return Err(differs(&from.named(), "its group, its age or its origin"));
            }
        }
        self.counts.lineages += found.len() as u64;
        let query = |start: &Start| Query::Logs { contract: start.contract, lineage: start.name.clone() };
        let from = shared.from.ask_all(found.iter().map(|(start, _)| query(start)).collect())?;
        let to = shared.to.ask_all(found.iter().map(|(start, _)| query(start)).collect())?;
        for (((start, _), from), to) in found.iter().zip(from).zip(to) {
            let logs = from.into_logs()?;
            if logs != to.into_logs()? {
                return Err(differs(&start.named(), "its logs"));
            }
            let of = |mark: &LogMark| runs_of(start.contract, &start.name, &mark.log, None);
            let queries: Vec<Query> = logs.iter().map(of).collect();
            let both = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
            for ((mark, from), to) in logs.iter().zip(both.0).zip(both.1) {
                self.log(shared, (start.contract, &start.name, &mark.log, None), (from, to))?;
            }
        }
        Ok(())
    }

    fn checkpoints(&mut self, shared: &Shared, found: &[(Saved, Saved)]) -> Result<()> {
        for (Saved { checkpoint: from, .. }, Saved { checkpoint: to, .. }) in found {
            if (from.header.contract, &from.header.id) != (to.header.contract, &to.header.id) {
                let other = format!("in the destination, checkpoint {} has its place", quote(&to.header.id));
                return Err(differs(&format!("checkpoint {}", quote(&from.header.id)), &other));
            }
            let what = if from.header != to.header {
                "its fields"
            } else if from.payload != to.payload {
                "its payload"
            } else if from.logs != to.logs {
                "the logs that it names"
            } else {
                self.counts.checkpoints += 1;
                self.counts.bytes += from.payload.len() as u64;
                continue;
            };
            return Err(differs(&format!("checkpoint {}", quote(&from.header.id)), what));
        }
        let all = || {
            let checkpoints = found.iter().map(|(saved, _)| &saved.checkpoint);
            checkpoints.flat_map(|checkpoint| checkpoint.logs.iter().map(move |mark| (&checkpoint.header, &mark.log)))
        };
        let of = |(header, log): (&crate::record::Header, &String)| {
            runs_of(header.contract, &header.lineage, log, Some(&header.id))
        };
        let queries: Vec<Query> = all().map(of).collect();
        let both = (shared.from.ask_all(queries.clone())?, shared.to.ask_all(queries)?);
        for (((header, log), from), to) in all().zip(both.0).zip(both.1) {
            self.log(shared, (header.contract, &header.lineage, log, Some(&header.id)), (from, to))?;
        }
        Ok(())
    }

    /// Compares the records of a log. Records that were compared for another log are not compared again.
    fn log(
        &mut self,
        shared: &Shared,
        (contract, lineage, log, at): (ContractId, &str, &str, Option<&str>),
        (from, to): (Answer, Answer),
    ) -> Result<()> {
        let what = || match at {
            Some(id) => format!("checkpoint {}", quote(id)),
            None => format!("lineage {}", quote(lineage)),
        };
        let (from, to) = (from.into_log_runs()?, to.into_log_runs()?);
        if length(&from) != length(&to) {
            return Err(differs(&what(), "the number of its records"));
        }
        if self.equal.len() > MOST_PAIRS {
            self.equal.clear();
        }
        for (pair, start, end) in segments(&from, &to) {
            let known = self.equal.get(&pair).copied();
            let mut position = match known {
                Some((first, last)) if first <= start => start.max(last),
                _ => start,
            };
            while position < end {
                let limit = usize::try_from(end - position).unwrap_or(RECORDS).min(RECORDS);
                let range = LogRange {
                    contract,
                    lineage: lineage.to_owned(),
                    log: log.to_owned(),
                    at: at.map(str::to_owned),
                    from: LogSide::First,
                    skip: position,
                    limit,
                };
                let other = shared.to.request(Query::Log(range.clone()));
                let ours = shared.from.ask(Query::Log(range))?.into_log()?.unwrap_or_default().records;
                let theirs = other.wait()?.into_log()?.unwrap_or_default().records;
                if ours != theirs || ours.is_empty() {
                    return Err(differs(&what(), "the records of its logs"));
                }
                position += ours.len() as u64;
                self.counts.records += ours.len() as u64;
                self.counts.bytes += ours.iter().map(|record| record.bytes.len() as u64).sum::<u64>();
            }
            let known = self.equal.entry(pair).or_insert((start, end));
            if known.0 <= start && start <= known.1 {
                known.1 = known.1.max(end);
            } else {
                *known = (start, end);
            }
        }
        Ok(())
    }
}

/// Splits two logs of the same length at the ends of all their runs. Returns the branches and the positions of each
/// segment.
fn segments(from: &[LogRun], to: &[LogRun]) -> Vec<((i64, i64), u64, u64)> {
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    let (mut start, mut found) = (0, Vec::new());
    while let (Some(a), Some(b)) = (from.peek(), to.peek()) {
        let (pair, a_end, b_end) = ((a.branch, b.branch), a.to, b.to);
        let end = a_end.min(b_end);
        found.push((pair, start, end));
        if a_end == end {
            from.next();
        }
        if b_end == end {
            to.next();
        }
        start = end;
    }
    found
}

fn runs_of(contract: ContractId, lineage: &str, log: &str, at: Option<&str>) -> Query {
    let (lineage, log, at) = (lineage.to_owned(), log.to_owned(), at.map(str::to_owned));
    Query::LogRuns { contract, lineage, log, at }
}

/// What a lineage shows of its first checkpoint. Positions differ between stores.
pub(super) fn shown(start: &Start) -> Option<FirstCheckpoint> {
    let mut first = start.first.clone()?;
    first.origin = first.origin.map(|origin| Origin { position: 0, ..origin });
    Some(first)
}

fn differs(item: &str, what: &str) -> Error {
    let message = format!(
        "the copy differs from its source: {item}: {what}. A program wrote to one of the two stores during the copy: stop \
         the programs, remove the destination, and copy again"
    );
    Error::new(Code::Conflict, message)
}

impl Item<i64> for Start {
    fn read(side: &Side, after: Option<i64>, _: &Shared) -> Result<Vec<Self>> {
        side.ask(Query::Starts { after, limit: LINEAGES })?.into_starts()
    }

    fn place(&self) -> i64 {
        self.position
    }

    fn contract(&self) -> ContractId {
        self.contract
    }

    fn named(&self) -> String {
        format!("lineage {}", quote(&self.name))
    }
}

impl Item<Seq> for Saved {
    fn read(side: &Side, after: Option<Seq>, shared: &Shared) -> Result<Vec<Self>> {
        side.ask(Query::Saves { after, bytes: shared.options.page_bytes })?.into_saves()
    }

    fn place(&self) -> Seq {
        self.seq
    }

    fn contract(&self) -> ContractId {
        self.checkpoint.header.contract
    }

    fn named(&self) -> String {
        format!("checkpoint {}", quote(&self.checkpoint.header.id))
    }
}

impl Item<(ContractId, String)> for Written {
    fn read(side: &Side, after: Option<(ContractId, String)>, shared: &Shared) -> Result<Vec<Self>> {
        side.ask(Query::Writes { after, bytes: shared.options.page_bytes })?.into_writes()
    }

    fn place(&self) -> (ContractId, String) {
        (self.contract, self.id.clone())
    }

    fn contract(&self) -> ContractId {
        self.contract
    }

    fn named(&self) -> String {
        format!("the pending writes of checkpoint {}", quote(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_end_where_a_run_of_either_log_ends() {
        let runs = |runs: &[(i64, u64)]| -> Vec<LogRun> {
            runs.iter().map(|(branch, to)| LogRun { branch: *branch, to: *to }).collect()
        };
        let found = segments(&runs(&[(1, 5), (2, 9)]), &runs(&[(7, 3), (8, 5), (9, 9)]));
        assert_eq!(found, [((1, 7), 0, 3), ((1, 8), 3, 5), ((2, 9), 5, 9)]);
        assert_eq!(segments(&[], &[]), []);
    }
}
