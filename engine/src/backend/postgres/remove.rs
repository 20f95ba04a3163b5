//! Removes checkpoints, and the data that only they need.

use std::collections::BTreeSet;

use super::key::{Name, columns, number};
use super::lineage;
use super::logs::Logs;
use super::prefix::{is_name, join_beginning};
use super::row;
use super::value::values;
use super::write::Writing;
use crate::backend::logs::{self as log, Mark};
use crate::backend::marks::decode_marks;
use crate::backend::rebase;
use crate::error::Result;
use crate::op::Op;
use crate::record::{ContractId, Seq};

/// Removes the writes to checkpoints that are not stored, of threads that have no checkpoint any more. The ids of the
/// checkpoints begin with the name of the thread's own lineage. The contracts are those of
/// [`ContractId::has_namespaces`].
const UNOWNED_WRITES: &str = concat!(
    "DELETE FROM @write AS given USING (
       SELECT l.contract, l.name AS prefix FROM @lineage AS l
       WHERE l.lin = ANY($1) AND l.contract IN (4, 7) AND NOT EXISTS (SELECT FROM @checkpoint AS c WHERE c.lin = l.lin)) AS w ",
    join_beginning!("num", "@write", "o.id"),
    " WHERE given.num = o.num AND NOT EXISTS (
       SELECT FROM @checkpoint AS c WHERE c.contract = given.contract
         AND substr(sha256(c.id), 1, 16) = substr(sha256(given.id), 1, 16) AND c.id = given.id)"
);

impl Writing<'_> {
    /// The save numbers of the checkpoints with these ids.
    pub(super) fn numbers(&self, ids: &[(ContractId, &str)]) -> Result<Vec<Seq>> {
        let (contracts, ids): (Vec<i16>, Vec<Vec<u8>>) =
            ids.iter().map(|(contract, id)| (number(*contract), id.as_bytes().to_vec())).unzip();
        let found = self.open.query(
            "SELECT seq, lin FROM @checkpoint JOIN unnest($1, $2) AS w(k, i) ON contract = k AND substr(sha256(id), 1, 16) = substr(sha256(i), 1, 16) AND id = i",
            values![contracts, ids],
        )?;
        found.iter().try_for_each(|row| self.check_locked(row.get(1)))?;
        Ok(row::numbers(&found))
    }

    /// Applies removals. Damaged rows can be removed too.
    pub(super) fn remove(&mut self, removals: &[Op]) -> Result<()> {
        let ids: Vec<(ContractId, &str)> = removals
            .iter()
            .filter_map(|op| if let Op::Remove { contract, id } = op { Some((*contract, &**id)) } else { None })
            .collect();
        self.known.forget();
        let mut victims = self.numbers(&ids)?;
        // The same id may be named twice.
        victims.sort_unstable();
        victims.dedup();
        if victims.is_empty() {
            return Ok(());
        }
        let runs = self.open.query(
            "SELECT DISTINCT l.contract, l.name FROM @checkpoint AS c JOIN @lineage AS l USING (lin)
             WHERE c.seq = ANY($1) AND l.contract < 128",
            values![victims.clone()],
        )?;
        self.remove_all(&victims)?;
        let runs: Vec<Name> = runs.iter().map(|row| (row.get(0), row.get(1))).collect();
        let effects = self.effects_of_ended(&runs)?;
        self.remove_all(&effects)?;
        Ok(())
    }

    /// The effects of these runs, for runs that no longer have a checkpoint.
    fn effects_of_ended(&self, runs: &[Name]) -> Result<Vec<Seq>> {
        // Take this lock late, because nothing else in the batch needs it. A deadlock would end one of the two
        // transactions, which is then retried.
        let ended = self.open.query(
            "SELECT e.lin FROM unnest($1, $2) AS w(contract, name) JOIN @lineage AS e
               ON e.contract = w.contract + 128 AND substr(sha256(e.name), 1, 16) = substr(sha256(w.name), 1, 16) AND e.name = w.name
             WHERE NOT EXISTS (
               SELECT 1 FROM @lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = w.contract
                 AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name)
             ORDER BY e.lin FOR NO KEY UPDATE OF e",
            columns(runs),
        )?;
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let found =
            self.open.query("SELECT seq FROM @checkpoint WHERE lin = ANY($1)", values![row::numbers(&ended)])?;
        Ok(row::numbers(&found))
    }

    /// Removes the given lineages that have neither checkpoints nor logs.
    pub(super) fn end_empty(&self, lins: &[i64]) {
        let used: Vec<i64> = lins.iter().copied().filter(|lin| !self.unused.contains(lin)).collect();
        if !used.is_empty() {
            lineage::end_empty(self.open, &used);
        }
    }

    /// Removes checkpoints and their pending writes. Returns the number of freed bytes, and the number of lineages
    /// that now have no checkpoints.
    pub(super) fn remove_all(&mut self, victims: &[Seq]) -> Result<(i64, u64)> {
        const WRITES: &str = concat!(
            "DELETE FROM @write AS w USING @checkpoint AS c WHERE c.seq = ANY($1) AND w.contract = c.contract AND ",
            is_name!("w.id", "c.id")
        );
        if victims.is_empty() {
            return Ok((0, 0));
        }
        self.known.forget();
        self.open.later(WRITES, values![victims.to_vec()]);
        let (bytes, lins) = self.delete(victims)?;
        let left =
            self.open.query("SELECT DISTINCT lin FROM @checkpoint WHERE lin = ANY($1)", values![lins.clone()])?;
        self.open.later(UNOWNED_WRITES, values![lins.clone()]);
        self.end_empty(&lins);
        Ok((bytes, lins.len().saturating_sub(left.len()) as u64))
    }

    /// Removes checkpoint rows with their payloads, and the log records to which only these checkpoints referred.
    /// Returns the number of freed bytes, and the lineages.
    pub(super) fn delete(&mut self, victims: &[Seq]) -> Result<(i64, Vec<i64>)> {
        if victims.is_empty() {
            return Ok((0, Vec::new()));
        }
        let bytes = rebase::remove(&mut self.payloads, victims)?;
        let gone = self
            .open
            .query("DELETE FROM @checkpoint WHERE seq = ANY($1) RETURNING seq, lin, logs", values![victims.to_vec()])?;
        let mut marks: Vec<(Seq, Vec<Mark>)> = Vec::new();
        for row in &gone {
            // Damaged marks protect no records: their records stay.
            if let Some(logs) = row.get::<_, Option<&[u8]>>(2)
                && let Ok(found) = decode_marks(Some(logs))
            {
                marks.push((row.get(0), found));
            }
        }
        log::release(&mut Logs(self.open), marks.iter().map(|(seq, marks)| (*seq, &marks[..])))?;
        let lins: BTreeSet<i64> = gone.iter().map(|row| row.get(1)).collect();
        self.reduced.extend(&lins);
        Ok((bytes, lins.into_iter().collect()))
    }
}
