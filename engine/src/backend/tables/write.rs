//! Applies ops to the maps.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::contents::Contents;
use super::maps::Tables;
use super::row::{First, Row, TaskRow};
use crate::backend::clock::machine_clock;
use crate::backend::inherit;
use crate::backend::logs::{self, LogName, Mark};
use crate::backend::writes;
use crate::codec::frame;
use crate::error::Result;
use crate::names;
use crate::op::{Applied, Fork, LogEnd, Op, Subject, Unit};
use crate::record::{Bound, ContractId, Draft, Header, LabelChanges, Labels, Part, Payload, Seq, SortKey, Write};
use crate::retention::{self, LEASES, Prune, Pruned};

impl<C: Contents> Tables<C> {
    /// Applies all changes of a unit, or none.
    pub(crate) fn unit(&mut self, unit: &Unit) -> Result<Applied> {
        for expect in &unit.expect {
            if let Some((contract, id)) = expect.writes() {
                expect.check_writes(&self.writes_to(contract, id))?;
                continue;
            }
            if let Some((contract, name)) = expect.line() {
                expect.check_line(self.positions.get(&(contract, name.to_owned())).copied())?;
                continue;
            }
            if let Some(lineage) = expect.lease() {
                let found = self.newest_of(LEASES, lineage).map(|row| &row.header);
                expect.check_lease(found, || Ok(machine_clock()))?;
                continue;
            }
            if let Some((contract, id)) = expect.unleased_run_of() {
                let run = self.find(contract, id).map(|row| row.header.lineage.as_str());
                let Some(expect) = run.and_then(|run| expect.of_run(run)) else { continue };
                let found = expect.lease().and_then(|lease| self.newest_of(LEASES, lease)).map(|row| &row.header);
                expect.check_lease(found, || Ok(machine_clock()))?;
                continue;
            }
            expect.check_with(|subject| {
                let found = match subject {
                    Subject::Newest(contract, lineage) => self.newest_of(contract, lineage),
                    Subject::Id(contract, id) => self.find(contract, id),
                };
                Ok(found.map(|row| &row.header))
            })?;
        }
        // A put or a write that fails has changed nothing. A unit with only one such op needs no undo list.
        let undo = !matches!(&unit.ops[..], [] | [Op::Put(_) | Op::Write { .. }]);
        self.all_or_none(undo, |tables| {
            let mut applied = Applied::default();
            unit.ops.iter().try_for_each(|op| tables.op(op, &mut applied))?;
            Ok(applied)
        })
    }

    /// Removes the checkpoints that a rule selects.
    pub(crate) fn prune(&mut self, prune: &Prune) -> Result<Pruned> {
        let plan = retention::plan(self, prune)?;
        let (bytes, lineages) = self.all_or_none(true, |tables| tables.remove_all(&plan.victims))?;
        Ok(plan.done(bytes, lineages))
    }

    /// Makes all changes of `work`, or none. If `undo` is false, `work` must change nothing when it fails.
    fn all_or_none<T>(&mut self, undo: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.undo = (undo || C::LISTS_CHANGES).then(Vec::new);
        let last = self.last_position;
        let done = work(self);
        let changes = self.undo.take().unwrap_or_default();
        match done {
            Ok(_) if C::LISTS_CHANGES => self.changes.extend(changes),
            Ok(_) => {}
            Err(_) => {
                self.roll_back(changes);
                self.last_position = last;
            }
        }
        done
    }

