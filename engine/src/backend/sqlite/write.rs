//! Applies a batch of units in one transaction.

mod remove;

use bytes::Bytes;
use rusqlite::Transaction;

use super::error::from_commit;
use super::lineage::{self, LineageRow, Origin};
use super::listing;
use super::logs::Logs;
use super::payloads::{New, Payloads};
use super::retention::SqliteCatalog;
use super::row::{self, HeaderRow};
use super::{labels, setting, status, writes};
use crate::backend::batch::Failure;
use crate::backend::clock::machine_clock;
use crate::backend::inherit;
use crate::backend::logs::{self as log, LogName, Mark};
use crate::backend::marks::{decode_marks, encode_marks};
use crate::backend::rebase::Payloads as _;
use crate::cache::PayloadCache;
use crate::codec::frame;
use crate::codec::plan::Effort;
use crate::error::{Code, Result};
use crate::names;
use crate::op::{Appended, Applied, Expect, Fork, LogEnd, LogMust, Op, Subject, Unit};
use crate::record::{Bound, ContractId, Draft, Encoded, Header, LabelChanges, Labels, Order, Record, Seq};
use crate::retention::{LEASES, Prune, Pruned, plan};

/// Selects the greatest save number of all checkpoint rows.
const LAST_SEQ: &str = "SELECT coalesce(max(seq), 0) FROM checkpoint";

/// Applies the units and commits the transaction: all units or none. Also returns the size of the payloads that were
/// stored raw, in bytes.
pub(super) fn transaction(
    transaction: Transaction<'_>,
    cache: &PayloadCache,
    batch: &[Unit],
    effort: Effort,
) -> Result<(Vec<Applied>, u64), Failure> {
    let mut writing = Writing::begin(&transaction, cache, effort).map_err(Failure::Whole)?;
    let applied = batch.iter().map(|unit| writing.unit(unit).map_err(Failure::Unit)).collect::<Result<_, _>>()?;
    let (stored, raw_bytes) = writing.payloads.finish().map_err(Failure::Whole)?;
    transaction.commit().map_err(|error| Failure::Whole(from_commit(error)))?;
    // Fill the cache only after the commit. After a rollback, other payloads get the same save numbers.
    cache.keep(stored);
    Ok((applied, raw_bytes))
}

/// Removes one batch of the checkpoints that a rule selects, and commits the transaction.
pub(super) fn prune(transaction: Transaction<'_>, cache: &PayloadCache, prune: &Prune) -> Result<Pruned> {
    let mut writing = Writing::begin(&transaction, cache, Effort::Full)?;
    let mut plan = plan(&SqliteCatalog(&transaction), prune)?;
    if prune.rule.before().is_some() {
        // Keep damaged rows, because their save time may be wrong. A check reports them.
        let mut whole = Vec::with_capacity(plan.victims.len());
        for seq in std::mem::take(&mut plan.victims) {
            match row::read(&transaction, seq) {
                Err(error) if error.code() == Code::Corrupt => {}
                Err(error) => return Err(error),
                Ok(_) => whole.push(seq),
            }
        }
        plan.victims = whole;
    }
    let (bytes, lineages) = writing.remove_all(&plan.victims)?;
    writing.count_removed_records()?;
    writing.payloads.finish()?;
    transaction.commit().map_err(from_commit)?;
    Ok(plan.done(bytes, lineages))
}

/// An open write transaction.
struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    payloads: Payloads<'a>,
    logs: Logs<'a>,
    last_seq: Seq,
    /// The last used lineage number. `None` until a lineage begins.
    last_lin: Option<i64>,
    /// The lineage of the last checkpoint that the unit has stored.
    stored_into: Option<i64>,
}

/// A checkpoint to store, with its complete payload.
struct Put<'a> {
    header: &'a Header,
    order: Order,
    raw: Bytes,
    encoded: Option<&'a Encoded>,
    marks: Vec<Mark>,
    /// The parent's row, if the parent exists.
    parent: Option<HeaderRow>,
    /// The labels for a lineage that begins.
    labels: &'a Labels,
}

impl<'a> Writing<'a> {
    fn begin(transaction: &'a Transaction<'a>, cache: &'a PayloadCache, effort: Effort) -> Result<Self> {
        let last_seq = setting::last(transaction, LAST_SEQ, setting::SEQ_FLOOR)?;
        let payloads = Payloads::new(transaction, cache, effort);
        let logs = Logs::new(transaction);
        Ok(Self { transaction, payloads, logs, last_seq, last_lin: None, stored_into: None })
    }

    /// Returns the number of the next lineage.
    fn next_lin(&mut self) -> Result<i64> {
        let last = self.last_lin.map_or_else(|| lineage::last(self.transaction), Ok)?;
        Ok(*self.last_lin.insert(last + 1))
    }

