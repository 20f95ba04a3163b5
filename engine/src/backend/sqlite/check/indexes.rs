//! Checks whole indexes: each index must have as many entries as its table has rows for it.

use super::{Check, REBUILD};
use crate::backend::sqlite::schema::LateIndex;
use crate::check::FindingCode;
use crate::error::Result;

/// An index of a table, and how its entries are counted.
struct Counted {
    table: &'static str,
    /// The rows that should be in the index. This text follows `FROM` in a statement that counts. `?` is bound to the
    /// least integer.
    rows: &'static str,
    /// The entries of the index, in the same form.
    entries: &'static str,
    /// Set if not every file has the index.
    late: Option<LateIndex>,
}

const INDEXES: [Counted; 7] = [
    Counted {
        table: "lineage",
        rows: "lineage NOT INDEXED WHERE lin >= ?",
        entries: "lineage INDEXED BY lineage_name WHERE contract >= ?",
        late: None,
    },
    Counted {
        table: "lineage",
        rows: "lineage NOT INDEXED WHERE lin >= ? AND origin_lin IS NOT NULL",
        entries: "lineage INDEXED BY lineage_origin WHERE origin_lin >= ?",
        late: Some(LateIndex::Forks),
    },
    Counted {
        table: "checkpoint",
        rows: "checkpoint NOT INDEXED WHERE seq >= ?",
        entries: "checkpoint INDEXED BY checkpoint_id WHERE id_hash >= ?",
        late: None,
    },
    Counted {
        table: "checkpoint",
        rows: "checkpoint NOT INDEXED WHERE seq >= ?",
        entries: "checkpoint INDEXED BY checkpoint_lineage WHERE lin >= ?",
        late: None,
    },
    Counted {
        table: "checkpoint",
        rows: "checkpoint NOT INDEXED WHERE seq >= ? AND flags & 1",
        entries: "checkpoint INDEXED BY checkpoint_dependent WHERE lin >= ? AND flags & 1",
        late: None,
    },
    Counted {
        table: "write",
        rows: "write NOT INDEXED WHERE num >= ?",
        entries: "write INDEXED BY write_id WHERE contract >= ?",
        late: None,
    },
    Counted {
        table: "checkpoint",
        rows: "checkpoint NOT INDEXED WHERE seq >= ? AND grp <> ''",
        entries: "checkpoint INDEXED BY checkpoint_group WHERE ? IS NOT NULL AND grp <> ''",
        late: Some(LateIndex::Groups),
    },
];

impl Check<'_> {
    /// Compares the number of entries of an index with the number of rows that should be in it. `next` is the position of
    /// the index in [`INDEXES`]. A negative position stands for the first one. Returns the position of the next index, or
    /// `None` if `next` is past the last one.
    pub(super) fn index(&mut self, next: i64) -> Result<Option<i64>> {
        let at = usize::try_from(next.max(0)).unwrap_or(usize::MAX);
        let Some(Counted { table, rows, entries, late }) = INDEXES.get(at) else { return Ok(None) };
        if late.map_or(Ok(true), |index| self.has(index))? {
            let count = |from: &str| self.number(&format!("SELECT count(*) FROM {from}"), [i64::MIN]);
            let counted = count(rows).and_then(|rows| Ok((rows, count(entries)?)));
            if let Some((rows, found)) = self.damage(counted)?
                && rows != found
            {
                let message = format!(
                    "an index of table {table} has {found} entries, and should have {rows} (entries: {entries})"
                );
                self.find(FindingCode::Index, message, REBUILD);
            }
        }
        Ok(Some(next.max(0) + 1))
    }

    /// Returns true if the file has the index. The result is kept for the rest of the page.
    pub(super) fn has(&mut self, index: LateIndex) -> Result<bool> {
        if let Some((_, exists)) = self.late.iter().find(|(known, _)| *known == index) {
            return Ok(*exists);
        }
        let exists = index.exists(self.connection)?;
        self.late.push((index, exists));
        Ok(exists)
    }
}
