//! The rows that a batch needs, as its transaction has read them. Most are read together with the locks. A batch of
//! saves then takes two round trips: this one, and the one that stores and commits.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;

use super::heads::{Head, Heads};
use super::key::{self, Name, name, number};
use super::lineage::{self, LineageRow};
use super::row::{self, HeaderRow};
use super::transaction::Transaction;
use super::value::values;
use crate::codec::plan::Base;
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Header, PayloadKey, Seq};

/// The rows that a transaction has read. Other rows are read when needed.
#[derive(Debug, Default)]
pub(super) struct Known {
    rows: RefCell<HashMap<Name, Option<HeaderRow>>>,
    lineages: RefCell<HashMap<Name, LineageRow>>,
    /// Lineages that do not exist.
    absent: RefCell<HashSet<Name>>,
    newest: RefCell<HashMap<i64, Option<Head>>>,
    seqs: RefCell<std::vec::IntoIter<Seq>>,
}

/// Reads the rows of several checkpoints.
pub(super) const ROWS: &str = concat!(
    "SELECT ",
    row::columns_with_sum!(),
    " FROM unnest($1, $2) AS w(contract, id)
     JOIN @checkpoint AS c ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id LEFT JOIN @lineage AS l USING (lin)"
);

/// Reads several lineages, each with its newest checkpoint.
pub(super) const LINEAGES: &str = concat!(
    "SELECT ",
    row::columns!(),
    ", p.depth, p.budget, substr(p.body, 1, 9), ",
    lineage::columns!(),
    " FROM unnest($1, $2) AS w(contract, name)
     JOIN @lineage AS l ON l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name LEFT JOIN LATERAL (
       SELECT n.* FROM @checkpoint AS n WHERE n.lin = l.lin
       ORDER BY substr(n.sort_key, 1, 1000) DESC, n.sort_key DESC, n.seq DESC LIMIT 1) AS c ON true
     LEFT JOIN @payload AS p ON p.seq = c.seq"
);

/// Allocates save numbers. The caller holds the locks of the lineages.
pub(super) const SEQS: &str = "SELECT nextval('@save_order') FROM generate_series(1, $1)";

/// The newest checkpoint in a row of [`LINEAGES`].
fn newest_of(found: &Row) -> Result<Option<Head>> {
    if found.get::<_, Option<Seq>>(0).is_none() {
        return Ok(None);
    }
    let (HeaderRow { seq, lin, call, header, .. }, sum) = (HeaderRow::read(found)?, row::sum(found, 18));
    // A missing or damaged payload cannot be the base of a delta.
    let (depth, budget) = (found.get::<_, Option<i64>>(16), found.get::<_, Option<i64>>(17));
    let budget = budget.filter(|_| sum.is_some()).unwrap_or(0);
    let key = PayloadKey { seq, sum: sum.unwrap_or(0) };
    let base = Base { key, depth: depth.unwrap_or(i64::MAX), budget };
    Ok(Some(Head { lin, call, header: Header { meta: Vec::new(), ..header }, base }))
}

impl Known {
    /// Takes the answers of [`ROWS`] for these ids, of [`LINEAGES`] for these lines, and of [`SEQS`]. Skips damaged rows: an operation
    /// that needs such a row reads it again, and gets the error.
    pub(super) fn new(
        ids: impl Iterator<Item = Name>,
        rows: &[Row],
        lines: impl Iterator<Item = Name>,
        lineages: &[Row],
        seqs: &[Row],
    ) -> Result<Self> {
        let mut known: HashMap<Name, Option<HeaderRow>> = ids.map(|id| (id, None)).collect();
        for found in rows {
            let name: Name = (found.get(2), found.get(7));
            match HeaderRow::read_with_sum(found) {
                Ok(row) => {
                    known.insert(name, Some(row));
                }
                Err(_) => {
                    known.remove(&name);
                }
            }
        }
        let (mut named, mut newest) = (HashMap::new(), HashMap::new());
        for found in lineages {
            let line = LineageRow::read(found, 19)?;
            if let Ok(found) = newest_of(found) {
                newest.insert(line.lin, found);
            }
            named.insert((number(line.contract), line.name.clone().into_bytes()), line);
        }
        let absent = lines.filter(|name| !named.contains_key(name)).collect();
        Ok(Self {
            rows: RefCell::new(known),
            absent: RefCell::new(absent),
            lineages: RefCell::new(named),
            newest: RefCell::new(newest),
            seqs: RefCell::new(row::numbers(seqs).into_iter()),
        })
    }

