//! Finds the positions of a filtered page over several lineages. One statement reads the metadata of all of them,
//! because each further page would start over with all lineages. It neither sorts nor counts its rows.

use super::key::number;
use super::like::containing;
use super::prefix::begins_with_many;
use super::transaction::Transaction;
use super::value::values;
use crate::backend::page::Filler;
use crate::backend::top_k::TopK;
use crate::error::Result;
use crate::query::{MetaFilter, Of, Page, Query, RowOrder};
use crate::record::Position;

/// Returns the filter of a page over several lineages, and the prefix of their names.
fn parts(page: &Page) -> Option<(&str, &MetaFilter)> {
    match (&page.of, &page.filter) {
        (Of::Lineages(prefix), Some(filter)) => Some((prefix, filter)),
        _ => None,
    }
}

/// Returns true if [`positions`] finds the positions of the page.
pub(super) fn is_of(page: &Page) -> bool {
    parts(page).is_some()
}

/// Returns true if a query reads the metadata of all checkpoints of several lineages.
pub(super) fn is_read_by(query: &Query) -> bool {
    match query {
        Query::Page(page) => is_of(page),
        Query::All(queries) => queries.iter().any(is_read_by),
        _ => false,
    }
}

/// Returns the positions of the page, in order.
pub(super) fn positions(open: &Transaction<'_>, page: &Page, filler: &Filler<'_>) -> Result<Vec<Position>> {
    /// Reads the rows after `$6`, `$7` that have texts like all of `$3`, or the text `$4`, or do not end with `$5`.
    macro_rules! rows {
        ($behind:literal) => {
            concat!(
                "SELECT c.sort_key, c.seq, c.meta, c.saved_at FROM @lineage AS l JOIN @checkpoint AS c USING (lin)
                 WHERE l.contract = $1 AND ",
                begins_with_many!("l.name", "$2"),
                " AND ($6::bytea IS NULL OR (c.sort_key, c.seq) ",
                $behind,
                " ($6, $7)) AND (c.meta LIKE ALL ($3) OR position($4 IN c.meta) > 0
                   OR substr(c.meta, greatest(1, octet_length(c.meta) - octet_length($5) + 1)) <> $5)"
            )
        };
    }
    let Some((prefix, MetaFilter { all, or, end, .. })) = parts(page) else { return Ok(Vec::new()) };
    let sql = match page.order {
        RowOrder::NewestFirst => rows!("<"),
        RowOrder::OldestFirst => rows!(">"),
    };
    let (sort_key, seq) = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq)).unzip();
    let given = values![number(page.contract), prefix, containing(all), &or[..], &end[..], sort_key, seq];
    let mut top = TopK::new(page);
    open.for_each(sql, given, &mut |row| {
        top.add((row.get(0), row.get(1)), || filler.wants(row.get(2), row.get(3)));
    })?;
    Ok(top.into_positions())
}
