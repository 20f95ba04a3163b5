//! Frameworks' semantics as ops and queries. Each file is one contract; its number is stored and never given out again.

pub mod agentium;
pub mod agentos;
pub mod langgraph;

use crate::error::{Code, Error, Result};

/// The most bytes an id may have: it is a key of several indexes.
pub const MAX_ID_BYTES: usize = 4096;

/// The fields of a stored checkpoint cannot be read.
fn damaged(id: &str) -> Error {
    let message = format!("checkpoint {id:?}: its stored metadata is damaged; restore the file from a backup");
    Error::new(Code::Corrupt, message)
}

/// Refuses what cannot be an id to write with. Looking for such an id is no error: it finds nothing.
pub fn check_id(what: &str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(format!("{what} is empty: give a non-empty string")));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(Error::invalid(format!(
            "{what} has {} bytes, and an id may have at most {MAX_ID_BYTES}: give a shorter one",
            id.len()
        )));
    }
    Ok(())
}
