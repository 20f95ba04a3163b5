//! Walks from a checkpoint to its ancestors, from child to parent.

use crate::error::Result;
use crate::query::Ancestors;
use crate::record::Tuple;

/// Answers an [`Ancestors`] query. `get` finds a checkpoint by its id; all calls must read the same snapshot.
pub(super) fn walk(query: &Ancestors, get: impl Fn(&str) -> Result<Option<Tuple>>) -> Result<Vec<Tuple>> {
    let Ancestors { id, stems, writes, limit, .. } = query;
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
