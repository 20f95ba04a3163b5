//! Reads a page of a listing: the rows, the payloads and the writes. All statements are sent together, in one round
//! trip. The first statement finds the rows, and leaves their numbers to the others in a setting of the transaction. A
//! filter over several lineages finds its rows in an earlier round trip.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::checkpoint::whole;
use super::key::number;
use super::late_index;
use super::like::containing;
use super::names::Names;
use super::payloads::{self, Held, chains};
use super::prefix::{begins_with, is_name};
use super::row::{self, HeaderRow, columns_with_sum};
use super::several;
use super::transaction::Transaction;
use super::value::{Value, values};
use super::writes::{self, columns as write_columns};
use crate::backend::number::{signed, unsigned};
use crate::backend::page::Filler;
use crate::cache::PayloadCache;
use crate::error::{Error, Result};
use crate::query::{MetaFilter, MetaKey, Of, Page, RowOrder};
use crate::record::{Position, Seq, SortKey, Tuple, TuplePage};

/// The number of rows that the server sends for a filter with a test.
const TESTED: usize = 10_000;

/// The condition for positions after `$2`, `$3`. For `short` keys, an index has the entire order.
macro_rules! after {
    ($behind:literal) => {
        concat!(" AND (substr(c.sort_key, 1, 1000), c.sort_key, c.seq) ", $behind, " (substr($2, 1, 1000), $2, $3)")
    };
    ($behind:literal short) => {
        concat!(" AND (substr(c.sort_key, 1, 1000), c.seq) ", $behind, " (substr($2, 1, 1000), $3)")
    };
}

/// The order of a page, with the maximum number of rows that the filter examines.
macro_rules! ordered {
    ($direction:literal) => {
        concat!(
            " ORDER BY substr(c.sort_key, 1, 1000) ",
            $direction,
            ", c.sort_key ",
            $direction,
            ", c.seq ",
            $direction,
            " LIMIT $4"
        )
    };
    ($direction:literal short) => {
        concat!(" ORDER BY substr(c.sort_key, 1, 1000) ", $direction, ", c.seq ", $direction, " LIMIT $4")
    };
}

/// Finds the rows of the page, and leaves their save numbers, in order, in a setting of the transaction for the next
/// statements. Returns the position of the last row that the filter examines, if it examines all `$4` rows. A row
/// passes the filter if it has texts like all of `$5`, or the text `$6`, or does not end with `$9`. Skips the first
/// `$10` rows. `$7` is the maximum number of results. The page ends with the payload that reaches `$8` bytes.
macro_rules! find {
    ($from:expr, $after:expr, $ordered:expr) => {
        concat!(
            "SELECT set_config('forkpoint.page', coalesce(string_agg(m.seq::text, ',' ORDER BY m.ord) FILTER (WHERE m.passes), ''), true),
               (array_agg(m.sort_key) FILTER (WHERE m.ord = $4))[1], (array_agg(m.seq) FILTER (WHERE m.ord = $4))[1] FROM (
               SELECT m.*, sum(p.size) FILTER (WHERE m.passes) OVER (ORDER BY m.ord) - p.size AS before FROM (
                 SELECT l.* FROM (
                   SELECT l.seq, l.sort_key, l.passes, row_number() OVER () AS ord
                   FROM (SELECT c.seq, c.sort_key, $5::bytea[] IS NULL OR c.meta LIKE ALL ($5) OR position($6 IN c.meta) > 0
                           OR substr(c.meta, greatest(1, octet_length(c.meta) - octet_length($9) + 1)) <> $9 AS passes
                         FROM ", $from, $after, $ordered, " OFFSET $10) AS l) AS l
                 WHERE l.passes OR l.ord = $4 LIMIT $7) AS m LEFT JOIN @payload AS p USING (seq)) AS m
             WHERE m.before IS NULL OR m.before < $8"
        )
    };
}

/// Selects the rows that [`find`] has found.
macro_rules! found {
    () => {
        "unnest(string_to_array(current_setting('forkpoint.page'), ',')::bigint[]) WITH ORDINALITY AS found(seq, ord)"
    };
}

/// Leaves the save numbers of `$1` for the next statements, as [`find`] does. `$2` is the size of the page in bytes.
const CHOSEN: &str =
    "SELECT set_config('forkpoint.page', string_agg(m.seq::text, ',' ORDER BY m.ord), true), NULL::bytea, NULL::bigint
     FROM (SELECT c.seq, c.ord, sum(p.size) OVER (ORDER BY c.ord) - p.size AS before
           FROM unnest($1) WITH ORDINALITY AS c(seq, ord) LEFT JOIN @payload AS p USING (seq)) AS m
     WHERE m.before IS NULL OR m.before < $2";

