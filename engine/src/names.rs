//! The names of lineages and checkpoints in messages.
//!
//! The engine stores names as keys, such as `6:chat-1`. Only the contracts know the names that their users see. The
//! program sets a function that translates keys. Without one, messages contain the keys.

use std::sync::OnceLock;

use crate::error::quote;
use crate::record::{ContractId, Header};

/// Formats a lineage, a checkpoint, or a checkpoint with its lineage, in the terms of the contract's users.
pub type Words = fn(ContractId, lineage: Option<&str>, id: Option<&str>) -> String;

static WORDS: OnceLock<Words> = OnceLock::new();

/// Sets the function that formats names in this process. Only the first call has an effect.
pub fn write_with(words: Words) {
    // Later calls come from the same program with the same function.
    let _ = WORDS.set(words);
}

/// Formats the name of a checkpoint whose lineage is not known.
pub(crate) fn checkpoint(contract: ContractId, id: &str) -> String {
    written(contract, None, Some(id))
}

/// Formats the name of a checkpoint, with its run.
pub(crate) fn checkpoint_of(header: &Header) -> String {
    written(header.contract, Some(&header.lineage), Some(&header.id))
}

pub(crate) fn run(contract: ContractId, lineage: &str) -> String {
    written(contract, Some(lineage), None)
}

fn written(contract: ContractId, lineage: Option<&str>, id: Option<&str>) -> String {
    match (WORDS.get(), lineage, id) {
        (Some(words), ..) => words(contract, lineage, id),
        (None, _, Some(id)) => format!("checkpoint {}", quote(id)),
        (None, lineage, None) => format!("run {}", quote(lineage.unwrap_or_default())),
    }
}
