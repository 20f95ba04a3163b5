//! Verifies all lines of a store, even if some of them are damaged.

use super::backend::Jsonl;
use super::files::{Files, KeptPayload, KeptRecord, Location};
use super::index::{self, Index};
use super::journal::Known;
use super::line::{self, At, END, Sum, unreadable};
use super::lock;
use super::records::{self, Line};
use crate::check::{CheckCursor, CheckPage, Finding, FindingCode, Severity};
use crate::error::{Code, Error, Result};
use crate::record::ContractId;

const REMEDY: &str = "restore the folder from a backup, or from version control";

/// The position of a check: the next line.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    file: u64,
    /// The number of the line before the next line.
    line: u64,
    from: u64,
    done: u64,
}

impl Cursor {
    fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let numbers: Vec<u64> = text.split(':').map_while(|number| number.parse().ok()).collect();
        match numbers[..] {
            [file, line, from, done] => Ok(Self { file, line, from, done }),
            _ => {
                Err(Error::invalid(format!("the cursor {text:?} is not one of a check: start again without a cursor")))
            }
        }
    }

    fn text(self) -> CheckCursor {
        let Self { file, line, from, done } = self;
        CheckCursor(format!("{file}:{line}:{from}:{done}"))
    }
}

impl Jsonl {
    /// Verifies about `limit` lines.
    pub(super) fn check(&mut self, cursor: &CheckCursor, limit: usize) -> Result<CheckPage> {
        let cursor = Cursor::parse(&cursor.0)?;
        // A damaged store is verified line by line, without an index.
        let damage = match self.read() {
            Ok(_) => None,
            Err(error) if error.code() == Code::Corrupt => Some(error),
            Err(error) => return Err(error),
        };
        let _held = self.lock.wait(lock::Kind::Shared)?;
        if let (None, Some(index)) = (&damage, &self.index) {
            let mut page = Check::new(&index.known, &index.tables.contents, Some(index)).page(cursor, limit);
            if page.next.is_none() {
                page.findings.extend(index.tables.writes_of_none());
            }
            return Ok(page);
        }
        let known = match Known::load(&self.folder) {
            Ok(known) => known,
            Err(error) if error.code() == Code::Corrupt => {
                return Ok(CheckPage { findings: vec![finding(None, error.message())], ..CheckPage::default() });
            }
            Err(error) => return Err(error),
        };
        let files = Files::new(self.folder.clone());
        known.files.values().for_each(|entry| files.add(entry.file, &entry.path));
        let mut page = Check::new(&known, &files, None).page(cursor, limit);
        if page.next.is_none() && page.findings.is_empty() && cursor.done == 0 {
            // Each line is valid, but the lines do not fit together.
            page.findings.extend(damage.map(|error| finding(None, error.message())));
        }
        Ok(page)
    }
}

/// A check of one page.
struct Check<'a> {
    known: &'a Known,
    files: &'a Files,
    index: Option<&'a Index>,
    page: CheckPage,
}

impl<'a> Check<'a> {
    fn new(known: &'a Known, files: &'a Files, index: Option<&'a Index>) -> Self {
        let of = known.files.values().map(|entry| entry.lines).sum();
        Self { known, files, index, page: CheckPage { of, ..CheckPage::default() } }
    }

