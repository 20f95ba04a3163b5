//! The incarnation of a run: the position of its lineage. Positions are never reused, so a run that was deleted and
//! begun again has another incarnation.

use crate::error::{Code, Error, quote};
use crate::op::Expect;
use crate::record::ContractId;

/// The condition that a lineage has this position. `kind` and `id` name the run in the error: a "thread", for example.
pub(super) fn is_incarnation(contract: ContractId, lineage: String, position: i64, kind: &str, id: &str) -> Expect {
    let message = format!(
        "{kind} {} was deleted while it ran, and may have begun again: nothing was stored, so stop this run",
        quote(id)
    );
    Expect::Incarnation { contract, lineage, position, otherwise: Error::new(Code::Conflict, message) }
}
