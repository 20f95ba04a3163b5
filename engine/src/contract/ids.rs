//! The ids that contracts store.

use crate::error::{Code, Error, Result};

/// The maximum number of bytes in an id. The limit is small because several indexes have the id as their key.
pub const MAX_ID_BYTES: usize = 4096;

/// Returns the error for a stored checkpoint whose fields cannot be read.
pub(super) fn damaged(id: &str) -> Error {
    let message = format!("checkpoint {id:?}: its stored metadata is damaged; restore the file from a backup");
    Error::new(Code::Corrupt, message)
}

/// Rejects an empty or too long id before a write. Reads need no check: such an id finds nothing.
///
/// Errors call the id `what`.
pub(super) fn check_id(what: &str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(format!("{what} is empty: pass a non-empty string")));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "{what} has {} bytes, but an id may have at most {MAX_ID_BYTES}: use a shorter one",
            id.len()
        )));
    }
    Ok(())
}
