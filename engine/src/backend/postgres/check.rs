//! Verifies the stored data: each row by its checksum, and each payload by rebuilding it. Postgres itself verifies its
//! indexes and pages, if the cluster has data checksums.

use tokio_postgres::Row;

use super::log_check;
use super::prefix::is_name;
use super::row::{self, HeaderRow, columns};
use super::transaction::Transaction;
use super::value::values;
use super::{payloads, status, writes};
use crate::backend::log_findings::{After, LogTable};
use crate::backend::marks::decode_marks;
use crate::backend::number::{signed, unsigned};
use crate::backend::stages::Position;
use crate::cache::PayloadCache;
use crate::check::{About, CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::codec::frame;
use crate::error::{Error, Result};
use crate::names;

/// The size in bytes of the payload cache for one page.
const CACHE_BYTES: usize = 64 << 20;

/// The maximum total size of payloads that are read together, in bytes.
const BYTES_TOGETHER: u64 = 8 << 20;

const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";

/// The stages of a check, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Checkpoints,
    Payloads,
    Writes,
    Statuses,
    Logs(LogTable),
}

const STAGES: [Stage; 8] = [
    Stage::Checkpoints,
    Stage::Payloads,
    Stage::Writes,
    Stage::Statuses,
    Stage::Logs(LogTable::Records),
    Stage::Logs(LogTable::Branches),
    Stage::Logs(LogTable::Logs),
    Stage::Logs(LogTable::Marks),
];

/// Checks one page of about `limit` rows, starting at the cursor.
pub(super) fn page(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    cursor: &CheckCursor,
    limit: usize,
) -> Result<CheckPage> {
    let position = Position::read(&STAGES, cursor, || {
        let sql = "SELECT (SELECT count(*) FROM @checkpoint) + (SELECT count(*) FROM @write) + (SELECT count(*) FROM @record)";
        Ok(open.one(sql, values![])?.map_or(0, |row| row.get(0)))
    })?;
    let after = position.after;
    let limit = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
    let mut check = Check { open, cache: cache.separate(CACHE_BYTES), page: CheckPage::default() };
    let last = match *position.stage {
        Stage::Checkpoints => check.checkpoints(after[0], limit)?,
        Stage::Payloads => check.payloads(after[0], limit)?,
        Stage::Writes => check.writes(after[0], limit)?,
        Stage::Statuses => check.statuses(after[0], limit)?,
        Stage::Logs(table) => {
            let checked = log_check::page(open, table, after, limit, cache.largest())?;
            if table == LogTable::Records {
                check.page.counted.records += checked.rows;
            }
            check.page.findings.extend(checked.findings);
            checked.next
        }
    };
    Ok(position.complete(check.page, last))
}

/// The key of the last row of a full page. `None` if the stage has no more rows.
fn last(rows: &[Row], limit: i64) -> Option<After> {
    rows.last().filter(|_| signed(rows.len() as u64) >= limit).map(|row| [row.get(0), 0, 0])
}

struct Check<'a> {
    open: &'a Transaction<'a>,
    /// A separate cache, so that payloads are read from the database.
    cache: PayloadCache,
    page: CheckPage,
}