    fn unit(&mut self, unit: &Unit) -> Result<Applied> {
        unit.expect.iter().try_for_each(|expect| self.expect(expect))?;
        self.stored_into = None;
        let mut applied = Applied::default();
        for op in &unit.ops {
            applied.appended.extend(self.op(op)?);
        }
        applied.stored_bytes = self.payloads.take_stored_bytes();
        applied.lineage = self.stored_into;
        self.count_removed_records()?;
        Ok(applied)
    }

    /// Subtracts the removed records of logs from the running totals.
    fn count_removed_records(&mut self) -> Result<()> {
        let removed = std::mem::take(&mut self.logs.removed);
        if !removed.is_empty() {
            self.payloads.totals()?.records_removed(self.transaction, &removed)?;
        }
        Ok(())
    }

    fn expect(&self, expect: &Expect) -> Result<()> {
        if let Some((contract, id)) = expect.writes() {
            return expect.check_writes(&writes::of(self.transaction, contract, id, self.payloads.largest())?);
        }
        if let Some((contract, name)) = expect.line() {
            return expect.check_line(lineage::find(self.transaction, contract, name)?.map(|line| line.lin));
        }
        if let Some(lineage) = expect.lease() {
            let found = row::newest(self.transaction, LEASES, lineage, None)?.map(|row| row.header);
            return expect.check_lease(found.as_ref(), || Ok(machine_clock()));
        }
        if let Some((contract, id)) = expect.unleased_run_of() {
            let run = row::by_id(self.transaction, contract, id)?.map(|row| row.header.lineage);
            let of_run = run.and_then(|run| expect.of_run(&run));
            return of_run.map_or(Ok(()), |expect| self.expect(&expect));
        }
        expect.check_with(|subject| {
            let found = match subject {
                Subject::Newest(contract, lineage) => row::newest(self.transaction, contract, lineage, None)?,
                Subject::Id(contract, id) => row::by_id(self.transaction, contract, id)?,
            };
            Ok(found.map(|row| row.header))
        })
    }

    fn op(&mut self, op: &Op) -> Result<Option<Appended>> {
        self.change(op).map_err(|error| match subject(op) {
            Some(subject) => error.context(&subject),
            None => error,
        })
    }

    fn change(&mut self, op: &Op) -> Result<Option<Appended>> {
        let connection = self.transaction;
        match op {
            Op::Put(draft) => self.put(draft)?,
            Op::Fork(fork) => self.fork(fork)?,
            Op::Remove { contract, id } => self.remove(*contract, id)?,
            Op::Touch { contract, id, saved_at } => row::touch(connection, *contract, id, *saved_at)?,
            Op::RemoveFrom { contract, lineage, sort_key } => self.remove_from(*contract, lineage, sort_key)?,
            Op::RemoveLineages { contract, prefix } => self.remove_lineages(*contract, prefix)?,
            Op::Write { contract, id, writes, replace, encoded } => {
                let largest = self.payloads.largest();
                writes::add(connection, *contract, id, writes, *replace, encoded.as_deref(), largest)?;
            }
            Op::Claim { contract, id, claimed_by } => {
                writes::claim(connection, *contract, id, claimed_by)?;
            }
            Op::Reopen { contract, id } => writes::reopen(connection, *contract, id, self.payloads.largest())?,
            Op::RemoveWrites { contract, prefix } => writes::remove_prefix(connection, *contract, prefix)?,
            Op::KeepLast { contract, lineage, keep, pinned } => self.keep_last(*contract, lineage, *keep, pinned)?,
            Op::SetLabels { contract, lineage, changes } => self.set_labels(*contract, lineage, changes)?,
            Op::Append { contract, lineage, log, records, must } => {
                return self.append(*contract, lineage, log, records, *must).map(Some);
            }
            Op::Truncate { contract, lineage, log, to } => self.truncate(*contract, lineage, log, to)?,
            Op::RemoveLogs { contract, lineage } => {
                if let Some(row) = lineage::find(connection, *contract, lineage)? {
                    log::remove_all(&mut self.logs, row.lin)?;
                    self.end_lineage_if_empty(&row)?;
                }
            }
        }
        Ok(None)
    }