    /// The row of the checkpoint with this id.
    pub(super) fn row(&self, open: &Transaction<'_>, contract: ContractId, id: &str) -> Result<Option<HeaderRow>> {
        let name = name(contract, id);
        if let Some(found) = self.rows.borrow().get(&name) {
            return Ok(found.clone());
        }
        let found = row::by_id(open, contract, id)?;
        self.rows.borrow_mut().insert(name, found.clone());
        Ok(found)
    }

    /// Returns true if no checkpoint is known to have this id. Does not ask the database.
    pub(super) fn is_free(&self, contract: ContractId, id: &str) -> bool {
        self.rows.borrow().get(&name(contract, id)).is_some_and(Option::is_none)
    }

    pub(super) fn lineage(
        &self,
        open: &Transaction<'_>,
        contract: ContractId,
        name: &str,
    ) -> Result<Option<LineageRow>> {
        let key = key::name(contract, name);
        if let Some(found) = self.lineages.borrow().get(&key) {
            return Ok(Some(found.clone()));
        }
        if self.absent.borrow().contains(&key) {
            return Ok(None);
        }
        let found = lineage::find(open, contract, name)?;
        if let Some(found) = &found {
            self.lineages.borrow_mut().insert(key, found.clone());
        }
        Ok(found)
    }

    /// The newest checkpoint of a lineage.
    pub(super) fn newest(&self, open: &Transaction<'_>, line: &LineageRow) -> Result<Option<Head>> {
        if let Some(found) = self.newest.borrow().get(&line.lin) {
            return Ok(found.clone());
        }
        let name = values![vec![number(line.contract)], vec![line.name.clone().into_bytes()]];
        let found = open.one(LINEAGES, name)?.as_ref().map(newest_of).transpose()?.flatten();
        self.newest.borrow_mut().insert(line.lin, found.clone());
        Ok(found)
    }

    pub(super) fn next_seq(&self, open: &Transaction<'_>) -> Result<Seq> {
        if let Some(seq) = self.seqs.borrow_mut().next() {
            return Ok(seq);
        }
        let found = open.one(SEQS, values![1_i64])?;
        found.map(|row| row.get(0)).ok_or_else(|| Error::new(Code::Unavailable, "the server gave no save number"))
    }

    /// Remembers a stored checkpoint.
    pub(super) fn stored(&self, row: HeaderRow, base: Base) {
        let name = (number(row.header.contract), row.header.id.clone().into_bytes());
        self.rows.borrow_mut().insert(name, Some(row.clone()));
        let HeaderRow { lin, call, header, .. } = row;
        let mut newest = self.newest.borrow_mut();
        let later = match newest.get(&lin) {
            // A checkpoint with the same sort key as the newest becomes the newest, because it was saved later.
            Some(Some(found)) => header.sort_key >= found.header.sort_key,
            Some(None) => true,
            None => return,
        };
        if later {
            newest.insert(lin, Some(Head { lin, call, header: Header { meta: Vec::new(), ..header }, base }));
        }
    }

    /// Remembers the properties that a lineage took from its first checkpoint.
    pub(super) fn described(&self, line: &LineageRow) {
        self.lineages.borrow_mut().insert((number(line.contract), line.name.clone().into_bytes()), line.clone());
    }

    /// Returns the newest checkpoints of the lineages at the end of the transaction.
    pub(super) fn into_heads(self) -> Vec<Head> {
        self.newest.into_inner().into_values().flatten().collect()
    }

    /// Compares the remembered heads with the heads that the database had when the lineages were locked.
    pub(super) fn compare(&self, heads: &mut Heads) {
        let newest = self.newest.borrow();
        for (lineage, line) in self.lineages.borrow().iter() {
            heads.compare(lineage, newest.get(&line.lin).and_then(Option::as_ref));
        }
    }

    /// Forgets all rows, because a change may have removed some. Keeps the save numbers.
    pub(super) fn forget(&self) {
        self.rows.borrow_mut().clear();
        self.lineages.borrow_mut().clear();
        self.absent.borrow_mut().clear();
        self.newest.borrow_mut().clear();
    }
}
