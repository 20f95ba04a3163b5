//! The rows of logs, each with its checksum, and a checkpoint's marks as bytes.

use rusqlite::Row;
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::logs::{Branch, BranchId, End, Mark};
use crate::codec::checksum::Sum;
use crate::codec::{envelope, frame, varint};
use crate::error::{Code, Error, Result};
use crate::record::{Part, Payload, Record, Space};

/// A row of `log`.
pub(super) struct Head {
    pub(super) lin: i64,
    pub(super) name: String,
    branch: i64,
    length: i64,
    sum: i64,
}

impl Head {
    /// Lineage, name, branch, length, sum.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { lin: row.get(0)?, name: row.get(1)?, branch: row.get(2)?, length: row.get(3)?, sum: row.get(4)? })
    }

    /// The log's name and end, if it is a log of that lineage.
    pub(super) fn verify(self, lin: i64) -> Result<(String, End)> {
        let Self { name, branch, length, .. } = self;
        if self.sum != head_sum(self.lin, &name, branch, length) || length < 1 {
            return Err(damaged(&format!("log {name:?}")));
        }
        if self.lin != lin {
            return Err(misled(&format!("log {name:?}")));
        }
        Ok((name, End { branch, length: unsigned(length)? }))
    }
}

/// A row of `record`.
pub(super) struct Stored {
    num: i64,
    pub(super) branch: i64,
    pub(super) position: i64,
    pub(super) key_hash: Option<i64>,
    pub(super) key: Option<String>,
    sum: i64,
    body: Vec<u8>,
}

impl Stored {
    /// Number, branch, position, hash of the key, key, sum, body.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            num: row.get(0)?,
            branch: row.get(1)?,
            position: row.get(2)?,
            key_hash: row.get(3)?,
            key: row.get(4)?,
            sum: row.get(5)?,
            body: row.get(6)?,
        })
    }

    /// The row, if it is what was asked for and undamaged.
    pub(super) fn verify(self, branch: BranchId, position: i64) -> Result<Self> {
        if (self.branch, self.position) != (branch, position) {
            return Err(misled(&format!("the record at {position} of branch {branch}")));
        }
        let key = self.key.as_deref();
        let sum = record_sum(branch, position, key, &self.body);
        if self.sum != sum || self.key_hash != key.map(key_hash) {
            return Err(damaged(&format!("the record at {position} of branch {branch}, in row {}", self.num)));
        }
        Ok(self)
    }

    /// The record.
    pub(super) fn record(self) -> Result<Record> {
        let open = || frame::split(&envelope::open(&[&self.body])?.into());
        let where_ = || format!("the record at {} of branch {}", self.position, self.branch);
        let mut parts = open().map_err(|error| error.context(&where_()))?.parts;
        match (parts.pop(), parts.is_empty()) {
            (Some(Part { tag, bytes, .. }), true) => Ok(Record { key: self.key, tag, bytes }),
            _ => Err(damaged(&where_())),
        }
    }
}

pub(super) fn seal(record: &Record) -> Vec<u8> {
    let Record { tag, bytes, .. } = record;
    let part = Part { name: String::new(), tag: tag.clone(), bytes: bytes.clone() };
    envelope::seal(&frame::join(&Payload { parts: vec![part] }))
}

/// The branch of a row of `log_branch`, if the row is undamaged.
pub(super) fn verify_branch(id: BranchId, contract: i64, parent: Option<i64>, start: i64, sum: i64) -> Result<Branch> {
    let space = u8::try_from(contract).ok().filter(|space| sum == branch_sum(id, *space, parent, start));
    // One without a parent begins at 0, and only that one does.
    let (Some(space), true) = (space, parent.is_some() == (start > 0)) else {
        return Err(damaged(&format!("branch {id}")));
    };
    let start = unsigned(start)?;
    Ok(Branch { space: Space(space), parent: parent.map(|branch| End { branch, length: start }) })
}

