//! Locks the lineages that a batch changes.
//!
//! A lineage's lock is its row. Missing lineages are created first, in the order of their names, before the transaction
//! has locks. Then all lineages are locked in the order of their numbers, so that transactions of this engine never
//! deadlock. The snapshot of each later statement is taken after the locks.

use std::collections::{BTreeSet, HashSet};

use super::key::{Name, columns, name};
use super::known::{Known, LINEAGES, ROWS, SEQS};
use super::status;
use super::transaction::Transaction;
use super::value::values;
use crate::error::{Code, Error, Result};
use crate::op::{Expect, LogEnd, Op, Subject, Unit};
use crate::record::ContractId;
use crate::retention::{LEASES, REQUESTS};

/// The rows that a batch changes or reads.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Lineages to create if missing, in the order in which the batch needs them.
    made: Vec<Name>,
    /// Lineages that may exist.
    known: BTreeSet<Name>,
    /// Checkpoints that may exist, and whose lineages are locked.
    ids: BTreeSet<Name>,
    /// Other checkpoints that the batch reads: the parents.
    read: BTreeSet<Name>,
    /// The lineages whose names begin with these texts.
    prefixes: BTreeSet<Name>,
    /// The number of checkpoints that the batch stores.
    puts: i64,
}

impl Wanted {
    pub(super) fn of(batch: &[Unit]) -> Self {
        let mut wanted = Self::default();
        for unit in batch {
            for subject in unit.expect.iter().flat_map(Expect::subjects) {
                match subject {
                    Subject::Newest(contract, lineage) => wanted.line(contract, lineage),
                    Subject::Id(contract, id) => wanted.id(contract, id),
                }
            }
            unit.ops.iter().for_each(|op| wanted.op(op));
        }
        wanted
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Put(draft) => {
                self.make(draft.header.contract, &draft.header.lineage);
                // A process that releases the lease waits for the request, and then notifies: see `notify`.
                if draft.header.contract == REQUESTS {
                    self.line(LEASES, &draft.header.lineage);
                }
                self.id(draft.header.contract, &draft.header.id);
                if let Some(parent) = &draft.header.parent {
                    self.read.insert(name(draft.header.contract, parent));
                }
                self.puts += 1;
            }
            Op::Fork(fork) => {
                self.make(fork.contract, &fork.lineage);
                self.id(fork.contract, &fork.source);
                self.id(fork.contract, &fork.id);
                self.puts += 1;
            }
            Op::Append { contract, lineage, .. } => self.make(*contract, lineage),
            Op::Remove { contract, id } | Op::Touch { contract, id, .. } | Op::Reopen { contract, id } => {
                self.id(*contract, id);
            }
            Op::RemoveFrom { contract, lineage, .. }
            | Op::RemoveLogs { contract, lineage }
            | Op::SetLabels { contract, lineage, .. }
            | Op::KeepLast { contract, lineage, .. } => self.line(*contract, lineage),
            Op::Truncate { contract, lineage, to, .. } => {
                self.line(*contract, lineage);
                if let LogEnd::Checkpoint(id) = to {
                    self.id(*contract, id);
                }
            }
            Op::RemoveLineages { contract, prefix } if !prefix.is_empty() => {
                self.prefixes.insert(name(*contract, prefix));
            }
            // Writes only add rows, to ids that need not exist. Lock the lineage only if its status may change.
            Op::Write { contract, id, writes, .. } if status::tells(writes) => self.id(*contract, id),
            Op::Write { .. } | Op::Claim { .. } | Op::RemoveWrites { .. } | Op::RemoveLineages { .. } => {}
        }
    }

    fn make(&mut self, contract: ContractId, lineage: &str) {
        let lineage = name(contract, lineage);
        self.known.insert(lineage.clone());
        if !self.made.contains(&lineage) {
            self.made.push(lineage);
        }
    }

    fn line(&mut self, contract: ContractId, lineage: &str) {
        self.known.insert(name(contract, lineage));
    }

    fn id(&mut self, contract: ContractId, id: &str) {
        self.ids.insert(name(contract, id));
    }
}

