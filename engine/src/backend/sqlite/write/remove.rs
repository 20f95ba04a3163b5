//! Removes checkpoints: by id, by a least sort key, by a prefix of the lineage's name, by save number, or all but the
//! newest of a lineage.

use std::collections::BTreeSet;

use super::Writing;
use crate::backend::logs::{self as log, Mark};
use crate::backend::marks::decode_marks;
use crate::backend::sqlite::lineage::{self, LineageRow};
use crate::backend::sqlite::retention::SqliteCatalog;
use crate::backend::sqlite::row::{self, HeaderRow};
use crate::backend::sqlite::{listing, setting, status, writes};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Seq, SortKey};
use crate::retention::beyond;

impl Writing<'_> {
    pub(super) fn remove(&mut self, contract: ContractId, id: &str) -> Result<()> {
        match row::by_id(self.transaction, contract, id) {
            Ok(Some(row)) => {
                self.remove_all(&[row.seq])?;
                self.remove_effects(&row)
            }
            Ok(None) => Ok(()),
            Err(error) => {
                let damaged = self.damaged(contract, id, error)?;
                self.remove_all(&damaged)?;
                writes::remove(self.transaction, contract, id)
            }
        }
    }

    /// Removes the effects of a run after the removal of its last checkpoint.
    fn remove_effects(&mut self, HeaderRow { lin, header, .. }: &HeaderRow) -> Result<()> {
        if header.contract.is_effects() || listing::newest(self.transaction, *lin)?.is_some() {
            return Ok(());
        }
        self.remove_from(header.contract.effects(), &header.lineage, &SortKey::default())
    }

    /// Finds the damaged rows of a checkpoint, so that they can be removed. `why` is the error of reading the
    /// checkpoint.
    ///
    /// # Errors
    ///
    /// Returns `why` if it is not `CORRUPT`, or if no row can be identified as this checkpoint.
    pub(super) fn damaged(&self, contract: ContractId, id: &str, why: Error) -> Result<Vec<Seq>> {
        if why.code() != Code::Corrupt {
            return Err(why);
        }
        let damaged = row::damaged_by_id(self.transaction, contract, id)?;
        if damaged.is_empty() { Err(why) } else { Ok(damaged) }
    }

    pub(super) fn remove_from(&mut self, contract: ContractId, lineage: &str, sort_key: &SortKey) -> Result<()> {
        let Some(lineage) = lineage::find(self.transaction, contract, lineage)? else { return Ok(()) };
        let victims = listing::from_sort_key(self.transaction, lineage.lin, sort_key)?;
        self.remove_all(&victims).map(drop)
    }

    pub(super) fn remove_lineages(&mut self, contract: ContractId, prefix: &str) -> Result<()> {
        if prefix.is_empty() {
            return Ok(());
        }
        for lineage in lineage::with_prefix(self.transaction, contract, prefix)? {
            log::remove_all(&mut self.logs, lineage.lin)?;
            let victims = listing::from_sort_key(self.transaction, lineage.lin, &SortKey::default())?;
            self.remove_all(&victims)?;
            self.end_lineage_if_empty(&lineage)?;
        }
        Ok(())
    }

    pub(super) fn keep_last(&mut self, contract: ContractId, lineage: &str, keep: u64, pinned: &str) -> Result<()> {
        let Some(lineage) = lineage::find(self.transaction, contract, lineage)? else { return Ok(()) };
        let pinned = row::by_id(self.transaction, contract, pinned)?.map(|row| row.seq);
        let catalog = SqliteCatalog(self.transaction);
        let victims = beyond(&catalog, lineage.lin, keep, pinned)?;
        self.remove_all(&victims).map(drop)
    }

    /// Removes checkpoints and their pending writes. Returns the number of freed bytes, and the number of lineages
    /// that now have no checkpoints.
    pub(super) fn remove_all(&mut self, victims: &[Seq]) -> Result<(i64, u64)> {
        let mut rows = Vec::with_capacity(victims.len());
        let mut lineages = BTreeSet::new();
        for seq in victims {
            match row::read(self.transaction, *seq) {
                Ok(Some(row)) => {
                    writes::remove(self.transaction, row.header.contract, &row.header.id)?;
                    lineages.insert(row.lin);
                    rows.push(row);
                }
                Ok(None) => {}
                // A damaged row can be removed. Its id may be wrong, so keep the pending writes under this id.
                Err(error) if error.code() == Code::Corrupt => {
                    lineages.extend(row::lineage_of(self.transaction, *seq)?);
                }
                Err(error) => return Err(error),
            }
        }
        let bytes = self.delete(victims, &rows)?;
        if victims.contains(&self.last_seq) {
            setting::set_number(self.transaction, setting::SEQ_FLOOR, self.last_seq)?;
        }
        Ok((bytes, self.end_lineages(lineages)?))
    }

    /// Removes checkpoint rows with their payloads, and the log records that only they referred to. `rows` are the
    /// intact rows of `victims`. Returns the number of freed bytes.
    pub(super) fn delete(&mut self, victims: &[Seq], rows: &[HeaderRow]) -> Result<i64> {
        let bytes = self.payloads.remove(victims)?;
        let marks: Vec<(Seq, Vec<Mark>)> = rows
            .iter()
            .filter(|row| row.logs.is_some())
            .map(|row| Ok((row.seq, decode_marks(row.logs.as_deref())?)))
            .collect::<Result<_>>()?;
        log::release(&mut self.logs, marks.iter().map(|(seq, marks)| (*seq, &marks[..])))?;
        Ok(bytes)
    }

    /// Removes the rows of the given lineages that have neither checkpoints nor logs. Returns the number of given
    /// lineages that have no checkpoints.
    pub(super) fn end_lineages(&mut self, lineages: impl IntoIterator<Item = i64>) -> Result<u64> {
        let mut emptied = 0;
        for lin in lineages {
            let is_empty = listing::newest(self.transaction, lin)?.is_none();
            emptied += u64::from(is_empty);
            status::refresh(self.transaction, lin)?;
            if let Some(row) = lineage::read(self.transaction, lin)? {
                if is_empty && row.contract.has_namespaces() {
                    writes::remove_unowned(self.transaction, row.contract, &row.name)?;
                }
                self.end_lineage_if_empty(&row)?;
            }
        }
        Ok(emptied)
    }

    /// Removes the row of a lineage that has neither checkpoints nor logs.
    pub(super) fn end_lineage_if_empty(&mut self, row: &LineageRow) -> Result<()> {
        if listing::newest(self.transaction, row.lin)?.is_none() && !self.logs.any(row.lin)? {
            lineage::end(self.transaction, row)?;
            self.payloads.totals()?.ended(row.contract, row.lin);
        }
        Ok(())
    }
}
