//! The rows of pending writes. Each row contains an envelope with writes of one task to one checkpoint. A read returns
//! the writes exactly as they were written, or fails with `CORRUPT`.

use std::borrow::Cow;

use rusqlite::{Connection, params};

use super::ids::id;
use super::row::{self, id_hash, index_damaged};
use super::statement::{all, execute, first, number, one};
use super::status;
use super::task_state::{claim_sum, verified};
use crate::backend::writes::{answers, by_task, merge, open, reopen as unclaimed, seal, seal_merged};
use crate::check::About;
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{ContractId, Part, Status, TaskState, Write};

/// A row of the table `write`, without its body.
pub(super) struct WriteRow {
    pub num: i64,
    pub contract: ContractId,
    /// The id of the checkpoint that the writes belong to.
    pub id: String,
    pub task: String,
    /// The id of the checkpoint that has claimed the writes. `None` if they are unclaimed.
    pub claimed: Option<String>,
    /// The state of the task that the writes report.
    pub state: TaskState,
}

impl WriteRow {
    /// Reads the body of the row, of at most `largest` bytes. Returns the index and the part of each write.
    pub(super) fn open(&self, connection: &Connection, largest: usize) -> Result<Vec<(i64, Part)>> {
        let body = one(connection, "SELECT body FROM write WHERE num = ?", [self.num], first)?;
        open(&self.id, &self.task, body.unwrap_or_default(), largest)
    }
}

fn sum(num: i64, contract: ContractId, id: &str, task: &str) -> i64 {
    Sum::new().int(num).int(contract.0.into()).text(id).text(task).finish()
}

/// Reads the row with the number `num` and verifies its checksums.
pub(super) fn read(connection: &Connection, num: i64) -> Result<Option<WriteRow>> {
    let sql = "SELECT contract, id, task, claimed, sum, claim_sum FROM write WHERE num = ?";
    one(connection, sql, [num], |row| {
        let contract = ContractId(row.get(0)?);
        let (id, task, claimed): (String, String, Option<String>) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let state = verified(num, claimed.as_deref(), row.get(5)?);
        let is_whole = state.is_some() && sum(num, contract, &id, &task) == row.get::<_, i64>(4)?;
        let found = WriteRow { num, contract, id, task, claimed, state: state.unwrap_or_default() };
        if is_whole {
            return Ok(found);
        }
        let message = format!(
            "the writes of task {:?} to {}: their row {num} does not match its checksum: restore a backup",
            found.task,
            names::checkpoint(contract, &found.id)
        );
        Err(Error::new(Code::Corrupt, message))
    })
}

