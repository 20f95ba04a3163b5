//! Reads a page of a listing. An index finds the positions. Each row is then read by its number and verified.

use std::cmp::Ordering;

use rusqlite::{Connection, params};

use super::listing::{Source, describe, sources};
use super::meta_index::MetaIndex;
use super::row::{self, index_damaged};
use super::schema::LateIndex;
use super::statement::until;
use super::{payloads, several, writes};
use crate::backend::page::Filler;
use crate::cache::PayloadCache;
use crate::error::{Code, Result};
use crate::query::{Of, Page, RowOrder};
use crate::record::{Position, Seq, SortKey, Tuple, TuplePage};

pub(super) fn page(connection: &Connection, cache: &PayloadCache, page: &Page) -> Result<TuplePage> {
    let mut filler = Filler::new(page);
    let indexed = indexed_sources(connection, page)?;
    let has_several = indexed.is_none() && several::has_several(connection, page)?;
    // An index has already excluded most entries that the filter would exclude.
    let most = if indexed.is_some() || has_several { page.limit } else { page.entries() };
    let entries = if has_several {
        filler.look_at_all();
        let positions = several::positions(connection, page, &filler)?;
        Entries { ended: positions.len() < most, runs: positions.into_iter().map(Run::wanted).collect() }
    } else {
        let sources = indexed.map_or_else(|| sources(connection, page.contract, &page.of), Ok)?;
        entries(connection, page, &filler, &sources, most)?
    };
    for Run { last, left_out } in entries.runs {
        if filler.is_full() {
            break;
        }
        if left_out > 0 {
            filler.leave_out(left_out, last);
            continue;
        }
        let found = tuple(connection, cache, page, &last);
        filler.add(last, found.map_err(|error| error.context(&describe(&page.of))))?;
    }
    Ok(filler.finish(!entries.ended))
}

/// Consecutive positions of a listing: a wanted position, or positions that the filter excludes.
struct Run {
    last: Position,
    /// The number of positions that the filter excludes. Their rows are not verified.
    left_out: usize,
}

impl Run {
    fn wanted(last: Position) -> Self {
        Self { last, left_out: 0 }
    }
}

/// The entries that a page examines.
struct Entries {
    runs: Vec<Run>,
    /// True if the listing ends after these entries.
    ended: bool,
}

/// Returns the parts of a metadata index that contain the wanted checkpoints. Returns `None` if the page needs no such
/// index, or the database lacks it.
fn indexed_sources<'a>(connection: &Connection, page: &'a Page) -> Result<Option<Vec<Source<'a>>>> {
    let Some(key) = page.filter.as_ref().and_then(|filter| filter.key.as_ref()) else { return Ok(None) };
    let index = MetaIndex::of(key);
    if !matches!(page.of, Of::Contract) || !LateIndex::Meta(index.clone()).exists(connection)? {
        return Ok(None);
    }
    // A row that may have the value in another form has an empty entry.
    let texts = [key.indexed(), ""].into_iter();
    Ok(Some(texts.map(|text| Source { from: index.listed().into(), one: 0, text: Some(text) }).collect()))
}

/// The way in which a filter gets the metadata of an index entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Metas {
    /// From the entry's row. The statement fails if the row is missing.
    Direct,
    /// By a join, which is a fifth slower. The page ends before a missing row, and reading that row reports it.
    Joined,
}

