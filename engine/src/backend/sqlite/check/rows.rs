//! Checks single rows: their contents, and the index entries and lists that must lead to them.

use std::collections::HashSet;

use rusqlite::params;

use super::{Check, HARMLESS, LABEL, REBUILD, RESTORE, leads};
use crate::backend::logs::list;
use crate::backend::marks::decode_marks;
use crate::backend::sqlite::logs::Logs;
use crate::backend::sqlite::meta_index::MetaIndex;
use crate::backend::sqlite::row::{self, HeaderRow};
use crate::backend::sqlite::schema::LateIndex;
use crate::backend::sqlite::{chain, labels, lineage, listing, log_check, payloads, status, writes};
use crate::check::{About, Finding, FindingCode};
use crate::codec::{envelope, frame};
use crate::error::Result;
use crate::record::Seq;

impl Check<'_> {
    pub(super) fn lineage(&mut self, lin: i64) -> Result<()> {
        let found = lineage::read(self.connection, lin);
        let Some(row) = self.damage(found, About::default)?.flatten() else { return Ok(()) };
        let about = || About { contract: Some(row.contract), lineage: Some(row.name.clone()), id: None };
        if !leads(lineage::indexed(self.connection, row.contract, &row.name).map(|found| found == Some(lin)))? {
            let message = format!("run {:?}: the index of names does not lead to its row", row.name);
            self.find(FindingCode::Index, about(), message, REBUILD);
        }
        let expected = status::derived(self.connection, lin);
        if let Some(expected) = self.damage(expected, about)?.filter(|expected| row.status != *expected) {
            self.page.findings.push(Finding::status(&row.name, row.status, expected).about(about()));
        }
        match row.whole_labels() {
            None => {
                let error = row.damaged_labels();
                self.find(FindingCode::Corrupt, about(), error.message().to_owned(), LABEL);
            }
            Some(labels) => {
                if labels::are_indexed(self.connection)? && !leads(labels::lead_to(self.connection, lin, &labels))? {
                    let message = format!("run {:?}: the index of labels does not lead to its row", row.name);
                    self.find(FindingCode::Index, about(), message, LABEL);
                }
            }
        }
        if let Some(origin) = &row.origin
            && LateIndex::Forks.exists(self.connection)?
            && !leads(lineage::began_from(self.connection, origin.lin).map(|found| found.contains(&lin)))?
        {
            let message = format!("run {:?}: the index of forks does not lead to its row", row.name);
            self.find(FindingCode::Index, about(), message, REBUILD);
        }
        let group = "SELECT count(*) FROM lineage INDEXED BY lineage_group WHERE contract = ? AND grp = ? AND grp <> '' AND lin = ?";
        if !row.group.is_empty()
            && LateIndex::LineageGroups.exists(self.connection)?
            && !self.has_entry(group, params![row.contract.0, row.group, lin])?
        {
            let message = format!("run {:?}: the index of its group does not lead to its row", row.name);
            self.find(FindingCode::Index, about(), message, REBUILD);
        }
        let used = listing::newest(self.connection, lin)
            .and_then(|newest| Ok(newest.is_some() || !list(&Logs::new(self.connection), lin)?.is_empty()));
        if self.damage(used, about)? == Some(false) {
            let message = format!("run {:?} has neither a checkpoint nor a log", row.name);
            self.find(FindingCode::Orphan, about(), message, HARMLESS);
        }
        Ok(())
    }

    pub(super) fn checkpoint(&mut self, seq: Seq) -> Result<()> {
        self.page.counted.checkpoints += 1;
        let found = row::read(self.connection, seq);
        let connection = self.connection;
        let Some(row) = self.damage(found, || row::claims(connection, seq))?.flatten() else { return Ok(()) };
        self.entries(&row)?;
        self.parent(&row)?;
        let marks = decode_marks(row.logs.as_deref())
            .and_then(|marks| log_check::marks_of(self.connection, seq, &marks))
            .map(|findings| self.page.findings.extend(findings));
        self.damage_at(&row, marks)?;
        if self.chain(&row)? {
            self.page.counted.payloads += 1;
            // Do not rebuild the payload: a read without a cache would refuse it.
            let payload = match self.claimed(seq)? {
                claimed if claimed > envelope::MOST_CLAIMED => Err(envelope::too_large()),
                _ => payloads::load(self.connection, &self.cache, seq),
            };
            self.damage_at(&row, payload.and_then(|payload| frame::split(&payload.raw)))?;
        }
        Ok(())
    }

    /// Turns damage into a finding about the checkpoint and returns `None`. Returns any other error.
    fn damage_at<T>(&mut self, row: &HeaderRow, found: Result<T>) -> Result<Option<T>> {
        match found {
            Err(error) if error.is_damage() => {
                self.find_at(FindingCode::Corrupt, row, error.message(), RESTORE);
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Checks that a checkpoint has its entry in each index.
    fn entries(&mut self, row: &HeaderRow) -> Result<()> {
        let HeaderRow { seq, lin, header, .. } = row;
        if !leads(row::indexed(self.connection, header.contract, &header.id).map(|found| found.contains(seq)))? {
            self.find_at(FindingCode::Index, row, "the index of ids does not lead to its row", REBUILD);
        }
        let order = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_lineage
                     WHERE lin = ? AND sort_key = ? AND seq = ? AND label = ?";
        if !self.has_entry(order, params![lin, header.sort_key.0, seq, header.label])? {
            self.find_at(FindingCode::Index, row, "the index of its run does not lead to its row", REBUILD);
        }
        let group = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_group
                     WHERE grp = ?1 AND grp <> '' AND sort_key = ?2 AND seq = ?3";
        if !header.group.is_empty()
            && LateIndex::Groups.exists(self.connection)?
            && !self.has_entry(group, params![header.group, header.sort_key.0, seq])?
        {
            self.find_at(FindingCode::Index, row, "the index of its group does not lead to its row", REBUILD);
        }
        let in_order = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_order WHERE sort_key = ? AND seq = ?";
        if LateIndex::Order.exists(self.connection)? && !self.has_entry(in_order, params![header.sort_key.0, seq])? {
            self.find_at(FindingCode::Index, row, "the index of the order does not lead to its row", REBUILD);
        }
        for index in MetaIndex::all(self.connection)? {
            let entry = index.entry();
            let of_row = format!("(SELECT {entry} FROM checkpoint NOT INDEXED WHERE seq = ?2)");
            // A row whose entry is NULL is not in the index.
            let sql = format!(
                "SELECT {of_row} IS NULL OR EXISTS (SELECT 1 FROM checkpoint INDEXED BY {}
                 WHERE {entry} = {of_row} AND {entry} IS NOT NULL AND sort_key = ?1 AND seq = ?2)",
                index.name()
            );
            if !self.has_entry(&sql, params![header.sort_key.0, seq])? {
                let message =
                    format!("the index of the key {:?} of the metadata does not lead to its row", index.key());
                self.find_at(FindingCode::Index, row, &message, REBUILD);
            }
        }
        let dependent = "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_dependent
                         WHERE lin = ? AND parent IS ? AND seq = ? AND flags & 1";
        if header.depends_on_parent && !self.has_entry(dependent, params![lin, header.parent, seq])? {
            let message = "the index of checkpoints that depend on a parent does not lead to its row";
            self.find_at(FindingCode::Index, row, message, REBUILD);
        }
        Ok(())
    }

    /// Checks that the parent exists, for a checkpoint that depends on its parent.
    fn parent(&mut self, row: &HeaderRow) -> Result<()> {
        let header = &row.header;
        if !header.depends_on_parent {
            return Ok(());
        }
        let found = match &header.parent {
            Some(parent) => row::by_id(self.connection, header.contract, parent),
            None => Ok(None),
        };
        match found {
            Ok(None) => {
                let message = "its parent is missing, and it cannot be read without the parent";
                self.find_at(FindingCode::Orphan, row, message, RESTORE);
                Ok(())
            }
            // The check of the parent itself reports a damaged parent.
            Err(error) if !error.is_damage() => Err(error),
            _ => Ok(()),
        }
    }

    /// Checks the column `chain` of a checkpoint, the list of its dependants, and its entry in the list of its base.
    /// Returns true if the column is readable.
    fn chain(&mut self, row: &HeaderRow) -> Result<bool> {
        let found = chain::read(self.connection, row.seq);
        let Some(chain) = self.damage_at(row, found)?.flatten() else { return Ok(false) };
        let listed = chain::listed(self.connection, row.seq);
        self.damage_at(row, listed)?;
        if let Some(base) = chain.base
            && !self.built_on(base)?.is_none_or(|all| all.contains(&row.seq))
        {
            self.find_at(FindingCode::Corrupt, row, "it is missing from the list of deltas against its base", RESTORE);
        }
        Ok(true)
    }

    /// Returns the total bytes that a payload and its bases claim. Reads the beginning of each body once for a page.
    fn claimed(&mut self, seq: Seq) -> Result<usize> {
        let (mut chain, mut next, mut all) = (Vec::new(), Some(seq), 0usize);
        while let Some(seq) = next {
            if let Some(known) = self.claims.get(&seq) {
                all = *known;
                break;
            }
            match payloads::claim(self.connection, seq, self.cache.largest()) {
                Ok(Some((base, claimed))) => {
                    chain.push((seq, claimed));
                    next = base;
                }
                // Reading the payload reports the damage.
                Ok(None) => break,
                Err(error) if error.is_damage() => break,
                Err(error) => return Err(error),
            }
        }
        for (seq, claimed) in chain.into_iter().rev() {
            all = all.saturating_add(claimed);
            self.claims.insert(seq, all);
        }
        Ok(all)
    }

    /// Returns the dependants of a base, or `None` if their list is damaged or the base does not exist. The list may be
    /// long, so each page reads it only once.
    fn built_on(&mut self, base: Seq) -> Result<Option<&HashSet<Seq>>> {
        if !self.lists.contains_key(&base) {
            let read = chain::read(self.connection, base).and_then(|found| match found {
                Some(_) => chain::listed(self.connection, base).map(Some),
                None => Ok(None),
            });
            let all = match read {
                Ok(all) => all.map(|all| all.into_iter().map(|(seq, _)| seq).collect()),
                Err(error) if error.is_damage() => None,
                Err(error) => return Err(error),
            };
            self.lists.insert(base, all);
        }
        Ok(self.lists.get(&base).and_then(Option::as_ref))
    }

    pub(super) fn write(&mut self, num: i64) -> Result<()> {
        self.page.counted.writes += 1;
        let found = writes::read(self.connection, num);
        let connection = self.connection;
        let Some(row) = self.damage(found, || writes::claims(connection, num))?.flatten() else { return Ok(()) };
        let about = || About { contract: Some(row.contract), lineage: None, id: Some(row.id.clone()) };
        let opened = row.open(self.connection, self.cache.largest());
        self.damage(opened, about)?;
        let mut is_first = false;
        let leads_here = |found: Vec<i64>| {
            is_first = found.first() == Some(&num);
            found.contains(&num)
        };
        let is_found = leads(writes::indexed(self.connection, row.contract, &row.id).map(leads_here))?;
        // If the checkpoint's index entry is damaged, the check of the checkpoint reports it.
        if is_first && matches!(row::by_id(self.connection, row.contract, &row.id), Ok(None)) {
            self.page.findings.push(Finding::writes_of_none(row.contract, row.id.clone()));
        }
        if !is_found {
            let message =
                format!("the writes of task {:?} to {:?}: the index does not lead to their row", row.task, row.id);
            self.find(FindingCode::Index, about(), message, REBUILD);
        }
        Ok(())
    }
}
