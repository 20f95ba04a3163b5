//! Reads a page of a listing: the rows, the payloads and the writes. All statements are sent together, so a page takes one
//! round trip. The first one finds the rows, and the others learn from a setting of the transaction which they are.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::checkpoint::whole;
use super::key::number;
use super::payloads::{self, Held, chains};
use super::prefix::{begins_with, is_name};
use super::row::{self, HeaderRow, columns_with_sum};
use super::transaction::Transaction;
use super::value::{Value, values};
use super::writes::{self, columns as write_columns};
use crate::backend::number::unsigned;
use crate::backend::page::Filler;
use crate::cache::PayloadCache;
use crate::error::{Error, Result};
use crate::query::{MetaFilter, Of, Page};
use crate::record::{Place, SortKey, Tuple, TuplePage};

/// Selects the rows that the page's filter looks at. The parameters are: the contract, the place after which the page
/// begins (`$2`, `$3`), and the maximum number of rows.
macro_rules! looked {
    ($columns:literal, $from:expr, $rest:literal) => {
        concat!(
            "SELECT ", $columns, " FROM ", $from,
            " AND ($2::bytea IS NULL OR (substr(c.sort_key, 1, 1000), c.sort_key, c.seq) < (substr($2, 1, 1000), $2, $3))
             ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC ", $rest
        )
    };
}

/// Finds the rows of the page, and leaves their save numbers in a setting of the transaction for the next statements, in
/// their order. Further parameters are: the texts of the filter (`$5`, `$6`, `$9`), the maximum number of results, and the number
/// of bytes. The page ends with the payload that fills it.
macro_rules! find {
    ($from:expr) => {
        concat!(
            "SELECT set_config('forkpoint.page', coalesce(string_agg(m.seq::text, ',' ORDER BY m.place), ''), true) FROM (
               SELECT m.seq, m.place, sum(p.size) OVER (ORDER BY m.place) - p.size AS before FROM (
                 SELECT l.seq, row_number() OVER () AS place FROM (",
            looked!("c.seq, c.meta", $from, "LIMIT $4"),
            ") AS l WHERE $5::bytea[] IS NULL OR position($6 IN l.meta) > 0
                 OR substr(l.meta, greatest(1, octet_length(l.meta) - octet_length($9) + 1)) <> $9
                 OR NOT EXISTS (SELECT FROM unnest($5) AS t(text) WHERE position(t.text IN l.meta) = 0)
                 LIMIT $7) AS m LEFT JOIN @payload AS p USING (seq)) AS m
             WHERE m.before IS NULL OR m.before < $8"
        )
    };
}

/// Selects what [`find`] has found.
macro_rules! found {
    () => {
        "unnest(string_to_array(current_setting('forkpoint.page'), ',')::bigint[]) WITH ORDINALITY AS found(seq, place)"
    };
}

const ROWS: &str = concat!(
    "SELECT ",
    columns_with_sum!(),
    ", p.size FROM ",
    found!(),
    " JOIN @checkpoint AS c ON c.seq = found.seq LEFT JOIN @lineage AS l ON l.lin = c.lin
      LEFT JOIN @payload AS p ON p.seq = c.seq ORDER BY found.place"
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

/// The statements that depend on what the page is of: the one that finds the rows, and the one that selects the place of the
/// last row that the filter looks at.
type Statements = [&'static str; 2];

macro_rules! statements {
    ($from:expr) => {
        [find!($from), looked!("c.sort_key, c.seq", $from, "OFFSET coalesce($4 - 1, 9223372036854775807) LIMIT 1")]
    };
}

fn statements(of: &Of) -> Statements {
    const CONTRACT: Statements = statements!("@checkpoint AS c WHERE c.contract = $1");
    const LINEAGE: Statements = statements!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND sha256(l.name) = sha256($10) AND l.name = $10"
    );
    const LINEAGES: Statements = statements!(concat!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND ",
        begins_with!("l.name", "$10")
    ));
    const LABELLED: Statements = statements!(concat!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND ",
        begins_with!("l.name", "$10"),
        " AND sha256(c.label) = sha256($11) AND c.label = $11 AND c.label <> ''"
    ));
    const GROUP: Statements = statements!(
        "@checkpoint AS c WHERE c.contract = $1 AND sha256(c.grp) = sha256($10) AND c.grp = $10 AND c.grp <> ''"
    );
    const BOTH: Statements = statements!(
        "@lineage AS l JOIN @checkpoint AS c USING (lin) WHERE l.contract = $1 AND sha256(l.name) = sha256($10) AND l.name = $10
         AND c.grp = $11 AND c.grp <> ''"
    );
    match of {
        Of::Contract => CONTRACT,
        Of::Lineage(_) => LINEAGE,
        Of::Lineages(_) => LINEAGES,
        Of::Labelled { .. } => LABELLED,
        Of::Group(_) => GROUP,
        Of::LineageInGroup { .. } => BOTH,
    }
}