/// Returns the positions after the page's beginning, from the indexes.
fn entries(
    connection: &Connection,
    page: &Page,
    filler: &Filler<'_>,
    sources: &[Source<'_>],
    most: usize,
) -> Result<Entries> {
    match entries_by(connection, page, filler, sources, most, Metas::Direct) {
        Err(error) if page.filter.is_some() && error.code() == Code::Corrupt => {
            entries_by(connection, page, filler, sources, most, Metas::Joined)
        }
        found => found,
    }
}

fn entries_by(
    connection: &Connection,
    page: &Page,
    filler: &Filler<'_>,
    sources: &[Source<'_>],
    most: usize,
    metas: Metas,
) -> Result<Entries> {
    let (sort_key, seq) = page.after.as_ref().map(|(sort_key, seq)| (&sort_key.0[..], seq)).unzip();
    let several = sources.len() > 1;
    // With several sources, skip only after their positions are merged in order.
    let (offset, later) = if several { (0, page.skip) } else { (page.skip, 0) };
    let [limit, offset] = [most.saturating_add(later), offset].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let (mut found, mut wanted, mut in_order) = (0, 0, true);
    let mut runs: Vec<Run> = Vec::new();
    for source in sources {
        let select = |columns| select_entries(source, columns, page.order, page.after.is_some());
        let sql = match (&page.filter, metas) {
            (Some(_), Metas::Direct) => select("sort_key, seq, meta, saved_at"),
            (Some(_), Metas::Joined) => format!(
                "SELECT i.sort_key, i.seq, c.meta, c.saved_at FROM ({}) AS i LEFT JOIN checkpoint AS c ON c.seq = i.seq",
                select("sort_key, seq")
            ),
            (None, _) => select("sort_key, seq"),
        };
        until(connection, &sql, params![source.one, sort_key, limit, source.text, seq, offset], |row| {
            let meta = if page.filter.is_some() { row.get_ref(2)?.as_bytes_or_null()? } else { None };
            let passes = match meta {
                Some(meta) => filler.wants(meta, row.get(3)?),
                None => true,
            };
            let key = row.get_ref(0)?.as_blob()?;
            let seq: Seq = row.get(1)?;
            found += 1;
            // Positions of several sources are not in order yet.
            if let Some(Run { last, left_out }) = runs.last_mut().filter(|_| !several) {
                in_order &= direction(page.order, (&last.0.0[..], last.1).cmp(&(key, seq))).is_lt();
                if !passes && *left_out > 0 {
                    last.0.0.clear();
                    last.0.0.extend_from_slice(key);
                    last.1 = seq;
                    *left_out += 1;
                    return Ok(false);
                }
            }
            runs.push(Run { last: (SortKey(key.to_vec()), seq), left_out: usize::from(!passes) });
            wanted += usize::from(passes);
            Ok(!several && wanted >= page.limit)
        })?;
    }
    if several {
        runs.sort_unstable_by(|a, b| direction(page.order, a.last.cmp(&b.last)));
        in_order = runs.is_sorted_by(|a, b| direction(page.order, a.last.cmp(&b.last)).is_lt());
        runs.drain(..later.min(runs.len()));
        runs.truncate(most);
        found = runs.len();
    }
    let ended = found < most && (several || wanted < page.limit);
    if in_order { Ok(Entries { runs, ended }) } else { Err(index_damaged(&describe(&page.of))) }
}

/// Converts an order of positions to the order of the page.
fn direction(order: RowOrder, ordering: Ordering) -> Ordering {
    match order {
        RowOrder::NewestFirst => ordering.reverse(),
        RowOrder::OldestFirst => ordering,
    }
}

/// The statement that reads columns of a source from the page's beginning.
fn select_entries(source: &Source<'_>, columns: &str, order: RowOrder, is_continued: bool) -> String {
    let (behind, direction) = match order {
        RowOrder::NewestFirst => ("<", "DESC"),
        RowOrder::OldestFirst => (">", "ASC"),
    };
    // With one condition for both cases, SQLite would read the source from its start for each page.
    let end = if is_continued { &format!("(sort_key, seq) {behind} (?2, ?5)") } else { "?2 IS NULL AND ?5 IS NULL" };
    let from = &source.from;
    format!("SELECT {columns} FROM {from} AND {end} ORDER BY sort_key {direction}, seq {direction} LIMIT ?3 OFFSET ?6")
}

/// Returns the checkpoint at a position. Returns `None` if it belongs to another contract.
fn tuple(
    connection: &Connection,
    cache: &PayloadCache,
    page: &Page,
    (sort_key, seq): &Position,
) -> Result<Option<Tuple>> {
    let Page { contract, of, .. } = page;
    let row = row::read(connection, *seq)?.filter(|row| row.header.sort_key == *sort_key);
    let row = row.ok_or_else(|| index_damaged(&describe(of)))?;
    if row.header.contract != *contract && matches!(of, Of::Contract) {
        return Ok(None);
    }
    if row.header.contract != *contract || !of.has(&row.header) {
        return Err(index_damaged(&describe(of)));
    }
    let checkpoint = payloads::checkpoint(connection, cache, row)?;
    let writes = writes::of(connection, *contract, &checkpoint.header.id, cache.largest())?;
    Ok(Some(Tuple { checkpoint, writes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::sqlite::{lineage, schema};
    use crate::options::Migrate;
    use crate::query::MetaKey;
    use crate::record::ContractId;

    /// A walk through many pages would otherwise take quadratic time.
    #[test]
    fn a_page_is_found_in_an_index_and_not_from_the_beginning_of_the_listing() {
        let connection = Connection::open_in_memory().unwrap();
        schema::prepare(&connection, Migrate::Create).unwrap();
        lineage::begin_with_log(&connection, 1, ContractId(7), "run").unwrap();
        let key = MetaIndex::of(&MetaKey { begins: b"\0{".to_vec(), key: "user".into(), value: "1".into() });
        for index in [LateIndex::Order, LateIndex::Groups, LateIndex::Meta(key.clone())] {
            index.build(&connection).unwrap();
        }
        let name = || "run".to_owned();
        let of = [
            Of::Contract,
            Of::Lineage(name()),
            Of::Lineages(name()),
            Of::Labelled { prefix: name(), label: name() },
            Of::Group(name()),
        ];
        let mut all: Vec<Source<'_>> =
            of.iter().flat_map(|of| sources(&connection, ContractId(7), of).unwrap()).collect();
        all.push(Source { from: key.listed().into(), one: 0, text: Some("1") });
        assert_eq!(all.len(), 6);
        let orders = [(RowOrder::NewestFirst, "sort_key<?"), (RowOrder::OldestFirst, "sort_key>?")];
        for (source, (order, bound)) in all.into_iter().flat_map(|source| orders.map(|of| (source.clone(), of))) {
            let sql = format!("EXPLAIN QUERY PLAN {}", select_entries(&source, "sort_key, seq", order, true));
            let mut statement = connection.prepare(&sql).unwrap();
            let (one, text) = (source.one, source.text);
            let plan: Vec<String> = statement
                .query_map(params![one, &b"k"[..], 1, text, 1, 0], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert!(plan[0].starts_with("SEARCH checkpoint") && plan[0].contains(bound), "{plan:?}: {sql}");
        }
    }
}
