//! Applies a batch of units in one transaction.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

use bytes::Bytes;

use super::batch::{Batch, Memory, Sent};
use super::error::worth_another_try;
use super::heads::Head;
use super::key::number;
use super::known::Known;
use super::lineage::{self, LineageRow};
use super::locks::{Locked, Wanted, lock};
use super::logs::Logs;
use super::notify::Changes;
use super::payloads::{New, Payloads};
use super::retention::PostgresCatalog;
use super::row::{self, HeaderRow};
use super::session::Session;
use super::status::{self, Touched};
use super::transaction::Transaction;
use super::value::values;
use super::writes::Claims;
use super::{clock, listing, writes};
use crate::backend::batch::Failure;
use crate::backend::header::flags_and_sum;
use crate::backend::inherit;
use crate::backend::logs::{self as log, Mark};
use crate::backend::marks::encode_marks;
use crate::cache::PayloadCache;
use crate::codec::frame;
use crate::error::{Code, Error, Result};
use crate::names;
use crate::op::{Appended, Applied, Expect, Op, Subject, Unit};
use crate::query::Of;
use crate::record::{Bound, ContractId, Draft, Encoded, Header, Labels, Order, SortKey};
use crate::retention::{LEASES, beyond};

/// Classifies an error: errors of the connection or of locks concern the entire batch, and others only their unit.
fn failure(error: Error) -> Failure {
    if worth_another_try(&error) { Failure::Whole(error) } else { Failure::Unit(error) }
}

/// Applies the units in one transaction: commits all of them or none.
pub(super) fn transaction(
    session: &Session,
    memory: &Memory,
    batch: Batch<'_>,
    sent: &Sent,
) -> Result<Vec<Applied>, Failure> {
    let open = Transaction::write(session, true);
    open.release_when_idle();
    let Locked { lins, known, made } = lock(&open, &Wanted::of(batch.units)).map_err(Failure::Whole)?;
    if let Some(applied) = sent.resolve(batch, &open, &known).map_err(Failure::Whole)? {
        return Ok(applied);
    }
    Changes::of(batch.units).tell(&open);
    known.compare(&mut memory.heads.borrow_mut());
    let locked = RefCell::new(lins);
    let mut writing = Writing { locked, known, unused: made, ..Writing::new(&open, &memory.cache, batch.call) };
    let applied: Vec<Applied> =
        batch.units.iter().map(|unit| writing.unit(unit).map_err(failure)).collect::<Result<_, _>>()?;
    if !writing.unused.is_empty() {
        lineage::end_empty(&open, &Vec::from_iter(std::mem::take(&mut writing.unused)));
    }
    writing.refresh();
    memory.note(&open, batch.call);
    let (stored, heads) = (writing.payloads.finish(), writing.known.into_heads());
    match open.commit() {
        Ok(_) => {}
        Err(error) if error.outcome_unknown() => {
            sent.add(batch.call, applied);
            return Err(Failure::Whole(session.lost()));
        }
        Err(error) => return Err(Failure::Whole(error)),
    }
    memory.noted.set(batch.call);
    memory.cache.keep(stored);
    for head in heads {
        memory.heads.borrow_mut().put(head);
    }
    Ok(applied)
}

/// An open write transaction.
pub(super) struct Writing<'a> {
    pub(super) open: &'a Transaction<'a>,
    /// The number of the batch.
    call: i64,
    /// The lineages that the transaction has locked or created.
    locked: RefCell<HashSet<i64>>,
    pub(super) known: Known,
    /// Lineages that were created for the batch and are still empty.
    pub(super) unused: BTreeSet<i64>,
    /// The greatest number of a lineage that began in the batch.
    begun: i64,
    /// The lineage of the last checkpoint that the unit has stored.
    stored_into: Option<i64>,
    touched: Touched,
    /// The lineages that have lost checkpoints or writes.
    pub(super) reduced: BTreeSet<i64>,
    pub(super) payloads: Payloads<'a>,
}

