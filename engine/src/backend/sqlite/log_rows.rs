//! Reads and verifies the rows of the log tables.

use rusqlite::Row;
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::logs::{Branch, BranchId, End};
use crate::backend::marks::{damaged, open_branch, open_head, open_record, record_sum};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::record::Record;

/// A row of the table `log` that is not verified yet.
pub(super) struct Head {
    pub(super) lin: i64,
    pub(super) name: String,
    branch: i64,
    length: i64,
    sum: i64,
}

impl Head {
    /// Reads the columns lineage, name, branch, length and sum, in this order.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { lin: row.get(0)?, name: row.get(1)?, branch: row.get(2)?, length: row.get(3)?, sum: row.get(4)? })
    }

    /// Verifies the checksum, and that the log belongs to the lineage `lin`. Returns the log's name and end.
    pub(super) fn verify(self, lin: i64) -> Result<(String, End)> {
        let end = open_head(self.lin, &self.name, self.branch, self.length, self.sum)?;
        if self.lin == lin { Ok((self.name, end)) } else { Err(misled(&format!("log {:?}", self.name))) }
    }
}

/// A row of the table `record` that is not verified yet.
pub(super) struct Stored {
    pub(super) num: i64,
    pub(super) branch: i64,
    pub(super) position: i64,
    pub(super) key_hash: Option<i64>,
    pub(super) key: Option<String>,
    sum: i64,
    body: Vec<u8>,
}

impl Stored {
    /// Reads the columns number, branch, position, hash of the key, key, sum and body, in this order.
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

    /// Verifies the checksums, and that the row is the record at `position` of `branch`. Returns the same row.
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

    /// Opens the envelope and returns the record.
    pub(super) fn record(self) -> Result<Record> {
        let place = format!("the record at {} of branch {}", self.position, self.branch);
        open_record(self.key, &self.body, &place)
    }
}

/// Verifies a row of the table `log_branch`. Returns its branch.
pub(super) fn verify_branch(id: BranchId, contract: i64, parent: Option<i64>, start: i64, sum: i64) -> Result<Branch> {
    open_branch(id, contract, parent, start, sum == branch_sum(id, contract, parent, start))
}

pub(super) fn branch_sum(id: BranchId, contract: i64, parent: Option<i64>, start: i64) -> i64 {
    Sum::new().text("log_branch").int(id).int(contract).opt_int(parent).int(start).finish()
}

pub(super) fn key_hash(key: &str) -> i64 {
    xxh3_64(key.as_bytes()).cast_signed()
}

pub(super) fn misled(what: &str) -> Error {
    let message = format!("an index leads to the wrong row for {what}; restore the database from a backup");
    Error::new(Code::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::marks::{head_sum, seal_record};
    use crate::backend::number::signed;
    use crate::codec::{envelope, frame};
    use crate::record::{Part, Payload};

    /// Generates arbitrary bytes or small numbers. With small numbers the decoder reads further before it finds an
    /// error.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(0..8u8, 0..60)]
    }

    /// The content of an envelope: arbitrary bytes, or a valid frame of arbitrary parts.
    fn framed() -> impl Strategy<Value = Vec<u8>> {
        let part = (".{0,4}", ".{0,4}", prop::collection::vec(any::<u8>(), 0..20));
        let part = part.prop_map(|(name, tag, bytes)| Part { name, tag, bytes: bytes.into() });
        let parts = prop::collection::vec(part, 0..4);
        prop_oneof![bytes(), parts.prop_map(|parts| frame::join(&Payload { parts }))]
    }

    /// A row with this body and a matching checksum.
    fn stored(branch: i64, position: i64, key: Option<String>, body: Vec<u8>) -> Stored {
        let sum = record_sum(branch, position, key.as_deref(), &body);
        Stored { num: 1, branch, position, key_hash: key.as_deref().map(key_hash), key, sum, body }
    }

    proptest! {
        #[test]
        fn a_record_comes_back(key in prop::option::of(".{0,8}"), tag in ".{0,4}", bytes in bytes()) {
            let record = Record { key: key.clone(), tag, bytes: bytes.into() };
            let row = stored(1, 2, key, seal_record(&record));
            prop_assert_eq!(row.verify(1, 2).and_then(Stored::record).unwrap(), record);
        }

        #[test]
        fn any_row_is_a_record_or_an_error(
            body in prop_oneof![bytes(), framed().prop_map(|raw| envelope::seal(&raw))],
            key in prop::option::of(".{0,8}"),
            (branch, position) in any::<(i64, i64)>(),
        ) {
            if let Err(error) = stored(branch, position, key, body).verify(branch, position).and_then(Stored::record) {
                prop_assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{error}");
            }
        }

        #[test]
        fn any_branch_is_one_or_an_error(
            (id, start, other) in any::<(i64, i64, i64)>(),
            contract in any::<u8>(),
            parent in any::<Option<i64>>(),
        ) {
            let sum = branch_sum(id, contract.into(), parent, start);
            match verify_branch(id, contract.into(), parent, start, sum) {
                Ok(branch) => {
                    prop_assert_eq!((branch.contract.0, branch.parent.map(|end| end.branch)), (contract, parent));
                    prop_assert_eq!(branch.start(), start.unsigned_abs());
                }
                Err(error) => prop_assert_eq!(error.code(), Code::Corrupt),
            }
            prop_assert!(verify_branch(id, other, parent, start, sum).is_err() || other == i64::from(contract));
            prop_assert!(verify_branch(id, contract.into(), parent, start, other).is_err());
        }

        #[test]
        fn any_head_is_an_end_or_an_error(
            (lin, branch, length) in any::<(i64, i64, i64)>(),
            name in ".{0,8}",
        ) {
            let sum = head_sum(lin, &name, branch, length);
            match (Head { lin, name, branch, length, sum }).verify(lin) {
                Ok((_, end)) => prop_assert_eq!((end.branch, signed(end.length)), (branch, length)),
                Err(error) => prop_assert_eq!((error.code(), length < 1), (Code::Corrupt, true)),
            }
        }
    }
}