const ROWS: &str = concat!(
    "SELECT ",
    columns_with_sum!(),
    ", p.size FROM ",
    found!(),
    " JOIN @checkpoint AS c ON c.seq = found.seq LEFT JOIN @lineage AS l ON l.lin = c.lin
      LEFT JOIN @payload AS p ON p.seq = c.seq ORDER BY found.ord"
);
const PAYLOADS: &str = chains!(concat!("SELECT found.seq FROM ", found!()), "$1");
const WRITES: &str = concat!(
    "SELECT ",
    write_columns!(),
    " FROM ",
    found!(),
    " JOIN @checkpoint AS c ON c.seq = found.seq JOIN @write AS w ON w.contract = c.contract AND ",
    is_name!("w.id", "c.id"),
    " ORDER BY w.num"
);

/// For each order: the statement for the first page, and the statement for a page after a position.
type Statements = [[&'static str; 2]; 2];

macro_rules! statements {
    ($from:expr $(, $short:ident)?) => {
        [
            [
                find!($from, "", ordered!("DESC" $($short)?)),
                find!($from, after!("<" $($short)?), ordered!("DESC" $($short)?)),
            ],
            [
                find!($from, "", ordered!("ASC" $($short)?)),
                find!($from, after!(">" $($short)?), ordered!("ASC" $($short)?)),
            ],
        ]
    };
}

fn statements(of: &Of, short_keys: bool) -> Statements {
    const CONTRACT: Statements = statements!("@checkpoint AS c WHERE c.contract = $1");
    const LINEAGE: Statements = statements!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($11), 1, 16) AND l.name = $11"
    );
    const LINEAGES: Statements = statements!(concat!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND ",
        begins_with!("l.name", "$11")
    ));
    const LABELLED: Statements = statements!(concat!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND ",
        begins_with!("l.name", "$11"),
        " AND substr(sha256(c.label), 1, 16) = substr(sha256($12), 1, 16) AND c.label = $12 AND c.label <> ''"
    ));
    macro_rules! of_group {
        () => {
            "@checkpoint AS c WHERE c.contract = $1 AND substr(sha256(c.grp), 1, 16) = substr(sha256($11), 1, 16) AND c.grp = $11 AND c.grp <> ''"
        };
    }
    const GROUP: Statements = statements!(of_group!());
    const SHORT_GROUP: Statements = statements!(of_group!(), short);
    const BOTH: Statements = statements!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND substr(sha256(l.name), 1, 16) = substr(sha256($11), 1, 16) AND l.name = $11
         AND c.grp = $12 AND c.grp <> ''"
    );
    match of {
        Of::Contract => CONTRACT,
        Of::Lineage(_) => LINEAGE,
        Of::Lineages(_) => LINEAGES,
        Of::Labelled { .. } => LABELLED,
        Of::Group(_) if short_keys => SHORT_GROUP,
        Of::Group(_) => GROUP,
        Of::LineageInGroup { .. } => BOTH,
    }
}

/// Chooses the statement for a page.
fn statement(of: Statements, page: &Page) -> &'static str {
    let [newest_first, oldest_first] = of;
    let of_order = match page.order {
        RowOrder::NewestFirst => newest_first,
        RowOrder::OldestFirst => oldest_first,
    };
    of_order[usize::from(page.after.is_some())]
}

/// The statement that finds the rows of a page by the index of a metadata key. If a row may have the value in another
/// form, its entry is empty. So both parts of the index are read.
fn indexed(names: &Names, key: &MetaKey, page: &Page) -> String {
    const FIND: Statements = statements!("@indexed AS c WHERE true");
    let (after, ordered) = match (page.order, page.short_keys) {
        (RowOrder::NewestFirst, false) => (after!("<"), ordered!("DESC")),
        (RowOrder::OldestFirst, false) => (after!(">"), ordered!("ASC")),
        (RowOrder::NewestFirst, true) => (after!("<" short), ordered!("DESC" short)),
        (RowOrder::OldestFirst, true) => (after!(">" short), ordered!("ASC" short)),
    };
    let after = if page.after.is_none() { "" } else { after };
    let [wanted, other] = ["substr($11::bytea, 1, 200)", "''::bytea"].map(|entry| {
        let part = late_index::part(names, key, entry);
        format!("(SELECT c.seq, c.sort_key, c.meta FROM {part}{after}{ordered})")
    });
    let both = format!("({wanted} UNION ALL {other})");
    names.fill(statement(FIND, page)).replace(&names.table("indexed"), &both)
}

