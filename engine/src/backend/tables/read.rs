//! Answers queries from the maps.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::iter;
use std::ops::Bound;
use std::sync::Arc;

use super::contents::Contents;
use super::maps::Tables;
use super::row::{LineageRow, Ordered, Row};
use crate::backend::ancestors;
use crate::backend::clock::machine_clock;
use crate::backend::logs::{self, LogRows, Mark};
use crate::backend::page::{Filler, InOrder};
use crate::backend::spread;
use crate::check::{CheckPage, Counted, Finding};
use crate::error::{Error, Result};
use crate::query::{ActivityOrder, Answer, LogRange, Of, Page, Pick, Query, Recent, RowOrder};
use crate::record::{
    Checkpoint, ContractId, Header, Lineage, LineageStats, LogPage, Logged, OpenLineage, OpenLineages, Position, Seq,
    SortKey, Stats, Status, TaskState, Tuple, TuplePage, Write,
};
use crate::retention;

impl<C: Contents> Tables<C> {
    pub(crate) fn answer(&self, query: &Query) -> Result<Answer> {
        let whole = |row: Option<&Arc<Row<C::Payload>>>| {
            let found = row.map(|row| self.whole_row(row)).transpose()?;
            Ok::<_, Error>(Answer::Checkpoint(found.map(Box::new)))
        };
        Ok(match query {
            Query::Get { contract, id } => whole(self.find(*contract, id))?,
            Query::Newest { contract, lineage, label: None } => whole(self.newest_of(*contract, lineage))?,
            Query::Newest { contract, lineage, label: Some(label) } => {
                let row = self.lineage_row(*contract, lineage);
                whole(self.newest(row.and_then(|row| row.by_label.get(label))))?
            }
            Query::Tuple { contract, pick } => Answer::Tuple(self.tuple(*contract, pick)?),
            Query::Ancestors(wanted) => {
                let get = |id: &str| Ok(self.tuple(wanted.contract, &Pick::Id(id.to_owned()))?.map(|found| *found));
                Answer::Tuples(ancestors::walk(wanted, get)?)
            }
            Query::List { contract, of, before, limit } => {
                Answer::Headers(self.list(*contract, of, before.as_ref(), *limit))
            }
            Query::Page(wanted) => Answer::Page(self.page(wanted)?),
            Query::Whole { contract, of, prefix } => Answer::Checkpoints(self.whole(*contract, of, prefix)?),
            Query::Lineages { contract, group_prefix, before, limit } => {
                let of = |lineage_row: &LineageRow| {
                    lineage_row.contract == *contract && lineage_row.first.group.starts_with(group_prefix)
                };
                Answer::Lineages(self.lineages(before.unwrap_or(i64::MAX), *limit, of))
            }
            Query::Count { contract, of } => {
                let order = self.order(*contract, of);
                let has = |(_, seq): &&Position| self.rows.get(seq).is_some_and(|row| of.has(&row.header));
                Answer::Count(order.iter().filter(has).count() as u64)
            }
            Query::All(queries) => Answer::All(queries.iter().map(|query| self.answer(query)).collect::<Result<_>>()?),
            Query::Names { contract, prefix } => {
                let rows = self.lineages.values().rev();
                let named = rows.filter(|row| row.contract == *contract && row.name.starts_with(prefix));
                Answer::Names(named.map(|row| row.name.clone()).collect())
            }
            Query::Recent(recent) => Answer::Recent(self.recent(recent)),
            Query::Open { contract, most } => Answer::Open(self.open(*contract, *most)),
            Query::Rows(rows) => Answer::Rows(self.rows_of(rows)?),
            Query::Feed(feed) => Answer::Feed(self.feed(feed)?),
            Query::Forks { contract, lineage } => {
                let Some(from) = self.positions.get(&(*contract, lineage.clone())) else {
                    return Ok(Answer::Lineages(Vec::new()));
                };
                let of = |lineage_row: &LineageRow| {
                    lineage_row.first.origin.as_ref().is_some_and(|(_, position)| position == from)
                };
                Answer::Lineages(self.lineages(i64::MAX, usize::MAX, of))
            }
            Query::Log(range) => Answer::Log(self.log(range)?),
            Query::Logged { contract, pick, log } => {
                let Some(row) = self.pick(*contract, pick) else { return Ok(Answer::Logged(None)) };
                let header = &row.header;
                let page = self.log(&LogRange::kept(*contract, &header.lineage, log, &header.id))?;
                let records = page.unwrap_or_default().records;
                Answer::Logged(Some(Box::new(Logged { checkpoint: self.whole_row(row)?, records })))
            }
            Query::Logs { contract, lineage } => {
                let lin = self.positions.get(&(*contract, lineage.clone()));
                Answer::Logs(lin.map(|lin| logs::list(self, *lin)).transpose()?.unwrap_or_default())
            }
            Query::Saves { after, bytes } => Answer::Saves(self.saves(*after, *bytes)?),
            Query::Starts { after, limit } => Answer::Starts(self.starts(*after, *limit)),
            Query::Start { contract, lineage } => Answer::Starts(self.start_of(*contract, lineage)),
            Query::Writes { after, bytes } => Answer::Writes(self.all_writes(after.as_ref(), *bytes)),
            Query::LogRuns { contract, lineage, log, at } => {
                let end = self.mark_of(*contract, lineage, log, at.as_deref())?.and_then(|mark| mark.end);
                Answer::LogRuns(logs::all_runs(self, lineage, log, end)?)
            }
            Query::Check { .. } => Answer::Checked(Box::new(self.check())),
            Query::QuickCheck => Answer::Checked(Box::default()),
            Query::Stats { contract, largest, by_status } => Answer::Stats(self.stats(*contract, *largest, *by_status)),
            Query::Format => Answer::Format(None),
            Query::Clock => Answer::Clock(machine_clock()),
            Query::Prunable { contract, rules } => Answer::Pruned(retention::preview(self, *contract, rules)?),
        })
    }

