//! Answers the questions of retention from the maps.

use super::contents::Contents;
use super::maps::Tables;
use super::row::Row;
use crate::backend::clock::machine_clock;
use crate::error::Result;
use crate::record::{ContractId, Seq, SortKey, Status};
use crate::retention::{Catalog, Entry, LEASES, Leases, Line, SavedList, Stored};

impl<C: Contents> Tables<C> {
    fn entries<'a>(&self, order: impl Iterator<Item = &'a (SortKey, Seq)>, most: usize) -> Vec<Entry> {
        order.take(most).filter_map(|(_, seq)| Some(self.rows.get(seq)?.entry(*seq))).collect()
    }
}

impl<C: Contents> Catalog for Tables<C> {
    fn saved_after(&self, contract: Option<ContractId>, after: Seq, _: Option<i64>, most: usize) -> Result<SavedList> {
        let of = |row: &Row<C::Payload>| {
            let header = &row.header;
            !header.exempt && contract.is_none_or(|contract| header.contract == contract)
        };
        let rows = self.rows.range(after.saturating_add(1)..).filter(|(_, row)| of(row)).take(most);
        Ok(SavedList::new(rows.map(|(seq, row)| row.entry(*seq)).collect(), most))
    }

    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>> {
        let lineages = self.lineages.range(after.saturating_add(1)..);
        let of = lineages
            .filter(|(_, row)| !row.contract.has_records() && contract.is_none_or(|contract| row.contract == contract));
        Ok(of.map(|(position, _)| *position).take(most).collect())
    }

    fn lines(&self, lineages: &[i64]) -> Result<Vec<Line>> {
        let line = |lin: &i64| {
            let row = self.lineages.get(lin)?;
            let (contract, name, status) = (row.contract, row.name.clone(), self.status(row));
            Some(Line { lineage: *lin, contract, name, status })
        };
        Ok(lineages.iter().filter_map(line).collect())
    }

    fn waiting_among(&self, runs: &[(ContractId, String)]) -> Result<Vec<(ContractId, String)>> {
        let waits = |run: &&(ContractId, String)| {
            let row = self.positions.get(*run).and_then(|lin| self.lineages.get(lin));
            row.is_some_and(|row| self.status(row) == Status::Waiting)
        };
        Ok(runs.iter().filter(waits).cloned().collect())
    }

    fn leases(&self) -> Result<Leases> {
        let seqs = self.lineages.values().filter(|row| row.contract == LEASES).flat_map(|row| &row.order);
        let headers = seqs.filter_map(|(_, seq)| Some(&self.rows.get(seq)?.header));
        let all = headers.map(|header| (header.saved_at, header.meta.clone())).collect();
        Ok(Leases { now: machine_clock(), all })
    }

    fn named(&self, contract: ContractId, name: &str, all: bool) -> Result<Vec<i64>> {
        if !all {
            return Ok(self.positions.get(&(contract, name.to_owned())).copied().into_iter().collect());
        }
        let of = self.lineages.iter().filter(|(_, row)| row.contract == contract && row.name.starts_with(name));
        Ok(of.map(|(position, _)| *position).collect())
    }

    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        Ok(lineages.iter().map(|lin| self.lineages.get(lin).map_or(0, |row| row.order.len())).collect())
    }

    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        let oldest = |(lin, most): &(i64, usize)| {
            let Some(row) = self.lineages.get(lin) else { return Vec::new() };
            let mut entries: Vec<_> = row.order.iter().collect();
            if row.first.age_offset != 0 {
                entries.sort_by_key(|(_, seq)| *seq);
            }
            self.entries(entries.into_iter(), *most)
        };
        Ok(lineages.iter().map(oldest).collect())
    }

    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        let newest = |(lin, most): &(i64, usize)| {
            let entries = self.lineages.get(lin).into_iter().flat_map(|row| row.order.iter().rev());
            self.entries(entries, *most)
        };
        Ok(lineages.iter().map(newest).collect())
    }

    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        Ok(lineages.iter().map(|lin| self.lineages.get(lin).is_some_and(|row| !row.dependents.is_empty())).collect())
    }

    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
        let mut found = Vec::new();
        for parent in parents {
            let Some(row) = self.rows.get(parent) else { continue };
            let lineage_row = self.lineages.get(&row.lineage);
            let entries =
                lineage_row.and_then(|lineage_row| lineage_row.dependents.get(&row.header.id)).into_iter().flatten();
            found.extend(entries.filter_map(|(_, seq)| Some((*parent, self.rows.get(seq)?.entry(*seq)))));
        }
        Ok(found)
    }

    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>> {
        let stored = |seq: &Seq| Some((*seq, Stored { base: None, bytes: self.rows.get(seq)?.bytes }));
        Ok(seqs.iter().filter_map(stored).collect())
    }

    fn deltas_of(&self, _: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
        Ok(Vec::new())
    }

    fn total(&self, contract: Option<ContractId>, _: u64) -> Result<Option<u64>> {
        let of =
            |row: &&std::sync::Arc<Row<C::Payload>>| contract.is_none_or(|contract| row.header.contract == contract);
        Ok(Some(self.rows.values().filter(of).map(|row| row.bytes).sum()))
    }
}