    fn op(&mut self, op: &Op, applied: &mut Applied) -> Result<()> {
        match op {
            Op::Put(draft) => {
                let put = self.put(draft);
                applied.stored(put.map_err(|error| error.context(&names::checkpoint_of(&draft.header)))?);
                applied.lineage = Some(self.position(draft.header.contract, &draft.header.lineage));
            }
            Op::Fork(fork) => {
                if let Some(bytes) = self.fork(fork)? {
                    applied.stored(bytes);
                    applied.lineage = Some(self.position(fork.contract, &fork.lineage));
                }
            }
            Op::Remove { contract, id } => {
                let Some(seq) = self.ids.get(&(*contract, id.clone())).copied() else { return Ok(()) };
                let lineage = self.rows.get(&seq).map(|row| row.header.lineage.clone());
                self.remove_all(&[seq])?;
                lineage.map_or(Ok(()), |lineage| self.remove_effects(*contract, &lineage))?;
            }
            Op::Touch { contract, id, saved_at } => self.touch(*contract, id, *saved_at),
            Op::RemoveFrom { contract, lineage, sort_key } => self.remove_from(*contract, lineage, sort_key)?,
            Op::RemoveLineages { contract, prefix } => self.remove_lineages(*contract, prefix)?,
            Op::Write { contract, id, writes, replace, .. } => self.write(*contract, id, writes, *replace),
            Op::Claim { contract, id, claimed_by } => {
                self.change_writes((*contract, id.clone()), |rows| {
                    for row in rows {
                        row.claimed_by.get_or_insert_with(|| claimed_by.clone());
                    }
                });
            }
            Op::Reopen { contract, id } => {
                let left = writes::reopen(self.writes_to(*contract, id));
                self.change_writes((*contract, id.clone()), Vec::clear);
                self.write(*contract, id, &left, false);
            }
            Op::RemoveWrites { contract, prefix } => self.remove_writes(*contract, prefix, false),
            Op::Append { contract, lineage, log, records, must } => {
                let lin = self.position(*contract, lineage);
                let of = LogName { contract: *contract, lin, lineage, log };
                applied.appended.push(logs::append(self, of, records, *must)?);
                self.end_if_empty(lin);
            }
            Op::Truncate { contract, lineage, log, to } => self.truncate(*contract, lineage, log, to)?,
            Op::RemoveLogs { contract, lineage } => {
                let Some(lin) = self.positions.get(&(*contract, lineage.clone())).copied() else { return Ok(()) };
                logs::remove_all(self, lin)?;
                self.end_if_empty(lin);
            }
            Op::SetLabels { contract, lineage, changes } => self.change_labels(*contract, lineage, changes)?,
            Op::KeepLast { contract, lineage, keep, pinned } => {
                let Some(position) = self.positions.get(&(*contract, lineage.clone())) else { return Ok(()) };
                let pinned = self.ids.get(&(*contract, pinned.clone())).copied();
                let victims = retention::beyond(self, *position, *keep, pinned)?;
                self.remove_all(&victims)?;
            }
        }
        Ok(())
    }

    /// Stores a checkpoint. Returns the size of its frame in bytes.
    fn put(&mut self, draft: &Draft) -> Result<u64> {
        let header = &draft.header;
        let known = self.positions.get(&(header.contract, header.lineage.clone())).copied();
        self.check_age(known, header)?;
        let marks = logs::pin(self, known, header, &draft.logs)?;
        let parent = header.parent.as_ref().and_then(|id| self.find(header.contract, id));
        let newest = self
            .lineage_row(header.contract, &header.lineage)
            .into_iter()
            .flat_map(|lineage_row| lineage_row.order.iter().rev());
        let newest = newest.filter_map(|(_, seq)| Some(self.contents.load(&self.rows.get(seq)?.payload)));
        let parent = parent.filter(|_| !draft.inherit.is_empty());
        let parent = parent.map(|row| self.contents.load(&row.payload)).transpose()?;
        let payload = inherit::resolve(draft, parent, newest)?;
        let bytes = frame::length(&payload) as u64;
        let replaced = self.ids.get(&(header.contract, header.id.clone())).and_then(|seq| self.rows.get(seq));
        let replaced =
            replaced.filter(|row| Some(row.lineage) == known).map(|row| Bound::Replaced(&row.header.sort_key));
        let newest = || Some(Bound::Newest(&self.lineage_row(header.contract, &header.lineage)?.order.last()?.0));
        let header = header.placed(draft.order, replaced.or_else(newest)).into_owned();
        self.insert(header, payload, bytes, marks, &draft.labels)?;
        Ok(bytes)
    }

    fn check_age(&self, lineage: Option<i64>, header: &Header) -> Result<()> {
        let lineage_row = lineage
            .and_then(|position| self.lineages.get(&position))
            .filter(|lineage_row| !lineage_row.order.is_empty());
        match lineage_row.map(|lineage_row| lineage_row.first.age_offset) {
            Some(offset) if offset != header.age_offset => Err(header.other_age_offset(offset)),
            _ => Ok(()),
        }
    }