    pub(crate) fn find(&self, contract: ContractId, id: &str) -> Option<&Arc<Row<C::Payload>>> {
        self.ids.get(&(contract, id.to_owned())).and_then(|seq| self.rows.get(seq))
    }

    pub(crate) fn lineage_row(&self, contract: ContractId, name: &str) -> Option<&LineageRow> {
        let position = self.positions.get(&(contract, name.to_owned()))?;
        self.lineages.get(position)
    }

    /// Returns the newest checkpoint of a lineage.
    pub(super) fn newest_of(&self, contract: ContractId, lineage: &str) -> Option<&Arc<Row<C::Payload>>> {
        self.newest(self.lineage_row(contract, lineage).map(|row| &row.order))
    }

    fn newest(&self, order: Option<&Ordered>) -> Option<&Arc<Row<C::Payload>>> {
        order?.last().and_then(|(_, seq)| self.rows.get(seq))
    }

    pub(crate) fn writes_to(&self, contract: ContractId, id: &str) -> Vec<Write> {
        let mut found = Vec::new();
        for row in self.writes.get(&(contract, id.to_owned())).into_iter().flatten() {
            let (task, claimed_by, state) = (&row.task, &row.claimed_by, row.state);
            found.extend(row.parts.iter().cloned().map(|(index, part)| Write {
                task: task.clone(),
                index,
                claimed_by: claimed_by.clone(),
                state,
                part,
            }));
        }
        found
    }

    fn pick(&self, contract: ContractId, pick: &Pick) -> Option<&Arc<Row<C::Payload>>> {
        match pick {
            Pick::Id(id) => self.find(contract, id),
            Pick::Newest(lineage) => self.newest_of(contract, lineage),
        }
    }

    fn tuple(&self, contract: ContractId, pick: &Pick) -> Result<Option<Box<Tuple>>> {
        let Some(row) = self.pick(contract, pick) else { return Ok(None) };
        let writes = self.writes_to(contract, &row.header.id);
        Ok(Some(Box::new(Tuple { checkpoint: self.whole_row(row)?, writes })))
    }

    fn log(&self, range: &LogRange) -> Result<Option<LogPage>> {
        let LogRange { contract, lineage, log, at, .. } = range;
        let mark = self.mark_of(*contract, lineage, log, at.as_deref())?;
        // The records of tables are not sealed, so no limit applies.
        mark.map(|mark| logs::read(self, mark.end, range, usize::MAX)).transpose()
    }