/// Identifies a damaged row: by its contract and the checkpoint's id, if only the claim is damaged.
pub(super) fn claims(connection: &Connection, num: i64) -> About {
    let sql = "SELECT contract, id, task, sum FROM write WHERE num = ?";
    let found = one(connection, sql, [num], |row| {
        let (contract, id, task) = (ContractId(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        let is_whole = sum(num, contract, &id, &task) == row.get::<_, i64>(3)?;
        Ok(is_whole.then_some(About { contract: Some(contract), lineage: None, id: Some(id) }))
    });
    found.ok().flatten().flatten().unwrap_or_default()
}

/// Returns the row numbers that the index contains for a checkpoint, in the order of insertion.
pub(super) fn indexed(connection: &Connection, contract: ContractId, id: &str) -> Result<Vec<i64>> {
    let sql = "SELECT num FROM write INDEXED BY write_id WHERE contract = ? AND id = ? ORDER BY num";
    all(connection, sql, params![contract.0, id], first)
}

fn rows(connection: &Connection, contract: ContractId, id: &str) -> Result<Vec<WriteRow>> {
    let damaged = || index_damaged(&format!("writes of {}", names::checkpoint(contract, id)));
    let row = |num| -> Result<WriteRow> {
        let row = read(connection, num)
            .map_err(|error| error.context(&format!("writes of {}", names::checkpoint(contract, id))))?;
        row.filter(|row| (row.contract, &*row.id) == (contract, id)).ok_or_else(damaged)
    };
    let found = indexed(connection, contract, id)?;
    // The numbers must ascend, without duplicates.
    if !found.is_sorted_by(|a, b| a < b) {
        return Err(damaged());
    }
    found.into_iter().map(row).collect()
}

/// Returns the row of a task's unclaimed writes. Skips other tasks, because a checkpoint may have thousands.
fn of_task(connection: &Connection, contract: ContractId, id: &str, task: &str) -> Result<Option<WriteRow>> {
    let sql = "SELECT num FROM write INDEXED BY write_id WHERE contract = ? AND id = ? AND task = ? ORDER BY num";
    for num in all(connection, sql, params![contract.0, id, task], first)? {
        let row = read(connection, num)
            .map_err(|error| error.context(&format!("writes of {}", names::checkpoint(contract, id))))?;
        let row = row.filter(|row| (row.contract, &*row.id, &*row.task) == (contract, id, task));
        let row = row.ok_or_else(|| index_damaged(&format!("writes of {}", names::checkpoint(contract, id))))?;
        if row.claimed.is_none() {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the writes to a checkpoint. Tasks are ordered by their first write, and the writes of a task by the first
/// write to each slot. Opens no row of more than `largest` bytes.
pub(super) fn of(connection: &Connection, contract: ContractId, id: &str, largest: usize) -> Result<Vec<Write>> {
    let mut found = Vec::new();
    for row in rows(connection, contract, id)? {
        let (task, claimed, state) = (&row.task, &row.claimed, row.state);
        let write = |(index, part)| Write { task: task.clone(), index, claimed_by: claimed.clone(), state, part };
        found.extend(row.open(connection, largest)?.into_iter().map(write));
    }
    Ok(found)
}

/// Adds writes to a checkpoint. If a slot already has an unclaimed write, `replace` decides whether the new write
/// replaces it or is left out. `encoded` is the output of [`encode`](crate::backend::writes::encode) for all writes, if
/// they were encoded ahead of time. No row may take more than `largest` bytes.
pub(super) fn add(
    connection: &Connection,
    contract: ContractId,
    id: &str,
    writes: &[Write],
    replace: bool,
    encoded: Option<&[u8]>,
    largest: usize,
) -> Result<()> {
    if answers(writes) {
        answer(connection, contract, id)?;
    }
    for group in by_task(writes) {
        let held = match group.claimed_by {
            Some(_) => None,
            None => of_task(connection, contract, id, group.task)?,
        };
        if let Some(row) = held {
            let body = seal_merged(merge(row.open(connection, largest)?, group.writes, replace), largest)?;
            let state = row.state | group.state;
            let sum = claim_sum(row.num, None, state);
            execute(connection, "UPDATE write SET body = ?, claim_sum = ? WHERE num = ?", params![body, sum, row.num])?;
            written(connection, (contract, id), row.state, state)?;
            continue;
        }
        let (task, claimed, state) = (group.task, group.claimed_by, group.state);
        let body = match (encoded, claimed) {
            (Some(body), _) => Cow::Borrowed(body),
            // Claimed writes are copies of existing writes, so store them without merging.
            (None, Some(_)) => {
                seal(group.writes.iter().map(|write| (write.index, write.part.clone())).collect()).into()
            }
            (None, None) => seal(merge(Vec::new(), group.writes, replace)).into(),
        };
        let num = number(connection, "SELECT coalesce(max(num), 0) FROM write", [])? + 1;
        let sql = "INSERT INTO write (num, contract, id, task, sum, claimed, claim_sum, body)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let sums = (sum(num, contract, id, task), claim_sum(num, claimed, state));
        execute(connection, sql, params![num, contract.0, id, task, sums.0, claimed, sums.1, body])?;
        if claimed.is_none() {
            written(connection, (contract, id), TaskState::default(), state)?;
        }
    }
    Ok(())
}

/// Marks all unclaimed writes of the checkpoint `id` as claimed by the checkpoint `claimed_by`.
pub(super) fn claim(connection: &Connection, contract: ContractId, id: &str, claimed_by: &str) -> Result<()> {
    let mut changed = false;
    for row in rows(connection, contract, id)?.into_iter().filter(|row| row.claimed.is_none()) {
        let sql = "UPDATE write SET claimed = ?, claim_sum = ? WHERE num = ?";
        let sum = claim_sum(row.num, Some(claimed_by), row.state);
        execute(connection, sql, params![claimed_by, sum, row.num])?;
        changed = true;
    }
    if changed { refresh(connection, contract, id) } else { Ok(()) }
}

/// Answers all interrupted tasks.
fn answer(connection: &Connection, contract: ContractId, id: &str) -> Result<()> {
    let asks = |row: &WriteRow| row.claimed.is_none() && row.state.has(TaskState::ASKS);
    for row in rows(connection, contract, id)?.into_iter().filter(asks) {
        let state = row.state.answered();
        let sql = "UPDATE write SET claim_sum = ? WHERE num = ?";
        execute(connection, sql, params![claim_sum(row.num, None, state), row.num])?;
    }
    refresh(connection, contract, id)
}

/// Updates the status of a lineage after writes to a checkpoint. `before` and `after` are the states of one task of
/// these writes.
///
/// A checkpoint may have thousands of tasks. Their rows are read only if a stopped task continues.
fn written(
    connection: &Connection,
    (contract, id): (ContractId, &str),
    before: TaskState,
    after: TaskState,
) -> Result<()> {
    let stops = |state| Status::of(Status::Unknown, [state]);
    if stops(before) == stops(after) {
        return Ok(());
    }
    let Some(lin) = newest_with(connection, contract, id)? else { return Ok(()) };
    let column = one(connection, "SELECT status FROM lineage WHERE lin = ?", [lin], first)?;
    match (column.and_then(|column| status::opened(lin, column)), stops(after)) {
        (Some(Status::Failed), Status::Failed | Status::Waiting) | (Some(Status::Waiting), Status::Waiting)
            if stops(before) == Status::Unknown =>
        {
            Ok(())
        }
        _ => status::refresh(connection, lin),
    }
}

/// Returns the lineage whose newest checkpoint has this id.
fn newest_with(connection: &Connection, contract: ContractId, id: &str) -> Result<Option<i64>> {
    let sql = concat!(
        "SELECT l.lin FROM checkpoint AS c INDEXED BY checkpoint_id JOIN lineage AS l ON l.lin = c.lin
         WHERE c.id_hash = ?1 AND ",
        id!("c"),
        " = ?2 AND l.contract = ?3 AND c.seq = (
           SELECT seq FROM checkpoint AS n INDEXED BY checkpoint_lineage
           WHERE n.lin = c.lin ORDER BY n.sort_key DESC, n.seq DESC LIMIT 1)"
    );
    one(connection, sql, params![id_hash(contract, id), id, contract.0], first)
}

/// Updates the status of the lineage whose newest checkpoint has this id.
fn refresh(connection: &Connection, contract: ContractId, id: &str) -> Result<()> {
    match newest_with(connection, contract, id)? {
        Some(lin) => status::refresh(connection, lin),
        None => Ok(()),
    }
}

/// Makes all writes of a checkpoint unclaimed again.
pub(super) fn reopen(connection: &Connection, contract: ContractId, id: &str, largest: usize) -> Result<()> {
    let left = unclaimed(of(connection, contract, id, largest)?);
    remove(connection, contract, id)?;
    add(connection, contract, id, &left, false, None, largest)?;
    refresh(connection, contract, id)
}

/// Removes all writes of a checkpoint, including damaged ones.
pub(super) fn remove(connection: &Connection, contract: ContractId, id: &str) -> Result<()> {
    execute(connection, "DELETE FROM write WHERE contract = ? AND id = ?", params![contract.0, id]).map(drop)
}

/// Removes the writes of a thread that has no checkpoint any more to checkpoints that are not stored. `thread` is the
/// beginning of their ids.
pub(super) fn remove_unowned(connection: &Connection, contract: ContractId, thread: &str) -> Result<()> {
    for id in ids(connection, contract, thread)? {
        // A damaged checkpoint counts as stored. It must not stop retention.
        if let Ok(None) = row::by_id(connection, contract, &id) {
            remove(connection, contract, &id)?;
        }
    }
    Ok(())
}

/// Removes all writes of the checkpoints whose ids begin with `prefix`.
pub(super) fn remove_prefix(connection: &Connection, contract: ContractId, prefix: &str) -> Result<()> {
    ids(connection, contract, prefix)?.iter().try_for_each(|id| {
        remove(connection, contract, id)?;
        refresh(connection, contract, id)
    })
}

/// Returns the ids of checkpoints that have writes and begin with `prefix`.
fn ids(connection: &Connection, contract: ContractId, prefix: &str) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT id FROM write WHERE contract = ? AND id >= ? ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![contract.0, prefix])?;
    let mut found: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        // Compare the prefix here, because SQL would treat it as a pattern. Ids with the same prefix are adjacent.
        if !id.starts_with(prefix) {
            break;
        }
        found.push(id);
    }
    Ok(found)
}