    /// Forks a checkpoint. Returns the size of the copy's frame in bytes. `None`: the fork already exists.
    fn fork(&mut self, fork: &Fork) -> Result<Option<u64>> {
        let Fork { contract, source: from, id, lineage, .. } = fork;
        let Some(source) = self.find(*contract, from) else { return Err(fork.no_source()) };
        if let Some(copy) = self.find(*contract, id) {
            let header = &copy.header;
            fork.check_sent_again(&header.lineage, header.parent.as_deref())?;
            return Ok(None);
        }
        if self.lineage_row(*contract, lineage).is_some() {
            return Err(fork.lineage_taken());
        }
        let source = Arc::clone(source);
        // The copy is stored separately, so it needs the payload itself.
        let payload = self.contents.load(&source.payload)?;
        self.insert(fork.header(&source.header), payload, source.bytes, source.marks.clone(), &fork.labels)?;
        let lin = self.position(*contract, lineage);
        logs::fork(self, lin, &source.marks)?;
        Ok(Some(source.bytes))
    }

    /// Stores a checkpoint, and replaces the checkpoint with the same id. `bytes` is the size of the payload's frame.
    /// `labels` are for a lineage that begins.
    fn insert(
        &mut self,
        header: Header,
        payload: Payload,
        bytes: u64,
        marks: Vec<Mark>,
        labels: &Labels,
    ) -> Result<()> {
        // Find or create the lineage before removing the replaced checkpoint. Otherwise, replacing a lineage's only
        // checkpoint would remove the lineage.
        let lineage = self.position(header.contract, &header.lineage);
        if self.lineages.get(&lineage).is_some_and(|lineage_row| lineage_row.order.is_empty()) {
            // The lineage has no checkpoint yet, so an existing parent belongs to another lineage.
            let origin =
                header.parent.as_ref().and_then(|id| Some((id.clone(), self.find(header.contract, id)?.lineage)));
            self.set_first(lineage, First { group: header.group.clone(), origin, age_offset: header.age_offset });
            self.set_labels(lineage, labels.clone());
        }
        self.last_seq += 1;
        let seq = self.last_seq;
        logs::hold(self, seq, &marks)?;
        let replaced = self.ids.get(&(header.contract, header.id.clone())).copied();
        let replaced = replaced.and_then(|seq| Some((seq, self.remove_row(seq)?)));
        self.insert_row(seq, Arc::new(Row { header, payload: payload.into(), marks, lineage, bytes }));
        if let Some((seq, row)) = replaced {
            logs::release(self, [(seq, &*row.marks)])?;
            self.end_if_empty(row.lineage);
        }
        Ok(())
    }

    fn truncate(&mut self, contract: ContractId, lineage: &str, log: &str, to: &LogEnd) -> Result<()> {
        let of = |lin| LogName { contract, lin, lineage, log };
        let lin = match to {
            LogEnd::Length(length) => {
                let Some(lin) = self.positions.get(&(contract, lineage.to_owned())).copied() else { return Ok(()) };
                logs::truncate(self, of(lin), *length)?;
                lin
            }
            LogEnd::Checkpoint(id) => {
                let row = self.find(contract, id).filter(|row| row.header.lineage == lineage);
                let Some(row) = row.cloned() else { return Err(logs::no_such_checkpoint(lineage, log, id)) };
                logs::rewind(self, of(row.lineage), id, &row.marks)?;
                row.lineage
            }
        };
        self.end_if_empty(lin);
        Ok(())
    }

    fn write(&mut self, contract: ContractId, id: &str, writes: &[Write], replace: bool) {
        let writes: Vec<Write> = writes.iter().map(kept).collect();
        let writes = &writes[..];
        self.change_writes((contract, id.to_owned()), |rows| {
            if writes::answers(writes) {
                for row in rows.iter_mut().filter(|row| row.claimed_by.is_none()) {
                    row.state = row.state.answered();
                }
            }
            for new in writes::by_task(writes) {
                let (task, state) = (new.task.to_owned(), new.state);
                if let Some(claimed_by) = new.claimed_by {
                    let parts = new.writes.iter().map(|write| (write.index, write.part.clone())).collect();
                    rows.push(TaskRow { task, claimed_by: Some(claimed_by.to_owned()), state, parts });
                } else if let Some(row) = rows.iter_mut().find(|row| row.claimed_by.is_none() && row.task == task) {
                    row.state |= state;
                    row.parts = writes::merge(std::mem::take(&mut row.parts), new.writes, replace);
                } else {
                    rows.push(TaskRow {
                        task,
                        claimed_by: None,
                        state,
                        parts: writes::merge(Vec::new(), new.writes, replace),
                    });
                }
            }
        });
    }

