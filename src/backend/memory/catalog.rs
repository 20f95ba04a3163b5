//! What retention asks of the maps.

use super::{Memory, Row};
use crate::error::Result;
use crate::record::{DIFFERENCE, Seq, Space};
use crate::retention::{Catalog, Entry, Stored};

impl Catalog for Memory {
    fn saved_after(&self, space: Option<Space>, after: Seq, most: usize) -> Result<Vec<Entry>> {
        let of = |row: &Row| space.is_none_or(|space| row.checkpoint.header.space == space);
        let rows = self.rows.range(after.saturating_add(1)..).filter(|(_, row)| of(row)).take(most);
        Ok(rows.map(|(seq, row)| row.entry(*seq)).collect())
    }

    fn lineages_after(&self, space: Option<Space>, after: i64, most: usize) -> Result<Vec<i64>> {
        let lines = self.lineages.range(after.saturating_add(1)..);
        let of = lines.filter(|(_, line)| space.is_none_or(|space| line.space == space));
        Ok(of.map(|(position, _)| *position).take(most).collect())
    }

    fn count(&self, lineage: i64) -> Result<usize> {
        Ok(self.lineages.get(&lineage).map_or(0, |line| line.order.len()))
    }

    fn oldest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let Some(line) = self.lineages.get(&lineage) else { return Ok(Vec::new()) };
        let mut places: Vec<_> = line.order.iter().collect();
        // Stable: by rank and then as saved within an age.
        places.sort_by_key(|(rank, _)| rank.age(line.space));
        Ok(places.into_iter().take(most).filter_map(|(_, seq)| Some(self.rows.get(seq)?.entry(*seq))).collect())
    }

    fn newest(&self, lineage: i64, most: usize) -> Result<Vec<Entry>> {
        let places = self.lineages.get(&lineage).into_iter().flat_map(|line| line.order.iter().rev());
        Ok(places.take(most).filter_map(|(_, seq)| Some(self.rows.get(seq)?.entry(*seq))).collect())
    }

    fn has_differences(&self, lineage: i64) -> Result<bool> {
        let line = self.lineages.get(&lineage).filter(|line| line.space == Space::LANGGRAPH);
        Ok(line.and_then(|line| line.labels.get(DIFFERENCE)).is_some_and(|marked| !marked.is_empty()))
    }

    fn differences(&self, seq: Seq) -> Result<Vec<Entry>> {
        let Some(row) = self.rows.get(&seq) else { return Ok(Vec::new()) };
        let line = self.lineages.get(&row.lineage).filter(|line| line.space == Space::LANGGRAPH);
        let marked = line.and_then(|line| line.labels.get(DIFFERENCE)).into_iter().flatten();
        let found = marked.filter_map(|(_, seq)| Some((*seq, self.rows.get(seq)?)));
        let id = &row.checkpoint.header.id;
        let of = found.filter(|(_, other)| other.checkpoint.header.parent.as_ref() == Some(id));
        Ok(of.map(|(seq, other)| other.entry(seq)).collect())
    }

    fn stored(&self, seq: Seq) -> Result<Option<Stored>> {
        Ok(self.rows.get(&seq).map(|row| Stored { base: None, bytes: row.bytes }))
    }

    fn dependants(&self, _: Seq) -> Result<Vec<(Seq, u64)>> {
        Ok(Vec::new())
    }

    fn total(&self, space: Option<Space>, _: u64) -> Result<Option<u64>> {
        let of = |row: &&Row| space.is_none_or(|space| row.checkpoint.header.space == space);
        Ok(Some(self.rows.values().filter(of).map(|row| row.bytes).sum()))
    }
}
