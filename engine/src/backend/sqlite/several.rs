//! Finds the positions of a page over several lineages. One statement reads the entries of all of them, because each
//! further page would start over with all lineages.

use rusqlite::{Connection, params};

use super::listing::describe;
use super::row::index_damaged;
use crate::backend::page::Filler;
use crate::backend::top_k::TopK;
use crate::error::Result;
use crate::query::{Of, Page};
use crate::record::{ContractId, Position};

/// Without a filter, a page over at most this many lineages uses a statement for each of them.
const FEW: usize = 64;

/// Returns true if [`positions`] must find the page, because it covers several lineages.
pub(super) fn has_several(connection: &Connection, page: &Page) -> Result<bool> {
    let few = if page.filter.is_some() { 1 } else { FEW };
    match &page.of {
        Of::Lineages(prefix) => has_more(connection, page.contract, prefix, few),
        _ => Ok(false),
    }
}

/// Returns true if more lineages than `few` have this prefix.
fn has_more(connection: &Connection, contract: ContractId, prefix: &str, few: usize) -> Result<bool> {
    let end = end_of(prefix);
    let sql = "SELECT count(*) FROM (SELECT 1 FROM lineage INDEXED BY lineage_name
               WHERE contract = ?1 AND name >= ?2 AND name < coalesce(?3, x'') LIMIT ?4)";
    let most = i64::try_from(few.saturating_add(1)).unwrap_or(i64::MAX);
    let count: i64 =
        connection.prepare_cached(sql)?.query_row(params![contract.0, prefix, end, most], |row| row.get(0))?;
    Ok(count >= most)
}

/// Returns the first name after all names with this prefix. `None`: there is no such name. `SQLite` treats a blob as
/// greater than any text.
pub(super) fn end_of(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // Surrogate code points are not characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// Returns the positions of the page, in order. They include skipped positions and those that the filter accepts. Their
/// rows are not verified.
pub(super) fn positions(connection: &Connection, page: &Page, filler: &Filler<'_>) -> Result<Vec<Position>> {
    let Of::Lineages(prefix) = &page.of else { return Ok(Vec::new()) };
    let end = end_of(prefix);
    let columns = if page.filter.is_some() { ", c.meta, c.saved_at" } else { "" };
    let sql = format!(
        "SELECT c.sort_key, c.seq{columns} FROM lineage AS l INDEXED BY lineage_name
         CROSS JOIN checkpoint AS c INDEXED BY checkpoint_lineage ON c.lin = l.lin
         WHERE l.contract = ?1 AND l.name >= ?2 AND l.name < coalesce(?3, x'')"
    );
    let mut top = TopK::new(page);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![page.contract.0, prefix, end])?;
    while let Some(row) = rows.next()? {
        let position = (row.get_ref(0)?.as_blob_or_null()?.unwrap_or_default(), row.get(1)?);
        let (meta, saved_at) = match &page.filter {
            Some(_) => (row.get_ref(2)?.as_blob_or_null()?.unwrap_or_default(), row.get(3)?),
            None => Default::default(),
        };
        top.add(position, || filler.wants(meta, saved_at));
    }
    let positions = top.into_positions();
    let is_twice = positions.windows(2).any(|pair| pair[0] == pair[1]);
    if is_twice { Err(index_damaged(&describe(&page.of))) } else { Ok(positions) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_prefix_end_before_the_next_one() {
        for prefix in ["a", "users.", "\u{d7ff}", "a\u{10ffff}", "\u{10ffff}\u{10ffff}", "\0", ""] {
            let end = end_of(prefix);
            for rest in ["", "\0", "z", "\u{10ffff}"] {
                assert!(
                    end.as_ref().is_none_or(|end| format!("{prefix}{rest}").as_bytes() < end.as_bytes()),
                    "{prefix:?}"
                );
            }
        }
        assert_eq!(end_of("users.").as_deref(), Some("users/"));
        assert_eq!(end_of("a\u{10ffff}").as_deref(), Some("b"));
    }
}
