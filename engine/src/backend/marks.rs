//! Encodes the logs' data as bytes: the marks of a checkpoint, the records, and their checksums. A mark is the name of
//! a log and the log's end when the checkpoint was saved.

use super::logs::{Branch, BranchId, End, Mark};
use crate::codec::checksum::Sum;
use crate::codec::{envelope, frame, varint};
use crate::error::{Code, Error, Result};
use crate::record::{ContractId, Part, Payload, Record};

/// The maximum number of logs that a checkpoint may name.
const MOST_MARKS: u64 = 1 << 20;

/// Encodes the tag and the bytes of a record as an envelope.
pub(crate) fn seal_record(record: &Record) -> Vec<u8> {
    let Record { tag, bytes, .. } = record;
    let part = Part { name: String::new(), tag: tag.clone(), bytes: bytes.clone().into() };
    envelope::seal(&frame::join(&Payload { parts: vec![part] }))
}

/// Opens an envelope of at most `largest` bytes that [`seal_record`] made. `what` names the record in errors.
pub(crate) fn open_record(key: Option<String>, body: &[u8], what: &str, largest: usize) -> Result<Record> {
    let open = || frame::split(&envelope::open_on(None, &[body], largest)?.into());
    let mut parts = open().map_err(|error| error.context(what))?.parts;
    match (parts.pop(), parts.is_empty()) {
        (Some(Part { tag, bytes, .. }), true) => Ok(Record { key, tag, bytes: bytes.into_joined() }),
        _ => Err(damaged(what)),
    }
}

/// Encodes the marks of a checkpoint: the number of marks, then for each mark the length of the log's name, the name,
/// the number of records and, unless that is 0, the branch. Returns `None` if there are no marks.
pub(crate) fn encode_marks(marks: &[Mark]) -> Option<Vec<u8>> {
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

/// Decodes the output of [`encode_marks`].
///
/// # Errors
///
/// `CORRUPT` if the bytes are not a list of marks.
pub(crate) fn decode_marks(bytes: Option<&[u8]>) -> Result<Vec<Mark>> {
    bytes.map_or_else(|| Some(Vec::new()), parse_marks).ok_or_else(|| damaged("the list of a checkpoint's logs"))
}

fn parse_marks(mut rest: &[u8]) -> Option<Vec<Mark>> {
    let count = varint::read(&mut rest).filter(|count| *count <= MOST_MARKS)?;
    // A mark takes at least two bytes. The count may be damaged, so reserve memory for at most as many marks as fit
    // into the bytes.
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

pub(crate) fn head_sum(lin: i64, name: &str, branch: i64, length: i64) -> i64 {
    Sum::new().text("log").int(lin).text(name).int(branch).int(length).finish()
}

pub(crate) fn record_sum(branch: i64, position: i64, key: Option<&str>, body: &[u8]) -> i64 {
    Sum::new().text("record").int(branch).int(position).opt_text(key).bytes(body).finish()
}

/// Verifies the row of a log. Returns the end of the log.
pub(crate) fn open_head(lin: i64, name: &str, branch: BranchId, length: i64, sum: i64) -> Result<End> {
    match u64::try_from(length) {
        Ok(end @ 1..) if sum == head_sum(lin, name, branch, length) => Ok(End { branch, length: end }),
        _ => Err(damaged(&format!("log {name:?}"))),
    }
}

/// Reads the row of a branch. `is_whole` is true if the row matches its checksum.
pub(crate) fn open_branch(
    id: BranchId,
    contract: i64,
    parent: Option<i64>,
    start: i64,
    is_whole: bool,
) -> Result<Branch> {
    // A branch must start at position 0 if it has no parent, and at a greater position if it has a parent.
    match (u8::try_from(contract), u64::try_from(start)) {
        (Ok(contract), Ok(length)) if is_whole && parent.is_some() == (length > 0) => {
            Ok(Branch { contract: ContractId(contract), parent: parent.map(|branch| End { branch, length }) })
        }
        _ => Err(damaged(&format!("branch {id}"))),
    }
}

/// Reads a length or a position.
pub(crate) fn open_position(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| damaged("a length or a position"))
}

pub(crate) fn damaged(what: &str) -> Error {
    let message = format!("{what} is damaged: its checksum does not match; restore the database from a backup");
    Error::new(Code::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::largest;

    fn marks() -> impl Strategy<Value = Vec<Mark>> {
        let end = (any::<i64>(), 1..u64::MAX).prop_map(|(branch, length)| End { branch, length });
        let mark = (".{0,8}", prop::option::of(end)).prop_map(|(log, end)| Mark { log, end });
        prop::collection::vec(mark, 0..5)
    }

    /// Generates arbitrary bytes or small numbers. With small numbers the decoder reads further before it finds an
    /// error.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(0..8u8, 0..60)]
    }

    proptest! {
        #[test]
        fn marks_come_back(marks in marks()) {
            prop_assert_eq!(decode_marks(encode_marks(&marks).as_deref()).unwrap(), marks);
        }

        #[test]
        fn any_bytes_are_marks_or_an_error(bytes in bytes()) {
            match decode_marks(Some(&bytes)) {
                // Compare the marks, not the bytes: `encode_marks` writes the shortest encoding of a varint, and others
                // exist.
                Ok(marks) => prop_assert_eq!(decode_marks(encode_marks(&marks).as_deref()).unwrap(), marks),
                Err(error) => prop_assert_eq!(error.code(), Code::Corrupt),
            }
        }

        #[test]
        fn a_record_comes_back(key in prop::option::of(".{0,8}"), tag in ".{0,4}", bytes in bytes()) {
            let record = Record { key: key.clone(), tag, bytes: bytes.into() };
            prop_assert_eq!(open_record(key, &seal_record(&record), "a record", largest::MOST).unwrap(), record);
        }

        #[test]
        fn any_envelope_is_a_record_or_an_error(body in bytes(), sealed: bool) {
            let body = if sealed { envelope::seal(&body) } else { body };
            if let Err(error) = open_record(None, &body, "a record", largest::MOST) {
                prop_assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{error}");
            }
        }

        #[test]
        fn any_row_of_a_log_is_an_end_or_an_error((lin, branch, length) in any::<(i64, i64, i64)>(), name in ".{0,8}") {
            match open_head(lin, &name, branch, length, head_sum(lin, &name, branch, length)) {
                Ok(end) => prop_assert_eq!((end.branch, end.length), (branch, length.unsigned_abs())),
                Err(error) => prop_assert_eq!((error.code(), length < 1), (Code::Corrupt, true)),
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
