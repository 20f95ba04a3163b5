//! Lists checkpoints without their payloads.

use std::sync::Arc;

use super::contents::Contents;
use super::maps::Tables;
use super::row::{LineageRow, Row};
use crate::backend::rows::{Lineup, page};
use crate::error::Result;
use crate::query::{Feed, RowOrder, Rows};
use crate::record::{FeedPage, Labels, Listed, RowPage, RowSums, Seq, SortKey};

/// The checkpoints of a lineage.
struct Of<'a, C: Contents> {
    tables: &'a Tables<C>,
    lineage: &'a LineageRow,
}

impl<C: Contents> Lineup for Of<'_, C> {
    fn count(&self) -> Result<u64> {
        Ok(self.lineage.order.len() as u64)
    }

    fn before(&self, sort_key: &SortKey, seq: Seq) -> Result<u64> {
        Ok(self.lineage.order.range(..(sort_key.clone(), seq)).count() as u64)
    }

    fn position(&self, id: &str) -> Result<Option<(SortKey, Seq)>> {
        let seq = self.tables.ids.get(&(self.lineage.contract, id.to_owned()));
        let found = seq.and_then(|seq| Some((*seq, self.tables.rows.get(seq)?)));
        let ours = found.filter(|(_, row)| row.header.lineage == self.lineage.name);
        Ok(ours.map(|(seq, row)| (row.header.sort_key.clone(), seq)))
    }

    fn rows(&self, order: RowOrder, skip: u64, limit: usize) -> Result<Vec<Listed>> {
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let listed = |(_, seq): &(SortKey, Seq)| self.tables.rows.get(seq).map(|row| listed(*seq, row));
        Ok(match order {
            RowOrder::OldestFirst => self.lineage.order.iter().skip(skip).take(limit).filter_map(listed).collect(),
            RowOrder::NewestFirst => {
                self.lineage.order.iter().rev().skip(skip).take(limit).filter_map(listed).collect()
            }
        })
    }
}

fn listed<P>(seq: Seq, row: &Row<P>) -> Listed {
    let header = row.header.clone();
    Listed { seq, step: 0, header, logical_bytes: row.bytes, stored_bytes: row.bytes, chain: 0 }
}

impl<C: Contents> Tables<C> {
    pub(super) fn rows_of(&self, wanted: &Rows) -> Result<RowPage> {
        let Some(lineage) = self.lineage_row(wanted.contract, &wanted.lineage) else { return Ok(RowPage::default()) };
        let (checkpoints, rows) = page(&Of { tables: self, lineage }, wanted)?;
        let origin = lineage.first.origin.as_ref().filter(|_| checkpoints > 0).map(|(id, position)| {
            let lineage = self.lineages.get(position).map(|lineage| lineage.name.clone());
            (id.clone(), lineage)
        });
        let sums = wanted.sums.then(|| {
            let rows = lineage.order.iter().filter_map(|(_, seq)| Some((*seq, self.rows.get(seq)?)));
            let bytes = rows.clone().map(|(_, row)| row.bytes).sum();
            let first = rows.min_by_key(|(seq, _)| *seq);
            let began = first.map_or(0, |(_, row)| row.header.saved_at);
            let record_bytes = self
                .positions
                .get(&(wanted.contract, wanted.lineage.clone()))
                .map_or(0, |position| self.record_bytes(*position, lineage));
            RowSums { logical_bytes: bytes, stored_bytes: bytes, record_bytes, began }
        });
        let labels = if checkpoints > 0 { lineage.labels.clone() } else { Labels::default() };
        Ok(RowPage { checkpoints, origin, status: self.status(lineage), labels, rows, sums })
    }

    pub(super) fn feed(&self, feed: &Feed) -> Result<FeedPage> {
        let step = |(seq, row): (&Seq, &Arc<Row<C::Payload>>)| {
            let Some(lineage) = self.lineages.get(&row.lineage) else { return Ok(listed(*seq, row)) };
            let step = Of { tables: self, lineage }.before(&row.header.sort_key, *seq)?;
            Ok(Listed { step, ..listed(*seq, row) })
        };
        let rows = self.rows.range(feed.after.saturating_add(1)..);
        let rows: Vec<Listed> = match feed.order {
            RowOrder::OldestFirst => rows.take(feed.limit).map(step).collect::<Result<_>>()?,
            RowOrder::NewestFirst => rows.rev().take(feed.limit).map(step).collect::<Result<_>>()?,
        };
        let next = rows.iter().map(|row| row.seq).max().unwrap_or(feed.after);
        Ok(FeedPage { rows, next, checkpoints: Some(self.rows.len() as u64), ..FeedPage::default() })
    }
}
