//! The rows of pending writes. A call only adds rows, so that two calls never wait for each other. A read merges the
//! rows of a task. A claim marks existing rows.

use std::borrow::Borrow;
use std::collections::HashMap;

use tokio_postgres::Row;

use super::key::{self, Name, number};
use super::optimistic_rows::nothing_missing;
use super::prefix::{begins_with, is_name};
use super::row;
use super::transaction::Transaction;
use super::value::{Value, values};
use crate::backend::writes::{answers, by_task, merge, open as opened, reopen as unclaimed, seal};
use crate::codec::checksum::Sum;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::record::{ContractId, Part, TaskState, Write};

/// The writes of one task, as a read returns them.
struct Task {
    name: String,
    claimed: Option<String>,
    state: TaskState,
    parts: Vec<(i64, Part)>,
}

fn sum(contract: ContractId, id: &str, task: &str, replaces: bool) -> i64 {
    Sum::new().int(contract.0.into()).text(id).text(task).int(replaces.into()).finish()
}

fn claim_sum(contract: ContractId, id: &str, claimed_by: &str) -> i64 {
    Sum::new().text("claim").int(contract.0.into()).text(id).text(claimed_by).finish()
}

/// The columns that [`merged`] reads, in this order, from `write AS w`.
macro_rules! columns {
    () => {
        "w.contract, w.id, w.task, w.replaces, w.claimed, w.claim, w.sum, w.body, w.claim_sum, w.state"
    };
}
pub(super) use columns;

macro_rules! of_id {
    () => {
        concat!("contract = $1 AND ", is_name!("id", "$2"))
    };
}

/// Returns the writes to a checkpoint. Tasks are ordered by their first write, and the writes of a task by the first
/// write to each slot. Opens no row of more than `largest` bytes.
pub(super) fn of(open: &Transaction<'_>, contract: ContractId, id: &str, largest: usize) -> Result<Vec<Write>> {
    const SQL: &str = concat!("SELECT ", columns!(), " FROM @write AS w WHERE ", of_id!(), " ORDER BY num");
    merged(contract, id, &open.query(SQL, values![number(contract), id])?, largest)
}

pub(super) fn merged<R: Borrow<Row>>(contract: ContractId, id: &str, rows: &[R], largest: usize) -> Result<Vec<Write>> {
    let mut tasks: Vec<Task> = Vec::new();
    // The index of each task whose rows are merged.
    let mut indexes: HashMap<(String, Option<i64>), usize> = HashMap::new();
    for row in rows {
        let row: &Row = row.borrow();
        let (task, claimed, claim) = (row::text(row, 2)?, row::opt_text(row, 4)?, row.get::<_, Option<i64>>(5));
        let replaces: bool = row.get(3);
        let claims = claimed.as_deref().map(|by| claim_sum(contract, id, by));
        if (sum(contract, id, &task, replaces), claims) != (row.get(6), row.get(8))
            || claim.is_some() && claims.is_none()
        {
            let message = format!(
                "the writes of task {task:?} to {}: a row does not match its checksum: restore the database from a backup",
                names::checkpoint(contract, id)
            );
            return Err(Error::new(Code::Corrupt, message));
        }
        let parts = opened(id, &task, row.get(7), largest)?;
        let state = u8::try_from(row.get::<_, i16>(9)).map(TaskState::numbered).unwrap_or_default();
        // Writes that were already claimed when added are not merged. Other rows of a task belong together if the same
        // claim took them.
        let alone = claimed.is_some() && claim.is_none();
        let held = if alone { None } else { indexes.get(&(task.clone(), claim)) };
        match held.and_then(|at| tasks.get_mut(*at)) {
            None => {
                if !alone {
                    indexes.insert((task.clone(), claim), tasks.len());
                }
                tasks.push(Task { name: task, claimed, state, parts });
            }
            Some(held) => {
                held.state |= state;
                let write = |(index, part)| Write { task: String::new(), index, claimed_by: None, state, part };
                let new: Vec<Write> = parts.into_iter().map(write).collect();
                held.parts = merge(std::mem::take(&mut held.parts), &new, replaces);
            }
        }
    }
    let writes = tasks.into_iter().flat_map(|Task { name, claimed, state, parts }| {
        parts.into_iter().map(move |(index, part)| Write {
            task: name.clone(),
            index,
            claimed_by: claimed.clone(),
            state,
            part,
        })
    });
    Ok(writes.collect())
}

