//! Reads the entire database, page by page.

use super::checkpoint::load_all;
use super::key::{self, number};
use super::row::{self, HeaderRow, columns};
use super::transaction::Transaction;
use super::value::values;
use super::{labels, writes};
use crate::cache::PayloadCache;
use crate::error::Result;
use crate::record::{ContractId, FirstCheckpoint, Labels, Origin, Saved, Seq, Start, Written};

/// The number of rows that a statement reads. A page may need several statements.
const ROWS: i64 = 128;

/// The number of payloads that a statement reads.
const AT_ONCE: usize = 16;

pub(super) fn saves(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    after: Option<Seq>,
    bytes: usize,
) -> Result<Vec<Saved>> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) WHERE c.seq > $1 ORDER BY c.seq LIMIT $2"
    );
    // Many payloads of a page are deltas against payloads of the same page. A separate cache leaves the store's cache
    // to the store's saves.
    let cache = cache.separate(usize::MAX);
    let (mut found, mut size, mut next): (Vec<Saved>, usize, Seq) = (Vec::new(), 0, after.unwrap_or(Seq::MIN));
    loop {
        let rows = open.query(SQL, values![next, ROWS])?;
        // Read the payloads of a few rows at a time, because the page may be full before the last row.
        for rows in rows.chunks(AT_ONCE) {
            let rows: Vec<HeaderRow> = rows.iter().map(HeaderRow::read).collect::<Result<_>>()?;
            let numbers: Vec<(Seq, i64)> = rows.iter().map(|row| (row.seq, row.lin)).collect();
            for ((seq, lineage), checkpoint) in numbers.into_iter().zip(load_all(open, &cache, &rows)?) {
                let saved = Saved { seq, lineage, checkpoint };
                next = seq;
                size += saved.weight();
                found.push(saved);
                if size >= bytes {
                    return Ok(found);
                }
            }
        }
        if rows.is_empty() {
            return Ok(found);
        }
    }
}

/// The columns of [`read_start`], and their tables.
macro_rules! start {
    () => {
        "SELECT l.lin, l.contract, l.name, l.grp, l.age_offset, l.origin, l.origin_lin, o.name,
                EXISTS (SELECT 1 FROM @checkpoint AS c WHERE c.lin = l.lin), l.labels
         FROM @lineage AS l LEFT JOIN @lineage AS o ON o.lin = l.origin_lin"
    };
}

pub(super) fn starts(open: &Transaction<'_>, after: Option<i64>, limit: usize) -> Result<Vec<Start>> {
    const SQL: &str = concat!(start!(), " WHERE l.lin > $1 ORDER BY l.lin LIMIT $2");
    open.query(SQL, values![after.unwrap_or(i64::MIN), row::limit(limit)])?.iter().map(read_start).collect()
}

/// Asks for the lineage with this name. [`read_start`] reads each row of the answer.
pub(super) fn ask_start(open: &Transaction<'_>, contract: ContractId, name: &str) {
    const SQL: &str = concat!(
        start!(),
        " WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($2), 1, 16) AND l.name = $2"
    );
    open.later(SQL, values![number(contract), name]);
}

pub(super) fn read_start(found: &tokio_postgres::Row) -> Result<Start> {
    let origin = row::opt_text(found, 5)?.zip(found.get::<_, Option<i64>>(6));
    let lineage = row::opt_text(found, 7)?;
    let first = FirstCheckpoint {
        group: row::text(found, 3)?,
        age_offset: u8::try_from(found.get::<_, i16>(4)).unwrap_or(u8::MAX),
        origin: origin.map(|(id, position)| Origin { id, position, lineage }),
    };
    let has_checkpoints: bool = found.get(8);
    Ok(Start {
        position: found.get(0),
        contract: row::contract(found, 1)?,
        name: row::text(found, 2)?,
        first: has_checkpoints.then_some(first),
        labels: if has_checkpoints { labels::read(found, 9) } else { Labels::default() },
    })
}

/// Opens no row of more than `largest` bytes.
pub(super) fn all_writes(
    open: &Transaction<'_>,
    after: Option<&(ContractId, String)>,
    bytes: usize,
    largest: usize,
) -> Result<Vec<Written>> {
    let sql = "SELECT contract, id FROM @write WHERE (contract, id) > ($1, $2) GROUP BY contract, id ORDER BY contract, id LIMIT $3";
    let (mut number, mut name) = match after {
        None => (-1, Vec::new()),
        Some((contract, id)) => (key::number(*contract), id.clone().into_bytes()),
    };
    let (mut found, mut size) = (Vec::new(), 0);
    loop {
        let rows = open.query(sql, values![number, name.clone(), ROWS])?;
        for of in &rows {
            (number, name) = (of.get(0), of.get(1));
            let (contract, id) = (row::contract(of, 0)?, row::text(of, 1)?);
            let writes = writes::of(open, contract, &id, largest)?;
            let written = Written { contract, id, writes };
            size += written.weight();
            found.push(written);
            if size >= bytes {
                return Ok(found);
            }
        }
        if rows.is_empty() {
            return Ok(found);
        }
    }
}