    /// Returns the end of a log: its current end, or its end in the checkpoint `at`. Returns `None` if the checkpoint
    /// does not exist or does not name the log.
    fn mark_of(&self, contract: ContractId, lineage: &str, log: &str, at: Option<&str>) -> Result<Option<Mark>> {
        if let Some(id) = at {
            let row = self.find(contract, id).filter(|row| row.header.lineage == lineage);
            return Ok(row.and_then(|row| row.marks.iter().find(|mark| mark.log == log)).cloned());
        }
        let lin = self.positions.get(&(contract, lineage.to_owned()));
        let end = lin.map(|lin| self.head(*lin, log)).transpose()?.flatten();
        Ok(Some(Mark { log: log.to_owned(), end }))
    }

    /// Returns the checkpoints that a query with this `of` may select, in order. The caller keeps those for which
    /// [`Of::has`] is true.
    fn order<'a>(&'a self, contract: ContractId, of: &Of) -> Cow<'a, Ordered> {
        let of_line = |lineage| {
            self.lineage_row(contract, lineage)
                .map_or_else(Cow::default, |lineage_row| Cow::Borrowed(&lineage_row.order))
        };
        let of_lines = |prefix: &str| {
            let lineages = self
                .lineages
                .values()
                .filter(|lineage_row| lineage_row.contract == contract && lineage_row.name.starts_with(prefix));
            Cow::Owned(lineages.flat_map(|lineage_row| lineage_row.order.iter().cloned()).collect())
        };
        match of {
            Of::Contract => of_lines(""),
            Of::Lineage(lineage) | Of::LineageInGroup { lineage, .. } => of_line(lineage),
            Of::Lineages(prefix) | Of::Labelled { prefix, .. } => of_lines(prefix),
            Of::Group(group) => self.groups.get(&(contract, group.clone())).map_or_else(Cow::default, Cow::Borrowed),
        }
    }

    fn list(&self, contract: ContractId, of: &Of, before: Option<&SortKey>, limit: Option<usize>) -> Vec<Header> {
        let order = self.order(contract, of);
        let end = before.map_or(Bound::Unbounded, |sort_key| Bound::Excluded((sort_key.clone(), Seq::MIN)));
        order
            .range((Bound::Unbounded, end))
            .rev()
            .filter_map(|(_, seq)| self.rows.get(seq))
            .map(|row| &row.header)
            .filter(|header| of.has(header))
            .take(limit.unwrap_or(usize::MAX))
            .cloned()
            .collect()
    }

    fn page(&self, page: &Page) -> Result<TuplePage> {
        let mut filler = Filler::new(page);
        let orders: Vec<Cow<'_, Ordered>> = match &page.of {
            Of::Lineages(prefix) => {
                let is_of = |row: &&LineageRow| row.contract == page.contract && row.name.starts_with(prefix);
                self.lineages.values().filter(is_of).map(|row| Cow::Borrowed(&row.order)).collect()
            }
            of => vec![self.order(page.contract, of)],
        };
        if orders.len() > 1 {
            filler.look_at_all();
        }
        let mut skip = page.skip;
        for position in in_order(&orders, page) {
            let Some(row) = self.rows.get(&position.1).filter(|row| page.of.has(&row.header)) else { continue };
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if filler.is_full() {
                break;
            }
            let read = || {
                let writes = self.writes_to(page.contract, &row.header.id);
                Ok(Tuple { checkpoint: self.whole_row(row)?, writes })
            };
            filler.add(position.clone(), filler.wants(&row.header.meta, row.header.saved_at).then(read).transpose())?;
        }
        Ok(filler.finish(false))
    }

    fn whole(&self, contract: ContractId, of: &Of, prefix: &[u8]) -> Result<Vec<Checkpoint>> {
        let order = self.order(contract, of);
        order
            .range((SortKey(prefix.to_vec()), Seq::MIN)..)
            .take_while(|(sort_key, _)| sort_key.0.starts_with(prefix))
            .filter_map(|(_, seq)| self.rows.get(seq))
            .filter(|row| of.has(&row.header))
            .map(|row| self.whole_row(row))
            .collect()
    }

    /// Returns lineages that have checkpoints. The lineage that was created last comes first.
    fn lineages(&self, before: i64, limit: usize, of: impl Fn(&LineageRow) -> bool) -> Vec<Lineage> {
        self.lineages
            .range(..before)
            .rev()
            .filter(|(_, lineage_row)| of(lineage_row))
            .filter_map(|(position, lineage_row)| self.shown(*position, lineage_row))
            .take(limit)
            .collect()
    }

    /// A lineage for a listing. Returns `None` if the lineage has no checkpoint.
    fn shown(&self, position: i64, lineage_row: &LineageRow) -> Option<Lineage> {
        let (_, seq) = *lineage_row.order.last()?;
        let newest = self.rows.get(&seq)?.header.clone();
        let origin = lineage_row.first.origin.as_ref().map(|(id, _)| id.clone());
        let status = self.status(lineage_row);
        Some(Lineage { position, checkpoints: lineage_row.order.len() as u64, newest, seq, origin, status })
    }

    /// Computes the status of a lineage. This takes only its newest checkpoint, so the maps do not store it.
    pub(super) fn status(&self, lineage_row: &LineageRow) -> Status {
        let Some(newest) = self.newest(Some(&lineage_row.order)) else { return Status::Unknown };
        let rows = self.writes.get(&(lineage_row.contract, newest.header.id.clone())).into_iter().flatten();
        let mut tasks: HashMap<&str, TaskState> = HashMap::new();
        for row in rows.filter(|row| row.claimed_by.is_none()) {
            *tasks.entry(&row.task).or_default() |= row.state;
        }
        Status::of(newest.header.status, tasks.into_values())
    }

    fn recent(&self, recent: &Recent) -> Vec<Lineage> {
        let listed = |(seq, row): (&Seq, &Arc<Row<C::Payload>>)| {
            let lineage_row = self.lineages.get(&row.lineage)?;
            let wanted = recent.contracts.contains(&lineage_row.contract)
                && (!recent.named_as_group || lineage_row.name == lineage_row.first.group)
                && lineage_row.name.contains(&recent.matching)
                && lineage_row.order.last().is_some_and(|(_, newest)| newest == seq)
                && recent.has(self.status(lineage_row))
                && lineage_row.labels.has(&recent.labels);
            if !wanted {
                return None;
            }
            self.shown(row.lineage, lineage_row)
        };
        match recent.order {
            ActivityOrder::LatestFirst => {
                let rows = self.rows.range(..recent.after.unwrap_or(Seq::MAX)).rev();
                rows.filter_map(listed).take(recent.limit).collect()
            }
            ActivityOrder::EarliestFirst => {
                let after = recent.after.map_or(Bound::Unbounded, Bound::Excluded);
                self.rows.range((after, Bound::Unbounded)).filter_map(listed).take(recent.limit).collect()
            }
        }
    }

    fn open(&self, contract: ContractId, most: usize) -> OpenLineages {
        let open = |row: &LineageRow| {
            let newest = self.newest(Some(&row.order)).filter(|_| row.contract == contract)?.header.clone();
            Some(OpenLineage { newest, status: self.status(row) }).filter(|open| open.status != Status::Finished)
        };
        let mut some: Vec<OpenLineage> = self.lineages.values().filter_map(open).collect();
        let count = some.len() as u64;
        spread::keep(&mut some, most);
        OpenLineages { count, is_estimate: false, some }
    }

    fn stats(&self, contract: Option<ContractId>, largest: usize, by_status: bool) -> Stats {
        let mut stats = Stats::default();
        self.count_records(&mut stats);
        for (position, lineage_row) in &self.lineages {
            let rows = lineage_row.order.iter().filter_map(|(_, seq)| self.rows.get(seq));
            let (checkpoints, bytes) = (lineage_row.order.len() as u64, rows.map(|row| row.bytes).sum::<u64>());
            let sizes = stats.contract(lineage_row.contract);
            sizes.lineages += 1;
            if by_status && !lineage_row.contract.is_effects() {
                sizes.statuses[self.status(lineage_row) as usize] += 1;
            }
            sizes.checkpoints += checkpoints;
            sizes.logical_bytes += bytes;
            sizes.stored_bytes += bytes;
            let is_listed = contract.is_none_or(|contract| lineage_row.contract == contract);
            // A lineage without checkpoints has only logs.
            if largest > 0 && checkpoints > 0 && is_listed && !lineage_row.contract.is_effects() {
                let (contract, lineage) = (lineage_row.contract, lineage_row.name.clone());
                let (logical_bytes, stored_bytes) = (bytes, bytes);
                let record_bytes = self.record_bytes(*position, lineage_row);
                let found = LineageStats { contract, lineage, checkpoints, logical_bytes, stored_bytes, record_bytes };
                stats.rank_among_largest(found, largest);
            }
        }
        stats
    }

    /// The findings for pending writes whose checkpoint does not exist.
    pub(crate) fn writes_of_none(&self) -> Vec<Finding> {
        let ids = self.writes.keys().filter(|of| !self.ids.contains_key(*of));
        ids.map(|(contract, id)| Finding::writes_of_none(*contract, id.clone())).collect()
    }

    /// Counts all stored items. Data in memory cannot be damaged.
    fn check(&self) -> CheckPage {
        let checkpoints = self.rows.len() as u64;
        let writes = self.writes.values().map(|rows| rows.len() as u64).sum();
        let counted = Counted { checkpoints, payloads: checkpoints, writes, records: self.record_count() };
        let rows = checkpoints + writes + counted.records;
        CheckPage { counted, findings: self.writes_of_none(), done: rows, of: rows, ..CheckPage::default() }
    }
}

