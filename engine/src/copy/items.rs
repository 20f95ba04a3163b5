//! Reads the lineages, checkpoints and pending writes of a store or of one lineage, page by page.

use std::collections::VecDeque;

use super::shared::Shared;
use super::side::{Name, Pending, Side};
use crate::error::Result;
use crate::names;
use crate::query::{Answer, Pick, Query, RowOrder, Rows, RowsFrom};
use crate::record::{ContractId, Origin, Saved, Seq, Start, Tuple, Written};

/// The number of lineages in a page.
const LINEAGES: usize = 256;

/// The number of checkpoints of a lineage in one read.
const AT_ONCE: usize = 16;

/// Items that were read from one store, and the position after them.
pub(super) struct Items<T, Position> {
    pub(super) read: VecDeque<T>,
    after: Option<Position>,
    /// The next page of the entire store. The store reads it while the previous page is used.
    next: Option<Pending>,
    /// True after an empty page: nothing more is read. Never true for lineages, which are read again.
    ended: bool,
}

/// An item that is read in pages.
pub(super) trait Item<Position>: Sized {
    /// True if the next page is requested in advance.
    const AHEAD: bool;

    /// The query for a page of the entire store.
    fn query(after: Option<Position>, bytes: usize) -> Query;
    fn of(answer: Answer) -> Result<Vec<Self>>;
    /// Reads a page of one lineage.
    fn of_lineage(shared: &Shared, side: &Side, lineage: &Name, after: Option<Position>) -> Result<Vec<Self>>;
    fn position(&self) -> Position;
    fn contract(&self) -> ContractId;
    /// The name of the item in messages.
    fn named(&self) -> String;
}

impl<T: Item<Position>, Position: Clone> Items<T, Position> {
    pub(super) fn after(after: Option<Position>) -> Self {
        Self { read: VecDeque::new(), after, next: None, ended: false }
    }

    /// Reads the next page if all items of the last one are used.
    pub(super) fn fill(&mut self, shared: &Shared, side: &Side) -> Result<()> {
        while self.read.is_empty() && !self.ended {
            let is_ahead = self.next.is_some();
            let found = match &shared.only {
                Some(lineage) => T::of_lineage(shared, side, lineage, self.after.clone())?,
                None => T::of(self.next.take().unwrap_or_else(|| self.request(shared, side)).wait()?)?,
            };
            let Some(last) = found.last() else {
                // The page was requested in advance, so the store may have more items by now.
                if is_ahead {
                    continue;
                }
                self.ended = T::AHEAD;
                break;
            };
            self.after = Some(last.position());
            if T::AHEAD && shared.only.is_none() {
                self.next = Some(self.request(shared, side));
            }
            self.read.extend(found.into_iter().filter(|item| !shared.leaves_out(item.contract())));
        }
        Ok(())
    }

    fn request(&self, shared: &Shared, side: &Side) -> Pending {
        side.request(T::query(self.after.clone(), shared.options.page_bytes))
    }

    pub(super) fn take(&mut self, shared: &Shared, side: &Side) -> Result<Option<T>> {
        self.fill(shared, side)?;
        Ok(self.read.pop_front())
    }

    /// Returns true if there are no more items.
    pub(super) fn is_at_end(&mut self, shared: &Shared, side: &Side) -> Result<bool> {
        self.fill(shared, side)?;
        Ok(self.read.is_empty())
    }
}

impl Item<i64> for Start {
    const AHEAD: bool = false;

    fn query(after: Option<i64>, _: usize) -> Query {
        Query::Starts { after, limit: LINEAGES }
    }

    fn of(answer: Answer) -> Result<Vec<Self>> {
        answer.into_starts()
    }

    /// A lineage that is copied alone keeps its origin only if the destination has the origin.
    fn of_lineage(shared: &Shared, side: &Side, lineage: &Name, after: Option<i64>) -> Result<Vec<Self>> {
        let found = if after.is_none() { side.start(lineage)? } else { None };
        let Some(mut start) = found else { return Ok(Vec::new()) };
        start.position = 0;
        if let Some(first) = &mut start.first
            && let Some(Origin { id, .. }) = first.origin.take()
        {
            let lineage = shared.to.lineage_of(start.contract, &id)?.filter(|lineage| *lineage != start.name);
            first.origin = lineage.map(|lineage| Origin { id, position: i64::MIN, lineage: Some(lineage) });
        }
        Ok(vec![start])
    }

    fn position(&self) -> i64 {
        self.position
    }