/// True if nothing is missing, and batch `$3` has stored the checkpoint `$1` of contract `$2`, or `$1` is empty.
macro_rules! guard {
    () => {
        concat!(
            nothing_missing!(),
            " AND (octet_length($1) = 0 OR EXISTS (
           SELECT 1 FROM @checkpoint AS c
           WHERE c.contract = $2 AND substr(sha256(c.id), 1, 16) = substr(sha256($1), 1, 16) AND c.id = $1 AND c.call = $3))"
        )
    };
}

/// New rows of one statement, by columns.
#[derive(Default)]
pub(super) struct Rows {
    contracts: Vec<i16>,
    ids: Vec<Vec<u8>>,
    tasks: Vec<Vec<u8>>,
    replaces: Vec<i16>,
    claimed: Vec<Option<Vec<u8>>>,
    claim_sums: Vec<Option<i64>>,
    sums: Vec<i64>,
    states: Vec<i16>,
    bodies: Vec<Vec<u8>>,
    /// The checkpoints whose interrupted tasks are answered before the rows are stored.
    answered: Vec<Name>,
}

impl Rows {
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds writes to a checkpoint. If a slot already has an unclaimed write, a read uses `replace` to choose one.
    pub(super) fn add(
        &mut self,
        contract: ContractId,
        id: &str,
        writes: &[Write],
        replace: bool,
        encoded: Option<&[u8]>,
    ) {
        if answers(writes) {
            self.answered.push(key::name(contract, id));
            // The rows of this statement are not stored yet, so change them here.
            let of = |at: &usize| self.ids[*at] == id.as_bytes() && self.contracts[*at] == number(contract);
            let unclaimed = (0..self.ids.len()).filter(of).filter(|at| self.claimed[*at].is_none()).collect::<Vec<_>>();
            for at in unclaimed {
                self.states[at] &= !i16::from(TaskState::ASKS.number());
            }
        }
        for group in by_task(writes) {
            self.contracts.push(number(contract));
            self.ids.push(id.as_bytes().to_vec());
            self.tasks.push(group.task.as_bytes().to_vec());
            self.replaces.push(replace.into());
            self.claimed.push(group.claimed_by.map(|by| by.as_bytes().to_vec()));
            self.claim_sums.push(group.claimed_by.map(|by| claim_sum(contract, id, by)));
            self.sums.push(sum(contract, id, group.task, replace));
            self.states.push(group.state.number().into());
            self.bodies.push(match (encoded, group.claimed_by) {
                (Some(body), _) => body.to_vec(),
                (None, Some(_)) => seal(group.writes.iter().map(|write| (write.index, write.part.clone())).collect()),
                (None, None) => seal(merge(Vec::new(), group.writes, replace)),
            });
        }
    }

    /// Stores the rows. `checkpoint` are the parameters of [`guard`].
    pub(super) fn store(self, open: &Transaction<'_>, mut checkpoint: Vec<Value>) {
        let Self { contracts, ids, tasks, replaces, claimed, claim_sums, sums, states, bodies, answered } = self;
        if !answered.is_empty() {
            let mut given = checkpoint.clone();
            given.extend(key::columns(&answered));
            open.later(
                concat!(
                    "UPDATE @write AS w SET state = w.state & ~4 FROM unnest($4, $5) AS u(contract, id)
                     WHERE w.contract = u.contract AND w.claimed IS NULL AND w.state & 4 <> 0 AND ",
                    is_name!("w.id", "u.id"),
                    " AND ",
                    guard!()
                ),
                given,
            );
        }
        checkpoint.extend(values![contracts, ids, tasks, replaces, claimed, claim_sums, sums, states, bodies]);
        open.later(
            concat!(
                "INSERT INTO @write (contract, id, call, task, replaces, claimed, claim_sum, sum, state, body)
                   SELECT contract, id, $3, task, replaces <> 0, claimed, claim_sum, sum, state, body
                   FROM unnest($4, $5, $6, $7, $8, $9, $10, $11, $12)
                        AS u(contract, id, task, replaces, claimed, claim_sum, sum, state, body) WHERE ",
                guard!()
            ),
            checkpoint,
        );
    }
}

