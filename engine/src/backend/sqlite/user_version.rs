//! The contents of a Forkpoint database's `user_version`, in the file's header.
//!
//! | bits     |                                                                                         |
//! |----------|-----------------------------------------------------------------------------------------|
//! | 0 to 7   | the version of the tables (`schema.rs`)                                                 |
//! | 8        | 1: a commit may have been written without a sync, so a power loss may tear the log       |
//! | 9 to 31  | the number of the log (`log_owner.rs`), which begins at random                          |

use rusqlite::Connection;

use super::limits::peek;
use crate::error::Result;

const UNSYNCED: u32 = 1 << 8;
const NUMBER_AT: u32 = 9;
/// The number of different log numbers.
const NUMBERS: u32 = 1 << (32 - NUMBER_AT);
/// The offset of the `user_version` in the file.
pub(super) const OFFSET: u8 = 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UserVersion {
    /// The version of the tables. 0: there are none.
    pub(super) tables: u8,
    /// True if a commit may have been written without a sync since the log began.
    pub(super) unsynced: bool,
    /// The number of the log.
    pub(super) log: u32,
}

impl UserVersion {
    pub(super) fn decode(stored: u32) -> Self {
        Self { tables: stored.to_le_bytes()[0], unsynced: stored & UNSYNCED != 0, log: stored >> NUMBER_AT }
    }

    fn encode(self) -> u32 {
        u32::from(self.tables) | if self.unsynced { UNSYNCED } else { 0 } | (self.log << NUMBER_AT)
    }

    /// Reads the version through the connection, including changes that are only in the log.
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let mut statement = connection.prepare_cached("PRAGMA user_version")?;
        Ok(Self::decode(statement.query_row([], |row| row.get(0)).map(i32::cast_unsigned)?))
    }

    /// Reads the version from the file, without the log. `None`: the file cannot be read.
    pub(super) fn of_file(path: &std::path::Path) -> Option<Self> {
        Self::read(&peek(path).ok()?).ok()
    }

    pub(super) fn write(self, connection: &Connection) -> Result<()> {
        Ok(connection.pragma_update(None, "user_version", self.encode().cast_signed())?)
    }

    /// The version of the next log.
    pub(super) fn next(self) -> Self {
        Self { log: (self.log + 1) % NUMBERS, ..self }
    }

    /// The version with a new random log number.
    pub(super) fn with_new_number(self) -> Self {
        let (random, ..) = uuid::Uuid::new_v4().as_fields();
        Self { log: random % NUMBERS, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_comes_back() {
        for tables in [0, 1, 255] {
            for unsynced in [false, true] {
                for log in [0, 1, NUMBERS - 1] {
                    let version = UserVersion { tables, unsynced, log };
                    assert_eq!(UserVersion::decode(version.encode()), version);
                }
            }
        }
        assert_eq!(UserVersion::decode(1), UserVersion { tables: 1, ..UserVersion::default() });
        let last = UserVersion { tables: 1, unsynced: true, log: NUMBERS - 1 };
        assert_eq!(last.next(), UserVersion { log: 0, ..last });
    }
}