    fn change_labels(&mut self, contract: ContractId, lineage: &str, changes: &LabelChanges) -> Result<()> {
        let position = self.positions.get(&(contract, lineage.to_owned())).copied();
        let row = position.and_then(|position| Some((position, self.lineages.get(&position)?)));
        let Some((position, row)) = row.filter(|(_, row)| !row.order.is_empty()) else {
            return Err(Op::nothing_to_label(lineage));
        };
        let labels = row.labels.changed(changes)?;
        self.set_labels(position, labels);
        Ok(())
    }

    fn touch(&mut self, contract: ContractId, id: &str, saved_at: i64) {
        let Some(seq) = self.ids.get(&(contract, id.to_owned())).copied() else { return };
        if self.rows.get(&seq).is_some_and(|row| row.header.saved_at < saved_at)
            && let Some(mut row) = self.remove_row(seq)
        {
            Arc::make_mut(&mut row).header.saved_at = saved_at;
            self.insert_row(seq, row);
        }
    }

    fn remove_from(&mut self, contract: ContractId, lineage: &str, sort_key: &SortKey) -> Result<()> {
        let entries = self.lineage_row(contract, lineage).map(|row| row.order.range((sort_key.clone(), Seq::MIN)..));
        let victims: Vec<Seq> = entries.into_iter().flatten().map(|(_, seq)| *seq).collect();
        self.remove_all(&victims).map(drop)
    }

    /// Removes the effects of a run that has no checkpoint.
    fn remove_effects(&mut self, contract: ContractId, lineage: &str) -> Result<()> {
        if contract.is_effects() || self.lineage_row(contract, lineage).is_some_and(|row| !row.order.is_empty()) {
            return Ok(());
        }
        self.remove_from(contract.effects(), lineage, &SortKey::default())
    }

    /// Removes the writes to checkpoints whose ids begin with `prefix`. If `unowned` is true, only those to checkpoints
    /// that are not stored.
    fn remove_writes(&mut self, contract: ContractId, prefix: &str, unowned: bool) {
        let keys = self.writes.range((contract, prefix.to_owned())..).map(|(key, _)| key);
        let keys = keys.take_while(|(of, id)| *of == contract && id.starts_with(prefix));
        let found: Vec<_> = keys.filter(|key| !unowned || !self.ids.contains_key(*key)).cloned().collect();
        for key in found {
            self.change_writes(key, Vec::clear);
        }
    }

    fn remove_lineages(&mut self, contract: ContractId, prefix: &str) -> Result<()> {
        let of = |other, name: &str| other == contract && !prefix.is_empty() && name.starts_with(prefix);
        let found = self.lineages.iter().filter(|(_, lineage_row)| of(lineage_row.contract, &lineage_row.name));
        let found: Vec<(i64, Vec<Seq>)> = found
            .map(|(position, lineage_row)| (*position, lineage_row.order.iter().map(|(_, seq)| *seq).collect()))
            .collect();
        for (lin, victims) in found {
            logs::remove_all(self, lin)?;
            self.remove_all(&victims)?;
            self.end_if_empty(lin);
        }
        Ok(())
    }

    /// Removes checkpoints. Returns the total size of their payloads in bytes, and the number of lineages that now
    /// have no checkpoints.
    fn remove_all(&mut self, victims: &[Seq]) -> Result<(i64, u64)> {
        let (mut bytes, mut gone) = (0, Vec::with_capacity(victims.len()));
        for seq in victims {
            let Some(row) = self.remove_row(*seq) else { continue };
            let header = &row.header;
            bytes += i64::try_from(row.bytes).unwrap_or(i64::MAX);
            let key = (header.contract, header.id.clone());
            if self.writes.contains_key(&key) {
                self.change_writes(key, Vec::clear);
            }
            gone.push((*seq, row));
        }
        logs::release(self, gone.iter().map(|(seq, row)| (*seq, &*row.marks)))?;
        let mut ended = 0;
        for lineage in gone.iter().map(|(_, row)| row.lineage).collect::<BTreeSet<_>>() {
            if let Some(empty) = self.lineages.get(&lineage).filter(|lineage_row| lineage_row.order.is_empty()) {
                ended += 1;
                let (contract, name) = (empty.contract, empty.name.clone());
                if contract.has_namespaces() {
                    self.remove_writes(contract, &name, true);
                }
            }
            self.end_if_empty(lineage);
        }
        Ok((bytes, ended))
    }
}

/// Copies a write for the tables, because the caller may free the unit's bytes after the reply.
fn kept(write: &Write) -> Write {
    let part = Part { bytes: write.part.bytes.copied(), ..write.part.clone() };
    Write { part, ..write.clone() }
}