    fn page(mut self, mut cursor: Cursor, limit: usize) -> CheckPage {
        let mut left = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        for (file, entry) in self.known.files.range(cursor.file..) {
            if *file != cursor.file {
                cursor = Cursor { file: *file, line: 0, from: 0, done: cursor.done };
            }
            let bytes = match self.files.read(*file, cursor.from, entry.length.saturating_sub(cursor.from)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.page.findings.push(finding(None, error.message()));
                    continue;
                }
            };
            let mut source = self.source(*file, cursor);
            let mut before = self.sum_before(*file, cursor);
            for text in bytes.split_inclusive(|byte| *byte == b'\n') {
                if left == 0 {
                    self.page.done = cursor.done;
                    self.page.next = Some(cursor.text());
                    return self.page;
                }
                cursor.line += 1;
                let at = At { file: *file, line: cursor.line, before };
                let text = text.strip_suffix(b"\n").unwrap_or(text);
                let location = Location { at, from: cursor.from, length: text.len() as u64 };
                if let Err(error) = self.line(&mut source, text, location) {
                    let error = self.files.at(at, &error);
                    self.page.findings.push(finding(source.as_ref(), error.message()));
                }
                // Continue with the stored sum, so that a damaged line does not make later lines seem damaged.
                before = line::stored_sum(text).unwrap_or_default();
                cursor.from += text.len() as u64 + 1;
                cursor.done += 1;
                left -= 1;
            }
        }
        self.page.done = cursor.done;
        self.page
    }

    /// The checksum of the line before the cursor.
    fn sum_before(&self, file: u64, cursor: Cursor) -> Sum {
        let end = cursor.from.checked_sub(END as u64).and_then(|from| self.files.read(file, from, END as u64 - 1).ok());
        end.and_then(|end| line::stored_sum(&end)).unwrap_or_default()
    }

    /// The contract and lineage of a file, if the check continues in the middle of the file.
    fn source(&self, file: u64, cursor: Cursor) -> Option<Source> {
        if cursor.line == 0 {
            return None;
        }
        let known = self.index.and_then(|index| index.sources.get(&file));
        if let Some(index::Source { contract, lineage, .. }) = known {
            return Some((*contract, lineage.as_ref().map(|(_, name)| name.clone())));
        }
        let bytes = self.files.read(file, 0, self.known.files.get(&file)?.length).ok()?;
        let first = bytes.split(|byte| *byte == b'\n').next()?;
        source_of(&records::read(first, At::first(file)).ok()?.0)
    }

    /// Verifies a line with its contents, and counts it.
    fn line(&mut self, source: &mut Option<Source>, text: &[u8], location: Location) -> Result<()> {
        let line: Line<'_> = records::read(text, location.at)?.0;
        if location.at.line == 1 {
            *source = source_of(&line);
            return if source.is_some() { Ok(()) } else { Err(unreadable()) };
        }
        let counted = &mut self.page.counted;
        match line {
            Line::Checkpoint(checkpoint) => {
                let row = self.index.and_then(|index| index.tables.rows.get(&checkpoint.seq));
                checkpoint.payload()?;
                if row.is_some_and(|row| matches!(row.payload, KeptPayload::At(at) if at == location)) {
                    (counted.checkpoints, counted.payloads) = (counted.checkpoints + 1, counted.payloads + 1);
                }
            }
            Line::Record(record) => {
                let row = self.index.and_then(|index| index.tables.branches.get(&record.branch));
                let kept = row
                    .and_then(|row| row.records.get(usize::try_from(record.at.checked_sub(row.branch.start())?).ok()?));
                record.record()?;
                if matches!(kept, Some(KeptRecord::At { location: at, .. }) if *at == location) {
                    counted.records += 1;
                }
            }
            Line::Writes(writes) => {
                writes.into_row()?;
                counted.writes += 1;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The contract of a file, and the name of its lineage if it has one.
type Source = (ContractId, Option<String>);

/// Reads the source from the first line of a file.
fn source_of(line: &Line<'_>) -> Option<Source> {
    match line {
        Line::Lineage { contract, name, .. } => Some((ContractId(*contract), Some(name.clone().into_owned()))),
        Line::PendingWrites { contract, .. } => Some((ContractId(*contract), None)),
        _ => None,
    }
}

fn finding(source: Option<&Source>, message: &str) -> Finding {
    let (contract, lineage) = source.cloned().unzip();
    Finding {
        contract,
        lineage: lineage.flatten(),
        ..Finding::new(FindingCode::Corrupt, Severity::Error, message, REMEDY)
    }
}
