//! Fills the page of a listing, one checkpoint after the other.

use crate::error::Result;
use crate::query::{MetaFilter, Page, Searcher};
use crate::record::{Place, Tuple, TuplePage};

/// The page as far as it is filled.
pub(super) struct Filler<'a> {
    page: &'a Page,
    searcher: Option<Searcher<'a>>,
    tuples: Vec<Tuple>,
    looked: usize,
    bytes: usize,
    /// The place of the last checkpoint that the filter has looked at.
    last: Option<Place>,
    /// True if the page ends before a checkpoint that cannot be read.
    broken: bool,
}

impl<'a> Filler<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let searcher = page.filter.as_ref().map(MetaFilter::searcher);
        Self { page, searcher, tuples: Vec::new(), looked: 0, bytes: 0, last: None, broken: false }
    }

    pub(super) fn is_full(&self) -> bool {
        let Page { limit, bytes, looks, .. } = self.page;
        self.broken
            || self.tuples.len() >= *limit
            || self.bytes >= *bytes
            || self.searcher.is_some() && self.looked >= *looks
    }

    /// Returns true if a checkpoint with this meta belongs into the page.
    pub(super) fn wants(&self, meta: &[u8]) -> bool {
        self.searcher.as_ref().is_none_or(|searcher| searcher.passes(meta))
    }

    /// Adds the checkpoint at the next place of the listing. `None`: it is left out.
    pub(super) fn add(&mut self, place: Place, found: Result<Option<Tuple>>) -> Result<()> {
        match found {
            Err(error) if self.tuples.is_empty() => return Err(error),
            Err(_) => {
                self.broken = true;
                return Ok(());
            }
            Ok(None) => {}
            Ok(Some(tuple)) => {
                let parts = tuple.checkpoint.payload.parts.iter();
                self.bytes = parts.fold(self.bytes, |sum, part| sum.saturating_add(part.bytes.len()));
                self.tuples.push(tuple);
            }
        }
        self.looked += 1;
        self.last = Some(place);
        Ok(())
    }

    /// Ends the page. A page that is not full is the last one, unless there are more places than were looked at.
    pub(super) fn finish(self, more: bool) -> TuplePage {
        let next = if more || self.is_full() { self.last } else { None };
        TuplePage { tuples: self.tuples, next }
    }
}
