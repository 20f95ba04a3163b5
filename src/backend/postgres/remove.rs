//! Removes checkpoints, with all that only they need.

use std::collections::BTreeSet;

use super::lineage;
use super::logs::Logs;
use super::row::{self, number};
use super::value::values;
use super::write::Writing;
use crate::backend::logs::{self as log, Mark};
use crate::backend::marks::decode_marks;
use crate::error::Result;
use crate::record::{ContractId, Seq};

impl Writing<'_> {
    /// The save numbers of the checkpoint with this id.
    pub(super) fn numbers(&self, contract: ContractId, id: &str) -> Result<Vec<Seq>> {
        const SQL: &str = concat!(
            "SELECT seq, lin FROM @checkpoint WHERE contract = $1 AND ",
            super::schema::key!("id"),
            " = ",
            super::schema::key!("$2"),
            " AND id = $2"
        );
        let found = self.open.query(SQL, values![number(contract), id])?;
        found.iter().try_for_each(|row| self.check_locked(row.get(1)))?;
        Ok(row::numbers(&found))
    }

    /// Removes the lineages of these that have neither checkpoints nor logs.
    pub(super) fn end_empty(&self, lins: &[i64]) {
        let used: Vec<i64> = lins.iter().copied().filter(|lin| !self.unused.contains(lin)).collect();
        if !used.is_empty() {
            lineage::end_empty(self.open, &used);
        }
    }

    /// Removes checkpoints and their pending writes. Returns the number of freed bytes, and the number of lineages
    /// that now have no checkpoints.
    pub(super) fn remove_all(&mut self, victims: &[Seq]) -> Result<(i64, u64)> {
        if victims.is_empty() {
            return Ok((0, 0));
        }
        self.known.forget();
        self.open.later(
            "DELETE FROM @write AS w USING @checkpoint AS c WHERE c.seq = ANY($1) AND w.contract = c.contract AND w.id = c.id",
            values![victims.to_vec()],
        );
        let (bytes, lins) = self.delete(victims)?;
        let left =
            self.open.query("SELECT DISTINCT lin FROM @checkpoint WHERE lin = ANY($1)", values![lins.clone()])?;
        self.end_empty(&lins);
        Ok((bytes, lins.len().saturating_sub(left.len()) as u64))
    }

    /// Removes checkpoint rows with their payloads, and the log records to which only these checkpoints referred.
    /// Returns the number of freed bytes, and the lineages.
    pub(super) fn delete(&mut self, victims: &[Seq]) -> Result<(i64, Vec<i64>)> {
        if victims.is_empty() {
            return Ok((0, Vec::new()));
        }
        let bytes = self.payloads.remove(victims)?;
        let gone = self
            .open
            .query("DELETE FROM @checkpoint WHERE seq = ANY($1) RETURNING seq, lin, logs", values![victims.to_vec()])?;
        let mut marks: Vec<(Seq, Vec<Mark>)> = Vec::new();
        for row in &gone {
            // Damaged marks protect nothing: the records stay.
            if let Some(logs) = row.get::<_, Option<&[u8]>>(2)
                && let Ok(found) = decode_marks(Some(logs))
            {
                marks.push((row.get(0), found));
            }
        }
        log::release(&mut Logs(self.open), marks.iter().map(|(seq, marks)| (*seq, &marks[..])))?;
        let lins: BTreeSet<i64> = gone.iter().map(|row| row.get(1)).collect();
        Ok((bytes, lins.into_iter().collect()))
    }
}