pub(super) fn page(
    open: &Transaction<'_>,
    cache: &PayloadCache,
    page: &Page,
    index: Option<&MetaKey>,
) -> Result<TuplePage> {
    let mut filler = Filler::new(page);
    if several::is_of(page) {
        filler.look_at_all();
        let positions = several::positions(open, page, &filler)?;
        if positions.is_empty() {
            return Ok(filler.finish(false));
        }
        let seqs: Vec<Seq> = positions.into_iter().map(|(_, seq)| seq).collect();
        open.later(CHOSEN, values![seqs, signed(page.bytes as u64)]);
    } else {
        let mut values = parameters(page, index);
        if let Some(key) = index {
            values.push(key.value.as_str().into());
            open.later_text(indexed(&open.session.names, key, page).into(), values);
        } else {
            open.later(statement(statements(&page.of, page.short_keys), page), values);
        }
    }
    fill(open, cache, page, filler)
}

/// Reads the page whose rows the previous statement finds.
fn fill(open: &Transaction<'_>, cache: &PayloadCache, page: &Page, mut filler: Filler<'_>) -> Result<TuplePage> {
    let held = Held::new(cache, i64::MAX);
    open.later(ROWS, Vec::new());
    open.later(PAYLOADS, values![held.seqs()]);
    open.later(WRITES, Vec::new());
    let [found, rows, payloads, written] = open.last()?;
    // The server ends the page when the payloads fill it.
    let size = |row: &Row| row.get::<_, Option<i64>>(17).map_or(0, unsigned);
    let is_filled = rows.iter().map(size).fold(0, u64::saturating_add) >= page.bytes as u64;
    let rows: Vec<Result<HeaderRow>> = rows.iter().map(HeaderRow::read_with_sum).collect();
    let wanted: Vec<&HeaderRow> = rows.iter().filter_map(|row| row.as_ref().ok()).collect();
    let cached = payloads::cached(cache, &wanted);
    let mut payloads = payloads::rebuild_all(held, cache, &wanted, cached, &payloads)?.into_iter();
    let mut writes: HashMap<Vec<u8>, Vec<&Row>> = HashMap::new();
    for row in &written {
        writes.entry(row.get(1)).or_default().push(row);
    }
    // The rows that the server left out because of their number may pass the test.
    let is_filled = is_filled || rows.len() > page.limit.max(1) && rows.len() >= most(page);
    for row in rows {
        let position = row.as_ref().map_or_else(|_| Position::default(), |row| (row.header.sort_key.clone(), row.seq));
        // The server checks only the texts of the filter, not its test.
        let tuple = row.and_then(|row| {
            let wants = filler.wants(&row.header.meta, row.header.saved_at);
            let payload = payloads.next().unwrap_or_else(|| Err(Error::poisoned()));
            if !wants {
                return Ok(None);
            }
            let checkpoint = whole(row.header, payload, row.logs.as_deref())?;
            let written = writes.get(checkpoint.header.id.as_bytes()).map(Vec::as_slice).unwrap_or_default();
            let writes = writes::merged(page.contract, &checkpoint.header.id, written, cache.largest())?;
            Ok(Some(Tuple { checkpoint, writes }))
        });
        filler.add(position, tuple)?;
        if filler.is_full() {
            return Ok(filler.finish(true));
        }
    }
    if is_filled {
        return Ok(filler.finish(true));
    }
    // The filter has examined all rows up to the last one, so the next page begins after it.
    let last = found.first().and_then(|row| Some((SortKey(row.get::<_, Option<_>>(1)?), row.get(2))));
    Ok(TuplePage { next: last.filter(|_| page.filter.is_some()), ..filler.finish(false) })
}

/// The maximum number of rows that the server sends. The server does not know the test of a filter.
fn most(page: &Page) -> usize {
    let has_test = page.filter.as_ref().is_some_and(|filter| filter.test.is_some());
    if has_test { page.limit.max(TESTED) } else { page.limit }
}

fn parameters(page: &Page, index: Option<&MetaKey>) -> Vec<Value> {
    let (sort_key, seq) = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq)).unzip();
    let (all, or, end) = match &page.filter {
        Some(MetaFilter { all, or, end, .. }) => (Some(containing(all)), Some(&or[..]), Some(&end[..])),
        None => (None, None, None),
    };
    let bytes = signed(page.bytes as u64);
    // The index has already excluded most rows that the filter would exclude.
    let entries = match index {
        Some(_) => page.limit,
        None => page.entries(),
    };
    let (entries, limit) = (row::limit(entries), row::limit(most(page)));
    let skip = row::limit(page.skip);
    let mut given = values![number(page.contract), sort_key, seq, entries, all, or, limit, bytes, end, skip];
    match &page.of {
        Of::Contract => {}
        Of::Lineage(name) | Of::Lineages(name) | Of::Group(name) => given.push(name.into()),
        Of::Labelled { prefix, label } => given.extend([prefix.into(), label.into()]),
        Of::LineageInGroup { lineage, group } => given.extend([lineage.into(), group.into()]),
    }
    given
}
