//! Checks entire indexes: each must have one entry for each row that belongs in it.

use super::{Check, LABEL, REBUILD};
use crate::backend::log_findings::After;
use crate::backend::sqlite::labels;
use crate::backend::sqlite::meta_index::MetaIndex;
use crate::backend::sqlite::schema::LateIndex;
use crate::backend::sqlite::statement;
use crate::check::{About, FindingCode};
use crate::error::Result;

/// Each index: its table, the condition for rows in the index, the name and the entries of the index, and its late
/// index if not every file has it. `?` is the least integer.
const INDEXES: [(&str, &str, &str, Option<LateIndex>); 9] = [
    ("lineage", "lin >= ?", "lineage_name WHERE contract >= ?", None),
    ("lineage", "lin >= ? AND origin_lin IS NOT NULL", "lineage_origin WHERE origin_lin >= ?", Some(LateIndex::Forks)),
    (
        "lineage",
        "lin >= ? AND grp <> ''",
        "lineage_group WHERE contract >= ? AND grp <> ''",
        Some(LateIndex::LineageGroups),
    ),
    ("checkpoint", "seq >= ?", "checkpoint_id WHERE id_hash >= ?", None),
    ("checkpoint", "seq >= ?", "checkpoint_lineage WHERE lin >= ?", None),
    ("checkpoint", "seq >= ? AND flags & 1", "checkpoint_dependent WHERE lin >= ? AND flags & 1", None),
    ("write", "num >= ?", "write_id WHERE contract >= ?", None),
    (
        "checkpoint",
        "seq >= ? AND grp <> ''",
        "checkpoint_group WHERE ? IS NOT NULL AND grp <> ''",
        Some(LateIndex::Groups),
    ),
    ("checkpoint", "seq >= ?", "checkpoint_order WHERE ? IS NOT NULL", Some(LateIndex::Order)),
];

impl Check<'_> {
    /// Compares the number of entries of an index with the number of rows that belong in it. `next` is the position in
    /// [`INDEXES`], followed by the metadata indexes. A negative position means the first index. Returns the position
    /// of the next index, or `None` after the last one.
    pub(super) fn index(&mut self, next: i64) -> Result<Option<After>> {
        let next = next.max(0);
        let at = usize::try_from(next).unwrap_or(usize::MAX);
        let Some((table, rows, entries, late)) = INDEXES.get(at) else {
            let metadata = MetaIndex::all(self.connection)?;
            let Some(index) = metadata.get(at - INDEXES.len()) else {
                self.labels()?;
                return Ok(None);
            };
            let is_in = format!("{} IS NOT NULL", index.entry());
            let entries = format!("{} WHERE seq >= ? AND {is_in}", index.name());
            self.count("checkpoint", &format!("seq >= ? AND {is_in}"), &entries)?;
            return Ok(Some([next + 1, 0, 0]));
        };
        if late.as_ref().map_or(Ok(true), |index| index.exists(self.connection))? {
            self.count(table, rows, entries)?;
        }
        Ok(Some([next + 1, 0, 0]))
    }

    /// Compares the number of rows in the table of labels with the number of labels.
    fn labels(&mut self) -> Result<()> {
        if !labels::are_indexed(self.connection)? {
            return Ok(());
        }
        let counted = labels::count(self.connection);
        if let Some((found, expected)) = self.damage(counted, About::default)?
            && found != expected
        {
            let message = format!("the index of labels has {found} entries, and should have {expected}");
            self.find(FindingCode::Index, About::default(), message, LABEL);
        }
        Ok(())
    }

    /// Compares the number of entries of an index with the number of rows that belong in it.
    fn count(&mut self, table: &str, rows: &str, entries: &str) -> Result<()> {
        let entries = format!("{table} INDEXED BY {entries}");
        let count =
            |from: &str| statement::number(self.connection, &format!("SELECT count(*) FROM {from}"), [i64::MIN]);
        let rows = count(&format!("{table} NOT INDEXED WHERE {rows}"));
        let counted = rows.and_then(|rows| Ok((rows, count(&entries)?)));
        if let Some((rows, found)) = self.damage(counted, About::default)?
            && rows != found
        {
            let message =
                format!("an index of table {table} has {found} entries, and should have {rows} (entries: {entries})");
            self.find(FindingCode::Index, About::default(), message, REBUILD);
        }
        Ok(())
    }
}