/// The marks of a checkpoint as the column `logs` holds them: count, then of each the length of its name, the name, the number of
/// records, and the branch if there are records. `None`: there are no marks.
pub(super) fn encode_marks(marks: &[Mark]) -> Option<Vec<u8>> {
    if marks.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    varint::write(&mut out, marks.len() as u64);
    for Mark { log, end } in marks {
        varint::write(&mut out, log.len() as u64);
        out.extend_from_slice(log.as_bytes());
        match end {
            None => varint::write(&mut out, 0),
            Some(end) => {
                varint::write(&mut out, end.length);
                varint::write(&mut out, end.branch.cast_unsigned());
            }
        }
    }
    Some(out)
}

/// What [`encode_marks`] made. `CORRUPT` for anything else.
pub(super) fn decode_marks(bytes: Option<&[u8]>) -> Result<Vec<Mark>> {
    bytes.map_or_else(|| Some(Vec::new()), parse_marks).ok_or_else(|| damaged("the list of a checkpoint's logs"))
}

fn parse_marks(mut rest: &[u8]) -> Option<Vec<Mark>> {
    let count = varint::read(&mut rest)?;
    // A mark takes two bytes at least, so a count beyond that is no reason to reserve memory.
    let mut marks = Vec::with_capacity(usize::try_from(count).ok()?.min(rest.len() / 2));
    for _ in 0..count {
        let length = varint::read(&mut rest)?;
        let log = std::str::from_utf8(varint::take(&mut rest, length)?).ok()?.to_owned();
        let length = varint::read(&mut rest)?;
        let end = match length {
            0 => None,
            length => Some(End { branch: varint::read(&mut rest)?.cast_signed(), length }),
        };
        marks.push(Mark { log, end });
    }
    rest.is_empty().then_some(marks)
}

pub(super) fn head_sum(lin: i64, name: &str, branch: i64, length: i64) -> i64 {
    Sum::new().text("log").int(lin).text(name).int(branch).int(length).finish()
}

pub(super) fn branch_sum(id: BranchId, space: u8, parent: Option<i64>, start: i64) -> i64 {
    Sum::new().text("log_branch").int(id).int(space.into()).opt_int(parent).int(start).finish()
}

pub(super) fn record_sum(branch: i64, position: i64, key: Option<&str>, body: &[u8]) -> i64 {
    Sum::new().text("record").int(branch).int(position).opt_text(key).bytes(body).finish()
}

pub(super) fn key_hash(key: &str) -> i64 {
    xxh3_64(key.as_bytes()).cast_signed()
}

/// No log has 2^63 records.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| damaged("a length or a position"))
}

pub(super) fn damaged(what: &str) -> Error {
    let message = format!("{what} is damaged: its checksum does not match; restore the database from a backup");
    Error::new(Code::Corrupt, message)
}

pub(super) fn misled(what: &str) -> Error {
    let message = format!("an index leads to another row for {what}; restore the database from a backup");
    Error::new(Code::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marks() -> impl Strategy<Value = Vec<Mark>> {
        let end = (any::<i64>(), 1..u64::MAX).prop_map(|(branch, length)| End { branch, length });
        let mark = (".{0,8}", prop::option::of(end)).prop_map(|(log, end)| Mark { log, end });
        prop::collection::vec(mark, 0..5)
    }

    proptest! {
        #[test]
        fn marks_come_back(marks in marks()) {
            prop_assert_eq!(decode_marks(encode_marks(&marks).as_deref()).unwrap(), marks);
        }

        #[test]
        fn any_bytes_are_marks_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Err(error) = decode_marks(Some(&bytes)) {
                prop_assert_eq!(error.code(), Code::Corrupt);
            }
        }

        #[test]
        fn a_cut_is_an_error(marks in marks(), cut in any::<prop::sample::Index>()) {
            if let Some(whole) = encode_marks(&marks) {
                prop_assert!(decode_marks(Some(&whole[..cut.index(whole.len())])).is_err());
            }
        }
    }
}