/// Returns the positions after the beginning of a page, in the order of the page.
fn in_order<'a>(orders: &'a [Cow<'a, Ordered>], page: &'a Page) -> impl Iterator<Item = &'a Position> + 'a {
    let end = || page.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut sources: Vec<_> = orders
        .iter()
        .map(|order| match page.order {
            RowOrder::NewestFirst => order.range::<Position, _>((Bound::Unbounded, end())),
            RowOrder::OldestFirst => order.range::<Position, _>((end(), Bound::Unbounded)),
        })
        .collect();
    let order = page.order;
    let mut next_of = move |source: usize| {
        let position = match order {
            RowOrder::NewestFirst => sources.get_mut(source)?.next_back(),
            RowOrder::OldestFirst => sources.get_mut(source)?.next(),
        };
        position.map(|position| Reverse((InOrder { order, position: Prefixed::new(position) }, source)))
    };
    // The first position of each source.
    let mut first: BinaryHeap<_> = (0..orders.len()).filter_map(&mut next_of).collect();
    iter::from_fn(move || {
        let Reverse((InOrder { position, .. }, source)) = first.pop()?;
        first.extend(next_of(source));
        Some(position.position)
    })
}

/// A position, with the beginning of its sort key. Comparisons read the sort key's memory only if the beginnings are
/// equal.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Prefixed<'a> {
    /// The first bytes of the sort key, as a big-endian integer. A shorter sort key is padded with zeros.
    prefix: u128,
    position: &'a Position,
}

impl<'a> Prefixed<'a> {
    fn new(position: &'a Position) -> Self {
        let mut prefix = [0; size_of::<u128>()];
        let SortKey(sort_key) = &position.0;
        let length = sort_key.len().min(prefix.len());
        prefix[..length].copy_from_slice(&sort_key[..length]);
        Self { prefix: u128::from_be_bytes(prefix), position }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_with_a_prefix_are_in_the_order_of_positions() {
        let keys: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0\x01", &[7; 16], &[7; 17], &[8; 15]];
        let positions: Vec<Position> =
            keys.iter().flat_map(|key| [1, 2].map(|seq| (SortKey(key.to_vec()), seq))).collect();
        for (one, other) in positions.iter().flat_map(|one| positions.iter().map(move |other| (one, other))) {
            assert_eq!(Prefixed::new(one).cmp(&Prefixed::new(other)), one.cmp(other), "{one:?} {other:?}");
        }
    }
}
