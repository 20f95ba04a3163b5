//! Maintains the status of each lineage, in the column `lineage.status`.
//!
//! A save reads its lineage's row anyway, and changes the column only if the status changes: about twice in a run. The
//! lowest 3 bits of the column are the status, and the other bits are a checksum. If the checksum is wrong, the status
//! is computed again, as after every change.

use rusqlite::{Connection, params};

use super::ids::id;
use super::statement::{all, execute, first, one};
use super::task_state;
use crate::backend::header::status_in;
use crate::codec::checksum::Sum;
use crate::error::Result;
use crate::record::{ContractId, Status};

/// The content of the column for a status.
pub(super) fn sealed(lin: i64, status: Status) -> i64 {
    let number = i64::from(status as u8);
    Sum::new().int(lin).int(number).finish() & !7 | number
}

/// The status in a column. `None`: the column is damaged.
pub(super) fn opened(lin: i64, column: i64) -> Option<Status> {
    let status = u8::try_from(column & 7).ok().and_then(Status::numbered)?;
    (sealed(lin, status) == column).then_some(status)
}

/// Computes the status of a lineage from its newest checkpoint and the writes to it.
pub(super) fn derived(connection: &Connection, lin: i64) -> Result<Status> {
    let sql = concat!(
        "SELECT l.contract, ",
        id!("c"),
        ", c.flags FROM (
           SELECT seq FROM checkpoint INDEXED BY checkpoint_lineage
           WHERE lin = ?1 ORDER BY sort_key DESC, seq DESC LIMIT 1) AS i
         CROSS JOIN checkpoint AS c ON c.seq = i.seq CROSS JOIN lineage AS l ON l.lin = ?1"
    );
    let newest = one(connection, sql, [lin], |row| {
        Ok((ContractId(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    })?;
    let Some((contract, id, flags)) = newest else { return Ok(Status::Unknown) };
    of_newest(connection, contract, &id, i16::try_from(flags).map(status_in).unwrap_or_default())
}

/// Computes the status of a lineage from its newest checkpoint. `own` is the checkpoint's status without its writes.
pub(super) fn of_newest(connection: &Connection, contract: ContractId, id: &str, own: Status) -> Result<Status> {
    Ok(Status::of(own, task_state::all_of(connection, contract, id)?))
}

/// Updates the status of a lineage, after a change to its newest checkpoint or to that checkpoint's writes. Does
/// nothing if the lineage does not exist.
pub(super) fn refresh(connection: &Connection, lin: i64) -> Result<()> {
    set(connection, lin, derived(connection, lin)?)
}

/// Stores the status of a lineage if it has changed.
pub(super) fn set(connection: &Connection, lin: i64, status: Status) -> Result<()> {
    let status = sealed(lin, status);
    let sql = "UPDATE lineage SET status = ?2 WHERE lin = ?1 AND status <> ?2";
    execute(connection, sql, params![lin, status]).map(drop)
}

/// The condition of the index of statuses. Excludes finished lineages, and effects, which have no status.
pub(super) const INDEXED: &str = "contract < 128 AND status & 7 <> 4";

/// Returns the lineages of a contract with this status, in any order. The file must have the index of statuses.
pub(super) fn indexed(connection: &Connection, contract: ContractId, status: Status) -> Result<Vec<i64>> {
    let sql = format!(
        "SELECT lin FROM lineage INDEXED BY lineage_status WHERE contract = ?1 AND status & 7 = ?2 AND {INDEXED}"
    );
    all(connection, &sql, params![contract.0, status as u8], first)
}
