//! Converts errors of `SQLite` to an [`Error`] with a code and a remedy.

use rusqlite::types::FromSqlError;
use rusqlite::{ErrorCode, ffi};

use crate::error::{Cause, Code, Error};

impl From<rusqlite::Error> for Error {
    /// Keeps the original error as the cause.
    fn from(error: rusqlite::Error) -> Self {
        let number = error.sqlite_error().map(|error| error.extended_code);
        let code = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Code::Busy,
            Some(ErrorCode::DiskFull) => Code::Full,
            // An error without a code is a failed conversion: a column has an unexpected type, so the row is damaged. A
            // constraint fails only if an index or a table contains a row that a lookup does not find, so one of them
            // is damaged.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation) | None => {
                Code::Corrupt
            }
            // The file is too short for a page that it must have.
            Some(ErrorCode::SystemIoFailure) if number == Some(ffi::SQLITE_IOERR_SHORT_READ) => Code::Corrupt,
            // A read took too many steps: see `steps.rs`.
            Some(ErrorCode::OperationInterrupted) => Code::Corrupt,
            // Statements that store handle this error before: see `statement.rs`.
            Some(ErrorCode::TooBig) => Code::Unsupported,
            // All statements are fixed. A table or column is missing only if another program has changed the file.
            Some(_) if number == Some(ffi::SQLITE_ERROR) && lacks_table(&error) => Code::Corrupt,
            // All other codes come from the file system or from SQLite itself.
            Some(_) => Code::Unavailable,
        };
        let remedy = match (code, error.sqlite_error_code()) {
            (Code::Busy, _) => "; another process held the database for longer than the busy timeout: try again",
            (Code::Full, _) => "; make room on the device and save again",
            (_, Some(ErrorCode::OperationInterrupted)) => {
                "; the read took more steps than an undamaged file of this size can need: restore it from a backup"
            }
            (Code::Corrupt, _) => "; if this is a forkpoint database, restore it from a backup",
            (Code::Unsupported, _) => {
                "; the file has a value that is larger than this store opens: open the store with a higher maxPayloadBytes (on \
                 the command line: --max-payload-bytes)"
            }
            (_, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)) => {
                "; check that this process may write the file and its directory"
            }
            (_, Some(ErrorCode::SystemIoFailure)) => "; check the device and its file system, then try again",
            _ => "",
        };
        // These errors happen again until the user changes a permission or the path.
        let lasting = matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
            || matches!(
                number,
                Some(ffi::SQLITE_CANTOPEN_ISDIR | ffi::SQLITE_CANTOPEN_FULLPATH | ffi::SQLITE_CANTOPEN_SYMLINK)
            );
        let name = number.and_then(name);
        let message = match name {
            Some(name) => format!("SQLite: {error} ({name}){remedy}"),
            None => format!("SQLite: {error}{remedy}"),
        };
        let error = Error::new(code, message).with_cause(Cause::new(error, name, number));
        if lasting { error.lasting() } else { error }
    }
}

impl From<FromSqlError> for Error {
    fn from(error: FromSqlError) -> Self {
        rusqlite::Error::from(error).into()
    }
}

/// Returns true if a statement names a table or a column that the database does not have.
fn lacks_table(error: &rusqlite::Error) -> bool {
    // SQLite has no separate code for this error.
    let text = error.to_string();
    ["no such table", "no such column", "no such index", "has no column named"].iter().any(|part| text.contains(part))
}

/// Converts an error of a failed COMMIT. If the code is busy, locked or full, nothing was committed. Otherwise the
/// outcome is unknown, because after an I/O error the commit may be on disk.
pub(super) fn from_commit(error: rusqlite::Error) -> Error {
    let certain = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
    );
    let error = Error::from(error);
    if certain { error } else { error.with_outcome_unknown() }
}

/// The name of a result code, or the name of its primary code. Listed here, because `SQLite` has the names only in its
/// C header.
fn name(number: i32) -> Option<&'static str> {
    // The low byte of an extended code is its primary code.
    exact(number).or_else(|| exact(number & 0xff))
}