    fn put(&mut self, draft: &Draft) -> Result<()> {
        let header = &draft.header;
        let parent = match &header.parent {
            Some(parent) => row::by_id(self.transaction, header.contract, parent)?,
            None => None,
        };
        // Compute the payload before deleting a checkpoint with the same id, because inherited parts may come from it.
        let encoded = match &draft.encoded {
            Some(encoded) if self.has_parent(encoded, parent.as_ref())? => Some(encoded),
            _ => None,
        };
        let raw = match encoded {
            Some(encoded) => encoded.raw.clone(),
            None => self.raw(draft, parent.as_ref())?.into(),
        };
        let known = lineage::find(self.transaction, header.contract, &header.lineage)?;
        let marks = log::pin(&self.logs, known.as_ref().map(|lineage| lineage.lin), header, &draft.logs)?;
        self.store(known, Put { header, order: draft.order, raw, encoded, marks, parent, labels: &draft.labels })
    }

    /// Returns true if the encoded payload inherited its parts from the current parent.
    fn has_parent(&self, encoded: &Encoded, parent: Option<&HeaderRow>) -> Result<bool> {
        let Some(key) = encoded.parent else { return Ok(true) };
        Ok(parent.is_some_and(|parent| parent.seq == key.seq) && self.payloads.has(key)?)
    }

    /// Returns the payload as one byte string, including the inherited parts.
    fn raw(&self, draft: &Draft, parent: Option<&HeaderRow>) -> Result<Vec<u8>> {
        if draft.inherit.is_empty() {
            return Ok(frame::join(&draft.payload));
        }
        let header = &draft.header;
        let parent = parent.map(|parent| self.payloads.parts(parent)).transpose()?;
        let lacks = |name: &String| parent.as_ref().is_none_or(|parent| parent.part(name).is_none());
        let others = if draft.inherit.iter().any(lacks) {
            Some(listing::newest_first(self.transaction, header.contract, &header.lineage)?)
        } else {
            None
        };
        let newest_first = others.into_iter().flatten().map(|row| self.payloads.parts(&row?));
        Ok(frame::join(&inherit::resolve(draft, parent, newest_first)?))
    }

    fn store(&mut self, known: Option<LineageRow>, put: Put<'_>) -> Result<()> {
        let Put { header, order, raw, encoded, marks, parent, labels } = put;
        // Find or insert the lineage before deleting the old checkpoint. Otherwise, replacing the only checkpoint of a
        // lineage would create the lineage again.
        let origin = || parent.as_ref().map(|parent| Origin { id: parent.header.id.clone(), lin: parent.lin });
        let mut newest = match &known {
            Some(lineage) => listing::newest_position(self.transaction, lineage.lin)?,
            None => None,
        };
        let begins = newest.is_none();
        let lineage = match known {
            Some(lineage) if begins => {
                // The lineage has only logs so far. Set its properties from its first checkpoint.
                lineage::describe(self.transaction, &lineage, header, origin(), labels)?
            }
            Some(lineage) if lineage.age_offset == header.age_offset => lineage,
            Some(lineage) => return Err(header.other_age_offset(lineage.age_offset)),
            None => lineage::begin(self.transaction, self.next_lin()?, header, origin(), labels)?,
        };
        let replaced = match row::by_id(self.transaction, header.contract, &header.id) {
            // Saving a damaged checkpoint again repairs it, so delete the damaged rows first.
            Err(error) => {
                let damaged = self.damaged(header.contract, &header.id, error)?;
                self.delete(&damaged, &[])?;
                newest = listing::newest_position(self.transaction, lineage.lin)?;
                None
            }
            Ok(found) => found,
        };
        if let Some(old) = &replaced {
            self.delete(&[old.seq], std::slice::from_ref(old))?;
            newest = listing::newest_position(self.transaction, lineage.lin)?;
        }
        let bound = match &replaced {
            Some(old) if old.lin == lineage.lin => Some(Bound::Replaced(&old.header.sort_key)),
            _ => newest.as_ref().map(|(sort_key, _)| Bound::Newest(sort_key)),
        };
        let header = &*header.placed(order, bound);
        let newest = newest.as_ref().map(|(_, seq)| *seq);
        let parent = parent.filter(|parent| replaced.as_ref().is_none_or(|old| old.seq != parent.seq));
        let before = parent.as_ref().filter(|parent| newest == Some(parent.seq));
        let is_newest = newest.is_none() || before.is_some_and(|before| before.header.sort_key <= header.sort_key);
        self.stored_into = Some(lineage.lin);
        self.last_seq += 1;
        let seq = self.last_seq;
        log::hold(&mut self.logs, seq, &marks)?;
        self.payloads.store(New {
            seq,
            lin: lineage.lin,
            header,
            logs: encode_marks(&marks),
            raw,
            encoded,
            base: newest.or(parent.map(|parent| parent.seq)),
            supersedes: newest,
        })?;
        if is_newest {
            let status = status::of_newest(self.transaction, header.contract, &header.id, header.status)?;
            if !begins || status != lineage.status {
                status::set(self.transaction, lineage.lin, status)?;
            }
        } else {
            status::refresh(self.transaction, lineage.lin)?;
        }
        match replaced {
            Some(old) if old.lin != lineage.lin => self.end_lineages([old.lin]).map(drop),
            _ => Ok(()),
        }
    }

