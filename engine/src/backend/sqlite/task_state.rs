//! The state of a task that its writes report, in the column `write.claim_sum` beside a checksum.

use rusqlite::{Connection, params};

use super::statement::all;
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::record::{ContractId, TaskState};

/// Computes the column `claim_sum`. Its lowest 4 bits are the state, and the others are a checksum.
pub(super) fn claim_sum(num: i64, claimed: Option<&str>, state: TaskState) -> i64 {
    let number = i64::from(state.number());
    Sum::new().int(num).opt_text(claimed).int(number).finish() & !15 | number
}

/// Verifies a column `claim_sum`, and returns the state in it.
pub(super) fn verified(num: i64, claimed: Option<&str>, column: i64) -> Option<TaskState> {
    let state = TaskState::numbered(u8::try_from(column & 15).ok()?);
    (claim_sum(num, claimed, state) == column).then_some(state)
}

/// Returns the states of the tasks with unclaimed writes to a checkpoint. Skips damaged rows. A task has at most one
/// such row.
pub(super) fn all_of(connection: &Connection, contract: ContractId, id: &str) -> Result<Vec<TaskState>> {
    let sql = "SELECT num, claim_sum FROM write INDEXED BY write_id WHERE contract = ? AND id = ? AND claimed IS NULL";
    all(
        connection,
        sql,
        params![contract.0, id],
        |row| Ok(verified(row.get(0)?, None, row.get(1)?).unwrap_or_default()),
    )
}
