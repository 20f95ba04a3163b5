//! What messages call a lineage and a checkpoint.
//!
//! The names that the engine stores are keys, such as `6:chat-1`, and only the contracts know what their users call the same
//! thing. So the program that opens stores says once how names are written. Without that, messages have the keys.

use std::sync::OnceLock;

use crate::error::quote;
use crate::record::{ContractId, Header};

/// Writes a lineage, a checkpoint (with its lineage, if that is given, too), in the words of its contract's users.
pub type Words = fn(ContractId, lineage: Option<&str>, id: Option<&str>) -> String;

static WORDS: OnceLock<Words> = OnceLock::new();

/// Sets how the messages of this process write names. Only the first call has an effect.
pub fn write_with(words: Words) {
    // A later call comes from the same program, and gives the same function.
    let _ = WORDS.set(words);
}

/// The name of a checkpoint whose lineage is not known.
pub(crate) fn checkpoint(contract: ContractId, id: &str) -> String {
    written(contract, None, Some(id))
}

/// The name of a checkpoint, with its run.
pub(crate) fn checkpoint_of(header: &Header) -> String {
    written(header.contract, Some(&header.lineage), Some(&header.id))
}

/// The name of a lineage.
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