const MAKE: &str = "INSERT INTO @lineage (lin, contract, name, grp, age_offset, status)
       SELECT lin, contract, name, '', 0, 0 FROM (
         SELECT nextval('@lineage_order') AS lin, contract, name FROM (
           SELECT w.contract, w.name FROM unnest($1, $2) WITH ORDINALITY AS w(contract, name, ord)
           WHERE NOT EXISTS (
             SELECT 1 FROM @lineage AS l WHERE l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name)
           ORDER BY w.ord OFFSET 0) AS missing OFFSET 0) AS numbered
       ORDER BY contract, name ON CONFLICT DO NOTHING RETURNING lin";

/// Locks lineages in the order of their numbers: by their names (`$1`, `$2`), by the ids of their checkpoints (`$3`,
/// `$4`), and by prefixes of their names (`$5`, `$6`).
macro_rules! select_locked {
    () => {
        concat!(
            "SELECT l.lin, l.contract, l.name FROM @lineage AS l WHERE l.lin IN (
       SELECT k.lin FROM unnest($1, $2) AS w(contract, name) JOIN @lineage AS k
         ON k.contract = w.contract AND substr(sha256(k.name), 1, 16) = substr(sha256(w.name), 1, 16) AND k.name = w.name
       UNION SELECT c.lin FROM unnest($3, $4) AS w(contract, id) JOIN @checkpoint AS c
         ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
       UNION SELECT o.lin FROM unnest($5, $6) AS w(contract, prefix) ",
            $crate::backend::postgres::prefix::join_beginning!("lin", "@lineage", "o.name"),
            ") ORDER BY l.lin FOR NO KEY UPDATE"
        )
    };
}
pub(super) use select_locked;

pub(super) struct Locked {
    pub(super) lins: HashSet<i64>,
    /// The rows that the batch needs.
    pub(super) known: Known,
    /// The lineages that were created for the batch.
    pub(super) made: BTreeSet<i64>,
}

/// Locks the lineages that the batch changes, and reads the rows that it needs.
pub(super) fn lock(open: &Transaction<'_>, wanted: &Wanted) -> Result<Locked> {
    let locked = [columns(&wanted.known), columns(&wanted.ids), columns(&wanted.prefixes)];
    open.later(MAKE, columns(&wanted.made));
    open.later(select_locked!(), locked.into_iter().flatten().collect());
    // These statements see everything that was committed before the locks were granted.
    open.later(ROWS, columns(wanted.ids.union(&wanted.read)));
    open.later(LINEAGES, columns(&wanted.known));
    open.later(SEQS, values![wanted.puts]);
    let [made, locked, rows, lineages, seqs] = open.last::<5>()?;
    let lins: HashSet<i64> = locked.iter().map(|row| row.get(0)).collect();
    let names: HashSet<Name> = locked.iter().map(|row| (row.get(1), row.get(2))).collect();
    let moved = |row: &tokio_postgres::Row| {
        wanted.ids.contains(&(row.get(2), row.get::<_, Vec<u8>>(7))) && !lins.contains(&row.get(1))
    };
    if !wanted.made.iter().all(|name| names.contains(name)) || rows.iter().any(moved) {
        // A lineage ended, or a checkpoint moved, before the lock was granted. The caller retries the batch.
        return Err(Error::new(Code::Busy, "a run was removed at the same time: try again"));
    }
    let made = made.iter().map(|row| row.get(0)).collect();
    Ok(Locked {
        lins,
        known: Known::new(
            wanted.ids.union(&wanted.read).cloned(),
            &rows,
            wanted.known.iter().cloned(),
            &lineages,
            &seqs,
        )?,
        made,
    })
}
