//! Fills the page of a listing, one checkpoint after the other.

use std::cmp::Ordering;

use crate::error::Result;
use crate::query::{MetaFilter, Page, RowOrder, Searcher};
use crate::record::{Place, Tuple, TuplePage};

/// A place in the order of a page. A place that is later in this order is greater.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InOrder<P> {
    pub order: RowOrder,
    pub place: P,
}

impl<P: Ord> Ord for InOrder<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.order {
            RowOrder::OldestFirst => self.place.cmp(&other.place),
            RowOrder::NewestFirst => other.place.cmp(&self.place),
        }
    }
}

impl<P: Ord> PartialOrd for InOrder<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The page as far as it is filled.
pub(super) struct Filler<'a> {
    page: &'a Page,
    searcher: Option<Searcher<'a>>,
    tuples: Vec<Tuple>,
    looked: usize,
    /// The maximum number of checkpoints that the filter looks at.
    looks: usize,
    bytes: usize,
    /// The place of the last checkpoint that the filter has looked at.
    last: Option<Place>,
    /// True if the page ends before a checkpoint that cannot be read.
    broken: bool,
}

impl<'a> Filler<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let searcher = page.filter.as_ref().map(MetaFilter::searcher);
        Self { page, searcher, tuples: Vec::new(), looked: 0, looks: page.looks, bytes: 0, last: None, broken: false }
    }

    /// Lets the filter look at all checkpoints.
    pub(super) fn look_at_all(&mut self) {
        self.looks = usize::MAX;
    }

    pub(super) fn is_full(&self) -> bool {
        let Page { limit, bytes, .. } = self.page;
        self.broken
            || self.tuples.len() >= *limit
            || self.bytes >= *bytes
            || self.searcher.is_some() && self.looked >= self.looks
    }

    /// Returns true if a checkpoint with this meta and this save time belongs into the page.
    pub(super) fn wants(&self, meta: &[u8], saved_at: i64) -> bool {
        self.searcher.as_ref().is_none_or(|searcher| searcher.passes(meta, saved_at))
    }

    /// Leaves out the checkpoints at the next places of the listing, of which this is the last.
    pub(super) fn leave_out(&mut self, count: usize, last: Place) {
        self.looked += count;
        self.last = Some(last);
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