/// A checkpoint to store, with its complete payload.
pub(super) struct Put<'a> {
    pub(super) header: &'a Header,
    pub(super) order: Order,
    pub(super) raw: Bytes,
    pub(super) encoded: Option<&'a Encoded>,
    pub(super) marks: Vec<Mark>,
    /// The parent's row, if the parent exists.
    pub(super) parent: Option<HeaderRow>,
    /// The labels for a lineage that begins.
    pub(super) labels: &'a Labels,
}

impl<'a> Writing<'a> {
    pub(super) fn new(open: &'a Transaction<'a>, cache: &'a PayloadCache, call: i64) -> Self {
        let payloads = Payloads::new(open, cache);
        let (locked, known, unused) = (RefCell::default(), Known::default(), BTreeSet::new());
        let (touched, reduced) = (Touched::default(), BTreeSet::new());
        Self { open, call, locked, known, unused, begun: 0, stored_into: None, touched, reduced, payloads }
    }
}

impl Writing<'_> {
    /// Updates the status of the changed lineages.
    pub(super) fn refresh(&mut self) {
        std::mem::take(&mut self.touched).refresh(self.open);
        status::refresh(self.open, &Vec::from_iter(std::mem::take(&mut self.reduced)));
    }

    fn unit(&mut self, unit: &Unit) -> Result<Applied> {
        unit.expect.iter().try_for_each(|expect| self.expect(expect))?;
        let mut applied = Applied::default();
        // Apply consecutive removals together, because each takes several round trips.
        for ops in unit.ops.chunk_by(|a, b| matches!((a, b), (Op::Remove { .. }, Op::Remove { .. }))) {
            match ops {
                [op] => applied.appended.extend(self.op(op)?),
                removals => self.remove(removals)?,
            }
        }
        applied.stored_bytes = self.payloads.stored_bytes.take();
        applied.lineage = self.stored_into.take();
        Ok(applied)
    }

    fn expect(&self, expect: &Expect) -> Result<()> {
        if let Some((contract, id)) = expect.writes() {
            return expect.check_writes(&writes::of(self.open, contract, id, self.payloads.largest())?);
        }
        if let Some((contract, name)) = expect.line() {
            let found = self.known.lineage(self.open, contract, name)?.map(|line| line.lin);
            found.map_or(Ok(()), |lin| self.check_locked(lin))?;
            return expect.check_line(found);
        }
        if let Some(lineage) = expect.lease() {
            // A remembered head has no meta.
            let line = self.known.lineage(self.open, LEASES, lineage)?;
            let head = line.map(|line| self.known.newest(self.open, &line)).transpose()?.flatten();
            let Some(head) = head else { return Ok(()) };
            let found = row::by_id(self.open, LEASES, &head.header.id)?.map(|row| row.header);
            return expect.check_lease(found.as_ref(), || clock::read(self.open));
        }
        if let Some((contract, id)) = expect.unleased_run_of() {
            let of_run = self.row(contract, id)?.and_then(|row| expect.of_run(&row.header.lineage));
            return of_run.map_or(Ok(()), |expect| self.expect(&expect));
        }
        expect.check_with(|subject| {
            let found = match subject {
                Subject::Newest(contract, lineage) => match self.known.lineage(self.open, contract, lineage)? {
                    Some(line) => self.known.newest(self.open, &line)?.map(|head| (head.lin, head.header)),
                    None => None,
                },
                Subject::Id(contract, id) => self.known.row(self.open, contract, id)?.map(|row| (row.lin, row.header)),
            };
            found.iter().try_for_each(|(lin, _)| self.check_locked(*lin))?;
            Ok(found.map(|(_, header)| header))
        })
    }

    /// Checks that the transaction has locked a lineage that it has found. A lineage that began after the locks were
    /// granted did not exist when the conditions were checked, so the batch is retried.
    pub(super) fn check_locked(&self, lin: i64) -> Result<()> {
        if self.locked.borrow().contains(&lin) {
            return Ok(());
        }
        Err(Error::new(Code::Busy, "a run was created at the same time: try again"))
    }

    /// Returns the row of a lineage to change, if it exists.
    pub(super) fn line(&self, contract: ContractId, name: &str) -> Result<Option<LineageRow>> {
        let found = lineage::find(self.open, contract, name)?;
        found.iter().try_for_each(|line| self.check_locked(line.lin))?;
        Ok(found)
    }

    /// Returns the row of a checkpoint to change or copy, if it exists.
    pub(super) fn row(&self, contract: ContractId, id: &str) -> Result<Option<HeaderRow>> {
        let found = self.known.row(self.open, contract, id)?;
        found.iter().try_for_each(|row| self.check_locked(row.lin))?;
        Ok(found)
    }

    fn op(&mut self, op: &Op) -> Result<Option<Appended>> {
        self.change(op).map_err(|error| match op {
            Op::Put(draft) => error.context(&names::checkpoint_of(&draft.header)),
            Op::Remove { contract, id, .. } | Op::Touch { contract, id, .. } => {
                error.context(&names::checkpoint(*contract, id))
            }
            Op::RemoveFrom { contract, lineage, .. } | Op::KeepLast { contract, lineage, .. } => {
                error.context(&names::run(*contract, lineage))
            }
            _ => error,
        })
    }

    fn change(&mut self, op: &Op) -> Result<Option<Appended>> {
        let open = self.open;
        // The other changes may remove or change known rows.
        if !matches!(
            op,
            Op::Put(_)
                | Op::Fork(_)
                | Op::Write { .. }
                | Op::Claim { .. }
                | Op::Append { .. }
                | Op::Touch { .. }
                | Op::SetLabels { .. }
        ) {
            self.known.forget();
        }
        match op {
            Op::Put(draft) => self.put(draft)?,
            Op::Fork(fork) => self.fork(fork)?,
            Op::Remove { .. } => self.remove(std::slice::from_ref(op))?,
            Op::Touch { contract, id, saved_at } => {
                if let Some(row) = self.row(*contract, id)? {
                    row::touch(open, row, *saved_at);
                    self.known.forget();
                }
            }
            Op::RemoveFrom { contract, lineage, sort_key } => {
                if let Some(lineage) = self.line(*contract, lineage)? {
                    let victims = listing::from_sort_key(open, lineage.lin, sort_key)?;
                    self.remove_all(&victims)?;
                }
            }
            Op::RemoveLineages { contract, prefix } if !prefix.is_empty() => {
                for lineage in lineage::with_prefix(open, *contract, prefix)? {
                    self.check_locked(lineage.lin)?;
                    log::remove_all(&mut Logs(open), lineage.lin)?;
                    let victims = listing::from_sort_key(open, lineage.lin, &SortKey::default())?;
                    self.remove_all(&victims)?;
                    self.end_empty(&[lineage.lin]);
                }
            }
            Op::RemoveLineages { .. } => {}
            Op::Write { contract, id, writes, replace, encoded } => {
                self.touched.written(*contract, id, writes);
                writes::add(open, self.call, (*contract, id), writes, *replace, encoded.as_deref());
            }
            Op::Claim { contract, id, claimed_by } => {
                self.touched.add(*contract, id);
                let mut claims = Claims::default();
                claims.add(*contract, id, claimed_by);
                claims.store(open, values!["", 0_i16, self.call]);
            }
            Op::Reopen { contract, id } => {
                self.touched.add(*contract, id);
                writes::reopen(open, self.call, *contract, id, self.payloads.largest())?;
            }
            Op::RemoveWrites { contract, prefix } => {
                self.reduced.extend(writes::remove_prefix(open, *contract, prefix)?);
            }
            Op::KeepLast { contract, lineage, keep, pinned } => {
                if let Some(lineage) = self.line(*contract, lineage)? {
                    let pinned = row::by_id(open, *contract, pinned)?.map(|row| row.seq);
                    let catalog = PostgresCatalog::new(open);
                    let victims = beyond(&catalog, lineage.lin, *keep, pinned)?;
                    self.remove_all(&victims)?;
                }
            }
            Op::SetLabels { contract, lineage, changes } => self.set_labels(*contract, lineage, changes)?,
            Op::Append { contract, lineage, log, records, must } => {
                return self.append(*contract, lineage, log, records, *must).map(Some);
            }
            Op::Truncate { contract, lineage, log, to } => self.truncate(*contract, lineage, log, to)?,
            Op::RemoveLogs { contract, lineage } => {
                if let Some(row) = self.line(*contract, lineage)? {
                    log::remove_all(&mut Logs(open), row.lin)?;
                    self.end_empty(&[row.lin]);
                }
            }
        }
        Ok(None)
    }

    fn put(&mut self, draft: &Draft) -> Result<()> {
        let header = &draft.header;
        let parent = match &header.parent {
            Some(parent) => self.known.row(self.open, header.contract, parent)?,
            None => None,
        };
        let encoded = draft.encoded.as_ref().filter(|encoded| match encoded.parent {
            None => true,
            Some(key) => parent.as_ref().is_some_and(|parent| parent.key() == Some(key)),
        });
        // Compute the payload before deleting a checkpoint with the same id, because inherited parts may come from it.
        let raw = match encoded {
            Some(encoded) => encoded.raw.clone(),
            None => self.raw(draft, parent.as_ref())?.into(),
        };
        let lineage = self.lineage(header.contract, &header.lineage)?;
        let marks = log::pin(&Logs(self.open), Some(lineage.lin), header, &draft.logs)?;
        self.store(&lineage, Put { header, order: draft.order, raw, encoded, marks, parent, labels: &draft.labels })
    }

    /// Returns the row of a locked lineage that the change may begin. A lineage that ended earlier in the batch begins
    /// again. Lineages are numbered in the order in which they begin.
    pub(super) fn lineage(&mut self, contract: ContractId, name: &str) -> Result<LineageRow> {
        if let Some(found) = self.known.lineage(self.open, contract, name)? {
            self.check_locked(found.lin)?;
            if found.lin > self.begun || !self.unused.remove(&found.lin) {
                return Ok(found);
            }
            // Another lineage of the batch began first. Nothing refers to this one yet, so renumber it.
            self.known.forget();
            let sql = "UPDATE @lineage SET lin = nextval('@lineage_order') WHERE lin = $1 RETURNING lin";
            let renumbered = self.open.one(sql, values![found.lin])?.map(|row| row.get::<_, i64>(0));
            self.unused.extend(renumbered);
            self.locked.borrow_mut().extend(renumbered);
            return lineage::find(self.open, contract, name)?.ok_or_else(ended);
        }
        self.open.later(
            "INSERT INTO @lineage (lin, contract, name, grp, age_offset, status) VALUES (nextval('@lineage_order'), $1, $2, '', 0, 0)",
            values![number(contract), name],
        );
        let made = lineage::find(self.open, contract, name)?.ok_or_else(ended)?;
        self.unused.insert(made.lin);
        self.locked.borrow_mut().insert(made.lin);
        Ok(made)
    }

    /// Marks a lineage as no longer empty.
    pub(super) fn begins(&mut self, lin: i64) {
        self.unused.remove(&lin);
        self.begun = self.begun.max(lin);
    }

    /// Returns the payload as one byte string, including the inherited parts.
    fn raw(&self, draft: &Draft, parent: Option<&HeaderRow>) -> Result<Vec<u8>> {
        if draft.inherit.is_empty() {
            return Ok(frame::join(&draft.payload));
        }
        let header = &draft.header;
        let parent = parent.map(|parent| self.payloads.parts(parent)).transpose()?;
        let of = Of::Lineage(header.lineage.clone());
        let mut rest: Option<std::vec::IntoIter<HeaderRow>> = None;
        let newest_first = std::iter::from_fn(|| {
            let rows = match &mut rest {
                Some(rows) => rows,
                // Read the index only if the parent lacks a part.
                empty => match listing::newest(self.open, header.contract, &of, None, usize::MAX) {
                    Ok(rows) => empty.insert(rows.into_iter()),
                    Err(error) => return Some(Err(error)),
                },
            };
            let row = rows.next()?;
            Some(self.payloads.parts(&row))
        });
        Ok(frame::join(&inherit::resolve(draft, parent, newest_first)?))
    }

    /// Returns whether a lineage has checkpoints, and the newest one. A damaged checkpoint cannot be a base, but does
    /// not prevent saves.
    pub(super) fn newest(&self, lineage: &LineageRow) -> Result<(bool, Option<Head>)> {
        match self.known.newest(self.open, lineage) {
            Ok(found) => Ok((found.is_some(), found)),
            Err(error) if error.code() == Code::Corrupt => Ok((true, None)),
            Err(error) => Err(error),
        }
    }

    pub(super) fn store(&mut self, lineage: &LineageRow, put: Put<'_>) -> Result<()> {
        let Put { header, order, raw, encoded, marks, parent, labels } = put;
        let (has_checkpoints, newest) = self.newest(lineage)?;
        if !has_checkpoints {
            // The lineage has no checkpoint yet, so an existing parent belongs to another lineage.
            let origin = parent.as_ref().map(|parent| (parent.header.id.clone(), parent.lin));
            lineage::describe(self.open, lineage.lin, header, origin.clone(), labels);
            self.known.described(&LineageRow { age_offset: header.age_offset, origin, ..lineage.clone() });
        } else if lineage.age_offset != header.age_offset {
            return Err(header.other_age_offset(lineage.age_offset));
        }
        let (left, newest, replaced) = if self.known.is_free(header.contract, &header.id) {
            (Vec::new(), newest, None)
        } else {
            // A damaged row can be replaced too.
            let (replaced, sort_key) = match self.row(header.contract, &header.id) {
                Ok(Some(found)) => (vec![found.seq], Some(found.header.sort_key).filter(|_| found.lin == lineage.lin)),
                _ => (self.numbers(&[(header.contract, &header.id)])?, None),
            };
            let left = self.delete(&replaced)?.1;
            self.known.forget();
            (left, self.newest(lineage)?.1, sort_key)
        };
        let bound = replaced.as_ref().map(Bound::Replaced);
        let bound = bound.or(newest.as_ref().map(|newest| Bound::Newest(&newest.header.sort_key)));
        let header = &*header.placed(order, bound);
        let base = newest.as_ref().map(|newest| newest.base);
        self.begins(lineage.lin);
        self.stored_into = Some(lineage.lin);
        self.touched.add(header.contract, &header.id);
        let seq = self.known.next_seq(self.open)?;
        log::hold(&mut Logs(self.open), seq, &marks)?;
        let call = self.call;
        let logs = encode_marks(&marks);
        let (flags, sum) = flags_and_sum(call, header, logs.as_deref());
        let Header { contract, id, parent, group, label, sort_key, saved_at, meta, .. } = header;
        self.open.later(
            "INSERT INTO @checkpoint (seq, lin, contract, call, saved_at, flags, sum, id, parent, grp, label, sort_key, meta, logs)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            values![
                seq,
                lineage.lin,
                number(*contract),
                call,
                *saved_at,
                flags,
                sum,
                id,
                parent.as_deref(),
                group,
                label,
                &sort_key.0[..],
                &meta[..],
                logs.clone()
            ],
        );
        let base = self.payloads.store(New { seq, call, header, raw, encoded, base })?;
        self.known.stored(
            HeaderRow { seq, lin: lineage.lin, call, header: (*header).clone(), logs, sum: Some(base.key.sum) },
            base,
        );
        // The replaced checkpoint may have been the last of another lineage.
        if left.iter().any(|lin| *lin != lineage.lin) {
            self.end_empty(&left);
        }
        Ok(())
    }
}

fn ended() -> Error {
    Error::new(Code::Busy, "a run was removed at the same time: try again")
}
