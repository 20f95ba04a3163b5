//! The status of each lineage: the column `lineage.status`.
//!
//! One statement brings the status up to date after a change to the newest checkpoint of a lineage or to the writes to it. It
//! computes the status from what it follows from, and changes a row only if the status changes: about twice in a run. It is
//! sent together with the change, so it takes no round trip of its own. It needs the locks of the lineages, so that it sees what
//! others have committed.

use tokio_postgres::Row;

use super::key::{Name, columns, name};
use super::transaction::Transaction;
use super::value::values;
use crate::error::Result;
use crate::record::{ContractId, Status, TaskState, Write};

/// Selects `lin` and `status` of the lineages `touched.lin`. 1, 2, 4 and 8 are the flags of a [`TaskState`]. Bits 2 to 4 of a
/// checkpoint's flags are its status.
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

/// Updates the lineages `touched.lin`.
macro_rules! refresh {
    ($touched:expr) => {
        concat!(
            "UPDATE @lineage AS l SET status = now.status FROM (",
            statuses!($touched),
            ") AS now WHERE l.lin = now.lin AND l.status <> now.status"
        )
    };
}

/// The lineages of checkpoints (`$1`, `$2`). If `$3` is 0, a write only tells something about a task that had stopped.
macro_rules! of_checkpoints {
    () => {
        "SELECT DISTINCT c.lin FROM unnest($1, $2, $3) AS given(contract, id, tells) JOIN @checkpoint AS c
           ON c.contract = given.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(given.id), 1, 16) AND c.id = given.id
         JOIN @lineage AS of ON of.lin = c.lin WHERE given.tells <> 0 OR of.status IN (1, 2)"
    };
}

/// The checkpoints that a batch has stored, or has stored writes to.
#[derive(Debug, Default)]
pub(super) struct Touched {
    checkpoints: Vec<Name>,
    /// 1: the status may change whatever it was.
    tells: Vec<i16>,
}

impl Touched {
    /// A checkpoint that was stored, or whose writes were claimed or opened again.
    pub(super) fn add(&mut self, contract: ContractId, id: &str) {
        self.touch(contract, id, true);
    }

    /// A checkpoint to which something was written.
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

    /// Brings the status of the lineages up to date.
    pub(super) fn refresh(self, open: &Transaction<'_>) {
        if !self.checkpoints.is_empty() {
            let mut given = columns(&self.checkpoints);
            given.extend(values![self.tells]);
            open.later(refresh!(of_checkpoints!()), given);
        }
    }
}

/// Returns true if writes say more about their tasks than that they have ended. Then the lineage is locked.
pub(super) fn tells(writes: &[Write]) -> bool {
    writes.iter().any(|write| write.claimed_by.is_none() && !TaskState::ENDED.has(write.state))
}

/// Brings the status of these lineages up to date.
pub(super) fn refresh(open: &Transaction<'_>, lins: &[i64]) {
    if !lins.is_empty() {
        open.later(refresh!("SELECT unnest($1) AS lin"), values![lins.to_vec()]);
    }
}

/// Brings the status of the lineages up to date that the transaction has locked with `forkpoint.locked`.
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

/// Reads the numbers, the names and the statuses of lineages after a number, and the statuses that they should have.
pub(super) fn page(open: &Transaction<'_>, after: i64, limit: i64) -> Result<Vec<Row>> {
    const SQL: &str = concat!(
        "SELECT l.lin, l.contract, l.name, l.status, now.status::smallint FROM (",
        statuses!("SELECT lin FROM @lineage WHERE lin > $1 ORDER BY lin LIMIT $2"),
        ") AS now JOIN @lineage AS l ON l.lin = now.lin ORDER BY l.lin"
    );
    open.query(SQL, values![after, limit])
}
