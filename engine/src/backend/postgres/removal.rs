//! Removes lineages and checkpoints in one round trip.
//!
//! Everything is sent together: the locks, a statement that removes the rows if nothing else needs them, and the
//! commit. The statement sees everything that was committed before the locks were granted. It reads the locked lineages
//! from a setting of the transaction, because the client does not wait for the answer of the locks.
//!
//! If other rows still need the removed ones, nothing is removed, and [`super::write`] applies the batch.

use super::batch::{Batch, Memory};
use super::key::{Name, columns, name};
use super::locks;
use super::notify::Changes;
use super::prefix::{is_name, join_beginning};
use super::session::Session;
use super::status;
use super::transaction::Transaction;
use super::value::values;
use crate::error::Result;
use crate::op::{Applied, Expect, Op, Unit};
use crate::retention::LEASES;

/// Parameters: lineages with the sort keys from which their checkpoints are removed (`$1` to `$3`), ids (`$4`, `$5`),
/// prefixes of lineage names (`$6`, `$7`), prefixes of ids whose writes are removed (`$8`, `$9`), the numbers of this
/// batch and of the last noted one, lineages that must have no checkpoint (`$12`, `$13`), and checkpoints whose lineage
/// must not be leased (`$14`, `$15`) with the beginning of the lease's name (`$16`, `$17`).
///
/// Also removes nothing if a checkpoint is in a lineage that began too late to be locked, or if the last checkpoint of
/// a run with effects is removed by its id.
const REMOVE: &str = concat!(
    "WITH locked AS MATERIALIZED (
       SELECT lin FROM unnest(string_to_array(current_setting('forkpoint.locked'), ',')::bigint[]) AS locked(lin)
     ), victim AS MATERIALIZED (
       SELECT c.seq, c.lin, c.contract, c.id, c.logs IS NULL AS is_plain FROM (
         SELECT c.seq FROM unnest($1, $2, $3) AS w(contract, name, sort_key)
           JOIN @lineage AS l ON l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name
           JOIN @checkpoint AS c ON c.lin = l.lin AND c.sort_key >= w.sort_key
         UNION SELECT c.seq FROM unnest($4, $5) AS w(contract, id)
           JOIN @checkpoint AS c ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
         UNION SELECT c.seq FROM unnest($6, $7) AS w(contract, prefix) ",
    join_beginning!("lin", "@lineage", "o.name"),
    "      JOIN @checkpoint AS c ON c.lin = o.lin) AS found
       JOIN @checkpoint AS c ON c.seq = found.seq
     ), condition AS MATERIALIZED (
       SELECT NOT EXISTS (SELECT FROM victim WHERE NOT is_plain OR lin NOT IN (SELECT lin FROM locked))
         AND NOT EXISTS (SELECT FROM locked JOIN @log AS o ON o.lin = locked.lin)
         AND NOT EXISTS (
           SELECT FROM unnest($12, $13) AS w(contract, name)
           JOIN @lineage AS l ON l.contract = w.contract AND substr(sha256(l.name), 1, 16) = substr(sha256(w.name), 1, 16) AND l.name = w.name
           JOIN @checkpoint AS c ON c.lin = l.lin)
         AND NOT EXISTS (
           SELECT FROM unnest($14, $15, $16, $17) AS w(contract, id, leases, prefix)
           JOIN @checkpoint AS c ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
           JOIN @lineage AS l ON l.lin = c.lin
           JOIN @lineage AS o ON o.contract = w.leases AND substr(sha256(o.name), 1, 16) = substr(sha256(w.prefix || l.name), 1, 16) AND o.name = w.prefix || l.name
           JOIN @checkpoint AS lease ON lease.lin = o.lin)
         AND NOT EXISTS (
           SELECT FROM victim JOIN @payload AS p ON p.base = victim.seq WHERE p.seq NOT IN (SELECT seq FROM victim))
         AND NOT EXISTS (
           SELECT FROM (
             SELECT DISTINCT c.lin FROM unnest($4, $5) AS w(contract, id)
               JOIN @checkpoint AS c ON c.contract = w.contract AND substr(sha256(c.id), 1, 16) = substr(sha256(w.id), 1, 16) AND c.id = w.id
             ) AS named
             JOIN @lineage AS l USING (lin)
             JOIN @lineage AS e
               ON e.contract = l.contract + 128 AND substr(sha256(e.name), 1, 16) = substr(sha256(l.name), 1, 16) AND e.name = l.name
           WHERE e.lin NOT IN (SELECT lin FROM locked)
             AND NOT EXISTS (SELECT FROM @checkpoint AS c WHERE c.lin = l.lin AND c.seq NOT IN (SELECT seq FROM victim))) AS holds
     ), going AS MATERIALIZED (
       SELECT seq, contract, id FROM victim WHERE (SELECT holds FROM condition)
     ), checkpoints AS (
       DELETE FROM @checkpoint AS c USING going WHERE c.seq = going.seq
     ), payloads AS (
       DELETE FROM @payload AS p USING going WHERE p.seq = going.seq
     ), writes AS (
       DELETE FROM @write AS w USING going WHERE w.contract = going.contract AND ",
    is_name!("w.id", "going.id"),
    "), others AS (
       DELETE FROM @write AS given USING unnest($8, $9) AS w(contract, prefix) ",
    join_beginning!("num", "@write", "o.id"),
    "  WHERE (SELECT holds FROM condition) AND given.num = o.num
     ), lineages AS (
       DELETE FROM @lineage AS l USING locked
       WHERE (SELECT holds FROM condition) AND l.lin = locked.lin AND NOT EXISTS (
         SELECT FROM @checkpoint AS c WHERE c.lin = l.lin AND c.seq NOT IN (SELECT seq FROM victim))
       RETURNING l.contract, l.name AS prefix
     ), unowned AS (
       DELETE FROM @write AS given USING lineages AS w ",
    join_beginning!("num", "@write", "o.id"),
    "  WHERE w.contract IN (4, 7) AND given.num = o.num AND NOT EXISTS (
         SELECT FROM @checkpoint AS c WHERE c.contract = given.contract
           AND substr(sha256(c.id), 1, 16) = substr(sha256(given.id), 1, 16) AND c.id = given.id)
     ), note AS (
       INSERT INTO @batch (call) SELECT $10 FROM condition WHERE holds
     ), note_before AS (
       DELETE FROM @batch WHERE call = $11 AND (SELECT holds FROM condition)
     ) SELECT holds FROM condition"
);

