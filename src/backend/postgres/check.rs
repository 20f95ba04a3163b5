//! Verifies what is stored: each row by its checksum, and each payload by rebuilding it. Postgres itself verifies its
//! indexes and pages, if the cluster has data checksums.

use super::row::{self, HeaderRow, columns};
use super::session::Transaction;
use super::value::values;
use super::{payloads, writes};
use crate::backend::logs::LogRows;
use crate::backend::marks::decode_marks;
use crate::cache::PayloadCache;
use crate::check::{CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::codec::frame;
use crate::error::{Code, Error, Result};

/// The size in bytes of the payload cache for one page.
const CACHE_BYTES: usize = 64 << 20;
const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";

/// The stages of a check, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Checkpoints,
    Payloads,
    Writes,
    Records,
}

const STAGES: [Stage; 4] = [Stage::Checkpoints, Stage::Payloads, Stage::Writes, Stage::Records];

/// Checks one page of about `limit` rows, starting at the cursor.
pub(super) fn page(open: &Transaction<'_>, cursor: &CheckCursor, limit: usize) -> Result<CheckPage> {
    let [stage, after, within, done, of] = position(open, cursor)?;
    let stage_number = usize::try_from(stage).map_err(|_| no_cursor())?;
    let stage = *STAGES.get(stage_number).ok_or_else(no_cursor)?;
    let limit = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
    let mut check = Check { open, page: CheckPage::default() };
    let next = match stage {
        Stage::Checkpoints => check.checkpoints(after, limit)?.map(|after| (after, 0)),
        Stage::Payloads => check.payloads(after, limit)?.map(|after| (after, 0)),
        Stage::Writes => check.writes(after, limit)?.map(|after| (after, 0)),
        Stage::Records => check.records((after, within), limit)?,
    };
    let mut page = check.page;
    let counted = &page.counted;
    let done = done + signed(counted.checkpoints + counted.writes + counted.records);
    let (number, after) = match next {
        Some(after) => (stage_number, after),
        None => (stage_number + 1, (i64::MIN, i64::MIN)),
    };
    (page.done, page.of) = (unsigned(done), unsigned(of.max(done)));
    page.next = (number < STAGES.len()).then(|| CheckCursor(format!("{number} {} {} {done} {of}", after.0, after.1)));
    Ok(page)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn no_cursor() -> Error {
    Error::invalid("the cursor of the check is not valid: begin without one")
}

fn position(open: &Transaction<'_>, cursor: &CheckCursor) -> Result<[i64; 5]> {
    if *cursor == CheckCursor::default() {
        let sql = "SELECT (SELECT count(*) FROM @checkpoint) + (SELECT count(*) FROM @write) + (SELECT count(*) FROM @record)";
        let of = open.one(sql, values![])?.map_or(0, |row| row.get(0));
        return Ok([0, i64::MIN, i64::MIN, 0, of]);
    }
    let numbers: Vec<i64> = cursor.0.split(' ').map(str::parse).collect::<Result<_, _>>().map_err(|_| no_cursor())?;
    let numbers: [i64; 5] = numbers.try_into().map_err(|_| no_cursor())?;
    if numbers[3] < 0 || numbers[4] < 0 { Err(no_cursor()) } else { Ok(numbers) }
}

struct Check<'a> {
    open: &'a Transaction<'a>,
    page: CheckPage,
}

impl Check<'_> {
    fn find(&mut self, code: FindingCode, message: String, of: Option<&HeaderRow>) {
        self.page.findings.push(Finding {
            code,
            severity: Severity::Error,
            message,
            remedy: RESTORE,
            contract: of.map(|row| row.header.contract),
            lineage: of.map(|row| row.header.lineage.clone()),
            id: of.map(|row| row.header.id.clone()),
        });
    }

    /// Turns an error about damage into a finding.
    fn damage<T>(&mut self, found: Result<T>, of: Option<&HeaderRow>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
                self.find(FindingCode::Corrupt, error.message().to_owned(), of);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn checkpoints(&mut self, after: i64, limit: i64) -> Result<Option<i64>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM @checkpoint AS c LEFT JOIN @lineage AS l USING (lin) WHERE c.seq > $1 ORDER BY c.seq LIMIT $2"
        );
        let rows = self.open.query(SQL, values![after, limit])?;
        let cache = PayloadCache::new(CACHE_BYTES);
        for row in &rows {
            self.page.counted.checkpoints += 1;
            let Some(found) = self.damage(HeaderRow::read(row), None)? else { continue };
            let loaded = payloads::load(self.open, &cache, found.seq, Some(found.call))
                .and_then(|payload| frame::split(&payload.raw));
            if self.damage(loaded, Some(&found))?.is_some() {
                self.page.counted.payloads += 1;
            }
            let marks = decode_marks(found.logs.as_deref());
            self.damage(marks, Some(&found))?;
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| row.get(0)) })
    }

    /// Finds payloads without a checkpoint, and deltas without a base.
    fn payloads(&mut self, after: i64, limit: i64) -> Result<Option<i64>> {
        let sql = "SELECT p.seq, c.seq IS NOT NULL, p.base IS NULL OR b.seq IS NOT NULL FROM
                     (SELECT seq, base FROM @payload WHERE seq > $1 ORDER BY seq LIMIT $2) AS p
                   LEFT JOIN @checkpoint AS c ON c.seq = p.seq LEFT JOIN @payload AS b ON b.seq = p.base ORDER BY p.seq";
        let rows = self.open.query(sql, values![after, limit])?;
        for row in &rows {
            let seq: i64 = row.get(0);
            if !row.get::<_, bool>(1) {
                self.find(FindingCode::Orphan, format!("payload {seq} has no checkpoint"), None);
            }
            if !row.get::<_, bool>(2) {
                self.find(
                    FindingCode::Orphan,
                    format!("payload {seq} is a delta against a payload that is missing"),
                    None,
                );
            }
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| row.get(0)) })
    }

    fn writes(&mut self, after: i64, limit: i64) -> Result<Option<i64>> {
        let sql = "SELECT num, contract, id FROM @write WHERE num > $1 ORDER BY num LIMIT $2";
        let rows = self.open.query(sql, values![after, limit])?;
        for row in &rows {
            self.page.counted.writes += 1;
            let of = row::contract(row, 1).and_then(|contract| Ok((contract, row::text(row, 2)?)));
            let Some((contract, id)) = self.damage(of, None)? else { continue };
            let found = writes::of(self.open, contract, &id);
            self.damage(found, None)?;
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| row.get(0)) })
    }

    fn records(&mut self, after: (i64, i64), limit: i64) -> Result<Option<(i64, i64)>> {
        let sql = "SELECT branch, pos FROM @record WHERE (branch, pos) > ($1, $2) ORDER BY branch, pos LIMIT $3";
        let rows = self.open.query(sql, values![after.0, after.1, limit])?;
        for row in &rows {
            self.page.counted.records += 1;
            let (branch, pos): (i64, i64) = (row.get(0), row.get(1));
            let (from, to) = (unsigned(pos), unsigned(pos) + 1);
            let read = super::logs::Logs(self.open).read(branch, from, to);
            self.damage(read, None)?;
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| (row.get(0), row.get(1))) })
    }
}
