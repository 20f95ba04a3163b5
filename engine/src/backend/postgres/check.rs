//! Verifies what is stored: each row by its checksum, and each payload by rebuilding it. Postgres itself verifies its
//! indexes and pages, if the cluster has data checksums.

use super::key::key;
use super::log_check;
use super::row::{self, HeaderRow, columns};
use super::transaction::Transaction;
use super::value::values;
use super::{payloads, writes};
use crate::backend::log_findings::LogTable;
use crate::backend::marks::decode_marks;
use crate::backend::number::{signed, unsigned};
use crate::cache::PayloadCache;
use crate::check::{CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::codec::frame;
use crate::error::{Code, Error, Result};
use crate::record::ContractId;

/// The size in bytes of the payload cache for one page.
const CACHE_BYTES: usize = 64 << 20;
const RESTORE: &str = "Restore the database from a backup, or save the checkpoint again, or delete it.";

/// The stages of a check, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Checkpoints,
    Payloads,
    Writes,
    Logs(LogTable),
}

const STAGES: [Stage; 7] = [
    Stage::Checkpoints,
    Stage::Payloads,
    Stage::Writes,
    Stage::Logs(LogTable::Records),
    Stage::Logs(LogTable::Branches),
    Stage::Logs(LogTable::Logs),
    Stage::Logs(LogTable::Marks),
];

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
        Stage::Logs(table) => {
            let checked = log_check::page(open, table, (after, within), limit)?;
            if table == LogTable::Records {
                check.page.counted.records += checked.rows;
            }
            check.page.findings.extend(checked.findings);
            checked.next
        }
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

/// What a finding is about, as far as it is known.
#[derive(Default)]
struct About {
    contract: Option<ContractId>,
    lineage: Option<String>,
    id: Option<String>,
}

impl About {
    fn row(HeaderRow { header, .. }: &HeaderRow) -> Self {
        let (lineage, id) = (Some(header.lineage.clone()), Some(header.id.clone()));
        Self { contract: Some(header.contract), lineage, id }
    }
}

struct Check<'a> {
    open: &'a Transaction<'a>,
    page: CheckPage,
}

impl Check<'_> {
    fn find(&mut self, code: FindingCode, message: String, About { contract, lineage, id }: About) {
        let (severity, remedy) = (Severity::Error, RESTORE);
        self.page.findings.push(Finding { code, severity, message, remedy, contract, lineage, id });
    }

    /// Turns an error about damage into a finding.
    fn damage<T>(&mut self, found: Result<T>, about: impl FnOnce() -> About) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
                self.find(FindingCode::Corrupt, error.message().to_owned(), about());
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
            let claimed = || About {
                contract: row::contract(row, 2).ok(),
                lineage: row::opt_text(row, 14).ok().flatten(),
                id: row::text(row, 7).ok(),
            };
            let Some(found) = self.damage(HeaderRow::read(row), claimed)? else { continue };
            let about = || About::row(&found);
            let what = |error: Error| error.context(&format!("checkpoint {:?}", found.header.id));
            let loaded = payloads::load_row(self.open, &cache, &found).and_then(|payload| frame::split(&payload.raw));
            if self.damage(loaded.map_err(what), about)?.is_some() {
                self.page.counted.payloads += 1;
            }
            let marks = decode_marks(found.logs.as_deref()).map_err(what);
            if let Some(marks) = self.damage(marks, about)?.filter(|marks| !marks.is_empty()) {
                self.page.findings.extend(log_check::marks_of(self.open, &found, &marks)?);
            }
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
                self.find(FindingCode::Orphan, format!("payload {seq} has no checkpoint"), About::default());
            }
            if !row.get::<_, bool>(2) {
                self.find(
                    FindingCode::Orphan,
                    format!("payload {seq} is a delta against a payload that is missing"),
                    About::default(),
                );
            }
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| row.get(0)) })
    }

    fn writes(&mut self, after: i64, limit: i64) -> Result<Option<i64>> {
        // The writes to a checkpoint are verified together, at the first of them.
        const SQL: &str = concat!(
            "SELECT num, contract, id, NOT EXISTS (SELECT FROM @write AS e WHERE e.contract = w.contract AND ",
            key!("e.id"),
            " = ",
            key!("w.id"),
            " AND e.id = w.id AND e.num < w.num) FROM @write AS w WHERE num > $1 ORDER BY num LIMIT $2"
        );
        let rows = self.open.query(SQL, values![after, limit])?;
        for row in &rows {
            self.page.counted.writes += 1;
            if !row.get::<_, bool>(3) {
                continue;
            }
            let of = row::contract(row, 1).and_then(|contract| Ok((contract, row::text(row, 2)?)));
            let Some((contract, id)) = self.damage(of, About::default)? else { continue };
            let found = writes::of(self.open, contract, &id);
            self.damage(found, || About { contract: Some(contract), id: Some(id), ..About::default() })?;
        }
        Ok(if signed(rows.len() as u64) < limit { None } else { rows.last().map(|row| row.get(0)) })
    }
}
