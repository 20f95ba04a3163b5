//! What new lines say together. A checkpoint that was added and removed again is not in it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::any_line::Line;
use super::files::{KeptPayload, KeptRecord, Place};
use super::line::{self, At, Sum};
use super::records::unreadable;
use crate::backend::logs::{Branch, BranchId, End, Mark};
use crate::backend::tables::{First, Row, Stored, TaskRow};
use crate::error::Result;
use crate::record::{ContractId, Seq};

/// What a file holds, as its first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A lineage: its position and its name.
    Lineage(i64, String),
    /// The pending writes of the contract's checkpoints.
    Writes,
}

/// A file with new lines.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) contract: ContractId,
    pub(super) kind: Kind,
}

/// A branch of records that was created.
#[derive(Debug)]
pub(super) struct NewBranch {
    pub(super) branch: Branch,
    pub(super) file: u64,
    pub(super) log: String,
    pub(super) records: Vec<KeptRecord>,
}

/// A change of the records of a branch that was there before.
#[derive(Debug)]
pub(super) enum Grown {
    Cut(u64),
    Push(u64, KeptRecord),
}

/// A change of pending writes.
#[derive(Debug)]
pub(super) enum Written {
    Row(usize, TaskRow),
    Claimed(usize, String),
    Cleared,
}

/// The net effect of new lines.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) begun: BTreeMap<i64, (ContractId, String, u64)>,
    pub(super) ended: BTreeSet<i64>,
    pub(super) firsts: BTreeMap<i64, First>,
    pub(super) rows: BTreeMap<Seq, Row<KeptPayload>>,
    pub(super) removed: HashSet<Seq>,
    pub(super) touched: BTreeMap<Seq, i64>,
    pub(super) branches: BTreeMap<BranchId, NewBranch>,
    pub(super) grown: Vec<(BranchId, Grown)>,
    pub(super) removed_branches: Vec<BranchId>,
    pub(super) heads: BTreeMap<(i64, String), Option<End>>,
    pub(super) writes: Vec<(ContractId, String, Written)>,
}

impl Delta {
    /// Reads the first line of a new file. Returns what the file holds, and the sum of the line.
    pub(super) fn open(&mut self, bytes: &[u8], at: At) -> Result<(Source, Sum)> {
        let (text, sum) = line::verify(bytes, at)?;
        let Line { lineage, pending_writes, .. } = line::parse(text)?;
        match (lineage, pending_writes) {
            (Some(lineage), None) if lineage.file == at.file => {
                let contract = ContractId(lineage.contract);
                self.begun.insert(lineage.position, (contract, lineage.name.clone(), at.file));
                Ok((Source { contract, kind: Kind::Lineage(lineage.position, lineage.name) }, sum))
            }
            (None, Some(writes)) if writes.file == at.file => {
                Ok((Source { contract: ContractId(writes.contract), kind: Kind::Writes }, sum))
            }
            _ => Err(unreadable()),
        }
    }

    /// Reads another line of a file. Returns its sum.
    pub(super) fn add(&mut self, source: &Source, bytes: &[u8], place: Place) -> Result<Sum> {
        let (text, sum) = line::verify(bytes, place.at)?;
        let line: Line<'_> = line::parse(text)?;
        match &source.kind {
            Kind::Lineage(position, name) => self.add_to_lineage(source.contract, *position, name, line, place),
            Kind::Writes => self.add_to_writes(source.contract, line),
        }?;
        Ok(sum)
    }

    fn add_to_lineage(
        &mut self,
        contract: ContractId,
        position: i64,
        name: &str,
        line: Line<'_>,
        place: Place,
    ) -> Result<()> {
        if let Some(checkpoint) = line.checkpoint {
            let (header, marks) = checkpoint.split(contract, name)?;
            let logs = marks.iter().map(Mark::shown).collect();
            let stored = Stored { header, payload: KeptPayload::At(place), logs };
            let row =
                Row { checkpoint: stored.into(), marks: marks.into(), lineage: position, bytes: checkpoint.bytes };
            self.rows.insert(checkpoint.seq, row);
        } else if let Some(record) = line.record {
            let (branch, at) = (record.branch, record.at);
            let kept = KeptRecord::At { place, key: record.key.as_deref().map(Into::into), size: record.size };
            match self.branches.get_mut(&branch) {
                Some(new) if new.branch.start() + new.records.len() as u64 == at => new.records.push(kept),
                Some(_) => return Err(unreadable()),
                None => self.grown.push((branch, Grown::Push(at, kept))),
            }
        } else if let Some(removed) = line.removed {
            if self.rows.remove(&removed.seq).is_none() {
                self.removed.insert(removed.seq);
            }
        } else if let Some(touched) = line.touched {
            match self.rows.get_mut(&touched.seq) {
                Some(row) => std::sync::Arc::make_mut(&mut row.checkpoint).header.saved_at = touched.saved_at,
                None => drop(self.touched.insert(touched.seq, touched.saved_at)),
            }
        } else if let Some(head) = line.head {
            let end = head.end();
            self.heads.insert((position, head.log), end);
        } else if let Some(branch) = line.branch {
            let new = branch.branch(contract);
            let new = NewBranch { branch: new, file: place.at.file, log: branch.log, records: Vec::new() };
            self.branches.insert(branch.id, new);
        } else if let Some(cut) = line.cut {
            match self.branches.get_mut(&cut.branch) {
                Some(new) => {
                    let kept = cut.from.saturating_sub(new.branch.start());
                    new.records.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
                }
                None => self.grown.push((cut.branch, Grown::Cut(cut.from))),
            }
        } else if let Some(branch) = line.branch_removed {
            if self.branches.remove(&branch).is_none() {
                self.removed_branches.push(branch);
            }
        } else if let Some(begin) = line.begin {
            self.firsts.insert(position, begin.into());
        } else if line.ended.is_some() {
            self.end(position);
        } else {
            return Err(unreadable());
        }
        Ok(())
    }

    /// A lineage has ended. Nothing of it is left but records that others share.
    fn end(&mut self, position: i64) {
        if self.begun.remove(&position).is_none() {
            self.ended.insert(position);
        }
        self.firsts.remove(&position);
        self.rows.retain(|_, row| row.lineage != position);
        self.heads.retain(|(of, _), _| *of != position);
    }

    fn add_to_writes(&mut self, contract: ContractId, line: Line<'_>) -> Result<()> {
        let (id, written) = if let Some(writes) = line.writes {
            (writes.checkpoint.clone(), Written::Row(writes.row, writes.into_row()?))
        } else if let Some(claimed) = line.claimed {
            (claimed.checkpoint, Written::Claimed(claimed.row, claimed.by))
        } else if let Some(unwritten) = line.unwritten {
            (unwritten.checkpoint, Written::Cleared)
        } else {
            return Err(unreadable());
        };
        self.writes.push((contract, id, written));
        Ok(())
    }
}