macro_rules! names {
    ($($name:ident,)*) => {
        fn exact(number: i32) -> Option<&'static str> {
            match number {
                $(ffi::$name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

names! {
    SQLITE_ERROR, SQLITE_ERROR_MISSING_COLLSEQ, SQLITE_ERROR_RETRY, SQLITE_ERROR_SNAPSHOT, SQLITE_ERROR_RESERVESIZE,
    SQLITE_ERROR_KEY, SQLITE_ERROR_UNABLE, SQLITE_INTERNAL, SQLITE_PERM, SQLITE_ABORT, SQLITE_ABORT_ROLLBACK,
    SQLITE_BUSY, SQLITE_BUSY_RECOVERY, SQLITE_BUSY_SNAPSHOT, SQLITE_BUSY_TIMEOUT, SQLITE_LOCKED,
    SQLITE_LOCKED_SHAREDCACHE, SQLITE_LOCKED_VTAB, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_READONLY_RECOVERY,
    SQLITE_READONLY_CANTLOCK, SQLITE_READONLY_ROLLBACK, SQLITE_READONLY_DBMOVED, SQLITE_READONLY_CANTINIT,
    SQLITE_READONLY_DIRECTORY, SQLITE_INTERRUPT, SQLITE_IOERR, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ,
    SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_FSTAT,
    SQLITE_IOERR_UNLOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_DELETE, SQLITE_IOERR_BLOCKED, SQLITE_IOERR_NOMEM,
    SQLITE_IOERR_ACCESS, SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_LOCK, SQLITE_IOERR_CLOSE, SQLITE_IOERR_DIR_CLOSE,
    SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SEEK,
    SQLITE_IOERR_DELETE_NOENT, SQLITE_IOERR_MMAP, SQLITE_IOERR_GETTEMPPATH, SQLITE_IOERR_CONVPATH, SQLITE_IOERR_VNODE,
    SQLITE_IOERR_AUTH, SQLITE_IOERR_BEGIN_ATOMIC, SQLITE_IOERR_COMMIT_ATOMIC, SQLITE_IOERR_ROLLBACK_ATOMIC,
    SQLITE_IOERR_DATA, SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_IN_PAGE, SQLITE_IOERR_BADKEY, SQLITE_IOERR_CODEC,
    SQLITE_CORRUPT, SQLITE_CORRUPT_VTAB, SQLITE_CORRUPT_SEQUENCE, SQLITE_CORRUPT_INDEX, SQLITE_NOTFOUND, SQLITE_FULL,
    SQLITE_CANTOPEN, SQLITE_CANTOPEN_NOTEMPDIR, SQLITE_CANTOPEN_ISDIR, SQLITE_CANTOPEN_FULLPATH,
    SQLITE_CANTOPEN_CONVPATH, SQLITE_CANTOPEN_DIRTYWAL, SQLITE_CANTOPEN_SYMLINK, SQLITE_PROTOCOL, SQLITE_EMPTY,
    SQLITE_SCHEMA, SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_CONSTRAINT_CHECK, SQLITE_CONSTRAINT_COMMITHOOK,
    SQLITE_CONSTRAINT_FOREIGNKEY, SQLITE_CONSTRAINT_FUNCTION, SQLITE_CONSTRAINT_NOTNULL, SQLITE_CONSTRAINT_PRIMARYKEY,
    SQLITE_CONSTRAINT_TRIGGER, SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_VTAB, SQLITE_CONSTRAINT_ROWID,
    SQLITE_CONSTRAINT_PINNED, SQLITE_CONSTRAINT_DATATYPE, SQLITE_MISMATCH, SQLITE_MISUSE, SQLITE_NOLFS, SQLITE_AUTH,
    SQLITE_AUTH_USER, SQLITE_FORMAT, SQLITE_RANGE, SQLITE_NOTADB,
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn of(number: i32) -> Error {
        Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(number), None))
    }

    #[test]
    fn an_error_keeps_the_extended_code() {
        for (number, code, name) in [
            (ffi::SQLITE_IOERR_FSYNC, Code::Unavailable, "SQLITE_IOERR_FSYNC"),
            (ffi::SQLITE_BUSY_SNAPSHOT, Code::Busy, "SQLITE_BUSY_SNAPSHOT"),
            (ffi::SQLITE_CORRUPT_INDEX, Code::Corrupt, "SQLITE_CORRUPT_INDEX"),
            (ffi::SQLITE_READONLY_DIRECTORY, Code::Unavailable, "SQLITE_READONLY_DIRECTORY"),
            (ffi::SQLITE_FULL, Code::Full, "SQLITE_FULL"),
            (ffi::SQLITE_NOTADB, Code::Corrupt, "SQLITE_NOTADB"),
        ] {
            let error = of(number);
            assert_eq!(error.code(), code, "{error}");
            let cause = error.cause().unwrap();
            assert_eq!((cause.code(), cause.number()), (Some(name), Some(number)));
            assert!(error.message().contains(name), "a log shows it: {error}");
            assert!(error.message().contains("; "), "it says what to do: {error}");
            let source = error.source().and_then(|source| source.downcast_ref::<rusqlite::Error>()).unwrap();
            assert_eq!(source.sqlite_error().unwrap().extended_code, number);
        }
    }

    #[test]
    fn every_io_error_is_unavailable_and_retryable_but_a_file_that_is_cut() {
        for number in (0..=40).map(|sub| ffi::SQLITE_IOERR | (sub << 8)) {
            let error = of(number);
            if number == ffi::SQLITE_IOERR_SHORT_READ {
                assert_eq!((error.code(), error.retryable()), (Code::Corrupt, false), "{error}");
                continue;
            }
            assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true), "{error}");
        }
    }

    #[test]
    fn an_error_that_lasts_is_not_retryable() {
        let lasting = [
            ffi::SQLITE_READONLY,
            ffi::SQLITE_READONLY_DIRECTORY,
            ffi::SQLITE_PERM,
            ffi::SQLITE_CANTOPEN_ISDIR,
            ffi::SQLITE_CANTOPEN_FULLPATH,
        ];
        for number in lasting {
            assert_eq!((of(number).code(), of(number).retryable()), (Code::Unavailable, false), "{number}");
        }
        // For example, this process may have too many open files.
        assert!(of(ffi::SQLITE_CANTOPEN).retryable());
    }

    #[test]
    fn a_missing_table_or_column_is_damage() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE checkpoint (seq INTEGER)").unwrap();
        for sql in ["SELECT 1 FROM lineage", "SELECT id FROM checkpoint", "INSERT INTO checkpoint (id) VALUES (1)"] {
            let error = Error::from(connection.prepare(sql).map(drop).unwrap_err());
            assert_eq!((error.code(), error.retryable()), (Code::Corrupt, false), "{error}");
            assert!(error.message().contains("restore it from a backup"), "{error}");
        }
        let error = Error::from(connection.execute_batch("COMMIT").unwrap_err());
        assert_eq!(error.code(), Code::Unavailable, "another error with the same number: {error}");
    }

    #[test]
    fn an_unknown_extended_code_has_the_name_of_its_family() {
        let later = ffi::SQLITE_IOERR | (99 << 8);
        let error = of(later);
        let cause = error.cause().unwrap();
        assert_eq!((cause.code(), cause.number()), (Some("SQLITE_IOERR"), Some(later)));
        assert_eq!(name(0xfe), None);
    }

    #[test]
    fn a_row_that_does_not_convert_has_a_cause_without_a_code() {
        let error = Error::from(rusqlite::Error::InvalidColumnIndex(3));
        let cause = error.cause().unwrap();
        assert_eq!((error.code(), cause.code(), cause.number()), (Code::Corrupt, None, None));
    }

    #[test]
    fn only_a_commit_that_failed_on_the_device_is_in_doubt() {
        let unknown =
            |number| from_commit(rusqlite::Error::SqliteFailure(ffi::Error::new(number), None)).outcome_unknown();
        assert!(unknown(ffi::SQLITE_IOERR_FSYNC));
        assert!(!unknown(ffi::SQLITE_BUSY) && !unknown(ffi::SQLITE_FULL));
    }
}
