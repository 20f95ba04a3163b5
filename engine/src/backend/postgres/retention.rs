//! Answers the questions of retention. Each question covers many checkpoints in one statement.

use std::cell::Cell;

use tokio_postgres::Row;

use super::key::{columns, name, number};
use super::transaction::Transaction;
use super::value::values;
use super::{lineage, row, status};
use crate::backend::number::unsigned;
use crate::error::Result;
use crate::record::{ContractId, Seq, Status};
use crate::retention::{Catalog, Entry, LEASES, Leases, Line, SavedList, Stored};

/// The number of checkpoints that the server examines for a list.
const LOOKED_AT: i64 = 100_000;

/// The [`Catalog`] of a database. The caller holds the transaction.
pub(super) struct PostgresCatalog<'a> {
    open: &'a Transaction<'a>,
    /// Checkpoints after this one are ignored.
    last: Seq,
    /// The last checkpoint of the latest list in save order, and the start of the next list.
    seen: Cell<(Seq, Option<Seq>)>,
}

impl<'a> PostgresCatalog<'a> {
    pub(super) fn new(open: &'a Transaction<'a>) -> Self {
        Self { open, last: Seq::MAX, seen: Cell::new((Seq::MAX, None)) }
    }

    /// The catalog for a plan about many checkpoints. For the rest of the transaction, the server must use indexes
    /// where possible. It might otherwise scan tables, above all before it has first analyzed a table.
    pub(super) fn by_index(open: &'a Transaction<'a>) -> Self {
        open.later(
            "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)",
            values![],
        );
        Self::new(open)
    }

    /// A catalog that ends at the last checkpoint of the latest list, so that the list can be repeated quickly.
    pub(super) fn up_to_seen(&self) -> Self {
        Self { last: self.seen.get().0, ..Self::new(self.open) }
    }

    /// The start of the list after the latest one.
    pub(super) fn next(&self) -> Option<Seq> {
        self.seen.get().1
    }
}

fn entry(row: &Row, first: usize) -> Entry {
    Entry { seq: row.get(first), lineage: row.get(first + 1), saved_at: row.get(first + 2) }
}

fn entries(rows: &[Row]) -> Vec<Entry> {
    rows.iter().map(|row| entry(row, 0)).collect()
}

impl PostgresCatalog<'_> {
    /// Runs a statement that returns the index of a lineage in `lineages` and an entry, in order.
    fn grouped(&self, sql: &'static str, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        let most = |most: usize| i64::try_from(most).unwrap_or(i64::MAX);
        let (lins, most): (Vec<i64>, Vec<i64>) = lineages.iter().map(|(lin, limit)| (*lin, most(*limit))).unzip();
        let mut found = vec![Vec::new(); lineages.len()];
        for row in self.open.query(sql, values![lins, most])? {
            let index = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
            if let Some(entries) = found.get_mut(index) {
                entries.push(entry(&row, 1));
            }
        }
        Ok(found)
    }
}

