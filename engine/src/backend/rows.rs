//! Finds the page of a lineage's checkpoints that a query wants. The same for every backend.

use crate::error::Result;
use crate::query::{RowOrder, Rows, RowsFrom};
use crate::record::{Listed, Seq, SortKey};

/// The checkpoints of one lineage, in the order of the contract.
pub(super) trait Lineup {
    /// The number of checkpoints.
    fn count(&self) -> Result<u64>;
    /// The number of checkpoints before this place.
    fn before(&self, sort_key: &SortKey, seq: Seq) -> Result<u64>;
    /// The place of the checkpoint with this id. `None` if the lineage has no such checkpoint.
    fn place(&self, id: &str) -> Result<Option<(SortKey, Seq)>>;
    /// The checkpoints after the first `skip` ones, in this order. Their steps are 0.
    fn rows(&self, order: RowOrder, skip: u64, limit: usize) -> Result<Vec<Listed>>;
}

/// Returns the number of checkpoints, and the page.
pub(super) fn page(lineup: &impl Lineup, wanted: &Rows) -> Result<(u64, Vec<Listed>)> {
    let count = lineup.count()?;
    let first = match (&wanted.from, wanted.order) {
        (RowsFrom::End, RowOrder::OldestFirst) => Some(0),
        (RowsFrom::End, RowOrder::NewestFirst) => count.checked_sub(1),
        (RowsFrom::After(sort_key, seq), RowOrder::OldestFirst) => {
            Some(lineup.before(sort_key, seq.saturating_add(1))?)
        }
        (RowsFrom::After(sort_key, seq), RowOrder::NewestFirst) => lineup.before(sort_key, *seq)?.checked_sub(1),
        (RowsFrom::Step(step), _) => match u64::try_from(*step) {
            Ok(step) => Some(step),
            Err(_) => count.checked_sub(step.unsigned_abs()),
        },
        (RowsFrom::Id(id), _) => match lineup.place(id)? {
            Some((sort_key, seq)) => Some(lineup.before(&sort_key, seq)?),
            None => None,
        },
    };
    let Some(first) = first.filter(|first| *first < count) else { return Ok((count, Vec::new())) };
    let skip = match wanted.order {
        RowOrder::OldestFirst => first,
        RowOrder::NewestFirst => count - 1 - first,
    };
    let mut rows = lineup.rows(wanted.order, skip, wanted.limit)?;
    for (row, at) in rows.iter_mut().zip(0..) {
        row.step = match wanted.order {
            RowOrder::OldestFirst => first + at,
            RowOrder::NewestFirst => first - at,
        };
    }
    Ok((count, rows))
}