/// Takes the locks of [`locks::select_locked`]. The next statements of the transaction read them from a setting.
const LOCK: &str = concat!(
    "SELECT set_config('forkpoint.locked', coalesce(string_agg(lin::text, ','), ''), true), array_agg(contract), array_agg(name) FROM (",
    locks::select_locked!(),
    ") AS locked"
);

/// The items that a batch removes.
#[derive(Default)]
struct Going {
    lineages: Vec<Name>,
    sort_keys: Vec<Vec<u8>>,
    logs: Vec<Name>,
    ids: Vec<Name>,
    prefixes: Vec<Name>,
    writes: Vec<Name>,
    /// Lineages that must have no checkpoint.
    absent: Vec<Name>,
    /// Checkpoints whose lineage must not be leased.
    unleased: Vec<Name>,
    /// The beginnings of the names of their leases.
    leases: Vec<Name>,
}

impl Going {
    /// Adds a unit's removals. Returns `None` if it has other changes, or other conditions than an empty lineage and no lease.
    fn add(&mut self, unit: &Unit) -> Option<()> {
        for op in &unit.ops {
            match op {
                Op::Remove { contract, id } => self.ids.push(name(*contract, id)),
                Op::RemoveFrom { contract, lineage, sort_key } => {
                    self.lineages.push(name(*contract, lineage));
                    self.sort_keys.push(sort_key.0.clone());
                }
                Op::RemoveLineages { contract, prefix } if !prefix.is_empty() => {
                    self.prefixes.push(name(*contract, prefix));
                }
                Op::RemoveLineages { .. } => {}
                // Only lock the lineage. If it has logs, the batch takes the other path.
                Op::RemoveLogs { contract, lineage } => self.logs.push(name(*contract, lineage)),
                // The status of a remaining lineage may depend on the writes.
                Op::RemoveWrites { contract, prefix } if self.prefixes.contains(&name(*contract, prefix)) => {
                    self.writes.push(name(*contract, prefix));
                }
                _ => return None,
            }
        }
        for expect in &unit.expect {
            match expect {
                Expect::Newest { contract, lineage, newest: None, .. } => self.absent.push(name(*contract, lineage)),
                Expect::Unleased { lineage, .. } => self.absent.push(name(LEASES, lineage)),
                Expect::UnleasedRunOf { contract, id, prefix, .. } => {
                    self.unleased.push(name(*contract, id));
                    self.leases.push(name(LEASES, prefix));
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// True if this path supports the unit.
pub(super) fn is_removal(unit: &Unit) -> bool {
    Going::default().add(unit).is_some()
}

/// Applies the removals of a batch in one round trip. Returns `None` if nothing was removed, because the batch has
/// other changes, or because other rows still need the removed ones.
pub(super) fn remove(session: &Session, memory: &Memory, batch: Batch<'_>) -> Result<Option<Vec<Applied>>> {
    let mut going = Going::default();
    if batch.units.iter().any(|unit| going.add(unit).is_none()) {
        return Ok(None);
    }
    let Going { lineages, sort_keys, logs, ids, prefixes, writes, absent, unleased, leases } = going;
    let open = Transaction::write(session, true);
    let locked = [columns(lineages.iter().chain(&logs)), columns(&ids), columns(&prefixes)];
    open.later(LOCK, locked.into_iter().flatten().collect());
    Changes::of(batch.units).tell(&open);
    let at = open.count();
    let mut removed = columns(&lineages);
    removed.extend(values![sort_keys]);
    removed.extend([&ids, &prefixes, &writes].into_iter().flat_map(columns));
    removed.extend(values![batch.call, memory.noted.get()]);
    removed.extend([&absent, &unleased, &leases].into_iter().flat_map(columns));
    open.later(REMOVE, removed);
    status::refresh_locked(&open);
    memory.forget_old_notes(&open);
    let answers = open.commit()?;
    let (Some(locked), Some(removed)) = (answers.get(1), answers.get(at)) else { return Err(session.lost()) };
    if !removed.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    memory.noted.set(batch.call);
    if let Some(row) = locked.first() {
        let (contracts, names): (Option<Vec<i16>>, Option<Vec<Vec<u8>>>) = (row.get(1), row.get(2));
        let mut heads = memory.heads.borrow_mut();
        contracts.into_iter().flatten().zip(names.into_iter().flatten()).for_each(|lineage| heads.forget(&lineage));
    }
    Ok(Some(vec![Applied::default(); batch.units.len()]))
}