pub(super) fn page(open: &Transaction<'_>, cache: &PayloadCache, page: &Page) -> Result<TuplePage> {
    let held = Held::new(cache, i64::MAX);
    let [find, last] = statements(&page.of);
    let values = parameters(page);
    open.later(find, values.clone());
    open.later(ROWS, Vec::new());
    open.later(PAYLOADS, values![held.seqs()]);
    open.later(WRITES, Vec::new());
    if page.filter.is_some() {
        open.later(last, values);
    } else {
        open.later("SELECT", Vec::new());
    }
    let [rows, payloads, written, last] = open.last()?;
    // The server has ended the page if the payloads fill it.
    let size = |row: &Row| row.get::<_, Option<i64>>(17).map_or(0, unsigned);
    let is_filled = rows.iter().map(size).fold(0, u64::saturating_add) >= page.bytes as u64;
    let rows: Vec<Result<HeaderRow>> = rows.iter().map(HeaderRow::read_with_sum).collect();
    let wanted: Vec<&HeaderRow> = rows.iter().filter_map(|row| row.as_ref().ok()).collect();
    let mut payloads = payloads::rebuild_all(held, cache, &wanted, &payloads)?.into_iter();
    let mut writes: HashMap<Vec<u8>, Vec<&Row>> = HashMap::new();
    for row in &written {
        writes.entry(row.get(1)).or_default().push(row);
    }
    let mut filler = Filler::new(page);
    for row in rows {
        let place = row.as_ref().map_or_else(|_| Place::default(), |row| (row.header.sort_key.clone(), row.seq));
        let tuple = row.and_then(|row| {
            let payload = payloads.next().unwrap_or_else(|| Err(Error::poisoned()));
            let checkpoint = whole(row.header, payload, row.logs.as_deref())?;
            let written = writes.get(checkpoint.header.id.as_bytes()).map(Vec::as_slice).unwrap_or_default();
            let writes = writes::merged(page.contract, &checkpoint.header.id, written)?;
            Ok(Some(Tuple { checkpoint, writes }))
        });
        filler.add(place, tuple)?;
        if filler.is_full() {
            return Ok(filler.finish(true));
        }
    }
    if is_filled {
        return Ok(filler.finish(true));
    }
    // The filter has looked at all rows up to the last one, and they are left out.
    let last = last.first().filter(|_| page.filter.is_some());
    Ok(TuplePage { next: last.map(|row| (SortKey(row.get(0)), row.get(1))), ..filler.finish(false) })
}

fn parameters(page: &Page) -> Vec<Value> {
    let (sort_key, seq) = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], *seq)).unzip();
    let (all, or, end) = match &page.filter {
        Some(MetaFilter { all, or, end, .. }) => (Some(all.clone()), Some(&or[..]), Some(&end[..])),
        None => (None, None, None),
    };
    let bytes = i64::try_from(page.bytes).unwrap_or(i64::MAX);
    let (places, limit) = (row::limit(page.places()), row::limit(page.limit));
    let mut given = values![number(page.contract), sort_key, seq, places, all, or, limit, bytes, end];
    match &page.of {
        Of::Contract => {}
        Of::Lineage(name) | Of::Lineages(name) | Of::Group(name) => given.push(name.into()),
        Of::Labelled { prefix, label } => given.extend([prefix.into(), label.into()]),
        Of::LineageInGroup { lineage, group } => given.extend([lineage.into(), group.into()]),
    }
    given
}