    fn contract(&self) -> ContractId {
        self.contract
    }

    fn named(&self) -> String {
        names::run(self.contract, &self.name)
    }
}

impl Item<Seq> for Saved {
    const AHEAD: bool = true;

    fn query(after: Option<Seq>, bytes: usize) -> Query {
        Query::Saves { after, bytes }
    }

    fn of(answer: Answer) -> Result<Vec<Self>> {
        answer.into_saves()
    }

    fn of_lineage(shared: &Shared, side: &Side, lineage: &Name, after: Option<Seq>) -> Result<Vec<Self>> {
        let mut rows = rows_of(side, lineage)?;
        rows.retain(|(seq, _)| after.is_none_or(|after| *seq > after));
        rows.sort_unstable_by_key(|(seq, _)| *seq);
        let found = tuples_of(shared, side, lineage, &rows, |tuple| tuple.checkpoint.payload.len())?;
        let saved = |(seq, Tuple { checkpoint, .. })| Saved { seq, lineage: 0, checkpoint };
        Ok(found.into_iter().map(saved).collect())
    }

    fn position(&self) -> Seq {
        self.seq
    }

    fn contract(&self) -> ContractId {
        self.checkpoint.header.contract
    }

    fn named(&self) -> String {
        names::checkpoint_of(&self.checkpoint.header)
    }
}

impl Item<(ContractId, String)> for Written {
    const AHEAD: bool = true;

    fn query(after: Option<(ContractId, String)>, bytes: usize) -> Query {
        Query::Writes { after, bytes }
    }

    fn of(answer: Answer) -> Result<Vec<Self>> {
        answer.into_writes()
    }

    /// Writes to checkpoints that do not exist belong to no lineage.
    fn of_lineage(
        shared: &Shared,
        side: &Side,
        lineage: &Name,
        after: Option<(ContractId, String)>,
    ) -> Result<Vec<Self>> {
        let mut rows = rows_of(side, lineage)?;
        rows.retain(|(_, id)| after.as_ref().is_none_or(|(_, after)| id > after));
        rows.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        let weight = |tuple: &Tuple| tuple.writes.iter().map(|write| write.part.bytes.len()).sum();
        let found = tuples_of(shared, side, lineage, &rows, weight)?.into_iter();
        let found = found.filter(|(_, tuple)| !tuple.writes.is_empty());
        let written =
            |(_, Tuple { checkpoint, writes })| Written { contract: lineage.0, id: checkpoint.header.id, writes };
        Ok(found.map(written).collect())
    }

    fn position(&self) -> (ContractId, String) {
        (self.contract, self.id.clone())
    }

    fn contract(&self) -> ContractId {
        self.contract
    }

    fn named(&self) -> String {
        format!("the pending writes of {}", names::checkpoint(self.contract, &self.id))
    }
}

pub(super) fn logs_of(start: &Start) -> Query {
    Query::Logs { contract: start.contract, lineage: start.name.clone() }
}

/// The checkpoints of a lineage: their save numbers and their ids.
fn rows_of(side: &Side, (contract, lineage): &Name) -> Result<Vec<(Seq, String)>> {
    let (from, order, limit, sums) = (RowsFrom::End, RowOrder::OldestFirst, usize::MAX, false);
    let rows = Rows { contract: *contract, lineage: lineage.clone(), from, order, limit, sums };
    let page = side.ask(Query::Rows(rows))?.into_rows()?;
    Ok(page.rows.into_iter().map(|row| (row.seq, row.header.id)).collect())
}

/// Reads checkpoints of a lineage, with their writes, until a page is full.
fn tuples_of(
    shared: &Shared,
    side: &Side,
    (contract, lineage): &Name,
    rows: &[(Seq, String)],
    weight: fn(&Tuple) -> usize,
) -> Result<Vec<(Seq, Tuple)>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for rows in rows.chunks(AT_ONCE) {
        let query = |(_, id): &(Seq, String)| Query::Tuple { contract: *contract, pick: Pick::Id(id.clone()) };
        let answers = side.ask_all(rows.iter().map(query).collect())?;
        for ((seq, _), answer) in rows.iter().zip(answers) {
            let tuple = answer.into_tuple()?.filter(|tuple| tuple.checkpoint.header.lineage == *lineage);
            bytes += tuple.as_deref().map_or(0, weight);
            found.extend(tuple.map(|tuple| (*seq, *tuple)));
        }
        if bytes >= shared.options.page_bytes {
            break;
        }
    }
    Ok(found)
}