/// Adds writes to a checkpoint. `call` is the number of the batch.
pub(super) fn add(
    open: &Transaction<'_>,
    call: i64,
    (contract, id): (ContractId, &str),
    writes: &[Write],
    replace: bool,
    encoded: Option<&[u8]>,
) {
    let mut rows = Rows::default();
    rows.add(contract, id, writes, replace, encoded);
    rows.store(open, values!["", 0_i16, call]);
}

/// Claims of one statement, by columns. An id is claimed at most once.
#[derive(Default)]
pub(super) struct Claims {
    contracts: Vec<i16>,
    ids: Vec<Vec<u8>>,
    claimed_by: Vec<Vec<u8>>,
    sums: Vec<i64>,
}

impl Claims {
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Marks all unclaimed writes of the checkpoint `id` as claimed by the checkpoint `claimed_by`.
    pub(super) fn add(&mut self, contract: ContractId, id: &str, claimed_by: &str) {
        self.contracts.push(number(contract));
        self.ids.push(id.as_bytes().to_vec());
        self.claimed_by.push(claimed_by.as_bytes().to_vec());
        self.sums.push(claim_sum(contract, id, claimed_by));
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        values![self.contracts, self.ids, self.claimed_by, self.sums]
    }

    /// Stores the claims. `checkpoint` are the parameters of [`guard`].
    pub(super) fn store(self, open: &Transaction<'_>, mut checkpoint: Vec<Value>) {
        checkpoint.extend(self.into_values());
        open.later(
            concat!(
                "WITH claims AS MATERIALIZED (
                   SELECT contract, id, claimed_by, claim_sum, nextval('@claim_order') AS claim
                   FROM unnest($4, $5, $6, $7) AS u(contract, id, claimed_by, claim_sum) WHERE ",
                guard!(),
                ") UPDATE @write AS w SET claimed = u.claimed_by, claim_sum = u.claim_sum, claim = u.claim FROM claims AS u
                   WHERE w.contract = u.contract AND w.claimed IS NULL AND ",
                is_name!("w.id", "u.id")
            ),
            checkpoint,
        );
    }
}

/// Returns true if a batch with one of these numbers has stored a write to the checkpoint.
pub(super) fn has_call(open: &Transaction<'_>, contract: ContractId, id: &str, calls: &[i64]) -> Result<bool> {
    const SQL: &str = concat!("SELECT 1 FROM @write WHERE ", of_id!(), " AND call = ANY($3) LIMIT 1");
    Ok(open.one(SQL, values![number(contract), id, calls.to_vec()])?.is_some())
}

/// Makes all writes of a checkpoint unclaimed again.
pub(super) fn reopen(open: &Transaction<'_>, call: i64, contract: ContractId, id: &str, largest: usize) -> Result<()> {
    // The statement returns the rows that it deletes, so a write that arrives in the meantime stays.
    const SQL: &str = concat!(
        "WITH gone AS (DELETE FROM @write WHERE ",
        of_id!(),
        " RETURNING num, contract, id, task, replaces, claimed, claim, sum, body, claim_sum, state)
         SELECT ",
        columns!(),
        " FROM gone AS w ORDER BY num"
    );
    let left = unclaimed(merged(contract, id, &open.query(SQL, values![number(contract), id])?, largest)?);
    add(open, call, (contract, id), &left, false, None);
    Ok(())
}

/// Removes all writes of the checkpoints whose ids begin with `prefix`. Returns the lineages of these checkpoints.
pub(super) fn remove_prefix(open: &Transaction<'_>, contract: ContractId, prefix: &str) -> Result<Vec<i64>> {
    const SQL: &str = concat!(
        "WITH gone AS (DELETE FROM @write WHERE contract = $1 AND ",
        begins_with!("id", "$2"),
        " RETURNING id)
         SELECT DISTINCT c.lin FROM gone JOIN @checkpoint AS c
           ON c.contract = $1 AND substr(sha256(c.id), 1, 16) = substr(sha256(gone.id), 1, 16) AND c.id = gone.id"
    );
    Ok(row::numbers(&open.query(SQL, values![number(contract), prefix])?))
}
