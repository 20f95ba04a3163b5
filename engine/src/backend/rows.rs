//! Finds the requested page of a lineage's checkpoints, for every backend.

use crate::error::{Code, Error, Result};
use crate::query::{RowOrder, Rows, RowsFrom};
use crate::record::{Listed, Seq, SortKey};

/// The checkpoints of one lineage, in the order of the contract.
pub(super) trait Lineup {
    /// The number of checkpoints.
    fn count(&self) -> Result<u64>;
    /// The number of checkpoints before this position.
    fn before(&self, sort_key: &SortKey, seq: Seq) -> Result<u64>;
    /// The position of the checkpoint with this id. `None` if the lineage has no such checkpoint.
    fn position(&self, id: &str) -> Result<Option<(SortKey, Seq)>>;
    /// The checkpoints in this order, without the first `skip`. Their field `step` is 0.
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
        (RowsFrom::Id(id), _) => match lineup.position(id)? {
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
        let step = match wanted.order {
            RowOrder::OldestFirst => Some(first + at).filter(|step| *step < count),
            RowOrder::NewestFirst => first.checked_sub(at),
        };
        row.step = step.ok_or_else(|| {
            let message = format!(
                "run {:?}: an index has more checkpoints than it counts, {count}: restore a backup",
                wanted.lineage
            );
            Error::new(Code::Corrupt, message)
        })?;
    }
    Ok((count, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ContractId, Header};

    /// A lineage whose index counts another number of rows than it has.
    struct Damaged {
        counted: u64,
        rows: usize,
    }

    impl Lineup for Damaged {
        fn count(&self) -> Result<u64> {
            Ok(self.counted)
        }

        fn before(&self, _: &SortKey, _: Seq) -> Result<u64> {
            Ok(0)
        }

        fn position(&self, _: &str) -> Result<Option<(SortKey, Seq)>> {
            Ok(None)
        }

        fn rows(&self, _: RowOrder, _: u64, limit: usize) -> Result<Vec<Listed>> {
            let header = Header::new(ContractId(1), "run", "id");
            let row = Listed { seq: 1, step: 0, header, logical_bytes: 0, stored_bytes: 0, chain: 0 };
            Ok(vec![row; limit.min(self.rows)])
        }
    }

    #[test]
    fn more_rows_than_the_index_counts_are_damage() {
        for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
            let wanted = Rows {
                contract: ContractId(1),
                lineage: "run".to_owned(),
                from: RowsFrom::End,
                order,
                limit: 10,
                sums: false,
            };
            let steps = |counted, rows| {
                let (_, rows) = page(&Damaged { counted, rows }, &wanted)?;
                Ok::<_, Error>(rows.iter().map(|row| row.step).collect::<Vec<_>>())
            };
            assert_eq!(steps(3, 3).unwrap().len(), 3);
            assert_eq!(steps(2, 3).unwrap_err().code(), Code::Corrupt);
        }
    }
}
