//! Lists checkpoints without their payloads.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::chain;
use super::changes::Changes;
use super::lineage::{self, LineageRow};
use super::logs;
use super::retention::SqliteCatalog;
use super::row::{self, index_damaged};
use super::statement::{all, each, first, number};
use super::totals::Totals;
use crate::backend::number::{signed, unsigned};
use crate::backend::rows::{Lineup, page};
use crate::error::Result;
use crate::query::{Feed, RowOrder, Rows};
use crate::record::{FeedPage, Labels, Listed, RowPage, RowSums, Seq, SortKey};

/// The checkpoints of a lineage.
struct Of<'a> {
    connection: &'a Connection,
    lineage: &'a LineageRow,
}

impl Lineup for Of<'_> {
    fn count(&self) -> Result<u64> {
        SqliteCatalog(self.connection).count(self.lineage.lin)
    }

    fn before(&self, sort_key: &SortKey, seq: Seq) -> Result<u64> {
        let sql =
            "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ? AND (sort_key, seq) < (?, ?)";
        Ok(unsigned(number(self.connection, sql, params![self.lineage.lin, sort_key.0, seq])?))
    }

    fn position(&self, id: &str) -> Result<Option<(SortKey, Seq)>> {
        let row = row::by_id(self.connection, self.lineage.contract, id)?;
        Ok(row.filter(|row| row.lin == self.lineage.lin).map(|row| (row.header.sort_key, row.seq)))
    }

    fn rows(&self, order: RowOrder, skip: u64, limit: usize) -> Result<Vec<Listed>> {
        let sql = match order {
            RowOrder::OldestFirst => {
                "SELECT seq FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?
                 ORDER BY sort_key, seq LIMIT ? OFFSET ?"
            }
            RowOrder::NewestFirst => {
                "SELECT seq FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?
                 ORDER BY sort_key DESC, seq DESC LIMIT ? OFFSET ?"
            }
        };
        let bounds = params![self.lineage.lin, signed(limit as u64), signed(skip)];
        let found: Vec<Seq> = all(self.connection, sql, bounds, first)?;
        let rows = found.into_iter().map(|seq| listed(self.connection, seq));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let of = |(row, lin): &(Listed, i64)| *lin == self.lineage.lin && row.header.lineage == self.lineage.name;
        if rows.iter().all(of) {
            return Ok(rows.into_iter().map(|(row, _)| row).collect());
        }
        Err(index_damaged(&format!("run {:?}", self.lineage.name)))
    }
}

/// Reads a row and its size. Also returns the number of its lineage.
fn listed(connection: &Connection, seq: Seq) -> Result<(Listed, i64)> {
    let damaged = || index_damaged(&format!("checkpoint number {seq}"));
    let row = row::read(connection, seq)?.ok_or_else(damaged)?;
    let chain = chain::read(connection, seq)?.ok_or_else(damaged)?;
    let stored = number(connection, "SELECT length(body) FROM checkpoint WHERE seq = ?", [seq])?;
    let (logical_bytes, stored_bytes, chain) = (unsigned(chain.size), unsigned(stored), unsigned(chain.depth));
    Ok((Listed { seq, step: 0, header: row.header, logical_bytes, stored_bytes, chain }, row.lin))
}

pub(super) fn rows(connection: &Connection, wanted: &Rows) -> Result<RowPage> {
    let Some(lineage) = lineage::find(connection, wanted.contract, &wanted.lineage)? else {
        return Ok(RowPage::default());
    };
    let (checkpoints, rows) = page(&Of { connection, lineage: &lineage }, wanted)?;
    let origin = match lineage.origin.as_ref().filter(|_| checkpoints > 0) {
        Some(origin) => Some((origin.id.clone(), lineage::read(connection, origin.lin)?.map(|row| row.name))),
        None => None,
    };
    let sums = if wanted.sums { Some(sums(connection, lineage.lin)?) } else { None };
    let labels = if checkpoints > 0 { lineage.labels() } else { Labels::default() };
    Ok(RowPage { checkpoints, origin, status: lineage.status, labels, rows, sums })
}

fn sums(connection: &Connection, lin: i64) -> Result<RowSums> {
    let sql =
        "SELECT seq, chain, length(body), saved_at, logs FROM checkpoint INDEXED BY checkpoint_lineage WHERE lin = ?";
    let (mut sums, mut oldest, mut branches) = (RowSums::default(), Seq::MAX, BTreeSet::new());
    each(connection, sql, [lin], |row| {
        let seq = row.get(0)?;
        sums.logical_bytes += unsigned(chain::Chain::size_of(seq, row.get_ref(1)?.as_blob()?));
        sums.stored_bytes += unsigned(row.get(2)?);
        if seq < oldest {
            (oldest, sums.began) = (seq, row.get(3)?);
        }
        branches.extend(logs::marked(row.get_ref(4)?.as_blob_or_null()?)?);
        Ok(())
    })?;
    sums.record_bytes = logs::bytes_of(connection, lin, branches)?;
    Ok(sums)
}

pub(super) fn feed(connection: &Connection, changes: Changes, feed: &Feed) -> Result<FeedPage> {
    let version = changes.version(connection)?;
    if feed.version == Some(version) {
        return Ok(FeedPage { next: feed.after, version: Some(version), ..FeedPage::default() });
    }
    let sql = match feed.order {
        RowOrder::OldestFirst => "SELECT seq FROM checkpoint NOT INDEXED WHERE seq > ? ORDER BY seq LIMIT ?",
        RowOrder::NewestFirst => "SELECT seq FROM checkpoint NOT INDEXED WHERE seq > ? ORDER BY seq DESC LIMIT ?",
    };
    let limit = signed(feed.limit as u64);
    let found: Vec<Seq> = all(connection, sql, params![feed.after, limit], first)?;
    let rows = found.iter().map(|seq| {
        let (mut row, lin) = listed(connection, *seq)?;
        let lineage = lineage::read(connection, lin)?.ok_or_else(|| index_damaged(&format!("run number {lin}")))?;
        row.step = Of { connection, lineage: &lineage }.before(&row.header.sort_key, *seq)?;
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let next = found.iter().copied().max().unwrap_or(feed.after);
    let totals = Totals::now(connection)?;
    let checkpoints = Some(totals.contracts.values().map(|counts| unsigned(counts.checkpoints)).sum());
    // After a full page, more rows may follow although nothing has changed.
    let version = (found.len() < feed.limit).then_some(version);
    Ok(FeedPage { rows, next, checkpoints, version, ..FeedPage::default() })
}