    fn fork(&mut self, fork: &Fork) -> Result<()> {
        let Fork { contract, source, id, lineage, .. } = fork;
        let Some(found) = row::by_id(self.transaction, *contract, source)? else { return Err(fork.no_source()) };
        if let Some(copy) = row::by_id(self.transaction, *contract, id)? {
            return fork.check_sent_again(&copy.header.lineage, copy.header.parent.as_deref());
        }
        if lineage::find(self.transaction, *contract, lineage)?.is_some() {
            return Err(fork.lineage_taken());
        }
        let raw =
            self.payloads.load(found.seq).map_err(|error| error.context(&names::checkpoint(*contract, source)))?.raw;
        let marks = decode_marks(found.logs.as_deref())?;
        let header = fork.header(&found.header);
        let labels = &fork.labels;
        let (header, order, marks_of_copy) = (&header, Order::SortKey, marks.clone());
        let copy = Put { header, order, raw, encoded: None, marks: marks_of_copy, parent: Some(found), labels };
        self.store(None, copy)?;
        if let Some(begun) = lineage::find(self.transaction, *contract, lineage)? {
            log::fork(&mut self.logs, begun.lin, &marks)?;
        }
        Ok(())
    }

    fn set_labels(&mut self, contract: ContractId, lineage: &str, changes: &LabelChanges) -> Result<()> {
        let found = lineage::find(self.transaction, contract, lineage)?;
        let has_checkpoint = match &found {
            Some(row) => listing::newest(self.transaction, row.lin)?.is_some(),
            None => false,
        };
        let Some(row) = found.filter(|_| has_checkpoint) else { return Err(Op::nothing_to_label(lineage)) };
        labels::change(self.transaction, row.lin, row.sealed_labels.as_deref(), changes)
    }

    fn append(
        &mut self,
        contract: ContractId,
        lineage: &str,
        log: &str,
        records: &[Record],
        must: LogMust,
    ) -> Result<Appended> {
        let known = lineage::find(self.transaction, contract, lineage)?;
        let row = match &known {
            Some(row) => row.clone(),
            None => lineage::begin_with_log(self.transaction, self.next_lin()?, contract, lineage)?,
        };
        let appended = log::append(&mut self.logs, LogName { contract, lin: row.lin, lineage, log }, records, must)?;
        if known.is_none() {
            self.end_lineage_if_empty(&row)?;
        }
        Ok(appended)
    }

    fn truncate(&mut self, contract: ContractId, lineage: &str, log: &str, to: &LogEnd) -> Result<()> {
        let row = lineage::find(self.transaction, contract, lineage)?;
        let of = |lin| LogName { contract, lin, lineage, log };
        match (to, row) {
            (LogEnd::Length(_), None) => Ok(()),
            (LogEnd::Length(length), Some(row)) => {
                log::truncate(&mut self.logs, of(row.lin), *length)?;
                self.end_lineage_if_empty(&row)
            }
            (LogEnd::Checkpoint(id), row) => {
                let found = row::by_id(self.transaction, contract, id)?;
                match (found, row) {
                    (Some(found), Some(row)) if found.lin == row.lin => {
                        let marks = decode_marks(found.logs.as_deref())?;
                        log::rewind(&mut self.logs, of(row.lin), id, &marks)
                    }
                    _ => Err(log::no_such_checkpoint(lineage, log, id)),
                }
            }
        }
    }
}

/// Returns the subject of an op for error messages, or `None` if they already contain it.
fn subject(op: &Op) -> Option<String> {
    match op {
        Op::Put(draft) => Some(names::checkpoint_of(&draft.header)),
        Op::Remove { contract, id, .. } | Op::Touch { contract, id, .. } => Some(names::checkpoint(*contract, id)),
        Op::RemoveFrom { contract, lineage, .. } | Op::KeepLast { contract, lineage, .. } => {
            Some(names::run(*contract, lineage))
        }
        Op::RemoveLineages { prefix, .. } => Some(format!("lineages of {prefix:?}")),
        Op::Write { contract, id, .. } | Op::Claim { contract, id, .. } | Op::Reopen { contract, id, .. } => {
            Some(format!("writes of {}", names::checkpoint(*contract, id)))
        }
        Op::RemoveWrites { prefix, .. } => Some(format!("writes of checkpoints of {prefix:?}")),
        Op::Fork(_) | Op::Append { .. } | Op::Truncate { .. } | Op::RemoveLogs { .. } | Op::SetLabels { .. } => None,
    }
}
