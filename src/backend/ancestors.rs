//! Walks up from a checkpoint to those that it was made from.

use crate::error::Result;
use crate::query::Ancestors;
use crate::record::Tuple;

/// The answer to [`Ancestors`]; `get` finds a checkpoint by its id, in one snapshot for all.
pub(super) fn walk(asked: &Ancestors, get: impl Fn(&str) -> Result<Option<Tuple>>) -> Result<Vec<Tuple>> {
    let Ancestors { id, stems, writes, limit, .. } = asked;
    let mut wanted: Vec<&str> = stems.iter().map(String::as_str).collect();
    let mut found: Vec<Tuple> = Vec::new();
    let mut next = Some(id.clone());
    while let Some(mut ancestor) = next.as_deref().map(&get).transpose()?.flatten() {
        if wanted.is_empty() || found.len() >= *limit {
            break;
        }
        let parts = &mut ancestor.checkpoint.payload.parts;
        parts.retain(|part| part.stem().is_some_and(|stem| wanted.contains(&stem)));
        wanted.retain(|stem| !parts.iter().any(|part| part.stem() == Some(stem)));
        ancestor.writes.retain(|write| writes.contains(&write.part.name));
        next.clone_from(&ancestor.checkpoint.header.parent);
        found.push(ancestor);
    }
    Ok(found)
}