impl Check<'_> {
    fn find(&mut self, code: FindingCode, message: impl Into<String>, about: About) {
        self.page.findings.push(Finding::new(code, Severity::Error, message, RESTORE).about(about));
    }

    /// Turns an error about damage into a finding.
    fn damage<T>(&mut self, found: Result<T>, about: impl FnOnce() -> About) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_damage() => {
                self.find(FindingCode::Corrupt, error.message(), about());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn checkpoints(&mut self, after: i64, limit: i64) -> Result<Option<After>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            ", (SELECT y.size FROM @payload AS y WHERE y.seq = c.seq)
             FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) WHERE c.seq > $1 ORDER BY c.seq LIMIT $2"
        );
        let rows = self.open.query(SQL, values![after, limit])?;
        let (mut together, mut bytes) = (Vec::new(), 0);
        for row in &rows {
            self.page.counted.checkpoints += 1;
            let claimed = || About {
                contract: row::contract(row, 2).ok(),
                lineage: row::opt_text(row, 14).ok().flatten(),
                id: row::text(row, 7).ok(),
            };
            let Some(found) = self.damage(HeaderRow::read(row), claimed)? else { continue };
            together.push(found);
            bytes += row.get::<_, Option<i64>>(16).map_or(0, unsigned);
            if bytes >= BYTES_TOGETHER {
                self.load(&std::mem::take(&mut together))?;
                bytes = 0;
            }
        }
        self.load(&together)?;
        Ok(last(&rows, limit))
    }

    /// Rebuilds the payloads of these checkpoints, and verifies the logs that they name.
    fn load(&mut self, rows: &[HeaderRow]) -> Result<()> {
        let payloads = payloads::load_all(self.open, &self.cache, &rows.iter().collect::<Vec<_>>())?;
        for (found, payload) in rows.iter().zip(payloads) {
            let about = || About::from(&found.header);
            let what = |error: Error| error.context(&names::checkpoint(found.header.contract, &found.header.id));
            let loaded = payload.and_then(|payload| frame::split(&payload.raw)).map_err(what);
            if self.damage(loaded, about)?.is_some() {
                self.page.counted.payloads += 1;
            }
            let marks = decode_marks(found.logs.as_deref()).map_err(what);
            if let Some(marks) = self.damage(marks, about)?.filter(|marks| !marks.is_empty()) {
                self.page.findings.extend(log_check::marks_of(self.open, found, &marks)?);
            }
        }
        Ok(())
    }

    /// Compares the stored statuses of lineages with the expected ones.
    fn statuses(&mut self, after: i64, limit: i64) -> Result<Option<After>> {
        let rows = status::page(self.open, after, limit)?;
        for row in &rows {
            let (kept, expected) = (status::read(row, 3), status::read(row, 4));
            if kept != expected {
                let name = row::text(row, 2).unwrap_or_default();
                let about = About { contract: row::contract(row, 1).ok(), lineage: Some(name.clone()), id: None };
                self.page.findings.push(Finding::status(&name, kept, expected).about(about));
            }
        }
        Ok(last(&rows, limit))
    }

    /// Finds payloads without a checkpoint, and deltas without a base.
    fn payloads(&mut self, after: i64, limit: i64) -> Result<Option<After>> {
        let sql = "SELECT p.seq, c.seq IS NOT NULL, p.base IS NULL OR b.seq IS NOT NULL FROM
                     (SELECT seq, base FROM @payload WHERE seq > $1 ORDER BY seq LIMIT $2) AS p
                   LEFT JOIN @checkpoint AS c ON c.seq = p.seq LEFT JOIN @payload AS b ON b.seq = p.base ORDER BY p.seq";
        let rows = self.open.query(sql, values![after, limit])?;
        for row in &rows {
            let seq: i64 = row.get(0);
            if !row.get::<_, bool>(1) {
                self.find(FindingCode::Orphan, format!("payload {seq} has no checkpoint"), About::default());
            }
            if !row.get::<_, bool>(2) {
                let message = format!("payload {seq} is a delta against a payload that is missing");
                self.find(FindingCode::Orphan, message, About::default());
            }
        }
        Ok(last(&rows, limit))
    }

    fn writes(&mut self, after: i64, limit: i64) -> Result<Option<After>> {
        // All writes to a checkpoint are verified together with the first of them.
        let sql = concat!(
            "SELECT num, contract, id, NOT EXISTS (SELECT FROM @write AS e WHERE e.contract = w.contract AND e.num < w.num AND ",
            is_name!("e.id", "w.id"),
            "), NOT EXISTS (
               SELECT FROM @checkpoint AS c
               WHERE c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
             ) FROM @write AS w WHERE num > $1 ORDER BY num LIMIT $2"
        );
        let rows = self.open.query(sql, values![after, limit])?;
        for row in &rows {
            self.page.counted.writes += 1;
            if !row.get::<_, bool>(3) {
                continue;
            }
            let of = row::contract(row, 1).and_then(|contract| Ok((contract, row::text(row, 2)?)));
            let Some((contract, id)) = self.damage(of, About::default)? else { continue };
            if row.get(4) {
                self.page.findings.push(Finding::writes_of_none(contract, id.clone()));
            }
            let found = writes::of(self.open, contract, &id, self.cache.largest());
            self.damage(found, || About { contract: Some(contract), id: Some(id), ..About::default() })?;
        }
        Ok(last(&rows, limit))
    }
}
