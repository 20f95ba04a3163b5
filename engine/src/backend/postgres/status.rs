//! Maintains the status of each lineage, in the column `lineage.status`.
//!
//! One statement updates the status after a change to a lineage's newest checkpoint or its writes. It computes the
//! status, and writes the row only if the status changes: about twice in a run. It is sent together with the change, so
//! it needs no extra round trip. The lineages must be locked, so that it sees the commits of others.

use tokio_postgres::Row;

use super::key::{Name, columns, name};
use super::transaction::Transaction;
use super::value::values;
use crate::error::Result;
use crate::record::{ContractId, Status, TaskState, Write};

/// Selects `lin` and `status` of the lineages `touched.lin`. 1, 2, 4 and 8 are the flags of a [`TaskState`]. Bits 2 to
/// 4 of a checkpoint's flags are its status.
macro_rules! statuses {
    ($touched:expr) => {
        concat!(
            "SELECT touched.lin, CASE WHEN task.failed OR (n.flags >> 2) & 7 = 2 THEN 2 WHEN task.asks THEN 1
                    ELSE coalesce((n.flags >> 2) & 7, 0) END AS status FROM (",
            $touched,
            ") AS touched LEFT JOIN LATERAL (
               SELECT c.contract, c.id, c.flags FROM @checkpoint AS c WHERE c.lin = touched.lin
               ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1) AS n ON true
             CROSS JOIN LATERAL (
               SELECT bool_or(state & 2 <> 0) AS failed, bool_or(state & 4 <> 0) AS asks FROM (
                 SELECT bit_or(w.state) AS state FROM @write AS w WHERE w.contract = n.contract AND w.claimed IS NULL AND ",
            $crate::backend::postgres::prefix::is_name!("w.id", "n.id"),
            "    GROUP BY w.task) AS tasks WHERE state & 9 = 0) AS task"
        )
    };
}

/// Updates the status of the lineages `touched.lin`.
macro_rules! refresh {
    ($touched:expr) => {
        concat!(
            "UPDATE @lineage AS l SET status = now.status FROM (",
            statuses!($touched),
            ") AS now WHERE l.lin = now.lin AND l.status <> now.status"
        )
    };
}

/// The lineages of checkpoints (`$1`, `$2`). If `$3` is 0, the write matters only to a task that has stopped.
macro_rules! of_checkpoints {
    () => {
        "SELECT DISTINCT c.lin FROM unnest($1, $2, $3) AS given(contract, id, tells) JOIN @checkpoint AS c
           ON c.contract = given.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(given.id), 1, 16) AND c.id = given.id
         JOIN @lineage AS of ON of.lin = c.lin WHERE given.tells <> 0 OR of.status IN (1, 2)"
    };
}

/// The checkpoints that a batch has stored or written to.
#[derive(Debug, Default)]
pub(super) struct Touched {
    checkpoints: Vec<Name>,
    /// For each checkpoint: 1 if its status may change from any state.
    tells: Vec<i16>,
}

impl Touched {
    /// Adds a checkpoint that was stored, or whose writes were claimed or reopened.
    pub(super) fn add(&mut self, contract: ContractId, id: &str) {
        self.touch(contract, id, true);
    }

    /// Adds a checkpoint that was written to.
    pub(super) fn written(&mut self, contract: ContractId, id: &str, writes: &[Write]) {
        self.touch(contract, id, tells(writes));
    }

    fn touch(&mut self, contract: ContractId, id: &str, tells: bool) {
        // The effects of a run have no status.
        if !contract.is_effects() {
            self.checkpoints.push(name(contract, id));
            self.tells.push(tells.into());
        }
    }

    /// Updates the status of the lineages.
    pub(super) fn refresh(self, open: &Transaction<'_>) {
        if !self.checkpoints.is_empty() {
            let mut given = columns(&self.checkpoints);
            given.extend(values![self.tells]);
            open.later(refresh!(of_checkpoints!()), given);
        }
    }
}

/// Returns true if a write reports more than that its task has ended. The lineage must then be locked.
pub(super) fn tells(writes: &[Write]) -> bool {
    writes.iter().any(|write| write.claimed_by.is_none() && !TaskState::ENDED.has(write.state))
}

/// Updates the status of these lineages.
pub(super) fn refresh(open: &Transaction<'_>, lins: &[i64]) {
    if !lins.is_empty() {
        open.later(refresh!("SELECT unnest($1) AS lin"), values![lins.to_vec()]);
    }
}

/// Updates the status of the lineages in the setting `forkpoint.locked`, which the transaction has locked.
pub(super) fn refresh_locked(open: &Transaction<'_>) {
    open.later(
        refresh!("SELECT unnest(string_to_array(current_setting('forkpoint.locked'), ',')::bigint[]) AS lin"),
        values![],
    );
}

/// The parameter of a condition on the status.
pub(super) fn parameter(status: Status) -> i16 {
    (status as u8).into()
}

/// The status in a column.
pub(super) fn read(row: &Row, column: usize) -> Status {
    u8::try_from(row.get::<_, i16>(column)).ok().and_then(Status::numbered).unwrap_or_default()
}

/// Reads the lineages after a number: their numbers, names and statuses, and the expected statuses.
pub(super) fn page(open: &Transaction<'_>, after: i64, limit: i64) -> Result<Vec<Row>> {
    const SQL: &str = concat!(
        "SELECT l.lin, l.contract, l.name, l.status, now.status::smallint FROM (",
        statuses!("SELECT lin FROM @lineage WHERE lin > $1 ORDER BY lin LIMIT $2"),
        ") AS now JOIN @lineage AS l ON l.lin = now.lin ORDER BY l.lin"
    );
    open.query(SQL, values![after, limit])
}
