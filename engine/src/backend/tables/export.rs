//! Reads everything that the maps hold, page by page.

use std::ops::Bound;

use super::contents::Contents;
use super::maps::Tables;
use super::row::{First, Key, LineageRow};
use crate::error::Result;
use crate::record::{ContractId, FirstCheckpoint, Labels, Origin, Saved, Seq, Start, Written};

impl<C: Contents> Tables<C> {
    pub(super) fn saves(&self, after: Option<Seq>, bytes: usize) -> Result<Vec<Saved>> {
        let (mut found, mut size) = (Vec::new(), 0);
        for (seq, row) in self.rows.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)) {
            let saved = Saved { seq: *seq, lineage: row.lineage, checkpoint: self.whole_row(row)? };
            size += saved.weight();
            found.push(saved);
            if size >= bytes {
                break;
            }
        }
        Ok(found)
    }

    pub(super) fn starts(&self, after: Option<i64>, limit: usize) -> Vec<Start> {
        let rows = self.lineages.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        rows.take(limit).map(|(position, row)| self.start(*position, row)).collect()
    }

    pub(super) fn start_of(&self, contract: ContractId, name: &str) -> Vec<Start> {
        let position = self.positions.get(&(contract, name.to_owned()));
        position.map_or_else(Vec::new, |position| self.starts(Some(position - 1), 1))
    }

    fn start(&self, position: i64, row: &LineageRow) -> Start {
        let First { group, origin, age_offset } = &row.first;
        let origin = origin.as_ref().map(|(id, position)| Origin {
            id: id.clone(),
            position: *position,
            lineage: self.lineages.get(position).map(|row| row.name.clone()),
        });
        let first = FirstCheckpoint { group: group.clone(), age_offset: *age_offset, origin };
        let first = (!row.order.is_empty()).then_some(first);
        let labels = first.as_ref().map_or_else(Labels::default, |_| row.labels.clone());
        Start { position, contract: row.contract, name: row.name.clone(), first, labels }
    }

    pub(super) fn all_writes(&self, after: Option<&Key>, bytes: usize) -> Vec<Written> {
        let (mut found, mut size) = (Vec::new(), 0);
        let from = after.cloned().map_or(Bound::Unbounded, Bound::Excluded);
        for (contract, id) in self.writes.range((from, Bound::Unbounded)).map(|(key, _)| key) {
            let written = Written { contract: *contract, id: id.clone(), writes: self.writes_to(*contract, id) };
            size += written.weight();
            found.push(written);
            if size >= bytes {
                break;
            }
        }
        found
    }
}
