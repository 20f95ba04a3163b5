//! What `SQLite` says, as what the caller should do.

use rusqlite::ErrorCode;

use crate::error::{Code, Error};

/// An error of `SQLite`'s as one of ours.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub(crate) fn from_sqlite(error: rusqlite::Error) -> Error {
    let code = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Code::Busy,
        Some(ErrorCode::DiskFull) => Code::Full,
        // Without a code it is a conversion: a row is not as we write them.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => Code::Corrupt,
        Some(ErrorCode::TooBig) => Code::InvalidArgument,
        // The rest are the file system's and SQLite's own.
        Some(_) => Code::Unavailable,
    };
    let remedy = match code {
        Code::Busy => "; another process held the database for longer than the busy timeout: try again",
        Code::Full => "; make room on the device and save again",
        Code::Corrupt => "; if this is a forkpoint database, restore it from a backup",
        _ => "",
    };
    Error::new(code, format!("SQLite: {error}{remedy}"))
}

/// The same for a failed COMMIT: after an I/O error the commit may have reached the disk all the same (D4).
pub(super) fn from_commit(error: rusqlite::Error) -> Error {
    let certain = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
    );
    let error = from_sqlite(error);
    if certain { error } else { error.with_outcome_unknown() }
}