impl Catalog for PostgresCatalog<'_> {
    fn saved_after(
        &self,
        contract: Option<ContractId>,
        after: Seq,
        before: Option<i64>,
        most: usize,
    ) -> Result<SavedList> {
        // `<>` instead of an equation: the planner would expect few rows for an equation, and sort the entire table.
        // The server compares many checkpoints with the time in one question.
        let sql = "SELECT seq, lin, saved_at FROM (
                     SELECT seq, lin, saved_at, flags, contract FROM @checkpoint WHERE seq > $1 AND seq <= $5 ORDER BY seq LIMIT $6) AS c
                   WHERE flags & 2 <> 2 AND ($2::smallint IS NULL OR contract = $2) AND ($4::bigint IS NULL OR saved_at < $4)
                   ORDER BY seq LIMIT $3";
        let wanted = values![after, contract.map(number), row::limit(most), before, self.last, LOOKED_AT];
        let mut saved = SavedList::new(entries(&self.open.query(sql, wanted)?), most);
        if saved.next.is_none() {
            let sql = "SELECT seq FROM @checkpoint WHERE seq > $1 AND seq <= $2 ORDER BY seq OFFSET $3 LIMIT 1";
            let end = self.open.one(sql, values![after, self.last, LOOKED_AT - 1])?;
            saved.next = end.map(|row| row.get(0));
        }
        self.seen.set((saved.entries.last().map_or(after, |entry| entry.seq), saved.next));
        Ok(saved)
    }

    fn lineages_after(&self, contract: Option<ContractId>, after: i64, most: usize) -> Result<Vec<i64>> {
        let sql = "SELECT lin FROM @lineage
             WHERE lin > $1 AND contract < 64 AND ($2::smallint IS NULL OR contract = $2) ORDER BY lin LIMIT $3";
        Ok(row::numbers(&self.open.query(sql, values![after, contract.map(number), row::limit(most)])?))
    }

    fn dependent_on(&self, parents: &[Seq]) -> Result<Vec<(Seq, Entry)>> {
        let sql = "SELECT parent.seq, child.seq, child.lin, child.saved_at
                   FROM @checkpoint AS parent JOIN @checkpoint AS child
                     ON child.lin = parent.lin AND child.parent = parent.id AND child.flags & 1 = 1
                   WHERE parent.seq = ANY($1) ORDER BY parent.seq, child.seq";
        let rows = self.open.query(sql, values![parents.to_vec()])?;
        Ok(rows.iter().map(|row| (row.get(0), entry(row, 1))).collect())
    }

    fn stored(&self, seqs: &[Seq]) -> Result<Vec<(Seq, Stored)>> {
        let sql = "SELECT seq, base, octet_length(body)::bigint FROM @payload WHERE seq = ANY($1)";
        let rows = self.open.query(sql, values![seqs.to_vec()])?;
        Ok(rows.iter().map(|row| (row.get(0), Stored { base: row.get(1), bytes: unsigned(row.get(2)) })).collect())
    }

    fn bytes_of(&self, seqs: &[Seq]) -> Result<u64> {
        let sql = "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM @payload WHERE seq = ANY($1)";
        Ok(self.open.one(sql, values![seqs.to_vec()])?.map_or(0, |row| unsigned(row.get(0))))
    }

    fn deltas_of(&self, bases: &[Seq]) -> Result<Vec<(Seq, Seq, u64)>> {
        let sql = "SELECT b.base, p.seq, p.bytes FROM unnest($1) AS b(base) CROSS JOIN LATERAL (
               SELECT seq, octet_length(body)::bigint AS bytes FROM @payload AS p WHERE p.base = b.base OFFSET 0) AS p
             ORDER BY b.base, p.seq DESC";
        let rows = self.open.query(sql, values![bases.to_vec()])?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), unsigned(row.get(2)))).collect())
    }

    fn lines(&self, lineages: &[i64]) -> Result<Vec<Line>> {
        let sql = "SELECT lin, contract, name, status FROM @lineage WHERE lin = ANY($1)";
        let line = |row: &Row| {
            let (contract, name) = (row::contract(row, 1)?, row::text(row, 2)?);
            Ok(Line { lineage: row.get(0), contract, name, status: status::read(row, 3) })
        };
        self.open.query(sql, values![lineages.to_vec()])?.iter().map(line).collect()
    }

    fn waiting_among(&self, runs: &[(ContractId, String)]) -> Result<Vec<(ContractId, String)>> {
        // `OFFSET 0` keeps the planner from walking through all runs that wait.
        let sql = "SELECT w.ord FROM unnest($1, $2) WITH ORDINALITY AS w(contract, name, ord) CROSS JOIN LATERAL (
               SELECT l.status FROM @lineage AS l
               WHERE l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name
               OFFSET 0) AS l
             WHERE l.status = $3";
        let names: Vec<_> = runs.iter().map(|(contract, run)| name(*contract, run)).collect();
        let mut given = columns(&names);
        given.extend(values![status::parameter(Status::Waiting)]);
        let places = row::numbers(&self.open.query(sql, given)?).into_iter();
        Ok(places.filter_map(|place| runs.get(usize::try_from(place - 1).ok()?).cloned()).collect())
    }

    fn leases(&self) -> Result<Leases> {
        let sql = "SELECT c.saved_at, c.meta, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
                   FROM @lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1";
        let rows = self.open.query(sql, values![number(LEASES)])?;
        let now = rows.first().map_or(0, |row| row.get(2));
        Ok(Leases { now, all: rows.iter().map(|row| (row.get(0), row.get(1))).collect() })
    }

    fn named(&self, contract: ContractId, name: &str, all: bool) -> Result<Vec<i64>> {
        let found = if all {
            lineage::with_prefix(self.open, contract, name)?
        } else {
            lineage::find(self.open, contract, name)?.into_iter().collect()
        };
        Ok(found.into_iter().map(|row| row.lin).collect())
    }

    fn counts(&self, lineages: &[i64]) -> Result<Vec<usize>> {
        let sql = "SELECT (SELECT count(*) FROM @checkpoint AS c WHERE c.lin = w.lin)
                   FROM unnest($1) WITH ORDINALITY AS w(lin, ord) ORDER BY w.ord";
        let counts = row::numbers(&self.open.query(sql, values![lineages.to_vec()])?);
        Ok(counts.into_iter().map(|count| usize::try_from(count).unwrap_or(0)).collect())
    }

    fn oldest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        self.grouped(
            "SELECT w.ord, e.seq, e.lin, e.saved_at FROM unnest($1, $2) WITH ORDINALITY AS w(lin, most, ord)
             CROSS JOIN LATERAL (
               SELECT c.seq, c.lin, c.saved_at, row_number() OVER () AS n FROM (
                 SELECT c.seq, c.lin, c.saved_at FROM @checkpoint AS c WHERE c.lin = w.lin ORDER BY CASE (
                   SELECT l.age_offset FROM @lineage AS l WHERE l.lin = w.lin) WHEN 0 THEN c.sort_key END, c.seq LIMIT w.most) AS c) AS e
             ORDER BY w.ord, e.n",
            lineages,
        )
    }

    fn newest_of(&self, lineages: &[(i64, usize)]) -> Result<Vec<Vec<Entry>>> {
        self.grouped(
            "SELECT w.ord, e.seq, e.lin, e.saved_at FROM unnest($1, $2) WITH ORDINALITY AS w(lin, most, ord)
             CROSS JOIN LATERAL (
               SELECT c.seq, c.lin, c.saved_at, row_number() OVER () AS n FROM (
                 SELECT c.seq, c.lin, c.saved_at FROM @checkpoint AS c WHERE c.lin = w.lin
                 ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT w.most) AS c) AS e
             ORDER BY w.ord, e.n",
            lineages,
        )
    }

    fn have_dependents(&self, lineages: &[i64]) -> Result<Vec<bool>> {
        let sql = "SELECT EXISTS (SELECT FROM @checkpoint AS c WHERE c.lin = w.lin AND c.flags & 1 = 1)
                   FROM unnest($1) WITH ORDINALITY AS w(lin, ord) ORDER BY w.ord";
        Ok(self.open.query(sql, values![lineages.to_vec()])?.iter().map(|row| row.get(0)).collect())
    }

    fn total(&self, contract: Option<ContractId>, limit: u64) -> Result<Option<u64>> {
        let sql = match contract {
            None => "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM @payload WHERE $1::smallint IS NULL",
            Some(_) => {
                "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM @payload JOIN @checkpoint USING (seq) WHERE contract = $1"
            }
        };
        // The table takes more bytes than its contents, so this is an upper limit.
        let table = self.open.one("SELECT pg_table_size('@payload')", values![])?;
        if table.is_some_and(|row| unsigned(row.get(0)) <= limit) {
            return Ok(None);
        }
        Ok(self.open.one(sql, values![contract.map(number)])?.map(|row| unsigned(row.get(0))))
    }
}
